"""The primitive table is complete, and templates of users are checked."""

import ast
from pathlib import Path
from string import Formatter

import pytest

import symgrove as sg
from symgrove.forest.primitive_table import BUILTIN
from symgrove.forest.templates import LANGUAGES, Templates, checked_template, repeats_an_operand

SOURCE = Path(sg.__file__).parent
# The table, and the loops that are compiled.
MAY_LIST_PRIMITIVES = {
    "forest/primitive_table.py",
    "engines/block_kernels.py",
    "engines/blocks.py",
    "compression/distillation.py",  # functions of a student
    "engines/cuda_source.py",  # names in C
    "engines/own_source.py",
    "variation/backpropagation.py",  # inverses are compiled
    "variation/backpropagation_kernels.py",
    "forest/sympy_size.py",  # how SymPy counts them
    "methods/law/functions.py",  # what they cost, and numbers inside
    "methods/law/least_squares_kernels.py",  # derivatives are compiled
    "estimators/law.py",  # its documentation names the default
    "experiments/law_methods.py",  # names in other libraries
}


@pytest.mark.parametrize("row", BUILTIN.values(), ids=list(BUILTIN))
def test_every_row_is_complete(row):
    for language in ("text", "latex", "sympy", *LANGUAGES):
        template = row.templates.of(language)
        assert template, language
        places = {field for _, field, _, _ in Formatter().parse(template) if field is not None}
        shows_epsilon = row.has_epsilon and language not in ("text", "latex")
        assert places == {*map(str, range(row.arity)), *(["eps"] if shows_epsilon else [])}, language
    for notation in ("text", "latex"):
        exact = getattr(row.templates, f"exact_{notation}")
        assert row.has_epsilon <= ("{eps}" in (exact or "")), notation


@pytest.mark.parametrize("row", BUILTIN.values(), ids=list(BUILTIN))
def test_helpers_are_called_and_take_each_operand_once(row):
    for language in ("python", "c", "javascript"):
        template, helper = row.templates.of(language), row.templates.helper(language)
        assert not repeats_an_operand(template), language
        called = template.split("(")[0]
        assert (helper is None) or f"{called}(" in helper or f"const {called} =" in helper, language


def test_onnx_templates_are_written_as_those_of_users():
    for row in BUILTIN.values():
        text = row.templates.onnx.replace("{eps}", "1.0")
        assert checked_template(row.name, row.arity, "onnx", text) == text


def test_primitives_stand_in_the_table_only():
    """No other file has a dictionary of primitives, and few know that there is a hyperbolic tangent."""
    for file in SOURCE.rglob("*.py"):
        name = str(file.relative_to(SOURCE))
        if name in MAY_LIST_PRIMITIVES:
            continue
        text = file.read_text()
        assert "tanh" not in text, name
        for node in ast.walk(ast.parse(text)):
            keys = {getattr(key, "value", None) for key in node.keys} if isinstance(node, ast.Dict) else set()
            # Rules of simplification are more than a property of one primitive.
            assert len(keys & set(BUILTIN)) < 4 or name == "forest/simplify.py", f"{name}:{node.lineno}"


def test_repeated_operands_are_found_in_templates():
    assert repeats_an_operand("({0} * {0})")
    assert repeats_an_operand("{1} + {0} + {1}")
    assert not repeats_an_operand("f({0}, {1}, {eps}, {eps}) {{0}} {{0}}")


def one(x):
    return x + 1.0


def two(a, b):
    return a + b


@pytest.mark.parametrize(
    ("function", "templates", "message"),
    [
        (one, {"c": 3}, r"c=3 of primitive 'one' is not a text. Give one with \{0\}"),
        (one, {"c": ""}, r"must have the places \{0\}, .* it has none"),
        (one, {"c": "x + 1"}, r"c='x \+ 1'.* it has none"),
        (two, {"javascript": "{0}"}, r"must have the places \{0\} and \{1\}.* it has \{0\}"),
        (one, {"excel": "{0}+{1}"}, r"no others; it has \{0\}, \{1\}"),
        (one, {"c": "{a}"}, r"it has \{a\}"),
        (one, {"c": "{0:.2f}"}, "must have the places"),
        (one, {"c": "{0!r}"}, "must have the places"),
        (one, {"c": "{"}, "cannot be read.*double a brace that is meant"),
        (one, {"latex": r"\frac{{0}}{2}"}, "must have the places"),
        (one, {"c": "exp({0}"}, "1 opening and 0 closing brackets"),
        (one, {"javascript": "{0} + 1;"}, "must be an expression"),
        (one, {"excel": "={0}+1"}, "must be an expression"),
        (one, {"python": "np.exp({0}"}, "not written like Python"),
        (one, {"python": "math.exp({0})"}, "uses math; the exported module knows NumPy, as np"),
        (one, {"sympy": "exp({0}"}, "not written like Python"),
        (one, {"sql": {"oracle": "{0}"}}, "names 'oracle'; dialects are sqlite, duckdb"),
        (one, {"sql": {"sqlite": "1"}}, "sqlite='1'"),
        (one, {"onnx": "{0} + 1"}, r"has '\{0\} \+ 1', which is no call"),
        (one, {"onnx": "Add({0}, other)"}, "has 'other', which is no call"),
        (one, {"onnx": "Add({0}, axis=1)"}, "which is no call"),
        (one, {"onnx": "Abs({0})\nAbs({0})"}, "a line that gives no part a name"),
        (one, {"onnx": "a = Abs({0})"}, "does not end with a result"),
    ],
)
def test_bad_templates_get_a_clear_error(function, templates, message):
    with pytest.raises((ValueError, TypeError), match=message):
        sg.primitive(function, **templates)


def test_python_templates_may_name_parts():
    assert sg.primitive(one, python="(lambda t: t * t)(np.abs({0}))").templates.python is not None


def test_templates_of_users_are_bracketed_and_have_defaults():
    row = sg.primitive(two, c="{0} + {1}", sql={"duckdb": "{0} + {1}"})
    assert row.templates == Templates(
        text="two({0}, {1})",
        latex=r"\operatorname{{two}}\left({0}, {1}\right)",
        c="({0} + {1})",
        duckdb="({0} + {1})",
    )
    assert row.templates.of("sqlite") is None
