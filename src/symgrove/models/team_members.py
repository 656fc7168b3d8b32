"""Teams as people read them: each as a sum, or all of them as one sum over shared terms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from symgrove.forest.forest import Forest
from symgrove.forest.sympy_size import sympy_size
from symgrove.forest.text import to_text
from symgrove.models.columns import TableColumns
from symgrove.models.front import FrontPoint
from symgrove.models.reading import Reading
from symgrove.models.shown import LONGEST_COUNTED, Shown, shortened
from symgrove.models.teams import Teams
from symgrove.models.term_sizes import TermSizes

if TYPE_CHECKING:
    from symgrove.models.stack import Stack

Matrix = NDArray[np.float64]
N_HEAVIEST = 3  # terms that a line of progress shows


@dataclass(frozen=True)
class TeamMember(Shown):
    """One team of an ensemble.

    Attributes
    ----------
    formula : str
        The team's sum in the user's units and column names, as short as we can write it; log odds if it is a
        classifier's. Clips are not part of it: on rows outside what training rows showed, predictions stay within that.
    latex, sympy
        The same as LaTeX with rounded numbers, and as a SymPy expression.
    program : str
        The sum as it was evolved: on standardised features.
    intercept : float
    n_terms : int
    size : int
        Nodes of the SymPy expression of the formula as it is shown, every number counted; of a long one (300 nodes with
        the user's units) before it is shortened.
    evolved_size : int
        Nodes of all terms as they were evolved.
    weight : float
        Share in the mean of the teams.
    samples : tuple of int
        The bootstrap sample that it is fitted on.
    in_bag_error : float
        Mean loss on that sample, at the end of the evolution: squares, or minus the logarithm of the probability.
    level : str
        Which of the stacked ensembles it belongs to.
    target : Any
        With more than two classes: the class that the team tells from the others, else None.
    """

    intercept: float
    n_terms: int
    evolved_size: int
    weight: float
    samples: tuple[int, ...]
    in_bag_error: float
    level: str
    target: Any
    _teams: Teams = field(repr=False, compare=False)
    _names: Sequence[str] | None = field(repr=False, compare=False)
    _sizes: TermSizes = field(repr=False, compare=False)
    _reading: Reading | None = field(repr=False, compare=False, default=None)

    @cached_property
    def size(self) -> int:
        """Nodes; counted when it is asked for."""
        terms = np.flatnonzero(self._teams.coefficients[self.samples[0]])
        if self._sizes.of_all(terms) > LONGEST_COUNTED:
            return self._sizes.of(terms)
        return sympy_size(*self._shown(), self._names)

    @property
    def program(self) -> str:
        """The sum as it was evolved."""
        return to_text(*self._own_sum(is_in_user_units=False), self._names)

    def _shown(self) -> tuple[Forest, int]:
        return shortened(*self._own_sum(is_in_user_units=True), self._reading)

    def _beginning(self) -> tuple[Forest, int, bool]:
        return *shortened(*self._own_sum(is_in_user_units=True, n_terms=N_HEAVIEST), None), self.n_terms <= N_HEAVIEST

    def _own_sum(self, *, is_in_user_units: bool, n_terms: int | None = None) -> tuple[Forest, int]:
        """The sum, or its heaviest terms, in a forest of its own, as it was evolved or in the user's units."""
        teams = self._teams
        forest = Forest(teams.forest.n_features, teams.forest.primitives)
        coefficients = teams.coefficients[self.samples[0]]
        heaviest = np.argsort(-np.abs(coefficients), kind="stable")[:n_terms]
        coefficients = np.where(np.isin(np.arange(coefficients.size), heaviest), coefficients, 0.0)
        total = _sum(forest, teams, coefficients, self.intercept, is_in_user_units=is_in_user_units)
        return forest, total


def front_point(stack: Stack, names: Sequence[str] | None, columns: TableColumns) -> FrontPoint:
    """The point of a model of one team."""
    (teams,) = stack.levels
    n_parts = int(np.count_nonzero(teams.coefficients[0]))
    error = float(np.sqrt(teams.errors[0]) if teams.loss == "squared" else teams.errors[0])
    return FrontPoint(error=error, n_parts=n_parts, _model=stack, _names=names, _columns=columns)


class SharedTerm(NamedTuple):
    """A term of the sum that an ensemble of teams collapses to.

    Attributes
    ----------
    formula : str
        In the user's units and column names; without the coefficient.
    coefficient : float
        Mean over all teams, those without the term included.
    spread : float
        Standard deviation of the coefficient over the teams.
    share : float
        Of the teams that have the term.
    effect : float
        The mean coefficient times the term's standard deviation on the training rows; terms are sorted by it.
    """

    formula: str
    coefficient: float
    spread: float
    share: float
    effect: float


def list_teams(stack: Stack, names: Sequence[str] | None, targets: Any, labels: Sequence[str]) -> list[TeamMember]:
    """All teams of all levels; for each target, weights sum to the weights of the levels."""
    members: list[TeamMember] = []
    sizes: TermSizes | None = None
    for weight, teams, label in zip(stack.weights, stack.levels, labels, strict=True):
        n_targets = int(teams.target_of.max()) + 1
        sizes = sizes if sizes is not None and sizes.are_of(teams) else TermSizes(teams, names)
        for j, row in enumerate(teams.coefficients):
            has = row != 0
            members.append(
                TeamMember(
                    intercept=float(teams.intercept[j]),
                    n_terms=int(has.sum()),
                    evolved_size=int(teams.forest.size(teams.programs[has]).sum()) if has.any() else 0,
                    weight=float(weight * n_targets / teams.n_teams),
                    samples=(j,),
                    in_bag_error=float(teams.errors[j]),
                    level=label,
                    target=None if targets is None else targets[teams.target_of[j]],
                    _teams=teams,
                    _names=names,
                    _sizes=sizes,
                    _reading=stack.reading,
                )
            )
    return members


def _sum(forest: Forest, teams: Teams, coefficients: Matrix, intercept: float, *, is_in_user_units: bool = True) -> int:
    """Root of a weighted sum of terms, the heaviest first."""
    chosen = np.flatnonzero(coefficients)
    chosen = chosen[np.argsort(-np.abs(coefficients[chosen]), kind="stable")]
    roots = forest.copy_from(teams.forest, teams.programs[chosen]).tolist()
    total = forest.constant(float(intercept - (coefficients * teams.centre / teams.spread).sum()))
    for root, i in zip(roots, chosen, strict=True):
        term = teams.standardization.in_user_units(forest, root) if is_in_user_units else root
        factor = forest.constant(float(coefficients[i] / teams.spread[i]))
        total = forest.apply("add", total, forest.apply("mul", factor, term))
    return total


def stack_as_sum(stack: Stack) -> tuple[Forest, int] | None:
    """The whole model as one short sum, without clips; None if it is no sum.

    Log odds if it is a classifier's, the logarithm with the Poisson loss: then it must be one team.
    """
    is_mean = all(t.n_teams < 4 or t.aggregation == "mean" for t in stack.levels)
    has_link = any(t.is_logistic or t.has_log_link for t in stack.levels)
    is_one_team = len(stack.levels) == 1 and stack.levels[0].n_teams == 1 and stack.weights[0] == 1
    if len(stack.base) > 1 or not is_mean or (has_link and not is_one_team):
        return None
    return shortened(*mean_of_teams(stack, 0, is_in_user_units=True), stack.reading)


def mean_of_teams(stack: Stack, target: int, *, is_in_user_units: bool) -> tuple[Forest, int]:
    """The mean of the teams of a target, weighed as the levels are; of log odds, say, if that is what teams are."""
    forest = Forest(stack.n_features, stack.primitives)
    has_link = any(t.is_logistic or t.has_log_link for t in stack.levels)
    total = forest.constant(0.0 if has_link else float((1 - stack.weights.sum()) * stack.base[target]))
    for weight, teams in zip(stack.weights, stack.levels, strict=True):
        own = teams.target_of == target
        coefficients = weight * teams.coefficients[own].mean(axis=0)
        intercept = float(weight * teams.intercept[own].mean())
        own_sum = _sum(forest, teams, coefficients, intercept, is_in_user_units=is_in_user_units)
        total = forest.apply("add", total, own_sum)
    return forest, total


def shared_terms(stack: Stack, names: Sequence[str] | None, n_most: int | None) -> list[SharedTerm]:
    """Terms of the sum over all teams of the strongest level, those with the largest mean coefficient first."""
    if not stack.levels:
        return []
    if len(stack.base) > 1:
        raise ValueError("teams of different classes or targets share no sum; `ensemble_` has the sums of the teams.")
    teams = stack.heaviest
    mean = teams.coefficients.mean(axis=0)
    order = np.argsort(-np.abs(mean), kind="stable")[:n_most]
    found = []
    for i in order:
        forest = Forest(teams.forest.n_features, teams.forest.primitives)
        root = int(forest.copy_from(teams.forest, teams.programs[i : i + 1])[0])
        _, shown = shortened(forest, teams.standardization.in_user_units(forest, root), stack.reading)
        own = teams.coefficients[:, i]
        column = own / teams.spread[i]
        share = float((own != 0).mean())
        text = to_text(forest, shown, names)
        found.append(SharedTerm(text, float(column.mean()), float(column.std()), share, float(own.mean())))
    return found
