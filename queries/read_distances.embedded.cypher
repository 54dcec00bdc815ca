MATCH (r:Rollout)-[:HAS_STEP]->(:Step)-[:RAN]->(c:Command)-[path:FEEDS* SHORTEST (edge, node | WHERE $whole_file IN edge.whole_file)]->(w:Command)
WHERE (size($groups) = 0 OR r.`group` IN $groups) AND c.kind = 'read' AND w.kind = 'write'
RETURN r.id AS rollout, c.position AS position, w.position AS write, length(path) AS distance
