// Which written records a later write command consumed.
//
// DepGPO, A.3, conditions 1 to 4: the consumer is a write command that read the file while the
// records were still the writer's, wrote another file, and did not replace them.
// Parameters:
//   groups (list of strings, default []): the groups to answer for; empty: every group
//   whole_file (string, default "removal"): reading of WHOLE_FILE: removal, literal or supersede (D1)
// Columns:
//   rollout: id
//   position: the writing command's position within the rollout
//   fragment: number of the fragment within the rollout
//   records: how many records the fragment stands for
//   consumer: the consuming command's position within the rollout
MATCH (r:Rollout)-[:HAS_STEP]->(:Step)-[:RAN]->(c:Command)-[:WROTE_LINES]->(f:Fragment)-[e:USED_BY]->(u:Command)
WHERE (size($groups) = 0 OR r.`group` IN $groups)
WITH DISTINCT r.id AS rollout, c.position AS position, f.number AS fragment, f.records AS records,
  u.position AS consumer, e.whole_file AS policies
WHERE $whole_file IN policies
RETURN rollout, position, fragment, records, consumer
