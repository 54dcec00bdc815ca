// Where a command belongs.
//
// Parameters:
//   command (string): the command's id, such as ROLLOUT/2/0
// Columns:
//   rollout: id
//   group: the rollout's group
//   step: position of the step within the rollout
//   position: execution order within the rollout
//   kind: write or read
//   traced: whether the recorder saw it
//   text: as typed
MATCH (c:Command {id: $command})<-[:RAN]-(s:Step)<-[:HAS_STEP]-(r:Rollout)
RETURN r.id AS rollout, r.`group` AS `group`, s.position AS step, c.position AS position,
  c.kind AS kind, c.traced AS traced, c.text AS text
