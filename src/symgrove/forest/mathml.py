"""Programs as MathML, which browsers draw without any library. Notation and digits are those of LaTeX (latex.py)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape

from symgrove.forest.forest import Forest
from symgrove.forest.latex import DIGITS, Written, needs_brackets, significant, written
from symgrove.forest.templates import ATOM, LEAF, PRODUCT, SUM
from symgrove.forest.text import feature_labels

_BASE = re.compile(r"<msup>\{(\d)\}")  # an operand that stands beside an exponent


def to_mathml(forest: Forest, root: int, feature_names: Sequence[str] | None = None, digits: int = DIGITS) -> str:
    """A `math` element; parameters as those of `to_latex`."""
    labels = [mathml_name(label) for label in feature_labels(forest.n_features, feature_names)]
    text = written(forest, root, lambda node, operands: _write(forest, node, operands, labels, digits))
    return f"<math>{text}</math>"


def _write(forest: Forest, node: int, operands: list[Written], labels: list[str], digits: int) -> Written:
    name = forest.name(node)
    if name == "feature":
        return labels[forest.columns.left[node]], LEAF
    if name == "constant":
        value = float(forest.columns.value[node])
        text = mathml_number(value, digits)
        return text, SUM if value < 0 else PRODUCT if "<mo>⋅</mo>" in text else LEAF
    row = forest.primitives[name]
    bases = _BASE.findall(row.templates.mathml or "")
    texts = [_bracketed(t) if str(i) in bases or needs_brackets(row, i, p) else t for i, (t, p) in enumerate(operands)]
    epsilon = forest.primitives.written_epsilon(name)
    if epsilon is not None and row.templates.exact_mathml is not None:
        return row.templates.exact_mathml.format(*texts, eps=mathml_number(epsilon, digits)), PRODUCT
    if row.templates.mathml is not None:
        return row.templates.mathml.format(*texts), row.templates.latex_level
    inside = "<mo>,</mo>".join(texts)
    return f"<mrow><mi>{escape(name)}</mi><mo>(</mo>{inside}<mo>)</mo></mrow>", ATOM


def _bracketed(text: str) -> str:
    return f"<mrow><mo>(</mo>{text}<mo>)</mo></mrow>"


def mathml_number(value: float, digits: int = DIGITS) -> str:
    """A number with so many significant digits."""
    mantissa, exponent = significant(value, digits)
    sign = "<mo>−</mo>" if mantissa.startswith("-") else ""
    number = f"<mn>{mantissa.lstrip('-')}</mn>"
    if exponent:
        power = f"<mrow><mo>−</mo><mn>{-exponent}</mn></mrow>" if exponent < 0 else f"<mn>{exponent}</mn>"
        number = f"{number}<mo>⋅</mo><msup><mn>10</mn>{power}</msup>"
    return f"<mrow>{sign}{number}</mrow>" if sign or exponent else number


def mathml_name(label: str) -> str:
    """A column name: x12 as x with an index, a single letter as it is, others upright."""
    index = re.fullmatch(r"([A-Za-z])(\d+)", label)
    if index:
        return f"<msub><mi>{index[1]}</mi><mn>{index[2]}</mn></msub>"
    return f"<mi>{escape(label)}</mi>" if re.fullmatch(r"[A-Za-z]", label) else f"<mtext>{escape(label)}</mtext>"
