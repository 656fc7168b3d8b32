"""Programs as MathML, which browsers draw without any library. Notation and digits are those of LaTeX (latex.py)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape

from symgrove.forest.forest import Forest
from symgrove.forest.latex import ATOM, DIGITS, PRECEDENCE, PRODUCT, SUM, Written, needs_brackets, written
from symgrove.forest.text import feature_labels

# Operands are filled in as {0} and {1}; names that are missing here are calls.
_TEMPLATES = {
    "add": "<mrow>{0}<mo>+</mo>{1}</mrow>",
    "sub": "<mrow>{0}<mo>−</mo>{1}</mrow>",
    "mul": "<mrow>{0}<mo>⋅</mo>{1}</mrow>",
    "div": "<mfrac>{0}{1}</mfrac>",
    "aq": "<mfrac>{0}<msqrt><mn>1</mn><mo>+</mo><msup>{1}<mn>2</mn></msup></msqrt></mfrac>",
    "step": "<mrow><mo>[</mo>{0}<mo>&gt;</mo>{1}<mo>]</mo></mrow>",
    "sqrt": "<msqrt><mo>|</mo>{0}<mo>|</mo></msqrt>",
    "log": "<mrow><mi>log</mi><mo>|</mo>{0}<mo>|</mo></mrow>",
    "log1p": "<mrow><mi>log</mi><mo>(</mo><mn>1</mn><mo>+</mo><mo>|</mo>{0}<mo>|</mo><mo>)</mo></mrow>",
    "exp": "<msup><mi>e</mi>{0}</msup>",
    "square": "<msup>{0}<mn>2</mn></msup>",
    "cube": "<msup>{0}<mn>3</mn></msup>",
    "neg": "<mrow><mo>−</mo>{0}</mrow>",
    "abs": "<mrow><mo>|</mo>{0}<mo>|</mo></mrow>",
}
_WITH_EPSILON = {
    "div": "<mrow><mo>(</mo><mn>1</mn><mo>−</mo><mn>2</mn><mo>⋅</mo><mo>[</mo>{1}<mo>&lt;</mo><mn>0</mn><mo>]</mo>"
    "<mo>)</mo><mo>⋅</mo>"
    "<mfrac>{0}<mrow><mo>|</mo>{1}<mo>|</mo><mo>+</mo>{eps}</mrow></mfrac></mrow>",
    "log": "<mrow><mi>log</mi><mo>(</mo><mo>|</mo>{0}<mo>|</mo><mo>+</mo>{eps}<mo>)</mo></mrow>",
}
# Operands that stand beside an exponent.
_BASES = {"square": 0, "cube": 0, "aq": 1}


def to_mathml(forest: Forest, root: int, feature_names: Sequence[str] | None = None, digits: int = DIGITS) -> str:
    """A `math` element; parameters as those of `to_latex`."""
    labels = [mathml_name(label) for label in feature_labels(forest.n_features, feature_names)]
    text = written(forest, root, lambda node, operands: _write(forest, node, operands, labels, digits))
    return f"<math>{text}</math>"


def _write(forest: Forest, node: int, operands: list[Written], labels: list[str], digits: int) -> Written:
    name = forest.name(node)
    if name == "feature":
        return labels[forest.columns.left[node]], ATOM
    if name == "constant":
        value = float(forest.columns.value[node])
        return mathml_number(value, digits), SUM if value < 0 else ATOM
    level = PRECEDENCE.get(name, ATOM)
    is_base = _BASES.get(name)
    texts = [
        _bracketed(t) if i == is_base or needs_brackets(name, level, i, p) else t for i, (t, p) in enumerate(operands)
    ]
    epsilon = forest.primitives.written_epsilon(name)
    if epsilon is not None:
        return _WITH_EPSILON[name].format(*texts, eps=mathml_number(epsilon, digits)), PRODUCT
    if name in _TEMPLATES:
        return _TEMPLATES[name].format(*texts), level
    inside = "<mo>,</mo>".join(texts)
    return f"<mrow><mi>{escape(name)}</mi><mo>(</mo>{inside}<mo>)</mo></mrow>", ATOM


def _bracketed(text: str) -> str:
    return f"<mrow><mo>(</mo>{text}<mo>)</mo></mrow>"


def mathml_number(value: float, digits: int = DIGITS) -> str:
    """A number with so many significant digits."""
    mantissa, _, exponent = f"{value:.{digits}g}".partition("e")
    sign = "<mo>−</mo>" if mantissa.startswith("-") else ""
    number = f"<mn>{mantissa.lstrip('-')}</mn>"
    if exponent:
        power = (
            f"<mrow><mo>−</mo><mn>{-int(exponent)}</mn></mrow>" if int(exponent) < 0 else f"<mn>{int(exponent)}</mn>"
        )
        number = f"{number}<mo>⋅</mo><msup><mn>10</mn>{power}</msup>"
    return f"<mrow>{sign}{number}</mrow>" if sign or exponent else number


def mathml_name(label: str) -> str:
    """A column name: x12 as x with an index, a single letter as it is, others upright."""
    index = re.fullmatch(r"([A-Za-z])(\d+)", label)
    if index:
        return f"<msub><mi>{index[1]}</mi><mn>{index[2]}</mn></msub>"
    return f"<mi>{escape(label)}</mi>" if re.fullmatch(r"[A-Za-z]", label) else f"<mtext>{escape(label)}</mtext>"
