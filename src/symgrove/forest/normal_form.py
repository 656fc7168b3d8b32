"""Formulas in a normal form: sums of coefficients times products of powers.

Equal formulas that differ in the order of operands, in where a factor stands or in how powers are written get the same
id, and like terms and like bases are collected. Items are interned, as nodes of a forest are:

- ("feature", j) and ("call", name, operands): what is taken as it is. Of the divisions that are protected, and of aq,
  which are linear in their first operand, an item is the function of the second, with 1 as the first;
- ("product", ((base, exponent), ...)): exponents are fractions, or numbers that are no simple ones;
- ("sum", constant, ((item, coefficient), ...)): by ascending item.

A formula is a number times an item. Identities are those of real functions: of protected primitives for every input,
of plain ones wherever all parts of the original have a value. A root of a product is not taken apart, because it has
values where the roots of its factors have none.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from symgrove.forest.forest import Forest
from symgrove.forest.primitives import PrimitiveSet

Exponent = int | Fraction | float  # whole numbers are int
Scaled = tuple[float, int]  # a number times an item
Factors = tuple[tuple[int, Exponent], ...]
Terms = tuple[tuple[int, float], ...]
LOST = 1e-15  # as a share of a number, of a sum's largest part: what is so small is rounding
LARGEST_DENOMINATOR = 24
HALF = Fraction(1, 2)
LINEAR = ("div", "pdiv", "aq")  # in their first operand


class NoNormalFormError(ArithmeticError):
    """A formula has a part without a finite value, such as 1 / 0."""


class NormalForms:
    """Makes and keeps normal forms of programs with the same primitives."""

    def __init__(self, primitives: PrimitiveSet) -> None:
        self.primitives = primitives
        self.items: list[Any] = []
        self._places: dict[Any, int] = {}
        self._splits: dict[int, tuple[float, Factors, int]] = {}
        self.one = self.intern("product", ())

    def intern(self, *item: Any) -> int:
        """Place of an item; equal ones have one."""
        place = self._places.setdefault(item, len(self.items))
        if place == len(self.items):
            self.items.append(item)
        return place

    def kind(self, item: int) -> str:
        """feature, call, product or sum."""
        found: str = self.items[item][0]
        return found

    def name_of_call(self, item: int) -> str:
        """The primitive of a call, else nothing."""
        return self.items[item][1] if self.items[item][0] == "call" else ""

    def factors(self, item: int) -> Factors:
        """What an item is the product of."""
        found: Factors = self.items[item][1] if self.items[item][0] == "product" else ((item, 1),)
        return found

    def number(self, value: float) -> Scaled:
        """A number."""
        if not math.isfinite(value):
            raise NoNormalFormError
        return value, self.one

    # Reading

    def read(self, forest: Forest, root: int) -> Scaled:
        """The normal form of a program."""
        made: dict[int, Scaled] = {}
        for node in forest.reachable([root]):
            name = forest.name(node)
            if name == "feature":
                made[node] = 1.0, self.intern("feature", int(forest.columns.left[node]))
            elif name == "constant":
                made[node] = self.number(float(forest.columns.value[node]))
            else:
                made[node] = self.apply(name, [made[child] for child in forest.children(node)])
        return made[root]

    def apply(self, name: str, operands: Sequence[Scaled]) -> Scaled:
        """A primitive of normal forms."""
        a, b = operands[0], operands[-1]
        if name in ("add", "sub"):
            return self.add([a, b if name == "add" else (-b[0], b[1])])
        if name in ("mul", "plain_div"):
            return self.multiply([(a, 1), (b, 1 if name == "mul" else -1)])
        if name == "neg":
            return -a[0], a[1]
        if name in ("square", "cube"):
            return self.multiply([(a, 2 if name == "square" else 3)])
        if name in ("sqrt", "plain_sqrt"):
            return self.multiply([(a if name == "plain_sqrt" else self.absolute(a), HALF)])
        if name == "abs":
            return self.absolute(a)
        if name in LINEAR:
            return self.multiply([(a, 1), (self._call(name, [b]), 1)])
        if name == "power" and b[1] == self.one:
            return self.multiply([(a, simple_exponent(b[0]))])
        if name == "plain_exp":
            return self._exponential(a)
        if name == "plain_log":
            return self._logarithm(a)
        return self._call(name, operands)

    # Sums

    def add(self, parts: Iterable[Scaled]) -> Scaled:
        """The sum of parts, like terms collected."""
        constant, largest = 0.0, 0.0
        terms: dict[int, list[float]] = {}  # coefficient, and the largest part of it
        for scale, item in parts:
            own: tuple[Any, ...] = self.items[item]
            inner, inside = (own[1:]) if own[0] == "sum" else (0.0, ((item, 1.0),))
            if item == self.one:
                inner, inside = 1.0, ()
            constant += scale * inner
            largest = max(largest, abs(scale * inner))
            for term, coefficient in inside:
                entry = terms.setdefault(term, [0.0, 0.0])
                entry[0] += scale * coefficient
                entry[1] = max(entry[1], abs(scale * coefficient))
        kept = [(term, tidy(c)) for term, (c, most) in sorted(terms.items()) if abs(c) > LOST * most]
        constant = tidy(constant) if abs(constant) > LOST * largest else 0.0
        return self.sum_of(constant, kept)

    def sum_of(self, constant: float, terms: Iterable[tuple[int, float]]) -> Scaled:
        """A sum of different items, which are no sums, as a number times an item."""
        own = tuple(sorted(terms))
        if not all(math.isfinite(value) for value in (constant, *(c for _, c in own))):
            raise NoNormalFormError
        if not own:
            return constant, self.one
        if len(own) == 1 and constant == 0:
            return own[0][1], own[0][0]
        return 1.0, self.intern("sum", constant, own)

    def as_item(self, scaled: Scaled) -> int:
        """An item that a number times an item is: a sum of one part where the number is not 1."""
        scale, item = scaled
        if scale == 1:
            return item
        if self.kind(item) != "sum":
            return self.intern("sum", scale, ()) if item == self.one else self.intern("sum", 0.0, ((item, scale),))
        _, constant, terms = self.items[item]
        return self._sum_item(tidy(scale * constant), [(i, tidy(scale * c)) for i, c in terms])

    def divided(self, item: int, divisor: float) -> int:
        """A sum divided by a number."""
        _, constant, terms = self.items[item]
        return self._sum_item(tidy(constant / divisor), [(i, tidy(c / divisor)) for i, c in terms])

    def _sum_item(self, constant: float, terms: list[tuple[int, float]]) -> int:
        if not all(math.isfinite(value) for value in (constant, *(c for _, c in terms))):
            raise NoNormalFormError
        is_plain = len(terms) == 1 and constant == 0 and terms[0][1] == 1
        return terms[0][0] if is_plain else self.intern("sum", constant, tuple(terms))

    def split(self, item: int) -> tuple[float, Factors, int]:
        """A sum as a number, powers that all of its terms have, and a sum without these.

        Of a power that only some terms have, that with the lowest negative exponent: the rest is without fractions.
        """
        if item not in self._splits:
            _, constant, terms = self.items[item]
            shared = self.shared_factors(([self.one] if constant else []) + [i for i, _ in terms])
            if shared:
                inverse = [((1.0, base), -exponent) for base, exponent in shared]
                parts = [((c, i), inverse) for i, c in terms] + ([((constant, self.one), inverse)] if constant else [])
                scale, rest = self.add(self.multiply([(part, 1), *more]) for part, more in parts)
            else:
                scale, rest = 1.0, item
            if self.kind(rest) == "sum":
                leading = self.leading(rest)
                scale, rest = scale * leading, self.divided(rest, leading)
            self._splits[item] = scale, shared, rest
        return self._splits[item]

    def leading(self, item: int) -> float:
        """The coefficient of a sum's first term, or its constant if there is no term."""
        _, constant, terms = self.items[item]
        return float(terms[0][1] if terms else constant)

    def shared_factors(self, items: Sequence[int], *, joins: bool = True) -> Factors:
        """Powers that can be taken out of all items; with `joins`, denominators of any."""
        lowest: dict[int, Exponent] = {}
        every = [dict(self.factors(item)) for item in items]
        for own in every:
            for base in own:
                least = min((other.get(base, 0) for other in every), key=float)
                if least > 0 or (joins and least < 0):
                    lowest[base] = least
        return tuple(sorted(lowest.items()))

    # Products

    def multiply(self, parts: Iterable[tuple[Scaled, Exponent]]) -> Scaled:
        """The product of powers, like bases collected."""
        scale = 1.0
        factors: dict[int, Exponent] = {}
        for part, exponent in parts:
            scale *= self._take(part, simple_exponent(exponent), factors)
        calls = [item for item in factors if self.name_of_call(item) == "plain_exp"]
        if len(calls) > 1 or any(factors[item] != 1 for item in calls):
            total = self.add((float(factors.pop(item)), self.items[item][2][0]) for item in calls)
            scale *= self._take(self._exponential(total), 1, factors)
        if scale == 0:
            return 0.0, self.one
        return self.product_of(tidy(scale), factors.items())

    def product_of(self, scale: float, factors: Iterable[tuple[int, Exponent]]) -> Scaled:
        """A product of powers of different bases."""
        if not math.isfinite(scale):
            raise NoNormalFormError
        own = tuple(sorted(factors))
        if len(own) == 1 and own[0][1] == 1:
            return scale, own[0][0]
        return scale, self.intern("product", own)

    def _take(self, part: Scaled, exponent: Exponent, factors: dict[int, Exponent]) -> float:
        """Multiply factors by a power; returns the number that is left over."""
        scale, item = part
        if exponent == 0:
            return 1.0
        if self.kind(item) == "sum" and len(self.items[item][2]) + bool(self.items[item][1]) <= 1:
            _, constant, terms = self.items[item]
            scale, item = (scale * terms[0][1], terms[0][0]) if terms else (scale * constant, self.one)
        if not is_whole(exponent):
            return self._take_root(scale, item, exponent, factors)
        number = self._power_of_number(scale, exponent)
        if self.kind(item) == "product":
            own: Factors = self.items[item][1]
            return math.prod((self._include(b, simple_exponent(e * exponent), factors) for b, e in own), start=number)
        if self.kind(item) == "sum":
            inner, shared, rest = self.split(item)
            number *= self._power_of_number(inner, exponent)
            for base, own_exponent in (*shared, (rest, 1)):
                number *= self._include(base, simple_exponent(own_exponent * exponent), factors)
            return number
        return number * self._include(item, exponent, factors)

    def _take_root(self, scale: float, item: int, exponent: Exponent, factors: dict[int, Exponent]) -> float:
        """The same for an exponent that is not whole: only where nothing is negative, products are taken apart."""
        if self.kind(item) == "sum":
            leading = abs(self.leading(item))
            scale, item = scale * leading, self.divided(item, leading)
        if scale < 0:
            if item == self.one:
                raise NoNormalFormError
            scale, item = -scale, self.as_item((-1.0, item))
        number = self._power_of_number(scale, exponent)
        own = self.factors(item)
        if len(own) == 1 and is_whole(own[0][1]) and own[0][1] % 2 == 0:
            return number * self._take(self.absolute((1.0, own[0][0])), simple_exponent(own[0][1] * exponent), factors)
        if len(own) == 1 or all(self.is_never_negative(base) or not is_whole(e) for base, e in own):
            return math.prod((self._include(b, simple_exponent(e * exponent), factors) for b, e in own), start=number)
        return number * self._include(item, exponent, factors)

    def _include(self, base: int, exponent: Exponent, factors: dict[int, Exponent]) -> float:
        total = simple_exponent(factors.pop(base, 0) + exponent)
        if total == 0:
            return 1.0
        if self.kind(base) in ("product", "sum") and is_whole(total) and total != exponent:
            return self._take((1.0, base), total, factors)  # roots that have become whole powers
        if self.name_of_call(base) == "abs" and is_whole(total) and total % 2 == 0:
            return self._take((1.0, self.items[base][2][0]), total, factors)
        factors[base] = total
        return 1.0

    @staticmethod
    def _power_of_number(value: float, exponent: Exponent) -> float:
        if value == 1 or exponent == 1:
            return value
        try:
            found = math.pow(value, float(exponent))
        except (ValueError, OverflowError):
            raise NoNormalFormError from None
        if found == 0 and value != 0:
            raise NoNormalFormError
        return found

    # Functions

    def is_never_negative(self, item: int) -> bool:
        """Whether an item is known to have no negative values."""
        kind, *own = self.items[item]
        if kind == "call":
            return bool(own[0] not in LINEAR and self.primitives[own[0]].is_never_negative)
        if kind == "product":
            return all(
                not is_whole(exponent) or exponent % 2 == 0 or self.is_never_negative(base) for base, exponent in own[0]
            )
        if kind == "sum":
            return bool(own[0] >= 0 and all(c > 0 and self.is_never_negative(i) for i, c in own[1]))
        return False

    def absolute(self, a: Scaled) -> Scaled:
        """The absolute value, that of a product as a product."""
        scale, item = abs(a[0]), a[1]
        if self.kind(item) == "product":
            parts: list[tuple[Scaled, Exponent]] = [
                (self.absolute((1.0, base)) if is_whole(e) and e % 2 else (1.0, base), e)
                for base, e in self.items[item][1]
            ]
            return self.multiply([((scale, self.one), 1), *parts])
        if self.is_never_negative(item):
            return scale, item
        if self.kind(item) == "sum":
            leading = self.leading(item)
            scale, item = scale * abs(leading), self.divided(item, leading)
        return scale, self.intern("call", "abs", (item,))

    def _exponential(self, a: Scaled) -> Scaled:
        if a[1] == self.one:
            return self._call("plain_exp", [a])
        own = self.as_item(a)
        _, constant, terms = self.items[own] if self.kind(own) == "sum" else ("", 0.0, ((own, 1.0),))
        powers = [(i, c) for i, c in terms if self.name_of_call(i) == "plain_log"]
        if not powers:
            return 1.0, self.intern("call", "plain_exp", (own,))
        rest = self.sum_of(constant, [(i, c) for i, c in terms if self.name_of_call(i) != "plain_log"])
        return self.multiply([(self._exponential(rest), 1), *(((1.0, self.items[i][2][0]), c) for i, c in powers)])

    def _logarithm(self, a: Scaled) -> Scaled:
        scale, item = a
        own = self.factors(item)
        if scale == 1 and len(own) == 1 and not (is_whole(own[0][1]) and own[0][1] % 2 == 0):
            base, exponent = own[0]
            if self.name_of_call(base) == "plain_exp":
                return self.add([(float(exponent), self.items[base][2][0])])
            if exponent != 1:
                return float(exponent), self.intern("call", "plain_log", (base,))
        return self._call("plain_log", [a])

    def _call(self, name: str, operands: Sequence[Scaled]) -> Scaled:
        """A primitive of which only its symmetry is used."""
        row = self.primitives[name]
        if all(item == self.one for _, item in operands):
            a, b = (np.float64(operands[k][0]) for k in (0, -1))
            with np.errstate(all="ignore"):
                value = row.meaning(np.float64(1.0) if name in LINEAR else a, b, self.primitives.epsilon_of(name))
            return self.number(float(value))
        if name == "aq" or (row.symmetry and row.arity == 1):
            return self._symmetric(name, operands[0], is_even=name == "aq" or row.symmetry == "even")
        items = [self.as_item(operand) for operand in operands]
        if len(items) == 2 and items[0] == items[1] and name in ("min", "max", "step"):
            return (0.0, self.one) if name == "step" else operands[0]
        return 1.0, self.intern("call", name, tuple(sorted(items) if row.commutes else items))

    def _symmetric(self, name: str, operand: Scaled, *, is_even: bool) -> Scaled:
        """A function whose operand may change its sign."""
        item = self.as_item(operand)
        if is_even and self.name_of_call(item) == "abs":
            item = self.items[item][2][0]
        is_negative = self.kind(item) == "sum" and self.leading(item) < 0
        if is_negative:
            item = self.as_item((-1.0, item))
        return (1.0 if is_even or not is_negative else -1.0), self.intern("call", name, (item,))


def simple_exponent(value: Exponent) -> Exponent:
    """A number that is whole or a simple fraction as one."""
    if isinstance(value, int):
        return value
    if not math.isfinite(value):
        raise NoNormalFormError
    if value == int(value):
        return int(value)
    if isinstance(value, Fraction) and value.denominator <= LARGEST_DENOMINATOR:
        return value
    simple = Fraction(value).limit_denominator(LARGEST_DENOMINATOR)
    return simple if abs(float(simple) - float(value)) <= 1e-15 * abs(float(value)) else float(value)


def is_whole(exponent: Exponent) -> bool:
    """Whether an exponent is a whole number."""
    return isinstance(exponent, int)


def tidy(value: float) -> float:
    """A number whose last digits are rounding as the short one that it is near."""
    if value == 1 or not math.isfinite(value):
        return value
    short = float(f"{value:.12g}")
    return short if abs(short - value) <= LOST * abs(value) else value


def is_long(value: float) -> bool:
    """Whether a number has many digits."""
    return float(f"{value:.4g}") != value
