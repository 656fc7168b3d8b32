"""Programs as SymPy expressions. Imported only where one is asked for: SymPy is optional."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache
from typing import Any

import sympy

from symgrove.forest.forest import Forest
from symgrove.forest.primitive_table import Primitive
from symgrove.forest.templates import operand_names
from symgrove.forest.text import feature_labels


def symbol(name: str) -> Any:
    """A feature: a real number."""
    return sympy.Symbol(name, real=True)


def rounded(expression: Any, digits: int) -> Any:
    """The expression, its numbers with so many significant digits."""
    return expression.xreplace({own: sympy.Float(f"{float(own):.{digits}g}") for own in expression.atoms(sympy.Float)})


def to_sympy(forest: Forest, root: int, feature_names: Sequence[str] | None = None) -> Any:
    """SymPy expression of a program; functions of the user's without a template have no definition there."""
    labels = feature_labels(forest.n_features, feature_names)
    made: dict[int, Any] = {}
    for node in forest.reachable([root]):
        name = forest.name(node)
        operands = [made[child] for child in forest.children(node)]
        if name == "feature":
            made[node] = symbol(labels[int(forest.columns.left[node])])
        elif name == "constant":
            value = float(forest.columns.value[node])
            # One is no number in front of a product: 1 / x, not 1.0 / x.
            made[node] = sympy.Integer(1) if value == 1.0 else sympy.Float(value)
        else:
            row = forest.primitives[name]
            made[node] = apply(row, operands, forest.primitives.epsilon_of(name))
    return made[root]


def apply(row: Primitive, operands: Sequence[Any], epsilon: float = 0.0) -> Any:
    """A primitive of expressions."""
    template = row.templates.sympy
    if template is None:
        return sympy.Function(row.name)(*operands)
    if row.name == "power":
        operands = operands[0], _exponent(operands[1])
    try:
        return _operation(template, row.arity)(*operands, sympy.Float(epsilon))
    except (NameError, TypeError, AttributeError) as error:
        if row.function is None:
            raise
        raise ValueError(
            f"the template sympy={template!r} of primitive {row.name!r} cannot be used: {error}. Write it with SymPy's "
            "functions."
        ) from error


def _exponent(value: Any) -> Any:
    """A number that is a simple fraction as one: SymPy simplifies x**(1/2), but hardly x**0.5."""
    if not isinstance(value, sympy.Float):
        return value
    simple = Fraction(float(value)).limit_denominator(12)
    return sympy.Rational(simple.numerator, simple.denominator) if float(simple) == float(value) else value


@cache
def _operation(template: str, arity: int) -> Callable[..., Any]:
    """What a template says, as a function of operands and epsilon."""
    names = operand_names(arity)
    expression = template.format(*names, eps="_eps")
    made: Callable[..., Any] = eval(f"lambda {', '.join(names)}, _eps: {expression}", dict(vars(sympy)))
    return made
