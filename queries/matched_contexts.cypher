// Which two decisions of one fold can be compared, since both actions have evidence.
//
// MCGPO, 3.1 and A.1: a rollout enters a context with its first decision there (decision M3). Even
// slots are fold 0, odd ones fold 1. Two decisions of one fold in one context, with different
// actions, are a pair if at least `m` rollouts of the opposite fold decided for either action there.
// Parameters:
//   groups (list of strings, default []): the groups to answer for; empty: every group
//   m (integer, default 1): the least evidence for each action
//   threshold (number, default 0.999): the outcome reward from which a rollout counts as a success
//   start (integer, default 0): earlier steps do not count as decisions
//   match (string, default "joint"): context by joint, state alone, or rubric alone
//   evidence (string, default "opposite"): fold that evidence comes from: opposite, or same
// Columns:
//   task: id
//   group: the group
//   level: exact or coarse
//   fold: 0 or 1, that of the two decisions
//   first: id of the first decision's step, the one of the lower slot
//   first_slot: its rollout's position within the group
//   first_position: its position within its rollout
//   first_evidence: rollouts of evidence for its action
//   first_successes: how many of those succeeded
//   second: id of the second decision's step
//   second_slot: as of the first
//   second_position: as of the first
//   second_evidence: as of the first
//   second_successes: as of the first
MATCH (r:Rollout)-[:HAS_STEP]->(s:Step)-[:AT]->(c:Context)
WHERE (size($groups) = 0 OR r.`group` IN $groups) AND s.position >= $start
WITH r, c.level AS level,
  CASE WHEN $match = 'rubric' THEN NULL ELSE c.state END AS state,
  CASE WHEN $match = 'state' THEN NULL ELSE c.progress END AS progress,
  CASE WHEN $match = 'state' THEN NULL ELSE c.frontier END AS frontier,
  min(s.position) AS position
MATCH (r)-[:HAS_STEP]->(s:Step)
WHERE s.position = position
WITH r.task AS task, r.`group` AS `group`, level, state, progress, frontier, collect({
  step: s.id, slot: r.slot, fold: r.slot % 2, position: position,
  action: coalesce(s.action_sha256, s.action),
  success: CASE WHEN r.reward >= $threshold OR (r.reward IS NULL AND r.success) THEN 1 ELSE 0 END
}) AS decisions
UNWIND decisions AS a
UNWIND decisions AS b
WITH task, `group`, level, decisions, a, b
WHERE a.fold = b.fold AND a.slot < b.slot AND a.action <> b.action
UNWIND decisions AS e
WITH task, `group`, level, a, b, e
WHERE (e.fold = a.fold) = ($evidence = 'same')
WITH task, `group`, level, a, b,
  sum(CASE WHEN e.action = a.action THEN 1 ELSE 0 END) AS first_evidence,
  sum(CASE WHEN e.action = a.action THEN e.success ELSE 0 END) AS first_successes,
  sum(CASE WHEN e.action = b.action THEN 1 ELSE 0 END) AS second_evidence,
  sum(CASE WHEN e.action = b.action THEN e.success ELSE 0 END) AS second_successes
WHERE first_evidence >= $m AND second_evidence >= $m
RETURN task, `group`, level, a.fold AS fold, a.step AS first, a.slot AS first_slot,
  a.position AS first_position, first_evidence, first_successes, b.step AS second,
  b.slot AS second_slot, b.position AS second_position, second_evidence, second_successes
ORDER BY task, `group`, fold, first, second, level DESC
