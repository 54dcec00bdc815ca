// Which groups cannot be matched by contexts, and what they lack.
//
// MCGPO, D.1: missing fields switch the pairs of a group off, and leave its advantages as they are.
// Parameters:
//   groups (list of strings, default []): the groups to answer for; empty: every group
// Columns:
//   task: id
//   group: the group
//   steps: the steps of its rollouts
//   without_action: how many of those have no action
//   without_progress: whose progress before them is not known, or whose task has no rubric
//   without_exact: that have no exact context
//   without_coarse: that have no coarse context
MATCH (r:Rollout)-[:HAS_STEP]->(s:Step)
WHERE (size($groups) = 0 OR r.`group` IN $groups)
OPTIONAL MATCH (s)-[:AT]->(c:Context)
WITH r, s, sum(CASE WHEN c.level = 'exact' THEN 1 ELSE 0 END) AS exact,
  sum(CASE WHEN c.level = 'coarse' THEN 1 ELSE 0 END) AS coarse
WITH r.task AS task, r.`group` AS `group`, count(s) AS steps,
  sum(CASE WHEN s.action IS NULL THEN 1 ELSE 0 END) AS without_action,
  sum(CASE WHEN s.progress IS NULL THEN 1 ELSE 0 END) AS without_progress,
  sum(1 - exact) AS without_exact, sum(1 - coarse) AS without_coarse
WHERE without_action + without_progress + without_exact + without_coarse > 0
RETURN task, `group`, steps, without_action, without_progress, without_exact, without_coarse
ORDER BY task, `group`
