"""What members of an ensemble have in common: parts of formulas that recur, a + b and b + a alike."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from symgrove.forest.canonical import in_one_order
from symgrove.forest.forest import Forest
from symgrove.forest.sympy_size import sympy_size
from symgrove.forest.text import to_text
from symgrove.models.ensemble import Ensemble
from symgrove.models.reading import Reading
from symgrove.models.shown import shortened
from symgrove.models.standardization import Standardization
from symgrove.models.teams import Teams

DIGITS = 4  # of constants: these formulas are for reading


class Recurring(NamedTuple):
    """A part that several members have.

    Attributes
    ----------
    formula : str
        In the user's units and column names, short, with rounded numbers.
    share : float
        Of the members that have it.
    size : int
        Nodes of the SymPy expression of the formula, every number counted.
    """

    formula: str
    share: float
    size: int


def recurring_parts(
    ensemble: Ensemble,
    names: Sequence[str] | None,
    n_most: int | None = 10,
    smallest: int = 3,
    reading: Reading | None = None,
) -> list[Recurring]:
    """Parts of programs with at least `smallest` nodes that at least two members have, the most frequent first.

    A part that occurs only inside a larger one of the same members is left out.
    """
    forest, roots = in_one_order(ensemble.forest, ensemble.programs)
    n_members = ensemble.n_samples
    weight = np.bincount(ensemble.program_of, minlength=ensemble.programs.size)
    count = np.zeros(len(forest), dtype=np.int64)
    parents: dict[int, set[int]] = {}
    for root, n in zip(roots, weight, strict=True):
        for node in forest.reachable([root]):
            count[node] += n
            for child in forest.children(node):
                parents.setdefault(child, set()).add(node)
    found = [
        node
        for node in np.flatnonzero(count >= min(2, n_members)).tolist()
        if forest.size(node) >= smallest and not any(count[p] == count[node] for p in parents.get(node, ()))
    ]
    found.sort(key=lambda node: (-count[node], -int(forest.size(node)), node))
    return [
        _recurring(forest, node, ensemble.standardization, names, reading, float(count[node] / n_members))
        for node in found[:n_most]
    ]


def recurring_terms(
    teams: Teams, names: Sequence[str] | None, n_most: int | None = 10, reading: Reading | None = None
) -> list[Recurring]:
    """Terms that at least two teams have, the most frequent first."""
    forest, roots = in_one_order(teams.forest, teams.programs)
    distinct, term_of = np.unique(roots, return_inverse=True)
    has = np.zeros((teams.n_teams, distinct.size), dtype=np.bool_)
    team, term = np.nonzero(teams.coefficients)
    has[team, term_of.ravel()[term]] = True
    count = has.sum(axis=0)
    found = np.flatnonzero(count >= min(2, teams.n_teams)).tolist()
    found.sort(key=lambda i: (-count[i], -int(forest.size(distinct[i])), i))
    return [
        _recurring(forest, int(distinct[i]), teams.standardization, names, reading, float(count[i] / teams.n_teams))
        for i in found[:n_most]
    ]


def _recurring(
    forest: Forest,
    root: int,
    standardization: Standardization,
    names: Sequence[str] | None,
    reading: Reading | None,
    share: float,
) -> Recurring:
    """A program in the user's units, as short as we can write it."""
    own = Forest(forest.n_features, forest.primitives)
    copy = int(own.copy_from(forest, [root])[0])
    shown = shortened(own, standardization.in_user_units(own, copy), reading)
    return Recurring(to_text(*shown, names, DIGITS), share, sympy_size(*shown, names))
