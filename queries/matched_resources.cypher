// Which commands opened a port or started a process that the verifier inspected.
//
// DepGPO, A.3 and A.4: matching non-file resources connect their commands to E.
// Parameters:
//   groups (list of strings, default []): the groups to answer for; empty: every group
// Columns:
//   rollout: id
//   position: the command's position within the rollout
//   kind: port or process
//   name: port number or process name
MATCH (r:Rollout)-[:VERIFIED_BY]->(:Command)-[:PROBED]->(p:Resource)<-[:OPENED|STARTED]-(c:Command)
WHERE (size($groups) = 0 OR r.`group` IN $groups)
RETURN DISTINCT r.id AS rollout, c.position AS position, p.kind AS kind, p.name AS name
ORDER BY rollout, position, kind, name
