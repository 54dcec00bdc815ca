// Which writes lead to which later writes through qualifying consumption.
//
// DepGPO, A.3: the paths of the reachability graph G_E between agent commands. A write reaches E if
// it contributes directly or leads to one that does.
// Parameters:
//   groups (list of strings, default []): the groups to answer for; empty: every group
//   whole_file (string, default "removal"): reading of WHOLE_FILE: removal, literal or supersede (D1)
// Columns:
//   rollout: id
//   position: the earlier write's position within the rollout
//   consumer: the later write's position within the rollout
//   distance: the fewest consumptions between them
MATCH (r:Rollout)-[:HAS_STEP]->(:Step)-[:RAN]->(c:Command)
WHERE (size($groups) = 0 OR r.`group` IN $groups) AND c.kind = 'write'
MATCH path = (c)-[:FEEDS*]->(u:Command)
WHERE all(edge IN relationships(path) WHERE $whole_file IN edge.qualifies)
RETURN r.id AS rollout, c.position AS position, u.position AS consumer, min(length(path)) AS distance
