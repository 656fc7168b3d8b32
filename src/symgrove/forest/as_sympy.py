"""Programs as SymPy expressions. Imported only where one is asked for: SymPy is optional."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import sympy

from symgrove.forest.forest import Forest
from symgrove.forest.text import feature_labels

_choose, _abs = sympy.Piecewise, sympy.Abs

# What primitives are in SymPy, exactly; epsilon follows the operands of `div` and `log`.
OPERATIONS: dict[str, Callable[..., Any]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b, e: a * _choose((-1, b < 0), (1, True)) / (_abs(b) + e),
    "pdiv": lambda a, b: _choose((a, sympy.Eq(b, 0)), (a / b, True)),
    "aq": lambda a, b: a / sympy.sqrt(1 + b**2),
    "min": lambda a, b: sympy.Min(a, b),
    "max": lambda a, b: sympy.Max(a, b),
    "step": lambda a, b: _choose((1, a > b), (0, True)),
    "sqrt": lambda a: sympy.sqrt(_abs(a)),
    "log": lambda a, e: sympy.log(_abs(a) + e),
    "log1p": lambda a: sympy.log(1 + _abs(a)),
    "exp": lambda a: sympy.exp(sympy.Min(a, 80)),
    "sin": sympy.sin,
    "cos": sympy.cos,
    "tanh": sympy.tanh,
    "square": lambda a: a**2,
    "cube": lambda a: a**3,
    "neg": lambda a: -a,
    "abs": _abs,
}


def symbol(name: str) -> Any:
    """A feature: a real number."""
    return sympy.Symbol(name, real=True)


def to_sympy(forest: Forest, root: int, feature_names: Sequence[str] | None = None) -> Any:
    """SymPy expression of a program; functions of the user's are functions without a definition."""
    labels = feature_labels(forest.n_features, feature_names)
    made: dict[int, Any] = {}
    for node in forest.reachable([root]):
        name = forest.name(node)
        operands = [made[child] for child in forest.children(node)]
        if name == "feature":
            made[node] = symbol(labels[int(forest.columns.left[node])])
        elif name == "constant":
            made[node] = sympy.Float(float(forest.columns.value[node]))
        elif name in OPERATIONS:
            epsilon = [sympy.Float(forest.primitives.epsilon_of(name))] if name in ("div", "log") else []
            made[node] = OPERATIONS[name](*operands, *epsilon)
        else:
            made[node] = sympy.Function(name)(*operands)
    return made[root]
