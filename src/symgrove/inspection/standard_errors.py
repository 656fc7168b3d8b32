"""Standard errors of the numbers in a formula, as of a nonlinear regression (Gauss-Newton).

With J the derivatives of the formula by its numbers and s² the mean square of the residuals, n - k in the divisor, the
covariance is s² (J'J)⁻¹. It holds for a formula whose numbers are fitted by least squares, as those of Law are, and
takes the form of the formula for granted: that it was found by search is not in it. Derivatives are exact, backwards
through the formula.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from symgrove.blas import on_one_thread, product
from symgrove.estimators.base import Estimator
from symgrove.estimators.fitted import feature_names_of, features_of
from symgrove.forest.normal_form import is_long
from symgrove.forest.text import to_text
from symgrove.forest.values import slopes_of, values_of
from symgrove.inspection._input import rows_and_target

Matrix = NDArray[np.float64]


class FormulaErrors(NamedTuple):
    """The numbers of a formula, and how sure they are.

    Attributes
    ----------
    formula : str
        With each number as (value ± standard error).
    values, errors : (n_numbers,)
        The numbers, and their standard errors.
    covariance : (n_numbers, n_numbers)

    Examples
    --------
    >>> import numpy as np
    >>> from symgrove import LawRegressor, inspection
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(1, 3, (60, 2))
    >>> y = 2.37 * X[:, 0] ** 2 / X[:, 1] + 0.01 * rng.normal(size=60)
    >>> model = LawRegressor(effort="quick", random_state=0).fit(X, y)
    >>> found = inspection.standard_errors(model, X, y)
    >>> "±" in found.formula, found.values.shape == found.errors.shape
    (True, True)
    """

    formula: str
    values: Matrix
    errors: Matrix
    covariance: Matrix


def standard_errors(model: Estimator, X: Any, y: Any) -> FormulaErrors:
    """Of the numbers of a model that is one formula, from the rows that it was fitted on.

    Numbers of at most four digits, such as exponents, count as known. A number that stands in two places is one.

    Parameters
    ----------
    model : fitted regressor of symgrove
    X : array-like of shape (n_rows, n_features)
    y : array-like of shape (n_rows,)

    Examples
    --------
    >>> import numpy as np
    >>> from symgrove import LawRegressor, inspection
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(1, 3, (60, 2))
    >>> y = 2.37 * X[:, 0] ** 2 / X[:, 1] + 0.01 * rng.normal(size=60)
    >>> model = LawRegressor(effort="quick", random_state=0).fit(X, y)
    >>> found = inspection.standard_errors(model, X, y)
    >>> bool((found.errors < 0.1).all())
    True
    """
    table, _, targets = rows_and_target(model, X, y)
    targets = model.model_.task.transformed(targets)
    found = model.model_.as_sum()
    if found is None or model.model_.has_link:
        raise ValueError(
            f"{type(model).__name__} is not one formula that predicts numbers; fit LawRegressor, or a regressor with "
            "n_estimators=1."
        )
    forest, root = found
    nodes = [node for node in forest.reachable([root]) if forest.name(node) == "constant"]
    nodes = [node for node in nodes if is_long(float(forest.columns.value[node]))]
    rows = features_of(model, table)
    residuals, slopes = targets[0] - values_of(forest, [root], rows)[0], slopes_of(forest, root, rows, nodes)
    has = np.isfinite(residuals) & np.isfinite(slopes).all(axis=0)
    n_free = int(has.sum()) - len(nodes)
    if n_free < 1:
        raise ValueError(f"{has.sum()} rows on which the formula has a value are too few for {len(nodes)} numbers.")
    # In units of the numbers, so that the inverse loses no digits to their sizes.
    values = np.array([float(forest.columns.value[node]) for node in nodes])
    relative = slopes[:, has] * values[:, None]
    spread = float((residuals[has] ** 2).sum()) / n_free
    inverse = on_one_thread(np.linalg.pinv, product(relative, relative.T)) if nodes else np.zeros((0, 0))
    covariance = spread * inverse * np.outer(values, values)
    errors = np.sqrt(np.diagonal(covariance))
    numbers = {node: _with_error(*each) for node, *each in zip(nodes, values, errors, strict=True)}
    return FormulaErrors(to_text(forest, root, feature_names_of(model), numbers=numbers), values, errors, covariance)


def _with_error(value: float, error: float) -> str:
    """A number with two digits of its error, and as many decimals."""
    if not (np.isfinite(error) and error > 0):
        return f"({value:.4g} ± {error:.2g})"
    decimals = max(0, 1 - int(np.floor(np.log10(error))))
    return f"({value:.{decimals}f} ± {error:.{decimals}f})"
