// How far each state is from the states in which rollouts succeeded.
//
// RewardFlow: distances back from success along the transitions of the groups' steps. States that
// lead to no success have no row, nor have success states that lead to no other one: `final_states`
// lists them. A task's rollouts share its states, so groups of one task that are asked for together
// make one graph.
// Parameters:
//   groups (list of strings): the groups to answer for
// Columns:
//   task: id
//   state: id
//   distance: steps to the nearest success state other than itself
//   mean_distance: mean over the other success states that it leads to
//   successes: how many those are
MATCH (r:Rollout)-[:ENDED_IN]->(b:State)
WHERE r.`group` IN $groups AND r.success
WITH DISTINCT b
MATCH path = (b)<-[:LEADS_TO*]-(a:State)
WHERE all(edge IN relationships(path) WHERE edge.`group` IN $groups)
WITH a, b, min(length(path)) AS distance
WHERE a.id <> b.id
RETURN a.task AS task, a.id AS state, min(distance) AS distance, avg(distance) AS mean_distance,
  count(*) AS successes
ORDER BY task, state
