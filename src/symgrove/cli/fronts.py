"""Fronts of formulas as tables, for the commands that show them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from symgrove.cli._common import echo

if TYPE_CHECKING:
    from symgrove.estimators.base import Estimator

# What the reasons of a search mean.
ENDS = {
    "exact": "the formula is exact",
    "noise": "what is left cannot be told from noise, and the formula is short",
    "everything": "everything was tried",
    "time": "the time was up",
    "interrupted": "it was interrupted, and this is what was found so far",
}


def end_of(reason: str) -> str:
    """Why a search ended, in words."""
    return f"stopped by {reason}" + (f": {ENDS[reason]}" if reason in ENDS else "")


def fronts_as_values(estimator: Estimator, style: str, digits: int | None) -> list[dict[str, Any]]:
    """The front of every target, and which of its formulas predicts; nothing if the model has none."""
    from symgrove.estimators.fitted import fronts_of, target_names_of, transformed_names_of

    names = transformed_names_of(estimator) or target_names_of(estimator) or (None,)
    fronts = fronts_of(estimator)
    return [{"target": n, "points": f.rows(style, digits)} for n, f in zip(names, fronts, strict=False)]


def print_fronts(fronts: list[dict[str, Any]]) -> None:
    """A table for each target."""
    for front in fronts:
        for line in ("", *front_lines(front)):
            echo(line)


def front_lines(front: dict[str, Any], longest: int | None = None) -> list[str]:
    """A table; formulas of at most `longest` characters."""
    from symgrove.models.front_table import CHOSEN, lines

    of = "" if front["target"] is None else f" of {front['target']}"
    points = front["points"]
    is_cut = longest is not None and any(len(point.get("formula", "")) > longest for point in points)
    rest = "; --json has whole formulas" if is_cut else ""
    return [f"the front{of} (errors: root mean squares; {CHOSEN} predicts{rest})", *lines(points, longest)]
