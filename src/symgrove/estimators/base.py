"""What all estimators share: checking data, fitting, resuming, and what a fitted model gives away.

`fit` is a table of contents. A method's estimator has two jobs of its own: `make_method` from a problem, `make_model`
from a finished state. Estimators of programs have one: `make_part`, the method on one target.
"""

from __future__ import annotations

import os
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import ExitStack
from importlib import import_module
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from symgrove._workers import as_list, n_workers
from symgrove.blas import single_blas_thread
from symgrove.engines.registry import Workers, default_memory_budget
from symgrove.estimators import callbacks, display
from symgrove.estimators.elsewhere import given_rows
from symgrove.estimators.input import checked_rows, columns_of
from symgrove.estimators.left_out import known_of_elsewhere, score_kept_out, set_out_of_bag
from symgrove.estimators.parameters import EvolutionParameters, check_shared, early_stopping_of
from symgrove.estimators.posing import pose
from symgrove.estimators.resuming import comparable, further, unchanged_on_failure
from symgrove.estimators.runs import Finished, Limits
from symgrove.estimators.sklearn_types import BaseEstimator
from symgrove.estimators.told import ShownErrors, may_end_early, reporting, watching
from symgrove.estimators.warm_up import warm_up
from symgrove.evolution import checkpoint as checkpoints
from symgrove.evolution.checkpoint import Checkpoint
from symgrove.evolution.interrupt import Interrupt, StopOnInterrupt
from symgrove.evolution.loop import Control, Observer
from symgrove.evolution.progress import Reporter
from symgrove.evolution.remaining import OneEvolution
from symgrove.evolution.run import RunControl, run
from symgrove.evolution.stopping import MaxEvaluations, MaxGenerations, Stagnation, Stop, TargetError
from symgrove.export.targets import export
from symgrove.forest.primitives import PrimitiveSet
from symgrove.methods.gp import ProgramMethod
from symgrove.methods.held_out import HeldOutError
from symgrove.methods.memory import Footprint, Needs, check_needs, program_needs
from symgrove.methods.problem import Problem, TrainingRows, rows_seen
from symgrove.methods.programs import Evaluation, Fitted, TargetSetup, evolutions_of, programs_of
from symgrove.methods.side_by_side import SideBySide, States
from symgrove.models.checked_rows import checked_target
from symgrove.models.coding import values_of
from symgrove.models.columns import TableColumns
from symgrove.models.consensus import Recurring
from symgrove.models.document import Document
from symgrove.models.intervals import Intervals
from symgrove.models.model import LeftOut, Model, Names
from symgrove.models.one_formula import OneFormula
from symgrove.models.out_of_bag import pack_samples
from symgrove.models.plan import Plan
from symgrove.models.probabilities import Correction
from symgrove.models.seen_rows import said_left_out, seen_rows
from symgrove.models.task import Task

Matrix = NDArray[np.float64]


class Estimator(EvolutionParameters, BaseEstimator, ABC):
    """Base of all estimators."""

    table_: Document  # what the command line was told about a table
    columns_: TableColumns
    one_formula_: OneFormula  # what the command line has found about it
    oob_score_: float
    oob_prediction_: Matrix
    _uncertainty: Intervals | Correction | None

    # What a method's estimator fills in

    # Whether the method only asks what methods/problem.py::TrainingRows says; one that `make_part` makes, sums of its
    # engine, and samples of `TargetSetup`.
    takes_rows_elsewhere = False
    _has_labels = False  # whether targets are classes

    @property
    def evolves_programs(self) -> bool:
        """Whether the method is what `make_part` makes for each target."""
        return type(self).make_method is Estimator.make_method

    @property
    def has_out_of_bag(self) -> bool:
        """Whether members leave training rows out: then a fit sets `oob_score_` and `oob_prediction_`.

        A class attribute where it is always or never so, a property where parameters decide.
        """
        return True

    def check_parameters(self) -> None:
        """Check what does not depend on data."""
        check_shared(self)

    def make_part(self, target: TargetSetup) -> ProgramMethod:
        """The method on one target."""
        raise NotImplementedError(f"{type(self).__name__} must define make_part, or make_method and make_model.")

    def make_method(self, problem: Problem) -> Any:
        """The method on a problem; a context that closes what it opened. By default, programs for each target."""
        needs = self._needs(problem)
        evaluation = self._evaluation()._replace(reserved=needs.evolving, bytes_of_a_row=needs.of_a_row)
        return evolutions_of(problem, evaluation, self.make_part)

    def make_model(self, problem: Problem, method: Any, state: States) -> Fitted:
        """The model of a state."""
        merge = bool(self.get_params(deep=False).get("prune", True))
        return programs_of(problem, method, state, self._aggregation(), merge=merge)

    # What regressors and classifiers fill in

    @abstractmethod
    def _encode(self, y: NDArray[Any]) -> tuple[Task, Matrix]:
        """What the target means, and targets of the runs, (n_targets, n_rows)."""

    @abstractmethod
    def _check_target(self, y: Any) -> dict[str, Any]:
        """Refuse what scikit-learn would not, and say what it is to check."""

    @abstractmethod
    def _shown_errors(self, problem: Problem, errors: Matrix) -> ShownErrors:
        """Errors of a generation, for people."""

    @abstractmethod
    def _learn(self, problem: Problem, left_out: LeftOut | None) -> None:
        """Learn from rows that the model was not fitted on how sure it may be."""

    @abstractmethod
    def _calibrate(self, X: Matrix, targets: Matrix) -> None:
        """Learn from checked rows, targets as of the fit, that the model was not fitted on."""

    @abstractmethod
    def _plan(self) -> Plan:
        """What the model computes, for exports."""

    @abstractmethod
    def predict(self, X: Any) -> Any:
        """A number or a class for each row."""

    # Fitting

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Evolve an ensemble.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Arrays, pandas or polars frames, of finite numbers and of categories (`categorical_features`); NaN, None
            and what frames have for it are missing values. Of some methods Dask's collections, or columns of
            Parquet files, whose rows stay where they are (docs/cluster.md).
        y : array-like of shape (n_rows,), or (n_rows, n_targets) for regressors
        sample_weight : array-like of shape (n_rows,), optional
            Not negative. Rows of weight 0 are left out.

        Returns
        -------
        self
        """
        if callbacks.has_callbacks(self):
            return callbacks.with_teardown(Estimator._fit)(self, X, y, sample_weight)
        return self._fit(X, y, sample_weight)

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> Self:
        with unchanged_on_failure(self):
            self.check_parameters()
            with given_rows(self, X, y, sample_weight) as given:
                problem, checkpoint = pose(self, *given)
                with StopOnInterrupt() as interrupt, single_blas_thread:  # once, not for every product
                    limits = Limits(self.generations, self.max_time, self.max_evaluations)
                    finished = self._evolve(problem, limits, checkpoint, interrupt, (X, y))
                    self._keep(checkpoint)
                    self._set_fitted(problem, finished)
        return self

    def _weigh(self, y: Any, sample_weight: Any) -> Any:
        """Weights of the rows, from those that were given."""
        return sample_weight

    def _weigh_labels(self, labels: NDArray[Any], counts: NDArray[Any]) -> Matrix | None:
        """What rows of each class weigh besides their own weights, where rows are elsewhere; None: no more."""
        return None

    def __sklearn_is_fitted__(self) -> bool:
        return "model_" in vars(self)

    def _with_transforms(self, task: Task, targets: Matrix) -> Task:
        """The task, knowing how targets are transformed, which training rows say."""
        return task

    def _within_memory(self, problem: Problem) -> Problem:
        """The problem on as many rows as the memory budget has room for, or a clear error."""
        if self.evolves_programs:  # other methods know what they need
            n_rows, advice = problem.training.n_rows, self._footprint().advice
            check_needs(self._needs(problem), self._memory_budget(), n_rows, advice)
        return problem

    def _needs(self, problem: Problem) -> Needs:
        return program_needs(problem, self.dtype, self._memory_budget(), self._footprint())

    def _footprint(self) -> Footprint:
        """How the method uses memory: by default, a sample for each member."""
        n_members = int(getattr(self, "n_estimators", 1))
        return Footprint(n_members + 1, n_members, n_members)

    def _identity(self, rows: TrainingRows) -> dict[str, Any]:
        """What makes a run what it is, besides the data."""
        return {**comparable(self.get_params(deep=False)), "estimator": type(self).__name__}

    def _saved_before(self, mark: str) -> checkpoints.Saved | None:
        """The run of the last fit, if this is a warm start, or that of the checkpoint if it has come further."""
        kept = getattr(self, "_kept", None) if self.warm_start else None
        return further(kept, None if self.checkpoint is None else self._load_checkpoint(mark), mark)

    def _load_checkpoint(self, mark: str) -> checkpoints.Saved | None:
        """The saved run of this fingerprint, if there is one."""
        return checkpoints.load(self.checkpoint, mark)

    def _keep(self, checkpoint: Checkpoint) -> None:
        """Keep the run for a warm start if one is wanted."""
        self.__dict__.pop("_kept", None)
        if self.warm_start:
            self._kept = checkpoint.arrays, checkpoint.meta

    # The run

    def _compile(self) -> None:
        """Have the kernels of a fit compiled, before anything is timed."""
        warm_up(self)

    def _evolve(
        self,
        problem: Problem,
        limits: Limits,
        checkpoint: Checkpoint,
        interrupt: Interrupt,
        given: tuple[Any, Any] | None = None,
    ) -> Finished:
        """From a problem to a model; `given` is what scikit-learn's callbacks are told."""
        outlook = OneEvolution(limits.generations, is_bound=may_end_early(self, limits))
        with reporting(self, outlook, limits.max_time) as reporter:
            return self._evolve_once(problem, limits, checkpoint, interrupt, given, reporter)

    def _evolve_once(
        self,
        problem: Problem,
        limits: Limits,
        checkpoint: Checkpoint,
        interrupt: Interrupt,
        given: tuple[Any, Any] | None,
        reporter: Reporter | None = None,
        stop_of: Callable[[Any], Stop] | None = None,
    ) -> Finished:
        """One evolution and its model; `stop_of` makes a further reason to stop from the method."""
        start = time.perf_counter()
        with ExitStack() as stack:
            method = stack.enter_context(self.make_method(problem))
            observers: list[Any] = [*as_list(self.callbacks), *watching(self, reporter, problem, method)]
            if given is not None and callbacks.has_callbacks(self):
                observers.append(self._teller(problem, method, given, stack))
            stops = [*self._stops(limits), *([stop_of(method)] if stop_of is not None else [])]
            loop = Control(stops, observers, limits.max_time, start=start, interrupt=interrupt)
            early = self._early_stopping(problem, method, stack)
            result = run(method, RunControl(loop, checkpoint, early_stopping=early))
            fitted = self.make_model(problem, method, result.state)
        return Finished(fitted, result.history, result.reason, result.n_generations)

    def _stops(self, limits: Limits) -> list[Stop]:
        stops: list[Stop] = [MaxGenerations(limits.generations)]
        if limits.max_evaluations is not None:
            stops.append(MaxEvaluations(limits.max_evaluations))
        if self.target_error is not None:
            stops.append(TargetError(self.target_error))
        return stops

    def _early_stopping(self, problem: Problem, method: Any, stack: ExitStack) -> Stagnation | None:
        early = early_stopping_of(self)
        if problem.held_out is None or early is None:
            return None
        if not isinstance(method, SideBySide):
            raise ValueError("early_stopping needs programs for each target; this method has none. Set it to False.")
        error = HeldOutError(problem, self._aggregation(), method, self.engine)
        measure = stack.enter_context(error)
        return Stagnation(measure, early.n_generations_no_change, method.to_arrays)

    def _teller(self, problem: Problem, method: Any, given: tuple[Any, Any], stack: ExitStack) -> Observer:
        """Observer that tells scikit-learn's callbacks."""

        def fitted_attributes(state: States) -> dict[str, Any]:
            # Nothing of an earlier fit: its intervals and probabilities are not those of this state.
            model = self.make_model(problem, method, state).model
            unknown: dict[str, Any] = {"_uncertainty": None, "_seen": {}, "_outside": None, "_held_out": None}
            return {"model_": model, "_fitted_with": self.get_params(deep=False), **unknown}

        return stack.enter_context(callbacks.tell_callbacks(self, *given, fitted_attributes))

    # The model

    def _set_fitted(self, problem: Problem, finished: Finished) -> None:
        training = problem.training
        self._fitted_with = self.get_params(deep=False)  # files and formulas follow these, whatever is set later
        self.stop_reason_ = finished.reason
        self.n_generations_ = finished.n_generations
        self.history_ = finished.history
        self.__dict__.update(finished.attributes)
        model, outside, row_losses = finished.fitted
        left_out = finished.left_out
        for name in ("oob_score_", "oob_prediction_", "_outside", "one_formula_"):  # of an earlier fit
            vars(self).pop(name, None)
        if not training.is_here:
            problem, left_out = known_of_elsewhere(self, problem, finished.fitted)
            training = problem.training
        elif self.has_out_of_bag:
            left_out = model.left_out(*training[:2], outside, training.weight, row_losses, problem.n_threads)
            set_out_of_bag(self, problem, left_out)
            self._outside = pack_samples(outside, training.positions)
        if self.has_out_of_bag and left_out is not None:
            model = model.with_left_out(left_out)
        model = model.having_seen(training.X, training.targets, problem.part_of)
        self.model_: Model = model
        self.ensemble_ = model.members(self._names)
        owners = [] if self.columns_.is_plain else [self.columns_.owners]
        self.feature_importances_ = model.importances(training.X, problem.seed, *owners)
        self._learn(problem, left_out)
        self._held_out = score_kept_out(self, problem)
        self._seen = rows_seen(problem)
        said = None if left_out is None else problem.task.in_units(left_out.prediction)
        self._said = said_left_out(training.X, training.given_targets, said)

    def calibrate(self, X: Any, y: Any) -> Self:
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
        y, targets = checked_target(y, self.model_.task.classes)
        check_consistent_length(X, y)
        self._calibrate(X, self.model_.task.transformed(targets))
        self._seen = {**getattr(self, "_seen", {}), "calibration": seen_rows([(X, targets)])}
        return self

    def predict_members(self, X: Any) -> Matrix:
        """What each member predicts, (n_members, n_rows): one for each sample.

        Where a member's output is not finite, it is what all predict together, or with interquartile means the mean of
        the training target; of classes, the share of the class among the training rows. Two classes: the votes for the
        second, or its probability. More: (n_classes, n_members, n_rows). Of a stack of Grove's ensembles, member k
        differs from the prediction as the k-th team of every one of them does.
        """
        model = self._fitted_model()
        found = model.task.in_units(model.predict_members(self._check_predict(X), self._n_threads()))
        return found[0] if len(found) == 1 else found

    def consensus(self, n_most: int | None = 10) -> list[Recurring]:
        """Parts of formulas that several members have, the most frequent first; of Grove, terms of its teams.

        Parameters
        ----------
        n_most : int, optional
            So many; None: all. With more than two classes: so many for each, if members are programs.
        """
        return self._fitted_model().recurring(self._names, n_most)

    def export(self, to: str, path: str | os.PathLike[str] | None = None, **options: Any) -> Any:
        """The model in another language; it computes what `predict` does.

        Parameters
        ----------
        to : str
            "python" (needs NumPy only), "c", "javascript", "sql", "excel", "onnx", "text", "latex" or "sympy".
        path : path, optional
            Where to write it; needed for "excel".
        **options
            sql: `table="data"`, `dialect="sqlite"` or "duckdb", `keep=()` (columns to pass on). excel: `X` (rows to put
            in) or `n_rows=100` (to leave room for). onnx: `dtype="float64"` or "float32", of input and output. text,
            latex, sympy: `digits` of numbers.

        Returns
        -------
        source code or equations as text, an ONNX model, a SymPy expression, or None for "excel"
        """
        if options.get("X") is not None:
            checked_rows(self, options["X"])
            options["X"] = values_of(options["X"], columns_of(self))
        return export(self._plan(), to, path, options)

    def formula(self, style: str = "text", digits: int | None = None) -> Any:
        """The whole model for reading, in your units and column names.

        One simplified sum where members are combined by their mean. Else equations, with the way members are combined
        spelled out; `export(style)` always gives these, with all clips.

        Parameters
        ----------
        style : "text", "latex" or "sympy"
        digits : int, optional
            Significant digits of numbers. By default text and SymPy have all, LaTeX has 4.
        """
        return display.formula(self._fitted_model(), style, self._names, self.export, digits)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to a JSON file, which `symgrove.load` reads. See docs/model-file.md."""
        check_is_fitted(self)
        _above("saving.files").save(self, path)

    def simplify_ensemble(self, X: Any, y: Any, **options: Any) -> Any:
        """Fewer members or terms: what `symgrove.simplify_ensemble(self, X, y, ...)` gives."""
        return _above("compression.smaller").simplify_ensemble(self, X, y, **options)

    def set_callbacks(self, *given: Any) -> Self:
        """Set scikit-learn callbacks, which are told of the fit and of every generation and may stop it.

        Parameters
        ----------
        *given : objects that follow scikit-learn's `FitCallback` protocol
            None to remove those that are set.

        Returns
        -------
        self
        """
        callbacks.set_callbacks(self, given)
        return self

    def __getstate__(self) -> dict[str, Any]:
        return dict(_above("saving.pickles").state_of(self, super().__getstate__()))

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        _above("saving.pickles").restore(self)

    def _repr_html_inner(self) -> str:
        return super()._repr_html_inner() + display.members_as_html(vars(self))

    def _repr_mimebundle_(self, **options: Any) -> dict[str, Any]:
        bundle = super()._repr_mimebundle_(**options)
        if "text/html" in bundle:
            bundle["text/html"] += display.members_as_html(vars(self))
        return bundle

    # Small things

    def _fitted_model(self) -> Model:
        check_is_fitted(self)
        return self.model_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    @property
    def _names(self) -> Names:
        """Names of the features in formulas, if there are any."""
        columns = columns_of(self)
        return getattr(self, "feature_names_in_", None) if columns.is_plain else columns.labels

    def _check_predict(self, X: Any) -> Matrix:
        """Features of rows."""
        check_is_fitted(self)
        return columns_of(self).features(checked_rows(self, X))

    def _n_threads(self) -> int:
        return Workers(n_workers(self.n_jobs), self.engine)

    def _aggregation(self) -> str:
        """How members' predictions are combined."""
        return str(self.get_params(deep=False).get("aggregation", "mean"))

    def _memory_budget(self) -> int:
        return default_memory_budget(self.engine) if self.memory_budget is None else int(self.memory_budget)

    def _evaluation(self) -> Evaluation:
        primitives = PrimitiveSet(self.functions, self.epsilon)
        return Evaluation(primitives, self.dtype, bool(self.standardize), self._memory_budget(), self.engine)


def _above(name: str) -> Any:
    return import_module(f"symgrove.{name}")  # what makes estimators is above this room
