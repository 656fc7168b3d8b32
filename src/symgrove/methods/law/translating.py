"""Formulas with free constants as programs that evolve, and back."""

from __future__ import annotations

from symgrove.forest.forest import Forest
from symgrove.methods.law.archive import Archived
from symgrove.methods.law.findings import Found
from symgrove.methods.law.formulas import MOST_FREE, LawFormulas


def program_of(formulas: LawFormulas, found: Found, forest: Forest) -> int | None:
    """The formula with its constants in a forest of programs; None if it has a power that those have not."""
    source = formulas.forest
    bound = formulas.with_values(found.root, [*found.values])
    made: dict[int, int] = {}
    for node in source.reachable([bound]):
        name, children = source.name(node), [made.get(child) for child in source.children(node)]
        if name == "feature":
            made[node] = forest.feature(int(source.columns.left[node]))
        elif name == "constant":
            made[node] = forest.constant(float(source.columns.value[node]))
        elif any(child is None for child in children):
            return None
        elif name == "power":
            power = _power(forest, made[source.children(node)[0]], formulas.value_of(source.children(node)[1]))
            if power is None:
                return None
            made[node] = power
        else:
            made[node] = forest.apply(name, *(made[child] for child in source.children(node)))
    return made[bound]


def _power(forest: Forest, base: int, exponent: float | None) -> int | None:
    squared = forest.apply("square", base)
    if exponent == 2:
        return squared
    if exponent == 3:
        return forest.apply("mul", base, squared)
    if exponent == 4:
        return forest.apply("square", squared)
    return forest.apply("mul", base, forest.apply("plain_sqrt", base)) if exponent == 1.5 else None


def formula_of(formulas: LawFormulas, archived: Archived, forest: Forest) -> tuple[int, tuple[float, ...]] | None:
    """a + b times the program as a formula with free constants, and their values; None if it has too many.

    b is multiplied into the summands of the program, and into the numbers that they have.
    """
    own = _Translation(formulas, forest)
    a, b = archived.line
    for part, sign in _summands(forest, archived.root):
        value = own.number(part)
        if value is not None:
            a += sign * b * value
            continue
        factor, rest = own.without_number(part)
        own.add(sign * b * factor, rest)
    own.values.append(a)
    if len(own.values) > MOST_FREE:
        return None
    return formulas.add(own.total, formulas.free(len(own.values) - 1)), tuple(own.values)


def _summands(forest: Forest, node: int, sign: float = 1.0) -> list[tuple[int, float]]:
    name = forest.name(node)
    if name not in ("add", "sub"):
        return [(node, sign)]
    left, right = forest.children(node)
    return _summands(forest, left, sign) + _summands(forest, right, sign if name == "add" else -sign)


class _Translation:
    def __init__(self, formulas: LawFormulas, forest: Forest) -> None:
        self.formulas, self.forest = formulas, forest
        self.values: list[float] = []
        self.total = formulas.number(0.0)
        self._made: dict[int, int] = {}

    def number(self, node: int) -> float | None:
        """The number that a node of the program is, if it is one."""
        return float(self.forest.columns.value[node]) if self.forest.name(node) == "constant" else None

    def without_number(self, node: int) -> tuple[float, int]:
        """A number that is a factor of a product, 1 if there is none, and the rest."""
        name = self.forest.name(node)
        if name == "neg":
            factor, rest = self.without_number(self.forest.children(node)[0])
            return -factor, rest
        if name not in ("mul", "plain_div"):
            return 1.0, node
        left, right = self.forest.children(node)
        if name == "mul":
            for own, other in ((left, right), (right, left)):
                value = self.number(own)
                if value is not None:
                    factor, rest = self.without_number(other)
                    return value * factor, rest
            factor, rest = self.without_number(right)
            if factor != 1:
                return factor, self.forest.apply("mul", left, rest)
        factor, rest = self.without_number(left)
        return factor, self.forest.apply(name, rest, right) if factor != 1 else node

    def add(self, coefficient: float, node: int) -> None:
        """Add a summand with a free coefficient."""
        own = self._free(coefficient)
        self.total = self.formulas.add(self.total, self.formulas.mul(own, self._translated(node)))

    def _free(self, value: float) -> int:
        self.values.append(value)
        return self.formulas.free(min(len(self.values), MOST_FREE) - 1)

    def _translated(self, root: int) -> int:
        formulas, forest, made = self.formulas, self.forest, self._made
        for node in forest.reachable([root]):
            if node in made:
                continue
            name, children = forest.name(node), [made[child] for child in forest.children(node)]
            if name == "feature":
                made[node] = formulas.feature(int(forest.columns.left[node]))
            elif name == "constant":
                made[node] = self._free(float(forest.columns.value[node]))
            elif name == "square":
                made[node] = formulas.power(children[0], 2.0)
            else:
                made[node] = formulas.forest.apply(name, *children)
        return made[root]
