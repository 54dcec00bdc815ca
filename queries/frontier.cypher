// Which rubric channels could be reached next, for each progress that rollouts stood at.
//
// MCGPO, Eq. 8: what is neither reached nor a blocker, has no blocker in place and all its
// prerequisites: those of REQUIRES_EVER reached at some time before, those of REQUIRES_CURRENT
// reached now.
// Parameters:
//   groups (list of strings, default []): the groups to answer for; empty: every group
// Columns:
//   task: id
//   progress: the channels that are reached
//   reached: those that were reached at some time
//   channel: one that could be reached next
MATCH (r:Rollout)-[:HAS_STEP]->(s:Step)
WHERE (size($groups) = 0 OR r.`group` IN $groups) AND s.progress IS NOT NULL
WITH DISTINCT r.task AS task, s.progress AS progress, s.reached AS reached
MATCH (t:Task {id: task})-[:HAS_CHANNEL]->(j:Channel)
WHERE NOT j.name IN progress
OPTIONAL MATCH (j)-[:REQUIRES_EVER]->(a:Channel)
WITH task, progress, reached, j, count(a) AS needed,
  sum(CASE WHEN a.name IN reached THEN 1 ELSE 0 END) AS met
WHERE needed = met
OPTIONAL MATCH (j)-[:REQUIRES_CURRENT]->(b:Channel)
WITH task, progress, reached, j, count(b) AS needed,
  sum(CASE WHEN b.name IN progress THEN 1 ELSE 0 END) AS met
WHERE needed = met
OPTIONAL MATCH (j)<-[:BLOCKS]-(c:Channel)
WITH task, progress, reached, j, sum(CASE WHEN c.name IN progress THEN 1 ELSE 0 END) AS blockers
WHERE blockers = 0
OPTIONAL MATCH (j)-[:BLOCKS]->(d:Channel)
WITH task, progress, reached, j, count(d) AS blocks
WHERE blocks = 0
RETURN task, progress, reached, j.name AS channel
ORDER BY task, size(progress), channel
