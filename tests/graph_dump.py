"""The whole graph of a store as plain data, to compare stores with one another."""

from rollgraph.graph import EDGES, NODES


def dump(store) -> dict[str, list]:
    """Every node and edge but the log's own: label or type to sorted rows."""
    found = {}
    for node in NODES:
        names = [name for name in node.columns if name not in ("batch", "digest")]
        columns = ", ".join(f"n.`{name}` AS c{i}" for i, name in enumerate(names))
        rows = store.query(f"MATCH (n:`{node.label}`) RETURN {columns}").to_pylist()
        if node.label != "Batch":
            found[node.label] = sorted(map(str, (list(row.values()) for row in rows)))
    for edge in EDGES:
        names = list(edge.columns)[2:]
        columns = "".join(f", e.`{name}` AS c{i}" for i, name in enumerate(names))
        for source, target in edge.ends:
            rows = store.query(
                f"MATCH (a:`{source}`)-[e:`{edge.type}`]->(b:`{target}`) "
                f"RETURN a.id AS a, b.id AS b{columns}"
            ).to_pylist()
            found[f"{edge.type} {target}"] = sorted(map(str, (list(row.values()) for row in rows)))
    return found
