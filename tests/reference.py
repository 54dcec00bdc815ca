"""DepGPO once more, as plainly as the paper's text: one entry a line, sets, and networkx.

The yardstick that the Cypher must equal. It knows nothing of intervals, fragments or a store. Its
input and output are those of the worked examples: `commands` with `reads`, `writes` (`lines`, or
null for WHOLE_FILE, and `deleted`), `ports`, `processes`, typed values in `text` and `stdout`.
"""

from math import fsum

import networkx as nx

WHOLE = -1


def solve(task: dict) -> dict:  # noqa: C901 (one page of the paper)
    """Credits, factors and weights of one rollout."""
    options = {"beta": 0.5, "whole_file": "removal", "variant": "full", "delta_min": 1e-9}
    options |= task.get("options", {})
    commands, verifier = task["commands"], task["verifier"]
    records = {c["id"]: _records(c) for c in commands}
    is_write = {c["id"]: bool(c["writes"] or c["ports"] or c["processes"]) for c in commands}
    owners, file_edges, consumers = _replay(commands, options["whole_file"])
    graph = nx.DiGraph()
    graph.add_nodes_from(records)
    graph.add_edges_from(file_edges)
    stdout_edges = _stdout_edges(commands, task["task_values"])
    graph.add_edges_from(stdout_edges)

    ignored = {*verifier["shadowed"], *verifier["writes"]}
    e_files = {*verifier["reads"], *verifier["probes"]} - ignored
    direct = {
        name: {p for p in records[name] if p[0] in e_files and owners.get(p) == name}
        for name in records
    }
    matched = {
        c["id"]
        for c in commands
        if {*c["ports"]} & {*verifier["ports"]} or {*c["processes"]} & {*verifier["processes"]}
    }
    reach = nx.DiGraph()
    reach.add_nodes_from([*records, "E"])
    reach.add_edges_from((name, "E") for name in records if direct[name] or name in matched)
    if options["variant"] != "direct_only":
        reach.add_edges_from((name, u) for (name, _), users in consumers.items() for u in users)
    reaching = nx.ancestors(reach, "E")
    indirect = {
        name: {p for p in records[name] if consumers.get((name, p), set()) & reaching}
        for name in records
    }
    if options["variant"] == "direct_only":
        indirect = {name: set() for name in records}

    contrib = {}
    for name in records:
        if not is_write[name]:
            continue
        if records[name]:
            contrib[name] = len(direct[name] | indirect[name]) / len(records[name])
        else:
            contrib[name] = 1.0 if name in reaching else 0.0
        if options["variant"] == "no_filter":
            contrib[name] = 1.0
        if options["variant"] == "binary" and contrib[name] > 0:
            contrib[name] = 1.0
    q, distances = dict(contrib), {}
    for name in records:
        if is_write[name]:
            continue
        lengths = nx.single_source_shortest_path_length(graph, name)
        distances[name] = {w: d for w, d in lengths.items() if w in contrib}
        q[name] = fsum(options["beta"] ** d * contrib[w] for w, d in distances[name].items())
        if options["variant"] == "no_read":
            q[name] = 0.0
    kinds = dict.fromkeys(file_edges, "file")
    kinds |= {e: "mixed" if e in kinds else "stdout" for e in stdout_edges}
    return {
        "E_files": sorted(e_files),
        "edges": sorted([a, b, kind] for (a, b), kind in kinds.items()),
        "W": {n: sorted(map(list, r)) for n, r in records.items()},
        "direct": {n: sorted(map(list, r)) for n, r in direct.items()},
        "indirect": {n: sorted(map(list, r)) for n, r in indirect.items()},
        "reaches_E": sorted(n for n in reaching if is_write[n]),
        "contrib": contrib,
        "q": q,
        "distances": distances,
        "consumption": _consumption(consumers),
        **_factors(commands, q, task["tokens"], options["delta_min"]),
    }


def _consumption(consumers: dict) -> dict:
    """Shortest distances along qualifying consumption between agent commands."""
    graph = nx.DiGraph((name, user) for (name, _), users in consumers.items() for user in users)
    lengths = dict(nx.all_pairs_shortest_path_length(graph))
    found = {name: {u: d for u, d in near.items() if d} for name, near in lengths.items()}
    return {name: near for name, near in found.items() if near}


def _records(command: dict) -> set:
    found = set()
    for write in command["writes"]:
        lines = [WHOLE] if write["lines"] is None else write["lines"]
        found |= {(write["path"], line) for line in lines}
    return found


def _replay(commands: list, policy: str):
    """Who owns what in the end; file edges; (writer, position) to its qualifying consumers."""
    owners, removed_by, file_edges, consumers = {}, {}, set(), {}
    for command in commands:
        name = command["id"]
        after, after_removed = _applied(owners, removed_by, command, policy)
        kept = {
            position
            for write in command["writes"]
            if not write["deleted"]
            for position in _records({"writes": [write]})
        }
        for position, owner in owners.items():
            path = position[0]
            if path not in command["reads"]:
                continue
            file_edges.add((owner, name))
            replaced = position in kept
            if policy == "supersede":
                replaced = after.get(position) != owner
            if any(w["path"] != path for w in command["writes"]) and not replaced:
                consumers.setdefault((owner, position), set()).add(name)
        owners, removed_by = after, after_removed
    return owners, file_edges, consumers


def _applied(owners: dict, removed_by: dict, command: dict, policy: str):
    """Ownership after a command's writes; `removed_by`: files whose marker is a removal's."""
    owners, removed_by = dict(owners), dict(removed_by)
    name = command["id"]
    for write in sorted(command["writes"], key=lambda w: not w["deleted"]):
        path, whole = write["path"], write["lines"] is None
        takes_over = whole and (policy == "supersede" or (policy == "removal" and write["deleted"]))
        if takes_over:
            owners = {p: o for p, o in owners.items() if p[0] != path}
        elif policy != "literal" and path in removed_by and not write["deleted"]:
            owners.pop((path, WHOLE), None)
        if whole:
            owners[path, WHOLE] = name
        for line in write["lines"] or ():
            owners[path, line] = name
        if write["deleted"]:
            removed_by[path] = name
        else:
            removed_by.pop(path, None)
    return owners, removed_by


def _stdout_edges(commands: list, task_values: list) -> set:
    known = {tuple(value) for value in task_values}
    edges = set()
    for index, command in enumerate(commands):
        for value in {tuple(v) for v in command["text"]} - known:
            for earlier in commands[:index]:
                if value in {tuple(v) for v in earlier["stdout"]}:
                    edges.add((earlier["id"], command["id"]))
                    break
    return edges


def _factors(commands: list, q: dict, tokens: list, delta_min: float) -> dict:
    steps = len(tokens)
    credit = [None] * steps
    for step in range(steps):
        found = [q[c["id"]] for c in commands if c["step"] == step]
        credit[step] = fsum(found) if found else None
    compared = [t for t in range(steps) if credit[t] is not None]
    factors = [1.0] * steps
    if compared:
        low = min(credit[t] for t in compared)
        delta = fsum(credit[t] - low for t in compared)
        if delta > delta_min:
            for t in compared:
                factors[t] = len(compared) * (credit[t] - low) / delta
    z = fsum(f * n for f, n in zip(factors, tokens, strict=True)) / (sum(tokens) or 1)
    weights = [f / z for f in factors] if z else [1.0] * steps
    return {"step_credit": credit, "S": compared, "factors": factors, "Z": z, "weights": weights}
