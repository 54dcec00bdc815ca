// Which commands are writes and which are reads.
//
// DepGPO, A.1: a write command has at least one recorded write left; all others are read commands.
// Parameters:
//   groups (list of strings, default []): the groups to answer for; empty: every group
// Columns:
//   rollout: id
//   step: position of the step within the rollout
//   command: position within the step
//   position: execution order within the rollout
//   kind: write or read
//   traced: whether the recorder saw it
//   records: tracked file records that it wrote: the size of W_c
MATCH (r:Rollout)-[:HAS_STEP]->(s:Step)-[:RAN]->(c:Command)
WHERE (size($groups) = 0 OR r.`group` IN $groups)
RETURN r.id AS rollout, s.position AS step, c.place AS command, c.position AS position, c.kind AS kind,
  c.traced AS traced, c.records AS records
