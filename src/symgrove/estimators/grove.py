"""Estimators of Grove; the algorithm is methods/grove/."""

from __future__ import annotations

import time
from abc import abstractmethod
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from symgrove._checks import LARGEST_PROGRAM, MOST_PROGRAMS, MOST_SAMPLES, check_flag, check_number, check_whole
from symgrove._deprecation import Renamed
from symgrove.engines.registry import DEFAULT, is_far
from symgrove.estimators.base import Estimator, Matrix
from symgrove.estimators.classifier import Classifier
from symgrove.estimators.documentation import document
from symgrove.estimators.grove_texts import ATTRIBUTES, CLASSES, OWN, TEXT
from symgrove.estimators.left_out import EVOLUTIONS, held_out
from symgrove.estimators.parameters import check_choice, check_shape_of_loss, with_parameters
from symgrove.estimators.regressor import Regressor
from symgrove.estimators.runs import Finished, Limits
from symgrove.estimators.told import ShownErrors, may_end_early, reporting
from symgrove.evolution.checkpoint import Checkpoint
from symgrove.evolution.interrupt import Interrupt
from symgrove.evolution.stopping import OutOfTime, Stop
from symgrove.fitness.named_losses import LOSSES, NamedLoss, make_loss
from symgrove.methods.grove.configuration import (
    FOR_CLASSIFICATION,
    FOR_REGRESSION,
    GroveConfiguration,
    Regime,
    TeamRules,
)
from symgrove.methods.grove.folds import for_folds, n_folds
from symgrove.methods.grove.many_rows import n_to_hide, rows_to_hide, settle_stack
from symgrove.methods.grove.memory import FEWEST_ROWS, N_CHECKING, N_PLACES, NUMBER, TeamNeeds, team_needs
from symgrove.methods.grove.outlook import GroveOutlook
from symgrove.methods.grove.plateau import Plateau, rows_judged_with
from symgrove.methods.grove.setup import (
    TeamSettings,
    centres_and_scales,
    in_units,
    make_evolutions,
    rows_of_an_evolution,
    stack_of,
)
from symgrove.methods.grove.strength import Chosen, StrengthSearch, Surroundings
from symgrove.methods.grove.turns import InTurns, Populations
from symgrove.methods.problem import Problem, Rows, TrainingRows
from symgrove.methods.programs import Fitted
from symgrove.methods.side_by_side import States
from symgrove.models.front import Front
from symgrove.models.model import LeftOut
from symgrove.models.stack import Stack
from symgrove.models.task import Task
from symgrove.models.team_members import SharedTerm

GROVE_FUNCTIONS = ("add", "sub", "mul", "aq", "max", "min", "step", "sqrt", "log1p")
LARGEST_TARGET = 1e100


@with_parameters
class GroveEstimator(Estimator):
    """What the regressor and the classifier share."""

    has_out_of_bag = False
    takes_rows_elsewhere = True
    configuration: ClassVar[GroveConfiguration]
    strength_: ClassVar[Any] = Renamed("stacking_weights_")
    found_: ClassVar[Any] = Renamed("stacking_weight_sum_")
    n_populations: int = 5
    population_size: int = 1000
    generations: int = 100
    n_estimators: int = 50
    functions: Any = GROVE_FUNCTIONS
    max_terms: int = 100
    max_size: int = 25
    ridge: float = 1e-3
    window: float = 0.5
    n_joining: int = 2
    strength: str = "auto"
    sampling: Any = 0.8
    aggregation: str = "interquartile"
    clip: bool = True
    dtype: str = "float32"

    def check_parameters(self) -> None:
        super().check_parameters()
        for name in ("n_populations", "n_estimators", "max_terms", "n_joining"):
            check_whole(name, getattr(self, name), 1, MOST_SAMPLES)
        check_whole("max_size", self.max_size, 1, LARGEST_PROGRAM)
        check_number("ridge", self.ridge, 0, np.inf)
        if isinstance(self.window, (int, np.integer)) and not isinstance(self.window, bool):
            check_whole("window", self.window, 1, MOST_PROGRAMS)
        elif not (isinstance(self.window, (float, np.floating)) and 0 < self.window <= 1):
            raise ValueError(
                f"window must be a number of candidates (int) or a share of population_size (float up to 1), got "
                f"{self.window!r}."
            )
        check_choice("strength", self.strength, ("auto", "fixed"))
        check_choice("aggregation", self.aggregation, ("interquartile", "mean"))
        check_flag("clip", self.clip)
        sampling = self.sampling
        is_share = isinstance(sampling, (float, np.floating)) and 0 < sampling <= 1
        if not is_share and not (isinstance(sampling, str) and sampling == "bootstrap"):
            raise ValueError(f"sampling must be 'bootstrap' or a share of the rows (float up to 1), got {sampling!r}.")

    # The main evolution

    def make_method(self, problem: Problem) -> Populations | InTurns:
        main = self._main_regime(self.generations, problem.n_given)
        return make_evolutions(self._team_settings(problem), main, problem.training, problem.seed, problem.hidden)

    def make_model(self, problem: Problem, method: Populations | InTurns, state: States) -> Fitted:
        return stack_of(self._team_settings(problem), method, state, problem)

    def _team_settings(self, problem: Problem) -> TeamSettings:
        evaluation = self._evaluation()
        return TeamSettings(
            primitives=evaluation.primitives,
            dtype=evaluation.dtype,
            standardize=evaluation.standardize,
            clip=bool(self.clip),
            sampling=self.sampling,
            aggregation=self.aggregation,
            losses=self._losses_of(problem.training),
            n_threads=problem.n_threads,
            memory_budget=self._room(problem),
            configuration=self.configuration,
            # Where all rows are elsewhere, few of them evolve, here.
            engine=evaluation.engine if problem.training.is_here or not is_far(evaluation.engine) else DEFAULT,
        )

    def _losses_of(self, training: TrainingRows) -> tuple[NamedLoss, ...]:
        """What teams of each target minimise; nothing: they are logistic regressions."""
        return ()

    def _n_teams(self, n_rows: int) -> int:
        """Where rows are many, regressions over the terms of all teams follow, and fewer teams are enough."""
        many, n_teams = self.configuration.many, int(self.n_estimators)
        return n_teams if n_rows < many.fewest_rows else max(1, round(many.share_of_teams * n_teams))

    def _main_regime(self, generations: int, n_rows: int) -> Regime:
        early = (g for g in self.configuration.early_snapshots if g < generations)
        return Regime(
            name="main",
            n_populations=int(self.n_populations),
            n_teams=self._n_teams(n_rows),
            max_size=int(self.max_size),
            rules=self._rules(self.window, 1, float(self.ridge)),
            snapshots=(*early, generations),
            n_teams_of_fit=self._n_teams(n_rows),
        )

    def _rules(self, window: float, term_factor: int, ridge: float) -> TeamRules:
        is_count = isinstance(window, (int, np.integer))
        return TeamRules(
            population_size=self.population_size,
            window=int(window) if is_count else max(1, round(window * self.population_size)),
            n_joining=self.n_joining,
            max_terms=term_factor * self.max_terms,
            ridge=ridge,
        )

    def _regimes(
        self, generations: int, rows: TrainingRows, n_given: int, room: int | None = None
    ) -> tuple[Regime, ...]:
        """Evolutions that may enter the stack, the main one first; others only if there is room for them."""
        main, second = self._main_regime(generations, n_given), self.configuration.second
        other = Regime(
            name=second.name,
            n_populations=1,
            n_teams=second.team_factor * self._n_teams(n_given),
            max_size=min(second.largest_size, second.size_factor * self.max_size + second.size_more),
            rules=self._rules(second.window, second.term_factor, second.ridge),
            snapshots=second.snapshots,
            n_teams_of_fit=second.team_factor * self._n_teams(n_given),
        )
        is_wanted = second.fewest_rows <= rows.n_rows <= second.most_rows
        return (main, other) if is_wanted and self._has_room(other, rows, n_given, room) else (main,)

    def _has_room(self, regime: Regime, rows: TrainingRows, n_given: int, room: int | None) -> bool:
        """For some rows where they are many, else for all rows of its folds."""
        if room is None:
            return True
        if n_given >= self.configuration.many.fewest_rows:
            return self._least_budget(self._needs_of(regime, rows), rows) <= room
        return all(each.rows_within(room) >= rows.n_rows for each in self._needs_of(regime, rows))

    # Memory

    def _room(self, problem: Problem) -> int:
        """Of the memory budget, what copies of the data leave."""
        return self._memory_budget() - problem.n_copied

    def _needs_of(self, regime: Regime, rows: TrainingRows) -> list[TeamNeeds]:
        """Of its evolution, whose populations are apart if rows are many, and of those on folds."""
        needs = [team_needs(regime, rows, self.dtype, self.configuration, apart=each) for each in (False, True)]
        return [*needs, self._needs_of_folds(regime, rows)] if self.strength == "auto" else needs

    def _needs_of_folds(self, regime: Regime, rows: TrainingRows) -> TeamNeeds:
        folds = self.configuration.folds
        cheaper = for_folds(regime, folds).times(n_folds(rows.n_rows, folds))
        return team_needs(cheaper, rows, self.dtype, self.configuration)

    def _least_budget(self, needs: list[TeamNeeds], rows: TrainingRows) -> int:
        """With less, too few rows would be left."""
        return max(each.budget_for(min(rows.n_rows, FEWEST_ROWS)) for each in needs)

    def _within_memory(self, problem: Problem) -> Problem:
        training, main = problem.training, self._main_regime(self.generations, problem.n_given)
        n_rows = training.n_rows
        checking = NUMBER * N_CHECKING * problem.n_given if training.is_here else 0
        hidden = n_to_hide(n_rows, self.configuration.many) * training.bytes_of_a_row
        hidden += NUMBER * N_PLACES * n_rows if training.is_here else 0
        needs = self._needs_of(main, training)[:2]  # where folds do not fit, rows are many
        least = max(self._least_budget(needs, training), checking) + problem.n_copied
        least += hidden if n_rows > FEWEST_ROWS else 0
        if self._memory_budget() < least:
            raise ValueError(
                f"memory_budget={self._memory_budget()} bytes is too small: a fit on {n_rows} rows, or on "
                f"some of them, needs at least {least}. Raise it, or lower n_estimators, max_terms or population_size."
            )
        return problem._replace(n_copied=problem.n_copied + hidden) if self._has_many(problem) else problem

    def _has_many(self, problem: Problem) -> bool:
        """Whether rows are many, or too many for an evolution to have all at once."""
        if problem.n_given >= self.configuration.many.fewest_rows:
            return True
        main, rows = self._main_regime(self.generations, problem.n_given), problem.training
        n_most = rows_of_an_evolution(self._team_settings(problem), main, rows)
        if self.strength == "auto":
            n_most = min(n_most, self._needs_of_folds(main, rows).rows_within(self._room(problem)))
        return n_most < rows.n_rows

    def _identity(self, rows: TrainingRows) -> dict[str, Any]:
        # The budget decides how many rows evolutions see, if they do not all fit beside two copies of them.
        budget = self._memory_budget()
        needs = [
            each
            for regime in self._regimes(self.generations, rows, rows.n_rows)
            for each in self._needs_of(regime, rows)
        ]
        room = budget - 2 * rows.bytes_of_a_row * rows.n_rows
        is_ample = all(each.rows_within(room) >= rows.n_rows for each in needs)
        own = {"budget": None if is_ample else budget, "configuration": repr(self.configuration)}
        return {**super()._identity(rows), **own}

    # Strength

    def _evolve(
        self,
        problem: Problem,
        limits: Limits,
        checkpoint: Checkpoint,
        interrupt: Interrupt,
        given: tuple[Any, Any] | None = None,
    ) -> Finished:
        start = time.perf_counter()
        end = np.inf if limits.max_time is None else start + limits.max_time
        is_auto = self.strength == "auto" and problem.training.n_rows >= self.configuration.folds.fewest_rows
        rows = problem.training
        hidden = self._rows_to_hide(problem) if self._has_many(problem) else None
        settings, around = self._team_settings(problem), Surroundings(checkpoint, interrupt, end)
        regimes = self._regimes(limits.generations, rows, problem.n_given, self._room(problem))
        search = StrengthSearch(settings, regimes, rows, problem.seed, around)
        ends = is_auto and (hidden is not None or limits.generations > 0)
        outlook = GroveOutlook(search, ends, hidden is not None, may_end_early(self, limits))
        with reporting(self, outlook, limits.max_time) as around.reporter:
            if limits.max_time is not None:
                # Something follows the main evolution where rows are many, or others may have weight.
                share = self.configuration.share_of_main if hidden is not None or len(regimes) > 1 else 1.0
                search.end = start + self.configuration.share_of_choosing * share * limits.max_time
                limits = limits._replace(max_time=share * limits.max_time)
            stop_of = (lambda method: self._end_of(search, method, hidden)) if ends else None
            own = problem._replace(hidden=hidden), limits, checkpoint, interrupt, given
            main = self._evolve_once(*own, around.reporter, stop_of)
            return self._settled(problem, search, main, hidden, is_auto=is_auto)

    def _rows_to_hide(self, problem: Problem) -> NDArray[np.intp]:
        """Where rows are many: what evolutions are judged by."""
        rows = problem.training
        hidden = rows_to_hide(rows, problem.task, problem.seed, self.configuration.many)
        rows.announce("judged", problem.seed, lambda: np.union1d(hidden, rows_judged_with(rows, hidden)))
        return hidden

    def _settled(
        self,
        problem: Problem,
        search: StrengthSearch,
        main: Finished,
        hidden: NDArray[np.intp] | None,
        *,
        is_auto: bool,
    ) -> Finished:
        """What the fit leaves, once the main evolution is over."""
        around, interrupt = search.around, search.around.interrupt
        if hidden is not None:  # what each team left out is known of some rows only
            main = replace(main, fitted=main.fitted._replace(outside=[]))
        is_cut = main.reason == "interrupted" or (main.reason == "max_time" and hidden is None)
        if (not is_auto and hidden is None) or is_cut or not main.n_generations:
            return self._with_weights(problem, main)
        try:
            chosen = self._chosen(search, main, hidden, is_auto=is_auto)
        except OutOfTime:
            reason = "interrupted" if interrupt.is_requested else "max_time"
            return self._with_weights(problem, replace(main, reason=reason))
        said_of, left_out = problem.training, LeftOut(chosen.out_of_fold, chosen.spread)
        if hidden is not None:
            said_of = problem.training.take(hidden)
            left_out = _on_all_rows(left_out, hidden, problem.training.n_rows) if problem.training.is_here else left_out
        attributes = {
            "stacking_weights_": chosen.weights,
            "stacking_weight_sum_": float(np.sum([*chosen.weights.values()])),
            "validation_score_": self._score_of(
                problem.task.in_units(chosen.out_of_fold), said_of.in_units(), problem.training.in_units()
            ),
            "strength_history_": around.histories,
        }
        fitted = Fitted(chosen.stack, main.fitted.outside)
        return replace(main, fitted=fitted, attributes=attributes, left_out=left_out)

    def _end_of(self, search: StrengthSearch, method: Any, hidden: NDArray[np.intp] | None) -> Stop:
        """When the main evolution is strong enough."""
        if hidden is None:
            return search.stop_of(method)
        return Plateau(search.settings, method, search.training, hidden, search.regimes[0], search.around)

    def _chosen(
        self, search: StrengthSearch, main: Finished, hidden: NDArray[np.intp] | None, *, is_auto: bool
    ) -> Chosen:
        """The model, once the main evolution is over."""
        strongest, n_generations = main.fitted.model, main.n_generations
        assert isinstance(strongest, Stack)
        if hidden is not None:
            regimes = [search.regimes[0].until(n_generations), *search.regimes[1:]]
            own = search.settings, regimes if is_auto else regimes[:1], strongest, search.training, search.seed
            return settle_stack(*own, search.around, hidden, fixed=not is_auto)
        if search.weights is None or n_generations < max(search.generations_of_main(), default=0):
            # Something else has stopped it before.
            regimes = [search.regimes[0].until(n_generations), *search.regimes[1:]]
            search = replace(search, regimes=regimes, end=np.inf)
            search.choose()
        return search.stack(strongest, n_generations)

    def _with_weights(self, problem: Problem, main: Finished) -> Finished:
        """The main evolution alone, its strength not chosen."""
        attributes = {
            "stacking_weights_": {f"main {main.n_generations}": 1.0},
            "stacking_weight_sum_": 1.0,
            "validation_score_": float("nan"),
            "strength_history_": {},
        }
        left_out = None
        training = problem.training
        model, outside, _ = main.fitted
        if problem.task.classes is None and problem.task.n_targets == 1 and outside:  # others have no intervals
            left_out = model.left_out(
                training.X, training.targets, outside, training.weight, n_threads=problem.n_threads
            )
        return replace(main, attributes=attributes, left_out=left_out)

    @abstractmethod
    def _score_of(self, out_of_fold: Matrix, rows: Rows, training: TrainingRows) -> float:
        """R², what takes its place with other losses, or accuracy on rows that were held out of whole evolutions."""

    # The model

    def _set_fitted(self, problem: Problem, finished: Finished) -> None:
        if not problem.training.is_here:  # what follows asks for some rows only
            known = problem.training.take(self._rows_to_hide(problem))
            problem = problem._replace(training=known, part_of=problem.training.n_rows)
        super()._set_fitted(problem, finished)
        own = finished.attributes
        self.stacking_weights_: dict[str, float] = own["stacking_weights_"]
        self.stacking_weight_sum_: float = own["stacking_weight_sum_"]
        self.validation_score_: float = own["validation_score_"]
        self.strength_history_: dict[str, Any] = own["strength_history_"]
        self.size_path_: Front = self.model_.front(self._names, self.columns_)
        if self._held_out is None and finished.left_out is not None:
            is_known = np.isfinite(finished.left_out.prediction).all(axis=0)
            self._held_out = held_out(self.validation_score_, EVOLUTIONS, int(is_known.sum()))

    def shared_terms(self, n_most: int | None = 20) -> list[SharedTerm]:
        """The heaviest ensemble as one sum: terms with the mean and the spread of their coefficients over the teams.

        Parameters
        ----------
        n_most : int, optional
            So many terms with the largest effect; None: all.
        """
        return self._fitted_model().shared_terms(self._names, n_most)


def _on_all_rows(left_out: LeftOut, places: NDArray[np.intp], n_rows: int) -> LeftOut:
    """What is known of some rows, NaN of the others."""
    prediction, spread = np.full((len(left_out.prediction), n_rows), np.nan), np.full(n_rows, np.nan)
    prediction[:, places], spread[places] = left_out.prediction, left_out.spread
    return LeftOut(prediction, spread)


@document("Ensemble of sums of formulas for regression.", TEXT, parameters=OWN, attributes=ATTRIBUTES)
@with_parameters
class GroveRegressor(GroveEstimator, Regressor):
    configuration: ClassVar[GroveConfiguration] = FOR_REGRESSION

    loss: str = "squared"
    quantile: float = 0.5
    huber_delta: float | None = None

    def check_parameters(self) -> None:
        super().check_parameters()
        check_choice("loss", self.loss, LOSSES)
        check_shape_of_loss(self)

    def _losses_of(self, training: TrainingRows) -> tuple[NamedLoss, ...]:
        own = self.loss, float(self.quantile), self.huber_delta
        return tuple(make_loss(*own, *training.target_points(k)) for k in range(training.n_targets))

    def _encode(self, y: NDArray[Any]) -> tuple[Task, Matrix]:
        task, targets = super()._encode(y)
        if self.loss == "huber" and self.huber_delta is not None and len(targets) > 1:
            raise ValueError("huber_delta is in units of y, and several targets have their own; leave it None.")
        if self.loss == "poisson" and not (targets.min() >= 0 and targets.max(axis=1).min() > 0):
            raise ValueError(
                f"loss='poisson' needs a y that is nowhere negative, and not zero on every row; it goes from "
                f"{targets.min():g} to {targets.max():g}. Choose another loss."
            )
        if np.abs(targets).max() > LARGEST_TARGET:
            raise ValueError(f"y has values above {LARGEST_TARGET:g}, whose squares cannot be summed; divide it.")
        return task, targets

    def _shown_errors(self, problem: Problem, errors: Matrix) -> ShownErrors:
        loss, training = self._losses_of(problem.training)[0], problem.training
        _, scale = centres_and_scales(training, loss)
        rows = np.atleast_2d(errors)
        own = np.stack([in_units(loss, row, one) for row, one in zip(rows, scale, strict=True)])
        if self.loss == "poisson":
            return ShownErrors("mean deviance", own)
        return super()._shown_errors(problem, own)

    def _score_of(self, out_of_fold: Matrix, rows: Rows, training: TrainingRows) -> float:
        known = ~np.isnan(out_of_fold[0])
        weight = None if rows.weight is None else rows.weight[known]
        scores = []
        for loss, y, said in zip(self._losses_of(training), rows.targets, out_of_fold, strict=True):
            before = np.average(loss.of_rows(y[known], loss.constant(y[known], weight)), weights=weight)
            after = np.average(loss.of_rows(y[known], said[known]), weights=weight)
            scores.append(1.0 - after / before if before > 0 else np.nan)
        return float(np.mean(scores))


@document(
    "Ensemble of sums of formulas for classification.",
    TEXT + " Teams are logistic regressions on formulas.",
    parameters=OWN,
    attributes=ATTRIBUTES,
    classes=CLASSES,
)
@with_parameters
class GroveClassifier(GroveEstimator, Classifier):
    configuration: ClassVar[GroveConfiguration] = FOR_CLASSIFICATION

    n_populations: int = 1  # more are slower and not clearly better (docs/grove.md)
    population_size: int = 500
    max_terms: int = 50
    max_size: int = 12
    ridge: float = 0.03
    window: float = 5
    aggregation: str = "mean"

    def _shown_errors(self, problem: Problem, errors: Matrix) -> ShownErrors:
        return ShownErrors("log loss", errors)

    def _score_of(self, out_of_fold: Matrix, rows: Rows, training: TrainingRows) -> float:
        known = ~np.isnan(out_of_fold).any(axis=0)
        labels = rows.targets[0] if len(out_of_fold) == 1 else np.argmax(rows.targets, axis=0)
        found = (out_of_fold[0] > 0.5) if len(out_of_fold) == 1 else np.argmax(out_of_fold, axis=0)
        weight = None if rows.weight is None else rows.weight[known]
        return float(np.average(found[known] == labels[known], weights=weight))
