// What each step did, from which state to which.
//
// Parameters:
//   groups (list of strings, default []): the groups to answer for; empty: every group
// Columns:
//   rollout: id
//   step: position within the rollout
//   action: the canonical action taken
//   state: id of the state before; NULL: not known
//   key: its key
//   next_state: id of the state after; NULL: not known
//   next_key: its key; NULL: an end that is not known
MATCH (r:Rollout)-[:HAS_STEP]->(s:Step)
WHERE (size($groups) = 0 OR r.`group` IN $groups)
OPTIONAL MATCH (s)-[:`FROM`]->(a:State)
OPTIONAL MATCH (s)-[:`TO`]->(b:State)
RETURN r.id AS rollout, s.position AS step, s.action AS action, a.id AS state, a.key AS key,
  b.id AS next_state, b.key AS next_key
ORDER BY rollout, step
