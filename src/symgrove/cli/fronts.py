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
CHOSEN = "*"


def end_of(reason: str) -> str:
    """Why a search ended, in words."""
    return f"stopped by {reason}" + (f": {ENDS[reason]}" if reason in ENDS else "")


def fronts_as_values(estimator: Estimator, style: str, digits: int | None) -> list[dict[str, Any]]:
    """The front of every target, and which of its formulas predicts; nothing if the model has none."""
    from symgrove.estimators.fitted import fronts_of, target_names_of

    names = target_names_of(estimator) or (None,)
    found = []
    for name, front, member in zip(names, fronts_of(estimator), estimator.ensemble_, strict=False):
        points = [
            {
                "size": point.size,
                "error": point.error,
                "held_out_error": point.held_out_error,
                "description_length": point.description_length,
                "is_chosen": point.formula == member.formula,
                "formula": point.latex if style == "latex" else point.rounded(digits),
            }
            for point in front
        ]
        found.append({"target": name, "points": points})
    return found


def print_fronts(fronts: list[dict[str, Any]]) -> None:
    """A table for each target."""
    for front in fronts:
        of = "" if front["target"] is None else f" of {front['target']}"
        echo(f"\nthe front{of} (errors: root mean squares; {CHOSEN} predicts)")
        echo(f"  {'nodes':>5}  {'error':>10}  {'held out':>10}  {'bits':>9}  formula")
        for point in front["points"]:
            mark = CHOSEN if point["is_chosen"] else " "
            numbers = f"{point['error']:10.4g}  {point['held_out_error']:10.4g}  {point['description_length']:9.1f}"
            echo(f"{mark} {point['size']:5}  {numbers}  {point['formula']}")
