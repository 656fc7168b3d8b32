"""What a fit of Grove may still have to do: evolutions on folds, on all rows, coefficients; to tell the time left."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import NamedTuple

from symgrove.evolution.remaining import Cost, Prospect, Stage
from symgrove.methods.grove.configuration import Regime
from symgrove.methods.grove.folds import for_folds, n_folds
from symgrove.methods.grove.strength import BEFORE_CHOOSING, COEFFICIENTS, StrengthSearch

# How probable it is that an evolution ends when it is looked at, and that another than the main one gets weight.
ENDS_AT_LOOK, HAS_WEIGHT = 1 / 3, 1 / 2
PASSES = 7.0  # generations that coefficients on all rows take where an evolution has as many rows
FIRST_LOOK = 20  # of an evolution on many rows: the first that is compared with one before


class _End(NamedTuple):
    """Where an evolution that is looked at may end, how probable that is, and what was best then."""

    probability: float
    generation: int
    best: int


@dataclass
class GroveOutlook:
    """Of one fit; `has_choice` if the strength is chosen, `has_many` if rows are many."""

    search: StrengthSearch
    has_choice: bool
    has_many: bool
    is_bound: bool = False
    costs: Mapping[str, Cost] = field(init=False)

    def __post_init__(self) -> None:
        search = self.search
        main, folds, n_rows = search.regimes[0], search.settings.configuration.folds, search.training.n_rows
        costs = {}
        for regime in search.regimes:
            full = regime.rules.max_terms / regime.rules.n_joining
            cheaper, times = for_folds(regime, folds), n_folds(n_rows, folds)
            costs[f"folds {regime.name}"] = Cost(times * _share(cheaper, main), full)
            costs[f"all rows {regime.name}"] = Cost(_share(regime, main), full, f"folds {regime.name}")
        costs["main"] = costs["all rows main"] = Cost(_share(main, main), costs["folds main"].full)
        n_seen = main.n_populations * min(search.settings.configuration.many.rows_of_a_turn, n_rows)
        costs[COEFFICIENTS] = Cost(_share(main, main) * PASSES * n_rows / n_seen)
        self.costs = costs

    def outcomes(self, at: Mapping[str, int]) -> Sequence[Prospect]:
        """What may be to come, from the generations that evolutions have reached, in the order of their begin."""
        if self.has_many:
            return [*self._with_many(at)]
        if not self.has_choice or self.search.weights is not None:
            return [Prospect(1.0, [*self._known(at)])]
        return [*self._with_choice(at)]

    def _known(self, at: Mapping[str, int]) -> Iterator[Stage]:
        """Evolutions on all rows, up to the last level of each that has weight."""
        search, first = self.search, at.get("main", 0)
        main = search.regimes[0]
        last = max(search.generations_of_main(), default=0) if self.has_choice else main.snapshots[-1]
        yield Stage("main", first, max(first, last))
        for regime in search.regimes:
            used = [level.generation for level in search.used if level.regime == regime]
            again = [g for g in used if regime != main or g < BEFORE_CHOOSING]  # others are kept as they pass
            name = f"all rows {regime.name}"
            yield Stage(name, at.get(name, 0), max(again, default=0))

    def _with_choice(self, at: Mapping[str, int]) -> Iterator[Prospect]:
        """The strength is not chosen yet: how far evolutions on folds go, and what has weight then."""
        main, *others = self.search.regimes
        begun = [regime.name for regime in self.search.regimes if f"folds {regime.name}" in at]
        is_over = {name: name != begun[-1] for name in begun}
        each = [self._ends(own, at.get(f"folds {own.name}", 0), is_over.get(own.name)) for own in (main, *others)]
        for first, *rest in product(*each):
            folds = [
                Stage(f"folds {own.name}", at.get(f"folds {own.name}", 0), end.generation)
                for own, end in zip((main, *others), (first, *rest), strict=True)
            ]
            own = Stage("main", at.get("main", 0), max(first.best, at.get("main", 0)))
            probability = first.probability
            for end in rest:
                probability *= end.probability
            for weighs in product((True, False), repeat=len(rest)):
                grown = [
                    Stage(f"all rows {regime.name}", 0, end.best if has_weight else 0)
                    for regime, end, has_weight in zip(others, rest, weighs, strict=True)
                ]
                share = HAS_WEIGHT ** sum(weighs) * (1 - HAS_WEIGHT) ** (len(weighs) - sum(weighs))
                yield Prospect(probability * share, [*folds, own, *grown])

    def _ends(self, regime: Regime, generation: int, is_over: bool | None) -> list[_End]:
        looks = regime.snapshots
        if is_over:
            return [_End(1.0, generation, max((g for g in looks if g < generation), default=looks[-1]))]
        if self.search.settings.configuration.folds.ends_at == math.inf:
            return [_End(1.0, looks[-1], looks[-1])]
        return [*_ends_of(looks, generation, looks[1] if len(looks) > 1 else looks[0])]

    def _with_many(self, at: Mapping[str, int]) -> Iterator[Prospect]:
        """Rows are many: how far the main evolution goes; others and coefficients follow whatever it has found."""
        main, *others = self.search.regimes
        after = [Stage(f"all rows {own.name}", at.get(f"all rows {own.name}", 0), own.snapshots[-1]) for own in others]
        after.append(Stage(COEFFICIENTS, 0, 1))
        if len(at) > 1:  # something has begun after it
            yield Prospect(1.0, after)
            return
        first = at.get("main", 0)
        ends = _ends_of(main.snapshots, first, FIRST_LOOK) if self.has_choice else [_End(1.0, main.snapshots[-1], 0)]
        for end in ends:
            yield Prospect(end.probability, [Stage("main", first, end.generation), *after])


def _ends_of(looks: Sequence[int], generation: int, first: int) -> Iterator[_End]:
    """Ends at looks from the first that may end an evolution on, if it has come to this generation."""
    left = 1.0
    for before, look in zip((looks[0], *looks), looks, strict=False):
        if look == looks[-1]:
            yield _End(left, look, look)
        elif look >= max(first, generation):
            yield _End(ENDS_AT_LOOK * left, look, before)
            left *= 1 - ENDS_AT_LOOK


def _share(regime: Regime, main: Regime) -> float:
    """What a generation costs: by its candidates, and by the terms of its teams, alike in the default."""
    n_candidates = regime.n_populations * regime.rules.population_size
    return n_candidates / 5000 + regime.n_teams / 50 * regime.rules.max_terms / main.rules.max_terms
