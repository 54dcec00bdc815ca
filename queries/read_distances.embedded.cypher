// The write's kind is tested after the paths are found: given it sooner, the planner may start from
// the writes of the whole store.
MATCH (r:Rollout)-[:HAS_STEP]->(:Step)-[:RAN]->(c:Command)-[path:FEEDS* SHORTEST (edge, node | WHERE $whole_file IN edge.whole_file)]->(w:Command)
WHERE (size($groups) = 0 OR r.`group` IN $groups) AND c.kind = 'read'
WITH r.id AS rollout, c.position AS position, w.position AS write, length(path) AS distance,
  w.kind AS target
WHERE target = 'write'
RETURN rollout, position, write, distance
