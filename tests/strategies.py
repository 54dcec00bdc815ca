"""Random rollouts, in the input form of the worked examples: small, dense, and full of reuse."""

from hypothesis import strategies as st

PATHS = ["/w/a", "/w/b", "/w/c"]
PORTS = ["80", "8080"]
PROCESSES = ["nginx"]
VALUES = [["path", "/w/a"], ["port", "80"], ["number", "4096"]]


def subsets(items, **limits):
    return st.lists(st.sampled_from(items), unique_by=str, max_size=len(items), **limits)


@st.composite
def writes(draw):
    """At most one write a path, so that a command's record of a file is one thing."""
    found = []
    for path in draw(subsets(PATHS)):
        shape = draw(st.sampled_from(["lines", "lines", "whole", "deleted"]))
        lines = (
            draw(st.lists(st.integers(1, 6), min_size=1, unique=True)) if shape == "lines" else None
        )
        found.append({"path": path, "lines": lines, "deleted": shape == "deleted"})
    return found


@st.composite
def commands(draw, name, step):
    is_rare = draw(st.integers(0, 9)) == 0
    return {
        "id": name,
        "step": step,
        "reads": draw(subsets(PATHS)),
        "probes": draw(subsets(PATHS)),
        "writes": draw(writes()) if draw(st.booleans()) else [],
        "ports": draw(subsets(PORTS)) if is_rare else [],
        "processes": draw(subsets(PROCESSES)) if is_rare else [],
        "text": draw(subsets(VALUES)),
        "stdout": draw(subsets(VALUES)),
    }


@st.composite
def rollouts(draw):
    steps = draw(st.integers(1, 8))
    found = []
    for step in range(steps):
        found += [
            draw(commands(f"c{step}.{i}", step)) for i in range(draw(st.sampled_from([0, 1, 1, 2])))
        ]
    return {
        "commands": found,
        "verifier": {
            "reads": draw(subsets(PATHS)),
            "probes": draw(subsets(PATHS)),
            "writes": draw(st.sampled_from([[], [], ["/w/c"]])),
            "shadowed": draw(st.sampled_from([[], [], ["/w/b"]])),
            "ports": draw(subsets(PORTS)),
            "processes": draw(subsets(PROCESSES)),
        },
        "task_values": draw(st.sampled_from([[], [["port", "80"]]])),
        "tokens": draw(st.lists(st.integers(0, 9), min_size=steps, max_size=steps)),
    }


@st.composite
def options(draw):
    return {
        "beta": draw(st.sampled_from([0.25, 0.5, 0.75, 1.0])),
        "whole_file": draw(st.sampled_from(["removal", "literal", "supersede"])),
        "variant": draw(
            st.sampled_from(["full", "full", "binary", "no_filter", "no_read", "direct_only"])
        ),
    }
