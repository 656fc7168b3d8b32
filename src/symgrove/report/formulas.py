"""The formulas of a model, as rendered mathematics where they are short enough to read."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from typing import Any, NamedTuple

from symgrove.estimators.base import Estimator
from symgrove.estimators.classifier import Classifier
from symgrove.estimators.fitted import feature_names_of, fronts_of, notes_on_formulas, transformed_names_of
from symgrove.estimators.grove import GroveEstimator
from symgrove.forest.forest import Forest
from symgrove.forest.latex import to_latex
from symgrove.forest.mathml import to_mathml
from symgrove.forest.text import parse, to_text
from symgrove.models.front import Front
from symgrove.models.team_members import SharedTerm
from symgrove.report.words import number

MOST_SHOWN = 50
LONGEST_MATHS = 150  # nodes; longer formulas are text
LONGEST_TEXT = 4000  # characters


class Formula(NamedTuple):
    """A formula: MathML in parts between which a line may end (none if it is too long), text, LaTeX to copy, and what
    is to be said about it."""

    mathml: list[str]
    text: str
    latex: str
    label: str


class Formulas(NamedTuple):
    """What is shown of a model: a sentence, formulas, parts that recur, and what to know of names in them."""

    text: str
    items: list[Formula]
    recurring: list[tuple[str, str]]
    notes: list[str]


def all_formulas(model: Estimator) -> Formulas:
    """Members of an ensemble of programs; of teams the terms they share."""
    found, transformed = _formulas(model), transformed_names_of(model)
    of = f" Formulas, and errors beside them, are of {' and '.join(transformed)}." if transformed else ""
    return found._replace(text=found.text + of, notes=notes_on_formulas(model))


def _formulas(model: Estimator) -> Formulas:
    fronts = fronts_of(model)
    if fronts:
        return _front(fronts[0])
    recurring = [(part.formula, f"{part.share:.0%}") for part in model.consensus(8)]
    if isinstance(model, GroveEstimator):
        return _terms(model, recurring)
    members = sorted(model.ensemble_, key=lambda member: -member.weight)
    items = [
        formula_of(m, f"{m.weight:.1%} of the ensemble, {m.size} nodes{_of_class(m)}") for m in members[:MOST_SHOWN]
    ]
    rest = len(members) - len(items)
    text = f"{len(members)} members{f', of which the {len(items)} heaviest' if rest > 0 else ''}. {_combination(model)}"
    return Formulas(text, items, recurring, [])


def _front(front: Front) -> Formulas:
    text = (
        "The best formula of each size. One of them predicts; a longer one is in the list only if its error is lower."
    )
    labels = [
        f"size {point.size}, typical error on the rows of the fit {number(point.error)}"
        + (". This one predicts" if k == front.chosen else "")
        for k, point in enumerate(front)
    ]
    return Formulas(text, [formula_of(*each) for each in zip(front, labels, strict=True)], [], [])


def _combination(model: Estimator) -> str:
    if isinstance(model, Classifier):
        return (
            "Members vote for a class."
            if model.classes_.size == 2
            else "Each class has members; the highest mean wins."
        )
    name = {"interquartile": "interquartile mean", "weighted": "mean, weighted by one over their errors"}
    return f"The prediction is their {name.get(model.model_.aggregation, model.model_.aggregation)}."


def _of_class(member: Any) -> str:
    return "" if member.target is None else f", class {member.target}"


def _terms(model: GroveEstimator, recurring: list[tuple[str, str]]) -> Formulas:
    if len(model.ensemble_) == 1:
        member = model.ensemble_[0]
        label = f"{member.n_terms} terms, {member.size} nodes"
        return Formulas("The model is one formula, a sum of terms.", [formula_of(member, label)], recurring, [])
    if isinstance(model, Classifier) and model.classes_.size > 2:
        text = f"{len(model.ensemble_)} teams, each a sum of terms for one class; the highest mean probability wins."
        return Formulas(text, [], recurring, [])
    items = [_term(model, term) for term in model.shared_terms(MOST_SHOWN // 2)]
    text = (
        f"{len(model.ensemble_)} teams, each a sum of terms. The terms with the largest effect, and their coefficient "
        "in the mean of the teams:"
    )
    return Formulas(text, items, recurring, [])


def _term(model: GroveEstimator, term: SharedTerm) -> Formula:
    names = feature_names_of(model)
    forest = Forest(model.model_.n_features, model.model_.primitives)
    root = parse(forest, term.formula, names)
    label = f"× {number(term.coefficient, 3)} ± {number(term.spread, 2)}, in {term.share:.0%} of the teams"
    return Formula(
        in_parts(to_mathml(forest, root, names)), to_text(forest, root, names, 4), to_latex(forest, root, names), label
    )


def formula_of(member: Any, label: str) -> Formula:
    """A member or a point of a front, as mathematics if it is short enough."""
    mathml = in_parts(member.mathml) if member.size <= LONGEST_MATHS else []
    text = member.rounded()
    shown = text if len(text) <= LONGEST_TEXT else text[:LONGEST_TEXT] + " ..."
    return Formula(mathml, shown, member.latex if mathml else "", label)


def in_parts(mathml: str) -> list[str]:
    """A formula cut before each plus and minus that stands in no bracket: browsers end no line within one."""
    found = []
    for part in (_summands(element) for element in ET.fromstring(mathml)):
        for elements in part:
            maths = ET.Element("math")
            maths.extend(elements)
            found.append(ET.tostring(maths, encoding="unicode"))
    return found


def _summands(element: ET.Element) -> list[list[ET.Element]]:
    """Of a sum, its terms, each with its sign."""
    inside = list(element)
    if element.tag != "mrow" or len(inside) != 3 or inside[1].tag != "mo" or inside[1].text not in ("+", "−"):
        return [[element]]
    left, sign, right = inside
    sign.attrib |= {"form": "infix", "rspace": "0.25em"}  # nothing stands before it
    return [*_summands(left), [sign, right]]
