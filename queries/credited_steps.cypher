// What a credit run says of steps.
//
// Parameters:
//   run (string): id of the credit run
// Columns:
//   rollout: id
//   step: position within the rollout
//   credit: NULL: none
//   factor: before token normalization
//   weight: after token normalization
//   advantage: NULL: never assigned
MATCH (:CreditRun {id: $run})-[e:CREDITED]->(s:Step)<-[:HAS_STEP]-(r:Rollout)
RETURN r.id AS rollout, s.position AS step, e.credit AS credit, e.factor AS factor,
  e.weight AS weight, e.advantage AS advantage
ORDER BY rollout, step
