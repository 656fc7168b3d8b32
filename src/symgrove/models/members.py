"""Members of an ensemble as people read them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symgrove.forest.forest import Forest
from symgrove.forest.sympy_size import sympy_size
from symgrove.forest.text import to_text
from symgrove.models.ensemble import Ensemble
from symgrove.models.reading import Reading
from symgrove.models.shown import LONGEST_COUNTED, LONGEST_MATHS, Shown, shortened


@dataclass(frozen=True)
class Member(Shown):
    """One program of an ensemble.

    Attributes
    ----------
    formula : str
        The member's prediction, scaling included, in the user's units and column names, as short as we can write it.
    latex, sympy
        The same as LaTeX with rounded numbers, and as a SymPy expression.
    program : str
        The program as it was evolved: without scaling, on standardised features.
    intercept, slope : float
        Linear scaling; averaged where several samples chose the same program, by their weights if these differ.
    weight : float
        Share in the ensemble's mean: samples that chose it over all samples; in a weighted mean, their share in the sum
        of the weights.
    samples : tuple of int
        The bootstrap samples that chose it.
    in_bag_error, out_of_bag_error : float
        Mean over those samples; out-of-bag errors are optimistic, because samples share one population. NaN if every
        sample drew all rows.
    size : int
        Nodes of the SymPy expression of the formula as it is shown, every number counted; of a long one (300 nodes with
        the user's units) before it is shortened.
    evolved_size : int
        Nodes of the program as it was evolved, which `max_size` of the estimator limits.
    target : Any
        With more than two classes: the class that the member tells from the others, else None.
    """

    intercept: float
    slope: float
    weight: float
    samples: tuple[int, ...]
    in_bag_error: float
    out_of_bag_error: float
    evolved_size: int
    target: Any
    _ensemble: Ensemble = field(repr=False, compare=False)
    _names: Sequence[str] | None = field(repr=False, compare=False)
    _reading: Reading | None = field(repr=False, compare=False, default=None)

    @cached_property
    def size(self) -> int:
        """Nodes; counted when it is asked for."""
        scaled = self._scaled()
        is_short = int(scaled[0].size(scaled[1])) <= LONGEST_COUNTED
        return sympy_size(*(shortened(*scaled, self._reading) if is_short else scaled), self._names)

    def _shown(self) -> tuple[Forest, int]:
        """The scaled program in the user's units, simplified."""
        return shortened(*self._scaled(), self._reading)

    def _beginning(self) -> tuple[Forest, int, bool]:
        is_short = self.evolved_size <= LONGEST_MATHS  # simplifying takes a while
        return (*(self._shown() if is_short else self._scaled()), True)

    def _scaled(self) -> tuple[Forest, int]:
        forest, root = self._own_program()
        shown = self._ensemble.standardization.in_user_units(forest, root)
        shown = forest.apply("mul", shown, forest.constant(self.slope))
        return forest, forest.apply("add", shown, forest.constant(self.intercept))

    @property
    def program(self) -> str:
        """The program as it was evolved."""
        return to_text(*self._own_program(), self._names)

    def _own_program(self) -> tuple[Forest, int]:
        """The program in a forest of its own, where display may add nodes."""
        ensemble = self._ensemble
        forest = Forest(ensemble.forest.n_features, ensemble.forest.primitives)
        root = ensemble.programs[ensemble.program_of[self.samples[0]]]
        return forest, int(forest.copy_from(ensemble.forest, [root])[0])


def list_members(
    ensemble: Ensemble,
    in_bag: NDArray[np.float64],
    out_of_bag: NDArray[np.float64],
    names: Sequence[str] | None,
    target: Any = None,
    reading: Reading | None = None,
    *,
    prune: bool = True,
) -> list[Member]:
    """Members in order of weight; with `prune`, samples that chose the same program are one member."""
    samples = np.arange(ensemble.n_samples)
    if prune:
        order = np.argsort(ensemble.program_of, kind="stable")
        groups = np.split(order, np.cumsum(np.bincount(ensemble.program_of, minlength=ensemble.programs.size))[:-1])
    else:
        groups = [samples[j : j + 1] for j in samples]
    shares = ensemble.shares
    groups.sort(key=lambda group: (-shares[group].sum(), int(group[0])))
    members = []
    for group in groups:
        outside = out_of_bag[group][~np.isnan(out_of_bag[group])]
        members.append(
            Member(
                intercept=_average(ensemble.intercept[group], shares[group]),
                slope=_average(ensemble.slope[group], shares[group]),
                weight=float(shares[group].sum() / shares.sum()),
                samples=tuple(int(j) for j in group),
                in_bag_error=float(in_bag[group].mean()),
                out_of_bag_error=float(outside.mean()) if outside.size else float("nan"),
                evolved_size=int(ensemble.forest.size(ensemble.programs[ensemble.program_of[group[0]]])),
                target=target,
                _ensemble=ensemble,
                _names=names,
                _reading=reading,
            )
        )
    return members


def _average(values: NDArray[np.float64], shares: NDArray[np.float64]) -> float:
    """Weighted mean; plain where nothing has a weight."""
    total = shares.sum()
    return float((shares * values).sum() / total) if total > 0 else float(values.mean())


def ensemble_as_sum(ensemble: Ensemble, *, is_in_user_units: bool) -> tuple[Forest, int]:
    """The mean of the members as one sum."""
    total_weight = ensemble.shares.sum()
    slope = ensemble.pooled().slope / total_weight
    forest = Forest(ensemble.forest.n_features, ensemble.forest.primitives)
    roots = forest.copy_from(ensemble.forest, ensemble.programs).tolist()
    total = forest.constant(float((ensemble.shares * ensemble.intercept).sum() / total_weight))
    for root, factor in zip(roots, slope.tolist(), strict=True):
        shown = ensemble.standardization.in_user_units(forest, root) if is_in_user_units else root
        total = forest.apply("add", total, forest.apply("mul", forest.constant(factor), shown))
    return forest, total
