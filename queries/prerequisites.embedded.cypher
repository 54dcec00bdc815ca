MATCH (r:Rollout)-[:ATTEMPTS]->(t:Task)
WHERE (size($groups) = 0 OR r.`group` IN $groups)
WITH DISTINCT t
MATCH (t)-[:HAS_PREDICATE]->(p:Predicate)
MATCH (p)-[path:REQUIRES* SHORTEST]->(q:Predicate)
RETURN p.task AS task, p.name AS predicate, q.name AS prerequisite, length(path) AS distance
ORDER BY task, predicate, prerequisite
