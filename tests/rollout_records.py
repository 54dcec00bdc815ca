"""Rollout records from the input objects of the worked examples.

Typed values stand in the texts as JSON, so that an example's values reach the store as they are;
`listed_values` reads them back.
"""

import json


def listed_values(text: str, cwd: str | None) -> set[tuple[str, str]]:  # noqa: ARG001
    return {(kind, value) for kind, value in json.loads(text)} if text else set()


def ranges(lines: list[int]) -> list[list[int]]:
    """Line numbers as ranges."""
    found: list[list[int]] = []
    for line in sorted(set(lines)):
        if found and line == found[-1][1] + 1:
            found[-1][1] = line
        else:
            found.append([line, line])
    return found


def command_record(command: dict) -> dict:
    return {
        "text": json.dumps(command["text"]),
        "stdout": json.dumps(command["stdout"]),
        "reads": command["reads"],
        "probes": command["probes"],
        "writes": [
            {"path": w["path"]}
            if w["lines"] is None
            else {"path": w["path"], "lines": ranges(w["lines"])}
            for w in command["writes"]
            if not w["deleted"]
        ],
        "deletes": [w["path"] for w in command["writes"] if w["deleted"]],
        "ports": {"opened": [int(port) for port in command["ports"]]},
        "processes": {"started": command["processes"]},
    }


def rollout_record(task: dict, name: str, group: str, reward: float | None = 1.0) -> dict:
    steps = [
        {
            "tokens": {"count": count},
            "commands": [command_record(c) for c in task["commands"] if c["step"] == step],
        }
        for step, count in enumerate(task["tokens"])
    ]
    record = {
        "type": "rollout",
        "id": name,
        "task": f"{group}-task",
        "group": group,
        "steps": steps,
    }
    if reward is not None:
        record["reward"] = reward
    if task["verifier"] is not None:
        record["verifier"] = {
            **task["verifier"],
            "ports": [int(p) for p in task["verifier"]["ports"]],
        }
    return record


def task_record(task: dict, group: str) -> dict:
    return {"type": "task", "id": f"{group}-task", "description": json.dumps(task["task_values"])}
