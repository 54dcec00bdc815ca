// Which commands ran, and what they printed.
//
// Parameters:
//   groups (list of strings, default []): the groups to answer for; empty: every group
// Columns:
//   rollout: id
//   step: position of the step within the rollout
//   command: position within the step
//   position: execution order within the rollout
//   kind: write or read
//   traced: whether what it touched is known
//   inferred: whether that was inferred from its text, and not traced
//   records: tracked file records that it wrote
//   exit_code: its exit status
//   text: as typed
//   stdout: what it printed, up to the limit of the graph's texts
MATCH (r:Rollout)-[:HAS_STEP]->(s:Step)-[:RAN]->(c:Command)
WHERE (size($groups) = 0 OR r.`group` IN $groups)
RETURN r.id AS rollout, s.position AS step, c.place AS command, c.position AS position, c.kind AS kind,
  c.traced AS traced, c.inferred AS inferred, c.records AS records, c.exit_code AS exit_code, c.text AS text,
  c.stdout AS stdout
ORDER BY rollout, position
