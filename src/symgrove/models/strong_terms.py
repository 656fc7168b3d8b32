"""Formulas as terms, one a line: how strongly each acts, and those that act most in a whole model.

A model whose members are combined is not one sum; its strongest terms are those of its members' mean. How strong a
term is: the standard deviation of its values on rows like the training rows, whose features are drawn independently.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from symgrove.forest.forest import Forest
from symgrove.forest.linear import add_plain_sum, as_weighted_sum
from symgrove.forest.rounding import with_digits, with_short_numbers
from symgrove.forest.shortest import rows_like, shortest
from symgrove.forest.text import to_text
from symgrove.forest.values import values_of
from symgrove.models.model import Matrix, MeanOfMembers, Model, Names
from symgrove.models.reading import Reading
from symgrove.models.shown import DIGITS, N_ROWS


class Term(NamedTuple):
    """A term of a sum, with its sign in front; `effect` is NaN where nothing is known of the training rows."""

    formula: str
    effect: float


def terms_of(forest: Forest, root: int, reading: Reading | None, names: Names, digits: int | None = None) -> list[Term]:
    """The terms of a formula in the user's units, the strongest first, those that are constant last."""
    own = as_weighted_sum(forest, root)
    if np.isfinite(own.weights).all() and np.isfinite(own.constant):
        root = add_plain_sum(forest, own)  # also where a number stands in front of a sum
    forest, root = short_numbers(forest, root, reading, digits)
    parts = summands(forest, root)
    effects = _effects(forest, [node for _, node in parts], None if reading is None else _rows(reading))
    texts = (f"{sign} {to_text(forest, node, names)}" for sign, node in parts)
    found = [Term(*each) for each in zip(texts, effects.tolist(), strict=True)]
    found = [term for term in found if term.formula != "+ 0"] or found
    return found if reading is None else sorted(found, key=lambda term: -term.effect)


def strongest_terms(model: Model, names: Names, n_most: int, digits: int | None = None) -> list[list[Term]]:
    """For each target the terms that act most in the mean of the members; none if nothing is known of the rows."""
    reading = model.reading
    return [] if reading is None else [_strongest(own, reading, names, n_most, digits) for own in model.sums()]


def short_numbers(forest: Forest, root: int, reading: Reading | None, digits: int | None) -> tuple[Forest, int]:
    """A formula, its numbers with so many digits; by default with four at most, if that makes no difference."""
    if digits is not None or reading is None:
        return forest, with_digits(forest, root, DIGITS if digits is None else digits)
    return forest, with_short_numbers(forest, root, rows_like(reading.quantiles, N_ROWS), reading.margin, DIGITS)


def summands(forest: Forest, root: int) -> list[tuple[str, int]]:
    """What a formula adds up, each with its sign."""
    found, waiting = [], [(root, 1.0)]
    while waiting:
        node, sign = waiting.pop()
        name, children = forest.name(node), forest.children(node)
        if name == "neg":
            waiting.append((children[0], -sign))
        elif name in ("add", "sub"):
            waiting += [(children[1], sign if name == "add" else -sign), (children[0], sign)]
        else:
            positive = _turned(forest, node)
            found.append(("-" if (sign < 0) != (positive != node) else "+", positive))
    return found


def _turned(forest: Forest, node: int) -> int:
    """The same without the minus of its number, if it begins with one."""
    name, children = forest.name(node), forest.children(node)
    if name == "constant" and forest.columns.value[node] < 0:
        return forest.constant(-float(forest.columns.value[node]))
    if name in ("mul", "div", "plain_div"):
        first = _turned(forest, children[0])
        return node if first == children[0] else forest.apply(name, first, children[1])
    return node


def _effects(forest: Forest, nodes: list[int], rows: Matrix | None) -> Matrix:
    if rows is None or not nodes:
        return np.full(len(nodes), np.nan)
    with np.errstate(all="ignore"):
        values = values_of(forest, nodes, rows)
        finite = [own[np.isfinite(own)] for own in values]
        return np.array([own.std() if own.size and np.ptp(own) > 0 else 0.0 for own in finite])


def _rows(reading: Reading, means: Matrix | None = None) -> Matrix:
    """Rows like the training rows; features that are 0 or 1, such as [town is Harbour], have nothing between.

    Five quantiles do not say how rare a 1 is; the mean of the feature does.
    """
    rows = rows_like(reading.quantiles, N_ROWS)
    is_binary = np.isin(reading.quantiles, (0.0, 1.0)).all(axis=0)
    rows = np.where(is_binary, np.round(rows), rows)
    if means is None:
        return rows
    drawn = np.random.default_rng(2).random(rows.shape) < means
    return np.where(is_binary & (means > 0), drawn, rows)  # without standardization, means are given as 0


def _strongest(mean: MeanOfMembers, reading: Reading, names: Names, n_most: int, digits: int | None) -> list[Term]:
    forest, own = mean.forest, as_weighted_sum(mean.forest, mean.root)
    rows = mean.standardization.apply(_rows(reading, mean.standardization.mean))
    effects = np.abs(own.weights) * _effects(forest, own.terms.tolist(), rows)
    order = np.argsort(-np.nan_to_num(effects, nan=-1.0), kind="stable")
    found = []
    for k in [k for k in order[:n_most].tolist() if effects[k] > 0]:
        term = mean.standardization.in_user_units(forest, int(own.terms[k]))
        part = forest.apply("mul", forest.constant(float(own.weights[k])), term)
        _, rounded = short_numbers(forest, shortest(forest, part, reading.quantiles), reading, digits)
        found.append(Term(_with_sign(forest, rounded, names), float(effects[k])))
    return found


def _with_sign(forest: Forest, root: int, names: Names) -> str:
    """A term with its sign in front, without what is constant; of a sum, the sign of the first summand."""
    parts = [(sign, node) for sign, node in summands(forest, root) if forest.name(node) != "constant"]
    return " ".join(f"{sign} {to_text(forest, node, names)}" for sign, node in parts)
