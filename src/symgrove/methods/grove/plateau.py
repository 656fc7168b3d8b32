"""When an evolution on many rows ends: once more generations predict the rows that are held out no better.

Its teams have coefficients of the rows of their turn. So what is judged are regressions over the terms of populations
on more rows than that, but not on all, which would take long; with other losses than squares, the teams as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from symgrove.evolution.stopping import Progress
from symgrove.fitness.named_losses import Squared
from symgrove.methods.grove.configuration import Regime
from symgrove.methods.grove.pooling import FEW_PENALTIES, SHARE_OF_POOL, bytes_of_sums, population_level, sums_of_each
from symgrove.methods.grove.settling import RowPass, units_of
from symgrove.methods.grove.setup import TeamSettings, base_of, to_teams
from symgrove.methods.grove.strength import Surroundings
from symgrove.methods.grove.teams import TeamState
from symgrove.methods.grove.turns import InTurns, Others, Populations
from symgrove.methods.grove.weights import losses_of
from symgrove.methods.problem import Places, TrainingRows
from symgrove.models.teams import Teams

JUDGED = "strength/judged/"  # part of the checkpoint: mean losses by generation, which a resumed run cannot find again
FEWEST_GENERATIONS = 10  # before them populations have hardly met their terms
MOST_ROWS = 10_000  # that regressions are fitted on to be judged


def rows_judged_with(training: TrainingRows, hidden: Places) -> Places:
    """Rows that regressions are fitted on to be judged, all but for those hidden, or some of them."""
    return Others(training.n_rows, hidden).spread(MOST_ROWS)


@dataclass
class Plateau:
    """Asked after each generation; looks at some, and compares each with the one before.

    Attributes
    ----------
    hidden : (n_hidden,)
        Places of the rows that the evolution does not see.
    regime : Regime
    """

    settings: TeamSettings
    method: Populations | InTurns
    training: TrainingRows
    hidden: NDArray[np.intp]
    regime: Regime
    around: Surroundings
    name: str = "strength"

    def __call__(self, progress: Progress) -> bool:
        """Whether the evolution has gained too little since it was looked at before."""
        own, generation = self.settings.configuration, progress.values["generation"]
        looked_at = [g for g in own.early_snapshots if FEWEST_GENERATIONS <= g <= generation]
        if generation not in looked_at:
            return False
        judged = {int(name): float(loss) for name, loss in self.around.checkpoint.part(JUDGED).items()}
        if generation not in judged:
            judged[generation] = self._judge(progress.state)
            part = {str(g): np.array(loss) for g, loss in judged.items()}
            self.around.checkpoint.put({JUDGED: part})
        *_, before, last = [np.nan, *(judged.get(g, np.nan) for g in looked_at)]
        return bool(last > (1.0 - own.many.least_gain) * before)

    def _judge(self, state: Sequence[TeamState]) -> float:
        """Mean loss on the rows held out."""
        settings, training = self.settings, self.training
        held_out = training.take(self.hidden)
        teams = to_teams(settings, self.method, state, training)
        weight = np.ones(len(held_out.X)) if held_out.weight is None else held_out.weight
        of_rows = partial(
            losses_of,
            targets=held_out.targets,
            losses=settings.losses,
            base=base_of(training, settings.losses),
            row_weight=weight,
        )
        return min(
            float(np.average(of_rows(each.predict(held_out.X, settings.n_threads)), weights=weight))
            for each in self._ensembles(teams)
        )

    def _ensembles(self, teams: Teams) -> Sequence[Teams]:
        settings, training = self.settings, self.training
        n_populations = min(self.regime.n_populations, self.regime.n_teams)
        level = population_level(teams, n_populations, FEW_PENALTIES)
        n_bytes = sum(bytes_of_sums(int(own.sum())) for own in level.uses)
        if not isinstance(settings.loss, Squared) or n_bytes > SHARE_OF_POOL * settings.memory_budget:
            return [teams]
        some = training.take(rows_judged_with(training, self.hidden))
        sums = sums_of_each(teams, level.uses, some, units_of(training, settings.loss), RowPass(settings.n_threads))
        return [level.fit_each(teams, sums, penalty) for penalty in level.penalties]
