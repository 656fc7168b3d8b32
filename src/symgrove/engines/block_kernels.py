"""The loop of every built-in primitive over one block of rows.

Each takes raw pointers (out, left, right), the number of rows and epsilon, and is compiled once for each dtype, when a
primitive set first uses it. Unary primitives ignore `right`. The arithmetic is that of the primitive's NumPy meaning
in `forest/primitives.py`, in the same order, so that results agree to the last bit wherever only + - * / and the
square root are involved.

`one(x)` and `zero(x)` make constants of the type of x: a bare 1.0 would drag float32 code into float64.
"""

from __future__ import annotations

import math

from symgrove._jit import float_to_bits, subroutine
from symgrove.engines.vector_math_kernels import TRIGONOMETRIC_LIMIT, cos, exp, exp_uncapped, expm1, log, sin

# As in forest/primitives.py. Kernels take constants from kernel files only: a change must be seen by the cache.
EXP_CAP = 80.0


@subroutine
def one(x):
    return type(x)(1)


@subroutine
def zero(x):
    return type(x)(0)


def copy(out, left, right, n_rows, epsilon):
    for i in range(n_rows):
        out[i] = left[i]


def fill(out, left, right, n_rows, epsilon):
    """The constant arrives as epsilon."""
    for i in range(n_rows):
        out[i] = epsilon


def add(out, left, right, n_rows, epsilon):
    for i in range(n_rows):
        out[i] = left[i] + right[i]


def sub(out, left, right, n_rows, epsilon):
    for i in range(n_rows):
        out[i] = left[i] - right[i]


def mul(out, left, right, n_rows, epsilon):
    for i in range(n_rows):
        out[i] = left[i] * right[i]


def div(out, left, right, n_rows, epsilon):
    for i in range(n_rows):
        a, b = left[i], right[i]
        out[i] = (-a if b < zero(b) else a) / (abs(b) + epsilon)


def pdiv(out, left, right, n_rows, epsilon):
    for i in range(n_rows):
        b = right[i]
        out[i] = left[i] / (one(b) if b == zero(b) else b)


def aq(out, left, right, n_rows, epsilon):
    for i in range(n_rows):
        b = right[i]
        out[i] = left[i] / math.sqrt(one(b) + b * b)


def minimum(out, left, right, n_rows, epsilon):
    for i in range(n_rows):
        a, b = left[i], right[i]
        out[i] = a if (a < b) | (a != a) else b


def maximum(out, left, right, n_rows, epsilon):
    for i in range(n_rows):
        a, b = left[i], right[i]
        out[i] = a if (a > b) | (a != a) else b


def step(out, left, right, n_rows, epsilon):
    for i in range(n_rows):
        a = left[i]
        out[i] = one(a) if a > right[i] else zero(a)


def sqrt(out, left, right, n_rows, epsilon):
    for i in range(n_rows):
        out[i] = math.sqrt(abs(left[i]))


def log_protected(out, left, right, n_rows, epsilon):
    for i in range(n_rows):
        out[i] = log(abs(left[i]) + epsilon)


def log1p_abs(out, left, right, n_rows, epsilon):
    for i in range(n_rows):
        a = abs(left[i])
        u = one(a) + a
        # 1 + a is rounded; the second term puts back what was lost.
        correction = (a - (u - one(a))) / u
        out[i] = log(u) + (correction if correction == correction else zero(a))


def exp_capped(out, left, right, n_rows, epsilon):
    for i in range(n_rows):
        a = left[i]
        cap = type(a)(EXP_CAP)
        out[i] = exp(cap if a > cap else a)


def tanh(out, left, right, n_rows, epsilon):
    for i in range(n_rows):
        a = left[i]
        cap = type(a)(22)
        size = abs(a)
        e = expm1(type(a)(2) * (cap if size > cap else size))
        out[i] = math.copysign(e / (e + type(a)(2)), a)


@subroutine
def _has_large(values, n_rows, limit):
    """Whether some |value| exceeds the limit or is not finite; bits as integers, because their maximum vectorises."""
    zero_bits = float_to_bits(values[0]) * 0
    largest = zero_bits
    for i in range(n_rows):
        bits = float_to_bits(abs(values[i]))
        largest = bits if bits > largest else largest
    return largest > float_to_bits(limit)


def sine(out, left, right, n_rows, epsilon):
    limit = type(left[0])(TRIGONOMETRIC_LIMIT)
    is_large = _has_large(left, n_rows, limit)
    if is_large:
        for i in range(n_rows):
            a = left[i]
            out[i] = sin(a) if abs(a) <= limit else math.sin(a)
    else:
        for i in range(n_rows):
            out[i] = sin(left[i])


def cosine(out, left, right, n_rows, epsilon):
    limit = type(left[0])(TRIGONOMETRIC_LIMIT)
    is_large = _has_large(left, n_rows, limit)
    if is_large:
        for i in range(n_rows):
            a = left[i]
            out[i] = cos(a) if abs(a) <= limit else math.cos(a)
    else:
        for i in range(n_rows):
            out[i] = cos(left[i])


def square(out, left, right, n_rows, epsilon):
    for i in range(n_rows):
        a = left[i]
        out[i] = a * a


def cube(out, left, right, n_rows, epsilon):
    for i in range(n_rows):
        a = left[i]
        out[i] = a * a * a


def neg(out, left, right, n_rows, epsilon):
    for i in range(n_rows):
        out[i] = -left[i]


def absolute(out, left, right, n_rows, epsilon):
    for i in range(n_rows):
        out[i] = abs(left[i])


def plain_div(out, left, right, n_rows, epsilon):
    for i in range(n_rows):
        out[i] = left[i] / right[i]


def plain_sqrt(out, left, right, n_rows, epsilon):
    for i in range(n_rows):
        out[i] = math.sqrt(left[i])


def plain_log(out, left, right, n_rows, epsilon):
    for i in range(n_rows):
        out[i] = log(left[i])


def plain_exp(out, left, right, n_rows, epsilon):
    for i in range(n_rows):
        out[i] = exp_uncapped(left[i])


@subroutine
def _power(a, b):
    """a**b; exponents that laws have as products, so that a row's result does not depend on the rows beside it."""
    inverse = one(a) / a
    # A root of -0 is 0 as a power, and one of -inf is inf.
    root = math.sqrt(a) + zero(a)
    root = abs(a) if a == -math.inf else root
    if b == type(b)(2):
        return a * a
    if b == type(b)(3):
        return a * a * a
    if b == type(b)(-1):
        return inverse
    if b == type(b)(-2):
        return inverse * inverse
    if b == type(b)(0.5):
        return root
    return math.pow(a, b)


def power(out, left, right, n_rows, epsilon):
    for i in range(n_rows):
        out[i] = _power(left[i], right[i])


def arcsine(out, left, right, n_rows, epsilon):
    for i in range(n_rows):
        out[i] = math.asin(left[i])


def arccosine(out, left, right, n_rows, epsilon):
    for i in range(n_rows):
        out[i] = math.acos(left[i])
