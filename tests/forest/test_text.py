import pytest
from hypothesis import given
from hypothesis import strategies as st

from symgrove import Forest, PrimitiveSet, parse, to_text
from tests.strategies import ALL, plant, programs

NAMES = ["x0", "my col", "sin", "50% `N`", "Größe", "exec", "", "a+b", "1", "x,y"]


@given(programs())
def test_parse_is_the_inverse_of_print(program):
    forest = Forest(3, ALL)
    root = plant(forest, program)
    text = to_text(forest, root)
    n_nodes = len(forest)
    assert parse(forest, text) == root
    assert len(forest) == n_nodes


@given(programs(n_features=10, max_leaves=8))
def test_any_feature_name_survives_the_round_trip(program):
    forest = Forest(10, ALL)
    root = plant(forest, program)
    assert parse(forest, to_text(forest, root, NAMES), NAMES) == root


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_constants_survive_to_the_last_bit(value):
    forest = Forest(1, ALL)
    root = forest.constant(value)
    assert parse(forest, to_text(forest, root)) == root


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("x0*2+x1", "x0 * 2 + x1"),
        ("x0 - (x1 - x2)", "x0 - (x1 - x2)"),
        ("(x0 - x1) - x2", "x0 - x1 - x2"),
        ("x0 / (x1 * x2)", "x0 / (x1 * x2)"),
        ("-(x0 + x1) * -3", "-(x0 + x1) * -3"),
        ("neg(2)", "neg(2)"),
        ("--x0", "--x0"),
        ("add(x0, mul(x1, .5e1))", "x0 + x1 * 5"),
        ("sqrt(log( x0 ))", "sqrt(abs(log(abs(x0) + 1e-10)))"),
        ("sqrt(abs(abs(x0)))", "sqrt(abs(abs(x0)))"),
        ("sqrt(abs(x0) + 1) - log1p(abs (x1))", "sqrt(abs(abs(x0) + 1)) - log1p(abs(x1))"),
        ("log(square(x0)) + sqrt(2)", "log(abs(square(x0)) + 1e-10) + sqrt(2)"),
        ("max(x0, step(x1, x2))", "max(x0, step(x1, x2))"),
        ("((x0))", "x0"),
    ],
)
def test_formulas_print_as_people_write_them(text, printed):
    forest = Forest(3, ALL)
    assert to_text(forest, parse(forest, text)) == printed


def test_deep_programs_do_not_hit_the_recursion_limit():
    forest = Forest(1, ALL)
    text = "sqrt(" * 5000 + "abs(x0)" + ")" * 5000
    root = parse(forest, text)
    assert to_text(forest, root) == text


@given(programs())
def test_a_large_epsilon_is_written_and_read_back(program):
    forest = Forest(3, PrimitiveSet(tuple(p.name for p in ALL.functions), {"div": 0.5, "log": 0.01}))
    root = plant(forest, program)
    text = to_text(forest, root)
    assert "/" not in text
    assert parse(forest, text) == root
    assert parse(forest, "log(abs(x0) + 0.01) - x1 / x2") == parse(forest, "log(x0) - div(x1, x2)")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "ends where a feature"),
        ("x0 +", "ends where a feature"),
        ("x0 x1", "'x1' where an operator"),
        ("x0 + * x1", r"'\*' where a feature"),
        ("(x0", "closing bracket is missing"),
        ("x0)", "without an opening bracket"),
        ("x9", "unknown feature 'x9'. Features: x0, x1, x2"),
        ("x00", "unknown feature 'x00'. Did you mean 'x0'"),
        ("foo(x0)", "unknown primitive 'foo'"),
        ("sqr(x0)", "Did you mean 'sqrt'"),
        ("sqrt", "'sqrt' without its operands"),
        ("add(x0)", "'add' takes 2 operands, got 1"),
        ("sqrt(x0, x1)", "'sqrt' takes 1 operands, got 2"),
        ("(x0, x1)", "a comma outside"),
        ("x0 % 2", r"unexpected '%'"),
        ("x0 ^", "ends where a feature"),
        ("protected_sqrt(x0)", "unknown primitive 'protected_sqrt'"),
        ("1e999", "too large"),
        ("`x0", "unexpected '`'"),
        ("sqrt()", r"'\)' where a feature"),
    ],
)
def test_unreadable_formulas_get_an_error_that_points_to_the_place(text, message):
    with pytest.raises(ValueError, match=message) as caught:
        parse(Forest(3, ALL), text)
    assert "cannot read formula at character" in str(caught.value)


def test_feature_names_must_fit():
    forest = Forest(2)
    with pytest.raises(ValueError, match="3 feature names for 2 features"):
        to_text(forest, forest.feature(0), ["a", "b", "c"])
    with pytest.raises(ValueError, match="repeated: 'a'"):
        to_text(forest, forest.feature(0), ["a", "a"])


PLAIN = ("add", "sub", "mul", "neg", "plain_div", "plain_sqrt", "plain_log", "plain_exp", "power", "arcsin", "arccos")


@given(programs())
def test_the_round_trip_where_plain_primitives_have_the_names_of_protected_ones(program):
    forest = Forest(3, PrimitiveSet(PLAIN))
    root = plant(forest, program)
    assert parse(forest, to_text(forest, root)) == root


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("div(x0, x1) / plain_div(x1, 2)", "x0 / x1 / (x1 / 2)"),
        ("sqrt(abs(x0)) + log(x1) * exp(-x2)", "sqrt(abs(x0)) + log(x1) * exp(-x2)"),
        ("plain_sqrt(x0) - protected_sqrt(abs(x0))", "sqrt(x0) - protected_sqrt(abs(x0))"),
        ("protected_div(x0, protected_log(x1))", "protected_div(x0, protected_log(abs(x1) + 1e-10))"),
        ("power(x0 + x1, .5)", "(x0 + x1)^0.5"),
        ("x0^-2", "x0^-2"),
        ("x0^-x1", "x0^(-x1)"),
        ("(-x0)^2 - -x0^2", "(-x0)^2 - -x0^2"),
        ("(-2)^x0 * -2^x0", "(-2)^x0 * -2^x0"),
        ("x0^x1^x2", "x0^(x1^x2)"),
        ("(x0^x1)^x2", "(x0^x1)^x2"),
        ("x0^-2^x1", "x0^(-2^x1)"),
        ("x0 * x1^2 / x2", "x0 * x1^2 / x2"),
        ("arcsin(x0 / x1)^2", "arcsin(x0 / x1)^2"),
    ],
)
def test_formulas_without_protection_print_as_people_write_them(text, printed):
    forest = Forest(3, PrimitiveSet(PLAIN))
    root = parse(forest, text)
    assert to_text(forest, root) == printed
    assert parse(forest, printed) == root


def test_plain_primitives_have_their_own_names_beside_protected_ones():
    forest = Forest(2, PrimitiveSet(("plain_div", "div", "plain_sqrt", "exp")))
    root = parse(forest, "plain_div(x0, x1) / exp(plain_exp(x0)) + sqrt(x1)")
    assert to_text(forest, root) == "plain_div(x0, x1) / exp(plain_exp(x0)) + sqrt(x1)"
    names = {forest.name(node) for node in forest.reachable([root])}
    assert names == {"feature", "add", "div", "plain_div", "plain_exp", "exp", "plain_sqrt"}
    assert to_text(forest, parse(forest, "-x0^2"), digits=3) == "-x0^2"
