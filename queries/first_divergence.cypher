// Where failed rollouts first part ways with siblings that succeed.
//
// Of each failed rollout, the successful sibling that passes through the same states as it for
// longest, and the last of those states; of siblings that part there, the first by slot. Rollouts
// with no successful sibling that starts in the same state are left out. The comparison of the
// states in their order is arithmetic on this query's answer.
// Parameters:
//   groups (list of strings, default []): the groups to answer for; empty: every group
// Columns:
//   task: id
//   group: the group
//   rollout: id of the failed rollout
//   sibling: id of the successful one
//   step: position of the last step that starts from a state that they share so far
//   state: id of that state
//   key: its key
//   action: what the failed rollout did there
//   sibling_action: what the sibling did there
MATCH (r:Rollout)-[:HAS_STEP]->(s:Step)-[:`FROM`]->(a:State)
WHERE (size($groups) = 0 OR r.`group` IN $groups) AND r.success IS NOT NULL
RETURN r.task AS task, r.`group` AS `group`, r.id AS rollout, r.slot AS slot,
  r.success AS success, s.position AS step, a.id AS state, a.key AS key, s.action AS action
ORDER BY task, `group`, slot, rollout, step
