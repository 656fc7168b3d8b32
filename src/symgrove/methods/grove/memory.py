"""How many rows an evolution of teams has room for, and what it takes of the memory budget besides vectors.

Counted at the worst, before any work: as if no two teams shared a term.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from symgrove.engines.base import SHARE_OF_VECTORS, VECTORS_WRITTEN_AT_A_TIME
from symgrove.methods.grove.configuration import GroveConfiguration, Regime
from symgrove.methods.problem import TrainingRows

NUMBER = 8  # bytes of a float64
FEWEST_ROWS = 100  # that a budget must have room for
N_PLACES = 7  # numbers for each row, while rows are drawn and held out, and of what is predicted for them
N_CHECKING = 8  # numbers for each row that is given, while rows and labels are checked
# Vectors in float64, for each team of an engine, that come and go within a generation, and for each engine.
N_PASSING = 8
N_OF_ENGINE = 4
N_BUFFERED = 2048  # numbers for each node of the largest program that an engine must have room for
# Of matrices of a team, n_slots x n_slots: of two states, and of one that is being inverted. Of numbers of a team for
# each candidate, and for each slot and candidate that it judges in full.
N_MATRICES = 6
N_OF_CANDIDATE = 6
N_OF_JUDGED = 4
BYTES_OF_A_CANDIDATE = 4096  # in the forest, in plans, and in what teams know of it


class TeamNeeds(NamedTuple):
    """Bytes that an evolution takes.

    Attributes
    ----------
    vectors, others : int
        For each row: vectors of terms and candidates, and everything else.
    fixed, buffers : int
        However many rows there are: outside engines, and the least that these need.
    """

    vectors: int
    others: int
    fixed: int
    buffers: int

    @property
    def _of_a_row(self) -> float:
        return self.vectors / SHARE_OF_VECTORS + self.others

    def rows_within(self, budget: int) -> int:
        """How many rows a budget has room for."""
        return max(int((budget - self.fixed - self.buffers) / self._of_a_row), 0)

    def budget_for(self, n_rows: int) -> int:
        """The smallest budget that has room for so many rows."""
        return int(self.fixed + self.buffers + n_rows * self._of_a_row) + 1

    def reserved(self, n_rows: int) -> int:
        """What is left to others than the engines, with so many rows."""
        return self.fixed + self.others * n_rows


def team_needs(
    regime: Regime, rows: TrainingRows, dtype: str, configuration: GroveConfiguration, *, apart: bool = False
) -> TeamNeeds:
    """What evolutions of a regime need, on these rows or on some of them; `apart`: each population has an engine."""
    n_rows, n_features, n_targets, itemsize = rows.n_rows, rows.n_features, rows.n_targets, np.dtype(dtype).itemsize
    rules, n_teams = regime.rules, regime.n_teams * n_targets
    max_terms = configuration.most_terms(rules.max_terms, n_rows)
    n_populations = min(regime.n_populations, regime.n_teams)
    n_engines = n_populations if apart else 1
    n_own_teams = -(-regime.n_teams // n_engines) * n_targets
    n_candidates = max(rules.population_size, rules.population_size // 2 + n_features)
    vectors = n_teams * max_terms + n_populations * n_candidates + n_engines * VECTORS_WRITTEN_AT_A_TIME
    numbers = n_teams + N_PASSING * n_own_teams  # predictions, and what passes
    numbers += regime.n_teams + n_engines * (N_OF_ENGINE + 2 * n_targets)  # weights, targets
    numbers += 2 * (n_features + n_targets + 1)  # rows that were drawn from all, and of a fold
    others = NUMBER * numbers + n_engines * itemsize * n_features + 2 * n_teams  # counts, and rows left out
    n_slots = 1 + max_terms + min(rules.n_joining, max_terms)
    n_judged = min(rules.window, configuration.most_judged(regime.n_teams_of_fit * n_targets))
    of_teams = N_MATRICES * n_teams * n_slots**2
    of_teams += n_own_teams * (N_OF_CANDIDATE * n_candidates + N_OF_JUDGED * n_judged * n_slots)
    fixed = NUMBER * of_teams + BYTES_OF_A_CANDIDATE * rules.population_size * n_populations
    return TeamNeeds(itemsize * vectors, others, fixed, N_BUFFERED * itemsize * regime.max_size * n_engines)
