MATCH (r:Rollout)-[:ENDED_IN]->(b:State)
WHERE r.`group` IN $groups AND r.success
WITH DISTINCT b
MATCH (b)<-[path:LEADS_TO* SHORTEST (edge, node | WHERE edge.`group` IN $groups)]-(a:State)
WITH a.task AS task, a.id AS state, b.id AS success, length(path) AS distance
WHERE state <> success
RETURN task, state, min(distance) AS distance, avg(distance) AS mean_distance,
  count(*) AS successes
ORDER BY task, state
