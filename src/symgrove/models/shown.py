"""A formula of a model in the notations that people read."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from symgrove.forest.forest import Forest
from symgrove.forest.latex import to_latex
from symgrove.forest.mathml import to_mathml
from symgrove.forest.text import to_text


class Shown(ABC):
    """Something with a formula; made when asked for, because simplifying takes a while."""

    _names: Sequence[str] | None

    @abstractmethod
    def _shown(self) -> tuple[Forest, int]:
        """The formula in the user's units, simplified, in a forest of its own."""

    def __str__(self) -> str:
        return self.formula

    @property
    def formula(self) -> str:
        """In the user's units and column names."""
        return to_text(*self._shown(), self._names)

    def rounded(self, digits: int = 4) -> str:
        """The formula with rounded numbers, for reading."""
        return to_text(*self._shown(), self._names, digits)

    @property
    def latex(self) -> str:
        """The same as LaTeX, with rounded numbers."""
        return to_latex(*self._shown(), self._names)

    @property
    def mathml(self) -> str:
        """The same as MathML, for web pages."""
        return to_mathml(*self._shown(), self._names)

    @property
    def sympy(self) -> Any:
        """The same as a SymPy expression."""
        return import_module("symgrove.forest.as_sympy").to_sympy(*self._shown(), self._names)  # SymPy is optional
