"""What the scikit-learn faces of methods share: validation, control, fitted attributes.

`fit` is a table of contents. A subclass says how targets are encoded, which loss they have, and how predictions are
made; everything else is here.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any, NamedTuple

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from symgrove._checks import numeric_vector
from symgrove.dataset import make_dataset
from symgrove.engines.cpu import DEFAULT_MEMORY_BUDGET, CpuEngine
from symgrove.evolution import checkpoint as checkpoints
from symgrove.evolution.history import History
from symgrove.evolution.interrupt import StopOnInterrupt
from symgrove.evolution.loop import Control, Observer, evolve
from symgrove.evolution.progress import Reporter
from symgrove.evolution.stopping import MaxEvaluations, MaxGenerations, Progress, Stagnation, Stop, TargetError
from symgrove.fitness.bootstrap import bootstrap_counts, check_sample_weight
from symgrove.fitness.losses import Loss
from symgrove.fitness.moments import Samples
from symgrove.forest.forest import Forest
from symgrove.forest.primitives import PrimitiveSet
from symgrove.forest.random_programs import RandomPrograms
from symgrove.methods._callbacks import CallbackSupport, has_callbacks, run_with_callbacks, tell_callbacks
from symgrove.methods._elites import Elites
from symgrove.methods._held_out import Head, HeldOutError, Training, split
from symgrove.methods._input import check_columns, check_finite, is_foreign_frame
from symgrove.methods._parameters import check_evolution_parameters
from symgrove.methods._several import Part, Several, States
from symgrove.models.ensemble import Ensemble, make_ensemble
from symgrove.models.importance import feature_importances
from symgrove.models.members import Member, list_members
from symgrove.models.out_of_bag import OutOfBag, predict_out_of_bag
from symgrove.models.standardization import Standardization, no_standardization, standardization_of
from symgrove.rng import stream

SECONDS_BETWEEN_CHECKPOINTS = 2.0
# What has been compiled in this process: kinds of estimators with their functions and dtype.
_warmed_up: set[tuple[Any, ...]] = set()
# Parameters that may differ between a checkpoint and the run that resumes it.
_CONTROL = {
    "generations",
    "max_time",
    "max_evaluations",
    "target_error",
    "checkpoint",
    "warm_start",
    "callbacks",
    "n_jobs",
    "verbose",
    "memory_budget",
    "prune",
}


class Material(NamedTuple):
    """What a method is made from for one target."""

    engine: CpuEngine
    samples: Samples
    loss: Loss
    source: RandomPrograms
    seed: int


class Setting(NamedTuple):
    """One fit: its method, the samples it was drawn, and what predictions need."""

    method: Several
    counts: NDArray[np.int32]
    standardization: Standardization
    seed: int


class EvolvedEnsemble(CallbackSupport, BaseEstimator, ABC):
    """Base of the estimators that evolve an ensemble."""

    @abstractmethod
    def _encode(self, y: NDArray[Any]) -> NDArray[np.float64]:
        """Targets of the runs, (n_targets, n_rows); sets what decoding needs."""

    @abstractmethod
    def _loss(self) -> Loss:
        """What programs are scored by."""

    @abstractmethod
    def _make_part(self, material: Material) -> Part:
        """The method on one target."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Evolve an ensemble.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Finite numbers; arrays, pandas or polars frames.
        y : array-like of shape (n_rows,)
        sample_weight : array-like of shape (n_rows,), optional
            Not negative. Rows of weight 0 are left out.

        Returns
        -------
        self
        """
        return run_with_callbacks(EvolvedEnsemble._fit, self, X, y, sample_weight)

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> Any:
        before = dict(self.__dict__)
        try:
            self._fit_or_raise(X, y, sample_weight)
        except BaseException:  # also Ctrl-C: a fit that failed leaves the estimator as it was
            self.__dict__.clear()
            self.__dict__.update(before)
            raise
        return self

    def _fit_or_raise(self, X: Any, y: Any, sample_weight: Any) -> None:
        given = X, y
        check_evolution_parameters(self)
        X, y, weight, rows, n_given = self._check_data(X, y, sample_weight)
        self._warm_up()
        start = time.perf_counter()
        training, held_out, seed, mark, saved = self._prepare(X, y, weight, rows)
        with ExitStack() as stack:
            interrupt = stack.enter_context(StopOnInterrupt())
            setting = self._make_setting(training, seed, stack)
            state, history, stagnation = self._resume(setting, held_out, saved, stack)
            control = self._make_control(setting, stagnation, history, mark, stack)
            if has_callbacks(self):
                self._tell_callbacks(control, setting, training, given, stack)
            control.start, control.interrupt = start, interrupt
            state, self.stop_reason_ = evolve(setting.method, state, control)
            self._keep(setting, state, control, stagnation, mark)
            self._finish(setting, training, state, stagnation, n_given)
        self.history_ = control.history.as_arrays()

    # Data

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_ensembles")

    def _check_data(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, Any, Any, int]:
        names = getattr(X, "columns", None)
        if names is not None:
            check_columns(X, names)
        if is_foreign_frame(X):
            X = np.asarray(X)
        else:
            names = None
        X, y = validate_data(self, X, y, dtype="numeric", ensure_all_finite=False, estimator=self, **self._y_rules())
        if names is not None:
            self.feature_names_in_ = np.array(list(names), dtype=object)
        check_finite(X, getattr(self, "feature_names_in_", None))
        weight = None
        n_given = len(X)
        rows = np.arange(n_given)
        if sample_weight is not None:
            given = numeric_vector("sample_weight", sample_weight)
            weight = check_sample_weight(np.full(len(X), given) if given.ndim == 0 else given, len(X))
            rows = np.flatnonzero(weight)
            X, y, weight = X[rows], np.asarray(y)[rows], weight[rows]
        # One memory layout, so that frames and arrays give the same bits.
        return np.ascontiguousarray(X, dtype=np.float64), y, weight, rows, n_given

    def _y_rules(self) -> dict[str, Any]:
        return {}

    def _prepare(
        self, X: NDArray[np.float64], y: Any, weight: Any, rows: NDArray[np.intp]
    ) -> tuple[Training, Training | None, int, str, tuple[Any, Any] | None]:
        """Encode the target, find the run to resume if there is one, and hold rows out for early stopping."""
        targets = self._encode(y)
        mark = ""
        saved: tuple[Any, Any] | None = None
        if self.checkpoint is not None or self.warm_start:
            arrays = {"X": X, "targets": targets, "weight": np.zeros(0) if weight is None else weight}
            parameters = {**_comparable(self.get_params(deep=False)), "estimator": type(self).__name__}
            mark = checkpoints.fingerprint(arrays, parameters)
        if self.warm_start and hasattr(self, "_kept"):
            if self._kept[1]["fingerprint"] != mark:
                raise ValueError(
                    "warm_start=True goes on with the run of the last fit, but data or parameters differ from it. Give "
                    "the same, or set warm_start=False."
                )
            saved = self._kept
        if self.checkpoint is not None:
            stored = checkpoints.load(self.checkpoint, mark)
            if saved is None or (stored is not None and _generation_of(stored) > _generation_of(saved)):
                saved = stored
        seed = int(saved[1]["seed"]) if saved is not None else _seed_of(self.random_state)
        training, held_out = Training(X, targets, weight, rows), None
        if self.early_stopping:
            training, held_out = split(training, self.validation_fraction, seed, is_stratified=self._is_classifier())
        return training, held_out, seed, mark, saved

    # The run

    def _warm_up(self) -> None:
        """Compile, or load from the cache, on a few made-up rows: `max_time` does not count it."""
        names = tuple(f if isinstance(f, str) else getattr(f, "function", f) for f in _as_list(self.functions))
        key = (type(self).__name__, names, str(self.dtype), bool(self.linear_scaling))
        if key in _warmed_up:
            return
        X = np.arange(12.0).reshape(6, 2) % 5
        with ExitStack() as stack:
            setting = self._make_setting(Training(X, X[None, :, 0] % 2, None, np.arange(6)), 0, stack)
            state = setting.method.step(setting.method.init())
            for part, own in zip(setting.method.parts, state, strict=True):
                part.finish(own)
        _warmed_up.add(key)

    def _make_setting(self, training: Training, seed: int, stack: ExitStack) -> Setting:
        n_rows, n_features = training.X.shape
        standardization = (
            standardization_of(training.X, training.weight) if self.standardize else no_standardization(n_features)
        )
        Z = standardization.apply(training.X)
        counts = bootstrap_counts(n_rows, self.n_estimators, seed)
        primitives = PrimitiveSet(self.functions, self.epsilon)
        budget = (DEFAULT_MEMORY_BUDGET if self.memory_budget is None else self.memory_budget) // len(training.targets)
        parts = []
        for k, target in enumerate(training.targets):
            data = make_dataset(Z, target, self.dtype)
            engine = stack.enter_context(CpuEngine(data, primitives, effective_n_jobs(self.n_jobs), budget))
            source = RandomPrograms(Forest(n_features, primitives), self.constant_range, self.init_depth[1])
            own_seed = seed if k == 0 else int(stream(seed, "class", k).integers(2**31))
            parts.append(
                self._make_part(
                    Material(engine, engine.prepare(counts, training.weight), self._loss(), source, own_seed)
                )
            )
        return Setting(Several(parts), counts, standardization, seed)

    def _resume(
        self, setting: Setting, held_out: Training | None, saved: tuple[Any, Any] | None, stack: ExitStack
    ) -> tuple[States, History, Stagnation | None]:
        stagnation = None
        if held_out is not None:
            engines = [part.engine for part in setting.method.parts]
            head = self._head(len(held_out.targets))
            measure = HeldOutError(held_out, head, setting.standardization, engines, stack)
            stagnation = Stagnation(measure, self.n_generations_no_change, setting.method.to_arrays)
        if saved is None:
            return setting.method.init(), History(), stagnation
        groups: dict[str, dict[str, Any]] = {"state": {}, "history": {}, "stagnation": {}}
        try:
            for name, array in saved[0].items():
                group, _, rest = name.partition("/")
                groups[group][rest] = array
            if stagnation is not None:
                stagnation.from_arrays(groups["stagnation"])
            return setting.method.from_arrays(groups["state"]), History(groups["history"]), stagnation
        except checkpoints.UNREADABLE as error:
            raise checkpoints.damaged(self.checkpoint, error) from error

    def _make_control(
        self, setting: Setting, stagnation: Stagnation | None, history: History, mark: str, stack: ExitStack
    ) -> Control:
        stops: list[Stop] = [MaxGenerations(self.generations)]
        if self.max_evaluations is not None:
            stops.append(MaxEvaluations(self.max_evaluations))
        if self.target_error is not None:
            stops.append(TargetError(self.target_error))
        if stagnation is not None:
            stops.append(stagnation)
        control = Control(stops, [], self.max_time, history)
        observers: list[Observer] = list(_as_list(self.callbacks))
        if self.verbose:
            observers.append(stack.enter_context(Reporter(self.generations, type(self).__name__)))
        if self.checkpoint is not None:
            observers.append(_Saver(lambda state: self._save(setting, state, control, stagnation, mark)))
        control.observers = observers
        return control

    def _tell_callbacks(
        self, control: Control, setting: Setting, training: Training, given: tuple[Any, Any], stack: ExitStack
    ) -> None:
        """Add scikit-learn's callbacks to the observers."""

        def fitted_attributes(state: States) -> dict[str, Any]:
            return {"_ensembles": build_ensembles(setting, state, training)}

        control.observers = [
            *control.observers,
            stack.enter_context(tell_callbacks(self, *given, fitted_attributes)),
        ]

    def _to_arrays(
        self, setting: Setting, state: States, control: Control, stagnation: Stagnation | None
    ) -> dict[str, NDArray[Any]]:
        groups = {"state": setting.method.to_arrays(state), "history": control.history.as_arrays()}
        if stagnation is not None:
            groups["stagnation"] = stagnation.to_arrays()
        return {f"{group}/{name}": array for group, arrays in groups.items() for name, array in arrays.items()}

    def _save(
        self, setting: Setting, state: States, control: Control, stagnation: Stagnation | None, mark: str
    ) -> None:
        arrays = self._to_arrays(setting, state, control, stagnation)
        checkpoints.save(self.checkpoint, arrays, {"fingerprint": mark, "seed": setting.seed})

    def _keep(
        self, setting: Setting, state: States, control: Control, stagnation: Stagnation | None, mark: str
    ) -> None:
        """Write the last checkpoint; keep the run for a warm start if one is wanted."""
        if self.checkpoint is not None:
            self._save(setting, state, control, stagnation, mark)
        self.__dict__.pop("_kept", None)
        if self.warm_start:
            arrays = self._to_arrays(setting, state, control, stagnation)
            self._kept = (arrays, {"fingerprint": mark, "seed": setting.seed})

    # The model

    def _finish(
        self, setting: Setting, training: Training, state: States, stagnation: Stagnation | None, n_given: int
    ) -> None:
        self.n_generations_ = state[0].generation
        if stagnation is not None and stagnation.best is not None:
            state = setting.method.from_arrays(stagnation.best)
        self._ensembles = build_ensembles(setting, state, training)
        names = getattr(self, "feature_names_in_", None)
        members: list[Member] = []
        outside: list[OutOfBag] = []
        for k, (ensemble, own) in enumerate(zip(self._ensembles, state, strict=True)):
            head = self._head(len(training.targets))
            outside.append(
                predict_out_of_bag(ensemble, training.X, training.targets[k], setting.counts, training.weight, head)
            )
            target = self.classes_[k] if len(self._ensembles) > 1 else None
            members += list_members(
                ensemble, own.elites.error, outside[-1].error, names, target, prune=bool(self.prune)
            )
        self.ensemble_ = members
        prediction = np.stack([o.prediction for o in outside])
        self._set_out_of_bag(training, prediction, n_given)
        self.feature_importances_ = feature_importances(self._ensembles, training.X, setting.seed)

    @abstractmethod
    def _set_out_of_bag(self, training: Training, prediction: NDArray[np.float64], n_given: int) -> None:
        """Set `oob_prediction_`, with a row for each of the `n_given` rows, and `oob_score_`."""

    @abstractmethod
    def _head(self, n_targets: int) -> Head:
        """What is done with members' outputs before they are averaged; None: nothing."""

    def _is_classifier(self) -> bool:
        return self._head(1) is not None

    def _check_predict(self, X: Any) -> NDArray[np.float64]:
        check_is_fitted(self)
        if hasattr(X, "columns"):
            check_columns(X, X.columns)
        if is_foreign_frame(X):
            known = getattr(self, "feature_names_in_", None)
            if known is not None and list(X.columns) != list(known):
                raise ValueError(f"X has the columns {list(X.columns)}, but the model was fitted with {list(known)}.")
            X = check_array(np.asarray(X), dtype="numeric", ensure_all_finite=False)
            if X.shape[1] != self.n_features_in_:
                raise ValueError(f"X has {X.shape[1]} features, but the model was fitted with {self.n_features_in_}.")
        else:
            X = validate_data(self, X, dtype="numeric", ensure_all_finite=False, reset=False)
        check_finite(X, getattr(self, "feature_names_in_", None))
        return X.astype(np.float64)

    def _n_threads(self) -> int:
        return int(effective_n_jobs(self.n_jobs))


def build_ensembles(setting: Setting, state: States, training: Training) -> list[Ensemble]:
    """The elites of every run as ensembles with forests of their own."""
    ensembles = []
    for part, own, target in zip(setting.method.parts, state, training.targets, strict=True):
        fallback = float(np.average(target, weights=training.weight))
        elites = part.finish(own)
        ensembles.append(_ensemble_of(elites, own.forest, fallback, setting.standardization, part.engine.dtype))
    return ensembles


def _ensemble_of(
    elites: Elites, forest: Forest, fallback: float, standardization: Standardization, dtype: np.dtype[Any]
) -> Ensemble:
    is_usable = np.isfinite(elites.error)
    if not is_usable.all():  # no program had finite outputs: predict the mean
        constant = forest.constant(0.0)
        elites = elites._replace(
            root=np.where(is_usable, elites.root, constant),
            slope=np.where(is_usable, elites.slope, 0.0),
            intercept=np.where(is_usable, elites.intercept, fallback),
        )
    return make_ensemble(forest, elites.root, elites.slope, elites.intercept, fallback, standardization, dtype)


class _Saver:
    """Observer that saves a checkpoint now and then."""

    def __init__(self, save: Callable[[States], None]) -> None:
        self.save = save
        self.last = time.perf_counter()

    def __call__(self, progress: Progress) -> None:
        if time.perf_counter() - self.last >= SECONDS_BETWEEN_CHECKPOINTS:
            self.save(progress.state)
            self.last = time.perf_counter()


def _seed_of(random_state: Any) -> int:
    if isinstance(random_state, (int, np.integer)) and random_state >= 0:
        return int(random_state)
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))


def _comparable(parameters: dict[str, Any]) -> dict[str, Any]:
    """Parameters that make a run what it is; functions by name."""
    kept = {name: value for name, value in parameters.items() if name not in _CONTROL}
    kept["functions"] = [getattr(f, "function", f) or f.name for f in _as_list(kept["functions"])]
    if not isinstance(kept["random_state"], (int, np.integer, type(None))):
        kept["random_state"] = "generator"  # its seed is drawn once and saved
    return kept


def _as_list(value: Any) -> list[Any]:
    if value is None:
        return []
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _generation_of(saved: tuple[Any, Any]) -> int:
    """How far a saved run has come; a damaged one is as good as nothing, and is refused when it is read."""
    counters = saved[0].get("state/0.counters", [-1])
    return int(counters[0])
