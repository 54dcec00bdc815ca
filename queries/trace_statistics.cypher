// How often the dependency mechanism is active: the statistics of DepGPO's Table 11.
//
// The graph gives the first two; the others are arithmetic on the DepGPO queries' answers.
// Parameters:
//   groups (list of strings, default []): the groups to answer for; empty: every group
// Columns:
//   rollouts: how many there are
//   commands_per_rollout: agent commands
//   usable_credit: share of rollouts with usable dependency credit
//   unit_factors: share of rollouts that fall back to unit factors
//   positive_writes: share of write commands with positive credit
//   positive_reads: share of read commands with positive credit
//   indirect_writes: share of positive-credit writes with indirect contribution
//   mean_read_distance: mean shortest distance from a credited read to its reachable writes
MATCH (r:Rollout)
WHERE (size($groups) = 0 OR r.`group` IN $groups)
OPTIONAL MATCH (r)-[:HAS_STEP]->(:Step)-[:RAN]->(c:Command)
RETURN count(DISTINCT r.id) AS rollouts, count(c.id) AS commands
