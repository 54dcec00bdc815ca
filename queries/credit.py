"""Credit by a method's name: the credits, weights and advantages of every step of a batch.

`CREDIT_METHODS` is the whole choice. A method's parameters are the fields of its options; the names
are those of the papers' worked examples, and an unknown one is an error that lists the known.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from math import inf
from typing import Any, get_args, get_type_hints

from ..graph.errors import CreditError
from ..graph.store import Store
from . import dars, depgpo, graphgpo, mcgpo, rewardflow, state_graph
from .batch import Batch
from .g2po import G2poOptions, g2po
from .gigpo import GigpoOptions, gigpo
from .grpo import GrpoOptions, RlooOptions, grpo, rloo
from .hgpo import HgpoOptions, hgpo
from .results import Credits, RolloutCredit


def credit(
    store: Store, method: str = "depgpo", groups: Sequence[str] | None = None, **parameters: Any
) -> Credits:
    """Compute the credit of every step of some groups, or of all of them.

    `parameters` are the method's options by name. Raises CreditError for an unknown method, group
    or parameter, or a value that it cannot take.
    """
    options = bind_options(method, parameters)
    if isinstance(groups, str):
        raise CreditError(f'groups: expected a list of groups, such as ["{groups}"], found a text')
    wanted = list(groups or ())
    batch = Batch(store, wanted)
    credited = CREDIT_METHODS[method].run(batch, options)
    parameters = {name.rstrip("_"): value for name, value in asdict(options).items()}
    return Credits(method, parameters, wanted, credited)


def bind_options(method: str, given: dict[str, Any]) -> Any:
    """Make a method's options from parameters by name. Raises CreditError."""
    if method not in CREDIT_METHODS:
        raise CreditError(f"no method is called {method}; there are: {', '.join(CREDIT_METHODS)}")
    options = CREDIT_METHODS[method].options
    attributes = {name.rstrip("_"): name for name in get_type_hints(options)}
    hints = {name.rstrip("_"): hint for name, hint in get_type_hints(options).items()}
    if unknown := sorted(set(given) - set(hints)):
        known = ", ".join(hints) or "none"
        raise CreditError(f"{method}: unknown parameter {unknown[0]}; it takes: {known}")
    return options(
        **{
            attributes[name]: _checked(method, name, hints[name], value)
            for name, value in given.items()
        }
    )


_Range = tuple[Callable[[float], bool], str]


def _count(least: int) -> _Range:
    expected = f"an integer of at least {least}"
    return lambda value: value >= least and value == value // 1, expected


_SHARE: _Range = (lambda value: 0 < value <= 1, "a number in (0, 1]")
_FINITE: _Range = (lambda value: -inf < value < inf, "a finite number")
_NOT_NEGATIVE: _Range = (lambda value: 0 <= value < inf, "a finite number of at least 0")
_RANGES: dict[str, _Range] = {
    "beta": _SHARE,
    "gamma": _SHARE,
    "graphgpo.omega": _SHARE,
    "mcgpo.omega": _SHARE,
    "m": _count(1),
    "max_pairs": _count(0),
    "b": _count(0),
    "q_exact": _NOT_NEGATIVE,
    "q_coarse": _NOT_NEGATIVE,
    "eps_std": _NOT_NEGATIVE,
    "eps": _NOT_NEGATIVE,
    "delta_min": _NOT_NEGATIVE,
    "lambda": _NOT_NEGATIVE,
    "kappa": _NOT_NEGATIVE,
    "history": _count(0),
}


def _checked(method: str, name: str, hint: Any, value: Any) -> Any:
    if choices := get_args(hint):
        if value not in choices or isinstance(value, bool):
            expected = ", ".join(map(str, choices))
            raise CreditError(f"{method}: {name}: expected one of {expected}, found {value}")
        return value
    holds, expected = _RANGES.get(f"{method}.{name}") or _RANGES.get(name, _FINITE)
    if isinstance(value, bool) or not isinstance(value, int | float) or not holds(value):
        raise CreditError(f"{method}: {name}: expected {expected}, found {value}")
    return hint(value)


@dataclass(frozen=True)
class Method:
    """A credit method: its options, what it runs, and the queries that it asks."""

    about: str
    options: Callable[..., Any]
    run: Callable[[Batch, Any], list[RolloutCredit]]
    queries: tuple[str, ...] = ("rollouts", "steps")


CREDIT_METHODS: dict[str, Method] = {
    "depgpo": Method(
        "dependency credit redistributes the group-relative advantage (DepGPO)",
        depgpo.DepgpoOptions,
        depgpo.depgpo,
        depgpo.QUERIES,
    ),
    "rewardflow": Method(
        "reward that flows back from success over the state graph (RewardFlow)",
        rewardflow.RewardFlowOptions,
        rewardflow.rewardflow,
        rewardflow.QUERIES,
    ),
    "graphgpo": Method(
        "distance to success in the state graph, against steps from the same state (GraphGPO)",
        graphgpo.GraphgpoOptions,
        graphgpo.graphgpo,
        graphgpo.QUERIES,
    ),
    "mcgpo": Method(
        "preferences between actions in matched contexts, beside `graphgpo` (MCGPO)",
        mcgpo.McgpoOptions,
        mcgpo.mcgpo,
        mcgpo.QUERIES,
    ),
    "gigpo": Method(
        "returns against those from the same state (GiGPO)",
        GigpoOptions,
        gigpo,
        state_graph.QUERIES,
    ),
    "hgpo": Method(
        "returns against those with the same recent history (HGPO)",
        HgpoOptions,
        hgpo,
        state_graph.QUERIES,
    ),
    "g2po": Method(
        "values of states, and gains in value (G2PO)", G2poOptions, g2po, state_graph.QUERIES
    ),
    "dars": Method(
        "signed rewards from progress predicates and their prerequisites (DARS)",
        dars.DarsOptions,
        dars.dars,
        dars.QUERIES,
    ),
    "grpo": Method(
        "the group-relative advantage on every step (GRPO, Dr. GRPO)", GrpoOptions, grpo
    ),
    "rloo": Method("reward against the mean of the others on every step (RLOO)", RlooOptions, rloo),
}
