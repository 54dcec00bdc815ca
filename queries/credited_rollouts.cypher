// What a credit run says of rollouts.
//
// Parameters:
//   run (string): id of the credit run
// Columns:
//   rollout: id
//   group: the siblings that it was compared with
//   advantage: group-relative; NULL: unscored
//   fallback: why factors or weights are not the method's own; NULL: they are
MATCH (:CreditRun {id: $run})-[e:CREDITED]->(r:Rollout)
RETURN r.id AS rollout, r.`group` AS `group`, e.advantage AS advantage, e.fallback AS fallback
ORDER BY r.task, `group`, r.slot, rollout
