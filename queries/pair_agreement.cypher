// How a credit run's preferences agree with the outcomes of the two rollouts.
//
// MCGPO, 4.4 and Tables 18, 19: a win: the preferred rollout succeeded and the other failed.
// Agreement is (wins + ties / 2) / pairs.
// Parameters:
//   threshold (number, default 0.999): the outcome reward from which a rollout counts as a success
// Columns:
//   run: id of the credit run
//   pairs: preferences
//   groups: groups that have any
//   wins: pairs whose preferred rollout succeeded and whose other failed
//   ties: pairs whose two outcomes are equal
//   losses: pairs whose preferred rollout failed and whose other succeeded
//   agreement: share of the wins, ties counting half
//   exact: share of the pairs that were matched by their exact state
//   least_support: share of the pairs with one rollout of evidence for one of the actions
//   contrast: mean
//   weight: mean
MATCH (p:Rollout)-[:HAS_STEP]->(a:Step)-[e:PREFERRED]->(b:Step)<-[:HAS_STEP]-(q:Rollout)
WITH e, p.`group` AS `group`,
  CASE WHEN p.reward >= $threshold OR (p.reward IS NULL AND p.success) THEN 1 ELSE 0 END AS won,
  CASE WHEN q.reward >= $threshold OR (q.reward IS NULL AND q.success) THEN 1 ELSE 0 END AS other
WITH e.run AS run, count(*) AS pairs, count(DISTINCT `group`) AS groups,
  sum(CASE WHEN won > other THEN 1 ELSE 0 END) AS wins,
  sum(CASE WHEN won = other THEN 1 ELSE 0 END) AS ties,
  sum(CASE WHEN won < other THEN 1 ELSE 0 END) AS losses,
  avg(CASE WHEN e.level = 'exact' THEN 1.0 ELSE 0.0 END) AS exact,
  avg(CASE WHEN e.support = 1 THEN 1.0 ELSE 0.0 END) AS least_support,
  avg(e.contrast) AS contrast, avg(e.weight) AS weight
RETURN run, pairs, groups, wins, ties, losses, (wins + 0.5 * ties) / pairs AS agreement, exact,
  least_support, contrast, weight
ORDER BY run
