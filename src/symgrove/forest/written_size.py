"""How large a formula is as it is written, whatever primitives it is made of.

It is the count of SymPy's nodes, every number counted: sums and products of any number of parts are one node, a
quotient is a product with a power, a difference a sum in which a number has a sign, equal parts are put together.
Unlike there, a number times a sum stays one, and protected primitives count as what they are written as.
"""

from __future__ import annotations

from collections import Counter

from symgrove.forest.forest import Forest

_SUMS = ("add", "sub")
# Powers with a number that is not an operand: one node more than a call.
_POWERS = ("square", "cube", "plain_sqrt")
_SIGNED = ("plain_sqrt", "power")


class WrittenSizes:
    """Sizes of the programs of a forest; nodes are only appended while it is used."""

    def __init__(self, forest: Forest) -> None:
        self.forest = forest
        self._sizes: dict[int, int] = {}

    def of(self, root: int) -> int:
        """Size of a program."""
        if root not in self._sizes:
            is_next = all(child in self._sizes for child in self.forest.children(root))
            for node in [root] if is_next else self.forest.reachable([root]):
                if node not in self._sizes:
                    self._sizes[node] = self._size(node)
        return self._sizes[root]

    def _size(self, node: int) -> int:
        name = self.forest.name(node)
        if name in _SUMS:
            parts = Counter(self._summands(node))
            own = sum(self._product_size(part, number=-n if negative else n) for (part, negative), n in parts.items())
            return own + (len(parts) > 1)
        if name in ("mul", "neg", "div", "plain_div"):
            return self._product_size(node)
        own = sum(self._sizes[child] for child in self.forest.children(node))
        if name == "sqrt":
            return own + 3  # a power with an absolute value
        return own + (2 if name in _POWERS else 1)

    def _summands(self, node: int) -> list[tuple[int, bool]]:
        """Parts of a sum, with whether they are subtracted."""
        found, stack = [], [(node, False)]
        while stack:
            part, negative = stack.pop()
            if self.forest.name(part) in _SUMS:
                a, b = self.forest.children(part)
                stack += [(b, negative != (self.forest.name(part) == "sub")), (a, negative)]
            else:
                found.append((part, negative))
        return found

    def _product_size(self, node: int, number: float = 1.0) -> int:
        """Of a product, times a number; a sign is in the number that it has, or is one more."""
        factors: Counter[tuple[int, bool]] = Counter()
        stack = [(node, False)]
        while stack:
            factor, is_below = stack.pop()
            name, children = self.forest.name(factor), self.forest.children(factor)
            if name == "mul":
                stack += [(child, is_below) for child in children]
            elif name == "plain_div":
                stack += [(children[0], is_below), (children[1], not is_below)]
            elif name == "div" and not is_below:  # numbers below cannot be put together with those above
                factors[children[1], True] += 1
                stack.append((children[0], is_below))
            elif name == "neg":
                number = -number
                stack.append((children[0], is_below))
            elif name == "constant":
                value = float(self.forest.columns.value[factor])
                number = number * value if abs(value) == 1 else 2.0
            else:
                factors[factor, is_below] += 1
        size = 0
        for (factor, is_below), n in factors.items():
            has_exponent = (is_below or n > 1) and self.forest.name(factor) not in _SIGNED
            size += self._sizes[factor] + 2 * has_exponent
        has_number = number != 1 or not factors
        return size + has_number + (len(factors) + has_number > 1)
