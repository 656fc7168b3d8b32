"""What formulas may be, besides which functions they have: right in units, of some size, with functions not nested.

The searches use units to look at little that is wrong; here it is decided for every formula that they offer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from symgrove.methods.law.formulas import LawFormulas
from symgrove.methods.law.functions import EXTREMES, FUNCTIONS
from symgrove.methods.law.units import DIGITS, Units

_NAME_OF = {own.primitive: name for name, own in FUNCTIONS.items()}
NEARLY_ONE = 0.1
_SMALLEST = 10.0**-DIGITS


class Dimension(NamedTuple):
    """Of a part of a formula; `is_free`: whatever its constants make of it."""

    exponents: tuple[float, ...]
    is_free: bool = False

    def is_as(self, other: Dimension) -> bool:
        """Whether both may be the same."""
        if self.is_free or other.is_free:
            return True
        return all(abs(a - b) < _SMALLEST for a, b in zip(self.exponents, other.exponents, strict=True))


@dataclass(frozen=True)
class Rules:
    """Rules of a search.

    Attributes
    ----------
    units : Units
    max_size : int, optional
        The most nodes that a formula may have.
    nested : mapping
        For a function, of others how many may be nested in it.
    """

    units: Units
    max_size: int | None = None
    nested: Mapping[str, Mapping[str, int]] = field(default_factory=dict)


class RuleChecks:
    """Which formulas keep the rules; all are of one forest."""

    def __init__(self, formulas: LawFormulas, rules: Rules) -> None:
        self.formulas, self.rules = formulas, rules
        self._dimensions: dict[int, Dimension | None] = {}
        self._depths: dict[int, dict[str, int]] = {}

    def allow(self, root: int) -> bool:
        """Whether a formula is right in units and nests nothing that must not be."""
        return self._has_unit(root) and self._is_well_nested(root)

    def allow_size(self, root: int) -> bool:
        """Whether it is small enough."""
        return self.rules.max_size is None or self.formulas.size(root) <= self.rules.max_size

    def small_enough(self, root: int, values: tuple[float, ...]) -> tuple[int, tuple[float, ...]] | None:
        """The formula, without constants that are nearly one if it is too large with them; None if it stays so."""
        most, formulas = self.rules.max_size, self.formulas
        if most is None or self.allow_size(root):
            return root, values
        if formulas.size(root) - 2 * len(values) > most:  # a constant is a node, and often a product is one more
            return None
        fixed = [1.0 if abs(value - 1.0) < NEARLY_ONE else None for value in values]
        root = formulas.with_values(root, fixed)
        left = tuple(value for value, own in zip(values, fixed, strict=True) if own is None)
        return (root, left) if self.allow_size(root) else None

    # Units

    def _has_unit(self, root: int) -> bool:
        if not self.rules.units.are_given:
            return True
        own = self.dimension(root)
        return own is not None and own.is_as(Dimension(tuple(self.rules.units.target.tolist())))

    def dimension(self, node: int) -> Dimension | None:
        """Of a part of a formula; None if it has none, because it adds what cannot be added, or the like."""
        if node not in self._dimensions:
            self._dimensions[node] = self._dimension(node)
        return self._dimensions[node]

    def _dimension(self, node: int) -> Dimension | None:
        formulas, units = self.formulas, self.rules.units
        name, number = formulas.forest.name(node), Dimension((0.0,) * len(units.target))
        if name == "feature":
            j = int(formulas.forest.columns.left[node])
            if j < formulas.n_features:
                return Dimension(tuple(units.features[j].tolist()))
        if name in ("feature", "constant"):
            return number._replace(is_free=units.constants_have_units)
        children = formulas.forest.children(node)
        own = [self.dimension(child) for child in (children[:1] if name == "power" else children)]
        operands = [each for each in own if each is not None]
        if len(operands) < len(own):
            return None
        a, b = operands[0], operands[-1]
        if name in ("add", "sub", *EXTREMES):
            return (b if a.is_free else a) if a.is_as(b) else None
        if name == "neg":
            return a
        if name in ("mul", "plain_div"):
            return _combined(1.0, a, 1.0 if name == "mul" else -1.0, b)
        if name == "plain_sqrt":
            return _combined(0.5, a, 0.0, b)
        if name == "power":
            return _combined(formulas.value_of(children[1]) or 0.0, a, 0.0, b)
        return number if a.is_as(number) else None

    # Nesting

    def _is_well_nested(self, root: int) -> bool:
        forest, nested = self.formulas.forest, self.rules.nested
        for node in forest.reachable([root]) if nested else ():
            limits = nested.get(_NAME_OF.get(forest.name(node), ""), {})
            inside = self._depth(forest.children(node)[0]) if limits else {}
            if any(inside.get(name, 0) > most for name, most in limits.items()):
                return False
        return True

    def _depth(self, node: int) -> dict[str, int]:
        """How often each function stands on the way from a node down, where that is most often."""
        found = self._depths.get(node)
        if found is None:
            found = {}
            for child in self.formulas.forest.children(node):
                for name, n in self._depth(child).items():
                    found[name] = max(n, found.get(name, 0))
            own = _NAME_OF.get(self.formulas.forest.name(node))
            if own is not None:
                found[own] = found.get(own, 0) + 1
            self._depths[node] = found
        return found


def _combined(p: float, a: Dimension, q: float, b: Dimension) -> Dimension:
    """Of a^p b^q."""
    exponents: Sequence[float] = [p * x + q * y for x, y in zip(a.exponents, b.exponents, strict=True)]
    return Dimension(tuple(exponents), (a.is_free and p != 0) or (b.is_free and q != 0))
