"""Programs as LaTeX mathematics.

Protected functions are written as what they compute: sqrt and log with the absolute value, `/` as a fraction; epsilon
as in text.py. Constants have a few digits: LaTeX is for reading.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from symgrove.forest.forest import Forest
from symgrove.forest.primitive_table import Primitive
from symgrove.forest.templates import ATOM, LEAF, POWER, PRODUCT, SUM
from symgrove.forest.text import feature_labels

DIGITS = 4
LARGEST_WRITTEN = 6  # power of ten up to which numbers are written out
Written = tuple[str, int]  # a text and its precedence
_ESCAPES = {
    "\\": r"\backslash ", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "%": r"\%", "_": r"\_",
    "^": r"\hat{\ }", "~": r"\sim ", " ": r"\ ",
}  # fmt: skip


def to_latex(forest: Forest, root: int, feature_names: Sequence[str] | None = None, digits: int = DIGITS) -> str:
    """LaTeX of a program, without dollar signs.

    Parameters
    ----------
    forest : Forest
    root : int
        Id of the program.
    feature_names : sequence of str, optional
        One for each feature; x_0, x_1, ... by default.
    digits : int
        Significant digits of constants.
    """
    labels = [latex_name(label) for label in feature_labels(forest.n_features, feature_names)]
    return written(forest, root, lambda node, operands: _write(forest, node, operands, labels, digits))


def written(forest: Forest, root: int, write: Callable[[int, list[Written]], Written]) -> str:
    """A program from its leaves up; `write` makes the text of a node from those of its operands."""
    forest.check_ids(root)
    texts: list[Written] = []
    for node in reversed(list(forest.prefix(root))):
        operands = [texts.pop() for _ in forest.children(node)]
        texts.append(write(node, operands))
    return texts[0][0]


def _write(forest: Forest, node: int, operands: list[Written], labels: list[str], digits: int) -> Written:
    name = forest.name(node)
    if name == "feature":
        return labels[forest.columns.left[node]], LEAF
    if name == "constant":
        text = latex_number(float(forest.columns.value[node]), digits)
        return text, SUM if text[0] == "-" else PRODUCT if "cdot" in text else LEAF
    row = forest.primitives[name]
    texts = [_bracketed(t) if needs_brackets(row, i, p) else t for i, (t, p) in enumerate(operands)]
    epsilon = forest.primitives.written_epsilon(name)
    if epsilon is not None and row.templates.exact_latex is not None:
        return row.templates.exact_latex.format(*texts, eps=latex_number(epsilon, digits)), PRODUCT
    return row.templates.latex.format(*texts), row.templates.latex_level


def needs_brackets(row: Primitive, position: int, precedence: int) -> bool:
    """Inside sums and products, operands of lower precedence; a fraction or function has its own.

    The base of a power has them unless it is a leaf: an exponent beside a fraction could be that of its numerator.
    """
    level = row.templates.latex_level
    if level == ATOM:
        return False
    if level == POWER:
        return position == 0 and precedence < LEAF
    return precedence < level or (precedence == level == SUM and (position == 1 or row.arity == 1))


def _bracketed(text: str) -> str:
    return rf"\left({text}\right)"


def latex_number(value: float, digits: int = DIGITS) -> str:
    """A number with so many significant digits."""
    mantissa, exponent = significant(value, digits)
    return rf"{mantissa} \cdot 10^{{{exponent}}}" if exponent else mantissa


def significant(value: float, digits: int) -> tuple[str, int]:
    """A number with so many significant digits, and the power of ten that it is multiplied by: 125500 needs none."""
    text = f"{value:.{digits}g}"
    mantissa, _, exponent = text.partition("e")
    if exponent and 0 < int(exponent) <= LARGEST_WRITTEN:
        return f"{float(text):.0f}", 0
    return mantissa, int(exponent or 0)


def latex_name(label: str) -> str:
    """A column name: x12 as x with an index, a single letter as it is, others upright."""
    index = re.fullmatch(r"([A-Za-z])(\d+)", label)
    if index:
        return f"{index[1]}_{{{index[2]}}}"
    if re.fullmatch(r"[A-Za-z]", label):
        return label
    return r"\mathrm{" + "".join(_ESCAPES.get(c, c) for c in label) + "}"
