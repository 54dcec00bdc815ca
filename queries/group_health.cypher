// Which groups give no training signal, and how much of what they did reaches the verifier.
//
// DepGPO, Figure 1 a and d: groups of equal rewards have zero advantages everywhere. The last two
// columns are arithmetic on the DepGPO queries' answers.
// Parameters:
//   groups (list of strings, default []): the groups to answer for; empty: every group
// Columns:
//   task: the rollouts' task
//   group: the group
//   rollouts: how many there are
//   scored: how many have a reward
//   unscored: how many have none
//   mean_reward: over the scored
//   zero_advantage: whether all rewards are equal
//   commands: traced commands
//   reach_share: median over its verified rollouts of the share of commands that reach E
MATCH (r:Rollout)
WHERE (size($groups) = 0 OR r.`group` IN $groups)
RETURN r.task AS task, r.`group` AS `group`, count(*) AS rollouts, count(r.reward) AS scored,
  count(*) - count(r.reward) AS unscored, avg(r.reward) AS mean_reward,
  count(r.reward) > 0 AND min(r.reward) = max(r.reward) AS zero_advantage
ORDER BY task, `group`
