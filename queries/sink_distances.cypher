// How far each state is from the states from which a step completed the task.
//
// GraphGPO: the last step of a successful rollout leads to a success sink, and to no other state
// (decision G2); a shortest way never takes such a step, since it starts from where the way ends.
// The states that such a step starts from are at distance 0 from themselves and have a row only
// where they come round to one again; states that lead to no success have no row.
// Parameters:
//   groups (list of strings): the groups to answer for; groups of one task make one graph
// Columns:
//   task: id
//   state: id
//   distance: steps to the nearest of those states
MATCH (r:Rollout)-[:HAS_STEP]->(:Step)-[:`FROM`]->(b:State)
WHERE r.`group` IN $groups AND r.success
WITH DISTINCT b
MATCH (b)-[last:LEADS_TO]->(:State)
WHERE last.succeeds AND last.`group` IN $groups
WITH DISTINCT b
MATCH path = (b)<-[:LEADS_TO*]-(a:State)
WHERE all(edge IN relationships(path) WHERE edge.`group` IN $groups)
RETURN a.task AS task, a.id AS state, min(length(path)) AS distance
ORDER BY task, state
