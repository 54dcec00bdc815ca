// Which rollouts came back to a state where they had been before.
//
// A step that leaves a state as it is comes back to it.
// Parameters:
//   groups (list of strings, default []): the groups to answer for; empty: every group
// Columns:
//   task: id
//   group: the group
//   rollout: id
//   state: id of the state
//   key: its key
//   visits: how often the rollout was in it
//   first_step: position of the first step that starts from it
//   last_step: position of the last
//   is_end: whether the rollout ended in it
//   success: whether the rollout succeeded; NULL: not known
MATCH (r:Rollout)-[:HAS_STEP]->(s:Step)-[:`FROM`]->(a:State)
WHERE (size($groups) = 0 OR r.`group` IN $groups)
WITH r, a, count(s) AS began, min(s.position) AS first_step, max(s.position) AS last_step
OPTIONAL MATCH (r)-[:ENDED_IN]->(b:State)
WITH r, a, began, first_step, last_step, coalesce(a.id = b.id, false) AS is_end
WITH r, a, began + CASE WHEN is_end THEN 1 ELSE 0 END AS visits, first_step, last_step, is_end
WHERE visits > 1
RETURN r.task AS task, r.`group` AS `group`, r.id AS rollout, a.id AS state, a.key AS key, visits,
  first_step, last_step, is_end, r.success AS success
ORDER BY visits DESC, task, `group`, rollout, first_step
