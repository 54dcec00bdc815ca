"""Why a command or a step has the credit that it has."""

from dataclasses import asdict, fields
from typing import Any

import pandas as pd

from ..graph.errors import CreditError
from ..graph.store import Store
from .credit import bind_options
from .explain_command import Reason, explain_command
from .explain_pairs import PairReason, explain_pairs
from .explain_predicates import PredicateReason, explain_predicates
from .explain_step import STATE_METHODS, StepReason, explain_step


def explain(store: Store, name: str, method: str = "depgpo", **parameters: Any) -> pd.DataFrame:
    """Explain the credit of a command (`depgpo`) or of a step (all that tell steps apart).

    `name` is a command's id, such as `ROLLOUT/2/0`, or a step's, such as `ROLLOUT/2`; `parameters`
    are the method's. The rows' columns are the fields of Reason, StepReason, PredicateReason or
    PairReason (`mcgpo`: the pairs that the step is in).
    Raises CreditError for an unknown name, method or parameter, and where there is no credit to
    explain.
    """
    options = bind_options(method, parameters)
    if method == "depgpo":
        table = _table(Reason, explain_command(store, name, options))
        return table.astype({"records": "Int64", "distance": "Int64"})
    if method in STATE_METHODS:
        table = _table(StepReason, explain_step(store, name, method, options))
        return table.astype({"distance": "Int64", "value": "Float64", "advantage": "Float64"})
    if method == "dars":
        table = _table(PredicateReason, explain_predicates(store, name, options))
        return table.astype({"distance": "Int64"})
    if method == "mcgpo":
        return _table(PairReason, explain_pairs(store, name, options)).astype({"support": "Int64"})
    raise CreditError(
        f"{method}: every step has its rollout's advantage, there is nothing to explain; expected "
        f"--method depgpo, {', '.join(STATE_METHODS)}, dars, mcgpo"
    )


def _table(row: type[Any], rows: list[Any]) -> pd.DataFrame:
    columns = [field.name for field in fields(row)]
    return pd.DataFrame([asdict(reason) for reason in rows], columns=columns)
