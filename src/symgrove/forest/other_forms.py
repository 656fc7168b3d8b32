"""Other ways to write a sum or a product in normal form, one change at a time.

Each way has the same value wherever the original has one. Which of them is shorter is decided where they are written
(written_form.py).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import NamedTuple

from symgrove.forest.normal_form import Exponent, Factors, NormalForms, Scaled, is_long, is_whole, tidy

MOST_EXPANDED = 16  # terms that a product of sums may become
MOST_NUMBERS = 6  # of a sum, by which it is divided
LARGEST_SHIFT = 10.0  # in an exponent, that becomes a factor

_EXTREMES = {"min": "max", "max": "min"}

Parts = tuple[Scaled, ...]


class Product(NamedTuple):
    """A number times powers."""

    scale: float
    factors: Factors


class Change(NamedTuple):
    """Of a sum: parts that go, by position, parts that come, and what is added to the constant."""

    gone: tuple[int, ...]
    new: Parts
    constant: float = 0.0


# Products


def other_products(forms: NormalForms, own: Product) -> Iterator[Product]:
    """The same product, written in another way."""
    for k, (base, exponent) in enumerate(own.factors):
        if forms.kind(base) == "sum":
            yield from _with_scaled_sum(forms, own, k)
            if abs(exponent) == 1:
                yield from _with_factor_inside(forms, own, k)
    yield from _under_one_exponent(forms, own)
    yield from _in_one_absolute(forms, own)
    yield from _with_number_in_root(forms, own)
    yield from _with_other_signs(forms, own)
    yield from _inside_extremes(forms, own)


def _with_scaled_sum(forms: NormalForms, own: Product, k: int) -> Iterator[Product]:
    """A number of a sum taken out of it, or the number in front taken in."""
    base, exponent = own.factors[k]
    _, constant, terms = forms.items[base]
    numbers = [c for _, c in terms[:MOST_NUMBERS]] + ([constant] if constant else [])
    if abs(exponent) == 1 and own.scale != 0:  # a product of huge and tiny numbers may be
        numbers += [_power(own.scale, -exponent), -_power(own.scale, -exponent)]
    signs = (1.0, -1.0) if is_whole(exponent) else (1.0,)
    least = _n_numbers(forms, own.scale, base)
    for number in dict.fromkeys(sign * abs(number) for number in (1.0, *numbers) for sign in signs):
        if number in (0.0, 1.0) or not 0 < abs(own.scale * _power(number, exponent)) < math.inf:
            continue
        scale = tidy(own.scale * _power(number, exponent))
        if scale != 0:
            scaled = forms.divided(base, number)
            if _n_numbers(forms, scale, scaled) <= least:
                yield Product(scale, (*own.factors[:k], (scaled, exponent), *own.factors[k + 1 :]))


def _power(number: float, exponent: Exponent) -> float:
    """Infinite, not an error, where it is too large."""
    try:
        return float(number ** float(exponent))
    except OverflowError:
        return math.inf


def _n_numbers(forms: NormalForms, scale: float, item: int) -> int:
    """Nodes that the numbers of a sum take, and one in front of it."""
    terms = forms.items[item][2] if forms.kind(item) == "sum" else ()
    return (scale != 1) + sum(1 + (len(forms.factors(i)) == 1) for i, c in terms if c != 1)


def _with_factor_inside(forms: NormalForms, own: Product, k: int) -> Iterator[Product]:
    """Another factor multiplied into the terms of a sum, where that makes some of them shorter."""
    base, exponent = own.factors[k]
    parts = parts_of(forms, base)
    for j, (other, power) in enumerate(own.factors):
        if j != k and any(other in dict(forms.factors(item)) for _, item in parts):
            inside = (1.0, other), power * exponent
            scale, made = forms.add(forms.multiply([(part, 1), inside]) for part in parts)
            rest = tuple(each for i, each in enumerate(own.factors) if i not in (j, k))
            yield Product(own.scale * scale ** int(exponent), (*rest, (made, exponent)))


def _under_one_exponent(forms: NormalForms, own: Product) -> Iterator[Product]:
    """Powers with the same exponent, or its negative, as one; roots of several powers as one root."""
    groups: dict[Exponent, list[tuple[int, Exponent]]] = {}
    for base, exponent in own.factors:
        size: Exponent = exponent if exponent > 0 else -exponent
        if size != 1:
            groups.setdefault(size, []).append((base, exponent))
    roots = [(base, exponent) for base, exponent in own.factors if isinstance(exponent, Fraction)]
    denominators = {exponent.denominator for _, exponent in roots}
    if len(denominators) == 1 and len({abs(exponent) for _, exponent in roots}) > 1:
        groups[Fraction(1, denominators.pop())] = list(roots)
    for size, group in groups.items():
        if len(group) > 1:
            divisor = Fraction(size) if isinstance(size, int) else size
            scale, inside = forms.multiply([((1.0, base), exponent / divisor) for base, exponent in group])
            rest = tuple(each for each in own.factors if each not in group)
            if scale == 1:
                yield Product(own.scale, (*rest, (inside, size)))


def _in_one_absolute(forms: NormalForms, own: Product) -> Iterator[Product]:
    group = [(b, e) for b, e in own.factors if forms.name_of_call(b) == "abs" and abs(e) == 1]
    if len(group) > 1:
        scale, inside = forms.multiply([((1.0, forms.items[b][2][0]), e) for b, e in group])
        made = forms.intern("call", "abs", (inside,))
        rest = tuple(each for each in own.factors if each not in group)
        yield Product(own.scale * abs(scale), (*rest, (made, 1)))


def _with_number_in_root(forms: NormalForms, own: Product) -> Iterator[Product]:
    """A number of many digits that is the root of one of few."""
    for k, (base, exponent) in enumerate(own.factors):
        if not is_whole(exponent) and own.scale > 0 and is_long(own.scale):
            inside = tidy(own.scale ** (1 / float(exponent)))
            if not is_long(inside):
                made = forms.as_item((inside, base))
                yield Product(1.0, (*own.factors[:k], (made, exponent), *own.factors[k + 1 :]))


def _with_other_signs(forms: NormalForms, own: Product) -> Iterator[Product]:
    """The sign of an odd function's operand, and a number in an exponential, moved in or out."""
    for k, (base, exponent) in enumerate(own.factors):
        name = forms.name_of_call(base)
        if not name or not is_whole(exponent):
            continue
        operand = forms.items[base][2][0]
        if exponent % 2 and own.scale < 0 and forms.primitives[name].symmetry == "odd":
            made = forms.intern("call", name, (forms.as_item((-1.0, operand)),))
            yield Product(-own.scale, (*own.factors[:k], (made, exponent), *own.factors[k + 1 :]))
        if name == "plain_exp" and forms.kind(operand) == "sum" and own.scale != 1:
            _, constant, terms = forms.items[operand]
            if constant and terms and abs(constant) <= LARGEST_SHIFT:
                made = forms.intern("call", name, (forms.as_item(forms.sum_of(0.0, terms)),))
                scale = own.scale * math.exp(constant * float(exponent))
                yield Product(scale, (*own.factors[:k], (made, exponent), *own.factors[k + 1 :]))


def _inside_extremes(forms: NormalForms, own: Product) -> Iterator[Product]:
    """The number in front as a factor of both operands of min or max; a negative one makes one the other."""
    for k, (base, exponent) in enumerate(own.factors):
        name = forms.name_of_call(base)
        if name in _EXTREMES and exponent == 1 and own.scale != 1:
            scale, made = forms.apply(
                name if own.scale > 0 else _EXTREMES[name], [(own.scale, operand) for operand in forms.items[base][2]]
            )
            yield Product(scale, (*own.factors[:k], (made, exponent), *own.factors[k + 1 :]))


# Sums


def parts_of(forms: NormalForms, item: int) -> Parts:
    """The terms of a sum with their coefficients, and its constant."""
    _, constant, terms = forms.items[item]
    return (*((c, i) for i, c in terms), *([(constant, forms.one)] if constant else []))


def expanded(forms: NormalForms, part: Scaled) -> Parts | None:
    """A product of sums as a sum of products; None if it is none, or would be large."""
    scale, item = part
    sums: list[Parts] = []
    rest: list[tuple[Scaled, Exponent]] = []
    for base, exponent in forms.factors(item):
        if forms.kind(base) == "sum" and is_whole(exponent) and 0 < exponent <= 4:
            sums += [parts_of(forms, base)] * int(exponent)
        else:
            rest.append(((1.0, base), exponent))
    if not sums or math.prod(map(len, sums)) > MOST_EXPANDED:
        return None
    products: list[list[tuple[Scaled, Exponent]]] = [[((scale, forms.one), 1), *rest]]
    for parts in sums:
        products = [[*own, (part, 1)] for own in products for part in parts]
    return tuple(forms.multiply(own) for own in products)


def other_sums(forms: NormalForms, parts: Sequence[Scaled], constant: float, *, expands: bool) -> Iterator[Change]:
    """Changes that may make a sum shorter."""
    yield from _with_common_powers(forms, parts)
    yield from _with_common_numbers(forms, parts)
    yield from _with_one_logarithm(forms, parts)
    for k, part in enumerate(parts):
        more = expanded(forms, part) if expands else None
        if more is not None:
            scale, item = forms.add([*more, *(own for j, own in enumerate(parts) if j != k), (constant, forms.one)])
            yield _all_new(forms, scale, item, len(parts), constant)
        if forms.name_of_call(part[1]) == "plain_log" and constant:
            inner, operand = _unscaled(forms, forms.items[part[1]][2][0])
            if inner > 0 and inner != 1:
                made = forms.intern("call", "plain_log", (operand,))
                yield Change((k,), ((part[0], made),), part[0] * math.log(inner))
        if forms.name_of_call(part[1]) in _EXTREMES and constant:
            yield from _shifted_extremes(forms, part, k)


def _all_new(forms: NormalForms, scale: float, item: int, n_parts: int, constant: float) -> Change:
    gone = tuple(range(n_parts))
    if item == forms.one:
        return Change(gone, (), scale - constant)
    if forms.kind(item) != "sum":
        return Change(gone, ((scale, item),), -constant)
    _, inner, terms = forms.items[item]
    return Change(gone, tuple((scale * c, i) for i, c in terms), scale * inner - constant)


def _shifted_extremes(forms: NormalForms, part: Scaled, k: int) -> Iterator[Change]:
    """A constant of an operand of min or max taken out of both."""
    _, name, operands = forms.items[part[1]]
    for operand in operands:
        shift = forms.items[operand][1] if forms.kind(operand) == "sum" else 0.0
        if shift:
            scale, made = forms.apply(name, [forms.add([(1.0, own), (-shift, forms.one)]) for own in operands])
            if made != forms.one:
                yield Change((k,), ((part[0] * scale, made),), part[0] * shift)


def _unscaled(forms: NormalForms, item: int) -> Scaled:
    """A number times an item, of which the sum consists."""
    if forms.kind(item) == "sum":
        _, constant, terms = forms.items[item]
        if constant == 0 and len(terms) == 1:
            return terms[0][1], terms[0][0]
    return 1.0, item


def _with_common_powers(forms: NormalForms, parts: Sequence[Scaled]) -> Iterator[Change]:
    """Terms that have a power in common as that power times a sum."""
    holders: dict[tuple[int, bool], list[int]] = {}
    for k, (_, item) in enumerate(parts):
        for base, exponent in forms.factors(item) if forms.kind(item) != "sum" else ():
            holders.setdefault((base, exponent > 0), []).append(k)
    for (base, is_above), places in holders.items():
        if len(places) < 2:
            continue
        own = [dict(forms.factors(parts[k][1]))[base] for k in places]
        shared = min(own, key=float) if is_above else max(own, key=float)
        inside = forms.add(forms.multiply([(parts[k], 1), ((1.0, base), -shared)]) for k in places)
        yield Change(tuple(places), (forms.multiply([(inside, 1), ((1.0, base), shared)]),))


def _with_common_numbers(forms: NormalForms, parts: Sequence[Scaled]) -> Iterator[Change]:
    """Terms with the same coefficient, up to the sign, as that times a sum."""
    holders: dict[float, list[int]] = {}
    for k, (scale, item) in enumerate(parts):
        if abs(scale) != 1 and forms.kind(item) != "sum":
            holders.setdefault(abs(scale), []).append(k)
    for size, places in holders.items():
        if len(places) > 1:
            _, inside = forms.sum_of(0.0, [(parts[k][1], math.copysign(1.0, parts[k][0])) for k in places])
            yield Change(tuple(places), ((size, inside),))


def _with_one_logarithm(forms: NormalForms, parts: Sequence[Scaled]) -> Iterator[Change]:
    """Logarithms with the same coefficient, up to the sign, as that of a product."""
    holders: dict[float, list[int]] = {}
    for k, (scale, item) in enumerate(parts):
        if forms.name_of_call(item) == "plain_log":
            holders.setdefault(abs(scale), []).append(k)
    for size, places in holders.items():
        if len(places) > 1:
            signs = [math.copysign(1.0, parts[k][0]) for k in places]
            inside = forms.multiply(
                [((1.0, forms.items[parts[k][1]][2][0]), int(s * signs[0])) for k, s in zip(places, signs, strict=True)]
            )
            scale, item = forms.apply("plain_log", [inside])
            yield Change(tuple(places), ((signs[0] * size * scale, item),))
