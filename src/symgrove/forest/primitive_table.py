"""The primitive table: everything that is known about a primitive, one row each.

A row has the NumPy meaning, the partial derivatives, a template for each notation and language (templates.py), and what
simplification may use. The protected division, square root and logarithm are those of Virgolin (2021, experimental
setup), with epsilon as a parameter. How a primitive is computed fast is in `engines/`; this table is what it is tested
against.

To add a primitive:

1. a row here or in `plain_primitives.py`, at the end of all: codes are positions. A template repeats an operand only
   where a language has no function to call; else a helper takes each operand once;
2. a loop in `engines/block_kernels.py`, and its name in `engines/blocks.py`;
3. a line in `tests/naive/programs.py` and in `tests/forest/test_simplify.py`, and where its text is a call, in
   `tests/naive/notations.py`.

Text and its parser, LaTeX, MathML, SymPy, all exports, derivatives and their tests take it from the row.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from symgrove.forest.plain_primitives import PLAIN_ROWS
from symgrove.forest.templates import PRODUCT, SIGN, SUM, Templates

FEATURE = 0  # code of a feature node
CONSTANT = 1  # code of a constant node
FIRST_PRIMITIVE = 2
EXP_CAP = 80.0  # exp(80) = 5.5e34 still fits float32; templates spell it out

Array = Any
Meaning = Callable[[Array, Array, float], Array]


@dataclass(frozen=True, slots=True)
class Primitive:
    """One primitive.

    Attributes
    ----------
    code : int
        Identifies the primitive in a forest; 0 for a user-defined one until a `PrimitiveSet` numbers it.
    name : str
        Name in `functions=` and in formulas.
    arity : int
        1 or 2.
    meaning : callable (a, b, epsilon) -> array
        The definition, in NumPy; `b` is ignored by unary primitives.
    derivative : tuple of callables (a, b, epsilon) -> array
        Partial derivative for each operand; empty when unknown. At kinks, one of the one-sided values.
    templates : Templates
        How it is written in notations and languages.
    function : callable or None
        A user's own scalar function; None for built-in primitives.
    symmetry : str
        "even" if f(-a) = f(a), "odd" if f(-a) = -f(a).
    commutes : bool
        Whether the order of the operands does not matter.
    is_never_negative : bool
    plain_form_of : str
        Name of the protected primitive that this one is without protection: where a set has only this one, text calls
        it by that name.

    Examples
    --------
    >>> import numpy as np
    >>> from symgrove.forest.primitive_table import BUILTIN
    >>> BUILTIN["aq"].arity, float(BUILTIN["aq"].meaning(np.array(3.0), np.array(0.0), 0.0))
    (2, 3.0)
    """

    code: int
    name: str
    arity: int
    meaning: Meaning
    derivative: tuple[Meaning, ...]
    templates: Templates = field(repr=False)
    function: Callable[..., float] | None = None
    symmetry: str = field(default="", repr=False)
    commutes: bool = field(default=False, repr=False)
    is_never_negative: bool = field(default=False, repr=False)
    plain_form_of: str = field(default="", repr=False)

    @property
    def has_epsilon(self) -> bool:
        """Whether it has a protection constant."""
        return "{eps}" in (self.templates.python or "")

    def __reduce__(self) -> tuple[Any, ...]:
        # Built-in meanings are lambdas: a built-in primitive travels by name.
        if self.function is None:
            return _builtin, (self.name,)
        fields = (self.code, self.name, self.arity, self.meaning, self.derivative, self.templates, self.function)
        return Primitive, fields


def _builtin(name: str) -> Primitive:
    return BUILTIN[name]


def _sign(b: Array) -> Array:
    """+1 for b >= 0, also for b = 0, else -1: the sign that protected division keeps."""
    return np.where(np.asarray(b) < 0, -1.0, 1.0).astype(np.asarray(b).dtype)


def _div(a: Array, b: Array, eps: float) -> Array:
    return a * _sign(b) / (np.abs(b) + eps)


def _or_one(b: Array) -> Array:
    """b, and 1 where it is 0: dividing by it leaves the other operand as it is."""
    return np.where(np.asarray(b) == 0, np.ones_like(b), b)


def _ones(a: Array) -> Array:
    return np.ones_like(a)


def _step(a: Array, b: Array, eps: float) -> Array:
    return np.where(np.asarray(a) > b, 1.0, 0.0).astype(np.asarray(a).dtype)


def _row(
    name: str,
    arity: int,
    meaning: Meaning,
    derivative: tuple[Meaning, ...],
    *,
    symmetry: str = "",
    commutes: bool = False,
    is_never_negative: bool = False,
    plain_form_of: str = "",
    **templates: Any,
) -> Primitive:
    known = symmetry, commutes, is_never_negative, plain_form_of
    return Primitive(0, name, arity, meaning, derivative, Templates(**templates), None, *known)


# SQLite: NaN is NULL, and so is a quotient by zero. DuckDB: NaN is greater than all numbers.
# fmt: off
_ROWS = (
    _row("add", 2, lambda a, b, e: a + b,
         (lambda a, b, e: _ones(a), lambda a, b, e: _ones(a)),
         commutes=True,
         text="{0} + {1}", text_level=SUM, exact_text="({0} + {1})",
         latex="{0} + {1}", latex_level=SUM, exact_latex=r"\left({0} + {1}\right)",
         mathml="<mrow>{0}<mo>+</mo>{1}</mrow>",
         sympy="{0} + {1}",
         python="({0} + {1})",
         c="({0} + {1})",
         javascript="({0} + {1})",
         sql="({0} + {1})",
         excel="({0}+{1})",
         onnx="Add({0}, {1})"),
    _row("sub", 2, lambda a, b, e: a - b,
         (lambda a, b, e: _ones(a), lambda a, b, e: -_ones(a)),
         text="{0} - {1}", text_level=SUM, exact_text="({0} - {1})",
         latex="{0} - {1}", latex_level=SUM, exact_latex=r"\left({0} - {1}\right)",
         mathml="<mrow>{0}<mo>−</mo>{1}</mrow>",
         sympy="{0} - {1}",
         python="({0} - {1})",
         c="({0} - {1})",
         javascript="({0} - {1})",
         sql="({0} - {1})",
         excel="({0}-{1})",
         onnx="Sub({0}, {1})"),
    _row("mul", 2, lambda a, b, e: a * b,
         (lambda a, b, e: b, lambda a, b, e: a),
         commutes=True,
         text="{0} * {1}", text_level=PRODUCT, exact_text="({0} * {1})",
         latex=r"{0} \cdot {1}", latex_level=PRODUCT,
         mathml="<mrow>{0}<mo>⋅</mo>{1}</mrow>",
         sympy="{0} * {1}",
         python="({0} * {1})",
         c="({0} * {1})",
         javascript="({0} * {1})",
         sql="({0} * {1})",
         excel="({0}*{1})",
         onnx="Mul({0}, {1})"),
    _row("div", 2, _div,
         (lambda a, b, e: _sign(b) / (np.abs(b) + e), lambda a, b, e: -a / (np.abs(b) + e) ** 2),
         text="{0} / {1}", text_level=PRODUCT, exact_text="({0} * sign({1}) / (abs({1}) + {eps}))",
         latex=r"\frac{{{0}}}{{{1}}}",
         exact_latex=r"\left(1 - 2 \cdot \left[{1} < 0\right]\right) \cdot \frac{{{0}}}{{\left|{1}\right| + {eps}}}",
         mathml="<mfrac>{0}{1}</mfrac>",
         exact_mathml="<mrow><mo>(</mo><mn>1</mn><mo>−</mo><mn>2</mn><mo>⋅</mo><mo>[</mo>{1}<mo>&lt;</mo><mn>0</mn>"
         "<mo>]</mo><mo>)</mo><mo>⋅</mo><mfrac>{0}<mrow><mo>|</mo>{1}<mo>|</mo><mo>+</mo>{eps}</mrow></mfrac></mrow>",
         sympy="{0} * Piecewise((-1, {1} < 0), (1, True)) / (Abs({1}) + {eps})",
         python="_div({0}, {1}, {eps})",
         python_helper="def _div(a, b, epsilon):\n"
         "    return np.where(b < 0, -1.0, 1.0) * a / (np.abs(b) + epsilon)",
         c="sg_div({0}, {1}, {eps})",
         c_helper="static double sg_div(double a, double b, double e) { return (b < 0 ? -a : a) / (fabs(b) + e); }",
         javascript="div({0}, {1}, {eps})",
         javascript_helper="const div = (a, b, e) => (b < 0 ? -a : a) / (Math.abs(b) + e);",
         sql="(CASE WHEN {1} < 0e0 THEN -({0}) ELSE {0} END / (abs({1}) + {eps}))",
         sqlite_without_epsilon="(CASE WHEN {1} = 0e0 THEN CASE WHEN {0} = 0e0 THEN NULL ELSE {0} * 9e999 END "
         "WHEN {1} < 0e0 THEN -({0}) / abs({1}) ELSE {0} / abs({1}) END)",
         excel="(IF({1}<0,-1,1)*{0}/(ABS({1})+{eps}))",
         onnx="Div(Mul(Where(Less({1}, 0.0), -1.0, 1.0), {0}), Add(Abs({1}), {eps}))"),
    _row("aq", 2, lambda a, b, e: a / np.sqrt(1 + b * b),
         (lambda a, b, e: 1 / np.sqrt(1 + b * b), lambda a, b, e: -a * b / (1 + b * b) ** 1.5),
         text="aq({0}, {1})", exact_text="({0} / sqrt(1 + {1}^2))",
         latex=r"\frac{{{0}}}{{\sqrt{{1 + \left({1}\right)^2}}}}",
         mathml="<mfrac>{0}<msqrt><mn>1</mn><mo>+</mo><msup>{1}<mn>2</mn></msup></msqrt></mfrac>",
         sympy="{0} / sqrt(1 + {1}**2)",
         python="({0} / np.sqrt(1.0 + np.square({1})))",
         c="sg_aq({0}, {1})",
         c_helper="static double sg_aq(double a, double b) { return a / sqrt(1.0 + b * b); }",
         javascript="aq({0}, {1})",
         javascript_helper="const aq = (a, b) => a / Math.sqrt(1 + b * b);",
         sql="({0} / sqrt(1e0 + {1} * {1}))",
         excel="({0}/SQRT(1+{1}*{1}))",
         onnx="Div({0}, Sqrt(Add(1.0, Mul({1}, {1}))))"),
    _row("min", 2, lambda a, b, e: np.minimum(a, b),
         (lambda a, b, e: _step(b, a, e), lambda a, b, e: 1 - _step(b, a, e)),
         commutes=True,
         text="min({0}, {1})",
         latex=r"\min\left({0}, {1}\right)",
         sympy="Min({0}, {1})",
         python="np.minimum({0}, {1})",
         c="sg_min({0}, {1})",
         c_helper="static double sg_min(double a, double b) { return a < b || a != a ? a : b; }",
         javascript="Math.min({0}, {1})",
         sqlite="min({0}, {1})",
         duckdb="(CASE WHEN isnan({0}) THEN {0} WHEN isnan({1}) THEN {1} WHEN {0} < {1} THEN {0} ELSE {1} END)",
         excel="MIN({0},{1})",
         onnx="Min({0}, {1})"),
    _row("max", 2, lambda a, b, e: np.maximum(a, b),
         (lambda a, b, e: _step(a, b, e), lambda a, b, e: 1 - _step(a, b, e)),
         commutes=True,
         text="max({0}, {1})",
         latex=r"\max\left({0}, {1}\right)",
         sympy="Max({0}, {1})",
         python="np.maximum({0}, {1})",
         c="sg_max({0}, {1})",
         c_helper="static double sg_max(double a, double b) { return a > b || a != a ? a : b; }",
         javascript="Math.max({0}, {1})",
         sqlite="max({0}, {1})",
         duckdb="(CASE WHEN isnan({0}) THEN {0} WHEN isnan({1}) THEN {1} WHEN {0} > {1} THEN {0} ELSE {1} END)",
         excel="MAX({0},{1})",
         onnx="Max({0}, {1})"),
    _row("step", 2, _step,
         (lambda a, b, e: np.zeros_like(a), lambda a, b, e: np.zeros_like(a)),
         is_never_negative=True,
         text="step({0}, {1})", exact_text="(if {0} > {1} then 1 else 0)",
         latex=r"\left[{0} > {1}\right]",
         mathml="<mrow><mo>[</mo>{0}<mo>&gt;</mo>{1}<mo>]</mo></mrow>",
         sympy="Piecewise((1, {0} > {1}), (0, True))",
         python="np.where({0} > {1}, 1.0, 0.0)",
         c="({0} > {1} ? 1.0 : 0.0)",
         javascript="({0} > {1} ? 1 : 0)",
         sqlite="(CASE WHEN {0} > {1} THEN 1e0 ELSE 0e0 END)",
         duckdb="(CASE WHEN {0} > {1} AND NOT isnan({0}) THEN 1e0 ELSE 0e0 END)",
         excel="IF({0}>{1},1,0)",
         onnx="Where(Greater({0}, {1}), 1.0, 0.0)"),
    _row("sqrt", 1, lambda a, b, e: np.sqrt(np.abs(a)),
         (lambda a, b, e: _sign(a) * 0.5 / np.sqrt(np.abs(a)),),
         symmetry="even", is_never_negative=True,
         text="sqrt(abs({0}))",
         latex=r"\sqrt{{\left|{0}\right|}}",
         mathml="<msqrt><mo>|</mo>{0}<mo>|</mo></msqrt>",
         sympy="sqrt(Abs({0}))",
         python="np.sqrt(np.abs({0}))",
         c="sqrt(fabs({0}))",
         javascript="Math.sqrt(Math.abs({0}))",
         sql="sqrt(abs({0}))",
         excel="SQRT(ABS({0}))",
         onnx="Sqrt(Abs({0}))"),
    _row("log", 1, lambda a, b, e: np.log(np.abs(a) + e),
         (lambda a, b, e: _sign(a) / (np.abs(a) + e),),
         symmetry="even",
         text="log(abs({0}))", exact_text="log(abs({0}) + {eps})",
         latex=r"\log\left|{0}\right|", exact_latex=r"\log\left(\left|{0}\right| + {eps}\right)",
         mathml="<mrow><mi>log</mi><mo>|</mo>{0}<mo>|</mo></mrow>",
         exact_mathml="<mrow><mi>log</mi><mo>(</mo><mo>|</mo>{0}<mo>|</mo><mo>+</mo>{eps}<mo>)</mo></mrow>",
         sympy="log(Abs({0}) + {eps})",
         python="np.log(np.abs({0}) + {eps})",
         c="log(fabs({0}) + {eps})",
         javascript="Math.log(Math.abs({0}) + {eps})",
         sql="ln(abs({0}) + {eps})",
         sqlite_without_epsilon="(CASE WHEN {0} = 0e0 THEN -9e999 ELSE ln(abs({0})) END)",
         excel="LN(ABS({0})+{eps})",
         onnx="Log(Add(Abs({0}), {eps}))"),
    # log(1 + a) without loss where a is small, from the logarithm of the rounded sum (Kahan).
    _row("log1p", 1, lambda a, b, e: np.log1p(np.abs(a)),
         (lambda a, b, e: _sign(a) / (1 + np.abs(a)),),
         symmetry="even", is_never_negative=True,
         text="log1p(abs({0}))", exact_text="log(1 + abs({0}))",
         latex=r"\log\left(1 + \left|{0}\right|\right)",
         mathml="<mrow><mi>log</mi><mo>(</mo><mn>1</mn><mo>+</mo><mo>|</mo>{0}<mo>|</mo><mo>)</mo></mrow>",
         sympy="log(1 + Abs({0}))",
         python="np.log1p(np.abs({0}))",
         c="log1p(fabs({0}))",
         javascript="Math.log1p(Math.abs({0}))",
         sql="(CASE WHEN 1e0 + abs({0}) = 1e0 THEN abs({0}) WHEN abs({0}) > 1e9 THEN ln(1e0 + abs({0})) "
         "ELSE ln(1e0 + abs({0})) * abs({0}) / ((1e0 + abs({0})) - 1e0) END)",
         excel="IF(1+ABS({0})-1=0,ABS({0}),IF(ABS({0})>1000000000,LN(1+ABS({0})),"
         "LN(1+ABS({0}))*ABS({0})/(1+ABS({0})-1)))",
         onnx="size = Abs({0})\n"
         "total = Add(1.0, size)\n"
         "rounded = Sub(total, 1.0)\n"
         "is_lost = Equal(rounded, 0.0)\n"
         "is_exact = Greater(size, 1e9)\n"
         "factor = Div(size, Where(is_lost, 1.0, rounded))\n"
         "Where(is_lost, size, Mul(Log(total), Where(is_exact, 1.0, factor)))"),
    _row("exp", 1, lambda a, b, e: np.exp(np.minimum(a, EXP_CAP)),
         (lambda a, b, e: np.where(a < EXP_CAP, np.exp(np.minimum(a, EXP_CAP)), 0.0),),
         is_never_negative=True,
         text="exp({0})", exact_text="exp(min({0}, 80))",
         latex=r"\exp\left({0}\right)", exact_latex=r"\exp\left(\min\left({0}, 80\right)\right)",
         mathml="<msup><mi>e</mi>{0}</msup>",
         sympy="exp(Min({0}, 80))",
         python="np.exp(np.minimum({0}, 80.0))",
         c="sg_exp({0})",
         c_helper="static double sg_exp(double a) { return exp(a > 80.0 ? 80.0 : a); }",
         javascript="Math.exp(Math.min({0}, 80))",
         sqlite="exp(min({0}, 80e0))",
         duckdb="exp(CASE WHEN isnan({0}) THEN {0} WHEN {0} > 80e0 THEN 80e0 ELSE {0} END)",
         excel="EXP(MIN({0},80))",
         onnx="Exp(Min({0}, 80.0))"),
    _row("sin", 1, lambda a, b, e: np.sin(a), (lambda a, b, e: np.cos(a),),
         symmetry="odd",
         text="sin({0})",
         latex=r"\sin\left({0}\right)",
         sympy="sin({0})",
         python="np.sin({0})",
         c="sin({0})",
         javascript="Math.sin({0})",
         sql="sin({0})",
         excel="SIN({0})",
         onnx="Sin({0})"),
    _row("cos", 1, lambda a, b, e: np.cos(a), (lambda a, b, e: -np.sin(a),),
         symmetry="even",
         text="cos({0})",
         latex=r"\cos\left({0}\right)",
         sympy="cos({0})",
         python="np.cos({0})",
         c="cos({0})",
         javascript="Math.cos({0})",
         sql="cos({0})",
         excel="COS({0})",
         onnx="Cos({0})"),
    _row("tanh", 1, lambda a, b, e: np.tanh(a), (lambda a, b, e: 1 - np.tanh(a) ** 2,),
         symmetry="odd",
         text="tanh({0})",
         latex=r"\tanh\left({0}\right)",
         sympy="tanh({0})",
         python="np.tanh({0})",
         c="tanh({0})",
         javascript="Math.tanh({0})",
         sql="tanh({0})",
         excel="TANH({0})",
         onnx="Tanh({0})"),
    _row("square", 1, lambda a, b, e: a * a, (lambda a, b, e: 2 * a,),
         symmetry="even", is_never_negative=True,
         text="square({0})", exact_text="{0}^2",
         latex=r"\left({0}\right)^2",
         mathml="<msup>{0}<mn>2</mn></msup>",
         sympy="{0}**2",
         python="np.square({0})",
         c="sg_square({0})",
         c_helper="static double sg_square(double a) { return a * a; }",
         javascript="square({0})",
         javascript_helper="const square = (a) => a * a;",
         sql="({0} * {0})",
         excel="({0}*{0})",
         onnx="Mul({0}, {0})"),
    _row("cube", 1, lambda a, b, e: a * a * a, (lambda a, b, e: 3 * a * a,),
         symmetry="odd",
         text="cube({0})", exact_text="{0}^3",
         latex=r"\left({0}\right)^3",
         mathml="<msup>{0}<mn>3</mn></msup>",
         sympy="{0}**3",
         python="_cube({0})",
         python_helper="def _cube(a):\n    return a * a * a",
         c="sg_cube({0})",
         c_helper="static double sg_cube(double a) { return a * a * a; }",
         javascript="cube({0})",
         javascript_helper="const cube = (a) => a * a * a;",
         sql="({0} * {0} * {0})",
         excel="({0}*{0}*{0})",
         onnx="Mul(Mul({0}, {0}), {0})"),
    _row("neg", 1, lambda a, b, e: -a, (lambda a, b, e: -_ones(a),),
         symmetry="odd",
         text="-{0}", text_level=SIGN, exact_text="(-{0})",
         latex="-{0}", latex_level=SUM, exact_latex=r"\left(-{0}\right)",
         mathml="<mrow><mo>−</mo>{0}</mrow>",
         sympy="-{0}",
         python="(-{0})",
         c="(-{0})",
         javascript="(-{0})",
         sql="(-({0}))",
         excel="(0-{0})",
         onnx="Neg({0})"),
    _row("abs", 1, lambda a, b, e: np.abs(a), (lambda a, b, e: _sign(a),),
         symmetry="even", is_never_negative=True,
         text="abs({0})",
         latex=r"\left|{0}\right|",
         mathml="<mrow><mo>|</mo>{0}<mo>|</mo></mrow>",
         sympy="Abs({0})",
         python="np.abs({0})",
         c="fabs({0})",
         javascript="Math.abs({0})",
         sql="abs({0})",
         excel="ABS({0})",
         onnx="Abs({0})"),
    _row("pdiv", 2, lambda a, b, e: a / _or_one(b),
         (lambda a, b, e: 1 / _or_one(b), lambda a, b, e: np.where(np.asarray(b) == 0, 0.0, -a / _or_one(b) ** 2)),
         text="pdiv({0}, {1})", exact_text="(if {1} = 0 then {0} else {0} / {1})",
         latex=r"\operatorname{{pdiv}}\left({0}, {1}\right)",
         sympy="Piecewise(({0}, Eq({1}, 0, evaluate=False)), ({0} / {1}, True), evaluate=False)",
         python="_pdiv({0}, {1})",
         python_helper="def _pdiv(a, b):\n    return a / np.where(b == 0, 1.0, b)",
         c="sg_pdiv({0}, {1})",
         c_helper="static double sg_pdiv(double a, double b) { return b == 0 ? a : a / b; }",
         javascript="pdiv({0}, {1})",
         javascript_helper="const pdiv = (a, b) => b === 0 ? a : a / b;",
         sql="(CASE WHEN {1} = 0e0 THEN {0} ELSE {0} / {1} END)",
         excel="IF({1}=0,{0},{0}/{1})",
         onnx="Div({0}, Where(Equal({1}, 0.0), 1.0, {1}))"),
    *(_row(*given, **named) for given, named in PLAIN_ROWS),
)
# fmt: on

BUILTIN: dict[str, Primitive] = {
    row.name: replace(row, code=FIRST_PRIMITIVE + position) for position, row in enumerate(_ROWS)
}
