// Which rollouts there are, with their outcomes.
//
// Parameters:
//   groups (list of strings, default []): the groups to answer for; empty: every group
// Columns:
//   rollout: id
//   task: its task's id
//   group: the siblings that it is compared with
//   slot: position within the group
//   reward: outcome reward; NULL: unscored
//   success: NULL: not known
//   verified: whether the verifier was traced
//   policy: name of the policy that sampled it
//   policy_version: version of the weights that sampled it
//   dropped_paths: relative paths with no known working directory
MATCH (r:Rollout)
WHERE (size($groups) = 0 OR r.`group` IN $groups)
RETURN r.id AS rollout, r.task AS task, r.`group` AS `group`, r.slot AS slot, r.reward AS reward,
  r.success AS success, r.verified AS verified, r.policy AS policy,
  r.policy_version AS policy_version, r.dropped_paths AS dropped_paths
ORDER BY task, `group`, slot, rollout
