"""How far members agree, and what their differences are worth.

For members whose numbers are averaged, the error of the ensemble is the mean error of the members less the ambiguity,
the mean squared distance of the members from the ensemble (Krogh and Vedelsby 1995): members that differ more, at the
same error each, make a better ensemble. Medians, and probabilities that are corrected or of several classes, are no
plain means, so for them it holds roughly.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from symgrove._style import DIVERGING, Axes, new_axes
from symgrove.estimators.base import Estimator
from symgrove.estimators.classifier import Classifier
from symgrove.inspection._input import checked, class_index, member_predictions, prediction, rows_and_target

Matrix = NDArray[np.float64]


class Agreement(NamedTuple):
    """Members compared with each other.

    Attributes
    ----------
    correlations : (n_members, n_members)
        Of the members' predictions; NaN for a member whose predictions are all alike.
    mean_correlation : float
        Over all pairs.
    member_error, ensemble_error : float
        Mean squared errors: the mean over the members, and that of the ensemble. NaN without targets.
    ambiguity : float
        Mean squared distance of the members from what the ensemble predicts.

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from symgrove import TwoSEGPRegressor, inspection
    >>> X, y = make_friedman1(60, random_state=0)
    >>> model = TwoSEGPRegressor(population_size=50, n_estimators=5, generations=5, random_state=0).fit(X, y)
    >>> found = inspection.agreement(model, X, y)
    >>> abs(found.member_error - found.ambiguity - found.ensemble_error) < 1e-9
    True
    """

    correlations: Matrix
    mean_correlation: float
    member_error: float
    ensemble_error: float
    ambiguity: float


def agreement(model: Estimator, X: Any, y: Any = None, *, target: Any = None) -> Agreement:
    """Compare the members on rows, best on rows that the model was not fitted on.

    Parameters
    ----------
    model : fitted estimator of symgrove
    X : array-like of shape (n_rows, n_features)
    y : array-like of shape (n_rows,), optional
        Targets, for the errors.
    target : label, optional
        Of a classifier: the class that is looked at, against all others; the last one if not given.

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from symgrove import TwoSEGPRegressor, inspection
    >>> X, y = make_friedman1(60, random_state=0)
    >>> model = TwoSEGPRegressor(population_size=50, n_estimators=5, generations=5, random_state=0).fit(X, y)
    >>> found = inspection.agreement(model, X, y)
    >>> found.ensemble_error <= found.member_error
    True
    """
    k = class_index(model, target)
    X = checked(model, X)
    members, together = member_predictions(model, X, k), prediction(model, X, k)
    with np.errstate(all="ignore"):
        correlations = np.atleast_2d(np.corrcoef(members))
    pairs = correlations[np.triu_indices(len(members), 1)]
    known = pairs[np.isfinite(pairs)]
    errors = float("nan"), float("nan")
    if y is not None:
        labels = rows_and_target(model, X, y)[1]
        wanted = (labels == model.classes_[k]).astype(float) if isinstance(model, Classifier) else labels
        errors = float(np.mean((members - wanted) ** 2)), float(np.mean((together - wanted) ** 2))
    mean = float(known.mean()) if known.size else float("nan")
    return Agreement(correlations, mean, *errors, float(np.mean((members - together) ** 2)))


class AgreementDisplay:
    """Correlations of the members' predictions as a map.

    Attributes
    ----------
    found : Agreement

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from symgrove import TwoSEGPRegressor, inspection
    >>> X, y = make_friedman1(60, random_state=0)
    >>> model = TwoSEGPRegressor(population_size=50, n_estimators=5, generations=5, random_state=0).fit(X, y)
    >>> display = inspection.AgreementDisplay.from_estimator(model, X, y)
    >>> display.found.mean_correlation <= 1
    True
    """

    def __init__(self, found: Agreement) -> None:
        self.found = found

    @classmethod
    def from_estimator(
        cls, model: Estimator, X: Any, y: Any = None, *, target: Any = None, ax: Axes | None = None
    ) -> AgreementDisplay:
        """Compute and plot."""
        return cls(agreement(model, X, y, target=target)).plot(ax=ax)

    def plot(self, ax: Axes | None = None) -> AgreementDisplay:
        """Draw the map."""
        self.ax_ = new_axes(ax)
        self.figure_ = self.ax_.figure
        image = self.ax_.imshow(self.found.correlations, vmin=-1, vmax=1, cmap=DIVERGING)
        self.figure_.colorbar(image, ax=self.ax_, label="correlation")
        self.ax_.set_xlabel("member")
        self.ax_.set_ylabel("member")
        return self
