// The states in which rollouts ended, and whether with success.
//
// RewardFlow: reward flows back from those that ended with success (decision F3).
// Parameters:
//   groups (list of strings, default []): the groups to answer for; empty: every group
// Columns:
//   rollout: id
//   task: id
//   state: id
//   success: NULL: not known
MATCH (r:Rollout)-[:ENDED_IN]->(b:State)
WHERE (size($groups) = 0 OR r.`group` IN $groups)
RETURN r.id AS rollout, r.task AS task, b.id AS state, r.success AS success
ORDER BY rollout
