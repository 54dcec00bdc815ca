"""Rollout records from state sequences, the input objects of the worked examples."""


def state_record(rollout: dict, task: str = "t", group: str = "g") -> dict:
    """Make a record of a rollout with `id` and T + 1 `states`; None: not known.

    And with what there is of `actions`, `success`, `outcome`, `rewards` and `invalid` (how many
    actions were not accepted).
    """
    states = rollout["states"]
    length = len(rollout.get("rewards", states[:-1]))
    steps = [{"state": {"key": key}} for key in states[:length]]
    for step, action in zip(steps, rollout.get("actions", ()), strict=False):
        step["action"] = action
    for step, reward in zip(steps, rollout.get("rewards", ()), strict=False):
        step["reward"] = reward
    for index, step in enumerate(steps):
        step["valid"] = index >= rollout.get("invalid", 0)
    record = {"type": "rollout", "id": rollout["id"], "task": task, "group": group, "steps": steps}
    if len(states) > length:
        record["final_state"] = {"key": states[-1]}
    if "success" in rollout:
        record["success"] = rollout["success"]
        record["reward"] = rollout.get("outcome", float(rollout["success"]))
    elif "rewards" in rollout:
        record["reward"] = sum(rollout["rewards"])
    return record
