// Which progress predicates tasks list.
//
// Parameters:
//   groups (list of strings, default []): the groups to answer for; empty: every group
// Columns:
//   task: id
//   predicate: its id in the task's record
//   weight: its share of the potential
MATCH (r:Rollout)-[:ATTEMPTS]->(t:Task)
WHERE (size($groups) = 0 OR r.`group` IN $groups)
WITH DISTINCT t
MATCH (t)-[e:HAS_PREDICATE]->(p:Predicate)
RETURN t.id AS task, p.name AS predicate, e.weight AS weight
ORDER BY task, predicate
