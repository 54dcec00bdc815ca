// Which command uses what of an earlier command: the command dependency graph G.
//
// DepGPO, A.2. The target may be the verifier; it has no step.
// Parameters:
//   groups (list of strings, default []): the groups to answer for; empty: every group
//   whole_file (string, default "removal"): reading of WHOLE_FILE: removal, literal or supersede (D1)
// Columns:
//   rollout: id
//   source: the earlier command's position within the rollout
//   target: the later command's position within the rollout
//   kind: file, stdout or mixed
//   evidence: the lines that were read and the printed values reused
//   qualifies: whether it is an edge of G_E: the target consumes some of what the source wrote
MATCH (r:Rollout)-[:HAS_STEP]->(:Step)-[:RAN]->(c:Command)-[e:FEEDS]->(u:Command)
WHERE (size($groups) = 0 OR r.`group` IN $groups)
WITH DISTINCT r.id AS rollout, c.position AS source, u.position AS target, e.kind AS kind,
  e.evidence AS evidence, e.whole_file AS policies, e.qualifies AS qualifying
WHERE $whole_file IN policies
RETURN rollout, source, target, kind, evidence, $whole_file IN qualifying AS qualifies
ORDER BY rollout, source, target
