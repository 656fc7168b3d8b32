import numpy as np
import pytest
from hypothesis import assume, given, settings
from mpmath import mp, mpf

from symgrove import Forest, PrimitiveSet, parse, primitive, simplify, to_text
from tests.strategies import ALL, plant, programs, uproot

mp.dps = 60
EPSILON = mpf(1e-10)
EXACT = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: (a if b >= 0 else -a) / (abs(b) + EPSILON),
    "aq": lambda a, b: a / mp.sqrt(1 + b * b),
    "min": min,
    "max": max,
    "step": lambda a, b: mpf(int(a > b)),
    "pdiv": lambda a, b: a / b if b != 0 else a,
    "sqrt": lambda a: mp.sqrt(abs(a)),
    "log": lambda a: mp.log(abs(a) + EPSILON),
    "log1p": lambda a: mp.log(1 + abs(a)),
    "exp": lambda a: mp.exp(min(a, mpf(80))),
    "sin": mp.sin,
    "cos": mp.cos,
    "tanh": mp.tanh,
    "square": lambda a: a * a,
    "cube": lambda a: a**3,
    "neg": lambda a: -a,
    "abs": abs,
    "plain_div": lambda a, b: a / defined(b, b != 0),
    "plain_sqrt": lambda a: mp.sqrt(defined(a, a >= 0)),
    "plain_log": lambda a: mp.log(defined(a, a > 0)),
    "plain_exp": lambda a: mp.exp(defined(a, abs(a) < 1e6)),
    "power": lambda a, b: raised(a, b),
    "arcsin": lambda a: mp.asin(defined(a, abs(a) <= 1)),
    "arccos": lambda a: mp.acos(defined(a, abs(a) <= 1)),
}


class UndefinedError(Exception):
    """Some part of a program has no real value."""


def defined(a, is_defined):
    if not is_defined:
        raise UndefinedError
    return a


def raised(a, b):
    """A power; such huge ones that even their digits are too many count as undefined."""
    is_real = b >= 0 if a == 0 else a > 0 or b == mp.floor(b)
    return defined(a, is_real and abs(b) * mp.log(abs(a) + 2) < 1e6) ** b


# Points where protected primitives differ from unprotected ones, and ordinary ones.
POINTS = [
    (0.0, 0.0, 0.0),
    (0.0, 1.0, -1.0),
    (-2.5, 0.0, 3.0),
    (1e-5, -1e-9, 0.5),
    (7.0, -0.3, 11.0),
    (-1.0, -1.0, -1.0),
]


def exact(program, point):
    if program[0] == "feature":
        return mpf(point[program[1]])
    if program[0] == "constant":
        return mpf(program[1])
    return EXACT[program[0]](*(exact(operand, point) for operand in program[1:]))


def with_simple_constants(program):
    """Constants among few exact values, so that rules with 0, 1 and -1 apply and folding does not round."""
    if program[0] == "constant":
        return ("constant", [0.0, 1.0, -1.0, 2.0, -0.5][int(abs(program[1])) % 5])
    if program[0] == "feature":
        return program
    return (program[0], *(with_simple_constants(operand) for operand in program[1:]))


# Functions whose folding is exact on such constants: every difference is a wrong rule, not rounding.
FOLDING_IS_EXACT = ("add", "sub", "mul", "min", "max", "step", "square", "neg", "abs")


@settings(max_examples=300)
@given(programs(functions=FOLDING_IS_EXACT, max_leaves=12))
def test_simplified_programs_are_equal_in_exact_arithmetic(program):
    forest = Forest(3, ALL)
    program = with_simple_constants(program)
    root = plant(forest, program)
    simpler = simplify(forest, root)
    assert forest.size(simpler) <= forest.size(root)
    for point in POINTS:
        assert exact(uproot(forest, simpler), point) == exact(program, point)


@settings(max_examples=300)
@given(programs(max_leaves=10))
def test_simplified_programs_of_all_primitives_are_equal_to_rounding(program):
    forest = Forest(3, ALL)
    program = with_simple_constants(program)
    root = plant(forest, program)
    simpler = simplify(forest, root)
    assert simplify(forest, simpler) == simpler
    for point in POINTS:
        # Folding rounds: where a rounding can tip a step, a sign, a huge argument or whether there is a value, nothing
        # can be compared.
        try:
            value, shaken = exact(program, point), exact(perturb(program), point)
        except UndefinedError:
            continue
        assume(abs(shaken - value) <= mpf(1e-8) * (1 + abs(value)))
        assert abs(exact(uproot(forest, simpler), point) - value) <= mpf(1e-6) * (1 + abs(value))


def perturb(program):
    """The program with every function value off by a relative 1e-14."""
    if program[0] in ("feature", "constant"):
        return program
    inner = (program[0], *(perturb(operand) for operand in program[1:]))
    return ("mul", inner, ("constant", 1 + 1e-14))


@pytest.mark.parametrize(
    ("text", "simple"),
    [
        ("x0 - x0", "0"),
        ("x0 / x0", "x0 / x0"),
        ("x0 * 1 + 0", "x0"),
        ("2 * x0 * 3", "x0 * 6"),
        ("x0 + 2 + 3", "x0 + 5"),
        ("x0 + 2 - 5", "x0 - 3"),
        ("x0 + x0", "x0 * 2"),
        ("x0 - -x1", "x0 + x1"),
        ("sqrt(square(x0))", "abs(x0)"),
        ("square(sqrt(x0))", "abs(x0)"),
        ("log(abs(-x0))", "log(abs(x0) + 1e-10)"),
        ("cos(-x0) + sin(-x1)", "cos(x0) - sin(x1)"),
        ("max(x0, x0) + step(x1, x1)", "x0"),
        ("0 / x0", "0"),
        ("aq(x0, 0)", "x0"),
        ("-(x0 - x1)", "x1 - x0"),
        ("x0 / -x1", "x0 / -x1"),
        ("sqrt(4) * x0", "x0 * 2"),
        ("x0 - 2 + 3", "x0 + 1"),
        ("x0 - 2 - 3", "x0 - 5"),
        ("3 - x0 + 2", "5 - x0"),
        ("3 - x0 - 5", "-2 - x0"),
        ("tanh(-x0) + 1", "1 - tanh(x0)"),
        ("exp(-x0)", "exp(-x0)"),
        ("abs(log(x0))", "abs(log(abs(x0) + 1e-10))"),
        ("abs(cube(x0))", "abs(cube(x0))"),
        ("aq(x0, 1)", "aq(x0, 1)"),
        ("aq(x0, -x1)", "aq(x0, x1)"),
        ("cube(-x0)", "-cube(x0)"),
        ("min(x0, x1)", "min(x0, x1)"),
        ("-(x0 * 3)", "x0 * -3"),
        ("1e308 + 1.5e308", "1e+308 + 1.5e+308"),
    ],
)
def test_known_rewrites(text, simple):
    forest = Forest(3, ALL)
    assert to_text(forest, simplify(forest, parse(forest, text))) == simple


PLAIN = PrimitiveSet(("add", "mul", "plain_div", "plain_sqrt", "plain_log", "plain_exp", "power", "arcsin", "arccos"))


@pytest.mark.parametrize(
    ("text", "simple"),
    [
        ("0 / x0", "0 / x0"),
        ("x0 / x0", "x0 / x0"),
        ("x0 / 1", "x0"),
        ("x0 / -4", "x0 * -0.25"),
        ("x0 / 0", "x0 / 0"),
        ("1 / 0", "1 / 0"),
        ("x0 / 1e-309", "x0 / 1e-309"),
        ("sqrt(x0 * x0) + sqrt(square(x1)) + sqrt(x2 ^ 2)", "abs(x0) + abs(x1) + abs(x2)"),
        ("square(sqrt(x0)) + sqrt(x1) * sqrt(x1)", "x0 + x1"),
        ("sqrt(-x0)", "sqrt(-x0)"),
        ("log(exp(x0)) + exp(log(x1))", "x0 + x1"),
        ("log(-1)", "log(-1)"),
        ("x0 ^ 1 + x1 ^ 0", "x0 + 1"),
        ("(-x0) ^ 2 + abs(x1) ^ -4", "x0^2 + x1^-4"),
        ("(-x0) ^ 3", "(-x0)^3"),
        ("(x0 ^ 2) ^ 0.5", "(x0^2)^0.5"),
        ("(x0 ^ 0.5) ^ 2", "x0"),
        ("(x0 ^ 3) ^ 0.5", "x0^1.5"),
        ("(x0 ^ -2) ^ -3", "x0^6"),
        ("(x0 ^ x1) ^ 2", "(x0^x1)^2"),
        ("2 ^ 3 ^ 2", "512"),
        ("arcsin(-x0) + arccos(-x1)", "arccos(-x1) - arcsin(x0)"),
    ],
)
def test_known_rewrites_of_primitives_without_protection(text, simple):
    forest = Forest(3, PLAIN)
    assert to_text(forest, simplify(forest, parse(forest, text))) == simple


def test_division_by_a_constant_keeps_epsilon():
    forest = Forest(1, PrimitiveSet(epsilon=0.5))
    assert to_text(forest, simplify(forest, parse(forest, "x0 / 1.5"))) == "x0 * 0.5"


def test_division_by_a_negative_constant_keeps_the_sign():
    forest = Forest(1, PrimitiveSet(epsilon=0.5))
    assert to_text(forest, simplify(forest, parse(forest, "x0 / -1.5"))) == "x0 * -0.5"


def test_zero_over_something_stays_when_epsilon_is_zero():
    forest = Forest(1, PrimitiveSet(epsilon=0.0))
    assert to_text(forest, simplify(forest, parse(forest, "0 / x0"))) == "0 / x0"


def test_user_functions_that_refuse_a_constant_stay_as_they_are():
    def inverse(x):
        return 1.0 / x

    forest = Forest(1, PrimitiveSet((primitive(inverse),)))
    node = forest.apply("inverse", forest.constant(0.0))
    assert simplify(forest, node) == node
    assert to_text(forest, simplify(forest, forest.apply("inverse", forest.constant(4)))) == "0.25"
    assert np.isfinite(forest.columns.value[:3]).all()
