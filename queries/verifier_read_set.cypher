// Which resources the verifier inspected: the read set E.
//
// DepGPO, A.3, Eq. 11: files that it read or probed, without those that it wrote itself and those
// that the recorder marked as shadowed; ports and processes.
// Parameters:
//   groups (list of strings, default []): the groups to answer for; empty: every group
// Columns:
//   rollout: id
//   kind: file, port or process
//   name: normalized path, port number or process name
MATCH (r:Rollout)-[:VERIFIED_BY]->(:Command)-[e:READ|PROBED]->(p:Resource)
WHERE (size($groups) = 0 OR r.`group` IN $groups)
WITH DISTINCT r.id AS rollout, p.kind AS kind, p.name AS name, e.shadowed AS shadowed,
  e.self_written AS self_written
WHERE shadowed = false AND self_written = false
RETURN DISTINCT rollout, kind, name
ORDER BY rollout, kind, name
