"""What is said about functions in formulas."""

import symgrove as sg
from symgrove.forest.legend import legend


def half(x):
    return x / 2


def test_what_is_protected_or_not_known_to_everyone_is_spelled_out():
    primitives = sg.PrimitiveSet(("add", "div", "aq", "step", "log", sg.primitive(half)))
    text = "aq(x, y) / [step(1 is b] + step(1, log(abs(x) + 1e-10)) + half(x) + sqrt(abs(x)) + `pdiv(` + sin(x)"
    assert legend(primitives, [text]) == [
        "a / b = a * sign(b) / (abs(b) + 1e-10)",
        "aq(a, b) = a / sqrt(1 + b^2)",
        "step(a, b) = if a > b then 1 else 0",
        "half is a function of yours",
    ]
    assert legend(sg.PrimitiveSet(("add", "plain_div", "plain_exp")), ["x / exp(x)"]) == []
