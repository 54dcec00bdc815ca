// What the steps of rollouts are made of.
//
// Parameters:
//   groups (list of strings, default []): the groups to answer for; empty: every group
// Columns:
//   rollout: id
//   step: position within the rollout
//   loss_tokens: generated tokens in the loss; NULL: not known
//   reward: the environment's reward for the step
//   valid: whether the environment accepted the action; NULL: not known
//   annotated: whether it is known which progress predicates it marked
MATCH (r:Rollout)-[:HAS_STEP]->(s:Step)
WHERE (size($groups) = 0 OR r.`group` IN $groups)
RETURN r.id AS rollout, s.position AS step, s.loss_tokens AS loss_tokens, s.reward AS reward,
  s.valid AS valid, s.annotated AS annotated
ORDER BY rollout, step
