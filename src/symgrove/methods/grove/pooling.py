"""Regressions over the terms of many teams, from matrices of products over all rows.

    teams        each on its own terms, as they evolved
    populations  one for each population, on the terms of all its teams
    pool         one for each population, on the terms of all others

More terms than a team may have while it evolves say more where rows are many, or noise is low; how much, rows held out
tell.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from symgrove.blas import on_one_thread, product
from symgrove.dataset import Dataset, features_by_column
from symgrove.engines.registry import engine_of, make_engine
from symgrove.methods.grove.memory import NUMBER
from symgrove.methods.grove.settling import RowPass, TargetUnits
from symgrove.methods.problem import Rows
from symgrove.models.joint_sums import each_term
from symgrove.models.row_blocks import row_blocks, rows_at_a_time
from symgrove.models.teams import Teams

Matrix = NDArray[np.float64]
Uses = NDArray[np.bool_]
# Penalties that are tried, as shares of the rows' weight; terms have a spread of one.
PENALTIES = (1.0, 0.3, 0.1, 0.03, 0.01, 3e-3, 1e-3, 1e-4)
FEW_PENALTIES = (0.1, 0.01, 1e-3)  # where evolutions on several folds are judged
SHARE_OF_POOL = 0.5  # of the memory budget, for sums of all pairs of terms
VALUES_ON_AN_ENGINE = 1 << 28  # of terms at a time, where sums are made on another engine than the default one
N_MATRICES = 5  # of all products, at once: of all rows, of two parts, one that is made, one that is solved


@dataclass(frozen=True)
class PoolSums:
    """Sums over rows: products of the terms, the intercept first, with each other and with the targets.

    Targets are read as (y - centre) / scale, so that sums lose no digits.
    """

    gram: Matrix
    first: Matrix
    squares: Matrix
    total: float
    centre: Matrix
    scale: Matrix

    def __add__(self, other: PoolSums) -> PoolSums:
        """Of the rows of both."""
        return PoolSums(
            self.gram + other.gram,
            self.first + other.first,
            self.squares + other.squares,
            self.total + other.total,
            self.centre,
            self.scale,
        )

    def __sub__(self, other: PoolSums) -> PoolSums:
        """Without the rows of the other."""
        return PoolSums(
            self.gram - other.gram,
            self.first - other.first,
            self.squares - other.squares,
            self.total - other.total,
            self.centre,
            self.scale,
        )

    def of(self, uses: Uses) -> PoolSums:
        """Of some terms."""
        own = np.append(0, 1 + np.flatnonzero(uses))
        return replace(self, gram=self.gram[np.ix_(own, own)], first=self.first[own])


def bytes_of_sums(n_terms: int) -> int:
    """That pooling takes."""
    return N_MATRICES * NUMBER * (n_terms + 1) ** 2


def pool_sums(rows: Rows, teams: Teams, units: TargetUnits, how: RowPass) -> PoolSums:
    """Sums of the terms of all teams."""
    everything = np.ones((1, teams.programs.size), dtype=np.bool_)
    return sums_of_each(teams, everything, rows, units, how)[0]


def sums_of_each(teams: Teams, uses: Uses, rows: Rows, units: TargetUnits, how: RowPass) -> list[PoolSums]:
    """Sums of several sets of terms, (n_sets, n_terms)."""
    other = engine_of(how.n_threads, len(rows.X))
    if other is not None:
        return sums_on_engine(other, teams, uses, rows, units, how)
    terms, n_targets = [np.flatnonzero(own) for own in uses], len(rows.targets)
    gram = [np.zeros((own.size + 1, own.size + 1)) for own in terms]
    first = [np.zeros((own.size + 1, n_targets)) for own in terms]
    squares, total = np.zeros(n_targets), 0.0
    for block, values in how.blocks(teams, rows):
        # With roots of the weights the product is of a matrix with itself, which takes half the time.
        root = np.sqrt(_weight(rows, block))
        target = _in_units(rows, block, units) * root
        for i, own in enumerate(terms):
            phi = np.empty((own.size + 1, values.shape[1]))  # one copy: values are many
            phi[0] = root
            np.take(values, own, axis=0, out=phi[1:])
            if rows.weight is not None:
                phi[1:] *= root
            gram[i] += product(phi, phi.T)
            first[i] += product(phi, target.T)
        squares += (target**2).sum(axis=1)
        total += float((root**2).sum())
    return [PoolSums(g, f, squares, total, units.centre, units.scale) for g, f in zip(gram, first, strict=True)]


def _weight(rows: Rows, block: slice) -> Matrix:
    return np.ones(rows.targets[:, block].shape[1]) if rows.weight is None else rows.weight[block]


def _in_units(rows: Rows, block: slice, units: TargetUnits) -> Matrix:
    found: Matrix = (rows.targets[:, block] - units.centre[:, None]) / units.scale[:, None]
    return found


def sums_on_engine(
    engine: str, teams: Teams, uses: Uses, rows: Rows, units: TargetUnits, how: RowPass
) -> list[PoolSums]:
    """The same, but for rounding, on an engine: terms of a block of rows stay until all their products are made."""
    n_own, n_targets = uses.sum(axis=1), len(rows.targets)
    places = np.full((len(uses), 1 + n_own.max()), -1)  # of the intercept, then of the terms
    for own, used in zip(places, uses, strict=True):
        own[: 1 + used.sum()] = [0, *(1 + np.flatnonzero(used))]
    gram = np.zeros((len(uses), places.shape[1], places.shape[1]))
    first, squares, total = np.zeros((len(uses), n_targets, places.shape[1])), np.zeros(n_targets), 0.0
    terms, every_target = each_term(teams), np.tile(np.arange(n_targets), (len(uses), 1))
    for block in row_blocks(len(rows.X), rows_at_a_time(terms.n_members, VALUES_ON_AN_ENGINE)):
        how.check()
        weight, target = _weight(rows, block), _in_units(rows, block, units)
        columns = features_by_column(rows.X[block], np.dtype(np.float64), teams.as_in_training)
        data = Dataset(columns, np.zeros(weight.size))
        with make_engine(data, teams.forest.primitives, how.n_threads, name=engine) as made:
            values = made.put(np.ones((1, weight.size))) + made.weighted_vectors(teams.forest, teams.programs, terms)
            weights = None if rows.weight is None else made.put(weight)[np.zeros(len(uses), dtype=np.intp)]
            gram += made.products(values, values, weights, places, places)
            first += made.products(made.put(target), values, weights, every_target, places)
        squares += product(target**2, weight)
        total += float(weight.sum())
    each = zip(gram, first, 1 + n_own, strict=True)
    return [PoolSums(g[:n, :n], f[:, :n].T, squares, total, units.centre, units.scale) for g, f, n in each]


@dataclass(frozen=True)
class PoolLevel:
    """Which terms the regressions of a level have, (n_regressions, n_terms), and the penalties to try."""

    name: str
    uses: Uses
    target_of: NDArray[np.intp]
    aggregation: str
    penalties: tuple[float, ...]

    def first(self) -> PoolLevel:
        """The first regression of each target alone: enough to choose a penalty."""
        _, first = np.unique(self.target_of, return_index=True)
        return replace(self, uses=self.uses[first], target_of=self.target_of[first])

    def fit(self, teams: Teams, sums: PoolSums, penalty: float) -> Teams:
        """The level as an ensemble, from sums of all terms."""
        return self.fit_each(teams, (sums.of(own) for own in self.uses), penalty)

    def fit_each(self, teams: Teams, sums: Iterable[PoolSums], penalty: float) -> Teams:
        """The level as an ensemble, from sums of the terms of each regression."""
        coefficients, intercept = np.zeros(self.uses.shape), np.zeros(len(self.uses))
        errors = np.zeros(len(self.uses))
        for j, (own_sums, own, target) in enumerate(zip(sums, self.uses, self.target_of, strict=True)):
            gram, first = own_sums.gram, own_sums.first[:, target]
            solution = _solve(gram, first, penalty * own_sums.total)
            centre, scale = own_sums.centre[target], own_sums.scale[target]
            intercept[j], coefficients[j, own] = centre + scale * solution[0], scale * solution[1:]
            left = own_sums.squares[target] - 2 * product(first, solution) + product(solution, product(gram, solution))
            errors[j] = scale * (scale * max(float(left), 0.0) / own_sums.total)
        return replace(
            teams,
            coefficients=coefficients,
            intercept=intercept,
            errors=errors,
            target_of=self.target_of,
            aggregation=self.aggregation,
        )


def _solve(gram: Matrix, first: Matrix, penalty: float) -> Matrix:
    """Ridge regression; the intercept is not penalised."""
    penalised = gram.copy()
    diagonal = np.arange(1, len(gram))
    penalised[diagonal, diagonal] += penalty
    try:
        found: Matrix = on_one_thread(lambda: cho_solve(cho_factor(penalised, lower=True), first))
    except LinAlgError:  # no penalty, and terms that are sums of others
        found = on_one_thread(np.linalg.lstsq, penalised, first, None)[0]
    return found


def levels_of(teams: Teams, n_populations: int, ridge: float) -> Iterator[PoolLevel]:
    """Levels to choose from, the teams themselves first."""
    yield PoolLevel("teams", teams.coefficients != 0, teams.target_of, teams.aggregation, (ridge,))
    together = population_level(teams, n_populations)
    yield together
    if n_populations > 1:
        n_targets, targets = int(teams.target_of.max()) + 1, together.target_of
        everybody = [together.uses[targets == k] for k in range(n_targets)]
        others = [np.delete(own, i, axis=0).any(axis=0) for own in everybody for i in range(n_populations)]
        yield replace(together, name="pool", uses=np.array(others))


def population_level(teams: Teams, n_populations: int, penalties: tuple[float, ...] = PENALTIES) -> PoolLevel:
    """A regression for each population and target."""
    n_targets, own = int(teams.target_of.max()) + 1, teams.coefficients != 0
    targets = np.repeat(np.arange(n_targets), n_populations)
    together = [
        part.any(axis=0) for k in range(n_targets) for part in np.array_split(own[teams.target_of == k], n_populations)
    ]
    return PoolLevel("populations", np.array(together), targets, "mean", penalties)
