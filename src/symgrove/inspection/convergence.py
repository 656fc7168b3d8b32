"""How an evolution went: errors of the members over the generations."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from symgrove._style import BLUE, Axes, new_axes
from symgrove.estimators.base import Estimator

Matrix = NDArray[np.float64]


class ConvergenceDisplay:
    """Errors on the members' own samples: the median, and between the lowest and the highest.

    Attributes
    ----------
    generation : (n_generations,)
    errors : (n_generations, n_members)

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from symgrove import TwoSEGPRegressor, inspection
    >>> X, y = make_friedman1(60, random_state=0)
    >>> model = TwoSEGPRegressor(population_size=50, n_estimators=5, generations=5, random_state=0).fit(X, y)
    >>> display = inspection.ConvergenceDisplay.from_estimator(model)
    >>> int(display.generation[-1])
    5
    """

    def __init__(self, generation: Matrix, errors: Matrix) -> None:
        self.generation = generation
        self.errors = errors

    @classmethod
    def from_estimator(cls, model: Estimator, *, ax: Axes | None = None) -> ConvergenceDisplay:
        """From `history_`; plot."""
        check_is_fitted(model)
        errors = np.asarray(model.history_["errors"], dtype=np.float64)
        n = len(errors)
        return cls(np.asarray(model.history_["generation"]), errors.reshape(n, -1)).plot(ax=ax)

    def plot(self, ax: Axes | None = None) -> ConvergenceDisplay:
        """Draw; on a logarithmic axis where errors allow it."""
        self.ax_ = new_axes(ax)
        self.figure_ = self.ax_.figure
        errors = np.where(np.isfinite(self.errors), self.errors, np.nan)
        known = ~np.isnan(errors).all(axis=1)
        generation, errors = self.generation[known], errors[known]
        low, middle, high = (function(errors, axis=1) for function in (np.nanmin, np.nanmedian, np.nanmax))
        self.ax_.fill_between(generation, low, high, color=BLUE, alpha=0.25, linewidth=0)
        self.ax_.plot(generation, middle, color=BLUE)
        if errors.size and np.nanmin(errors) > 0:
            self.ax_.set_yscale("log")
        self.ax_.set_xlabel("generation")
        self.ax_.set_ylabel("error of the members")
        return self
