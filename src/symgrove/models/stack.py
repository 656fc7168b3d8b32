"""A model of teams: a stack of ensembles of different strength."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from symgrove.forest.forest import Forest
from symgrove.forest.primitives import PrimitiveSet
from symgrove.models.columns import TableColumns
from symgrove.models.consensus import Recurring, recurring_terms
from symgrove.models.document import Allowance, Document, Entries
from symgrove.models.ensemble import mean_of_finite, spread_of_finite
from symgrove.models.front import Front
from symgrove.models.joint_sums import JointSums, joint_sums, members_of
from symgrove.models.model import LeftOut, Matrix, MeanOfMembers, Model, Names, RowLossOf
from symgrove.models.plan import Graph, PlanTarget
from symgrove.models.reading import Reading
from symgrove.models.task import Task
from symgrove.models.team_document import teams_from_document, teams_to_document
from symgrove.models.team_importance import team_importances
from symgrove.models.team_members import (
    SharedTerm,
    TeamMember,
    front_point,
    list_teams,
    mean_of_teams,
    shared_terms,
    stack_as_sum,
)
from symgrove.models.team_plan import stack_target
from symgrove.models.teams import Teams

MOST_LEVELS = 20


@dataclass(frozen=True)
class Stack(Model):
    """Ensembles of different strength: the base (mean of the target, shares of the classes) plus what each adds to it.

    prediction = base + sum of weight * (ensemble's prediction - base). Weights are not negative and sum to at most one;
    near zero, nothing was found.

    Attributes
    ----------
    levels : tuple of Teams
    weights : (n_levels,)
    base : (n_targets,)
    task, primitives, n_features
        Of the fit; a stack may have no levels.
    labels : tuple of str
        Names of the levels.
    smaller : tuple of Stack
        If it is one team: it, and what is left when terms leave one by one.
    reading : Reading or None
        What is known of the training rows for showing formulas.
    """

    levels: tuple[Teams, ...]
    weights: Matrix
    base: Matrix
    task: Task
    primitives: PrimitiveSet
    n_features: int
    labels: tuple[str, ...]
    smaller: tuple[Stack, ...] = field(default=(), repr=False)
    reading: Reading | None = None
    kind: ClassVar[str] = "teams"

    def with_reading(self, reading: Reading | None) -> Stack:
        smaller = tuple(own.with_reading(_reading_of_path(own, reading)) for own in self.smaller)
        return replace(self, reading=reading, smaller=smaller)

    @property
    def has_link(self) -> bool:
        return any(level.is_logistic or level.has_log_link for level in self.levels)

    def predict(self, X: Matrix, n_threads: int = 1) -> Matrix:
        prediction = np.repeat(self.base[:, None], len(X), axis=1)
        for rows, place, members in self._each_level(X, n_threads):
            own = self.levels[place].combine(members)
            prediction[:, rows] += self.weights[place] * (own - self.base[:, None])
        return prediction

    @cached_property
    def _joint(self) -> list[JointSums]:
        return joint_sums(self.levels)

    def _each_level(self, X: Matrix, n_threads: int) -> Iterator[tuple[slice, int, Matrix]]:
        """Row ranges of X with the place of every level, and the predictions of its teams on them."""
        for group in self._joint:
            for rows, members in group.members(X, n_threads):
                for place, own in zip(group.places, members, strict=True):
                    yield rows, place, own

    def predict_with_spread(self, X: Matrix, n_threads: int = 1, target: int = 0) -> tuple[Matrix, Matrix]:
        """Prediction of a target, and weighted standard deviations of the levels' teams."""
        prediction, spread = np.full(len(X), self.base[target]), np.zeros(len(X))
        for rows, place, members in self._each_level(X, n_threads):
            level, weight = self.levels[place], self.weights[place]
            prediction[rows] += weight * (level.combine(members)[target] - self.base[target])
            spread[rows] += weight * members[level.target_of == target].std(axis=0)
        return prediction, spread

    def _members_of(self, X: Matrix, n_threads: int, target: int) -> Matrix:
        """Predictions of as many members as the largest level has teams, (n_members, n_rows).

        Member k deviates from the prediction as the k-th team of every level does, levels weighed as in predictions;
        of a level with fewer teams, they take turns.
        """
        said = [np.empty((int((level.target_of == target).sum()), len(X))) for level in self.levels]
        members = np.full((1, len(X)), self.base[target])
        for rows, place, teams in self._each_level(X, n_threads):
            level, weight = self.levels[place], self.weights[place]
            said[place][:, rows] = teams[level.target_of == target]
            members[0, rows] += weight * (level.combine(teams)[target] - self.base[target])
        for weight, teams in zip(self.weights, said, strict=True):
            n_members = max(len(members), len(teams))
            order = np.arange(n_members)
            members = members[order % len(members)] + weight * (teams - teams.mean(axis=0))[order % len(teams)]
        return members

    def predict_members(self, X: Matrix, n_threads: int = 1) -> Matrix:
        return np.stack([self._members_of(X, n_threads, k) for k in range(len(self.base))])

    def left_out(
        self,
        X: Matrix,
        targets: Matrix,
        outside: Sequence[NDArray[np.bool_]],
        weight: Matrix | None,
        row_losses: Sequence[RowLossOf] | None = None,
        n_threads: int = 1,
    ) -> LeftOut:
        """Of the first level, by the teams that did not draw a row; of the first target."""
        level = self.levels[0]
        prediction, spread = np.empty((2, len(X)))
        for rows, teams in self._first_level(X, n_threads):
            said = np.where(outside[0][:, rows], teams[level.target_of == 0], np.nan)
            prediction[rows] = mean_of_finite(said, np.nan)
            spread[rows] = spread_of_finite(said, np.nan, np.nan)
        return LeftOut(prediction[None], spread)

    def _first_level(self, X: Matrix, n_threads: int) -> Iterator[tuple[slice, Matrix]]:
        """Row ranges of X with the predictions of the first level's teams."""
        yield from ((rows, own) for rows, (own,) in members_of(self.levels[:1], X, n_threads))

    def members(self, names: Names) -> list[TeamMember]:
        return list_teams(self, names, self.task.targets, self.labels)

    @property
    def parts(self) -> str:
        n_targets = len(self.base)
        counts = [level.n_teams // n_targets for level in self.levels]
        each = f" for each of {n_targets} {'classes' if self.task.classes is not None else 'targets'}"
        if not counts:
            return (
                "nothing but the mean of the target" if self.task.classes is None else "nothing but the classes' shares"
            )
        each = each if n_targets > 1 else ""
        if counts == [1]:
            return f"one team{each}, a sum of terms"
        teams = " and ".join(str(n) for n in dict.fromkeys(counts)) + (" teams" if max(counts) > 1 else " team")
        text = teams if len(counts) == 1 else f"{len(counts)} ensembles of {teams}"
        return f"{text}{each}, each a sum of terms"

    def count_members(self) -> dict[str, int]:
        return {"n_members": sum(level.n_teams for level in self.levels)}

    def importances(self, X: Matrix, seed: int, owners: NDArray[np.intp] | None = None) -> Matrix:
        return team_importances(self, X, seed, owners)

    def recurring(self, names: Names, n_most: int | None) -> list[Recurring]:
        """Terms that several teams of the heaviest level have."""
        return recurring_terms(self.heaviest, names, n_most, self.reading) if self.levels else []

    def shared_terms(self, names: Names, n_most: int | None) -> list[SharedTerm]:
        """The heaviest level as one sum over its teams."""
        return shared_terms(self, names, n_most)

    @property
    def heaviest(self) -> Teams:
        """The level with the largest weight."""
        return self.levels[int(np.argmax(self.weights))]

    def as_sum(self) -> tuple[Forest, int] | None:
        """Of the mean of teams, or of one. Clips are not part of it; a classifier's is of log odds."""
        return stack_as_sum(self)

    def sums(self) -> list[MeanOfMembers]:
        if not self.levels:
            return []
        rules = self.levels[0].standardization
        return [MeanOfMembers(*mean_of_teams(self, k, is_in_user_units=False), rules) for k in range(len(self.base))]

    @property
    def aggregation(self) -> str:
        """Of the heaviest level."""
        return self.heaviest.aggregation if self.levels else "mean"

    def front(self, names: Names, columns: TableColumns) -> Front:
        points = [front_point(own, names, columns) for own in self.smaller]
        return Front(points, 0 if points else None)

    def plan_targets(self, graph: Graph) -> tuple[PlanTarget, ...]:
        return tuple(stack_target(graph, self.levels, self.weights, float(b), k) for k, b in enumerate(self.base))

    def document(self) -> Document:
        own = [stack._own_document() for stack in (self, *self.smaller)]
        return {"ensembles": own[:1], "members": None, "smaller": own[1:]}

    def _own_document(self) -> Document:
        return {
            "kind": "teams",
            "base": self.base.tolist(),
            "weights": self.weights.tolist(),
            "levels": [
                teams_to_document(teams, before)
                for before, teams in zip((None, *self.levels), self.levels, strict=False)
            ],
        }


def _reading_of_path(own: Stack, reading: Reading | None) -> Reading | None:
    """Of one of the smaller models, whose residuals are larger."""
    is_known = reading is not None and own.levels[0].loss == "squared" and not own.has_link
    return reading.with_residual(float(np.sqrt(own.levels[0].errors[0]))) if reading and is_known else reading


def stack_from(
    entries: Entries,
    task: Task,
    n_features: int,
    primitives: PrimitiveSet,
    allowance: Allowance,
    labels: tuple[str, ...],
) -> Stack:
    """The model of a document, which `document` made."""
    own = entries.each("ensembles")
    if len(own) != 1:
        raise ValueError(f"the file has {len(own)} ensembles, which does not go with its estimator and classes.")
    stack, *smaller = (
        _own_stack(e, task, n_features, primitives, allowance, names)
        for e, names in [(own[0], labels), *((e, ("smaller",)) for e in entries.each("smaller"))]
    )
    if len(stack.levels) != len(labels):
        raise ValueError("'strength_' of the file does not go with its ensembles.")
    if any(len(s.levels) != 1 or s.levels[0].n_teams != 1 for s in smaller):
        raise ValueError("'smaller' of the file must be models of one team.")
    return replace(stack, smaller=tuple(smaller))


def _own_stack(
    entries: Entries,
    task: Task,
    n_features: int,
    primitives: PrimitiveSet,
    allowance: Allowance,
    labels: tuple[str, ...],
) -> Stack:
    if len(entries.items("levels")) > MOST_LEVELS:
        raise ValueError(f"{entries.where} has more than {MOST_LEVELS} levels.")
    common = n_features, task.n_targets, primitives, allowance
    levels: list[Teams] = []
    for own in entries.each("levels"):
        levels.append(teams_from_document(own, *common, before=levels[-1] if levels else None))
    weights, base = entries.numbers("weights", len(levels)), entries.numbers("base", task.n_targets)
    return Stack(tuple(levels), weights, base, task, primitives, n_features, labels)
