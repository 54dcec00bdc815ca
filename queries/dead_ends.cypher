// Which states have no way to success, those that are visited most first.
//
// A way leads along the transitions of the group's steps to a state in which one of its rollouts
// succeeded. States that do have a way are left out with `reward_flow`'s answer.
// Parameters:
//   groups (list of strings, default []): the groups to answer for; empty: every group
// Columns:
//   task: id
//   group: the group
//   state: id of the state
//   key: its key
//   visits: steps that start from it
//   rollouts: rollouts that these are of
MATCH (r:Rollout)-[:HAS_STEP]->(s:Step)-[:`FROM`]->(a:State)
WHERE (size($groups) = 0 OR r.`group` IN $groups)
RETURN r.task AS task, r.`group` AS `group`, a.id AS state, a.key AS key, count(s) AS visits,
  count(DISTINCT r.id) AS rollouts
ORDER BY visits DESC, task, `group`, state
