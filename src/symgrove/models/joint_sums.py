"""Ensembles of teams predicted together: every distinct term is computed once, and added to the teams that have it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symgrove.dataset import Dataset, features_by_column
from symgrove.engines.base import WeightedTerms
from symgrove.engines.registry import DEFAULT, engine_of, make_engine
from symgrove.forest.forest import Forest
from symgrove.models import prediction_kernels
from symgrove.models.row_blocks import in_order, row_blocks, rows_at_a_time
from symgrove.models.teams import Teams

Matrix = NDArray[np.float64]
# Of an engine that is elsewhere, so many that the way there does not count, and a few blocks under way.
VALUES_OF_ANOTHER_ENGINE = 1 << 25
BLOCKS_AT_A_TIME = 6
VALUES_AT_A_TIME = 1 << 20  # so many that making an engine for them does not count


@dataclass(frozen=True)
class JointSums:
    """Sums of the teams of several ensembles, whose rows are read in the same way.

    Attributes
    ----------
    levels : tuple of Teams
    places : tuple of int
        Of the levels in their stack.
    forest : Forest
        Holds the distinct programs of all terms.
    programs : (n_programs,)
    terms : WeightedTerms
    """

    levels: tuple[Teams, ...]
    places: tuple[int, ...]
    forest: Forest
    programs: NDArray[np.int64]
    terms: WeightedTerms

    def members(self, X: NDArray[Any], n_threads: int = 1) -> Iterator[tuple[slice, list[Matrix]]]:
        """Row ranges of X, and for each ensemble the predictions of its teams on them, (n_teams, n_rows)."""
        other = engine_of(n_threads, len(X))
        at_most = VALUES_AT_A_TIME if other is None else VALUES_OF_ANOTHER_ENGINE
        blocks = row_blocks(len(X), rows_at_a_time(self.terms.n_members + X.shape[1], at_most))
        if other is None:
            yield from ((rows, self._members_on(X[rows], n_threads)) for rows in blocks)
        else:
            # While an engine elsewhere has one block, the host prepares another.
            work = partial(self._members_on, n_threads=n_threads, engine=other)
            yield from in_order(lambda rows: (rows, work(X[rows])), blocks, min(n_threads, BLOCKS_AT_A_TIME))

    def _members_on(self, X: NDArray[Any], n_threads: int, engine: str = DEFAULT) -> list[Matrix]:
        """Predictions of each ensemble's teams."""
        columns = features_by_column(X, np.dtype(np.float64), self.levels[0].as_in_training)
        data = Dataset(columns, np.zeros(columns.shape[1]))
        with make_engine(data, self.forest.primitives, n_threads, name=engine) as made:
            sums = made.weighted_sums(self.forest, self.programs, self.terms)
        cuts = np.cumsum([level.n_teams for level in self.levels])[:-1]
        return [level.headed(own) for level, own in zip(self.levels, np.split(sums, cuts), strict=True)]


def members_of(
    levels: Sequence[Teams], X: NDArray[Any], n_threads: int = 1
) -> Iterator[tuple[slice, Sequence[Matrix]]]:
    """Row ranges of X, and the predictions of each ensemble's teams on them; all ensembles have the same terms."""
    if engine_of(n_threads, len(X)) is None:
        for rows, values in levels[0].term_values(X, n_threads):
            yield rows, [level.team_predictions(values) for level in levels]
    else:
        for group in joint_sums(levels):
            yield from group.members(X, n_threads)


def each_term(teams: Teams) -> WeightedTerms:
    """Terms of an ensemble as sums of one term each."""
    n = teams.programs.size
    centre, factor, low, high = np.ascontiguousarray(teams.scaling())
    return WeightedTerms(centre, factor, low, high, np.arange(n + 1), np.arange(n), np.ones(n), n)


def joint_sums(levels: Sequence[Teams]) -> list[JointSums]:
    """Ensembles in groups that are predicted together: one group, if all were fitted on the same rows."""
    groups: list[list[int]] = []
    for place, level in enumerate(levels):
        own = next((group for group in groups if levels[group[0]].reads_rows_as(level)), None)
        if own is None:
            groups.append([place])
        else:
            own.append(place)
    return [joined for group in groups for joined in _joined(levels, group)]


def _joined(levels: Sequence[Teams], places: list[int]) -> list[JointSums]:
    """Levels in one, or each by itself where they scale a program differently."""
    own = [levels[place] for place in places]
    forest, roots = _in_one_forest(own)
    programs, first_of, program_of = np.unique(roots, return_index=True, return_inverse=True)
    scaling = np.concatenate([level.scaling() for level in own], axis=1)
    if not np.array_equal(scaling[:, first_of][:, program_of], scaling):
        return [alone for place in places for alone in _joined(levels, [place])]
    terms = _weighted(own, program_of, scaling[:, first_of])
    return [JointSums(tuple(own), tuple(places), forest, programs, terms)]


def _in_one_forest(levels: Sequence[Teams]) -> tuple[Forest, NDArray[np.int64]]:
    """Programs of all levels, their nodes in an order that needs few results at once."""
    of = levels[0].forest
    together, ordered = Forest(of.n_features, of.primitives), Forest(of.n_features, of.primitives)
    roots = np.concatenate([together.copy_from(level.forest, level.programs) for level in levels])
    order = np.empty(len(together), dtype=np.int64)
    prediction_kernels.order_nodes(together.columns, order)
    return ordered, ordered.copy_from(together, roots, order)


def _weighted(levels: Sequence[Teams], program_of: NDArray[np.intp], scaling: Matrix) -> WeightedTerms:
    """What each program enters, from the levels' coefficients."""
    member, program, coefficient = [], [], []
    n_members = n_terms = 0
    for level in levels:
        team, term = np.nonzero(level.coefficients)
        member.append(n_members + team)
        program.append(program_of[n_terms + term])
        coefficient.append(level.coefficients[team, term])
        n_members, n_terms = n_members + level.n_teams, n_terms + level.programs.size
    entered = np.concatenate(program)
    order = np.argsort(entered, kind="stable")
    first = np.zeros(scaling.shape[1] + 1, dtype=np.int64)
    np.cumsum(np.bincount(entered, minlength=scaling.shape[1]), out=first[1:])
    centre, factor, low, high = np.ascontiguousarray(scaling)
    entries = np.concatenate(member)[order], np.concatenate(coefficient)[order]
    return WeightedTerms(centre, factor, low, high, first, *entries, n_members)
