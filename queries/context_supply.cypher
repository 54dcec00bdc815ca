// How often decisions share a context, and how many of them can be compared.
//
// MCGPO, Table 18: first visits of a fold's rollouts, those in contexts that another rollout of the
// fold enters too, and the pairs with different actions and evidence for both in the other fold.
// Parameters:
//   groups (list of strings, default []): the groups to answer for; empty: every group
//   m (integer, default 1): the least evidence for each action
//   start (integer, default 0): earlier steps do not count as decisions
//   match (string, default "joint"): context by joint, state alone, or rubric alone
// Columns:
//   level: exact or coarse
//   decisions: first visits
//   shared: how many of those are in a context with another of their fold
//   coverage: shared / decisions
//   pairs: supported pairs, before their outcomes are looked at
MATCH (r:Rollout)-[:HAS_STEP]->(s:Step)-[:AT]->(c:Context)
WHERE (size($groups) = 0 OR r.`group` IN $groups) AND s.position >= $start
WITH r, c.level AS level,
  CASE WHEN $match = 'rubric' THEN NULL ELSE c.state END AS state,
  CASE WHEN $match = 'state' THEN NULL ELSE c.progress END AS progress,
  CASE WHEN $match = 'state' THEN NULL ELSE c.frontier END AS frontier,
  min(s.position) AS position
MATCH (r)-[:HAS_STEP]->(s:Step)
WHERE s.position = position
WITH r.task AS task, r.`group` AS `group`, level, state, progress, frontier,
  coalesce(s.action_sha256, s.action) AS action,
  sum(CASE WHEN r.slot % 2 = 0 THEN 1 ELSE 0 END) AS even,
  sum(CASE WHEN r.slot % 2 = 0 THEN 0 ELSE 1 END) AS odd
WITH task, `group`, level, state, progress, frontier, sum(even) AS even, sum(odd) AS odd,
  sum(CASE WHEN odd >= $m THEN even ELSE 0 END) AS even_met,
  sum(CASE WHEN odd >= $m THEN even * even ELSE 0 END) AS even_same,
  sum(CASE WHEN even >= $m THEN odd ELSE 0 END) AS odd_met,
  sum(CASE WHEN even >= $m THEN odd * odd ELSE 0 END) AS odd_same
WITH level, sum(even + odd) AS decisions,
  sum(CASE WHEN even > 1 THEN even ELSE 0 END + CASE WHEN odd > 1 THEN odd ELSE 0 END) AS shared,
  sum(even_met * even_met - even_same + odd_met * odd_met - odd_same) AS twice
RETURN level, decisions, shared, 1.0 * shared / decisions AS coverage, twice / 2 AS pairs
ORDER BY level DESC
