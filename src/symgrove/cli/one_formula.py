"""The line "In one formula" of `fit` and `show`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from symgrove.cli._common import echo

if TYPE_CHECKING:
    from symgrove.estimators.base import Estimator


def find_one_formula(model: Estimator, X: Any, y: Any) -> None:
    """Have a model that was just fitted on these rows know what it is in one formula, if it is an ensemble."""
    from symgrove.compression.one_formula import one_formula

    found = one_formula(model, X, y)
    if found is not None:
        model.one_formula_ = found


def print_one_formula(model: Estimator, digits: int | None = None) -> None:
    """The line, if the model knows it."""
    from symgrove.estimators.fitted import one_formula_of, table_of

    found = one_formula_of(model)
    if found is not None:
        echo(found.sentence((table_of(model) or {}).get("target"), digits))


def one_formula_values(model: Estimator, style: str = "text", digits: int | None = None) -> dict[str, Any] | None:
    """The same for machines."""
    from symgrove.estimators.fitted import one_formula_of

    found = one_formula_of(model)
    return None if found is None else found.values(style, digits)
