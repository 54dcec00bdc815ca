// Which state each step starts from.
//
// The state after a step is the one that the next step starts from, or that the rollout ended in.
// Parameters:
//   groups (list of strings, default []): the groups to answer for; empty: every group
// Columns:
//   rollout: id
//   step: position within the rollout
//   state: id
MATCH (r:Rollout)-[:HAS_STEP]->(s:Step)-[:`FROM`]->(a:State)
WHERE (size($groups) = 0 OR r.`group` IN $groups)
RETURN r.id AS rollout, s.position AS step, a.id AS state
ORDER BY rollout, step
