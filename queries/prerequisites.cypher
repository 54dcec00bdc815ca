// Which predicates a predicate builds on, and how far each is away.
//
// DARS: what is verified counts less, the nearer a broken prerequisite of it is.
// Parameters:
//   groups (list of strings, default []): the groups to answer for; empty: every group
// Columns:
//   task: id
//   predicate: its id in the task's record
//   prerequisite: the other's
//   distance: REQUIRES edges between them, on the shortest way
MATCH (r:Rollout)-[:ATTEMPTS]->(t:Task)
WHERE (size($groups) = 0 OR r.`group` IN $groups)
WITH DISTINCT t
MATCH (t)-[:HAS_PREDICATE]->(p:Predicate)
MATCH path = (p)-[:REQUIRES*]->(q:Predicate)
WITH p, q, min(length(path)) AS distance
RETURN p.task AS task, p.name AS predicate, q.name AS prerequisite, distance
ORDER BY task, predicate, prerequisite
