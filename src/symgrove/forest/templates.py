"""Templates: how one primitive is written in every notation and language.

A template is text with places for the operands, `{0}` and `{1}`, and for the protection constant, `{eps}`; braces that
are meant are doubled. What fills a place is a name, a number or an expression that needs no brackets, and what a
template makes must need none either; only in `text`, `latex` and `mathml` whoever prints puts brackets around operands
of lower precedence.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import re
from collections.abc import Mapping
from dataclasses import dataclass
from string import Formatter

# How strongly what a template makes is held together; a leaf is a name or a number.
SUM, PRODUCT, SIGN, POWER, ATOM, LEAF = range(1, 7)
DIALECTS = ("sqlite", "duckdb")
# Languages that cannot be written without a template of every primitive.
LANGUAGES = ("python", "c", "javascript", *DIALECTS, "excel", "onnx")


@dataclass(frozen=True, slots=True, kw_only=True)
class Templates:
    """How a primitive is written; None where nobody has said it.

    Attributes
    ----------
    text, latex, mathml : str
        For people, one program at a time. MathML is a call of the name if it is None.
    text_level, latex_level : int
        SUM, PRODUCT, SIGN, POWER or ATOM; that of LaTeX is MathML's too.
    exact_text, exact_latex, exact_mathml : str
        With all protections, where the others leave some out; for equations of whole models also in brackets.
    sympy : str
        A Python expression of SymPy's functions.
    python : str
        NumPy, as `np`, over columns.
    c, javascript, excel : str
        An expression.
    sql : str
        An expression for the dialects that have none of their own.
    sqlite, duckdb : str
        Expressions of a dialect.
    sqlite_without_epsilon : str
        That of SQLite where the protection constant is 0, if it must be another.
    onnx : str
        Calls of ONNX operators, such as "Sqrt(Abs({0}))", numbers among their operands; lines before the last one may
        give names to parts: "total = Add(1.0, {0})".
    python_helper, c_helper, javascript_helper : str
        A definition that the template calls, so that it need not repeat an operand.
    """

    text: str
    latex: str
    mathml: str | None = None
    text_level: int = ATOM
    latex_level: int = ATOM
    exact_text: str | None = None
    exact_latex: str | None = None
    exact_mathml: str | None = None
    sympy: str | None = None
    python: str | None = None
    c: str | None = None
    javascript: str | None = None
    sql: str | None = None
    sqlite: str | None = None
    duckdb: str | None = None
    sqlite_without_epsilon: str | None = None
    excel: str | None = None
    onnx: str | None = None
    python_helper: str | None = None
    c_helper: str | None = None
    javascript_helper: str | None = None

    def of(self, language: str) -> str | None:
        """The template of a language or dialect."""
        own: str | None = getattr(self, language)
        return self.sql if own is None and language in DIALECTS else own

    def helper(self, language: str) -> str | None:
        """The definition that the template of a language calls."""
        found: str | None = getattr(self, f"{language}_helper", None)
        return found


def repeats_an_operand(template: str) -> bool:
    """Whether an operand stands in a template more than once."""
    places = [field for _, field, _, _ in Formatter().parse(template) if field is not None and field.isdigit()]
    return len(places) > len(set(places))


def checked_template(name: str, arity: int, language: str, template: object) -> str:
    """A user's template of a language, or an error that says what is wrong with it."""
    given = f"the template {language}={template!r} of primitive {name!r}"
    accepted = " and ".join(f"{{{i}}}" for i in range(arity))
    if not isinstance(template, str):
        raise TypeError(f"{given} is not a text. Give one with {accepted} for the operands.")
    template = inspect.cleandoc(template)
    try:
        parts = list(Formatter().parse(template))
    except ValueError as error:
        raise ValueError(
            f"{given} cannot be read: {error}. Write {accepted} for the operands; double a brace that is meant."
        ) from None
    places = {field for _, field, _, _ in parts if field is not None}
    is_plain = all(spec in ("", None) and conversion is None for _, _, spec, conversion in parts)
    wanted = {str(i) for i in range(arity)}
    if places != wanted or not is_plain:
        found = ", ".join(f"{{{field}}}" for field in sorted(places)) or "none"
        raise ValueError(
            f"{given} must have the places {accepted}, one for each operand, and no others; it has {found}. Double a "
            "brace that is meant."
        )
    if language in _SYNTAX:
        _SYNTAX[language](given, arity, template)
    elif language not in ("latex", "mathml"):
        _check_expression(given, template)
    return template


def _check_expression(given: str, template: str) -> None:
    opening, closing = template.count("("), template.count(")")
    if opening != closing:
        raise ValueError(f"{given} has {opening} opening and {closing} closing brackets; give an expression.")
    if template.startswith("=") or template.endswith(";"):
        raise ValueError(f"{given} must be an expression: without '=' before and ';' after it.")


def _parsed(given: str, arity: int, template: str, mode: str) -> ast.AST:
    try:
        return ast.parse(template.format(*operand_names(arity)), mode=mode)
    except SyntaxError as error:
        raise ValueError(f"{given} is not written like Python: {error.msg}.") from None


def operand_names(arity: int) -> list[str]:
    """Names that stand for operands where a template is read as Python."""
    return [f"_{i}" for i in range(arity)]


def _check_python(given: str, arity: int, template: str) -> None:
    tree = _parsed(given, arity, template, "eval")
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    known = {"np", *operand_names(arity), *vars(builtins)}
    known |= {n.id for n in names if isinstance(n.ctx, ast.Store)}
    known |= {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}  # of a lambda
    unknown = sorted({n.id for n in names} - known)
    if unknown:
        raise ValueError(
            f"{given} uses {', '.join(unknown)}; the exported module knows NumPy, as np, and the operands only. Write "
            "it with NumPy's functions."
        )


def _check_sympy(given: str, arity: int, template: str) -> None:
    _parsed(given, arity, template, "eval")


def _check_onnx(given: str, arity: int, template: str) -> None:
    tree = _parsed(given, arity, template, "exec")
    assert isinstance(tree, ast.Module)
    known = set(operand_names(arity))
    how = 'Write calls of ONNX operators, such as "Sqrt(Abs({0}))", after lines of the form "name = Add({0}, 1.0)".'
    for statement in tree.body[:-1]:
        if not (isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name)):
            raise ValueError(f"{given} has a line that gives no part a name: {ast.unparse(statement)}. {how}")
        _check_calls(given, statement.value, known, how)
        known.add(statement.targets[0].id)
    if not isinstance(tree.body[-1], ast.Expr):
        raise ValueError(f"{given} does not end with a result. {how}")
    _check_calls(given, tree.body[-1].value, known, how)


def _check_calls(given: str, tree: ast.expr, known: set[str], how: str) -> None:
    if isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name) and tree.args and not tree.keywords:
        for operand in tree.args:
            _check_calls(given, operand, known, how)
    elif not (isinstance(tree, ast.Name) and tree.id in known) and not _is_number(tree):
        shown = re.sub(r"\b_(\d)\b", r"{\1}", ast.unparse(tree))
        raise ValueError(f"{given} has {shown!r}, which is no call of an operator, no operand and no number. {how}")


def _is_number(tree: ast.expr) -> bool:
    tree = tree.operand if isinstance(tree, ast.UnaryOp) and isinstance(tree.op, ast.USub) else tree
    return isinstance(tree, ast.Constant) and isinstance(tree.value, (int, float)) and not isinstance(tree.value, bool)


_SYNTAX = {"python": _check_python, "sympy": _check_sympy, "onnx": _check_onnx}


def checked_sql(name: str, arity: int, given: object) -> dict[str, str]:
    """A user's template for SQL: one for all dialects, or a mapping from dialects to templates."""
    if not isinstance(given, Mapping):
        return {"sql": checked_template(name, arity, "sql", given)}
    unknown = [key for key in given if key not in DIALECTS]
    if unknown:
        raise ValueError(
            f"sql={dict(given)!r} of primitive {name!r} names {unknown[0]!r}; dialects are {', '.join(DIALECTS)}. Give "
            "one text for all, or a text for each."
        )
    return {dialect: checked_template(name, arity, dialect, text) for dialect, text in given.items()}
