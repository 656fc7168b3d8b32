"""What progress says of a generation: errors with their name and unit, and the best formula so far."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from symgrove.estimators.parameters import early_stopping_of
from symgrove.estimators.runs import Limits
from symgrove.evolution.progress import Reporter
from symgrove.evolution.remaining import Outlook
from symgrove.evolution.watching import current_watcher

if TYPE_CHECKING:
    from symgrove.estimators.base import Estimator
    from symgrove.methods.problem import Problem
    from symgrove.models.model import Model

MOST_TARGETS = 3  # whose errors are shown


class ShownErrors(NamedTuple):
    """Errors of members on the rows that they are fitted on, (n_members,) or (n_targets, n_members).

    `unit` is said behind the numbers; shares are shown in per cent.
    """

    name: str
    values: NDArray[np.float64]
    unit: str = ""
    is_share: bool = False

    def in_words(self) -> str:
        """The least, and the median if there are several; of numbers for each target, of classes their mean."""
        rows = np.atleast_2d(self.values)
        best, median = rows.min(axis=1), np.median(rows, axis=1)
        if not self.unit:
            best, median = (np.mean(own, keepdims=True) for own in (best, median))
        text = f"training {self.name} {self._numbers(best)}"
        return text + (f", median {self._numbers(median)}" if rows.shape[1] > 1 else "") + self.unit

    def _numbers(self, values: NDArray[np.float64]) -> str:
        shown = [f"{value:.2%}" if self.is_share else f"{value:.4g}" for value in values[:MOST_TARGETS].tolist()]
        return " and ".join([*shown, *(["others"] if values.size > MOST_TARGETS else [])])


@dataclass(frozen=True)
class Told:
    """Of one evolution."""

    estimator: Estimator
    problem: Problem
    method: Any

    def errors(self, values: Mapping[str, Any]) -> str:
        """From what a generation is described by."""
        return self.shown_errors(values).in_words()

    def shown_errors(self, values: Mapping[str, Any]) -> ShownErrors:
        """The same as numbers."""
        with np.errstate(all="ignore"):
            return self.estimator._shown_errors(self.problem, np.asarray(values["errors"], dtype=float))

    def model(self, state: Any) -> Model:
        """Of a state, knowing what showing its formulas takes."""
        training = self.problem.training
        model = self.estimator.make_model(self.problem, self.method, state).model
        return model.having_seen(training.X, training.targets)

    def formula(self, state: Any, *, as_mathml: bool) -> str:
        """The member with the least error, or its beginning."""
        estimator, task = self.estimator, self.problem.task
        if estimator.evolves_programs and not self.problem.training.is_here:
            return ""  # members' last scaling takes passes over all rows
        model = estimator.make_model(self.problem, self.method, state).model
        members = model.members(estimator._names)
        errors = np.atleast_2d(self.method.describe(state)["errors"])
        target, sample = np.unravel_index(int(np.argmin(errors)), errors.shape)
        own = [m for m in members if task.targets is None or m.target == task.targets[target]]
        known = [m for m in own if np.isfinite(m.in_bag_error)]
        best = min(known, key=lambda m: m.in_bag_error) if known else None
        chosen = best or next((m for m in own if sample in m.samples), members[0])
        of = "" if chosen.target is None else f"{chosen.target}: "
        return (escape(of) if as_mathml else of) + str(chosen.brief(as_mathml=as_mathml))


def may_end_early(estimator: Estimator, limits: Limits) -> bool:
    """Whether an evolution may end before its last generation, and before the time is up."""
    return len(estimator._stops(limits)) > 1 or early_stopping_of(estimator) is not None


def reporting(
    estimator: Estimator, outlook: Outlook, max_time: float | None
) -> AbstractContextManager[Reporter | None]:
    """What shows progress, if it is wanted, and tells who watches."""
    if not estimator.verbose and current_watcher() is None:
        return nullcontext()
    return Reporter(type(estimator).__name__, outlook, max_time, is_shown=bool(estimator.verbose))


def watching(estimator: Estimator, reporter: Reporter | None, problem: Problem, method: Any) -> list[Reporter]:
    """It as an observer of the main evolution."""
    if reporter is None:
        return []
    reporter.told = Told(estimator, problem, method)
    return [reporter]
