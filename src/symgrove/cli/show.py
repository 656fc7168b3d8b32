"""`symgrove show`: what is in a model file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from symgrove.cli._common import clean_errors, echo, print_json, read_model
from symgrove.cli.fronts import fronts_as_values
from symgrove.cli.one_formula import one_formula_values, print_one_formula
from symgrove.cli.options import ModelFile
from symgrove.cli.outputs import check_printable
from symgrove.cli.screen import lines_of

if TYPE_CHECKING:
    from symgrove.estimators.base import Estimator

N_MEMBERS, N_STRONGEST, N_RECURRING = 5, 3, 5
DIGITS = 4  # of equations


def show(
    model: ModelFile,
    everything: Annotated[
        bool, typer.Option("--all", help="All importances and terms, members, what recurs, the front.")
    ] = False,
    members: Annotated[int | None, typer.Option(min=0, help="How many members to show, the heaviest first.")] = None,
    style: Annotated[str, typer.Option(help="Formulas of members and fronts as text or latex.")] = "text",
    digits: Annotated[
        int | None,
        typer.Option(min=1, max=17, help="Digits of numbers in formulas; by default up to 4, more where they matter."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Everything as JSON.")] = False,
) -> None:
    """Show a model on one screen: what it predicts from what, how well, its formula or its strongest terms."""
    with clean_errors():
        check_printable()
        if style not in ("text", "latex"):
            raise ValueError(f"--style must be text or latex, got {style!r}.")
        estimator = read_model(model)
        is_whole = everything or as_json
        n_members = members if members is not None else N_MEMBERS if is_whole else 0
        found = values_of(estimator, n_members, style, digits, is_whole=is_whole)
        if as_json:
            print_json(found)
        else:
            print_one_formula(estimator, digits)
            for line in lines_of(found, is_whole=is_whole):
                echo(line)


def values_of(
    estimator: Estimator, n_members: int, style: str, digits: int | None, *, is_whole: bool
) -> dict[str, Any]:
    """What is shown; members and what recurs only if they are wanted."""
    from symgrove.estimators.fitted import has_named_parts

    formulas = formulas_of(estimator, digits)
    wants_members = n_members and not (formulas and len(formulas) == len(estimator.ensemble_) and style == "text")
    found = {
        "one_formula": one_formula_values(estimator, style, digits),
        **summary_of(estimator),
        "formulas": formulas,
        "strongest": [] if formulas or has_named_parts(estimator) else strongest_of(estimator, digits),
        "importances": importances_of(estimator),
        "members": [_member(m, style, digits) for m in _heaviest(estimator, n_members)] if wants_members else [],
        "consensus": _recurring(estimator) if is_whole else [],
        "fronts": fronts_as_values(estimator, style, digits),
        "equations": _equations(estimator, style, digits) if has_named_parts(estimator) else [],
    }
    return {**found, "notes": notes_of(estimator, found)}


def summary_of(estimator: Estimator) -> dict[str, Any]:
    """A model in a few numbers."""
    from symgrove.estimators.fitted import classes_of, known_score, labels_of, table_of, weights_of

    classes, score, reading = classes_of(estimator), known_score(estimator), estimator.model_.reading
    return {
        "estimator": type(estimator).__name__,
        "target": (table_of(estimator) or {}).get("target"),
        "features": labels_of(estimator),
        "classes": None if classes is None else [str(c) for c in classes],
        "n_rows": None if reading is None else reading.n_rows,
        "n_members": len(estimator.ensemble_),
        "parts": estimator.model_.parts,
        "weights": weights_of(estimator),
        "size": sum(member.size for member in estimator.ensemble_),
        "generations": getattr(estimator, "n_generations_", None),
        "stopped_by": estimator.stop_reason_,
        "score": None if score is None else score.value,
        "score_of": None if score is None else score.measure,
        "score_rows": None if score is None else score.of,
        "n_score_rows": None if score is None else score.n_rows,
    }


def importances_of(estimator: Estimator) -> dict[str, float]:
    """Importances of the columns, the largest first."""
    from symgrove.estimators.fitted import labels_of

    pairs = zip(labels_of(estimator), estimator.feature_importances_.tolist(), strict=True)
    return dict(sorted(pairs, key=lambda pair: -pair[1]))


def formulas_of(estimator: Estimator, digits: int | None) -> list[dict[str, Any]]:
    """If the model is one formula for each target: their terms, the strongest first."""
    from symgrove.estimators.fitted import feature_names_of, formulas_in, has_named_parts
    from symgrove.models.strong_terms import terms_of

    model, names = estimator.model_, feature_names_of(estimator)
    found = [] if has_named_parts(estimator) else formulas_in(estimator)
    targets = _targets(estimator)
    return [
        {"of": of, "terms": [t._asdict() for t in terms_of(*own, model.reading, names, digits)]}
        for of, own in zip(targets, found, strict=False)
    ]


def strongest_of(estimator: Estimator, digits: int | None) -> list[dict[str, Any]]:
    """For each target the terms that act most in the mean of the members."""
    from symgrove.estimators.fitted import feature_names_of
    from symgrove.models.strong_terms import strongest_terms

    found = strongest_terms(estimator.model_, feature_names_of(estimator), N_STRONGEST, digits)
    targets = _targets(estimator)
    return [
        {"of": of, "terms": [t._asdict() for t in terms]} for of, terms in zip(targets, found, strict=False) if terms
    ]


def notes_of(estimator: Estimator, found: dict[str, Any]) -> list[str]:
    """What a reader of the formulas that are shown must know: functions in them, and names of features."""
    from symgrove.estimators.fitted import notes_on_formulas
    from symgrove.forest.legend import legend

    terms = [t["formula"] for own in (*found["formulas"], *found["strongest"]) for t in own["terms"]]
    points = [p["formula"] for front in found["fronts"] for p in front["points"] if "formula" in p]
    parts = [p["formula"] for p in (*found["members"], *found["consensus"])]
    return [*notes_on_formulas(estimator), *legend(estimator.model_.primitives, [*terms, *points, *parts])]


def _targets(estimator: Estimator) -> list[str]:
    """What each of the model's sums gives."""
    from symgrove.estimators.fitted import classes_of, table_of, target_names_of, transformed_names_of

    classes, transformed = classes_of(estimator), transformed_names_of(estimator)
    if transformed:
        return transformed
    if classes is None:
        names = target_names_of(estimator) or [(table_of(estimator) or {}).get("target") or "the prediction"]
        return [f"the logarithm of {n}" if estimator.model_.has_link else n for n in names]
    kind = "log odds of" if estimator.model_.has_link else "score of"
    return [f"{kind} {c}" for c in (classes[1:] if len(classes) == 2 else classes)]


def _recurring(estimator: Estimator) -> list[dict[str, Any]]:
    return [part._asdict() for part in estimator.consensus(N_RECURRING)] if len(estimator.ensemble_) > 1 else []


def _equations(estimator: Estimator, style: str, digits: int | None) -> list[str]:
    lines: list[str] = estimator.formula(style, digits or DIGITS).splitlines()
    return lines


def _heaviest(estimator: Estimator, n: int) -> list[Any]:
    return sorted(estimator.ensemble_, key=lambda member: (-member.weight, member.evolved_size))[:n]


def _member(member: Any, style: str, digits: int | None) -> dict[str, Any]:
    formula = member.latex if style == "latex" else member.rounded(digits)
    target = None if member.target is None else str(member.target)
    return {"weight": member.weight, "size": member.size, "class": target, "formula": formula}
