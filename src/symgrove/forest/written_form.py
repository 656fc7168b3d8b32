"""From a normal form to the shortest program that a few changes lead to, written as people write formulas.

Numbers come first in products and last in sums, features before what is made of them; what is subtracted stands behind
what is added. Each sum and product starts as its normal form has it, and is changed (other_forms.py) as long as that
makes it shorter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from symgrove.forest.forest import Forest
from symgrove.forest.normal_form import HALF, LINEAR, Exponent, NoNormalFormError, NormalForms, Scaled, is_long
from symgrove.forest.other_forms import Change, Product, expanded, other_products, other_sums
from symgrove.forest.written_size import WrittenSizes


class FormulaWriter:
    """Writes normal forms as programs of a forest.

    With `expands`, products of sums may become sums of products, which loses digits where terms cancel. About
    `n_changes` changes are tried.
    """

    def __init__(self, forms: NormalForms, forest: Forest, *, expands: bool, n_changes: int = 1000) -> None:
        self.forms = forms
        self.forest = forest
        self.expands = expands
        self.sizes = WrittenSizes(forest)
        self.left = n_changes
        self._nodes: dict[tuple[str, float, int], int] = {}
        self._made: dict[tuple[str, tuple[int, ...]], int] = {}
        self._hard: dict[int, int] = {}
        self._begun: set[tuple[str, float, int]] = set()

    def write(self, scaled: Scaled) -> int:
        """The program of a formula."""
        scale, item = scaled
        if item == self.forms.one:
            return self.forest.constant(scale)
        if self.forms.kind(item) != "sum":
            return self._once("product", scale, item, self._product)
        whole = self.forms.as_item(scaled)
        if self.forms.kind(whole) != "sum":
            return self.write((1.0, whole))
        _, constant, terms = self.forms.items[whole]
        if not terms:
            return self.forest.constant(constant)
        inside, sizes = self._sum(whole), [abs(c) if abs(c) != 1 else c for _, c in terms]
        if all(size == 1 or sizes.count(size) == 1 for size in sizes):
            return inside
        product = Product(1.0, ((whole, 1),))
        outside = self._once("scaled", 1.0, whole, lambda *_: self._improved(product))
        return outside if self.sizes.of(outside) < self.sizes.of(inside) else inside

    def _once(self, what: str, scale: float, item: int, make: Callable[[float, int, bool], int]) -> int:
        """What `make` writes, once; directly, without changes, where it is asked for while it is being made."""
        key = what, scale, item
        if key in self._nodes:
            return self._nodes[key]
        if key in self._begun:
            return make(scale, item, True)
        self._begun.add(key)
        self._nodes[key] = make(scale, item, False)
        self._begun.discard(key)
        return self._nodes[key]

    def _shortest(self, nodes: Iterable[int]) -> int:
        """The shortest; of equals that with the simplest numbers, the fewest nodes, of these the first."""
        return min(nodes, key=self._length)

    def _length(self, node: int) -> tuple[int, int, int]:
        return self.sizes.of(node), self._hardness(node), int(self.forest.columns.size[node])

    def _hardness(self, node: int) -> int:
        """Signs and numbers of many digits in a program."""
        if node not in self._hard:
            name = self.forest.name(node)
            own = int(name == "neg")
            if name == "constant":
                value = float(self.forest.columns.value[node])
                own = (value < 0) + is_long(value)
            self._hard[node] = own + sum(self._hardness(child) for child in self.forest.children(node))
        return self._hard[node]

    def _apply(self, name: str, *operands: int) -> int:
        """A node, which is made once: making one is slow beside looking it up."""
        key = name, operands
        if key not in self._made:
            self._made[key] = self.forest.apply(name, *operands)
        return self._made[key]

    # Products

    def _product(self, scale: float, item: int, is_direct: bool) -> int:
        own = Product(scale, self.forms.factors(item))
        if is_direct:
            return self._direct_product(own)
        nodes = [self._improved(own)]
        parts = expanded(self.forms, (scale, item)) if self.expands and self.left > 0 else None
        if parts is not None:
            found, total = self.forms.add(parts)
            if self.forms.kind(total) == "sum":
                nodes.append(self._sum(self.forms.as_item((found, total))))
        return self._shortest(nodes)

    def _improved(self, own: Product) -> int:
        """The shortest way that changes of a product lead to, one after the other."""
        best = self._direct_product(own)
        while True:
            found = []
            for other in self._allowed(other_products(self.forms, own)):
                found.append((self._direct_product(other), other))
            node, own = min(found, key=lambda each: self._length(each[0]), default=(best, own))
            if self._length(node) >= self._length(best):
                return best
            best = node

    def _allowed(self, others: Iterable[Product]) -> list[Product]:
        """Changes that may still be tried; those that leave finite numbers behind are left out."""
        found: list[Product] = []
        iterator = iter(others)
        while self.left > 0:
            self.left -= 1
            try:
                found.append(next(iterator))
            except StopIteration:
                break
            except (NoNormalFormError, OverflowError):
                break
        return found

    def _direct_product(self, own: Product) -> int:
        """Numerators in order, then denominators; a sign in front of the first."""
        factors = sorted(own.factors, key=lambda factor: self._order(factor[0]))
        calls = [(b, e) for b, e in factors if self.forms.name_of_call(b) in LINEAR and e > 0]
        above = [self._power(b, e) for b, e in factors if e > 0 and (b, e) not in calls]
        below = [self._power(b, -e) for b, e in factors if e < 0]
        apply, constant = self._apply, self.forest.constant
        if not above or abs(own.scale) != 1:
            above.insert(0, constant(own.scale))
        elif own.scale == -1:
            above[0] = apply("neg", above[0])
        node = self._joined("mul", above)
        if below:
            node = apply("plain_div", node, self._joined("mul", below))
        for base, exponent in calls:
            name, operand = self.forms.name_of_call(base), self.write((1.0, self.forms.items[base][2][0]))
            if exponent == 1:
                node = apply(name, node, operand)
            else:
                power = self._raised(apply(name, constant(1.0), operand), exponent)
                is_one = self.forest.name(node) == "constant" and self.forest.columns.value[node] == 1
                node = power if is_one else apply("mul", node, power)
        return node

    def _joined(self, name: str, nodes: list[int]) -> int:
        node = nodes[0]
        for other in nodes[1:]:
            node = self._apply(name, node, other)
        return node

    def _power(self, base: int, exponent: Exponent) -> int:
        return self._raised(self._base(base), exponent, is_never_negative=self.forms.is_never_negative(base))

    def _raised(self, node: int, exponent: Exponent, *, is_never_negative: bool = False) -> int:
        if exponent == 1:
            return node
        if exponent == HALF:
            is_protected = self.forest.primitives.meant_by("sqrt") == "sqrt"
            if is_protected and (is_never_negative or self.forest.name(node) == "abs"):
                is_absolute = self.forest.name(node) == "abs"
                return self._apply("sqrt", self.forest.children(node)[0] if is_absolute else node)
            return self._apply("plain_sqrt", node)
        return self._apply("power", node, self.forest.constant(float(exponent)))

    def _base(self, item: int) -> int:
        """A base of a power: a sum keeps its numbers, which the product may have taken out."""
        kind, *own = self.forms.items[item]
        if kind == "feature":
            return self.forest.feature(own[0])
        if kind == "product":
            return self.write((1.0, item))
        if kind == "sum":
            return self._sum(item)
        name, operands = own
        if name in LINEAR:
            return self._apply(name, self.forest.constant(1.0), self.write((1.0, operands[0])))
        return self._apply(name, *(self.write((1.0, operand)) for operand in operands))

    def _order(self, item: int) -> tuple[int, int]:
        """Features, functions and products, sums; in the order of the features, and of their first use."""
        kind, *own = self.forms.items[item]
        return ("feature", "call", "product", "sum").index(kind), own[0] if kind == "feature" else item

    # Sums

    def _sum(self, item: int) -> int:
        return self._once("sum", 1.0, item, self._written_sum)

    def _written_sum(self, _: float, item: int, is_direct: bool) -> int:
        _, constant, terms = self.forms.items[item]
        parts: list[Scaled] = [(c, i) for i, c in terms]
        starts = [(parts, constant), *([] if is_direct else self._expanded(parts, constant))]
        nodes = [self._direct_sum(*(start if is_direct else self._shorter(*start))) for start in starts]
        if not is_direct and self.left > 0:
            try:
                scale, whole = self.forms.multiply([((1.0, item), 1)])
            except NoNormalFormError:
                whole = item
            if self.forms.kind(whole) == "product":
                nodes.append(self._improved(Product(scale, self.forms.factors(whole))))
        return self._shortest(nodes)

    def _expanded(self, parts: list[Scaled], constant: float) -> list[tuple[list[Scaled], float]]:
        """The sum without products of sums, if it has any."""
        found = [expanded(self.forms, part) for part in parts] if self.expands and self.left > 0 else []
        if all(more is None for more in found):
            return []
        every = [own for part, more in zip(parts, found, strict=True) for own in (more or (part,))]
        total = self.forms.add([*every, (constant, self.forms.one)])
        if self.forms.kind(total[1]) != "sum":
            return [([total], 0.0)] if total[1] != self.forms.one else [([], total[0])]
        _, constant, terms = self.forms.items[self.forms.as_item(total)]
        return [([(c, i) for i, c in terms], constant)]

    def _shorter(self, parts: list[Scaled], constant: float) -> tuple[list[Scaled], float]:
        """Changes that make a sum shorter, the best one first."""
        while self.left > 0:
            before = [self._part_size(part) for part in parts]
            best: tuple[int, Change] | None = None
            for change in self._changes(parts, constant):
                self.left -= len(change.gone)
                now = sum(map(self._part_size, change.new)) + (constant + change.constant != 0)
                gain = sum(before[k] for k in change.gone) + (constant != 0) - now
                if gain > 0 and (best is None or gain > best[0]):
                    best = gain, change
            if best is None:
                break
            change = best[1]
            parts = [part for k, part in enumerate(parts) if k not in change.gone] + list(change.new)
            constant += change.constant
        return parts, constant

    def _changes(self, parts: list[Scaled], constant: float) -> Iterable[Change]:
        iterator = other_sums(self.forms, parts, constant, expands=self.expands)
        while self.left > 0:
            try:
                yield next(iterator)
            except (StopIteration, NoNormalFormError, OverflowError):
                return

    def _part_size(self, part: Scaled) -> int:
        return self.sizes.of(self._part(*part))

    def _part(self, scale: float, item: int) -> int:
        """A part of a sum; one that is a sum itself stays in brackets."""
        if self.forms.kind(item) != "sum":
            return self.write((scale, item))
        return self._direct_product(Product(scale, ((item, 1),)))

    def _direct_sum(self, parts: list[Scaled], constant: float) -> int:
        """What is added, then what is subtracted; the constant last, unless nothing else is added."""
        own = sorted(parts, key=lambda part: self._order(part[1]))
        signed = [(scale, item) for scale, item in own] + ([(constant, self.forms.one)] if constant or not own else [])
        first = next((k for k, (scale, _) in enumerate(signed) if scale > 0), 0)
        signed.insert(0, signed.pop(first))
        node = self._part(*signed[0])
        for scale, item in signed[1:]:
            node = self._apply("add" if scale > 0 else "sub", node, self._part(abs(scale), item))
        return node
