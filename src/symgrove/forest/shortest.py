"""The shortest way to write a formula that we find, checked with numbers.

First the exact rewrites of simplify.py, then the normal form (normal_form.py) and the ways to write it
(written_form.py). What comes out is evaluated on rows, and the formula stays as it was where values differ by more than
rounding. Only what people read goes this way: evolution and prediction never use it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from symgrove.forest.forest import Forest
from symgrove.forest.normal_form import NoNormalFormError, NormalForms
from symgrove.forest.simplify import simplify
from symgrove.forest.values import values_of
from symgrove.forest.written_form import FormulaWriter
from symgrove.forest.written_size import WrittenSizes

Matrix = NDArray[np.float64]
N_ROWS = 64  # of each kind
TOLERANCE = 1e-9  # of the spread of a formula's values
HUGE = 1e100  # values whose squares are not infinite
FEWEST_CHANGES, CHANGES_OF_NODE, MOST_CHANGES = 200, 6, 2000  # that are tried
LARGEST_CHANGED = 1000  # nodes; of longer formulas, like terms are collected, and that is all
LARGEST = 5000  # nodes; longer ones are rewritten only


def shortest(forest: Forest, root: int, quantiles: Matrix | None = None) -> int:
    """Id of a program with the same values, as short as we can write it, in the same forest.

    Parameters
    ----------
    forest : Forest
    root : int
    quantiles : (n_quantiles, n_features), optional
        Of the features, from their smallest values to their largest. Values are compared on rows with such features,
        and beyond; by default on features from -3 to 3.
    """
    first = simplify(forest, root)
    if int(forest.size(first)) > LARGEST:
        return first
    sizes, rows = WrittenSizes(forest), None
    size = int(forest.size(first))
    n_changes = min(MOST_CHANGES, FEWEST_CHANGES + CHANGES_OF_NODE * size) if size <= LARGEST_CHANGED else 0
    for expands in (True, False):
        try:
            forms = NormalForms(forest.primitives)
            writer = FormulaWriter(forms, forest, expands=expands, n_changes=n_changes)
            found = writer.write(forms.read(forest, first))
        except (NoNormalFormError, OverflowError):
            return first
        if sizes.of(found) > sizes.of(first):
            return first
        rows = check_rows(forest.n_features, quantiles) if rows is None else rows
        if found == first or is_equal(forest, root, found, rows, is_known=quantiles is not None):
            return found
    return first


def check_rows(n_features: int, quantiles: Matrix | None = None) -> tuple[Matrix, Matrix]:
    """Rows within the ranges of the features, and beyond: twice as wide, and numbers of all sizes and signs."""
    rng = np.random.default_rng(0)
    if quantiles is None:
        quantiles = np.repeat([[-3.0], [3.0]], n_features, axis=1)
    shape, low, high = (N_ROWS, n_features), quantiles[0], quantiles[-1]
    inside = rows_like(quantiles, N_ROWS)
    ends = np.where(rng.random(shape) < 0.5, low, high)
    is_end = rng.random(shape) < 0.1
    with np.errstate(all="ignore"):
        wide = low + (2 * rng.random(shape) - 0.5) * (high - low)
    positive = np.exp(rng.normal(size=shape))
    signed = positive * rng.choice([-1.0, 1.0], shape) * 10.0 ** rng.integers(-2, 3, shape)
    return np.where(is_end, ends, inside), np.concatenate([wide, positive, signed])


def rows_like(quantiles: Matrix, n_rows: int) -> Matrix:
    """Rows of independent features with these quantiles, (n_rows, n_features)."""
    rng = np.random.default_rng(1)
    places = rng.random((n_rows, quantiles.shape[1])) * (len(quantiles) - 1)
    k, column = places.astype(np.int64), np.arange(quantiles.shape[1])
    with np.errstate(all="ignore"):  # the width of huge features may be infinite
        return np.asarray(quantiles[k, column] + (places - k) * (quantiles[k + 1, column] - quantiles[k, column]))


def is_equal(forest: Forest, first: int, second: int, rows: tuple[Matrix, Matrix], *, is_known: bool) -> bool:
    """Whether two programs have the same values, but for rounding.

    Within ranges that are known, both must have values on the same rows; elsewhere, where the first one has.
    """
    inside, beyond = rows
    one, two = values_of(forest, [first, second], inside)
    has = np.isfinite(one)
    if is_known and not np.array_equal(has, np.isfinite(two)):
        return False
    has &= np.abs(one) < HUGE
    if not _are_close(one[has], two[has], _spread(one[has])):
        return False
    one, two, shaken = *values_of(forest, [first, second], beyond), values_of(forest, [first], beyond * (1 + 1e-14))[0]
    with np.errstate(all="ignore"):
        rounding = np.abs(shaken - one)
        has = np.isfinite(one) & np.isfinite(rounding) & (np.abs(one) < HUGE)
    return _are_close(one[has], two[has], np.abs(one[has]) + 1e12 * rounding[has] + _spread(one[has]))


def _spread(values: Matrix) -> Any:
    """How far values lie apart, or how large they are if that is nothing."""
    return float(values.std() or np.abs(values).max() or 1.0) if values.size else 1.0


def _are_close(one: Matrix, two: Matrix, size: Any) -> bool:
    with np.errstate(all="ignore"):
        return bool((np.abs(one - two) <= TOLERANCE * size + 4e-16 * np.abs(one)).all())
