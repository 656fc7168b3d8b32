"""What goes into the evolution of an estimator, and what it leaves."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from symgrove.evolution.checkpoint import Arrays
from symgrove.methods.programs import Fitted
from symgrove.models.model import LeftOut


class Limits(NamedTuple):
    """Of one run."""

    generations: int
    max_time: float | None
    max_evaluations: int | None


@dataclass(frozen=True)
class Finished:
    """What an evolution leaves.

    Attributes
    ----------
    fitted : Fitted
    history : dict of arrays
    reason : str
        Why it ended.
    n_generations : int
    attributes : dict
        Fitted attributes of the method's own.
    left_out : LeftOut or None
        What is known of training rows by what did not train on them, if not from bootstrap samples.
    """

    fitted: Fitted
    history: Arrays
    reason: str
    n_generations: int
    attributes: dict[str, Any] = field(default_factory=dict)
    left_out: LeftOut | None = None
