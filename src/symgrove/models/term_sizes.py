"""Sizes of sums of terms, each term read once, however many sums it is in."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from symgrove.forest.forest import Forest
from symgrove.forest.sympy_size import Value, size_in_sum
from symgrove.models.teams import Teams


class TermSizes:
    """Nodes of the SymPy expressions of sums, in the user's units, before they are shortened."""

    def __init__(self, teams: Teams, names: Sequence[str] | None) -> None:
        self._teams, self._names = teams, names
        self._forest = Forest(teams.forest.n_features, teams.forest.primitives)
        self._roots: dict[int, int] = {}
        self._parts: dict[int, list[int]] = {}
        self._values: dict[int, Value] = {}  # of nodes
        self._known: dict[Value, int] = {}
        self._sizes: list[int] = []

    def are_of(self, teams: Teams) -> bool:
        """Whether the terms of other teams are the same."""
        own = self._teams
        return teams.forest is own.forest and np.array_equal(teams.programs, own.programs)

    def of(self, terms: NDArray[np.intp]) -> int:
        """Nodes of a number and these terms, with numbers in front of which none makes anything vanish."""
        parts = {part for term in terms.tolist() for part in self._parts_of(term)}
        return 1 + bool(parts) + sum(self._sizes[part] for part in parts)

    def of_all(self, terms: NDArray[np.intp]) -> int:
        """Nodes of the same sum as a program, in which nothing is put together."""
        roots = [self._root_of(term) for term in terms.tolist()]
        return 1 + 3 * len(roots) + int(self._forest.size(roots).sum())

    def _root_of(self, term: int) -> int:
        if term not in self._roots:
            copied = self._forest.copy_from(self._teams.forest, self._teams.programs[term : term + 1])
            self._roots[term] = self._teams.standardization.in_user_units(self._forest, int(copied[0]))
        return self._roots[term]

    def _parts_of(self, term: int) -> list[int]:
        """Places of the like terms that a term has parts in."""
        if term not in self._parts:
            self._parts[term] = []
            for value, size in size_in_sum(self._forest, self._root_of(term), self._names, self._values).items():
                place = self._known.setdefault(value, len(self._sizes))
                if place == len(self._sizes):
                    self._sizes.append(size)
                self._parts[term].append(place)
        return self._parts[term]
