// Which progress predicates steps marked.
//
// Parameters:
//   groups (list of strings, default []): the groups to answer for; empty: every group
// Columns:
//   rollout: id
//   step: position within the rollout
//   predicate: its id
//   mark: verified, invalidated or repaired
MATCH (r:Rollout)-[:HAS_STEP]->(s:Step)-[:VERIFIED]->(p:Predicate)
WHERE (size($groups) = 0 OR r.`group` IN $groups)
RETURN r.id AS rollout, s.position AS step, p.name AS predicate, 'verified' AS mark
UNION ALL
MATCH (r:Rollout)-[:HAS_STEP]->(s:Step)-[:INVALIDATED]->(p:Predicate)
WHERE (size($groups) = 0 OR r.`group` IN $groups)
RETURN r.id AS rollout, s.position AS step, p.name AS predicate, 'invalidated' AS mark
UNION ALL
MATCH (r:Rollout)-[:HAS_STEP]->(s:Step)-[:REPAIRED]->(p:Predicate)
WHERE (size($groups) = 0 OR r.`group` IN $groups)
RETURN r.id AS rollout, s.position AS step, p.name AS predicate, 'repaired' AS mark
