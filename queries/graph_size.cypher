// How large the state graph of each group is.
//
// RewardFlow, Table 8: states and transitions stay far fewer than steps. The end of a rollout whose
// last state is not known is a state as well: its task's success or failure.
// Parameters:
//   groups (list of strings, default []): the groups to answer for; empty: every group
// Columns:
//   task: id
//   group: the group
//   rollouts: how many have a step with both states known
//   steps: their steps with both states known
//   states: different states before or after those
//   transitions: different pairs of a state and the one after
//   success_states: different states after the last step of a successful rollout
MATCH (r:Rollout)-[:HAS_STEP]->(s:Step)-[:`FROM`]->(a:State)
WHERE (size($groups) = 0 OR r.`group` IN $groups)
MATCH (s)-[:`TO`]->(b:State)
OPTIONAL MATCH (r)-[:ENDED_IN]->(e:State)
WITH r, s, a, b, CASE WHEN r.success THEN e.id ELSE NULL END AS success_state
UNWIND [a.id, b.id] AS state
RETURN r.task AS task, r.`group` AS `group`, count(DISTINCT r.id) AS rollouts,
  count(DISTINCT s.id) AS steps, count(DISTINCT state) AS states,
  count(DISTINCT a.id + ' ' + b.id) AS transitions, count(DISTINCT success_state) AS success_states
ORDER BY task, `group`
