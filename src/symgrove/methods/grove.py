"""Grove: ensembles of sums of formulas, in which a formula is judged by what it adds to a team.

Samples of the rows and selection by sample, as in 2SEGP. What changes is the question that a formula answers: not how
well it fits a sample alone, but how much it adds to the team that the sample already has. The evolution is in
_teams.py; several run side by side, each with a part of the teams. How strongly to fit is chosen on rows held out of
whole evolutions (_strength.py).
"""

from __future__ import annotations

import time
import warnings
from abc import abstractmethod
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.validation import check_is_fitted

from symgrove._checks import (
    LARGEST_PROGRAM,
    MOST_PROGRAMS,
    MOST_SAMPLES,
    check_flag,
    check_number,
    check_whole,
)
from symgrove._deprecation import Renamed
from symgrove.engines.cpu import DEFAULT_MEMORY_BUDGET
from symgrove.evolution.interrupt import StopOnInterrupt
from symgrove.evolution.progress import say
from symgrove.evolution.stopping import OutOfTime
from symgrove.forest.forest import Forest
from symgrove.forest.primitives import PrimitiveSet
from symgrove.methods._documentation import document
from symgrove.methods._estimator import EvolvedEnsemble
from symgrove.methods._faces import encode_labels
from symgrove.methods._grove_texts import ATTRIBUTES, CLASSES, OWN, TEXT
from symgrove.methods._held_out import Training
from symgrove.methods._intervals import IntervalRegressor
from symgrove.methods._parameters import check_choice
from symgrove.methods._probabilities import CalibratedClassifier
from symgrove.methods._run import Found, Job, Outcome, Setting
from symgrove.methods._several import States
from symgrove.methods._strength import (
    MOST_ROWS_FOR_FOLDS,
    Strength,
    choose_strength,
    grow,
    levels_of,
    n_folds,
    work_of,
)
from symgrove.methods._team_setting import Ground, Path, base_of, make_evolutions, rows_that_fit, take_rows, to_model
from symgrove.methods._teams import Rules, TeamEvolution, TeamState
from symgrove.models.consensus import Recurring, recurring_terms
from symgrove.models.ensemble import mean_of_finite
from symgrove.models.standardization import Standardization
from symgrove.models.team_importance import team_importances
from symgrove.models.team_members import SharedTerm, list_teams, shared_terms, size_point, stack_as_sum
from symgrove.models.teams import Stack, Teams
from symgrove.rng import stream

Matrix = NDArray[np.float64]
GROVE_FUNCTIONS = ("add", "sub", "mul", "aq", "max", "min", "step", "sqrt", "log1p")
# Of max_time, for the main evolution; the rest is for choosing the strength.
SHARE_OF_MAIN = 0.5
FEWEST_ROWS = 100  # that a budget must have room for
LARGEST_TARGET = 1e100
FEWEST_ROWS_TO_CHOOSE = 10  # with fewer, the strength is fixed


@dataclass(kw_only=True, eq=False, repr=False)
class _GroveParameters(EvolvedEnsemble):
    """What the regressor and the classifier share."""

    _parts_share_target = True
    strength_ = Renamed("stacking_weights_")
    found_ = Renamed("stacking_weight_sum_")

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

    def _check_parameters(self) -> None:
        super()._check_parameters()
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

    # The evolution

    def _is_classifier(self) -> bool:
        return self._is_logistic()

    @abstractmethod
    def _is_logistic(self) -> bool:
        """Whether teams predict log odds."""

    @abstractmethod
    def _other_paths(self, n_rows: int) -> tuple[Path, ...]:
        """Evolutions of other strength that may enter the stack."""

    @abstractmethod
    def _early_snapshots(self) -> tuple[int, ...]:
        """Generations after which the main evolution is weaker, but may be the better for it."""

    def _ground(self) -> Ground:
        budget = DEFAULT_MEMORY_BUDGET if self.memory_budget is None else int(self.memory_budget)
        return Ground(
            primitives=PrimitiveSet(self.functions, self.epsilon),
            dtype=self.dtype,
            standardize=bool(self.standardize),
            clip=bool(self.clip),
            sampling=self.sampling,
            aggregation=self.aggregation,
            is_logistic=self._is_logistic(),
            n_threads=self._n_threads(),
            memory_budget=budget,
        )

    def _main_path(self, generations: int) -> Path:
        is_count = isinstance(self.window, (int, np.integer))
        window = int(self.window) if is_count else max(1, round(self.window * self.population_size))
        numbers = self.population_size, window, self.n_joining, self.max_terms, float(self.ridge)
        snapshots = (*(g for g in self._early_snapshots() if g < generations), generations)
        sizes = int(self.n_populations), int(self.n_estimators), int(self.max_size)
        return Path("main", *sizes, Rules(*numbers), snapshots)

    def _make_parts(
        self, training: Training, standardization: Standardization, seed: int, member: int, stack: ExitStack
    ) -> list[Any]:
        return list(make_evolutions(self._ground(), self._main_path(self.generations), training, seed, stack))

    def _found(self, setting: Setting, state: States, training: Training) -> Found:
        evolutions = cast("Sequence[TeamEvolution]", setting.method.parts)
        states = cast("tuple[TeamState, ...]", state)
        ground, base = self._ground(), base_of(training)
        is_one_team = len(evolutions) == evolutions[0].n_teams == 1
        smaller = [(own,) for own in evolutions[0].shrink(states[0])] if is_one_team else []
        stacks = [Stack((to_model(ground, evolutions, s, training),), np.ones(1), base) for s in (states, *smaller)]
        order = np.argsort(np.concatenate([evolution.target_of for evolution in evolutions]), kind="stable")
        outside = np.concatenate([evolution.weights == 0 for evolution in evolutions])[order]
        errors = stacks[0].levels[0].errors
        return Found(stacks[:1], [errors], [outside], stacks if is_one_team else [])

    def _prepare(self, X: Matrix, y: Any, weight: Any, rows: NDArray[np.intp]) -> Job:
        self._n_rows_given = len(X)
        job = super()._prepare(X, y, weight, rows)
        n_rows = self._n_rows_that_fit(len(job.training.targets))
        n_training = len(job.training.X)
        if n_training <= n_rows:
            return job
        if n_rows < FEWEST_ROWS:
            raise ValueError(
                f"memory_budget={self.memory_budget} bytes is too small: there is room for {n_rows} rows. Raise it, or "
                "lower n_estimators, max_terms or population_size."
            )
        warnings.warn(
            f"Grove evolves on {n_rows} of the {n_training} rows, drawn at random: more do not fit into memory_budget. "
            "Raise it, or lower n_estimators or max_terms.",
            stacklevel=2,
        )
        kept = np.sort(stream(job.seed, "rows").choice(n_training, size=n_rows, replace=False))
        return job._replace(training=take_rows(job.training, kept))

    def _identity(self) -> dict[str, Any]:
        # The budget decides how many rows there are, if they do not all fit.
        n_targets = self.classes_.size if hasattr(self, "classes_") and self.classes_.size > 2 else 1
        return {**super()._identity(), "rows": min(self._n_rows_that_fit(n_targets), self._n_rows_given)}

    def _n_rows_that_fit(self, n_targets: int) -> int:
        budget = DEFAULT_MEMORY_BUDGET if self.memory_budget is None else int(self.memory_budget)
        return rows_that_fit(self._main_path(self.generations), n_targets, 8, budget // 2)

    # Strength

    def _evolve(self, job: Job, interrupt: StopOnInterrupt, given: tuple[Any, Any]) -> Outcome:
        start = time.perf_counter()
        is_auto = self.strength == "auto"
        limit = job.max_time if job.max_time is None or not is_auto else SHARE_OF_MAIN * job.max_time
        outcome = super()._evolve(job._replace(max_time=limit), interrupt, given)
        self.stacking_weights_ = {f"main {outcome.n_generations}": 1.0}
        self.stacking_weight_sum_, self.validation_score_ = 1.0, float("nan")
        self._out_of_fold: tuple[Matrix, Matrix] | None = None
        is_too_small = len(job.training.X) < FEWEST_ROWS_TO_CHOOSE
        if not is_auto or is_too_small or outcome.reason == "interrupted" or not outcome.n_generations:
            return outcome
        end = np.inf if job.max_time is None else start + job.max_time

        def check() -> None:
            if interrupt.is_requested or time.perf_counter() > end:
                raise OutOfTime

        try:
            stack = self._stack(job, outcome, check)
        except OutOfTime:
            reason = "interrupted" if interrupt.is_requested else "max_time"
            return outcome._replace(reason=reason)
        return outcome._replace(found=outcome.found._replace(ensembles=[stack]))

    def _stack(self, job: Job, outcome: Outcome, check: Callable[[], None]) -> Stack:
        """Ensembles of different strength, weighed on rows that they never saw."""
        ground = self._ground()
        main = self._main_path(outcome.n_generations)
        paths = (main, *self._other_paths(len(job.training.X)))
        cheaper = [_for_folds(path) for path in paths]
        chosen = choose_strength(ground, cheaper, job.training, job.seed, check, self._tell_progress)
        strongest: Teams = outcome.found.ensembles[0].levels[0]
        models: list[Teams] = []
        weights: list[float] = []
        for path, own in zip(paths, _split(chosen, paths), strict=True):
            models += self._grow_levels(path, own, job, check, strongest if path is main else None)
            weights += [w for w in own if w > 0]
        self._report(chosen, paths, job)
        return Stack(tuple(models), np.array(weights), base_of(job.training))

    def _work_after(self, job: Job) -> float:
        if self.strength != "auto" or not job.generations:
            return 0.0
        main = self._main_path(job.generations)
        cheaper = [_for_folds(path) for path in (main, *self._other_paths(len(job.training.X)))]
        return n_folds(len(job.training.X)) * sum(map(work_of, cheaper)) / work_of(main) * job.generations

    def _tell_progress(self, text: str) -> None:
        if self.verbose:
            say(type(self).__name__, text)

    def _grow_levels(
        self, path: Path, weights: Matrix, job: Job, check: Callable[[], None], strongest: Teams | None
    ) -> list[Teams]:
        """Models of the levels of a path that have weight; the last of the main path is there already."""
        wanted = [g for g, w in zip(path.snapshots, weights, strict=True) if w > 0]
        to_grow = [g for g in wanted if strongest is None or g != path.snapshots[-1]]
        grown = grow(self._ground(), path._replace(snapshots=tuple(to_grow)), job.training, job.seed, check)
        return [*grown, *([strongest] if strongest is not None and path.snapshots[-1] in wanted else [])]

    def _report(self, chosen: Strength, paths: tuple[Path, ...], job: Job) -> None:
        names = [f"{level.path.name} {level.generation}" for level in levels_of(paths)]
        self.stacking_weights_ = {name: float(w) for name, w in zip(names, chosen.weights, strict=True)}
        self.stacking_weight_sum_ = float(chosen.weights.sum())
        self.validation_score_ = self._score_of(chosen.out_of_fold, job.training)
        self._out_of_fold = chosen.out_of_fold[0], chosen.spread

    @abstractmethod
    def _score_of(self, out_of_fold: Matrix, training: Training) -> float:
        """Score of out-of-fold predictions."""

    # The model

    def _set_model(self, job: Job, outcome: Outcome, n_given: int) -> None:
        stack: Stack = outcome.found.ensembles[0]
        names = getattr(self, "feature_names_in_", None)
        labels = [name for name, weight in self.stacking_weights_.items() if weight > 0]
        targets = self.classes_ if len(job.training.targets) > 1 else None
        self.ensemble_ = list_teams(stack, names, targets, labels)
        is_one_team = stack is outcome.found.smaller[0] if outcome.found.smaller else False
        self.size_path_ = [size_point(s, names) for s in outcome.found.smaller] if is_one_team else []
        self.feature_importances_ = team_importances(stack, job.training.X, job.seed)

    def predict_members(self, X: Any) -> Matrix:
        """What each team predicts, (n_members, n_rows).

        Of a classifier, the probability of the second class; of more classes, (n_classes, n_members, n_rows).
        Of a stack, member k differs from the prediction as the k-th team of every level does.
        """
        X = self._check_predict(X)
        stack = self._ensembles[0]
        found = [stack.all_members(X, self._n_threads(), k) for k in range(len(stack.base))]
        return found[0] if len(found) == 1 else np.stack(found)

    def shared_terms(self, n_most: int | None = 20) -> list[SharedTerm]:
        """The heaviest ensemble as one sum: terms with the mean and the spread of their coefficients over the teams.

        Parameters
        ----------
        n_most : int, optional
            So many terms with the largest effect; None: all.
        """
        check_is_fitted(self)
        return shared_terms(self._ensembles[0], getattr(self, "feature_names_in_", None), n_most)

    def consensus(self, n_most: int | None = 10) -> list[Recurring]:
        """Terms that several teams of the heaviest ensemble have, the most frequent first.

        Parameters
        ----------
        n_most : int, optional
            So many; None: all.
        """
        check_is_fitted(self)
        stack = self._ensembles[0]
        names = getattr(self, "feature_names_in_", None)
        return recurring_terms(stack.levels[int(np.argmax(stack.weights))], names, n_most) if stack.levels else []

    def _one_sum(self) -> tuple[Forest, int] | None:
        """With `aggregation="mean"` or one team. Clips are not part of it; a classifier's is of log odds."""
        primitives = PrimitiveSet(self._fitted_with["functions"], self._fitted_with["epsilon"])
        return stack_as_sum(self._ensembles[0], self.n_features_in_, primitives)


# Populations, teams and candidates of evolutions that are made only to be judged; windows up to so many are kept.
FOLD_SIZE = (2, 20, 300)
SMALL_WINDOW = 10


def _for_folds(path: Path) -> Path:
    """Cheaper evolutions of the same strength, for rows held out: fewer populations, teams and candidates."""
    n_populations, n_teams, population_size = FOLD_SIZE
    rules = path.rules
    share = min(1.0, population_size / rules.population_size)
    window = rules.window if rules.window <= SMALL_WINDOW else max(1, round(share * rules.window))
    fewer = rules._replace(population_size=min(rules.population_size, population_size), window=window)
    return path._replace(
        n_populations=min(path.n_populations, n_populations), n_teams=min(path.n_teams, n_teams), rules=fewer
    )


def _split(chosen: Strength, paths: tuple[Path, ...]) -> list[Matrix]:
    """The weights of each path's levels."""
    ends = np.cumsum([len(path.snapshots) for path in paths])
    return np.split(chosen.weights, ends[:-1])


@document("Ensemble of sums of formulas for regression.", TEXT, parameters=OWN, attributes=ATTRIBUTES)
class GroveRegressor(RegressorMixin, _GroveParameters, IntervalRegressor):
    def _is_logistic(self) -> bool:
        return False

    def _early_snapshots(self) -> tuple[int, ...]:
        return (3, 10)

    def _other_paths(self, n_rows: int) -> tuple[Path, ...]:
        numbers = self.population_size, 10, self.n_joining, self.max_terms, 0.1
        return (Path("gentle", 1, 2 * self.n_estimators, min(9, self.max_size), Rules(*numbers), (5, 15, 60)),)

    def _encode(self, y: NDArray[Any]) -> Matrix:
        targets = np.asarray(y, dtype=np.float64)[None, :]
        if np.abs(targets).max() > LARGEST_TARGET:
            raise ValueError(f"y has values above {LARGEST_TARGET:g}, whose squares cannot be summed; divide it.")
        return targets

    def _y_rules(self) -> dict[str, Any]:
        return {"y_numeric": True}

    def _score_of(self, out_of_fold: Matrix, training: Training) -> float:
        """R² on rows that were held out."""
        known = ~np.isnan(out_of_fold[0])
        y, weight = training.targets[0][known], None if training.weight is None else training.weight[known]
        variation = np.average((y - np.average(y, weights=weight)) ** 2, weights=weight)
        if not variation > 0:
            return float("nan")
        return float(1.0 - np.average((y - out_of_fold[0][known]) ** 2, weights=weight) / variation)

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """What the teams predict together.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
        return_std : bool, default=False
            Also return the standard deviation of the teams' predictions on each row.

        Returns
        -------
        prediction : ndarray of shape (n_rows,)
        spread : ndarray of shape (n_rows,)
            Only with `return_std`.
        """
        X = self._check_predict(X)
        if return_std:
            return self._predict_checked(X)
        return self._ensembles[0].predict(X, self._n_threads())[0]

    def _left_out(self, training: Training, outcome: Outcome) -> tuple[Matrix, Matrix]:
        """Of rows held out of whole evolutions; at a fixed strength, by the teams that did not draw a row."""
        if self._out_of_fold is not None:
            return self._out_of_fold
        teams = self._ensembles[0].levels[0].all_members(training.X, self._n_threads())
        outside = np.where(outcome.found.outside[0], teams, np.nan)
        mean = mean_of_finite(outside, np.nan)
        return mean, np.sqrt(mean_of_finite((outside - mean) ** 2, np.nan))


@dataclass(kw_only=True, eq=False, repr=False)
class _GroveClassifierParameters(_GroveParameters):
    n_populations: int = 1  # more are slower and not clearly better (docs/grove.md)
    population_size: int = 500
    generations: int = 100
    max_terms: int = 50
    max_size: int = 12
    ridge: float = 0.03
    window: float = 5
    aggregation: str = "mean"
    class_weight: Any = None


@document(
    "Ensemble of sums of formulas for classification.",
    TEXT + " Teams are logistic regressions on formulas.",
    parameters={
        **OWN,
        "class_weight": (
            'dict, "balanced" or None',
            "Weights of the classes, by label; balanced: so that all classes weigh the same.",
        ),
    },
    attributes=ATTRIBUTES,
    classes=CLASSES,
)
class GroveClassifier(ClassifierMixin, _GroveClassifierParameters, CalibratedClassifier):
    def _is_logistic(self) -> bool:
        return True

    def _early_snapshots(self) -> tuple[int, ...]:
        return (10, 30, 60)

    def _other_paths(self, n_rows: int) -> tuple[Path, ...]:
        if n_rows <= MOST_ROWS_FOR_FOLDS:
            return ()
        numbers = self.population_size, self.population_size // 2, self.n_joining, 2 * self.max_terms, 1e-3
        return (Path("strong", 1, self.n_estimators, 2 * self.max_size + 1, Rules(*numbers), (30, 100, 200)),)

    def _encode(self, y: NDArray[Any]) -> Matrix:
        self.classes_, targets = encode_labels(y)
        return targets

    def _check_data(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, Any, Any, int]:
        if self.class_weight is not None:
            own = compute_sample_weight(self.class_weight, np.asarray(y).ravel())
            sample_weight = own if sample_weight is None else own * np.asarray(sample_weight)
        return super()._check_data(X, y, sample_weight)

    def _score_of(self, out_of_fold: Matrix, training: Training) -> float:
        """Accuracy on rows that were held out."""
        known = ~np.isnan(out_of_fold).any(axis=0)
        labels = training.targets[0] if len(out_of_fold) == 1 else np.argmax(training.targets, axis=0)
        found = (out_of_fold[0] > 0.5) if len(out_of_fold) == 1 else np.argmax(out_of_fold, axis=0)
        weight = None if training.weight is None else training.weight[known]
        return float(np.average(found[known] == labels[known], weights=weight))

    def predict_proba(self, X: Any) -> Matrix:
        """Mean of the teams' probabilities; with more than two classes, divided by their sum. Corrected if calibrated.

        Returns
        -------
        probabilities : ndarray of shape (n_rows, n_classes)
        """
        return self._probabilities(X)

    def _shares(self, X: Matrix) -> Matrix:
        found = self._ensembles[0].predict(X, self._n_threads())
        if len(found) == 1:
            return np.stack([1 - found[0], found[0]], axis=1)
        return (found / found.sum(axis=0)).T

    def decision_function(self, X: Any) -> Matrix:
        """Two classes: probability of the second class minus one half, (n_rows,). More: as `predict_proba`."""
        probabilities = self.predict_proba(X)
        return probabilities[:, 1] - 0.5 if self.classes_.size == 2 else probabilities

    def predict(self, X: Any) -> NDArray[Any]:
        """Class of each row."""
        probabilities = self.predict_proba(X)
        return self.classes_[np.argmax(probabilities, axis=1)]
