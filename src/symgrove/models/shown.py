"""A formula of a model in the notations that people read."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from html import escape
from importlib import import_module
from typing import Any

from symgrove.forest.forest import Forest
from symgrove.forest.latex import to_latex
from symgrove.forest.mathml import to_mathml
from symgrove.forest.rounding import MOST, with_digits, with_few_digits
from symgrove.forest.shortest import rows_like, shortest
from symgrove.forest.text import to_text
from symgrove.models.reading import Reading

DIGITS = 4  # where nothing is known of the training rows
N_ROWS = 200  # on which numbers are rounded
LONGEST_COUNTED = 300  # nodes in the user's units, of a formula that is shortened to be counted
LONGEST_MATHS, LONGEST_TEXT = 80, 500  # nodes that a notebook shows as mathematics; characters, if there are more


class Shown(ABC):
    """Something with a formula; made when asked for, because simplifying takes a while."""

    _names: Sequence[str] | None
    _reading: Reading | None

    @abstractmethod
    def _shown(self) -> tuple[Forest, int]:
        """The formula in the user's units, as short as we can write it, in a forest of its own."""

    def _rounded(self) -> tuple[Forest, int]:
        """The same, its numbers with as many digits as the training rows justify."""
        forest, root = self._shown()
        reading = self._reading
        if reading is None:
            return forest, root
        return forest, with_few_digits(forest, root, rows_like(reading.quantiles, N_ROWS), reading.margin)

    def _beginning(self) -> tuple[Forest, int, bool]:
        """The formula, or what is quickly written of it, and whether that is all."""
        return *self._shown(), True

    def brief(self, *, as_mathml: bool = False) -> str:
        """The formula with three digits, made quickly; of a long sum the heaviest terms."""
        forest, root, is_all = self._beginning()
        rounded = with_digits(forest, root, 3)
        text = _as_html(forest, rounded, self._names, 3) if as_mathml else to_text(forest, rounded, self._names, 3)
        return text if is_all else f"{text} + ..."

    def __str__(self) -> str:
        return self.formula

    @property
    def formula(self) -> str:
        """In the user's units and column names."""
        return to_text(*self._shown(), self._names)

    def rounded(self, digits: int | None = None) -> str:
        """The formula with rounded numbers, for reading.

        Parameters
        ----------
        digits : int, optional
            Significant digits. By default each number has as many as make a difference: rounding raises the mean
            squared error on the training rows by about a hundredth of its standard error at most.
        """
        if digits is not None or self._reading is None:
            forest, root = self._shown()
            n_digits = DIGITS if digits is None else digits
            return to_text(forest, with_digits(forest, root, n_digits), self._names, n_digits)
        return to_text(*self._rounded(), self._names)

    @property
    def latex(self) -> str:
        """The same as LaTeX, numbers rounded as `rounded` does."""
        return to_latex(*self._rounded(), self._names, self._n_digits)

    @property
    def mathml(self) -> str:
        """The same as MathML, for web pages."""
        return to_mathml(*self._rounded(), self._names, self._n_digits)

    def _repr_html_(self) -> str:
        """For notebooks: mathematics that browsers draw themselves, or the beginning of a long formula as text."""
        return f"<div style='overflow-x:auto'>{_as_html(*self._rounded(), self._names, self._n_digits)}</div>"

    @property
    def _n_digits(self) -> int:
        return DIGITS if self._reading is None else MOST

    @property
    def sympy(self) -> Any:
        """The same as a SymPy expression."""
        return import_module("symgrove.forest.as_sympy").to_sympy(*self._shown(), self._names)  # SymPy is optional


def shortened(forest: Forest, root: int, reading: Reading | None) -> tuple[Forest, int]:
    """A formula as short as we can write it."""
    return forest, shortest(forest, root, None if reading is None else reading.quantiles)


def _as_html(forest: Forest, root: int, names: Sequence[str] | None, digits: int) -> str:
    if int(forest.size([root])[0]) <= LONGEST_MATHS:
        return to_mathml(forest, root, names, digits)
    text = to_text(forest, root, names, digits)
    rest = "" if len(text) <= LONGEST_TEXT else " ..."
    return f"<code style='white-space:normal'>{escape(text[:LONGEST_TEXT])}{rest}</code>"
