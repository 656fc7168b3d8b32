"""What the scikit-learn faces of methods share: validation, resuming, fitted attributes.

`fit` is a table of contents. A subclass says how targets are encoded, which loss they have, and how predictions are
made; the evolution itself is `_run.py`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import ExitStack
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_array, check_consistent_length, check_is_fitted, validate_data

from symgrove._checks import numeric_vector
from symgrove.blas import single_blas_thread
from symgrove.evolution import checkpoint as checkpoints
from symgrove.evolution.interrupt import StopOnInterrupt
from symgrove.evolution.loop import Observer
from symgrove.fitness.bootstrap import check_sample_weight
from symgrove.methods._callbacks import CallbackSupport, has_callbacks, run_with_callbacks, tell_callbacks
from symgrove.methods._held_out import Training, split
from symgrove.methods._input import check_columns, check_finite, is_foreign_frame
from symgrove.methods._output import ModelOutput
from symgrove.methods._parameters import EvolutionParameters
from symgrove.methods._run import (
    Found,
    Job,
    Outcome,
    Saved,
    Setting,
    Tell,
    as_list,
    make_setting,
    n_workers,
    run,
)
from symgrove.methods._several import States
from symgrove.models.checked_rows import CheckedRows, checked_target
from symgrove.models.document import Document, Entries
from symgrove.models.seen_rows import seen_rows
from symgrove.models.standardization import Standardization

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


# What the end of a fit leaves for the next step only.
_WORKING = ("_out_of_fold", "_oob_spread")
# What a model in the middle of a fit does not have yet.
_NOT_KNOWN_YET: dict[str, Any] = {"_correction": None, "_calibrations": {}, "_seen": {}, "_outside": None}


class EvolvedEnsemble(CallbackSupport, EvolutionParameters, ModelOutput, ABC):
    """Base of the estimators that evolve an ensemble."""

    _parts_share_target = False  # each has a target of its own

    @abstractmethod
    def _encode(self, y: NDArray[Any]) -> NDArray[np.float64]:
        """Targets of the runs, (n_targets, n_rows); sets what decoding needs."""

    def _aggregation(self) -> str:
        """How members' predictions are combined: mean or median."""
        return "mean"

    @abstractmethod
    def _make_parts(
        self, training: Training, standardization: Standardization, seed: int, member: int, stack: ExitStack
    ) -> list[Any]:
        """The evolutions of one run."""

    @abstractmethod
    def _found(self, setting: Setting, state: States, training: Training) -> Found:
        """The model of a state."""

    @abstractmethod
    def _is_classifier(self) -> bool:
        """Whether the target is classes."""

    @abstractmethod
    def _set_model(self, job: Job, outcome: Outcome, n_given: int) -> None:
        """Set what predictions need and what people read; `n_given` rows were given to `fit`."""

    @abstractmethod
    def _set_uncertainty(self, job: Job, outcome: Outcome) -> None:
        """Learn from rows that the model was not fitted on how sure it may be."""

    @abstractmethod
    def _calibrate(self, X: NDArray[np.float64], targets: NDArray[np.float64]) -> None:
        """Learn from checked rows, targets as of the fit, that the model was not fitted on."""

    @abstractmethod
    def _uncertainty_to_document(self) -> Document | None:
        """What `_set_uncertainty` and `calibrate` learned, for a model file."""

    @abstractmethod
    def _uncertainty_from_document(self, entries: Entries) -> None:
        """Undo `_uncertainty_to_document`."""

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
        self._check_parameters()
        X, y, weight, rows, n_given = self._check_data(X, y, sample_weight)
        self._warm_up()
        job = self._prepare(X, y, weight, rows)
        with StopOnInterrupt() as interrupt, single_blas_thread:  # once, not for every product
            outcome = self._evolve(job, interrupt, given)
            self._keep(job, outcome)
            self._finish(job, outcome, n_given)

    def _evolve(self, job: Job, interrupt: StopOnInterrupt, given: tuple[Any, Any]) -> Outcome:
        """From a job to what it leaves."""
        return run(self, job, interrupt, self._tell(job, given) if has_callbacks(self) else None)

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

    def _prepare(self, X: NDArray[np.float64], y: Any, weight: Any, rows: NDArray[np.intp]) -> Job:
        """Encode the target, find the run to resume if there is one, and hold rows out for early stopping."""
        targets = self._encode(y)
        mark = ""
        saved: Saved | None = None
        if self.checkpoint is not None or self.warm_start:
            arrays = {"X": X, "targets": targets, "weight": np.zeros(0) if weight is None else weight}
            mark = checkpoints.fingerprint(arrays, self._identity())
        if self.warm_start and hasattr(self, "_kept"):
            if self._kept[1]["fingerprint"] != mark:
                raise ValueError(
                    "warm_start=True goes on with the run of the last fit, but data or parameters differ from it. Give "
                    "the same, or set warm_start=False."
                )
            saved = self._kept
        if self.checkpoint is not None:
            stored = self._load_checkpoint(mark)
            if saved is None or (stored is not None and generation_of(stored) > generation_of(saved)):
                saved = stored
        seed = int(saved[1]["seed"]) if saved is not None else _seed_of(self.random_state)
        training, held_out, kept_out = Training(X, targets, weight, rows), None, None
        if self.calibration is not None:
            share, is_stratified = self.calibration, self._is_classifier()
            training, kept_out = split(training, share, seed, "calibration", is_stratified=is_stratified)
        if getattr(self, "early_stopping", False):
            training, held_out = self._hold_out(training, seed)
        limits = self.generations, self.max_time, self.max_evaluations
        return Job(training, held_out, kept_out, seed, mark, saved, self.checkpoint, *limits, member=0)

    def _hold_out(self, training: Training, seed: int) -> tuple[Training, Training]:
        """Training rows, and rows held out for early stopping."""
        fraction: float = self.get_params(deep=False)["validation_fraction"]
        return split(training, fraction, seed, "validation", is_stratified=self._is_classifier())

    def _identity(self) -> dict[str, Any]:
        """What makes a run what it is, besides the data."""
        return {**_comparable(self.get_params(deep=False)), "estimator": type(self).__name__}

    def _load_checkpoint(self, mark: str) -> Saved | None:
        """The saved run of this fingerprint, if there is one."""
        return checkpoints.load(self.checkpoint, mark)

    # The run

    def _warm_up(self) -> None:
        """Compile, or load from the cache, on a few made-up rows: `max_time` does not count it."""
        names = tuple(f if isinstance(f, str) else getattr(f, "function", f) for f in as_list(self.functions))
        options = (str(self.dtype), *(repr(getattr(self, name, "")) for name in ("linear_scaling", "selection")))
        key = (type(self).__name__, names, *options)
        if key in _warmed_up:
            return
        X = np.arange(12.0).reshape(6, 2) % 5
        small = self._for_warm_up()
        with ExitStack() as stack:
            training = Training(X, X[None, :, 0] % 2, None, np.arange(6))
            setting = make_setting(small, training, 0, stack)
            state = setting.method.step(setting.method.init())
            small._found(setting, state, training)
        _warmed_up.add(key)

    def _for_warm_up(self) -> EvolvedEnsemble:
        """This estimator with few programs, and without a selection of the user's, which may keep a state."""
        parameters = self.get_params(deep=False)
        small = {"population_size": 9, "n_estimators": 3, "torus": None}
        parameters |= {name: value for name, value in small.items() if name in parameters}
        if callable(parameters.get("selection")) and not hasattr(parameters["selection"], "n_cases"):
            parameters["selection"] = "partition"
        return type(self)(**parameters)

    def _tell(self, job: Job, given: tuple[Any, Any]) -> Tell:
        """What makes an observer of scikit-learn's callbacks."""

        def make_observer(setting: Setting, stack: ExitStack) -> Observer:
            def fitted_attributes(state: States) -> dict[str, Any]:
                # Nothing of an earlier fit: its intervals and probabilities are not those of this state.
                found = self._found(setting, state, job.training).ensembles
                return {"_ensembles": found, "_fitted_with": self.get_params(deep=False), **_NOT_KNOWN_YET}

            return stack.enter_context(tell_callbacks(self, *given, fitted_attributes))

        return make_observer

    def _keep(self, job: Job, outcome: Outcome) -> None:
        """Keep the run for a warm start if one is wanted."""
        self.__dict__.pop("_kept", None)
        if self.warm_start:
            self._kept = (outcome.arrays, {"fingerprint": job.mark, "seed": job.seed})

    # The model

    def _finish(self, job: Job, outcome: Outcome, n_given: int) -> None:
        self._fitted_with = self.get_params(deep=False)  # files and formulas follow these, whatever is set later
        self.stop_reason_ = outcome.reason
        self.n_generations_ = outcome.n_generations
        self.history_ = outcome.history
        self._ensembles = outcome.found.ensembles
        self._set_model(job, outcome, n_given)
        self._set_uncertainty(job, outcome)
        for name in _WORKING:
            self.__dict__.pop(name, None)
        used = [job.training, *([job.held_out] if job.held_out is not None else [])]
        self._seen = {
            "fit": seen_rows([(part.X, part.targets) for part in used]),
            "calibration": None if job.kept_out is None else seen_rows([(job.kept_out.X, job.kept_out.targets)]),
        }

    def calibrate(self, X: Any, y: Any) -> Any:
        """Learn from rows that the model was not fitted on how sure it may be.

        Regressors learn how wide intervals must be, classifiers correct their probabilities. Not needed after a fit
        with `calibration`. With rows that the model was fitted on, it would become too sure.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
        y : array-like of shape (n_rows,)

        Returns
        -------
        self
        """
        X = self._check_predict(X)
        y, targets = checked_target(y, getattr(self, "classes_", None))
        check_consistent_length(X, y)
        self._calibrate(X, targets)
        self._seen = {**getattr(self, "_seen", {}), "calibration": seen_rows([(X, targets)])}
        return self

    def _check_predict(self, X: Any) -> NDArray[np.float64]:
        check_is_fitted(self)
        if isinstance(X, CheckedRows) and X.ndim == 2 and X.shape[1] == self.n_features_in_:
            return np.asarray(X)
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
        return n_workers(self.n_jobs)

    def _n_engine_threads(self) -> int:
        """Threads of one evolution."""
        return self._n_threads()

    def _work_after(self, job: Job) -> float:
        """Work that follows the last generation, in generations, to tell the time left."""
        return 0.0

    def _shows_generations(self) -> bool:
        """Whether an evolution shows its own progress."""
        return bool(self.verbose)


def _seed_of(random_state: Any) -> int:
    if isinstance(random_state, (int, np.integer)) and random_state >= 0:
        return int(random_state)
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))


def _comparable(parameters: dict[str, Any]) -> dict[str, Any]:
    """Parameters that make a run what it is; functions by name."""
    kept = {name: value for name, value in parameters.items() if name not in _CONTROL}
    kept["functions"] = [getattr(f, "function", f) or f.name for f in as_list(kept["functions"])]
    if not isinstance(kept["random_state"], (int, np.integer, type(None))):
        kept["random_state"] = "generator"  # its seed is drawn once and saved
    return kept


def generation_of(saved: Saved) -> int:
    """How far a saved run has come; a damaged one is as good as nothing, and is refused when it is read."""
    counters = [array for name, array in saved[0].items() if "state/" in name and name.endswith(".counters")]
    is_readable = all(array.ndim == 1 and array.size and array.dtype.kind in "iu" for array in counters)
    return sum(int(array[0]) for array in counters) if counters and is_readable else -1
