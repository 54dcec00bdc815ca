MATCH (r:Rollout)-[:HAS_STEP]->(:Step)-[:RAN]->(c:Command)-[path:FEEDS* SHORTEST (edge, node | WHERE $whole_file IN edge.qualifies)]->(u:Command)
WHERE (size($groups) = 0 OR r.`group` IN $groups) AND c.kind = 'write'
RETURN r.id AS rollout, c.position AS position, u.position AS consumer, length(path) AS distance
