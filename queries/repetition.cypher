// How often states and actions repeat within each group.
//
// RewardFlow, Figure 3: all visits and actions against the different ones.
// Parameters:
//   groups (list of strings, default []): the groups to answer for; empty: every group
// Columns:
//   task: id
//   group: the group
//   rollouts: how many have steps
//   steps: their steps
//   visits: states that steps start from, each as often as it is visited
//   states: the different ones
//   actions: actions that steps took, each as often as it is taken
//   different_actions: the different ones
MATCH (r:Rollout)-[:HAS_STEP]->(s:Step)
WHERE (size($groups) = 0 OR r.`group` IN $groups)
OPTIONAL MATCH (s)-[:`FROM`]->(a:State)
RETURN r.task AS task, r.`group` AS `group`, count(DISTINCT r.id) AS rollouts, count(s) AS steps,
  count(a) AS visits, count(DISTINCT a.id) AS states, count(s.action) AS actions,
  count(DISTINCT coalesce(s.action_sha256, s.action)) AS different_actions
ORDER BY task, `group`
