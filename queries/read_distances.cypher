// How far each read command is from the writes that it supports.
//
// DepGPO, A.4, Eq. 15: the shortest directed path in the command dependency graph G.
// Parameters:
//   groups (list of strings, default []): the groups to answer for; empty: every group
//   whole_file (string, default "removal"): reading of WHOLE_FILE: removal, literal or supersede (D1)
// Columns:
//   rollout: id
//   position: the read command's position within the rollout
//   write: the write command's position within the rollout
//   distance: edges on the shortest path
MATCH (r:Rollout)-[:HAS_STEP]->(:Step)-[:RAN]->(c:Command)
WHERE (size($groups) = 0 OR r.`group` IN $groups) AND c.kind = 'read'
MATCH path = (c)-[:FEEDS*]->(w:Command)
WHERE w.kind = 'write' AND all(edge IN relationships(path) WHERE $whole_file IN edge.whole_file)
RETURN r.id AS rollout, c.position AS position, w.position AS write, min(length(path)) AS distance
