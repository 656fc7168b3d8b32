"""LawFormulas with free constants, in one forest: free constant k is the feature n_features + k.

Equal parts of formulas are one node, so that what has no free constant is computed once for all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from math import log2
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symgrove.forest.forest import Forest
from symgrove.forest.primitives import PrimitiveSet
from symgrove.methods.law.functions import EXTREMES, FUNCTIONS

Matrix = NDArray[np.float64]
Exponents = Sequence[float]
ARITHMETIC = ("add", "sub", "mul", "plain_div", "power", "neg")
LAW_FUNCTIONS = (*ARITHMETIC, *(own.primitive for own in FUNCTIONS.values()), *EXTREMES)
MOST_FREE = 24


class RowSet:
    """Rows that formulas are computed on: features by column, targets, roots of the weights, known values of nodes.

    `smooth` is the target without noise, as far as that is known; None where there is hardly any, or nothing is known.
    """

    MOST_KNOWN = 64 << 20  # bytes

    def __init__(self, X: Matrix, y: Matrix, weight: Matrix | None = None) -> None:
        self.columns = np.ascontiguousarray(X.T)
        self.y = y
        self.root_weight = None if weight is None else np.sqrt(weight / weight.mean())
        self.known: dict[int, Matrix] = {}
        self.smooth: Matrix | None = None

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return self.y.size

    @cached_property
    def mean(self) -> float:
        """Weighted mean of the target."""
        return float(np.average(self.y, weights=None if self.root_weight is None else self.root_weight**2))

    def remember(self, node: int, values: Matrix) -> None:
        """Keep values of a node without free constants, while there is room."""
        if 8 * self.n_rows * len(self.known) > self.MOST_KNOWN:
            self.known.clear()
        self.known[node] = values

    def residuals(self, predicted: Matrix) -> Matrix:
        """Differences from the target, times roots of weights."""
        difference = self.y - predicted
        return difference if self.root_weight is None else difference * self.root_weight


class LawFormulas:
    """Makes, computes and measures formulas."""

    def __init__(self, n_features: int) -> None:
        self.n_features = n_features
        self.forest = Forest(n_features + MOST_FREE, PrimitiveSet(LAW_FUNCTIONS))
        self._sizes: dict[int, int] = {}
        self._bits: dict[int, float] = {}
        self._free: dict[int, frozenset[int]] = {}

    # Making

    @cached_property
    def one(self) -> int:
        """The number 1."""
        return self.forest.constant(1.0)

    def feature(self, j: int) -> int:
        """A feature."""
        return self.forest.feature(j)

    def free(self, k: int) -> int:
        """A free constant."""
        return self.forest.feature(self.n_features + k)

    def number(self, value: float) -> int:
        """A fixed number."""
        return self.forest.constant(float(value))

    def value_of(self, node: int) -> float | None:
        """The number that a node is, if it is one."""
        return float(self.forest.columns.value[node]) if self.forest.name(node) == "constant" else None

    def add(self, a: int, b: int) -> int:
        """The sum."""
        if self.value_of(a) == 0:
            return b
        if self.value_of(b) == 0:
            return a
        negative = self._negated(b)
        return self.forest.apply("add", a, b) if negative is None else self.forest.apply("sub", a, negative)

    def sub(self, a: int, b: int) -> int:
        """The difference."""
        return self.forest.apply("sub", a, b)

    def mul(self, a: int, b: int) -> int:
        """The product."""
        if a == self.one:
            return b
        if b == self.one:
            return a
        if self.value_of(b) is not None and self.value_of(a) is None:
            a, b = b, a
        if self.value_of(a) == 0:
            return a
        if self.forest.name(b) == "plain_div" and self.forest.children(b)[0] == self.one:
            return self.div(a, self.forest.children(b)[1])
        return self.forest.apply("mul", a, b)

    def div(self, a: int, b: int) -> int:
        """The quotient."""
        return a if b == self.one else self.forest.apply("plain_div", a, b)

    def power(self, a: int, exponent: float) -> int:
        """A power with a fixed exponent."""
        if exponent == 1:
            return a
        if exponent == -1:
            return self.div(self.one, a)
        if exponent == 0.5:
            return self.forest.apply("plain_sqrt", a)
        if exponent < 0:
            return self.div(self.one, self.power(a, -exponent))
        return self.forest.apply("power", a, self.number(exponent))

    def call(self, function: str, a: int) -> int:
        """A function, by the name that formulas have for it, or "neg"."""
        return self.forest.apply(FUNCTIONS[function].primitive if function in FUNCTIONS else function, a)

    def monomial(self, exponents: Exponents) -> int:
        """The product of powers of features."""
        above = [self.power(self.feature(j), p) for j, p in enumerate(exponents) if p > 0]
        below = [self.power(self.feature(j), -p) for j, p in enumerate(exponents) if p < 0]
        return self.div(self.product(above), self.product(below))

    def product(self, factors: Sequence[int]) -> int:
        """Of all factors; 1 if there are none."""
        total = self.one
        for factor in factors:
            total = self.mul(total, factor)
        return total

    def without_common(self, nodes: Sequence[int]) -> tuple[int, int, list[int]]:
        """What all nodes have as factors, above and below, and the nodes without it."""
        factors = [self._factors(node, is_below=False) for node in nodes]
        common = [own for own in factors[0] if self.value_of(own[0]) is None]
        for others in factors[1:]:
            left = [*others]
            common = [own for own in common if own in left and left.pop(left.index(own))]
        if not common:
            return self.one, self.one, [*nodes]
        rests = []
        for own in factors:
            left = [*own]
            for factor in common:
                left.remove(factor)
            rests.append(self._quotient(left))
        above, below = (self.product([node for node, is_below in common if is_below == place]) for place in (0, 1))
        return above, below, rests

    def without_denominators(self, nodes: Sequence[int]) -> tuple[int, list[int]]:
        """A product of factors, and the nodes times it, of which none is a quotient any more."""
        factors = [self._factors(node, is_below=False) for node in nodes]
        below: list[int] = []
        for own in factors:
            seen = [*below]
            for node, is_below in own:
                if is_below and node in seen:
                    seen.remove(node)
                elif is_below:
                    below.append(node)
        cleared = []
        for own in factors:
            left = [*below]
            for node, is_below in own:
                if is_below:
                    left.remove(node)
            above = [node for node, is_below in own if not is_below]
            cleared.append(self.product([*above, *left]))
        return self.product(below), cleared

    def _quotient(self, factors: Sequence[tuple[int, bool]]) -> int:
        above, below = (self.product([node for node, is_below in factors if is_below == place]) for place in (0, 1))
        return self.div(above, below)

    def _negated(self, node: int) -> int | None:
        """What a node is minus of, if it is written as a negative number times something."""
        value = self.value_of(node)
        if value is not None and value < 0:
            return self.number(-value)
        if self.forest.name(node) == "neg":
            return self.forest.children(node)[0]
        if self.forest.name(node) == "mul":
            a, b = self.forest.children(node)
            factor = self.value_of(a)
            if factor is not None and factor < 0:
                return self.mul(self.number(-factor), b)
        return None

    def with_values(self, root: int, values: Sequence[float | None]) -> int:
        """The formula with some free constants fixed; those that stay (None) are numbered anew, in their order."""
        place = iter(range(MOST_FREE))
        new = [self.free(next(place)) if value is None else self.number(value) for value in values]
        return self._rebuilt(root, {self.free(k): node for k, node in enumerate(new)})

    def _rebuilt(self, root: int, replaced: dict[int, int]) -> int:
        made: dict[int, int] = {}
        for node in self.forest.reachable([root]):
            children = [made[child] for child in self.forest.children(node)]
            made[node] = replaced.get(node, node) if not children else self._applied(node, children)
        return made[root]

    def _applied(self, node: int, children: list[int]) -> int:
        name = self.forest.name(node)
        if all(self.value_of(child) is not None for child in children) and name != "power":
            row = self.forest.primitives[name]
            a, b = (np.float64(self.value_of(child)) for child in (children[0], children[-1]))
            with np.errstate(all="ignore"):
                folded = float(row.meaning(a, b, 0.0))
            if np.isfinite(folded):
                return self.number(folded)
        tidy = {"add": self.add, "mul": self.mul, "plain_div": self.div}.get(name)
        if tidy is not None:
            return tidy(*children)
        if name == "sub":
            negative = self._negated(children[1])
            return self.forest.apply("sub", *children) if negative is None else self.add(children[0], negative)
        return self.forest.apply(name, *children)

    def in_forest(self, root: int, values: Sequence[float], forest: Forest, features: Sequence[int]) -> int:
        """The formula with its constants, in a forest of features, whose places are given."""
        bound = self.with_values(root, [*values])
        made: dict[int, int] = {}
        for node in self.forest.reachable([bound]):
            name = self.forest.name(node)
            if name == "feature":
                made[node] = forest.feature(int(features[int(self.forest.columns.left[node])]))
            elif name == "constant":
                made[node] = forest.constant(float(self.forest.columns.value[node]))
            else:
                made[node] = forest.apply(name, *(made[child] for child in self.forest.children(node)))
        return made[bound]

    # Computing

    def free_of(self, node: int) -> frozenset[int]:
        """Which free constants a formula has."""
        found = self._free.get(node)
        if found is None:
            if self.forest.name(node) == "feature":
                j = int(self.forest.columns.left[node])
                found = frozenset([j - self.n_features]) if j >= self.n_features else frozenset()
            else:
                found = frozenset().union(*(self.free_of(child) for child in self.forest.children(node)))
            self._free[node] = found
        return found

    def compute(self, root: int, rows: RowSet, values: Sequence[float] = ()) -> dict[int, Matrix]:
        """Values of the formula and of its parts, on every row."""
        found: dict[int, Matrix] = {}
        with np.errstate(all="ignore"):
            self._compute(root, rows, values, found)
        return found

    def _compute(self, node: int, rows: RowSet, values: Sequence[float], found: dict[int, Matrix]) -> Matrix:
        if node in found:
            return found[node]
        known = rows.known.get(node)
        if known is not None:
            found[node] = known
            return known
        name = self.forest.name(node)
        result: Any  # numbers where there are no features
        if name == "feature":
            j = int(self.forest.columns.left[node])
            result = rows.columns[j] if j < self.n_features else np.float64(values[j - self.n_features])
        elif name == "constant":
            result = np.float64(self.forest.columns.value[node])
        else:
            operands = [self._compute(child, rows, values, found) for child in self.forest.children(node)]
            result = self._apply(name, operands)
            if np.ndim(result) and not self.free_of(node):
                rows.remember(node, result)
        found[node] = result
        return result

    def _apply(self, name: str, operands: list[Matrix]) -> Any:
        a, b = operands[0], operands[-1]
        if name == "power" and np.ndim(b) == 0:
            return _to_the(a, float(b))
        return self.forest.primitives[name].meaning(a, b, 0.0)

    def predict(self, root: int, rows: RowSet, values: Sequence[float] = ()) -> Matrix:
        """Values of the formula, (n_rows,)."""
        return self.compute(root, rows, values)[root] + np.zeros(rows.n_rows)

    def jacobian(self, root: int, rows: RowSet, values: Sequence[float]) -> tuple[Matrix, Matrix]:
        """Values of the formula, (n_rows,), and their derivatives by the free constants, (n_free, n_rows)."""
        found = self.compute(root, rows, values)
        return found[root] + np.zeros(rows.n_rows), self.slopes(root, rows, len(values), found)

    def slopes(self, root: int, rows: RowSet, n_free: int, found: dict[int, Matrix]) -> Matrix:
        """Derivatives by the free constants, (n_free, n_rows), from what `compute` has found."""
        slopes = np.zeros((n_free, rows.n_rows))
        adjoint: dict[int, Matrix] = {root: np.ones(rows.n_rows)}
        with np.errstate(all="ignore"):
            for node in reversed(self.forest.reachable([root])):
                own = adjoint.pop(node, None)
                if own is None or not self.free_of(node):
                    continue
                name = self.forest.name(node)
                if name == "feature":
                    slopes[int(self.forest.columns.left[node]) - self.n_features] += own
                    continue
                children = self.forest.children(node)
                a, b = found[children[0]], found[children[-1]]
                for child, derivative in zip(children, self.forest.primitives[name].derivative, strict=True):
                    if self.free_of(child):
                        adjoint[child] = adjoint.get(child, 0.0) + own * derivative(a, b, 0.0)
        return slopes

    # Measuring

    def size(self, node: int) -> int:
        """Nodes of the SymPy expression, every constant counted; signs and quotients as SymPy has them."""
        found = self._sizes.get(node)
        if found is None:
            found = self._sizes[node] = self._size(node)
        return found

    def _size(self, node: int) -> int:
        name = self.forest.name(node)
        if name in ("feature", "constant"):
            return 1
        if name in ("add", "sub"):
            parts = self._summands(node)
            return 1 + sum(self._scaled_size(part, negative=negative) for part, negative in parts)
        if name in ("mul", "plain_div", "neg"):
            return self._scaled_size(node, negative=False)
        if name == "power":
            return 2 + self.size(self.forest.children(node)[0])
        if name == "plain_sqrt":
            return 2 + self.size(self.forest.children(node)[0])
        return 1 + sum(self.size(child) for child in self.forest.children(node))

    def _summands(self, node: int, negative: bool = False) -> list[tuple[int, bool]]:
        name = self.forest.name(node)
        if name not in ("add", "sub"):
            scaled = self._scaled_sum(node)
            return [(node, negative)] if scaled is None else [(part, True) for part, _ in self._summands(scaled)]
        a, b = self.forest.children(node)
        return self._summands(a, negative) + self._summands(b, negative != (name == "sub"))

    def _scaled_size(self, node: int, *, negative: bool) -> int:
        """Of a product, with its sign in the number that it has, or in one more."""
        has_number, factors = negative, []
        for factor, is_below in self._factors(node, is_below=False):
            value = self.value_of(factor)
            if value == -1.0:
                has_number = not has_number
            elif value is not None or (self.free_of(factor) and self.forest.name(factor) == "feature"):
                has_number = has_number or value != 1.0
            else:
                factors.append((factor, is_below))
        if len(factors) == 1 and has_number and self.forest.name(factors[0][0]) in ("add", "sub") and not factors[0][1]:
            return 1 + sum(self._scaled_size(part, negative=True) for part, _ in self._summands(factors[0][0]))
        total = int(has_number)
        for factor, is_below in factors:
            has_power = self.forest.name(factor) in ("power", "plain_sqrt")
            total += self.size(factor) + (2 if is_below and not has_power else 0)
        return max(total + (len(factors) + has_number > 1), 1)

    def _scaled_sum(self, node: int) -> int | None:
        """The sum, if the node is a number times one: SymPy multiplies the number into it."""
        if self.forest.name(node) not in ("mul", "neg"):
            return None
        factors = [
            (factor, is_below)
            for factor, is_below in self._factors(node, is_below=False)
            if self.value_of(factor) is None and not (self.free_of(factor) and self.forest.name(factor) == "feature")
        ]
        is_sum = len(factors) == 1 and not factors[0][1] and self.forest.name(factors[0][0]) in ("add", "sub")
        return factors[0][0] if is_sum else None

    def _factors(self, node: int, *, is_below: bool) -> list[tuple[int, bool]]:
        """Factors of products and quotients, with whether they are below; a sign is the number -1."""
        name, children = self.forest.name(node), self.forest.children(node)
        if name == "mul":
            return [each for child in children for each in self._factors(child, is_below=is_below)]
        if name == "plain_div":
            above, below = children
            return self._factors(above, is_below=is_below) + self._factors(below, is_below=not is_below)
        if name == "neg":
            return [(self.number(-1.0), False), *self._factors(children[0], is_below=is_below)]
        return [(node, is_below)]

    def bits(self, node: int) -> float:
        """About how many bits it takes to write the formula down, without the digits of its free constants."""
        found = self._bits.get(node)
        if found is None:
            found = self._bits[node] = self._bits_of(node)
        return found

    def _bits_of(self, node: int) -> float:
        name = self.forest.name(node)
        if name == "feature":
            return FREE_BITS if self.free_of(node) else FEATURE_BITS
        if name == "constant":
            return bits_of_number(float(self.forest.columns.value[node]))
        own = sum(self.bits(child) for child in self.forest.children(node))
        if name == "power":
            exponent = self.value_of(self.forest.children(node)[1])
            assert exponent is not None
            return self.bits(self.forest.children(node)[0]) + _bits_of_exponent(exponent)
        return own + BITS_OF_FUNCTIONS.get(name, OPERATION_BITS)


FREE_BITS, FEATURE_BITS, OPERATION_BITS = 9.0, 4.0, 2.5
BITS_OF_FUNCTIONS = {own.primitive: own.bits for own in FUNCTIONS.values()}


def bits_of_number(value: float) -> float:
    """Of a fixed number."""
    size = abs(value)
    return 3.0 if size == 1 else 4.5 if size in (2, 0.5) else 7.0


def _bits_of_exponent(exponent: float) -> float:
    if exponent == 2:
        return 3.5
    if exponent == int(exponent):
        return 5.0 if exponent <= 3 else 7.0
    fraction = Fraction(exponent).limit_denominator(12)
    return 5.0 + 2.0 * log2(fraction.numerator * fraction.denominator)


def _to_the(a: Matrix, exponent: float) -> Matrix:
    if exponent == 2:
        return a * a
    if exponent == 3:
        return a * a * a
    if exponent == 4:
        squared = a * a
        return squared * squared
    return np.power(a, exponent)
