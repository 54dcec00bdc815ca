// Which computed credits the store keeps.
//
// Columns:
//   run: id
//   method: credit method
//   parameters: its parameters as JSON
//   groups: the groups asked for; empty: every group
//   rollouts: how many rollouts were credited
//   created_at: when, UTC
//   code_version: rollgraph's version
//   query_sha256: hash of the query texts that it ran
MATCH (c:CreditRun)
RETURN c.id AS run, c.method AS method, c.parameters AS parameters, c.groups AS groups,
  c.rollouts AS rollouts, c.created_at AS created_at, c.code_version AS code_version,
  c.query_sha256 AS query_sha256
ORDER BY created_at, run
