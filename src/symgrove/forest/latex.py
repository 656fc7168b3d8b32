"""Programs as LaTeX mathematics.

Protected functions are written as what they compute: sqrt and log with the absolute value, `/` as a fraction (its
protection is of the order of epsilon). Constants have a few digits: LaTeX is for reading.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from symgrove.forest.forest import Forest
from symgrove.forest.text import feature_labels

DIGITS = 4
_SUM, _PRODUCT, _ATOM = 1, 2, 4
_PRECEDENCE = {"add": _SUM, "sub": _SUM, "neg": _SUM, "mul": _PRODUCT}
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
    forest.check_ids(root)
    texts: list[tuple[str, int]] = []
    for node in reversed(list(forest.prefix(root))):
        operands = [texts.pop() for _ in forest.children(node)]
        texts.append(_write(forest, node, operands, labels, digits))
    return texts[0][0]


def _write(
    forest: Forest, node: int, operands: list[tuple[str, int]], labels: list[str], digits: int
) -> tuple[str, int]:
    name = forest.name(node)
    if name == "feature":
        return labels[forest.columns.left[node]], _ATOM
    if name == "constant":
        text = latex_number(float(forest.columns.value[node]), digits)
        return text, _SUM if text[0] == "-" else _PRODUCT if "cdot" in text else _ATOM
    level = _PRECEDENCE.get(name, _ATOM)
    texts = [_bracketed(t) if _needs_brackets(name, level, i, p) else t for i, (t, p) in enumerate(operands)]
    return forest.primitives[name].text.latex.format(*texts), level


def _needs_brackets(name: str, level: int, position: int, precedence: int) -> bool:
    """Inside sums and products, operands of lower precedence; a fraction or function has its own."""
    if name not in _PRECEDENCE:
        return False
    return precedence < level or (precedence == level == _SUM and (position == 1 or name == "neg"))


def _bracketed(text: str) -> str:
    return rf"\left({text}\right)"


def latex_number(value: float, digits: int = DIGITS) -> str:
    """A number with so many significant digits."""
    text = f"{value:.{digits}g}"
    mantissa, _, exponent = text.partition("e")
    return rf"{mantissa} \cdot 10^{{{int(exponent)}}}" if exponent else mantissa


def latex_name(label: str) -> str:
    """A column name: x12 as x with an index, a single letter as it is, others upright."""
    index = re.fullmatch(r"([A-Za-z])(\d+)", label)
    if index:
        return f"{index[1]}_{{{index[2]}}}"
    if re.fullmatch(r"[A-Za-z]", label):
        return label
    return r"\mathrm{" + "".join(_ESCAPES.get(c, c) for c in label) + "}"
