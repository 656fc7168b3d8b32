"""Exact derivatives of a model's prediction with respect to its features: formulas differentiate.

The plan of the model (models/plan.py) is run forwards, then backwards (reverse mode): one pass gives the derivatives
with respect to all features, clips and the way members are combined included. At kinks (of max, abs) it is the
derivative to one side, at the limit of a clip to the inside, and where there is none (a root of zero) 0. Votes have no
derivative; theirs is that of the mean of the members' scaled outputs.

Features with few values, such as 0 and 1, do not move by a little: where moves are measured (`sensitivity`, the
display), theirs are differences between neighbouring values.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symgrove._style import Axes, new_axes, plain
from symgrove.blas import product
from symgrove.estimators.base import Estimator
from symgrove.estimators.fitted import labels_of, plan_of
from symgrove.inspection._input import checked, class_index
from symgrove.models.plan import MemberBlock, Plan, PlanTarget, Step

Matrix = NDArray[np.float64]
VALUES_AT_A_TIME = 1 << 24
FEW_VALUES = 10  # of a feature
ROUNDING = 1e-6  # of the width of a clip: a row at its limit may be computed to lie just outside


def _is_inside(values: Matrix, low: float, high: float) -> NDArray[np.bool_]:
    """Whether a clip lets values move, to one side at least."""
    slack = ROUNDING * (high - low)
    return (values >= low - slack) & (values <= high + slack) & (low < high)


# Steps of plans that are no primitives: value and derivative, from the first operands and the numbers.
_OWN: dict[str, tuple[Callable[..., Any], tuple[Callable[..., Any], ...]]] = {
    "quotient": (lambda a, b: a / b, (lambda a, b: 1 / b, lambda a, b: -a / b**2)),
    "within": (np.clip, (lambda a, low, high: _is_inside(a, low, high).astype(float),)),
    "finite": (
        lambda a, other: np.where(np.isfinite(a), a, other),
        (lambda a, other: np.where(np.isfinite(a), 1.0, 0.0),),
    ),
}


def derivatives(model: Estimator, X: Any, target: Any = None) -> Matrix:
    """Derivative of the prediction with respect to each feature, on each row.

    Parameters
    ----------
    model : fitted estimator of symgrove
    X : array-like of shape (n_rows, n_features)
    target : label, optional
        Of a classifier: the class whose probability is differentiated; the last one if not given.

    Returns
    -------
    derivatives : ndarray of shape (n_rows, n_features)
        In units of the prediction for one unit of the feature. 0 where it is missing; NaN for categories.

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from symgrove import TwoSEGPRegressor, inspection
    >>> X, y = make_friedman1(60, random_state=0)
    >>> model = TwoSEGPRegressor(population_size=50, n_estimators=5, generations=5, random_state=0).fit(X, y)
    >>> inspection.derivatives(model, X).shape  # a slope for each row and feature
    (60, 10)
    """
    table, plan = np.asarray(checked(model, X)), plan_of(model)
    found = _derivatives(plan, plan.columns.features(table), class_index(model, target) or 0)
    return _of_columns(plan, table, found)


def _of_columns(plan: Plan, table: Matrix, slopes: Matrix) -> Matrix:
    """Derivatives with respect to columns, from those with respect to features."""
    if plan.columns.is_plain and not np.isnan(table).any():
        return slopes
    first = np.searchsorted(plan.columns.owners, np.arange(len(plan.columns)))
    found = np.where(np.isnan(table), 0.0, slopes[:, first])
    found[:, plan.columns.categorical] = np.nan
    return found


def unknown_derivatives(plan: Plan) -> list[str]:
    """Names of the user's functions in a plan whose derivatives nobody has given."""
    rows = {step.primitive.name: step.primitive for step in plan.steps if step.primitive is not None}
    return [name for name, row in rows.items() if not row.derivative]


def _derivatives(plan: Plan, X: Matrix, k: int) -> Matrix:
    unknown = unknown_derivatives(plan)
    if unknown:
        raise ValueError(
            f"this model uses functions of yours without derivatives: {', '.join(unknown)}. Give them: "
            f"symgrove.primitive({unknown[0]}, derivative=(...)), with a function of arrays for each operand. A fitted "
            "model takes them when it is read again: model.save(path), then symgrove.load(path, functions=[...])."
        )
    return _in_parts(plan, np.asarray(X), lambda rows: _of_rows(plan, rows, k))


def _in_parts(plan: Plan, X: Matrix, function: Callable[[Matrix], Matrix]) -> Matrix:
    """A function of rows on so many at a time that the values of all steps fit into memory."""
    n_at_once = max(1, VALUES_AT_A_TIME // max(len(plan.steps), 1))
    return np.concatenate([function(X[start : start + n_at_once]) for start in range(0, len(X), n_at_once)])


def sensitivity(model: Estimator, X: Any, target: Any = None) -> Matrix:
    """Mean size of the derivatives times the standard deviations of the features, (n_features,).

    How much the prediction moves, on average, with a small move of a feature, a standard deviation as the unit. Of a
    feature with few values (up to 10, at least three rows for each), with a move to a neighbouring value. Of
    categories, from the mean over the categories of all rows to the own one. Of votes, what moves is the mean of the
    members' outputs.

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from symgrove import TwoSEGPRegressor, inspection
    >>> X, y = make_friedman1(60, random_state=0)
    >>> model = TwoSEGPRegressor(population_size=50, n_estimators=5, generations=5, random_state=0).fit(X, y)
    >>> inspection.sensitivity(model, X).shape
    (10,)
    """
    X = checked(model, X)
    found: Matrix = np.abs(_moves(model, X, class_index(model, target))).mean(axis=0)
    return found


def _moves(model: Estimator, X: Matrix, target: int | None) -> Matrix:
    """Moves of the prediction for a standard deviation of each feature, on each row, (n_rows, n_features)."""
    plan, k, table = plan_of(model), target or 0, np.asarray(X)
    found = _of_columns(plan, table, _derivatives(plan, plan.columns.features(table), k))
    filled = plan.columns.filled(table)
    spread = filled.std(axis=0)
    for j, column in enumerate(plan.columns):
        values = np.unique(filled[:, j])
        if column.categories is not None:
            found[:, j], spread[j] = _effects(plan, table, j, k), 1.0
        elif 1 < values.size <= min(FEW_VALUES, len(table) // 3):
            found[:, j] = _differences(plan, table, j, filled[:, j], k)
    return found * spread


def _with_value(plan: Plan, table: Matrix, j: int, value: float, k: int) -> Matrix:
    """What is differentiated, on rows with the same value in a column."""
    changed = table.copy()
    changed[:, j] = value
    return _in_parts(plan, plan.columns.features(changed), lambda rows: _value_of_rows(plan, rows, k))


def _effects(plan: Plan, table: Matrix, j: int, k: int) -> Matrix:
    """What the own category of each row adds to the mean over the categories of all rows."""
    codes, own, counts = np.unique(table[:, j], return_inverse=True, return_counts=True)
    at = np.stack([_with_value(plan, table, j, code, k) for code in codes])
    effects: Matrix = at[own, np.arange(len(table))] - product(counts / len(table), at)
    return effects


def _differences(plan: Plan, table: Matrix, j: int, column: Matrix, k: int) -> Matrix:
    """Mean slope from each row to the neighbouring values of a feature, of what is differentiated."""
    values = np.unique(column)
    at = [_with_value(plan, table, j, value, k) for value in values]
    slopes = np.diff(np.stack(at), axis=0) / np.diff(values)[:, None]  # (n_values - 1, n_rows)
    own = np.searchsorted(values, column)
    rows = np.arange(len(table))
    below, above = slopes[np.maximum(own - 1, 0), rows], slopes[np.minimum(own, len(slopes) - 1), rows]
    return np.asarray((below + above) / 2)


def _of_rows(plan: Plan, X: Matrix, k: int) -> Matrix:
    with np.errstate(all="ignore"):
        values = _forwards(plan, X)
        if plan.classes is None:
            return _backwards(plan, values, plan.targets[k], X)[1]
        found = [_backwards(plan, values, target, X) for target in plan.targets]
        return _of_probability(plan, np.stack([f[0] for f in found]), np.stack([f[1] for f in found]), k)


def _value_of_rows(plan: Plan, X: Matrix, k: int) -> Matrix:
    """What is differentiated: the prediction or probability, but of votes the mean of the members' outputs."""
    with np.errstate(all="ignore"):
        values = _forwards(plan, X)
        found = np.stack([_backwards(plan, values, target, X)[0] for target in plan.targets])
        return found[k] if plan.classes is None else _probabilities(plan, found)[1][k]


def _forwards(plan: Plan, X: Matrix) -> list[Matrix]:
    values: list[Matrix] = []
    for step in plan.steps:
        if step.name == "input":
            values.append(X[:, int(step.numbers[0])])
        elif step.name == "constant":
            values.append(np.full(len(X), step.numbers[0]))
        else:
            values.append(np.asarray(_apply(_meaning(step), step, values)))
    return values


def _meaning(step: Step) -> Callable[..., Any]:
    return _OWN[step.name][0] if step.primitive is None else step.primitive.meaning


def _apply(function: Callable[..., Any], step: Step, values: list[Matrix]) -> Any:
    operands = [values[arg] for arg in step.args]
    if step.primitive is None:
        return function(*operands, *step.numbers)
    first, second = operands[0], operands[-1]  # functions of one operand ignore the second
    return function(first, second, step.numbers[0] if step.numbers else 0.0)


def _backwards(plan: Plan, values: list[Matrix], target: PlanTarget, X: Matrix) -> tuple[Matrix, Matrix]:
    """A target's value, (n_rows,), and its derivatives, (n_rows, n_features)."""
    adjoint: dict[int, Matrix] = {}
    total = np.full(len(X), 0.0 if target.base is None else target.base)
    for weight, block in zip(target.weights, target.blocks, strict=True):
        outputs = np.stack([values[v] for v in block.values]) if block.values else np.empty((0, len(X)))
        found, slopes = _block(block, outputs)
        total = found if target.base is None else total + weight * (found - target.base)
        for position, value in enumerate(block.values):
            adjoint[value] = adjoint.get(value, 0.0) + weight * slopes[position]
    result = np.zeros(X.shape)
    for i in range(len(plan.steps) - 1, -1, -1):
        own = adjoint.pop(i, None)
        step = plan.steps[i]
        if own is None or step.name == "constant":
            continue
        if step.name == "input":
            result[:, int(step.numbers[0])] += own
            continue
        local = _OWN[step.name][1] if step.primitive is None else step.primitive.derivative
        for arg, derivative in zip(step.args, local, strict=True):
            slope = _apply(derivative, step, values)
            # A root of zero has no slope; mostly it is one of x - x, which is zero all around.
            adjoint[arg] = adjoint.get(arg, 0.0) + np.where(np.isfinite(slope), own * slope, 0.0)
    if target.inverse is not None:
        _, low, high = target.inverse
        slope = np.where(_is_inside(total, low, high), target.inverse.slope(total), 0.0)
        return target.inverse.undo(total), result * slope[:, None]
    return total, result


def _block(block: MemberBlock, outputs: Matrix) -> tuple[Matrix, Matrix]:
    """Value of a block, and its derivatives with respect to its values, (n_values, n_rows)."""
    coefficients = np.zeros((len(block.rows), len(block.values)))
    for j, row in enumerate(block.rows):
        np.add.at(coefficients[j], list(row.indices), row.coefficients)
    intercept = np.array([row.intercept for row in block.rows])
    if block.combine == "pooled":
        is_finite = np.isfinite(outputs)
        counts = product(np.array(block.counts), is_finite)
        members = np.where(is_finite, coefficients.diagonal()[:, None] * outputs + intercept[:, None], 0.0)
        slopes = np.where(is_finite, coefficients.diagonal()[:, None] / counts, 0.0)
        return _or_fallback(block, members.sum(axis=0) / counts, slopes)
    # A value that is not finite spoils only the members that have it.
    is_finite = np.isfinite(outputs)
    sums = product(coefficients, np.where(is_finite, outputs, 0.0)) + intercept[:, None]
    sums = np.where(product((coefficients != 0).astype(float), ~is_finite) > 0, np.nan, sums)
    members, local = _headed(block, sums)
    value, shares = _combined(block, members)
    slopes = product(coefficients.T, np.where((shares == 0) | ~np.isfinite(local), 0.0, shares * local))
    return _or_fallback(block, value, slopes)


def _or_fallback(block: MemberBlock, value: Matrix, slopes: Matrix) -> tuple[Matrix, Matrix]:
    if block.fallback is None:
        return value, slopes
    is_finite = np.isfinite(value)
    return np.where(is_finite, value, block.fallback), np.where(is_finite, slopes, 0.0)


def _headed(block: MemberBlock, members: Matrix) -> tuple[Matrix, Matrix]:
    """Members after the head, and the head's derivative."""
    low, high = block.limits
    if block.head == "within":
        return np.clip(members, low, high), _is_inside(members, low, high).astype(float)
    if block.head == "share":
        shifted = members - (block.threshold - 0.5)
        return np.clip(shifted, 0.0, 1.0), _is_inside(shifted, 0.0, 1.0).astype(float)
    if block.head == "logistic":
        p = 1 / (1 + np.exp(-np.clip(members, low, high)))
        return p, np.where(_is_inside(members, low, high), p * (1 - p), 0.0)
    if block.head == "exponential":
        mean = np.exp(np.clip(members, low, high))
        return mean, np.where(_is_inside(members, low, high), mean, 0.0)
    return members, np.ones(members.shape)


def _combined(block: MemberBlock, members: Matrix) -> tuple[Matrix, Matrix]:
    """What members say together, and the share of each in it."""
    n = len(members)
    counted = np.ones(members.shape, dtype=bool) if block.fallback is None else np.isfinite(members)
    if block.combine == "mean":
        shares = counted / counted.sum(axis=0)
    else:
        if block.combine == "trimmed" and block.fallback is not None:
            members = np.where(counted, members, block.fallback)
        order = np.argsort(np.where(np.isfinite(members), members, np.inf), axis=0, kind="stable")
        place = np.argsort(order, axis=0)
        if block.combine == "trimmed":
            shares = ((place >= block.n_outer) & (place < n - block.n_outer)) / (n - 2 * block.n_outer)
        else:
            n_counted = counted.sum(axis=0)
            shares = 0.5 * (place == (n_counted - 1) // 2) + 0.5 * (place == n_counted // 2)
    value = np.sum(np.where(shares == 0, 0.0, shares * members), axis=0)
    return value, np.where(counted, shares, 0.0)


def _of_probability(plan: Plan, scores: Matrix, slopes: Matrix, k: int) -> Matrix:
    """Derivatives of the probability of class k, from the targets and theirs, (n_targets, n_rows, n_features)."""
    shares = _probabilities(plan, scores)[0]
    if len(scores) == 1:
        of_shares = np.stack([-slopes[0], slopes[0]])
    else:
        total = scores.sum(axis=0)
        of_total = shares[:, :, None] * slopes.sum(axis=0)
        of_shares = np.where((total == 0)[:, None], 0.0, (slopes - of_total) / total[:, None])
    if plan.correction is None:
        return of_shares[k]
    power, weights, floor = plan.correction
    raised = weights[:, None] * np.maximum(shares, floor) ** power
    of_raised = np.where(shares > floor, power * raised / np.maximum(shares, floor), 0.0)[:, :, None] * of_shares
    sums = raised.sum(axis=0)[:, None]
    result: Matrix = (of_raised[k] - raised[k][:, None] / sums * of_raised.sum(axis=0)) / sums
    return result


def _probabilities(plan: Plan, scores: Matrix) -> tuple[Matrix, Matrix]:
    """Shares of the classes from the targets, (n_classes, n_rows), as they are and corrected."""
    if len(scores) == 1:
        shares = np.stack([1 - scores[0], scores[0]])
    else:
        total = scores.sum(axis=0)
        shares = np.where(total == 0, 1 / len(scores), scores / total)
    if plan.correction is None:
        return shares, shares
    power, weights, floor = plan.correction
    raised = weights[:, None] * np.maximum(shares, floor) ** power
    return shares, raised / raised.sum(axis=0)


class DerivativeDisplay:
    """How strongly, and in which direction, the prediction reacts to each feature: the derivatives on all rows.

    Attributes
    ----------
    values : ndarray of shape (n_rows, n_features)
        Derivatives times the standard deviation of each feature; of features with few values, differences instead.
    features : list of str

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from symgrove import TwoSEGPRegressor, inspection
    >>> X, y = make_friedman1(60, random_state=0)
    >>> model = TwoSEGPRegressor(population_size=50, n_estimators=5, generations=5, random_state=0).fit(X, y)
    >>> display = inspection.DerivativeDisplay.from_estimator(model, X)
    >>> display.values.shape
    (60, 10)
    """

    def __init__(self, values: Matrix, features: list[str]) -> None:
        self.values = values
        self.features = features

    @classmethod
    def from_estimator(
        cls, model: Estimator, X: Any, *, target: Any = None, ax: Axes | None = None
    ) -> DerivativeDisplay:
        """Compute and plot."""
        X = checked(model, X)
        return cls(_moves(model, X, class_index(model, target)), labels_of(model)).plot(ax=ax)

    def plot(self, ax: Axes | None = None, n_most: int = 15) -> DerivativeDisplay:
        """Draw a box for each of the features with the largest derivatives: half of the rows, and nine tenths."""
        self.ax_ = new_axes(ax)
        self.figure_ = self.ax_.figure
        order = np.argsort(np.abs(self.values).mean(axis=0))[-n_most:]
        self.ax_.axvline(0, color="grey", linewidth=0.8)
        self.ax_.boxplot(self.values[:, order], orientation="horizontal", whis=(5, 95), showfliers=False)
        self.ax_.set_yticks(range(1, order.size + 1), [plain(self.features[i]) for i in order])
        self.ax_.set_xlabel("change for one standard deviation")
        return self
