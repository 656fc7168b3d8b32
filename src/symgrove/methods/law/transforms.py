"""Transforms T of the target: T(y / m) is a linear combination of terms, so that y = m times the inverse of one.

Least squares of the transform weighs rows by 1 / |T'|, so that its errors are those of the target, to first order.
Where the target is noisy, that holds near its smooth values s: T(y) is T(s) + T'(s) (y - s) then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from symgrove.methods.law.algebra import least_squares
from symgrove.methods.law.findings import Findings
from symgrove.methods.law.formulas import LawFormulas, RowSet

Matrix = NDArray[np.float64]
FEWEST_USABLE = 0.9  # of the rows
LARGEST_WEIGHT = 20.0  # times the median


class Transform(NamedTuple):
    """A power of the target, T(y) = y^degree, or another function, whose degree is 0."""

    name: str
    degree: float
    forward: Callable[[Matrix], Matrix]
    slope: Callable[[Matrix], Matrix]  # T'
    needs_one_sign: bool


def _power(degree: float) -> Transform:
    is_whole = degree == int(degree)
    return Transform(
        f"y^{degree:g}",
        degree,
        lambda y: np.power(y, degree) if is_whole else np.power(np.abs(y), degree),
        lambda y: degree * (np.power(y, degree - 1.0) if is_whole else np.sign(y) * np.power(np.abs(y), degree - 1.0)),
        degree not in (1.0, -1.0),
    )


ITSELF = _power(1.0)
POWERS = {degree: _power(degree) for degree in (1.0, -1.0, 2.0, -2.0, 0.5, -0.5)}
LOG = Transform("log y", 0.0, lambda y: np.log(np.abs(y)), lambda y: 1.0 / y, needs_one_sign=True)
SIN = Transform("sin y", 0.0, np.sin, np.cos, needs_one_sign=False)
COS = Transform("cos y", 0.0, np.cos, lambda y: -np.sin(y), needs_one_sign=False)
INVERSES = {"sin y": "arcsin", "cos y": "arccos"}


class Transformed(NamedTuple):
    """A target as a transform sees it, with what each row weighs; rows without a value weigh nothing.

    `sign` is that of the target divided by the multiplier, on most rows.
    """

    target: Matrix
    weight: Matrix
    usable: NDArray[np.bool_]
    sign: float


def transformed(transform: Transform, rows: RowSet, multiplier: Matrix | float = 1.0) -> Transformed | None:
    """The target divided by a multiplier and transformed; None if too few rows have a value."""
    with np.errstate(all="ignore"):
        quotient = (rows.y if rows.smooth is None else rows.smooth) / multiplier
        target, slope = transform.forward(quotient), transform.slope(quotient)
        if rows.smooth is not None:
            target = target + slope * ((rows.y - rows.smooth) / multiplier)
        weight = np.abs(multiplier / slope)
    usable = np.isfinite(target) & np.isfinite(weight)
    sign = -1.0 if usable.any() and np.median(quotient[usable]) < 0 else 1.0
    if transform.needs_one_sign:
        usable &= quotient * sign > 0
    if usable.mean() < FEWEST_USABLE or not weight[usable].any():
        return None
    if rows.root_weight is not None:
        weight = weight * rows.root_weight
    most = LARGEST_WEIGHT * np.median(weight[usable])
    return Transformed(np.where(usable, target, 0.0), np.where(usable, np.minimum(weight, most), 0.0), usable, sign)


def offer_linear(
    findings: Findings,
    transform: Transform,
    multiplier: int,
    terms: Sequence[int],
    origin: str,
    *,
    constants: Sequence[bool] = (True, False),
) -> None:
    """Offer m * T^-1(c1 t1 + c2 t2 + ... + c0), with a constant c0 and without, fitted in the transform's space."""
    formulas, rows = findings.formulas, findings.some
    own = transformed(transform, rows, formulas.predict(multiplier, rows) if multiplier != formulas.one else 1.0)
    if own is None:
        return
    columns = np.stack([formulas.predict(term, rows) for term in terms])
    for has_constant in constants:
        both = np.vstack([columns, np.ones(rows.n_rows)]) if has_constant else columns
        usable = own.usable & np.isfinite(both).all(axis=0)
        if usable.mean() < FEWEST_USABLE:
            return
        weight = np.where(usable, own.weight, 0.0)
        A = np.where(usable, both, 0.0) * weight
        length = np.sqrt((A**2).sum(axis=1)) + 1e-300
        if not np.isfinite(length).all():
            return
        coefficients = least_squares(A / length[:, None], own.target * weight, 1e-13) / length
        parts = [*terms, *([formulas.one] if has_constant else [])]
        made = _formula(formulas, transform, multiplier, parts, coefficients.tolist(), own.sign)
        if made is not None:
            findings.offer(*made, origin)


def _formula(
    formulas: LawFormulas, transform: Transform, multiplier: int, parts: list[int], c: list[float], sign: float
) -> tuple[int, tuple[float, ...]] | None:
    if not np.isfinite(c).all() or c[0] == 0:
        return None
    degree = transform.degree
    if transform is LOG:
        return _exponential(formulas, multiplier, parts, c, sign)
    if not degree:
        inner = _weighted(formulas, parts, range(len(parts)))
        return formulas.mul(multiplier, formulas.call(INVERSES[transform.name], inner)), tuple(c)
    if degree in (1.0, -1.0):
        return min(
            (
                _power_of_sum(formulas, transform, *each, c, sign)
                for each in _written(formulas, degree, multiplier, parts)
            ),
            key=lambda made: np.inf if made is None else formulas.bits(made[0]),
        )
    return _power_of_sum(formulas, transform, multiplier, parts, c, sign)


def _written(
    formulas: LawFormulas, degree: float, multiplier: int, parts: list[int]
) -> Iterator[tuple[int, list[int]]]:
    """What all parts have in common written once; and no part a quotient."""
    above, below, rests = formulas.without_common(parts)
    front = formulas.mul(multiplier, formulas.div(*((above, below) if degree > 0 else (below, above))))
    yield front, rests
    denominator, cleared = formulas.without_denominators(rests)
    if denominator != formulas.one:
        yield formulas.div(front, denominator) if degree > 0 else formulas.mul(front, denominator), cleared


def _power_of_sum(
    formulas: LawFormulas, transform: Transform, multiplier: int, parts: list[int], c: list[float], sign: float
) -> tuple[int, tuple[float, ...]] | None:
    degree = transform.degree
    # The leading term has the coefficient one, so that the factor is in front of everything.
    leading = 0
    if degree in (2.0, -2.0):
        leading = next((i for i, value in enumerate(c) if value > 0), -1)
        if leading < 0:
            return None
    order = [leading, *(i for i in range(len(c)) if i != leading)]
    inner = _weighted(formulas, [parts[i] for i in order], [None, *range(1, len(c))])
    factor = abs(c[leading]) ** (1.0 / degree)
    if degree in (1.0, -1.0):
        factor = c[leading] ** degree
    else:
        factor *= sign
    root = formulas.mul(formulas.free(0), formulas.mul(multiplier, formulas.power(inner, 1.0 / degree)))
    return root, (factor, *(c[i] / c[leading] for i in order[1:]))


def _exponential(
    formulas: LawFormulas, multiplier: int, parts: list[int], c: list[float], sign: float
) -> tuple[int, tuple[float, ...]] | None:
    has_constant = parts[-1] == formulas.one
    if not has_constant:
        return None
    inner = _weighted(formulas, parts[:-1], range(1, len(parts)))
    with np.errstate(over="ignore"):
        factor = sign * float(np.exp(c[-1]))
    root = formulas.mul(formulas.free(0), formulas.mul(multiplier, formulas.call("exp", inner)))
    return root, (factor, *c[:-1])


def _weighted(formulas: LawFormulas, parts: Sequence[int], places: Sequence[int | None] | range) -> int:
    """The sum of parts times free constants; None: times one."""
    total = None
    for part, place in zip(parts, places, strict=True):
        own = part if place is None else formulas.mul(formulas.free(place), part)
        total = own if total is None else formulas.add(total, own)
    assert total is not None
    return total
