"""Regressors: predictions of numbers, with intervals, quantiles and distributions."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from symgrove._checks import check_number, numeric_vector
from symgrove.estimators.base import Estimator, Matrix
from symgrove.estimators.input import check_no_dates, columns_of
from symgrove.estimators.lazily import lazily
from symgrove.estimators.parameters import check_choice, with_parameters
from symgrove.estimators.sklearn_types import RegressorMixin
from symgrove.estimators.told import ShownErrors
from symgrove.methods.problem import Problem
from symgrove.models.calibration import SOURCES, Calibration
from symgrove.models.conformal import ConformalScores, rows_needed
from symgrove.models.intervals import Intervals, learn_from_left_out
from symgrove.models.mixture import Mixture
from symgrove.models.model import LeftOut
from symgrove.models.plan import Plan
from symgrove.models.row_blocks import row_blocks
from symgrove.models.target_transform import learn_transform
from symgrove.models.task import Regression, Task, encode_numbers

METHODS = ("auto", *SOURCES)
QUANTILES = (0.05, 0.5, 0.95)
_ONE_EACH = "Fit a model for each column."
ROWS_AT_A_TIME = 4096  # whose members are brought back into units


def _columns_of_prediction(estimator: Estimator, return_std: bool = False) -> Sequence[Any] | None:
    if return_std:
        raise ValueError("return_std=True gives two arrays, which dask collections are not; predict arrays or frames.")
    targets = estimator.model_.task.targets
    return None if targets is None else list(targets)


def _columns_of_quantiles(
    estimator: Estimator, quantiles: Sequence[float] = QUANTILES, method: str = "auto"
) -> Sequence[Any]:
    return [f"{level:g}" for level in np.atleast_1d(quantiles).tolist()]


@with_parameters
class Regressor(RegressorMixin, Estimator):
    """Base of the estimators that predict a number.

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from symgrove import extending as ex
    >>> class RandomSearch(ex.GP):
    ...     def init(self):
    ...         return self.first_state()
    ...     def advance(self, state):
    ...         rng = ex.stream(self.seed, "programs", state.generation)
    ...         new = self.source.ramped_half_and_half(state.forest, self.population_size, rng)
    ...         scores = self.score(state.forest, new, self.samples)
    ...         elites = ex.improve(state.elites, ex.best_of_each_sample(new, scores))
    ...         return self.next_state(state, population=new, errors=scores.errors, elites=elites)
    >>> @ex.with_parameters
    ... class RandomSearchRegressor(ex.ProgramParameters, ex.Regressor):
    ...     has_out_of_bag = False
    ...     def make_part(self, target):
    ...         return RandomSearch(samples=target.whole_sample(), **ex.gp_arguments(self, target))
    >>> X, y = make_friedman1(60, random_state=0)
    >>> model = RandomSearchRegressor(population_size=50, generations=3, random_state=0).fit(X, y)
    >>> issubclass(RandomSearchRegressor, ex.Regressor), model.predict(X).shape
    (True, (60,))
    """

    target_transform: Any = None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def _encode(self, y: NDArray[Any]) -> tuple[Task, Matrix]:
        return encode_numbers(y, self._target_names if y.ndim == 2 else ())

    def _with_transforms(self, task: Task, targets: Matrix) -> Task:
        if self.target_transform is None:
            return task
        assert isinstance(task, Regression)
        return replace(task, transforms=tuple(learn_transform(self.target_transform, y) for y in targets))

    def _check_target(self, y: Any) -> dict[str, Any]:
        given = np.asarray(y)
        check_no_dates("y", given)
        self._target_names: tuple[str, ...] = _names_of_columns(y, given)
        if self._target_names and self.calibration is not None:
            raise ValueError(f"calibration is for one target, and y has {len(self._target_names)} columns. {_ONE_EACH}")
        return {"y_numeric": True, "multi_output": bool(self._target_names)}

    def _shown_errors(self, problem: Problem, errors: Matrix) -> ShownErrors:
        loss, in_units = getattr(self, "loss", None), f" (in units of {self._fitted_target})"
        if loss is None or loss == "squared":
            return ShownErrors("RMSE", np.sqrt(errors), in_units)
        unit = "" if loss == "huber" or not isinstance(loss, str) else in_units
        return ShownErrors("mean loss" if unit == "" else f"mean {loss} error", errors, unit)

    def _learn(self, problem: Problem, left_out: LeftOut | None) -> None:
        if problem.task.n_targets > 1:
            self._uncertainty = None
            return
        if left_out is not None:
            left_out = left_out._replace(prediction=_within_limits(problem.task, left_out.prediction))
        self._uncertainty = learn_from_left_out(left_out, problem.training.targets[0], problem.seed)
        if problem.kept_out is not None:
            self._calibrate(problem.kept_out.X, problem.kept_out.targets)

    def calibrate(self, X: Any, y: Any) -> Self:
        self._check_one_target()
        return super().calibrate(X, y)

    def _calibrate(self, X: Matrix, targets: Matrix) -> None:
        prediction, spread = self._as_fitted(X)
        with np.errstate(all="ignore"):
            residuals = targets[0] - prediction
        self._uncertainty = self._intervals.learn("conformal", residuals, spread)

    @property
    def _intervals(self) -> Intervals:
        return getattr(self, "_uncertainty", None) or Intervals()

    def _plan(self) -> Plan:
        model = self._fitted_model()
        best = self._intervals.best
        return model.plan(type(self).__name__, columns_of(self), intervals=None if best is None else best.scores)

    @lazily(_columns_of_prediction)
    def predict(self, X: Any, return_std: bool = False) -> Any:
        """What the members predict together: their mean, or however else they are combined.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Of Dask's collections the prediction is one too, and is not computed yet.
        return_std : bool, default=False
            Also return the standard deviation of the members' predictions on each row.

        Returns
        -------
        prediction : ndarray of shape (n_rows,), or (n_rows, n_targets)
        spread : ndarray of the same shape
            Only with `return_std`.
        """
        X = self._check_predict(X)
        n_targets = self.model_.task.n_targets
        if return_std and self.model_.task.transforms:
            prediction = self.model_.task.as_users_see(self.model_.predict(X, self._n_threads()))
            return prediction, self._spread_in_units(X)
        if return_std and n_targets == 1:
            return self.model_.predict_with_spread(X, self._n_threads())
        if return_std:
            each = [self.model_.predict_with_spread(X, self._n_threads(), k) for k in range(n_targets)]
            return tuple(np.stack(own, axis=1) for own in zip(*each, strict=True))
        return self.model_.task.as_users_see(self.model_.predict(X, self._n_threads()))

    @lazily(lambda *_, **__: ("lower", "upper"))
    def predict_interval(self, X: Any, coverage: float = 0.9, method: str = "auto") -> Matrix:
        """Intervals that new values fall into with a given probability.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
        coverage : float, default=0.9
            The probability, over rows like those of the calibration; not for each single row.
        method : "auto", "conformal" or "oob", default="auto"
            conformal: from rows kept out of the fit (`calibration`, `calibrate`); the coverage is guaranteed for rows
            of the same kind. oob: from training rows and the members that did not train on them, or, for Grove with
            the strength chosen, from rows held out of whole evolutions; without guarantee. auto: conformal if there
            are such rows, else oob.

        Returns
        -------
        intervals : ndarray of shape (n_rows, 2)
            Lower and upper ends. Infinite, with a warning, if there are too few rows for the coverage.
        """
        check_number("coverage", coverage, 0, 1)
        scores, prediction, spread = self._scored(X, method)
        factor = scores.factor(coverage)
        _warn_if_infinite(factor, scores, coverage)
        reach = factor * scores.widths.of(spread)
        return self._ends_in_units(np.stack([prediction - reach, prediction + reach], axis=1))

    @lazily(_columns_of_quantiles)
    def predict_quantiles(self, X: Any, quantiles: Sequence[float] = QUANTILES, method: str = "auto") -> Matrix:
        """Quantiles of the target, from the same residuals as intervals, with their signs.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
        quantiles : sequence of float
            Between 0 and 1. Those outside the middle are cautious: the next residual further out counts.
        method : "auto", "conformal" or "oob", default="auto"

        Returns
        -------
        values : ndarray of shape (n_rows, n_quantiles)
        """
        levels = np.atleast_1d(numeric_vector("quantiles", quantiles))
        for level in levels.tolist():
            check_number("quantiles", level, 0, 1)
        scores, prediction, spread = self._scored(X, method)
        factors = [scores.quantile(level) for level in levels.tolist()]
        for level, factor in zip(levels.tolist(), factors, strict=True):
            _warn_if_infinite(factor, scores, max(level, 1 - level))
        return self._ends_in_units(prediction[:, None] + scores.widths.of(spread)[:, None] * np.array(factors))

    def predict_distribution(self, X: Any, method: str = "auto") -> Mixture:
        """The target's distribution on each row: a mixture of normal distributions around the members' predictions.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
        method : "auto", "conformal" or "oob", default="auto"

        Returns
        -------
        distribution : Mixture
            With `mean`, `std`, `log_density(y)`, `log_likelihood(y)`, `cdf(y)`, `quantile(level)`, `sample(n)`. Not
            of models that transform their target.
        """
        check_is_fitted(self)
        if self.model_.task.transforms:
            raise ValueError(
                "the distribution would be of the transformed target; `predict_interval` and `predict_quantiles` are "
                "in the target's own units. For a distribution, fit with target_transform=None."
            )
        noise = self._calibration(method).noise
        X = self._check_predict(X)
        members = self.model_.predict_members(X, self._n_threads())[0]
        prediction, spread = self.model_.predict_with_spread(X, self._n_threads())
        return noise.mixture(prediction, members, spread)

    def _scored(self, X: Any, method: str) -> tuple[ConformalScores, Matrix, Matrix]:
        scores = self._calibration(method).scores
        return scores, *self._as_fitted(self._check_predict(X))

    # Transformed targets

    @property
    def _fitted_target(self) -> str:
        """What a fit is of."""
        return {None: "y", "log": "log(y)"}.get(self.target_transform, "the Box-Cox transform of y")

    def _as_fitted(self, X: Matrix) -> tuple[Matrix, Matrix]:
        """Predictions and spread of the one target, transformed if it was for the fit."""
        prediction, spread = self.model_.predict_with_spread(X, self._n_threads())
        return _within_limits(self.model_.task, prediction[None])[0], spread

    def _ends_in_units(self, ends: Matrix) -> Matrix:
        """Ends of intervals, or quantiles: transforms keep their order."""
        inverse = self.model_.task.inverse_of(0)
        return ends if inverse is None else inverse.undo_ends(ends)

    def _spread_in_units(self, X: Matrix) -> Matrix:
        """Standard deviation of the members' predictions, a row for each row."""
        task, found = self.model_.task, np.empty((self.model_.task.n_targets, len(X)))
        for rows in row_blocks(len(X), ROWS_AT_A_TIME):
            found[:, rows] = task.in_units(self.model_.predict_members(X[rows], self._n_threads())).std(axis=1)
        return found[0] if len(found) == 1 else np.ascontiguousarray(found.T)

    def _check_one_target(self) -> None:
        check_is_fitted(self)
        n_targets = self.model_.task.n_targets
        if n_targets > 1:
            raise ValueError(f"intervals are for one target, and this model has {n_targets}. {_ONE_EACH}")

    def _calibration(self, method: str) -> Calibration:
        self._check_one_target()
        check_choice("method", method, METHODS)
        return self._intervals.calibration(method)


def _within_limits(task: Task, predictions: Matrix) -> Matrix:
    """Transformed predictions of every target, as far as they count."""
    if not task.transforms:
        return predictions
    return np.stack([inverse.clip(own) for inverse, own in zip(task.transforms, predictions, strict=True)])


def _names_of_columns(y: Any, given: NDArray[Any]) -> tuple[str, ...]:
    """Names of several targets; none if there is one."""
    if given.ndim != 2 or given.shape[1] < 2:
        return ()
    names = getattr(y, "columns", None)
    columns = tuple(f"y{k}" for k in range(given.shape[1])) if names is None else tuple(map(str, names))
    if len(set(columns)) < len(columns):
        raise ValueError(f"columns of y must have different names, got {list(columns)}.")
    return columns


def _warn_if_infinite(factor: float, scores: ConformalScores, coverage: float) -> None:
    n_rows = scores.sorted.size
    if not np.isfinite(factor) and n_rows < rows_needed(coverage):
        warnings.warn(
            f"{n_rows} rows are too few for a coverage of {coverage:g}: {rows_needed(coverage)} are needed. Intervals "
            "are infinite.",
            stacklevel=3,
        )
