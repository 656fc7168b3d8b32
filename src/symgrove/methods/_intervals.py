"""What regressors say about their own uncertainty: intervals, quantiles, distributions.

Residuals come from rows that the model was not fitted on. "conformal": rows that `calibration` kept out, or that
`calibrate` was given; new rows of the same kind are covered as promised. "oob": training rows, predicted by what did
not train on them; nothing is promised, because members share a population (see models/conformal.py for the rule).
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from symgrove._checks import check_number, numeric_vector
from symgrove.methods._estimator import EvolvedEnsemble
from symgrove.methods._held_out import Training
from symgrove.methods._input import check_no_dates
from symgrove.methods._parameters import check_choice
from symgrove.methods._run import Job, Outcome
from symgrove.models.calibration import SOURCES, Calibration, calibrations_from_document, calibrations_to_document
from symgrove.models.conformal import Scores, Widths, fit_widths, make_scores, rows_needed
from symgrove.models.document import Document, Entries
from symgrove.models.mixture import Mixture, fit_noise
from symgrove.rng import stream

Matrix = NDArray[np.float64]
METHODS = ("auto", *SOURCES)
# So many training rows are enough to learn how residuals depend on the spread.
MOST_ROWS = 1000


class IntervalRegressor(EvolvedEnsemble):
    """Adds intervals to a regressor whose `predict` can return the spread of the members."""

    # Of a model without anything learned yet: all widths alike.
    _calibrations: Mapping[str, Calibration] = MappingProxyType({})
    _widths: Widths = Widths(1.0, 0.0)

    def _check_data(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, Any, Any, int]:
        check_no_dates("y", np.asarray(y))
        return super()._check_data(X, y, sample_weight)

    @abstractmethod
    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Predictions, and the spread of the members."""

    @abstractmethod
    def _left_out(self, training: Training, outcome: Outcome) -> tuple[Matrix, Matrix]:
        """Predictions of training rows by what did not train on them, and their spread; NaN where there are none."""

    def _set_uncertainty(self, job: Job, outcome: Outcome) -> None:
        prediction, spread = self._left_out(job.training, outcome)
        rows = np.flatnonzero(np.isfinite(prediction) & np.isfinite(spread))
        if rows.size > MOST_ROWS:
            rows = np.sort(stream(job.seed, "uncertainty").choice(rows, MOST_ROWS, replace=False))
        with np.errstate(all="ignore"):
            residuals = job.training.targets[0][rows] - prediction[rows]
        self._widths = fit_widths(residuals, spread[rows])
        self._calibrations = {}
        if rows.size:
            self._learn("oob", residuals, spread[rows], self._widths)
        if job.kept_out is not None:
            self._calibrate(job.kept_out.X, job.kept_out.targets)

    def _uncertainty_to_document(self) -> Document | None:
        return calibrations_to_document(self._widths, self._calibrations)

    def _uncertainty_from_document(self, entries: Entries) -> None:
        self._widths, self._calibrations = calibrations_from_document(entries)

    def _learn(self, name: str, residuals: Matrix, spread: Matrix, widths: Widths) -> None:
        found = Calibration(make_scores(residuals, spread, widths), fit_noise(residuals, spread))
        self._calibrations = {**self._calibrations, name: found}

    def _calibrate(self, X: Matrix, targets: Matrix) -> None:
        prediction, spread = self._predict_checked(X)
        with np.errstate(all="ignore"):
            residuals = targets[0] - prediction
        self._learn("conformal", residuals, spread, self._widths)

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
        return np.stack([prediction - reach, prediction + reach], axis=1)

    def predict_quantiles(self, X: Any, quantiles: Sequence[float] = (0.05, 0.5, 0.95), method: str = "auto") -> Matrix:
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
        return prediction[:, None] + scores.widths.of(spread)[:, None] * np.array(factors)

    def predict_distribution(self, X: Any, method: str = "auto") -> Mixture:
        """The target's distribution on each row: a mixture of normal distributions around the members' predictions.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
        method : "auto", "conformal" or "oob", default="auto"

        Returns
        -------
        distribution : Mixture
            With `mean`, `std`, `log_density(y)`, `log_likelihood(y)`, `cdf(y)`, `quantile(level)`, `sample(n)`.
        """
        noise = self._calibration(method).noise
        X = self._check_predict(X)
        prediction, spread = self._predict_checked(X)
        members = self._ensembles[0].all_members(X, self._n_threads())
        return noise.mixture(prediction, members, spread)

    def _predict_checked(self, X: Matrix) -> tuple[Matrix, Matrix]:
        """Prediction and spread on rows that were checked."""
        prediction: tuple[Matrix, Matrix] = self._ensembles[0].predict_with_spread(X, self._n_threads())
        return prediction

    def _scored(self, X: Any, method: str) -> tuple[Scores, Matrix, Matrix]:
        scores = self._calibration(method).scores
        return scores, *self._predict_checked(self._check_predict(X))

    def _calibration(self, method: str) -> Calibration:
        check_is_fitted(self)
        check_choice("method", method, METHODS)
        known = self._calibrations
        name = ("conformal" if "conformal" in known else "oob") if method == "auto" else method
        if name in known:
            return known[name]
        advice = "fit with calibration=0.2, or give rows that the model was not fitted on to `calibrate`."
        if name == "conformal":
            raise ValueError(f"no rows were kept out of this fit: {advice}")
        raise ValueError(f"this {type(self).__name__} knows of no training rows that its members left out: {advice}")


def _warn_if_infinite(factor: float, scores: Scores, coverage: float) -> None:
    n_rows = scores.sorted.size
    if not np.isfinite(factor) and n_rows < rows_needed(coverage):
        warnings.warn(
            f"{n_rows} rows are too few for a coverage of {coverage:g}: {rows_needed(coverage)} are needed. Intervals "
            "are infinite.",
            stacklevel=3,
        )
