"""log, exp, expm1, sin and cos as straight-line code that LLVM turns into vector instructions.

Numba's wheels come without a vector maths library, so a call of libm in a loop stays scalar and costs fifty times a
multiplication. Each function exists for float64 and float32; `log(x)` and its siblings pick by type. Arguments are
reduced to a small interval, where a polynomial (interpolation at Chebyshev nodes, 60 digits) is accurate to a few
units in the last place. sin and cos hold up to `TRIGONOMETRIC_LIMIT`; their blocks send larger arguments to libm.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numba.extending import overload

from symgrove._jit import bits_to_float, float_to_bits, subroutine

f4 = np.float32
i4 = np.int32

# Up to here q * PI_HALF_1 and q * PI_HALF_2 below are exact: q has 20 bits, they have 33.
TRIGONOMETRIC_LIMIT = 1e6

_LN2_HIGH, _LN2_LOW = 0.6931471803691238, 1.9082149292705877e-10
_LN2_HIGH_32, _LN2_LOW_32 = f4(0.693115234375), f4(3.1946184945309415e-05)
_LOG2_E, _LOG2_E_32 = 1.4426950408889634, f4(1.4426950408889634)
_PI_HALF_1, _PI_HALF_2, _PI_HALF_3 = 1.5707963267341256, 6.077100506303966e-11, 2.0222662487959506e-21
_TWO_OVER_PI = 0.6366197723675814
# Adding and subtracting 1.5 * 2**mantissa rounds to a whole number, which then stands in the low bits.
_ROUND, _ROUND_32 = 6755399441055744.0, f4(12582912.0)
_ROUND_BITS, _ROUND_BITS_32 = 0x4338000000000000, i4(0x4B400000)
# log: m lies in [sqrt(1/2), sqrt(2)).
_ONE_BITS, _SQRT_HALF_BITS, _MANTISSA = 0x3FF0000000000000, 0x3FE6A09E667F3BCD, 0x000FFFFFFFFFFFFF
# Numba widens int32 arithmetic to int64, so the float32 functions cut every result back with i4.
_ONE_BITS_32, _SQRT_HALF_BITS_32, _MANTISSA_32 = i4(0x3F800000), i4(0x3F3504F3), i4(0x007FFFFF)


@subroutine
def _log64(x):
    is_small = x < 2.2250738585072014e-308
    bits = float_to_bits(x * 18014398509481984.0 if is_small else x) + (_ONE_BITS - _SQRT_HALF_BITS)
    k = float((bits >> 52) - 1023) - (54.0 if is_small else 0.0)
    f = bits_to_float((bits & _MANTISSA) + _SQRT_HALF_BITS) - 1.0
    s = f / (2.0 + f)
    z = s * s
    p = 0.14616585424888622
    p = p * z + 0.15331710618210772
    p = p * z + 0.18182889455674946
    p = p * z + 0.22222211130259877
    p = p * z + 0.28571428626003269
    p = p * z + 0.39999999999899443
    p = p * z + 0.66666666666666697
    half = 0.5 * f * f
    y = k * _LN2_HIGH + (f - (half - (s * (half + z * p) + k * _LN2_LOW)))
    y = y if x < np.inf else x
    y = y if x > 0.0 else (-np.inf if x == 0.0 else np.nan)
    return y


@subroutine
def _log32(x):
    is_small = x < f4(1.1754944e-38)
    bits = i4(float_to_bits(x * f4(33554432.0) if is_small else x) + (_ONE_BITS_32 - _SQRT_HALF_BITS_32))
    k = f4(i4((bits >> i4(23)) - i4(127))) - (f4(25.0) if is_small else f4(0.0))
    f = bits_to_float(i4((bits & _MANTISSA_32) + _SQRT_HALF_BITS_32)) - f4(1.0)
    s = f / (f4(2.0) + f)
    z = s * s
    p = f4(0.23330581938241894)
    p = p * z + f4(0.28550816599711549)
    p = p * z + f4(0.40000121876972001)
    p = p * z + f4(0.66666666554451646)
    half = f4(0.5) * f * f
    y = k * _LN2_HIGH_32 + (f - (half - (s * (half + z * p) + k * _LN2_LOW_32)))
    y = y if x < f4(np.inf) else x
    y = y if x > f4(0.0) else (f4(-np.inf) if x == f4(0.0) else f4(np.nan))
    return y


@subroutine
def _reduce_exp64(x):
    """(expm1(r), k) with exp(x) = 2**k * exp(r) and |r| <= ln(2) / 2."""
    t = x * _LOG2_E + _ROUND
    k = float_to_bits(t) - _ROUND_BITS
    whole = t - _ROUND
    r = (x - whole * _LN2_HIGH) - whole * _LN2_LOW
    p = 1.6086650044578211e-10
    p = p * r + 2.0918170876658783e-9
    p = p * r + 2.5052071034565118e-8
    p = p * r + 2.7557263189476207e-7
    p = p * r + 2.7557319247274563e-6
    p = p * r + 2.4801587336526004e-5
    p = p * r + 1.9841269841263278e-4
    p = p * r + 1.3888888888879043e-3
    p = p * r + 8.333333333333334e-3
    p = p * r + 4.1666666666666677e-2
    p = p * r + 0.16666666666666667
    p = p * r + 0.5
    return r + r * r * p, k


@subroutine
def _reduce_exp32(x):
    """As `_reduce_exp64`, for float32."""
    t = x * _LOG2_E_32 + _ROUND_32
    k = i4(float_to_bits(t) - _ROUND_BITS_32)
    whole = t - _ROUND_32
    r = (x - whole * _LN2_HIGH_32) - whole * _LN2_LOW_32
    p = f4(1.9891030654370328e-4)
    p = p * r + f4(1.3933685862617174e-3)
    p = p * r + f4(8.3333108895820772e-3)
    p = p * r + f4(4.1666464602026542e-2)
    p = p * r + f4(0.16666666681659179)
    p = p * r + f4(0.50000000134981779)
    return r + r * r * p, k


@subroutine
def _exp64(x):
    """exp(x) for x <= 709; two factors of 2**k so that results may be subnormal."""
    p, k = _reduce_exp64(x if not x < -760.0 else -760.0)
    half = k >> 1
    return (1.0 + p) * bits_to_float((half + 1023) << 52) * bits_to_float((k - half + 1023) << 52)


@subroutine
def _exp32(x):
    """exp(x) for x <= 88."""
    p, k = _reduce_exp32(x if not x < f4(-110.0) else f4(-110.0))
    half = i4(k >> i4(1))
    scale = bits_to_float(i4((half + i4(127)) << i4(23)))
    return (f4(1.0) + p) * scale * bits_to_float(i4((k - half + i4(127)) << i4(23)))


@subroutine
def _exp_uncapped64(x):
    """exp(x) for any x: at 710 it overflows to infinity by itself."""
    return _exp64(x if not x > 710.0 else 710.0)


@subroutine
def _exp_uncapped32(x):
    """exp(x) for any x."""
    return _exp32(x if not x > f4(89.0) else f4(89.0))


@subroutine
def _expm1_64(x):
    """exp(x) - 1 for 0 <= x <= 100, accurate near 0."""
    p, k = _reduce_exp64(x)
    scale = bits_to_float((k + 1023) << 52)
    return scale * p + (scale - 1.0)


@subroutine
def _expm1_32(x):
    """exp(x) - 1 for 0 <= x <= 60, accurate near 0."""
    p, k = _reduce_exp32(x)
    scale = bits_to_float(i4((k + i4(127)) << i4(23)))
    return scale * p + (scale - f4(1.0))


@subroutine
def _reduce_pi_half(x):
    """(r, q) with x = q * pi / 2 + r, |r| <= pi / 4, for |x| up to the limit."""
    t = x * _TWO_OVER_PI + _ROUND
    whole = t - _ROUND
    r = ((x - whole * _PI_HALF_1) - whole * _PI_HALF_2) - whole * _PI_HALF_3
    return r, float_to_bits(t) - _ROUND_BITS


@subroutine
def _quadrant64(r, q):
    """sin(r + q * pi / 2)."""
    z = r * r
    s = -7.5866368828251596e-13
    s = s * z + 1.6058530596645955e-10
    s = s * z - 2.5052106225994401e-8
    s = s * z + 2.755731921932058e-6
    s = s * z - 1.9841269841265041e-4
    s = s * z + 8.3333333333333315e-3
    s = s * z - 0.16666666666666667
    c = 4.745838412531023e-14
    c = c * z - 1.1470460319209512e-11
    c = c * z + 2.0876755787492606e-9
    c = c * z - 2.7557319221392491e-7
    c = c * z + 2.4801587301584633e-5
    c = c * z - 1.3888888888888888e-3
    c = c * z + 4.1666666666666667e-2
    # r * (1 + ...) rather than r + ...: it keeps the sign of zero.
    value = (1.0 - 0.5 * z) + z * z * c if q & 1 else r * (1.0 + z * s)
    return -value if q & 2 else value


@subroutine
def _quadrant32(r, q):
    """As `_quadrant64`, to the accuracy of float32."""
    z = r * r
    s = 2.7249620080075329e-6
    s = s * z - 1.9840084376422703e-4
    s = s * z + 8.3333318703413485e-3
    s = s * z - 0.16666666663844049
    c = -2.7300704038086652e-7
    c = c * z + 2.4800598408350121e-5
    c = c * z - 1.3888887668370663e-3
    c = c * z + 4.1666666664311823e-2
    # r * (1 + ...) rather than r + ...: it keeps the sign of zero.
    value = (1.0 - 0.5 * z) + z * z * c if q & 1 else r * (1.0 + z * s)
    return f4(-value if q & 2 else value)


@subroutine
def _sin64(x):
    r, q = _reduce_pi_half(x)
    return _quadrant64(r, q)


@subroutine
def _sin32(x):
    r, q = _reduce_pi_half(np.float64(x))
    return _quadrant32(r, q)


@subroutine
def _cos64(x):
    r, q = _reduce_pi_half(x)
    return _quadrant64(r, q + 1)


@subroutine
def _cos32(x):
    r, q = _reduce_pi_half(np.float64(x))
    return _quadrant32(r, q + 1)


def log(x: Any) -> Any:
    """Natural logarithm; 0 gives -inf, negative numbers NaN."""
    raise TypeError("compiled code only")


def exp(x: Any) -> Any:
    """Exponential for arguments that do not overflow; callers cap them."""
    raise TypeError("compiled code only")


def exp_uncapped(x: Any) -> Any:
    """Exponential; infinite where it overflows."""
    raise TypeError("compiled code only")


def expm1(x: Any) -> Any:
    """exp(x) - 1 for 0 <= x <= 60."""
    raise TypeError("compiled code only")


def sin(x: Any) -> Any:
    """Sine for arguments up to `TRIGONOMETRIC_LIMIT`."""
    raise TypeError("compiled code only")


def cos(x: Any) -> Any:
    """Cosine for arguments up to `TRIGONOMETRIC_LIMIT`."""
    raise TypeError("compiled code only")


def _choose_by_type(stub: Any, for64: Any, for32: Any) -> None:
    """Let compiled calls of `stub` go to the implementation of the argument's type."""

    @overload(stub)
    def choose(x):  # type: ignore[no-untyped-def]
        if x == types.float32:
            return lambda x: for32(x)
        return lambda x: for64(x)


_choose_by_type(log, _log64, _log32)
_choose_by_type(exp, _exp64, _exp32)
_choose_by_type(exp_uncapped, _exp_uncapped64, _exp_uncapped32)
_choose_by_type(expm1, _expm1_64, _expm1_32)
_choose_by_type(sin, _sin64, _sin32)
_choose_by_type(cos, _cos64, _cos32)
