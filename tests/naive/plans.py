"""What a plan of an export means: NumPy, one operation after the other.

With `noise`, the results of arithmetic and functions are moved by so much, relatively: rows on which four units in the
last place move the prediction by more than a tolerance are ill-conditioned, and languages need not agree on them.
"""

import warnings

import numpy as np

from tests.naive.programs import MEANING

# Operations that only choose among numbers.
EXACT = ("input", "constant", "within", "finite", "min", "max", "step", "neg", "abs")
OWN = {
    "quotient": lambda a, b: a / b,
    "within": lambda a, low, high: np.clip(a, low, high),
    "finite": lambda a, other: np.where(np.isfinite(a), a, other),
}


def evaluate(plan, X, noise=0.0, rng=None):
    """Predictions, of several targets (n_rows, n_targets), or probabilities of the classes, (n_rows, n_classes)."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # rows on which no member counts
        steps = []
        for step in plan.steps:
            steps.append(_moved(_step(step, steps, X), 0 if step.name in EXACT else noise, rng))
        targets = np.stack([_target(target, steps, len(X)) for target in plan.targets])
        if plan.classes is None:
            return targets.T if plan.target_names else targets[0]
        if len(targets) == 1:
            shares = np.stack([1 - targets[0], targets[0]], axis=1)
        else:
            total = targets.sum(axis=0)
            shares = np.where(total == 0, 1 / len(targets), targets / np.where(total == 0, 1, total)).T
        if plan.correction is None:
            return shares
        power, weights, floor = plan.correction
        raised = weights * np.maximum(shares, floor) ** power
        return raised / raised.sum(axis=1, keepdims=True)


def ill_conditioned(plan, X, tolerance, n_trials=10):
    """Rows on which moving results of steps by 4 units in the last place moves the prediction beyond the tolerance."""
    exact = evaluate(plan, X)
    rng = np.random.default_rng(0)
    is_bad = np.zeros(len(X), dtype=bool)
    for _ in range(n_trials):
        moved = evaluate(plan, X, noise=4 * np.finfo(float).eps, rng=rng)
        is_bad |= ~agree(moved, exact, 0.2 * tolerance)
    return is_bad


def overflows(plan, X):
    """Rows on which some step is not finite: Excel has no infinite numbers to go on with."""
    is_over = np.zeros(len(X), dtype=bool)
    with np.errstate(all="ignore"):
        steps = []
        for step in plan.steps:
            steps.append(_step(step, steps, X))
            is_over |= ~np.isfinite(steps[-1])
    return is_over


def agree(a, b, tolerance):
    """Rows on which numbers agree relative to their size; probabilities absolutely, being of the order of one."""
    if b.ndim == 2:
        return (np.abs(a - b) <= tolerance).all(axis=1)
    return (np.abs(a - b) <= tolerance * np.abs(b)) | (a == b)


def _moved(values, noise, rng):
    return values if not noise else values * (1 + noise * rng.choice([-1, 0, 1], size=np.shape(values)))


def _step(step, steps, X):
    args = [steps[arg] for arg in step.args]
    if step.name == "input":
        return X[:, int(step.numbers[0])]
    if step.name == "constant":
        return np.full(len(X), step.numbers[0])
    if step.name in OWN:
        return OWN[step.name](*args, *step.numbers)
    return MEANING[step.name](*args, *(step.numbers or (0.0,)))


def _target(target, steps, n_rows):
    blocks = [_block(block, steps, n_rows) for block in target.blocks]
    if target.base is None:
        return blocks[0]
    return target.base + sum(
        (w * (b - target.base) for w, b in zip(target.weights, blocks, strict=True)), np.zeros(n_rows)
    )


def _block(block, steps, n_rows):
    members = np.stack([_member(row, block, steps, n_rows) for row in block.rows])
    if block.combine == "pooled":
        is_finite = np.isfinite(np.stack([steps[value] for value in block.values]))
        found = np.where(is_finite, members, 0).sum(axis=0) / (np.array(block.counts) @ is_finite)
    elif block.combine == "trimmed":
        if block.fallback is not None:
            members = np.where(np.isfinite(members), members, block.fallback)
        found = np.sort(members, axis=0)[block.n_outer : len(members) - block.n_outer].mean(axis=0)
    else:
        counted = members if block.fallback is None else np.where(np.isfinite(members), members, np.nan)
        found = {"mean": np.nanmean, "median": np.nanmedian}[block.combine](counted, axis=0)
    return found if block.fallback is None else np.where(np.isfinite(found), found, block.fallback)


def _member(row, block, steps, n_rows):
    total = np.full(n_rows, row.intercept)
    for i, coefficient in zip(row.indices, row.coefficients, strict=True):
        total = total + coefficient * steps[block.values[i]]
    return {
        "plain": lambda a: a,
        "within": lambda a: np.clip(a, *block.limits),
        "vote": lambda a: np.where(np.isfinite(a), 1.0 * (a > block.threshold), np.nan),
        "share": lambda a: np.where(np.isfinite(a), np.clip(a - (block.threshold - 0.5), 0, 1), np.nan),
        "logistic": lambda a: 1 / (1 + np.exp(-np.clip(a, *block.limits))),
        "exponential": lambda a: np.exp(np.clip(a, *block.limits)),
    }[block.head](total)
