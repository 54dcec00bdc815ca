"""The methods of state graphs once more, plainly: networkx for distances, fractions for means.

One group at a time, as dicts: `id`, T + 1 `states` (None: not known), `success` (None: not known),
`outcome` (None: unscored), T `rewards` or None, T `valid`. Each method returns rollout to
(the rollout's part, the steps' credits, the steps' advantages).
"""

from fractions import Fraction
from itertools import pairwise
from math import fsum, sqrt

import networkx as nx

SINK = ("sink",)


def standardized(values, counts, mode, ddof, eps=1e-6):
    """Return values less their mean, over their deviation; all 0 where they are equal."""
    exact = [Fraction(value) for value in values]
    if len({value for value, count in zip(exact, counts, strict=True) if count}) < 2:
        return [0.0] * len(values)
    mean = sum(c * v for v, c in zip(exact, counts, strict=True)) / sum(counts)
    squares = sum(c * (v - mean) ** 2 for v, c in zip(exact, counts, strict=True))
    deviation = 1.0 if mode == "mean" else sqrt(squares / (sum(counts) - ddof)) + eps
    return [float(value - mean) / deviation for value in exact]


def nodes(rollout):
    """Return the states, an unknown last one being the common end of the like outcome."""
    states = list(rollout["states"])
    if states[-1] is None and any(state is not None for state in states):
        states[-1] = ("end", rollout["success"])
    return states


def among_equals(group, keys, values, mode, ddof):
    """Compare each step's value with those of equal key; 0 where either is None."""
    places = {}
    for rollout in group:
        for step, value in enumerate(values[rollout["id"]]):
            key = keys[rollout["id"]][step]
            if key is not None and value is not None:
                places.setdefault(key, []).append((rollout["id"], step))
    found = {name: [0.0] * len(of_steps) for name, of_steps in values.items()}
    for members in places.values():
        compared = standardized([values[r][t] for r, t in members], [1] * len(members), mode, ddof)
        for (name, step), value in zip(members, compared, strict=True):
            found[name][step] = value
    return found


def rollout_parts(group, outcomes, weighting, mode, ddof, compat):
    scored = [rollout for rollout in group if outcomes[rollout["id"]] is not None]
    lengths = [len(rollout["states"]) - 1 for rollout in scored]
    by_step = weighting == "step" or compat == "verl-agent"
    counts = lengths if by_step else [1] * len(scored)
    values = [outcomes[rollout["id"]] for rollout in scored]
    parts = dict.fromkeys(outcomes)
    if compat == "verl-agent" and sum(counts) == 1:
        found = [value / (1 + 1e-6 if mode == "mean_std" else 1) for value in values]
    else:
        found = standardized(values, counts, mode, ddof)
    parts.update(zip((rollout["id"] for rollout in scored), found, strict=True))
    return parts


def together(base, credits, parts, weights=(1, 1)):  # noqa: A002 (what they are)
    return {
        name: (
            part,
            credits[name],
            [None if part is None else weights[0] * part + weights[1] * x for x in parts[name]],
        )
        for name, part in base.items()
    }


def sources(group):
    return {rollout["id"]: nodes(rollout)[:-1] for rollout in group}


def transitions(group):
    for rollout in group:
        yield from ((a, b) for a, b in pairwise(nodes(rollout)) if None not in (a, b))


def rewardflow(group, gamma=0.9, propagation="min", traj_weighting="rollout", mode="mean_std",
               ddof=1, compat="none"):  # fmt: skip
    back = nx.DiGraph((b, a) for a, b in transitions(group))
    successes = sorted(
        {nodes(r)[-1] for r in group if r["success"] and nodes(r)[-1] is not None}, key=repr
    )
    back.add_nodes_from(successes)
    worth = {}
    if successes and propagation == "pagerank":
        start = dict.fromkeys(successes, 1)
        ranks = nx.pagerank(back, alpha=0.85, personalization=start, tol=1e-13, max_iter=5000)
        worth = {state: rank / max(ranks.values()) for state, rank in ranks.items()}
    elif successes:
        near = {b: nx.single_source_shortest_path_length(back, b) for b in successes}
        for state in back:
            found = [lengths[state] for lengths in near.values() if state in lengths]
            if found:
                distance = min(found) if propagation == "min" else sum(found) / len(found)
                worth[state] = gamma**distance
    gains = {
        r["id"]: [
            None if None in (a, b) else worth.get(b, 0) - worth.get(a, 0)
            for a, b in pairwise(nodes(r))
        ]
        for r in group
    }
    outcomes = {
        r["id"]: float(r["success"])
        if r["outcome"] is None and r["success"] is not None
        else r["outcome"]
        for r in group
    }
    base = rollout_parts(group, outcomes, traj_weighting, mode, ddof, compat)
    return together(base, gains, among_equals(group, sources(group), gains, mode, ddof))


def graphgpo(group, omega=0.1, convention="code", weighting="step", mode="mean_std", ddof=1,
             compat="none"):  # fmt: skip
    graph = nx.DiGraph()
    for rollout in group:
        steps = list(pairwise(nodes(rollout)))
        if rollout["success"] and steps:
            source, _ = steps.pop()
            if source is not None:
                graph.add_edge(source, SINK)
        graph.add_edges_from((a, b) for a, b in steps if None not in (a, b))
    graph.add_node(SINK)
    near = nx.single_source_shortest_path_length(graph.reverse(), SINK)
    far = max(near.values()) + 1
    own = 1 if convention == "paper" else 0
    returns = {}
    for rollout in group:
        states = nodes(rollout)
        found = [
            None if None in (a, b) else 10 * omega ** (own + near.get(b, far))
            for a, b in pairwise(states)
        ]
        if rollout["success"] and found and states[-2] is not None:
            found[-1] = 10 * omega**own
        returns[rollout["id"]] = found
    outcomes = {
        r["id"]: None if r["success"] is None else 10.0 * r["success"] - 0.1 * r["valid"].count(0)
        for r in group
    }
    base = rollout_parts(group, outcomes, weighting, mode, ddof, compat)
    return together(base, returns, among_equals(group, sources(group), returns, mode, ddof))


def discounted_returns(group, gamma):
    found = {}
    for rollout in group:
        rewards, length = rollout["rewards"], len(rollout["states"]) - 1
        if rewards is None and rollout["outcome"] is not None:
            rewards = ([0.0] * length + [rollout["outcome"]])[1:] if length else []
        found[rollout["id"]] = [
            None
            if rewards is None
            else sum(gamma ** (later - step) * rewards[later] for later in range(step, length))
            for step in range(length)
        ]
    return found


def gigpo(group, gamma=0.95, omega=1.0, episode_weighting="rollout", mode="mean_std", ddof=1,
          compat="none"):  # fmt: skip
    returns = discounted_returns(group, gamma)
    totals = {
        r["id"]: sum(r["rewards"]) if r["outcome"] is None and r["rewards"] else r["outcome"]
        for r in group
    }
    base = rollout_parts(group, totals, episode_weighting, mode, ddof, compat)
    parts = among_equals(group, sources(group), returns, mode, ddof)
    return together(base, returns, parts, (1, omega))


def hgpo(group, gamma=0.95, history=2, alpha=1.0, mode="mean_std", ddof=0, compat="none"):
    returns = discounted_returns(group, gamma)
    depths = []
    for depth in range(history + 1):
        keys = {}
        for name, states in sources(group).items():
            runs = [tuple(states[max(0, t - depth) : t + 1]) for t in range(len(states))]
            keys[name] = [None if None in run or len(run) <= depth else run for run in runs]
        met = [
            key
            for name, of_steps in keys.items()
            for key, value in zip(of_steps, returns[name], strict=True)
            if value is not None
        ]
        compared = among_equals(group, keys, returns, mode, ddof)
        depths.append((depth, keys, met, compared))
    parts = {}
    for name, of_steps in returns.items():
        parts[name] = []
        for step in range(len(of_steps)):
            items = [
                ((depth + 1) ** alpha, compared[name][step])
                for depth, keys, met, compared in depths
                if keys[name][step] is not None
                and of_steps[step] is not None
                and met.count(keys[name][step]) > 1
            ]
            small = 1e-6 if compat == "verl-agent" else 0
            items = [(w, x) for w, x in items if x != 0 or not small]
            total = sum(w for w, _ in items) + small
            parts[name].append(sum(w * x for w, x in items) / total if items else 0.0)
    base = {name: None if None in of_steps else 0.0 for name, of_steps in returns.items()}
    return together(base, returns, parts)


def g2po(group, gamma=0.95, omega=1.0, weighting="rollout", mode="mean_std", ddof=1,
         compat="none"):  # fmt: skip
    visits = {}
    for rollout in group:
        states = nodes(rollout)[:-1]
        for step, state in enumerate(states):
            if state is not None and rollout["outcome"] is not None:
                worth = gamma ** (len(states) - step) * rollout["outcome"]
                visits.setdefault(state, []).append(worth)
    worth = {state: fsum(values) / len(values) for state, values in visits.items()}
    following, gains = {}, {}
    for rollout in group:
        states, name = nodes(rollout)[:-1], rollout["id"]
        values = [worth.get(state) for state in states]
        after = values[1:] + [rollout["outcome"]] * (len(states) > 0)
        pairs = list(zip(values, after, rollout["valid"], strict=True))
        gains[name] = [None if None in (a, b) else b - a for a, b, _ in pairs]
        following[name] = [None if b is None else b - 0.1 * (v is False) for _, b, v in pairs]
    base = rollout_parts(
        group, {r["id"]: r["outcome"] for r in group}, weighting, mode, ddof, compat
    )
    by_state = among_equals(group, sources(group), following, mode, ddof)
    whole = {name: ["all"] * len(of_steps) for name, of_steps in gains.items()}
    by_gain = among_equals(group, whole, gains, mode, ddof)
    parts = {
        name: [a + b for a, b in zip(by_state[name], by_gain[name], strict=True)]
        for name in by_state
    }
    return together(base, gains, parts, (1, omega))
