// The kinds are tested after the paths are found: given them sooner, the planner may start from the
// writes of the whole store.
MATCH (r:Rollout)-[:HAS_STEP]->(:Step)-[:RAN]->(c:Command)-[path:FEEDS* SHORTEST (edge, node | WHERE $whole_file IN edge.whole_file)]->(w:Command)
WHERE (size($groups) = 0 OR r.`group` IN $groups)
WITH r.id AS rollout, c.position AS position, w.position AS write, length(path) AS distance,
  c.kind AS source, w.kind AS target
WHERE source = 'read' AND target = 'write'
RETURN rollout, position, write, distance
