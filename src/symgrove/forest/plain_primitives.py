"""Rows of the primitive table (primitive_table.py) without protection: they compute what formulas say, as IEEE has it.

A quotient by zero is infinite or NaN, a root or logarithm of a negative number NaN; what is not finite makes a program
unusable on its row. They are for laws in natural units, in which an epsilon would be a constant of nature.

Languages that raise errors or give other values are guarded: SQLite has NULL in place of NaN, of all quotients by zero
and of ln(0). DuckDB refuses arguments outside a domain, so it is given NaN there, which it takes for greater than all
numbers. Excel has real roots of negative numbers and no 0^0, JavaScript no 1^NaN.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from symgrove.forest.templates import POWER, PRODUCT

_NAN = "CAST('nan' AS DOUBLE)"  # in DuckDB
# ONNX Runtime has no arcsine of doubles. These are the rational functions of Sun's fdlibm (e_asin.c): arcsin(x) is
# x + x * ratio(x^2) up to 1/2, beyond it follows from the root of (1 - |x|) / 2, which is NaN where |x| is above 1.
_ARC_PARTS = """size = Abs({0})
is_small = Less(size, 0.5)
z = Where(is_small, Mul(size, size), Mul(0.5, Sub(1.0, size)))
p = Add(-0.04005553450067941, Mul(z, Add(0.0007915349942898145, Mul(z, 0.0000347933107596021))))
p = Add(-0.3255658186224009, Mul(z, Add(0.20121253213486293, Mul(z, p))))
p = Mul(z, Add(0.16666666666666666, Mul(z, p)))
q = Add(-0.6882839716054533, Mul(z, 0.07703815055590194))
q = Add(1.0, Mul(z, Add(-2.403394911734414, Mul(z, Add(2.0209457602335057, Mul(z, q))))))
ratio = Div(p, q)
root = Sqrt(z)
beyond = Mul(2.0, Add(root, Mul(root, ratio)))
near = Add({0}, Mul({0}, ratio))
"""


def _exponential_of_base(a: Any, b: Any, eps: float) -> Any:
    """Derivative of a^b with respect to b; 0 where there is none, as of (-2)^3, or where a is 0."""
    return np.where(np.asarray(a) > 0, a**b * np.log(np.where(np.asarray(a) > 0, a, 1.0)), 0.0)


def _row(*given: Any, **named: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return given, named


# fmt: off
PLAIN_ROWS = (
    _row("plain_div", 2, lambda a, b, e: a / b,
         (lambda a, b, e: 1 / b, lambda a, b, e: -a / b**2),
         plain_form_of="div",
         text="{0} / {1}", text_level=PRODUCT, exact_text="({0} / {1})",
         latex=r"\frac{{{0}}}{{{1}}}",
         mathml="<mfrac>{0}{1}</mfrac>",
         sympy="{0} / {1}",
         python="np.divide({0}, {1})",
         c="({0} / {1})",
         javascript="({0} / {1})",
         sqlite="(CASE WHEN {1} = 0e0 THEN CASE WHEN {0} = 0e0 THEN NULL ELSE {0} * 9e999 END ELSE {0} / {1} END)",
         duckdb="({0} / {1})",
         excel="({0}/{1})",
         onnx="Div({0}, {1})"),
    _row("plain_sqrt", 1, lambda a, b, e: np.sqrt(a), (lambda a, b, e: 0.5 / np.sqrt(a),),
         is_never_negative=True, plain_form_of="sqrt",
         text="sqrt({0})",
         latex=r"\sqrt{{{0}}}",
         mathml="<msqrt>{0}</msqrt>",
         sympy="sqrt({0})",
         python="np.sqrt({0})",
         c="sqrt({0})",
         javascript="Math.sqrt({0})",
         sqlite="sqrt({0})",
         duckdb=f"sqrt(CASE WHEN {{0}} < 0e0 THEN {_NAN} ELSE {{0}} END)",
         excel="SQRT({0})",
         onnx="Sqrt({0})"),
    _row("plain_log", 1, lambda a, b, e: np.log(a), (lambda a, b, e: 1 / a,),
         plain_form_of="log",
         text="log({0})",
         latex=r"\log\left({0}\right)",
         mathml="<mrow><mi>log</mi><mo>(</mo>{0}<mo>)</mo></mrow>",
         sympy="log({0})",
         python="np.log({0})",
         c="log({0})",
         javascript="Math.log({0})",
         sqlite="(CASE WHEN {0} = 0e0 THEN -9e999 ELSE ln({0}) END)",
         duckdb="(CASE WHEN {0} = 0e0 THEN CAST('-inf' AS DOUBLE) "
         f"ELSE ln(CASE WHEN {{0}} > 0e0 THEN {{0}} ELSE {_NAN} END) END)",
         excel="LN({0})",
         onnx="Log({0})"),
    _row("plain_exp", 1, lambda a, b, e: np.exp(a), (lambda a, b, e: np.exp(a),),
         is_never_negative=True, plain_form_of="exp",
         text="exp({0})",
         latex=r"\exp\left({0}\right)",
         mathml="<msup><mi>e</mi>{0}</msup>",
         sympy="exp({0})",
         python="np.exp({0})",
         c="exp({0})",
         javascript="Math.exp({0})",
         sql="exp({0})",
         excel="EXP({0})",
         onnx="Exp({0})"),
    _row("power", 2, lambda a, b, e: a**b,
         (lambda a, b, e: np.where(np.asarray(b) == 0, 0.0, b * a ** (b - 1)), _exponential_of_base),
         text="{0}^{1}", text_level=POWER, exact_text="({0}^{1})",
         latex="{{{0}}}^{{{1}}}", latex_level=POWER, exact_latex=r"{{\left({0}\right)}}^{{{1}}}",
         mathml="<msup><mrow>{0}</mrow><mrow>{1}</mrow></msup>",
         sympy="({0})**({1})",
         python="np.power({0}, {1})",
         c="pow({0}, {1})",
         javascript="pow({0}, {1})",
         javascript_helper="const pow = (a, b) => "
         "a === 1 || (a === -1 && Math.abs(b) === Infinity) ? 1 : Math.pow(a, b);",
         sqlite="(CASE WHEN {1} = 0e0 OR {0} = 1e0 THEN 1e0 ELSE pow({0}, {1}) END)",
         duckdb="pow({0}, {1})",
         excel="IF({1}=0,1,IF(AND({0}<0,{1}<>INT({1})),SQRT(-1),POWER({0},{1})))",
         onnx="Pow({0}, {1})"),
    _row("arcsin", 1, lambda a, b, e: np.arcsin(a), (lambda a, b, e: 1 / np.sqrt(1 - a * a),),
         symmetry="odd",
         text="arcsin({0})",
         latex=r"\arcsin\left({0}\right)",
         sympy="asin({0})",
         python="np.arcsin({0})",
         c="asin({0})",
         javascript="Math.asin({0})",
         sqlite="asin({0})",
         duckdb=f"asin(CASE WHEN abs({{0}}) > 1e0 THEN {_NAN} ELSE {{0}} END)",
         excel="ASIN({0})",
         onnx=_ARC_PARTS + "far = Sub(1.5707963267948966, beyond)\n"
         "Where(is_small, near, Where(Less({0}, 0.0), Neg(far), far))"),
    _row("arccos", 1, lambda a, b, e: np.arccos(a), (lambda a, b, e: -1 / np.sqrt(1 - a * a),),
         is_never_negative=True,
         text="arccos({0})",
         latex=r"\arccos\left({0}\right)",
         sympy="acos({0})",
         python="np.arccos({0})",
         c="acos({0})",
         javascript="Math.acos({0})",
         sqlite="acos({0})",
         duckdb=f"acos(CASE WHEN abs({{0}}) > 1e0 THEN {_NAN} ELSE {{0}} END)",
         excel="ACOS({0})",
         onnx=_ARC_PARTS + "far = Where(Less({0}, 0.0), Sub(3.141592653589793, beyond), beyond)\n"
         "Where(is_small, Sub(1.5707963267948966, near), far)"),
)
# fmt: on
