"""What the scikit-learn faces of methods share: validation, control, fitted attributes.

`fit` is a table of contents. A subclass says how targets are encoded, which loss they have, and how predictions are
made; everything else is here.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any, NamedTuple

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from symgrove.dataset import make_dataset
from symgrove.engines.cpu import DEFAULT_MEMORY_BUDGET, CpuEngine
from symgrove.evolution import checkpoint as checkpoints
from symgrove.evolution.history import History
from symgrove.evolution.loop import Control, Observer, evolve
from symgrove.evolution.progress import Reporter
from symgrove.evolution.stopping import MaxEvaluations, MaxGenerations, Progress, Stagnation, Stop, TargetError
from symgrove.fitness.bootstrap import bootstrap_counts, check_sample_weight
from symgrove.fitness.losses import Loss, RowLoss
from symgrove.fitness.moments import Samples
from symgrove.forest.forest import Forest
from symgrove.forest.primitives import PrimitiveSet
from symgrove.forest.random_programs import RandomPrograms
from symgrove.methods._callbacks import CallbackSupport, has_callbacks, run_with_callbacks, tell_callbacks
from symgrove.methods._elites import Elites
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


class Training(NamedTuple):
    """Checked training data; targets is (n_targets, n_rows)."""

    X: NDArray[np.float64]
    targets: NDArray[np.float64]
    weight: NDArray[np.float64] | None


class Material(NamedTuple):
    """What a method is made from for one target."""

    engine: CpuEngine
    samples: Samples
    source: RandomPrograms
    seed: int


class Setting(NamedTuple):
    """One fit: its method, the samples it was drawn, and what predictions need."""

    method: Several
    counts: NDArray[np.int32]
    standardization: Standardization
    seed: int


class EvolvedEnsemble(CallbackSupport, BaseEstimator):
    """Base of the estimators that evolve an ensemble."""

    def _encode(self, y: NDArray[Any]) -> NDArray[np.float64]:
        """Targets of the runs, (n_targets, n_rows); sets what decoding needs."""
        raise NotImplementedError

    def _loss(self) -> Loss:
        raise NotImplementedError

    def _make_part(self, material: Material) -> Part:
        """The method on one target."""
        raise NotImplementedError

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
        check_evolution_parameters(self)
        X, y, weight = self._check_data(X, y, sample_weight)
        self._warm_up()
        start = time.perf_counter()
        training, held_out, seed, mark, saved = self._prepare(X, y, weight)
        with ExitStack() as stack:
            setting = self._make_setting(training, seed, stack)
            state, history, stagnation = self._resume(setting, held_out, saved)
            control = self._make_control(setting, stagnation, history, mark, stack)
            control.start = start
            state, self.stop_reason_ = evolve(setting.method, state, control)
            self._keep(setting, state, control, stagnation, mark)
            self._finish(setting, training, state, stagnation, y)
        self.history_ = control.history.as_arrays()
        return self

    # Data

    def _check_data(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, Any]:
        names = getattr(X, "columns", None)
        if names is not None:
            _check_columns(X, names)
        if _is_foreign_frame(X):
            X = np.asarray(X)
        else:
            names = None
        X, y = validate_data(self, X, y, dtype="numeric", ensure_all_finite=False, estimator=self, **self._y_rules())
        if names is not None:
            self.feature_names_in_ = np.array(list(names), dtype=object)
        _check_finite(X, getattr(self, "feature_names_in_", None))
        weight = None
        if sample_weight is not None:
            given = np.asarray(sample_weight, dtype=np.float64)
            weight = check_sample_weight(np.full(len(X), given) if given.ndim == 0 else given, len(X))
            if not weight.all():
                X, y, weight = X[weight > 0], np.asarray(y)[weight > 0], weight[weight > 0]
        # One memory layout, so that frames and arrays give the same bits.
        return np.ascontiguousarray(X, dtype=np.float64), y, weight

    def _y_rules(self) -> dict[str, Any]:
        return {}

    def _prepare(
        self, X: NDArray[np.float64], y: Any, weight: Any
    ) -> tuple[Training, Training | None, int, str, tuple[Any, Any] | None]:
        """Encode the target, find the run to resume if there is one, and hold rows out for early stopping."""
        targets = self._encode(y)
        mark = ""
        saved: tuple[Any, Any] | None = None
        if self.checkpoint is not None or self.warm_start:
            arrays = {"X": X, "targets": targets, "weight": np.zeros(0) if weight is None else weight}
            mark = checkpoints.fingerprint(arrays, _comparable(self.get_params(deep=False)))
        if self.warm_start and hasattr(self, "_kept"):
            if self._kept[1]["fingerprint"] != mark:
                raise ValueError(
                    "warm_start=True goes on with the run of the last fit, but data or parameters differ from it. Give "
                    "the same, or set warm_start=False."
                )
            saved = self._kept
        if saved is None and self.checkpoint is not None:
            saved = checkpoints.load(self.checkpoint, mark)
        seed = int(saved[1]["seed"]) if saved is not None else _seed_of(self.random_state)
        training, held_out = Training(X, targets, weight), None
        if self.early_stopping:
            training, held_out = _split(training, self.validation_fraction, seed)
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
            setting = self._make_setting(Training(X, X[None, :, 0] % 2, None), 0, stack)
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
            parts.append(self._make_part(Material(engine, engine.prepare(counts, training.weight), source, own_seed)))
        return Setting(Several(parts), counts, standardization, seed)

    def _resume(
        self, setting: Setting, held_out: Training | None, saved: tuple[Any, Any] | None
    ) -> tuple[States, History, Stagnation | None]:
        stagnation = None
        if held_out is not None:
            measure = _HeldOutError(setting, held_out, self._loss().row_loss, self.dtype)
            stagnation = Stagnation(measure, self.n_generations_no_change, setting.method.to_arrays)
        if saved is None:
            return setting.method.init(), History(), stagnation
        groups: dict[str, dict[str, Any]] = {"state": {}, "history": {}, "stagnation": {}}
        for name, array in saved[0].items():
            group, _, rest = name.partition("/")
            groups[group][rest] = array
        if stagnation is not None:
            stagnation.from_arrays(groups["stagnation"])
        return setting.method.from_arrays(groups["state"]), History(groups["history"]), stagnation

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
        if has_callbacks(self):
            observers.append(stack.enter_context(tell_callbacks(self)))
        if self.checkpoint is not None:
            observers.append(_Saver(lambda state: self._save(setting, state, control, stagnation, mark)))
        control.observers = observers
        return control

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
        self, setting: Setting, training: Training, state: States, stagnation: Stagnation | None, y: Any
    ) -> None:
        self.n_generations_ = state[0].generation
        if stagnation is not None and stagnation.best is not None:
            state = setting.method.from_arrays(stagnation.best)
        self._ensembles = build_ensembles(setting, state, training)
        names = getattr(self, "feature_names_in_", None)
        members: list[Member] = []
        outside: list[OutOfBag] = []
        for k, (ensemble, own) in enumerate(zip(self._ensembles, state, strict=True)):
            row_loss = self._loss().row_loss
            outside.append(
                predict_out_of_bag(ensemble, training.X, training.targets[k], setting.counts, training.weight, row_loss)
            )
            target = self.classes_[k] if len(self._ensembles) > 1 else None
            members += list_members(
                ensemble, own.elites.error, outside[-1].error, names, target, prune=bool(self.prune)
            )
        self.ensemble_ = members
        prediction = np.stack([o.prediction for o in outside])
        self._set_out_of_bag(training.targets, prediction, training.weight)
        self.feature_importances_ = feature_importances(self._ensembles, training.X, setting.seed)

    def _set_out_of_bag(
        self, targets: NDArray[np.float64], prediction: NDArray[np.float64], weight: NDArray[np.float64] | None
    ) -> None:
        raise NotImplementedError

    def _check_predict(self, X: Any) -> NDArray[np.float64]:
        check_is_fitted(self)
        if _is_foreign_frame(X):
            known = getattr(self, "feature_names_in_", None)
            if known is not None and list(X.columns) != list(known):
                raise ValueError(f"X has the columns {list(X.columns)}, but the model was fitted with {list(known)}.")
            X = check_array(np.asarray(X), dtype="numeric", ensure_all_finite=False)
        else:
            X = validate_data(self, X, dtype="numeric", ensure_all_finite=False, reset=False)
        _check_finite(X, getattr(self, "feature_names_in_", None))
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


class _HeldOutError:
    """Error of the ensemble of elites on rows that no part of the evolution sees."""

    def __init__(self, setting: Setting, held_out: Training, row_loss: RowLoss, dtype: Any) -> None:
        self.targets = held_out.targets
        self.weight = held_out.weight
        self.row_loss = row_loss
        Z = setting.standardization.apply(held_out.X)
        primitives = setting.method.parts[0].source.forest.primitives
        self.engines = [CpuEngine(make_dataset(Z, target, dtype), primitives) for target in self.targets]

    def __call__(self, state: States) -> float:
        errors = [self._error(*each) for each in zip(self.engines, state, self.targets, strict=True)]
        return float(np.mean(errors))

    def _error(self, engine: CpuEngine, state: Any, target: NDArray[np.float64]) -> float:
        elites = state.elites
        roots, member = np.unique(elites.root, return_inverse=True)
        outputs = engine.outputs(state.forest, roots)[member.ravel()].astype(np.float64)
        with np.errstate(all="ignore"):
            predictions = elites.intercept[:, None] + elites.slope[:, None] * outputs
            if self.row_loss is RowLoss.SQUARED:
                loss = (predictions.mean(axis=0) - target) ** 2
            else:
                loss = ((predictions > 0.5).mean(axis=0) > 0.5) != (target > 0.5)
        error = float(np.average(loss, weights=self.weight))
        return error if np.isfinite(error) else np.inf


class _Saver:
    """Observer that saves a checkpoint now and then."""

    def __init__(self, save: Callable[[States], None]) -> None:
        self.save = save
        self.last = time.perf_counter()

    def __call__(self, progress: Progress) -> None:
        if time.perf_counter() - self.last >= SECONDS_BETWEEN_CHECKPOINTS:
            self.save(progress.state)
            self.last = time.perf_counter()


def _is_foreign_frame(X: Any) -> bool:
    """A frame that is not pandas', such as polars': older scikit-learn does not see its column names."""
    return hasattr(X, "columns") and not hasattr(X, "iloc")


def _check_columns(X: Any, names: Sequence[Any]) -> None:
    """Refuse frames with repeated names or with columns of text, naming the columns."""
    labels = [str(name) for name in names]
    repeated = sorted({label for label in labels if labels.count(label) > 1})
    if repeated:
        raise ValueError(f"X has columns of the same name: {', '.join(map(repr, repeated))}. Rename them.")
    text = []
    for name in names:
        try:
            np.asarray(X[name]).astype(np.float64)
        except (TypeError, ValueError):
            text.append(str(name))
    if text:
        raise ValueError(
            f"X has columns that are not numbers: {', '.join(map(repr, text))}. Drop or encode them, for example with "
            "sklearn.preprocessing.OneHotEncoder."
        )


def _check_finite(X: NDArray[Any], names: Sequence[str] | None) -> None:
    """Refuse NaN and inf, naming the columns."""
    if X.dtype.kind != "f":
        return
    is_bad = ~np.isfinite(X).all(axis=0)
    if is_bad.any():
        found = [str(names[int(k)]) if names is not None else f"column {k}" for k in np.flatnonzero(is_bad)]
        shown = ", ".join(found[:5]) + (f" and {len(found) - 5} more" if len(found) > 5 else "")
        kind = "NaN" if np.isnan(X).any() else "inf"
        raise ValueError(
            f"X contains {kind} or infinity in {shown}. Drop those rows or fill them in, for example with "
            "sklearn.impute.SimpleImputer."
        )


def _seed_of(random_state: Any) -> int:
    if isinstance(random_state, (int, np.integer)) and random_state >= 0:
        return int(random_state)
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))


def _comparable(parameters: dict[str, Any]) -> dict[str, Any]:
    """Parameters that make a run what it is; functions by name."""
    kept = {name: value for name, value in parameters.items() if name not in _CONTROL}
    kept["functions"] = [f if isinstance(f, str) else f.name for f in _as_list(kept["functions"])]
    if callable(kept["selection"]):
        kept["selection"] = getattr(kept["selection"], "__qualname__", "function")
    if not isinstance(kept["random_state"], (int, np.integer, type(None))):
        kept["random_state"] = "generator"  # its seed is drawn once and saved
    return kept


def _as_list(value: Any) -> list[Any]:
    if value is None:
        return []
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _split(training: Training, fraction: float, seed: int) -> tuple[Training, Training]:
    """Hold rows out for early stopping."""
    n_rows = len(training.X)
    n_held_out = int(np.ceil(fraction * n_rows))
    if n_held_out >= n_rows:
        raise ValueError(
            f"validation_fraction={fraction} of {n_rows} rows leaves none to train on. Lower it, or set "
            "early_stopping=False."
        )
    order = stream(seed, "validation").permutation(n_rows)
    return _take(training, np.sort(order[n_held_out:])), _take(training, np.sort(order[:n_held_out]))


def _take(training: Training, rows: NDArray[np.intp]) -> Training:
    weight = None if training.weight is None else training.weight[rows]
    return Training(training.X[rows], training.targets[:, rows], weight)
