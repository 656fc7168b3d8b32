"""`symgrove show`: what is in a model file."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from symgrove.cli._common import clean_errors, echo, print_json, read_model
from symgrove.cli.fronts import end_of, fronts_as_values, print_fronts
from symgrove.cli.outputs import check_printable

if TYPE_CHECKING:
    from symgrove.estimators.base import Estimator


def show(
    model: Annotated[Path, typer.Argument(help="A model file.")],
    members: Annotated[int, typer.Option(min=0, help="How many members to show.")] = 5,
    style: Annotated[str, typer.Option(help="Formulas as text or latex.")] = "text",
    digits: Annotated[
        int | None, typer.Option(min=1, max=17, help="Digits of numbers in formulas; by default what the data justify.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """Show a model: how it came about, its formulas, and what they have in common."""
    with clean_errors():
        check_printable()
        if style not in ("text", "latex"):
            raise ValueError(f"--style must be text or latex, got {style!r}.")
        from symgrove.estimators.fitted import has_named_parts
        from symgrove.estimators.input import columns_of

        estimator = read_model(model)
        found = {
            **summary_of(estimator),
            "importances": importances_of(estimator),
            "members": [_member(m, style, digits) for m in _heaviest(estimator, members)],
            "consensus": [part._asdict() for part in estimator.consensus(5)] if len(estimator.ensemble_) > 1 else [],
            "notes": columns_of(estimator).notes,
            "fronts": fronts_as_values(estimator, style, digits),
            "equations": estimator.formula(style).splitlines() if has_named_parts(estimator) else [],
        }
        if as_json:
            print_json(found)
        else:
            _print(found)


def summary_of(estimator: Estimator) -> dict[str, Any]:
    """A model in a few numbers."""
    from symgrove.estimators.fitted import classes_of, labels_of, score_left_out

    classes, (score, is_held_out, is_of_loss) = classes_of(estimator), score_left_out(estimator)
    measure = ("D²" if is_of_loss else "R²") if classes is None else "accuracy"
    rows = "rows held out" if is_held_out else "out-of-bag rows (optimistic)"
    return {
        "estimator": type(estimator).__name__,
        "features": labels_of(estimator),
        "classes": None if classes is None else [str(c) for c in classes],
        "n_members": len(estimator.ensemble_),
        "size": sum(member.size for member in estimator.ensemble_),
        "generations": getattr(estimator, "n_generations_", None),
        "stopped_by": estimator.stop_reason_,
        "score": None if math.isnan(score) else score,
        "score_of": f"{measure} on {rows}",
    }


def importances_of(estimator: Estimator) -> dict[str, float]:
    """Importances of the features, the largest first."""
    pairs = zip(summary_of(estimator)["features"], estimator.feature_importances_.tolist(), strict=True)
    return dict(sorted(pairs, key=lambda pair: -pair[1]))


def _heaviest(estimator: Estimator, n: int) -> list[Any]:
    return sorted(estimator.ensemble_, key=lambda member: (-member.weight, member.size))[:n]


def _member(member: Any, style: str, digits: int | None) -> dict[str, Any]:
    formula = member.latex if style == "latex" else member.rounded(digits)
    target = None if member.target is None else str(member.target)
    return {"weight": member.weight, "size": member.size, "class": target, "formula": formula}


def _print(found: dict[str, Any]) -> None:
    _print_model(found)
    if found["notes"]:
        echo("\nin formulas")
    for note in found["notes"]:
        echo(f"  {note}")


def _print_model(found: dict[str, Any]) -> None:
    echo(f"{found['estimator']}: {found['n_members']} members, {found['size']} nodes in all")
    if found["generations"] is None:  # a search
        echo(f"searched; {end_of(found['stopped_by'])}")
    else:
        echo(f"evolved for {found['generations']} generations, stopped by {found['stopped_by']}")
    if found["classes"] is not None:
        echo(f"classes: {', '.join(found['classes'])}")
    if found["score"] is not None:
        echo(f"{found['score_of']}: {found['score']:.4f}")
    echo("\nimportance of the features")
    for name, value in list(found["importances"].items())[:10]:
        echo(f"  {value:6.3f}  {name}")
    if found["equations"]:
        echo("\nthe model")
        for line in found["equations"]:
            echo(f"  {line}")
        return
    if found["fronts"]:
        print_fronts(found["fronts"])
        return
    if found["members"]:
        echo(f"\nthe {len(found['members'])} heaviest members (weight, nodes, formula)")
    for member in found["members"]:
        label = "" if member["class"] is None else f"[{member['class']}] "
        echo(f"  {member['weight']:.3f}  {member['size']:4}  {label}{member['formula']}")
    if found["consensus"]:
        echo("\nparts that recur (share of the members, nodes, formula)")
    for part in found["consensus"]:
        echo(f"  {part['share']:5.0%}  {part['size']:4}  {part['formula']}")
