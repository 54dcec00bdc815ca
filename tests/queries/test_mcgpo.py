"""MCGPO: frontiers and preferences, through the store, and against a plain reference."""

import json
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rollgraph.graph import CreditError, IngestError
from rollgraph.ingest import ingest
from rollgraph.queries import ask, credit, explain, load_credits, save_credits
from rollgraph.queries.mcgpo import NO_CONTEXTS, NO_FOLDS, NO_OUTCOMES

from ..graph_dump import dump
from .test_worked_examples import by_id

CASES = json.loads((Path(__file__).parent.parent / "data" / "mcgpo.json").read_text())
PREFERENCES = [case for case in CASES if case["input"]["op"] == "preferences"]
FRONTIERS = [case for case in CASES if case["input"]["op"] == "frontier"]


def task_record(channels=("A",), **rubric):
    return {"type": "task", "id": "t", "rubric": {"channels": list(channels), **rubric}}


def rollout_record(slot, steps, score=None, **keys):
    """Make a record from steps (exact, coarse, action[, channels reached before])."""
    made = []
    for exact, coarse, action, *_ in steps:
        state = {"exact": {"at": exact}, "coarse": {"at": coarse}}
        made.append({"state": state, "action": action, "progress": {}})
    for step, (*_, reached) in zip(made, [s for s in steps if len(s) > 3][1:], strict=False):
        step["progress"] = dict.fromkeys(reached, True)
    record = {"type": "rollout", "id": f"r{slot}", "task": "t", "slot": slot, "steps": made}
    return record | ({} if score is None else {"reward": float(score)}) | keys


def group(*rollouts):
    """Make records of eight rollouts, each (score, steps...), after their task's."""
    return [task_record(), *(rollout_record(i, steps, score) for i, (score, *steps) in
                             enumerate(rollouts))]  # fmt: skip


def pairs(found):
    """Return the pairs of the one group as (fold, preferred, other, level, support)."""
    first, *others = found
    assert all(rollout.pairs is None for rollout in others)
    return [
        (
            pair.fold,
            (pair.preferred.rollout, pair.preferred.step),
            (pair.other.rollout, pair.other.step),
            pair.level,
            pair.support,
        )
        for pair in first.pairs
    ]


@by_id(PREFERENCES)
def test_the_worked_example_gives_its_preferences(store, case):
    given = case["input"]
    assert given["folds"] == [[0, 2, 4, 6], [1, 3, 5, 7]]
    ingest(store, [task_record()])
    for slot, rollout in enumerate(given["rollouts"]):
        assert all((s["C"], s["F"]) == ([], ["A"]) for s in rollout["steps"])
        steps = [(s["exact"], s["coarse"], s["action"]) for s in rollout["steps"]]
        ingest(store, [rollout_record(slot, steps, rollout["score"])])
    options = dict(given["options"])
    q = options.pop("q")
    found = credit(store, "mcgpo", q_exact=q["exact"], q_coarse=q["coarse"], **options)
    expected = case["expected"]["selected"]
    assert pairs(found) == [
        (p["fold"], (f"r{p['plus'][0]}", p["plus"][1]), (f"r{p['minus'][0]}", p["minus"][1]),
         p["level"], p["n"])
        for p in expected
    ]  # fmt: skip
    tolerance = case["tolerance"]
    for name in ("contrast", "weight"):
        assert found.pairs[name].tolist() == pytest.approx(
            [pair[name] for pair in expected], abs=tolerance
        )


@by_id(FRONTIERS)
def test_the_worked_example_gives_its_frontier(store, case):
    given = case["input"]
    parents = [[a, b] for b, needed in given["parents"].items() for a in needed]
    reached = dict.fromkeys(given["C"], True)
    steps = [{"progress": reached}, {}]
    ingest(store, [task_record(given["V"], requires_current=parents)])
    ingest(store, [{"type": "rollout", "id": "r", "task": "t", "steps": steps}])
    table = ask(store, "frontier")
    at = table[table["progress"].map(sorted).map(tuple) == tuple(sorted(given["C"]))]
    assert sorted(at["channel"]) == case["expected"]["F"]


def test_a_prerequisite_once_met_is_not_one_that_is_met_now(store):
    rubric = {"requires_ever": [["A", "B"]], "requires_current": [["A", "C"]]}
    states = [{"exact": {}, "coarse": {}}] * 3
    progress = [{"A": 1}, {"A": 0}, {}]
    steps = [{"state": s, "progress": p} for s, p in zip(states, progress, strict=True)]
    ingest(store, [task_record("ABCD", blocks=[["D", "B"]], **rubric)])
    ingest(store, [{"type": "rollout", "id": "r", "task": "t", "steps": steps}])
    table = ask(store, "frontier")
    found = {}
    for row in table.itertuples():
        found.setdefault((*row.progress, *(f"({x})" for x in row.reached)), []).append(row.channel)
    assert found == {(): ["A"], ("A", "(A)"): ["B", "C"], ("(A)",): ["A", "B"]}
    contexts = ask(store, "decisions")
    assert {
        (row.step, row.level, *row.progress, "->", *row.frontier) for row in contexts.itertuples()
    } == {
        (step, level, *what)
        for level in ("exact", "coarse")
        for step, what in enumerate([("->", "A"), ("A", "->", "B", "C"), ("->", "A", "B")])
    }


def test_a_blocker_in_place_stops_what_it_blocks(store):
    steps = [{"progress": {"D": 2}}, {}]
    ingest(store, [task_record("BD", blocks=[["D", "B"]], required={"D": 2})])
    ingest(store, [{"type": "rollout", "id": "r", "task": "t", "steps": steps}])
    table = ask(store, "frontier")
    assert [(list(row.progress), row.channel) for row in table.itertuples()] == [([], "B")]


X_WINS = [  # fold 0: r0 x, r2 y; fold 1: x 1/1, y 0/2, and one elsewhere
    (0, ("k", "c", "x")), (1, ("k", "c", "x")), (0, ("k", "c", "y")), (0, ("k", "c", "y")),
    (0, ("z", "d", "q")), (0, ("k", "c", "y")), (0, ("z", "d", "q")), (0, ("w", "e", "q")),
]  # fmt: skip


def test_evidence_of_the_same_fold_counts_the_two_rollouts_themselves(store):
    """Fold 1 has x 1/1 and y 0/2; of its two pairs with x, one is left: x is used once."""
    ingest(store, group(*X_WINS))
    assert pairs(credit(store, "mcgpo")) == [(0, ("r0", 0), ("r2", 0), "exact", 1)]
    same = credit(store, "mcgpo", evidence="same")
    assert pairs(same) == [(1, ("r1", 0), ("r3", 0), "exact", 1)]
    assert same.pairs["contrast"].tolist() == [1.0]


def test_uniform_weights_keep_the_total(store):
    """Fold 0 has a pair in k, matched exactly, and one in d, which only the coarse states match."""
    rollouts = [
        (score, (exact if exact == "k" else f"l{slot}", "c" if exact == "k" else "d", action))
        for slot, (score, exact, action) in enumerate([
            (0, "k", "x"), (1, "k", "x"), (0, "k", "y"), (0, "k", "y"),
            (0, "l", "x"), (1, "l", "x"), (0, "l", "y"), (0, "l", "y"),
        ])
    ]  # fmt: skip
    ingest(store, group(*rollouts))
    weights = credit(store, "mcgpo").pairs["weight"].tolist()
    assert weights == pytest.approx([1 / 3, 0.7 / 3])
    uniform = credit(store, "mcgpo", weighting="uniform").pairs["weight"].tolist()
    assert uniform == pytest.approx([1.7 / 6] * 2)


def test_only_the_first_visit_of_a_context_counts(store):
    """r0 tries x first and y later; had its y counted, r0 and r2 would not differ there."""
    rollouts = [(score, *steps) for score, *steps in X_WINS]
    rollouts[0] = (0, ("k", "c", "x"), ("k", "c", "y"))
    rollouts[1] = (1, ("k", "c", "x"), ("k", "c", "y"))
    ingest(store, group(*rollouts))
    found = credit(store, "mcgpo")
    assert pairs(found) == [(0, ("r0", 0), ("r2", 0), "exact", 1)]
    later = credit(store, "mcgpo", b=1)
    assert pairs(later) == []


def test_contexts_may_be_matched_by_one_part_alone(store):
    """All differ in the exact and the coarse state, and none in progress."""
    rollouts = [
        (score, (f"k{i}", f"c{i}", action))
        for i, (score, (_, _, action)) in enumerate(X_WINS)
    ]  # fmt: skip
    ingest(store, group(*rollouts))
    assert pairs(credit(store, "mcgpo")) == []
    assert pairs(credit(store, "mcgpo", match="state")) == []
    by_rubric = pairs(credit(store, "mcgpo", match="rubric"))
    assert (0, ("r0", 0), ("r2", 0), "exact", 1) in by_rubric


def test_progress_tells_two_visits_of_a_state_apart(store):
    rollouts = group(*X_WINS)
    rollouts[1]["steps"].insert(0, {
        "state": {"exact": {"at": "s"}, "coarse": {"at": "s"}}, "action": "go",
        "progress": {"A": True},
    })  # fmt: skip
    ingest(store, rollouts)
    assert pairs(credit(store, "mcgpo")) == []
    assert pairs(credit(store, "mcgpo", match="state")) == [
        (0, ("r0", 1), ("r2", 0), "exact", 1)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda records: records.pop(), NO_FOLDS),
        (lambda records: records[8].update(slot=9), NO_FOLDS),
        (lambda records: records[0].pop("rubric"), NO_CONTEXTS),
        (lambda records: records[3]["steps"][0].pop("action"), NO_CONTEXTS),
        (lambda records: records[3]["steps"][0]["state"].pop("coarse"), NO_CONTEXTS),
        (lambda records: records[3].pop("reward"), NO_OUTCOMES),
    ],
)
def test_a_group_that_lacks_something_has_no_pairs_and_keeps_its_advantages(store, change, reason):
    records = group(*X_WINS)
    for record in records[1:]:
        record["success"] = bool(record["reward"])
    change(records)
    if reason == NO_OUTCOMES:
        records[3].pop("success")
    ingest(store, records)
    found, base = credit(store, "mcgpo"), credit(store, "graphgpo")
    assert pairs(found) == []
    assert all(reason in rollout.fallback for rollout in found)
    assert [[s.advantage for s in r.steps] for r in found] == [
        [s.advantage for s in r.steps] for r in base
    ]


def test_unknown_progress_before_a_step_is_a_gap_and_after_the_last_is_none(store):
    records = group(*X_WINS)
    del records[2]["steps"][0]["progress"]
    ingest(store, records)
    assert credit(store, "mcgpo").rollouts_credited[0].pairs
    records[2]["steps"].append(records[2]["steps"][0])
    ingest(store, records)
    (row,) = ask(store, "context_gaps").to_dict("records")
    assert (row["steps"], row["without_progress"], row["without_exact"]) == (9, 1, 1)
    assert pairs(credit(store, "mcgpo")) == []


def test_a_saved_run_keeps_its_pairs_and_tells_how_they_agree(store):
    """With r0 a success, fold 1 has a pair as well; r3 won though its action is the other one."""
    rollouts = list(X_WINS)
    rollouts[0], rollouts[3] = ((1, *rollouts[i][1:]) for i in (0, 3))
    ingest(store, group(*rollouts))
    found = credit(store, "mcgpo")
    run = save_credits(store, found)
    assert [r.pairs for r in load_credits(store, run)] == [r.pairs for r in found]
    (row,) = ask(store, "pair_agreement").to_dict("records")
    # r0 over r2 by 1/1 against 1/2, a win; r1 over r3 by 1/1 against 0/1, a tie.
    expected = {"run": run, "pairs": 2, "groups": 1, "wins": 1, "ties": 1, "losses": 0}
    assert row == expected | {
        "agreement": 0.75, "exact": 1.0, "least_support": 1.0, "contrast": 0.75,
        "weight": pytest.approx((1 / 6 + 1 / 3) / 2),
    }  # fmt: skip


def test_supply_counts_shared_contexts_and_supported_pairs(store):
    """Exact: fold 0 has k twice and z twice, fold 1 k three times and w once."""
    ingest(store, group(*X_WINS))
    rows = ask(store, "context_supply").to_dict("records")
    assert [row["level"] for row in rows] == ["exact", "coarse"]
    for row in rows:
        assert (row["decisions"], row["shared"], row["coverage"]) == (8, 7, 7 / 8)
        # Fold 0: r0 with r2; fold 1: r1 with r3 and with r5.
        assert row["pairs"] == 3


def test_a_pair_is_explained_by_its_context_and_evidence(store):
    ingest(store, group(*X_WINS))
    rows = explain(store, "r2/0", "mcgpo")
    assert rows[["why", "step", "text", "reward"]].astype(object).fillna("").values.tolist() == [
        ["context", "r0/0", 'exact {"at": "k"}; reached: none; next: A', ""],
        ["preferred", "r0/0", "x", 0.0],
        ["other", "r2/0", "y", 0.0],
        ["evidence", "r1/0", "x", 1.0],
        ["evidence", "r3/0", "y", 0.0],
        ["evidence", "r5/0", "y", 0.0],
    ]
    with pytest.raises(CreditError, match="r4/0: is in no pair"):
        explain(store, "r4/0", "mcgpo")


def test_another_rubric_remakes_the_contexts_of_earlier_rollouts(store):
    records = group(*X_WINS)
    ingest(store, records[1:])
    assert ask(store, "decisions").empty
    ingest(store, records[:1])
    assert len(ask(store, "decisions")) == 16
    ingest(store, [task_record("AB")])
    assert {tuple(row) for row in ask(store, "decisions")["frontier"]} == {("A", "B")}
    assert len(dump(store)["Context"]) == 6  # k, z, w and c, d, e: none is left of the old


def test_an_edge_between_channels_that_are_not_listed_is_refused(store):
    with pytest.raises(IngestError, match="every channel is listed in channels, found B"):
        ingest(store, [task_record("A", blocks=[["A", "B"]])], strict=True)


NAMES = ["A", "B", "C"]


@st.composite
def groups(draw):
    """Make a rubric and eight rollouts of few states, actions and channels."""
    edges = st.lists(st.tuples(*[st.sampled_from(NAMES)] * 2), max_size=2, unique=True)
    rubric = {key: draw(edges) for key in ("requires_ever", "requires_current", "blocks")}
    step = st.tuples(
        st.sampled_from("kl"), st.sampled_from("cd"), st.sampled_from("xy"),
        st.lists(st.sampled_from(NAMES), unique=True, max_size=1),
    )  # fmt: skip
    rollouts = [
        (draw(st.integers(0, 1)), draw(st.lists(step, min_size=1, max_size=4))) for _ in range(8)
    ]
    return rubric, rollouts


def frontier_of(rubric, now, ever):
    return {
        j
        for j in NAMES
        if j not in now
        and not any(a == j for a, _ in rubric["blocks"])
        and not any(b == j and a in now for a, b in rubric["blocks"])
        and all(a in ever for a, b in rubric["requires_ever"] if b == j)
        and all(a in now for a, b in rubric["requires_current"] if b == j)
    }


def first_visits(rubric, rollouts, level, match):
    """Context to slot to (position, action)."""
    found = {}
    for slot, (_, steps) in enumerate(rollouts):
        ever, now = set(), set()
        for t, (*states, action, after) in enumerate(steps):
            reached = (sorted(now), sorted(frontier_of(rubric, now, ever)))
            parts = {"state": states[level], "rubric": reached}
            key = str(parts if match == "joint" else parts[match])
            found.setdefault(key, {}).setdefault(slot, (t, action))
            now = set(after)
            ever |= now
    return found


def comparisons(rubric, rollouts, evidence, match, fold):
    """Two decisions to (contrast, support, weight, level), at the first level with support."""
    found = {}
    for level in (0, 1):
        for there in first_visits(rubric, rollouts, level, match).values():
            for i, j in combinations(sorted(slot for slot in there if slot % 2 == fold), 2):
                (ti, a), (tj, b) = there[i], there[j]
                side = fold if evidence == "same" else 1 - fold
                wins = [
                    [rollouts[e][0] for e, (_, done) in there.items() if (e % 2, done) == (side, x)]
                    for x in (a, b)
                ]
                if a != b and all(wins):
                    contrast = sum(wins[0]) / len(wins[0]) - sum(wins[1]) / len(wins[1])
                    n = min(map(len, wins))
                    weight = abs(contrast) * n / (n + 2) * (0.7 if level else 1.0)
                    found.setdefault((i, ti, j, tj), (contrast, n, weight, level))
    return found


def reference(rubric, rollouts, evidence, match):
    """Work the pairs out from the paper's definitions, decision by decision."""
    chosen = []
    for fold in (0, 1):
        best = {}
        for (i, ti, j, tj), values in comparisons(rubric, rollouts, evidence, match, fold).items():
            if abs(values[0]) >= 0.1:
                rank = (max(ti, tj), -values[2], ti, tj)
                best.setdefault((i, j), []).append((rank, *values))
        ranked = []
        for (i, j), of_two in best.items():
            (late, _, ti, tj), contrast, n, weight, level = min(of_two)
            ends = ((i, ti), (j, tj)) if contrast > 0 else ((j, tj), (i, ti))
            ranked.append((-weight, late, (i, j), fold, *ends, level, n))
        used = set()
        for negated, _, _, *rest in sorted(ranked):
            if len(used) < 4 and used.isdisjoint(rest[1:3]):
                used.update(rest[1:3])
                chosen.append((*rest, -negated))
    return chosen


@settings(max_examples=60)
@given(
    groups(),
    st.sampled_from(["opposite", "same"]),
    st.sampled_from(["joint", "state", "rubric"]),
    st.integers(0, 10**9),
)
def test_random_groups_give_the_pairs_of_a_plain_reference(store, drawn, evidence, match, number):
    rubric, rollouts = drawn
    task = f"t{number}"
    records = [task_record(NAMES, **rubric) | {"id": task}]
    for slot, (score, steps) in enumerate(rollouts):
        names = {"id": f"{task}-{slot}", "task": task}
        record = rollout_record(slot, [step[:3] for step in steps], score, **names)
        for step, (*_, reached) in zip(record["steps"], steps, strict=True):
            step["progress"] = dict.fromkeys(reached, True)
        records.append(record)
    ingest(store, records)
    found = credit(store, "mcgpo", groups=[task], evidence=evidence, match=match)
    shown = [
        (
            pair.fold,
            *((int(d.rollout.split("-")[1]), d.step) for d in (pair.preferred, pair.other)),
            ("exact", "coarse").index(pair.level),
            pair.support,
            pytest.approx(pair.weight, abs=1e-12),
        )
        for pair in found.rollouts_credited[0].pairs
    ]
    expected = sorted(reference(rubric, rollouts, evidence, match), key=lambda p: p[:3])
    assert sorted(shown, key=lambda p: p[:3]) == expected
