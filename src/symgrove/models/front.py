"""Fronts: models of several sizes with their errors, as a sequence, a table and a plot."""

from __future__ import annotations

import html
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import NDArray

from symgrove._deprecation import Renamed
from symgrove._style import BLUE, ORANGE, Axes, new_axes
from symgrove.forest.forest import Forest
from symgrove.models import front_table
from symgrove.models.checked_rows import CheckedRows
from symgrove.models.coding import coded
from symgrove.models.columns import TableColumns
from symgrove.models.reading import Reading
from symgrove.models.shown import Shown

if TYPE_CHECKING:
    from symgrove.models.model import Model

Matrix = NDArray[np.float64]
SEVERAL_SCALES = 30.0  # errors that differ by such a factor are drawn on a logarithmic scale


@dataclass(frozen=True, kw_only=True, repr=False)
class FrontPoint(Shown):
    """A model on a front.

    Attributes
    ----------
    size : int
        Nodes of the SymPy expression of the formula as it is shown, every number counted; of a long one (300 nodes with
        the user's units) before it is shortened. Of several members, those of all together.
    error : float
        On the training rows; on those given, of `simplify_ensemble` and `distill`. Root mean squared error, of a Grove
        with another loss its mean.
    held_out_error : float
        Root mean squared error on rows that neither the search nor the choice saw. NaN if there were none.
    description_length : float
        Bits that it takes to write the formula down, and the rows that were searched on with its help. NaN if not
        known.
    n_parts : int or None
        Members, or terms of a sum.
    model : Model
        What predicts.
    formula : str
        In the user's units and column names; log odds if it is a classifier's. Only where `has_formula`.
    latex, sympy
        The same as LaTeX with rounded numbers, and as a SymPy expression.
    """

    error: float
    held_out_error: float = np.nan
    description_length: float = np.nan
    n_parts: int | None = None
    _model: Model | Callable[[], Model] = field(repr=False, compare=False)  # or what makes it
    _names: Sequence[str] | None = field(repr=False, compare=False)
    _columns: TableColumns = field(repr=False, compare=False)
    _size: int | None = field(repr=False, compare=False, default=None)  # if it is known
    n_terms = Renamed("n_parts")

    @cached_property
    def model(self) -> Model:
        """What predicts; made when it is asked for."""
        return self._model() if callable(self._model) else self._model

    @cached_property
    def size(self) -> int:
        """Nodes; counted when it is asked for."""
        return sum(member.size for member in self.model.members(self._names)) if self._size is None else self._size

    @property
    def has_formula(self) -> bool:
        """Whether it is one formula, and not several members or targets."""
        return self._short_form is not None

    @property
    def _reading(self) -> Reading | None:  # type: ignore[override]
        return self.model.reading

    @cached_property
    def _short_form(self) -> tuple[Forest, int] | None:
        counts = self.model.count_members()
        return self.model.as_sum() if counts.get("n_distinct_members", counts["n_members"]) <= 1 else None

    def _shown(self) -> tuple[Forest, int]:
        if self._short_form is None:
            raise ValueError(f"a model of {self.n_parts} members is not one formula; `model.members(None)` has theirs.")
        return self._short_form

    def __repr__(self) -> str:
        known = ("size", "error", "held_out_error", "description_length", "n_parts")
        return f"FrontPoint({', '.join(f'{name}={getattr(self, name)!r}' for name in known)})"

    def __str__(self) -> str:
        return self.formula if self.has_formula else repr(self)

    def _repr_html_(self) -> str:
        return super()._repr_html_() if self.has_formula else html.escape(repr(self))

    def predict(self, X: Any) -> Matrix:
        """Predictions as of `predict`, or shares of the classes: of two, that of the second.

        Columns of frames are found by name.
        """
        if self._names is not None and hasattr(X, "columns"):
            X = X[[column.name for column in self._columns]]
        table = np.asarray(X) if isinstance(X, CheckedRows) else coded(X, self._columns)
        said = self.model.predict(self._columns.features(table))
        is_share = self.model.task.classes is not None and len(said) == 1
        return said[0] if is_share else self.model.task.as_users_see(said)


class Front(Sequence[FrontPoint]):
    """Points of a front, mostly from small to large.

    `print` and notebooks show it as a table, a `*` at the point that predicts.

    Parameters
    ----------
    points : iterable of FrontPoint
    chosen : int, optional
        Place of the point that predicts.
    """

    def __init__(self, points: Sequence[FrontPoint] = (), chosen: int | None = None) -> None:
        self._points = tuple(points)
        self.chosen = chosen

    def __len__(self) -> int:
        return len(self._points)

    @overload
    def __getitem__(self, place: int) -> FrontPoint: ...
    @overload
    def __getitem__(self, place: slice) -> Front: ...
    def __getitem__(self, place: int | slice) -> FrontPoint | Front:
        if not isinstance(place, slice):
            return self._points[place]
        kept = [*range(len(self))[place]]
        return Front(self._points[place], None if self.chosen not in kept else kept.index(self.chosen))

    def __eq__(self, other: object) -> bool:
        return list(self) == list(other) if isinstance(other, (Front, list)) else NotImplemented

    __hash__ = None  # type: ignore[assignment]  # as of a list

    def __repr__(self) -> str:
        return "\n".join(front_table.lines(self.rows(), front_table.LONGEST_TEXT)) if self else "Front([])"

    def _repr_html_(self) -> str:
        return front_table.as_html(front_table.rows(self, self.chosen, FrontPoint._repr_html_))

    def rows(self, style: str = "text", digits: int | None = None) -> list[dict[str, Any]]:
        """A dict for each point: what is known of all, `is_chosen`, and `formula` if all have one.

        Parameters
        ----------
        style : "text" or "latex"
        digits : int, optional
            Of numbers in text; by default as many as make a difference.
        """
        write = (lambda point: point.latex) if style == "latex" else (lambda point: point.rounded(digits))
        return front_table.rows(self, self.chosen, write)

    def to_frame(self) -> Any:
        """A pandas DataFrame, a row for each point; formulas with all digits, and as LaTeX."""
        try:
            pandas = import_module("pandas")
        except ImportError as error:
            raise ImportError("to_frame needs pandas; install it: pip install pandas.") from error
        rows = front_table.rows(self, self.chosen, lambda point: point.formula)
        frame = pandas.DataFrame(rows)
        return frame.assign(latex=[point.latex for point in self]) if "formula" in frame else frame

    def plot(self, ax: Axes | None = None) -> Axes:
        """Errors against sizes, a ring around the point that predicts.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            By default, those of a new figure.

        Returns
        -------
        ax : matplotlib Axes
        """
        ax = new_axes(ax)
        sizes = [point.size for point in self]
        inside = [point.error for point in self]
        drawn = [("on the training rows", inside, BLUE)]
        if not np.isnan([point.held_out_error for point in self]).all():
            drawn.append(("on rows held out", [point.held_out_error for point in self], ORANGE))
        for label, errors, colour in drawn:
            ax.plot(sizes, errors, marker="o", markersize=4, color=colour, label=label)
        if self.chosen is not None:
            ring = {"marker": "o", "markersize": 11, "markerfacecolor": "none", "linestyle": "none", "color": "black"}
            ends = [errors[self.chosen] for _, errors, _ in drawn]
            ax.plot([sizes[self.chosen]] * len(ends), ends, **ring, label="predicts")
        if inside and min(inside) > 0 and max(inside) > SEVERAL_SCALES * min(inside):
            ax.set_yscale("log")
        ax.set_xlabel("nodes")
        ax.set_ylabel("error")
        ax.legend()
        return ax
