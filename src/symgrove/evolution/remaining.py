"""How long a fit still takes: generations that may be to come, each as long as those before it took.

Evolutions end when they gain no more, which nobody knows before. So there are several outcomes, each with its
probability. What is expected is their geometric mean, which is wrong by the smallest factor.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

N_RECENT = 25  # generations that tell how long the next will take
SURELY = 2.0  # what is known within this factor is one number


class Cost(NamedTuple):
    """What generations of an evolution cost.

    Attributes
    ----------
    share : float
        Compared with other evolutions; counts until one has been measured.
    full : float
        The generation from which on they cost twice what the first did, because programs have grown.
    like : str
        The evolution to infer from, while this one has not been measured.
    """

    share: float = 1.0
    full: float = math.inf
    like: str = "main"

    def of(self, generation: int) -> float:
        """What a generation costs, compared with the first."""
        return 1.0 + min(1.0, generation / self.full)


class Stage(NamedTuple):
    """Generations that may be to come, of the evolution of this name: those after `first`, up to `last`."""

    name: str
    first: int
    last: int


class Prospect(NamedTuple):
    """What may be to come, and how probable that is."""

    probability: float
    stages: Sequence[Stage]


class Outlook(Protocol):
    """What a fit still has to do."""

    @property
    def costs(self) -> Mapping[str, Cost]:
        """Of every evolution by its name; "main" is the one that is always there."""
        ...

    @property
    def is_bound(self) -> bool:
        """Whether something may end the fit before, which the outcomes do not know of."""
        ...

    def outcomes(self, at: Mapping[str, int]) -> Sequence[Prospect]:
        """What may be to come, from the generations that evolutions have reached, in the order of their begin."""
        ...


@dataclass(frozen=True)
class OneEvolution:
    """Of one evolution with a last generation."""

    generations: int
    is_bound: bool = False

    @property
    def costs(self) -> Mapping[str, Cost]:
        return {"main": Cost()}  # of some methods later generations cost more, of others less

    def outcomes(self, at: Mapping[str, int]) -> Sequence[Prospect]:
        return [Prospect(1.0, [Stage("main", at.get("main", 0), self.generations)])]


class Left(NamedTuple):
    """Seconds that are left: expected, if evolutions end as soon as they may, and if they go on as long as they may."""

    expected: float
    least: float
    most: float

    def within(self, seconds: float) -> Left:
        """The same if everything ends after so many seconds."""
        return Left(*(min(own, max(seconds, 0.0)) for own in self))


@dataclass
class Pace:
    """How long generations have taken."""

    costs: Mapping[str, Cost]
    _recent: dict[str, deque[float]] = field(default_factory=dict)

    def note(self, name: str, generation: int, seconds: float) -> None:
        """A generation has taken so long."""
        cost = self.costs[name]
        recent = self._recent.setdefault(name, deque(maxlen=N_RECENT))
        recent.append(seconds / (cost.share * cost.of(generation)))

    def left(self, outcomes: Iterable[Prospect]) -> Left | None:
        """What is left; None before anything has been measured."""
        if not self._recent:
            return None
        each = [(own.probability, sum(self._seconds(stage) for stage in own.stages)) for own in outcomes]
        expected = math.exp(sum(p * math.log(max(seconds, 1e-3)) for p, seconds in each))
        return Left(expected, min(seconds for _, seconds in each), max(seconds for _, seconds in each))

    def _seconds(self, stage: Stage) -> float:
        cost = self.costs[stage.name]
        work = cost.share * sum(cost.of(generation) for generation in range(stage.first + 1, stage.last + 1))
        return work * self._pace(stage.name)

    def _pace(self, name: str) -> float:
        """Seconds for a unit of work; the slowest generation is left out, because it may have waited for another."""
        for own in (name, self.costs[name].like, *self._recent):
            if own in self._recent:
                recent = sorted(self._recent[own])
                kept = recent[:-1] if len(recent) > 2 else recent
                return sum(kept) / len(kept)
        return 0.0


def in_words(left: Left, *, is_bound: bool = False) -> str:
    """How long, for people: about, or from when to when if nobody knows; or a bound."""
    if is_bound:
        return f"at most {_duration(left.most)} left"
    if left.most < SURELY * left.least + 1:
        return f"about {_duration(left.expected)} left"
    least, most = _duration(left.least), _duration(left.most)
    return f"{least.removesuffix(' s') if most.endswith(' s') else least} to {most} left"


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
