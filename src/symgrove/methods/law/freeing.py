"""Numbers inside a formula as free constants: atoms have those of a short list, data may want others."""

from __future__ import annotations

from symgrove.methods.law.formulas import LawFormulas
from symgrove.methods.law.functions import FUNCTIONS

WITH_NUMBERS = {own.primitive for own in FUNCTIONS.values() if own.numbers}
MOST_FREE = 7


def freed(formulas: LawFormulas, root: int, values: tuple[float, ...]) -> tuple[int, tuple[float, ...]]:
    """The formula with a free constant before each operand of a function and before what is added to one."""
    found = list(values)
    made: dict[int, int] = {}
    for node in formulas.forest.reachable([root]):
        children = [made[child] for child in formulas.forest.children(node)]
        name = formulas.forest.name(node)
        if not children:
            made[node] = node
        elif name in WITH_NUMBERS:
            made[node] = formulas.forest.apply(name, _scaled(formulas, children[0], 1.0, found))
        elif name in ("add", "sub") and children[0] == formulas.one and formulas.value_of(children[1]) is None:
            sign = 1.0 if name == "add" else -1.0
            made[node] = formulas.add(formulas.one, _scaled(formulas, children[1], sign, found))
        elif name == "add":
            made[node] = formulas.add(*children)
        else:
            made[node] = formulas.forest.apply(name, *children)
    return made[root], tuple(found)


def _scaled(formulas: LawFormulas, node: int, sign: float, values: list[float]) -> int:
    """A free constant times the node, in the place of the number that it may have."""
    name, children = formulas.forest.name(node), formulas.forest.children(node)
    number, inner = 1.0, node
    if name == "neg":
        number, inner = -1.0, children[0]
    elif name == "mul" and formulas.value_of(children[0]) is not None:
        number, inner = formulas.value_of(children[0]) or 1.0, children[1]
    has_one = name == "mul" and formulas.forest.name(children[0]) == "feature" and bool(formulas.free_of(children[0]))
    if has_one or formulas.value_of(node) is not None or len(values) >= MOST_FREE:
        return node if sign > 0 else formulas.call("neg", node)
    values.append(sign * number)
    return formulas.mul(formulas.free(len(values) - 1), inner)
