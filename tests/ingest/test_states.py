"""Which states a rollout passed, as each reader tells them apart."""

import pytest

from rollgraph.graph import IngestError
from rollgraph.graph.records import Rollout
from rollgraph.ingest import States, ingest
from rollgraph.ingest.states import STATE_READERS


def rollout(seen, actions, **keys):
    """Make a rollout from T + 1 observations and T actions."""
    steps = [
        {"observation": text, "action": action}
        for text, action in zip(seen[:-1], actions, strict=True)
    ]
    record = {"type": "rollout", "id": "r", "task": "t", "steps": steps, **keys}
    return Rollout.model_validate({"final_state": {"observation": seen[-1]}, **record})


def same(keys):
    """Give each key a number, by its first appearance."""
    numbers = {}
    return [numbers.setdefault(key, len(numbers)) for key in keys]


def test_text_ignores_case_white_space_and_counters():
    seen = ["You see a  DOOR.\nStep 1/30", "you see a door. step 2/30", "You see 2 doors."]
    assert same(States().keys(rollout(seen, ["wait", "go"]))) == [0, 0, 1]
    assert same(States("raw").keys(rollout(seen, ["wait", "go"]))) == [0, 1, 2]


@pytest.mark.parametrize("counter", ["turn 3", "(12 moves left)", "Step: 4", "3 of 30 steps taken"])
def test_a_counter_of_steps_tells_no_states_apart(counter):
    other = counter.replace("3", "8").replace("4", "5").replace("12", "11")
    keys = States().keys(rollout([f"a room {counter}", f"a room {other}"], ["wait"]))
    assert keys[0] == keys[1]


def test_other_numbers_do_tell_states_apart():
    keys = States().keys(rollout(["You see apple 1.", "You see apple 2."], ["go"]))
    assert keys[0] != keys[1]


def test_a_state_that_is_not_seen_is_not_known_but_for_its_own_key():
    record = rollout(["a", "b", "c"], ["x", "y"])
    record.final_state = None
    assert States().keys(record)[-1] is None
    given = rollout(["a", "b", "c"], ["x", "y"], final_state={"key": "end", "observation": "c"})
    assert States().keys(given) == ("a", "b", "end")


ROOM = "You are in the middle of a room. Looking quickly around you, you see a desk 1."
DESK = "On the desk 1, you see a mug 1, and a pen 2."


def test_alfworld_takes_noise_for_the_state_before_it():
    seen = [ROOM, DESK, "You are facing the desk 1.", "You are not carrying anything.", DESK,
            "Nothing happens.", "You pick up the mug 1 from the desk 1."]  # fmt: skip
    actions = ["go to desk 1", "look", "inventory", "examine desk 1", "eat desk 1",
               "take mug 1 from desk 1"]  # fmt: skip
    record = rollout(seen, actions)
    assert same(States("alfworld").keys(record)) == [0, 1, 1, 1, 1, 1, 2]
    assert same(States("alfworld", prune=False).keys(record)) == [0, 1, 2, 3, 1, 4, 5]


def test_alfworld_tells_what_is_held_and_what_was_processed():
    taken, sink = "You pick up the mug 1 from the desk 1.", "On the sinkbasin 1, you see nothing."
    clean = "You clean the mug 1 using the sinkbasin 1."
    put = "You put the mug 1 in/on the desk 1."
    empty = rollout([ROOM, DESK, sink, DESK], ["go to desk 1", "go to sink 1", "go to desk 1"])
    full = rollout(
        [ROOM, DESK, taken, sink, clean, DESK, put, DESK],
        ["go to desk 1", "take mug 1", "go to sink 1", "clean mug 1", "go to desk 1", "put mug 1",
         "go to desk 1"],
    )  # fmt: skip
    without, held = States("alfworld").keys(empty), States("alfworld").keys(full)
    assert without[1] == without[3] == held[1]
    assert len({without[2], held[3]}) == 2, "the sink, with and without the mug"
    assert len({held[1], held[5], held[7]}) == 3, "the desk: before, with the clean mug, after"


def test_alfworlds_last_state_is_its_own_if_the_task_is_done():
    seen = [ROOM, DESK, "You are facing the desk 1."]
    assert same(States("alfworld").keys(rollout(seen, ["go", "look"]))) == [0, 1, 1]
    assert same(States("alfworld").keys(rollout(seen, ["go", "look"], success=True))) == [0, 1, 2]


def test_webshop_tells_the_query_the_product_and_its_options():
    home, found, item = "WebShop [Search]", "Page 1 [B01ABCDEFG] shoes", "shoes [red] [blue] [Buy]"
    seen = [home, found, item, item, item, found, home, found]
    actions = ["search[shoes]", "click[B01ABCDEFG]", "click[red]", "click[blue]", "click[< Prev]",
               "click[Back to Search]", "search[red shoes]"]  # fmt: skip
    keys = States("webshop").keys(rollout(seen, actions))
    # Back at the results the product is left; back at the start the query is.
    assert same(keys) == [0, 1, 2, 3, 4, 1, 0, 5]
    actions = ["search[Shoes]", "click[b01abcdefg]", "click[blue]", "click[red]"]
    other = rollout([home, found, item, item, item], actions)
    assert States("webshop").keys(other)[-1] == keys[4], "in which order makes no difference"


def test_webshops_pages_of_a_product_keep_its_options():
    seen = ["start", "results", "item", "item", "text", "item"]
    actions = ["search[x]", "click[b01abcdefg]", "click[red]", "click[description]",
               "click[< prev]"]  # fmt: skip
    assert same(States("webshop").keys(rollout(seen, actions))) == [0, 1, 2, 3, 4, 3]


def test_sokoban_reads_the_grid_and_nothing_else():
    grid = "# # # # #\n# P X O #\n# # # # #"
    seen = [f"Turn 1\n{grid}\nYou can push.", f"After your move:\n{grid}", grid.replace("P", "_")]
    assert same(States("sokoban").keys(rollout(seen, ["left", "right"]))) == [0, 0, 1]
    classic = "#####\n#@$.#\n#####"
    keys = States("sokoban").keys(rollout([f"move: 1\n{classic}", classic], ["left"]))
    assert keys[0] == keys[1] == classic


def test_a_sokoban_floor_of_blanks_is_kept_and_only_space_between_cells_is_not():
    left, right = "#####\n#P  #\n#X O#\n#####", "#####\n#  P#\n#X O#\n#####"
    keys = States("sokoban").keys(rollout([left, right], ["right"]))
    assert keys == (left, right)
    pillars = "#######\n# # #@#\n#$   .#\n#######"
    moved = pillars.replace("#@#", "#+#")
    assert States("sokoban").keys(rollout([pillars, moved], ["up"])) == (pillars, moved)
    spaced = "# # # #\n# P O #\n# # # #"
    tabs = spaced.replace(" ", " \t ")
    keys = States("sokoban").keys(rollout([spaced, tabs, "####\n#PO#\n####"], ["a", "b"]))
    assert set(keys) == {"####\n#PO#\n####"}


def test_search_is_the_set_of_documents_seen_so_far():
    def searched(*pages):
        documents = [{"page": page, "paragraph": 0} for page in pages]
        return {"searches": [{"query": "q", "documents": documents}]}

    def keys(*steps):
        record = {"type": "rollout", "id": "r", "task": "t", "steps": list(steps)}
        return States("search").keys(Rollout.model_validate(record))

    first, second = keys(searched("a"), searched("b")), keys(searched("b"), searched("a", "b"))
    assert first[0] == second[0]
    assert first[1] != second[1]
    assert first[2] == second[2]


def test_similar_states_of_a_group_are_the_first_of_them_whatever_the_order_of_records(store):
    a, b, c = "you see a red mug 1", "you see a red mug 2", "there is a window here"
    records = [
        {"type": "rollout", "id": name, "task": "t", "group": "g", "slot": slot,
         "steps": [{"observation": text}], "final_state": {"observation": c}}
        for slot, (name, text) in enumerate([("x", a), ("y", b), ("z", c)])
    ]  # fmt: skip
    for order in (records, records[::-1]):
        ingest(store, order, states=States(similarity=0.9))
        rows = store.query("MATCH (s:State) RETURN s.key AS key ORDER BY key").to_pylist()
        assert [row["key"] for row in rows] == [c, a]
    ingest(store, records, states=States(similarity=0.99))
    assert store.query("MATCH (s:State) RETURN count(s) AS n").to_pylist() == [{"n": 3}]


def first_word(rollout, prune):  # noqa: ARG001
    return [*(step.observation.split()[0] for step in rollout.steps), None]


def too_few(rollout, prune):  # noqa: ARG001
    return ["a"]


def test_a_users_function_reads_states():
    record = rollout(["one a", "one b", "two"], ["x", "y"])
    assert States(first_word).keys(record) == ("one", "one", None)
    named = States.named(f"{__name__}.first_word", similarity=0.5)
    assert named.keys(record) == ("one", "one", None)
    assert States.of(named.header()) == named


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: States("alfword"),
            "states: expected one of text, raw, alfworld, .* found alfword",
        ),
        (lambda: States.named("no.such"), "a function that can be imported by its name"),
        (lambda: States(lambda *_: []), "a function that can be imported by its name"),
        (lambda: States(similarity=1.5), r"similarity: expected a number in \(0, 1\], found 1.5"),
        (
            lambda: States(too_few).keys(rollout(["a", "b"], ["x"])),
            "rollout r: the state reader .*too_few gave 1 keys, expected one for each of 1 steps",
        ),
    ],
)
def test_what_cannot_be_read_is_named(make, message):
    with pytest.raises(IngestError, match=message):
        make()


@pytest.mark.parametrize("name", STATE_READERS)
def test_a_rollout_without_anything_to_see_has_no_states_to_tell_apart(name):
    record = Rollout.model_validate({"type": "rollout", "id": "r", "task": "t", "steps": [{}, {}]})
    keys = States(name).keys(record)
    assert len(keys) == 3
    assert len(set(keys)) == 1
    assert keys[0] is None or name == "search"
