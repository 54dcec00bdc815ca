// Which states one action leaves for good and another for bad.
//
// Of a state that some rollouts of a group left by one action and some by another, the actions with
// the share of their rollouts that succeeded in the end; states where all shares are equal are left
// out. A rollout that tried two actions in a state counts for both.
// Parameters:
//   groups (list of strings, default []): the groups to answer for; empty: every group
// Columns:
//   task: id
//   group: the group
//   state: id of the state
//   key: its key
//   action: an action that was taken there
//   rollouts: rollouts of known success that took it there
//   successes: how many of those succeeded
//   share: successes / rollouts
//   contrast: the largest share of the state less the smallest
MATCH (r:Rollout)-[:HAS_STEP]->(s:Step)-[:`FROM`]->(a:State)
WHERE (size($groups) = 0 OR r.`group` IN $groups) AND r.success IS NOT NULL
  AND s.action IS NOT NULL
WITH DISTINCT r, a, s.action AS action, coalesce(s.action_sha256, s.action) AS whole
WITH r.task AS task, r.`group` AS `group`, a, action, whole, count(r) AS rollouts,
  sum(CASE WHEN r.success THEN 1 ELSE 0 END) AS successes
WITH task, `group`, a, max(1.0 * successes / rollouts) - min(1.0 * successes / rollouts)
  AS contrast, collect({action: action, rollouts: rollouts, successes: successes}) AS actions
WHERE contrast > 0
UNWIND actions AS taken
WITH task, `group`, a, contrast, taken.action AS action, taken.rollouts AS rollouts,
  taken.successes AS successes
RETURN task, `group`, a.id AS state, a.key AS key, action, rollouts, successes,
  1.0 * successes / rollouts AS share, contrast
ORDER BY task, `group`, contrast DESC, state, share DESC, action
