// Which step's action a credit run prefers to another's.
//
// MCGPO: preferences between the actions of two decisions in one context.
// Parameters:
//   run (string): id of the credit run
// Columns:
//   group: the group of the two rollouts
//   level: of the state summary that the two share: exact or coarse
//   fold: of the two rollouts: 0 or 1
//   rollout: id of the preferred step's rollout
//   step: the preferred step's position
//   action: its action
//   reward: its rollout's outcome reward
//   other_rollout: id of the other step's rollout
//   other_step: the other step's position
//   other_action: its action
//   other_reward: its rollout's outcome reward
//   contrast: difference of the two actions' rates of success in the evidence
//   support: rollouts of evidence for the action that has fewer
//   weight: the pair's weight in the loss
MATCH (p:Rollout)-[:HAS_STEP]->(a:Step)-[e:PREFERRED]->(b:Step)<-[:HAS_STEP]-(q:Rollout)
WITH DISTINCT p, a, e, b, q
WHERE e.run = $run
RETURN p.`group` AS `group`, e.level AS level, e.fold AS fold, p.id AS rollout,
  a.position AS step, a.action AS action, p.reward AS reward, q.id AS other_rollout,
  b.position AS other_step, b.action AS other_action, q.reward AS other_reward,
  e.contrast AS contrast, e.support AS support, e.weight AS weight
ORDER BY `group`, fold, weight DESC, rollout, step
