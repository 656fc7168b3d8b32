"""From parameters to what all methods with one population of programs are made with."""

from __future__ import annotations

from typing import Any

from symgrove.estimators.parameters import ProgramParameters, as_row_loss
from symgrove.fitness.losses import Loss, MeanDeviation, MeanRowLoss
from symgrove.fitness.named_losses import Deviation, make_loss
from symgrove.forest.random_programs import RandomPrograms
from symgrove.methods.programs import TargetSetup
from symgrove.variation.own import OwnVariation
from symgrove.variation.subtree import SubtreeVariation


def loss_of(p: Any, target: TargetSetup) -> Loss:
    """What programs are scored by: that of the task, one by name, or a user's."""
    scales = bool(p.linear_scaling)
    if p.loss is None or p.loss == "squared":
        return target.task.loss(linear_scaling=scales)
    if not isinstance(p.loss, str):
        return MeanRowLoss(as_row_loss(p.loss), scales)
    made = make_loss(p.loss, float(p.quantile), p.huber_delta, *target.target_points())
    assert isinstance(made, Deviation)
    return MeanDeviation(made, scales)


def gp_arguments(p: ProgramParameters, target: TargetSetup, mutation_depth: int | None = None) -> dict[str, Any]:
    """Arguments of a `GP` with the paper's programs and variation.

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from symgrove import extending as ex
    >>> class RandomSearch(ex.GP):
    ...     def init(self):
    ...         return self.first_state()
    ...     def advance(self, state):
    ...         rng = ex.stream(self.seed, "programs", state.generation)
    ...         new = self.source.ramped_half_and_half(state.forest, self.population_size, rng)
    ...         scores = self.score(state.forest, new, self.samples)
    ...         elites = ex.improve(state.elites, ex.best_of_each_sample(new, scores))
    ...         return self.next_state(state, population=new, errors=scores.errors, elites=elites)
    >>> @ex.with_parameters
    ... class RandomSearchRegressor(ex.ProgramParameters, ex.Regressor):
    ...     has_out_of_bag = False
    ...     def make_part(self, target):
    ...         return RandomSearch(samples=target.whole_sample(), **ex.gp_arguments(self, target))
    >>> X, y = make_friedman1(60, random_state=0)
    >>> model = RandomSearchRegressor(population_size=50, generations=3, random_state=0).fit(X, y)
    >>> model.population_size
    50
    """
    source = RandomPrograms(target.forest, p.constant_range, p.init_depth[1])
    rates = p.p_crossover, p.p_mutation, p.max_size, p.min_grow_depth, mutation_depth
    return {
        "engine": target.engine,
        "loss": loss_of(p, target),
        "source": source,
        "vary": SubtreeVariation(source, *rates) if p.variation is None else OwnVariation(p.variation, int(p.max_size)),
        "population_size": int(p.population_size),
        "heights": (int(p.init_depth[0]), int(p.init_depth[1])),
        "min_height": int(p.min_grow_depth),
        "seed": target.seed,
    }
