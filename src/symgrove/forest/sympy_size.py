"""How many nodes the SymPy expression of a formula has as it is written, every number counted, without SymPy.

Protected functions count as what they are written as, `a / b` or `log(abs(a) + 1e-10)`, and as one node where SymPy has
no such function. SymPy rewrites what it is given: like terms and like bases are put together, a number is multiplied
into a sum, roots are taken of positive factors, signs come out of odd functions. Here the same is done to values that
are quick to make and to compare:

- a number: an int or a Fraction where SymPy has a rational number, else a float;
- ("symbol", name), ("call", name, operands), ("exp", operand);
- ("power", base, exponent): the exponent is a number;
- ("sum", number, terms): terms are pairs of a value and the number in front of it, in a frozenset;
- ("product", number, factors): pairs of a base and an exponent, in a frozenset; of exp, the base is E, the exponent any
  value.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from contextlib import suppress
from fractions import Fraction
from typing import Any

from symgrove.forest.forest import Forest
from symgrove.forest.text import feature_labels
from symgrove.forest.written_size import WrittenSizes

Value = Any
HALF = Fraction(1, 2)
E = ("E",)
SOME = 2.0  # a number that is nothing in particular
LARGEST = 20_000  # nodes; longer programs are counted as they are written, nothing put together
LARGEST_DENOMINATOR = 12  # of exponents that are shown as fractions (as_sympy.py)
ODD = ("sin", "tanh", "arcsin")
# What they are of the inverse function of x.
INVERSES = {("sin", "arcsin"): False, ("cos", "arccos"): False, ("sin", "arccos"): True, ("cos", "arcsin"): True}
UNKNOWN, NOT_BELOW, ABOVE = range(3)  # what is known of a sign
REAL = ("sin", "cos", "tanh", "abs", "max", "min")


def sympy_size(forest: Forest, root: int, feature_names: Sequence[str] | None = None) -> int:
    """Nodes of a program that has values; of primitives without protection those of `to_sympy`.

    Names decide which sign comes out of a difference.
    """
    if int(forest.size(root)) <= LARGEST:
        with suppress(RecursionError):
            return size_of(_value_of(forest, root, feature_names, {}))
    return WrittenSizes(forest).of(root)


def size_in_sum(
    forest: Forest, root: int, feature_names: Sequence[str] | None, known: dict[int, Value]
) -> dict[Value, int]:
    """What a program times a number adds to a sum: terms, and the nodes of each with a number in front.

    Equal terms of several programs are one in their sum. `known` has values of the forest's nodes, and gets more.
    """
    if int(forest.size(root)) <= LARGEST:
        with suppress(RecursionError):
            value = _value_of(forest, root, feature_names, known)
            if _is_number(value):
                return {}
            terms = [term for term, _ in value[2]] if value[0] == "sum" else [_split(value)[0]]
            return {term: _term_size(term, SOME) for term in terms}
    return {("large", root): 2 + WrittenSizes(forest).of(root)}


def _value_of(forest: Forest, root: int, feature_names: Sequence[str] | None, made: dict[int, Value]) -> Value:
    labels = feature_labels(forest.n_features, feature_names)
    for node in forest.reachable([root]):
        if node in made:
            continue
        name = forest.name(node)
        if name == "feature":
            made[node] = ("symbol", labels[int(forest.columns.left[node])])
        elif name == "constant":
            value = float(forest.columns.value[node])
            made[node] = 1 if value == 1 else value
        else:
            operands = [made[child] for child in forest.children(node)]
            made[node] = _applied(name, operands, forest.primitives.written_epsilon(name))
    return made[root]


def _applied(name: str, operands: list[Value], epsilon: float | None) -> Value:
    """A primitive of values; `epsilon` is a number that stands in its text."""
    a, b = operands[0], operands[-1]
    if name in ("add", "sub"):
        return add([a, b if name == "add" else times(-1, b)])
    if name in ("mul", "plain_div") or (name == "div" and epsilon is None):
        return times(a, b if name == "mul" else power(b, -1))
    if name == "neg":
        return times(-1, a)
    if name in ("plain_sqrt", "sqrt"):
        return power(a if name == "plain_sqrt" else _absolute(a), HALF)
    if name in ("power", "square", "cube"):
        return power(a, _exponent(b) if name == "power" else 2 if name == "square" else 3)
    if name in ("plain_exp", "exp"):
        return exponential(a)
    if name in ("log", "log1p"):
        return _call(name, [add([_absolute(a), epsilon or 0])])
    return _call("log" if name == "plain_log" else name, operands)


def _exponent(value: float) -> Fraction | float:
    simple = Fraction(value).limit_denominator(LARGEST_DENOMINATOR)
    return simple if float(simple) == value else value


def size_of(value: Value) -> int:
    """Nodes of a value."""
    if _is_number(value) or value[0] in ("symbol", "E"):
        return 1
    kind, *own = value
    if kind == "call":
        return 1 + sum(map(size_of, own[1]))
    if kind == "exp":
        return 1 + size_of(own[0])
    if kind == "power":
        return 2 + size_of(own[0])
    number, parts = own
    if kind == "product":
        return 1 + (not _is_one(number)) + sum(map(_factor_size, parts))
    return 1 + (number != 0) + sum(_term_size(*part) for part in parts)


def _term_size(term: Value, number: Any) -> int:
    """Of a term of a sum, with the number in front of it."""
    return size_of(term) + (0 if _is_one(number) else 1 if _kind(term) == "product" else 2)


def _factor_size(factor: tuple[Value, Value]) -> int:
    base, exponent = factor
    if base == E:
        return 1 + size_of(exponent)
    return size_of(base) + (0 if exponent == 1 else 2)


def _is_number(value: Value) -> bool:
    return not isinstance(value, tuple)


def _is_one(value: Value) -> bool:
    return not isinstance(value, (tuple, float)) and value == 1  # SymPy keeps a factor of 1.0


def _kind(value: Value) -> str:
    found: str = "number" if _is_number(value) else value[0]
    return found


# Sums and products


def add(parts: Iterable[Value]) -> Value:
    """A sum, like terms put together."""
    number: Any = 0
    terms: dict[Value, Any] = {}
    for part in parts:
        if _is_number(part):
            number += part
            continue
        own, inside = (part[1], part[2]) if part[0] == "sum" else (0, [_split(part)])
        number += own
        for term, n in inside:
            terms[term] = terms.get(term, 0) + n
    terms = {term: n for term, n in terms.items() if n != 0}
    if not terms:
        return number
    if number == 0 and len(terms) == 1:
        ((term, n),) = terms.items()
        return times(n, term)
    return ("sum", number, frozenset(terms.items()))


def _split(value: Value) -> tuple[Value, Any]:
    """A value without its number, and the number."""
    if value[0] != "product" or _is_one(value[1]):
        return value, 1
    return _product(1, dict.fromkeys(value[2])), value[1]


def times(a: Value, b: Value) -> Value:
    """A product, like bases put together."""
    (n, first), (m, second) = _factors(a), _factors(b)
    return _gathered(n * m, [*first, *second])


def _gathered(number: Any, factors: Iterable[tuple[Value, Value]]) -> Value:
    """Products that powers turn into stay as they are until they are multiplied again."""
    exponents: dict[tuple[Value, Value], Any] = {}  # by the base, and what stands in the exponent besides a number
    for base, exponent in factors:
        term, n = _split(exponent) if base == E else (1, exponent)
        exponents[base, term] = exponents.get((base, term), 0) + n
    made: dict[tuple[Value, Value], None] = {}
    for (base, term), n in exponents.items():
        value = exponential(times(n, term)) if base == E else power(base, n)
        if _is_number(value):
            number *= value
        else:
            made[_factor(value)] = None
    return _product(number, made)


def _factors(value: Value) -> tuple[Any, list[tuple[Value, Value]]]:
    """A number, and bases with exponents."""
    if _is_number(value):
        return value, []
    if value[0] != "product":
        return 1, [_factor(value)]
    number, found = value[1], []
    for base, exponent in value[2]:
        n, own = _factors(base) if exponent == 1 and base[0] == "product" else (1, [(base, exponent)])
        number *= n
        found += own
    return number, found


def _factor(value: Value) -> tuple[Value, Value]:
    if value[0] == "power":
        return value[1], value[2]
    return (E, value[1]) if value[0] == "exp" else (value, 1)


def _product(number: Any, factors: dict[tuple[Value, Value], None]) -> Value:
    if not factors or number == 0:
        return number
    if len(factors) == 1:
        ((base, exponent),) = factors
        if _is_one(number):
            return ("exp", exponent) if base == E else base if exponent == 1 else ("power", base, exponent)
        if exponent == 1 and _kind(base) == "sum":
            return add([base[1] * number, *(times(n * number, term) for term, n in base[2])])
    return ("product", number, frozenset(factors))


# Powers and functions


def power(base: Value, exponent: Any) -> Value:
    """A power with a number."""
    if exponent in (0, 1):
        return base if exponent == 1 else 1
    is_whole, kind = exponent % 1 == 0, _kind(base)
    if kind == "number":
        if base >= 0 or is_whole:
            return _number_power(base, exponent)
    elif kind == "power" and (is_whole or _is_joined(base[1], base[2], exponent)):
        is_even = not is_whole and base[2] % 2 == 0
        return power(_absolute(base[1]) if is_even else base[1], base[2] * exponent)
    elif kind == "exp" and (is_whole or is_real(base[1])):
        return exponential(times(exponent, base[1]))
    elif kind == "product":
        return _power_of_product(base, exponent, is_whole=is_whole)
    elif kind == "call" and base[1] == "abs" and is_whole and is_real(base[2][0]) and exponent != -1:
        even = power(base[2][0], exponent - exponent % 2)
        return times(even, base) if exponent % 2 else even
    return ("power", base, exponent)


def _number_power(base: Any, exponent: Any) -> Any:
    if not isinstance(base, float) and abs(base) == 1:
        return base ** int(exponent) if base < 0 else base
    try:
        return float(base) ** float(exponent)
    except ArithmeticError:
        return math.inf


def _is_joined(base: Value, inside: Any, outside: Any) -> bool:
    """Whether a power of a power is one, for any sign of the base."""
    if inside == -1:
        return is_positive(base) and outside % 1 == HALF
    return (inside % 2 == 0 and is_real(base)) or abs(inside) < 1 or is_not_negative(base)


def _absolute(value: Value) -> Value:
    if _is_number(value):
        return abs(value)
    return value if is_not_negative(value) else ("call", "abs", (value,))


def _power_of_product(base: Value, exponent: Any, *, is_whole: bool) -> Value:
    """With roots, only what is not negative is taken out."""
    number, factors = base[1], dict.fromkeys(base[2])
    out = [own for own in factors if is_whole or is_not_negative(_product(1, {own: None}))]
    rest = {own: None for own in factors if own not in out}
    left: Any = 1
    if number < 0 and not is_whole:
        left, number = (-1, -number) if rest else (number, 1)
    if _is_one(number) and not out:
        return ("power", base, exponent)
    inside = [(_product(left, rest), exponent)] if rest or left != 1 else []
    return _gathered(power(number, exponent), [*((_product(1, {own: None}), exponent) for own in out), *inside])


def exponential(value: Value) -> Value:
    """The exponential: numbers and logarithms come out of sums."""
    kind = _kind(value)
    if kind == "number":
        if not isinstance(value, float):
            return 1 if value == 0 else E if value == 1 else ("exp", value)
        return math.exp(value) if value < 700 else math.inf
    if kind == "sum":
        parts = [value[1]] if value[1] != 0 else []
        parts += [times(n, term) for term, n in value[2]]
        out = [p for p in parts if _kind(exponential(p)) not in ("exp", "E")]
        inside = add([p for p in parts if p not in out])
        found: Value = 1 if inside == 0 else ("exp", inside)
        for part in out:
            found = times(exponential(part), found)
        return found
    term, n = _split(value)
    if term[0] == "call" and term[1] == "log":
        return power(term[2][0], n)
    return ("exp", value)


def _call(name: str, operands: list[Value]) -> Value:
    a = operands[0]
    if name in ("max", "min"):
        return _extreme(name, operands)
    if all(map(_is_number, operands)):
        return SOME
    if name == "log":
        return a[1] if a[0] == "exp" and is_real(a[1]) else ("call", name, (a,))
    if name == "abs":
        return _absolute(a)
    if (name in ODD or name == "cos") and has_sign(a):
        inside = _call(name, [times(-1, a)])
        return inside if name == "cos" else times(-1, inside)
    if _kind(a) == "call" and (name, a[1]) in INVERSES:
        x = a[2][0]
        return power(add([1, times(-1, power(x, 2))]), HALF) if INVERSES[name, a[1]] else x
    return ("call", name, tuple(operands))


def _extreme(name: str, operands: list[Value]) -> Value:
    every: dict[Value, None] = {}
    for operand in operands:
        is_same = _kind(operand) == "call" and operand[1] == name
        every.update(dict.fromkeys(operand[2] if is_same else (operand,)))
    found = [a for a in every if not any(a != b and _is_extreme(name, b, a) for b in every)]
    return found[0] if len(found) == 1 else ("call", name, tuple(found))


def _is_extreme(name: str, a: Value, b: Value) -> bool:
    """Whether a is known to be the largest, or the smallest, of both."""
    return _is_above(a, b) if name == "max" else _is_above(b, a)


def _is_above(a: Value, b: Value) -> bool:
    """Whether a is known not to be below b."""
    if _kind(a) == "call" and a[1] == "max" and any(_is_above(own, b) for own in a[2]):
        return True
    if _kind(b) == "call" and b[1] == "min" and any(_is_above(a, own) for own in b[2]):
        return True
    return is_not_negative(add([a, times(-1, b)]))


# Signs


def has_sign(value: Value) -> bool:
    """Whether SymPy takes a sign out of it: a number in front is negative, or most terms are."""
    kind = _kind(value)
    if kind == "number":
        return bool(value < 0)
    if kind == "product":
        return bool(value[1] < 0)
    if kind != "sum":
        return False
    signs = [n < 0 for _, n in value[2]] + ([value[1] < 0] if value[1] != 0 else [])
    if 2 * sum(signs) != len(signs):
        return 2 * sum(signs) > len(signs)
    return _leading_number(value) < 0


def _leading_number(value: Value) -> Any:
    """The number in front of the term that SymPy writes first: powers of symbols first, then of sums, then of calls."""
    parts = [({_generator(*factor): _power_of(factor) for factor in _factors(term)[1]}, n) for term, n in value[2]]
    parts.append(({}, value[1]))
    generators = sorted({own for powers, _ in parts for own in powers})
    return max((part for part in parts if part[1] != 0), key=lambda part: [part[0].get(g, 0) for g in generators])[1]


def _generator(base: Value, exponent: Value) -> tuple[Any, ...]:
    """By which a factor is a whole power, as it is in order among others."""
    if base == E:
        return 4, _PLACES["exp"], _text(exponent), 1
    rank = {"symbol": 2, "product": 3, "sum": 3}.get(base[0], 4)
    place = (0, 1)[base[0] == "sum"] if rank == 3 else _PLACES.get(base[1], 10000) if rank == 4 else 0
    root = Fraction(exponent) if isinstance(exponent, float) else Fraction(1, exponent.denominator)
    return rank, place, base[1] if rank == 2 else _text(base), root


def _power_of(factor: tuple[Value, Value]) -> int:
    return 1 if isinstance(factor[1], (tuple, float)) else int(factor[1].numerator)


_PLACES = {"exp": 10, "log": 11, "sin": 20, "cos": 21, "tanh": 32}  # of functions in SymPy's order


def _text(value: Value) -> str:
    """The same for equal values, whatever the order in sets."""
    if not isinstance(value, (tuple, frozenset)):
        return str(value)
    parts = map(_text, value)
    return f"({' '.join(sorted(parts) if isinstance(value, frozenset) else parts)})"


def is_real(value: Value) -> bool:
    """Whether a value is known to be a real number."""
    kind = _kind(value)
    if kind in ("number", "symbol"):
        return True
    if kind == "sum":
        return all(is_real(term) for term, _ in value[2])
    if kind == "product":
        return all(is_real(_product(1, {factor: None})) for factor in value[2])
    if kind == "exp":
        return is_real(value[1])
    if kind == "power":
        base, exponent = value[1:]
        if is_positive(base):
            return True
        return exponent > 0 and (is_not_negative(base) or (exponent % 1 == 0 and is_real(base)))
    if kind == "call" and value[1] == "log":
        return is_positive(value[2][0])
    return kind == "call" and value[1] in REAL and all(map(is_real, value[2]))


def is_positive(value: Value) -> bool:
    """Whether a value is known to be above zero."""
    return _sign(value) == ABOVE


def is_not_negative(value: Value) -> bool:
    """Whether a value is known not to be below zero."""
    return _sign(value) >= NOT_BELOW


def _sign(value: Value) -> int:
    """What is known of a value's sign."""
    kind = _kind(value)
    if kind == "number":
        return ABOVE if value > 0 else NOT_BELOW if value == 0 else UNKNOWN
    if kind == "sum":
        parts = [0 if value[1] == 0 else value[1], *(term if n > 0 else -1.0 for term, n in value[2])]
        signs = [_sign(part) for part in parts]
        return max(signs) if min(signs) else UNKNOWN
    if kind == "product":
        return min([_sign(value[1]), *(_sign(_product(1, {factor: None})) for factor in value[2])])
    if kind == "power":
        base, exponent = value[1:]
        own = _sign(base)
        if own == ABOVE or exponent < 0:
            return own if own == ABOVE else UNKNOWN
        return NOT_BELOW if own or (exponent % 2 == 0 and is_real(base)) else UNKNOWN
    if kind == "exp":
        return ABOVE if is_real(value[1]) else UNKNOWN
    if kind == "call" and value[1] in ("max", "min"):
        return (max if value[1] == "max" else min)(map(_sign, value[2]))
    return NOT_BELOW if kind == "call" and value[1] == "abs" else UNKNOWN
