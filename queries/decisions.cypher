// Which rollouts decided in which contexts, and on what: the first decision of each in each.
//
// MCGPO, A.1.
// Parameters:
//   groups (list of strings, default []): the groups to answer for; empty: every group
//   start (integer, default 0): earlier steps do not count as decisions
// Columns:
//   task: id
//   group: the group
//   context: id
//   level: of the state summary: exact or coarse
//   state: the state summary, as JSON
//   progress: the rubric's channels that are reached
//   frontier: those that could be reached next
//   rollout: id
//   slot: its position within the group; even: fold 0, odd: fold 1
//   step: the decision's position within the rollout
//   action: what it decided
//   reward: the rollout's outcome reward
//   success: whether it succeeded; NULL: not known
MATCH (r:Rollout)-[:HAS_STEP]->(s:Step)-[:AT]->(c:Context)
WHERE (size($groups) = 0 OR r.`group` IN $groups) AND s.position >= $start
WITH r, c, min(s.position) AS step
MATCH (r)-[:HAS_STEP]->(s:Step)
WHERE s.position = step
RETURN r.task AS task, r.`group` AS `group`, c.id AS context, c.level AS level, c.state AS state,
  c.progress AS progress, c.frontier AS frontier, r.id AS rollout, r.slot AS slot, step,
  s.action AS action, r.reward AS reward, r.success AS success
ORDER BY task, `group`, level DESC, context, slot, rollout
