// What a credit run says of commands.
//
// Parameters:
//   run (string): id of the credit run
// Columns:
//   rollout: id
//   step: position of the step within the rollout
//   command: position within the step
//   position: execution order within the rollout
//   kind: write or read
//   credit: its credit
//   records: tracked file records that it wrote
//   direct: records that reach E directly
//   indirect: records that reach E through a consumer
//   reaches: whether it is connected to E
MATCH (:CreditRun {id: $run})-[e:CREDITED]->(c:Command)<-[:RAN]-(s:Step)<-[:HAS_STEP]-(r:Rollout)
RETURN r.id AS rollout, s.position AS step, c.place AS command, c.position AS position,
  c.kind AS kind, e.credit AS credit, c.records AS records, e.direct AS direct,
  e.indirect AS indirect, e.reaches AS reaches
ORDER BY rollout, position
