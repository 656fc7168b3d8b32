"""Shorter programs for display.

Only rewrites that are equal as real functions of the *protected* primitives, for every input: x - x is 0, but x / x is
not 1 (it is x * s(x) / (|x| + epsilon)). Those of primitives without protection are equal wherever all parts of the
program are defined: the square of a plain sqrt(x) is x, which may be defined for more; 0 / x stays, because x may be 0
on many rows. Constants are folded, so results may differ in the last digits; evolution and
prediction never use this. Rewrites go bottom-up, each node once, until nothing changes.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from symgrove.forest.forest import Forest
from symgrove.forest.primitive_table import Primitive


def simplify(forest: Forest, root: int) -> int:
    """Id of a program with the same real function and at most as many nodes, in the same forest.

    Examples
    --------
    >>> from symgrove import Forest, parse, simplify, to_text
    >>> forest = Forest(2)
    >>> to_text(forest, simplify(forest, parse(forest, "x0 * 1 + (x1 - x1)")))
    'x0'
    """
    forest.check_ids(root)
    while True:
        simpler = _sweep(forest, root)
        if simpler == root:
            return root
        root = simpler


def _sweep(forest: Forest, root: int) -> int:
    """Rewrite every node of the program once, children first."""
    new_of: dict[int, int] = {}
    for node in forest.reachable([root]):
        children = [new_of[child] for child in forest.children(node)]
        new_of[node] = _rewrite(forest, node, children)
    return new_of[root]


def _rewrite(forest: Forest, node: int, children: list[int]) -> int:
    if not children:
        return node
    name = forest.name(node)
    folded = _fold(forest, name, children)
    if folded is not None:
        return folded
    rule = _RULES.get(name) or _of_symmetry(forest.primitives[name])
    rewritten = rule(forest, *children) if rule else None
    plain = forest.apply(name, *children)
    # A rule may only shorten; at equal size it must move towards a normal form, which the rules below do.
    if rewritten is not None and forest.size(rewritten) <= forest.size(plain):
        return rewritten
    return plain


def _fold(forest: Forest, name: str, children: list[int]) -> int | None:
    """The constant that a primitive of constants is, if it is finite."""
    values = [_value(forest, child) for child in children]
    if any(value is None for value in values):
        return None
    row = forest.primitives[name]
    a = np.float64(values[0])
    b = np.float64(values[1]) if row.arity == 2 else a
    with np.errstate(all="ignore"):
        result = float(row.meaning(a, b, forest.primitives.epsilon_of(name)))
    return forest.constant(result) if np.isfinite(result) else None


def _value(forest: Forest, node: int) -> float | None:
    return float(forest.columns.value[node]) if forest.name(node) == "constant" else None


def _operand(forest: Forest, node: int, name: str) -> int | None:
    """The operand of a unary node called `name`, else None."""
    return forest.children(node)[0] if forest.name(node) == name else None


def _add(f: Forest, a: int, b: int) -> int | None:
    if _value(f, b) == 0:
        return a
    if _value(f, a) is not None and _value(f, b) is None:  # constants go right
        return f.apply("add", b, a)
    if a == b:
        return f.apply("mul", a, f.constant(2.0))
    inner = _operand(f, b, "neg")
    if inner is not None:
        return f.apply("sub", a, inner)
    inner = _operand(f, a, "neg")
    if inner is not None:
        return f.apply("sub", b, inner)
    value = _value(f, b)
    if value is not None and f.name(a) in ("add", "sub"):
        combined = _shifted(f, a, value)
        if combined is not None:
            return combined
    if value is not None and value < 0:
        return f.apply("sub", a, f.constant(-value))
    return None


def _sub(f: Forest, a: int, b: int) -> int | None:
    if a == b:
        return f.constant(0.0)
    if _value(f, a) == 0:
        return f.apply("neg", b)
    inner = _operand(f, b, "neg")
    if inner is not None:
        return f.apply("add", a, inner)
    value = _value(f, b)
    if value is None:
        return None
    if value == 0:
        return a
    if value < 0:
        return f.apply("add", a, f.constant(-value))
    return _shifted(f, a, -value) if f.name(a) in ("add", "sub") else None


def _shifted(f: Forest, a: int, value: float) -> int | None:
    """A sum or difference with a constant in it, plus `value`."""
    left, right = f.children(a)
    first, second = _value(f, left), _value(f, right)
    if second is not None:
        sign = 1.0 if f.name(a) == "add" else -1.0
        return _with_constant(f, "add", left, sign * second, value, np.add)
    if first is not None and f.name(a) == "sub":
        total = first + value
        return f.apply("sub", f.constant(total), right) if np.isfinite(total) else None
    return None


def _mul(f: Forest, a: int, b: int) -> int | None:
    value = _value(f, b)
    if value is None and _value(f, a) is not None:
        return f.apply("mul", b, a)
    if value == 0:
        return f.constant(0.0)
    if value == 1:
        return a
    if value == -1:
        return f.apply("neg", a)
    inner = _operand(f, a, "neg")
    if inner is not None and value is not None:
        return f.apply("mul", inner, f.constant(-value))
    if inner is not None and _operand(f, b, "neg") is not None:
        return f.apply("mul", inner, f.children(b)[0])
    if value is not None and f.name(a) == "mul":
        left, right = f.children(a)
        if _value(f, right) is not None:
            return _with_constant(f, "mul", left, _value(f, right), value, np.multiply)
    if a == b and _operand(f, a, "sqrt") is not None:
        return f.apply("abs", f.children(a)[0])
    return _operand(f, a, "plain_sqrt") if a == b else None


def _with_constant(
    f: Forest, name: str, operand: int, first: float | None, second: float, combine: Callable[..., float]
) -> int | None:
    """``(operand . first) . second`` as one primitive, if the combined constant is finite and not lost."""
    with np.errstate(all="ignore"):
        combined = float(combine(np.float64(first), np.float64(second)))
    if not np.isfinite(combined) or (name == "mul" and combined == 0):
        return None
    return f.apply(name, operand, f.constant(combined))


def _div(f: Forest, a: int, b: int) -> int | None:
    if _value(f, a) == 0 and f.primitives.epsilon_of("div") > 0:
        return f.constant(0.0)
    value = _value(f, b)
    if value is not None:
        with np.errstate(all="ignore"):
            factor = float(1.0 / (abs(np.float64(value)) + f.primitives.epsilon_of("div")))
        if np.isfinite(factor) and factor != 0:
            return f.apply("mul", a, f.constant(-factor if value < 0 else factor))
    return None


def _aq(f: Forest, a: int, b: int) -> int | None:
    inner = _operand(f, b, "neg")
    if inner is None:
        inner = _operand(f, b, "abs")
    if inner is not None:
        return f.apply("aq", a, inner)
    if _value(f, a) == 0:
        return f.constant(0.0)
    return a if _value(f, b) == 0 else None


def _first_if_equal(f: Forest, a: int, b: int) -> int | None:
    return a if a == b else None


def _zero_if_equal(f: Forest, a: int, b: int) -> int | None:
    return f.constant(0.0) if a == b else None


def _even(name: str) -> Callable[[Forest, int], int | None]:
    """A function with f(-x) = f(|x|) = f(x): the sign inside does not matter."""

    def rule(f: Forest, a: int) -> int | None:
        inner = _operand(f, a, "neg")
        if inner is None:
            inner = _operand(f, a, "abs")
        return None if inner is None else f.apply(name, inner)

    return rule


def _odd(name: str) -> Callable[[Forest, int], int | None]:
    """A function with f(-x) = -f(x): the sign moves outside."""

    def rule(f: Forest, a: int) -> int | None:
        inner = _operand(f, a, "neg")
        return None if inner is None else f.apply("neg", f.apply(name, inner))

    return rule


def _of_symmetry(row: Primitive) -> Callable[[Forest, int], int | None] | None:
    """The rule of a primitive of which nothing else is known."""
    return {"even": _even, "odd": _odd}[row.symmetry](row.name) if row.symmetry else None


def _neg(f: Forest, a: int) -> int | None:
    inner = _operand(f, a, "neg")
    if inner is not None:
        return inner
    if f.name(a) == "sub":
        left, right = f.children(a)
        return f.apply("sub", right, left)
    if f.name(a) == "mul" and _value(f, f.children(a)[1]) is not None:
        left, right = f.children(a)
        return f.apply("mul", left, f.constant(-float(_value(f, right) or 0.0)))
    return None


def _abs(f: Forest, a: int) -> int | None:
    if f.name(a) in f.primitives and f.primitives[f.name(a)].is_never_negative:
        return a
    if f.name(a) == "mul" and f.children(a)[0] == f.children(a)[1]:
        return a
    return _even("abs")(f, a)


def _sqrt(f: Forest, a: int) -> int | None:
    inner = _operand(f, a, "square")
    return f.apply("abs", inner) if inner is not None else _even("sqrt")(f, a)


def _square(f: Forest, a: int) -> int | None:
    inner = _operand(f, a, "sqrt")
    if inner is not None:
        return f.apply("abs", inner)
    root = _operand(f, a, "plain_sqrt")
    return root if root is not None else _even("square")(f, a)


def _plain_div(f: Forest, a: int, b: int) -> int | None:
    value = _value(f, b)
    if value is None or value == 0:
        return None
    factor = 1.0 / value
    return f.apply("mul", a, f.constant(factor)) if np.isfinite(factor) and factor != 0 else None


def _plain_sqrt(f: Forest, a: int) -> int | None:
    inner = _operand(f, a, "square")
    if inner is None and f.name(a) == "mul" and f.children(a)[0] == f.children(a)[1]:
        inner = f.children(a)[0]
    if inner is None and f.name(a) == "power" and _value(f, f.children(a)[1]) == 2:
        inner = f.children(a)[0]
    return None if inner is None else f.apply("abs", inner)


def _inverse_of(name: str) -> Callable[[Forest, int], int | None]:
    """A function of which the one called `name` is the inverse, on either side."""
    return lambda f, a: _operand(f, a, name)


def _power(f: Forest, a: int, b: int) -> int | None:
    value = _value(f, b)
    if value is None:
        return None
    if value == 0:
        return f.constant(1.0)
    if value == 1:
        return a
    if value % 2 == 0:
        inner = _operand(f, a, "neg")
        inner = _operand(f, a, "abs") if inner is None else inner
        if inner is not None:
            return f.apply("power", inner, b)
    first = _value(f, f.children(a)[1]) if f.name(a) == "power" else None
    # A root of an even power is that of an absolute value: (a^2)^0.5 is not a. Other powers are negative where a is, or
    # there are none of negative numbers.
    if first is not None and (value % 1 == 0 or first % 2 != 0):
        product = first * value
        if np.isfinite(product) and product != 0:
            return f.apply("power", f.children(a)[0], f.constant(product))
    return None


_RULES: dict[str, Callable[..., int | None]] = {
    "add": _add,
    "sub": _sub,
    "mul": _mul,
    "div": _div,
    "aq": _aq,
    "min": _first_if_equal,
    "max": _first_if_equal,
    "step": _zero_if_equal,
    "neg": _neg,
    "abs": _abs,
    "sqrt": _sqrt,
    "square": _square,
    "plain_div": _plain_div,
    "plain_sqrt": _plain_sqrt,
    "plain_log": _inverse_of("plain_exp"),
    "plain_exp": _inverse_of("plain_log"),
    "power": _power,
}
