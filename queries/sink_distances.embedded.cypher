MATCH (r:Rollout)-[:HAS_STEP]->(:Step)-[:`FROM`]->(b:State)
WHERE r.`group` IN $groups AND r.success
WITH DISTINCT b
MATCH (b)-[last:LEADS_TO]->(:State)
WHERE last.succeeds AND last.`group` IN $groups
WITH DISTINCT b
MATCH (b)<-[path:LEADS_TO* SHORTEST (edge, node | WHERE edge.`group` IN $groups)]-(a:State)
RETURN a.task AS task, a.id AS state, min(length(path)) AS distance
ORDER BY task, state
