// Where a step belongs.
//
// Parameters:
//   step (string): the step's id, such as ROLLOUT/2
// Columns:
//   rollout: id
//   task: the rollout's task
//   group: the rollout's group
//   step: position within the rollout
MATCH (s:Step {id: $step})<-[:HAS_STEP]-(r:Rollout)
RETURN r.id AS rollout, r.task AS task, r.`group` AS `group`, s.position AS step
