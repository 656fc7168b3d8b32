"""A fitted model written down as what is computed for one row: the common ground of all exports.

    steps    = a shared graph of scalar operations: features, constants, primitives, clips
    block    = members, each a weighted sum of steps, and how they are combined to one number
    target   = base + sum of weight * (block - base)
    plan     = targets, and what they mean: a number, or probabilities of classes

Operations are in the order of `predict`, so that a target language with IEEE doubles gives the same up to the rounding
of its logarithm, exponential and sums.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from symgrove.forest.forest import Forest
from symgrove.models.conformal import Scores
from symgrove.models.ensemble import Ensemble
from symgrove.models.probabilities import Correction
from symgrove.models.standardization import Standardization
from symgrove.models.teams import LARGEST_LOG_ODDS, Stack, Teams

Matrix = NDArray[np.float64]


class Step(NamedTuple):
    """One scalar operation.

    `name` is "input" (numbers: the feature's index), "constant" (its value), a built-in primitive (epsilon of `div` and
    `log`), "quotient" (plain division), "within" (lowest, highest) or "finite" (what stands in for a result that is not
    finite); `args` are earlier steps.
    """

    name: str
    args: tuple[int, ...] = ()
    numbers: tuple[float, ...] = ()


class Row(NamedTuple):
    """A member: intercept + sum of coefficients times values."""

    indices: tuple[int, ...]
    coefficients: tuple[float, ...]
    intercept: float


@dataclass(frozen=True)
class Block:
    """Members and how they are combined.

    Attributes
    ----------
    values : tuple of int
        Steps that the rows refer to by position.
    rows : tuple of Row
    head : str
        What is done with a member's sum: "plain", "within" (`limits`), "vote" (1 above `threshold`, else 0),
        "share" (less `threshold` plus one half, within 0 and 1), "logistic" (of the sum within `limits`).
    combine : str
        "mean"; "median"; "pooled": sum of the rows over sum of their `counts`; "trimmed": the mean without the
        `n_outer` lowest and highest.
    samples : tuple of Row
        Of "pooled": the members themselves, whose spread is that of the prediction.
    fallback : float or None
        None: all members count. Else members that are not finite do not count (of "pooled": those whose value is not),
        and this is the result if none does or the result is not finite.
    """

    values: tuple[int, ...]
    rows: tuple[Row, ...]
    head: str
    combine: str
    fallback: float | None
    limits: tuple[float, float] = (0.0, 0.0)
    threshold: float = 0.5
    counts: tuple[float, ...] = ()
    samples: tuple[Row, ...] = ()
    n_outer: int = 0


class Target(NamedTuple):
    """base + sum of weight * (block - base), or the only block if `base` is None."""

    base: float | None
    weights: tuple[float, ...]
    blocks: tuple[Block, ...]


@dataclass(frozen=True)
class Plan:
    """What a fitted model computes for one row.

    Attributes
    ----------
    origin : str
        Name of the estimator.
    features : list of str
    classes : list or None
        None: regression. Two: the target is the probability of the second one, which is predicted if it is above one
        half. More: a target for each; divided by their sum they are probabilities; of equal ones the first counts.
    steps : list of Step
    targets : tuple of Target
    correction : Correction or None
        What is done with the probabilities at the end.
    intervals : Scores or None
        How wide intervals are, in languages that have them.
    """

    origin: str
    features: list[str]
    classes: list[Any] | None
    steps: list[Step]
    targets: tuple[Target, ...]
    correction: Correction | None = None
    intervals: Scores | None = None

    @property
    def blocks(self) -> list[Block]:
        """All blocks of all targets."""
        return [block for target in self.targets for block in target.blocks]

    def count_uses(self) -> list[int]:
        """How often each step is an operand or a value of a block."""
        uses = [0] * len(self.steps)
        for step in self.steps:
            for arg in step.args:
                uses[arg] += 1
        for block in self.blocks:
            for value in block.values:
                uses[value] += 1
        return uses


@dataclass
class _Graph:
    """Steps under construction; equal steps are one."""

    steps: list[Step] = field(default_factory=list)
    index_of: dict[tuple[Any, ...], int] = field(default_factory=dict)

    def add(self, name: str, *args: int, numbers: tuple[float, ...] = ()) -> int:
        key = (name, args, tuple(float(n).hex() for n in numbers))  # -0.0 is not 0.0
        if key not in self.index_of:
            self.index_of[key] = len(self.steps)
            self.steps.append(Step(name, args, numbers))
        return self.index_of[key]

    def features(self, standardization: Standardization, limits: Any) -> list[int]:
        """Standardised features, within limits if there are any."""
        found = []
        for i, (mean, spread) in enumerate(zip(*(a.tolist() for a in standardization), strict=True)):
            step = self.add("input", numbers=(i,))
            if mean != 0:
                step = self.add("sub", step, self.add("constant", numbers=(mean,)))
            if spread != 1:
                step = self.add("quotient", step, self.add("constant", numbers=(spread,)))
            if limits is not None:
                step = self.add("within", step, numbers=(float(limits.low[i]), float(limits.high[i])))
            found.append(step)
        return found

    def programs(self, forest: Forest, roots: NDArray[np.int64], features: list[int]) -> list[int]:
        """Outputs of programs."""
        step_of: dict[int, int] = {}
        for node in forest.reachable(roots):
            name = forest.name(node)
            if name == "feature":
                step_of[node] = features[int(forest.columns.left[node])]
            elif name == "constant":
                step_of[node] = self.add("constant", numbers=(float(forest.columns.value[node]),))
            else:
                _check_builtin(forest, name)
                children = (step_of[child] for child in forest.children(node))
                epsilon = (forest.primitives.epsilon_of(name),) if name in ("div", "log") else ()
                step_of[node] = self.add(name, *children, numbers=epsilon)
        return [step_of[int(root)] for root in roots]


def _check_builtin(forest: Forest, name: str) -> None:
    if forest.primitives[name].function is not None:
        raise ValueError(
            f"this model uses the function {name!r} of yours, which exports cannot translate. Fit with built-in "
            "functions only, or save the model with `save`, and give the function again to `symgrove.load`."
        )


def make_plan(
    origin: str,
    ensembles: Sequence[Any],
    features: list[str],
    classes: Sequence[Any] | None,
    correction: Correction | None = None,
    intervals: Scores | None = None,
) -> Plan:
    """The plan of a fitted model: of one ensemble for each target, or of one stack of teams."""
    graph = _Graph()
    if isinstance(ensembles[0], Stack):
        targets = tuple(_stack_target(graph, ensembles[0], k) for k in range(len(ensembles[0].base)))
    else:
        targets = tuple(_ensemble_target(graph, e, classes) for e in ensembles)
    return Plan(origin, features, _plain(classes), graph.steps, targets, correction, intervals)


def _plain(classes: Sequence[Any] | None) -> list[Any] | None:
    """Classes as Python's own strings, numbers or booleans."""
    if classes is None:
        return None
    return [c.item() if isinstance(c, np.generic) else c for c in classes]


def _ensemble_target(graph: _Graph, ensemble: Ensemble, classes: Sequence[Any] | None) -> Target:
    features = graph.features(ensemble.standardization, None)
    values = tuple(graph.programs(ensemble.forest, ensemble.programs, features))
    if classes is None and ensemble.aggregation == "mean":
        n = ensemble.programs.size
        counts = np.bincount(ensemble.program_of, minlength=n).astype(np.float64)
        slope = np.bincount(ensemble.program_of, ensemble.slope, n)
        intercept = np.bincount(ensemble.program_of, ensemble.intercept, n)
        rows = tuple(Row((i,), (float(slope[i]),), float(intercept[i])) for i in range(n))
        own = tuple(counts.tolist())
        block = Block(values, rows, "plain", "pooled", ensemble.fallback, counts=own, samples=_samples(ensemble))
        return Target(None, (1.0,), (block,))
    rows = _samples(ensemble)
    head = "plain" if classes is None else "vote" if len(classes) == 2 else "share"
    combine = "median" if classes is None else "mean"
    block = Block(values, rows, head, combine, ensemble.fallback, threshold=ensemble.threshold)
    return Target(None, (1.0,), (block,))


def _samples(ensemble: Ensemble) -> tuple[Row, ...]:
    """The member of every sample."""
    members = zip(ensemble.program_of.tolist(), ensemble.slope.tolist(), ensemble.intercept.tolist(), strict=True)
    return tuple(Row((i,), (slope,), intercept) for i, slope, intercept in members)


def _stack_target(graph: _Graph, stack: Stack, k: int) -> Target:
    blocks = tuple(_team_block(graph, teams, k) for teams in stack.levels)
    return Target(float(stack.base[k]), tuple(stack.weights.tolist()), blocks)


def _team_block(graph: _Graph, teams: Teams, k: int) -> Block:
    own = teams.target_of == k
    coefficients = teams.coefficients[own]
    used = np.flatnonzero((coefficients != 0).any(axis=0))
    position = {int(term): p for p, term in enumerate(used)}
    features = graph.features(teams.standardization, teams.features)
    outputs = graph.programs(teams.forest, teams.programs[used], features)
    values = [_term(graph, teams, int(t), output) for t, output in zip(used, outputs, strict=True)]
    rows = []
    for row, intercept in zip(coefficients, teams.intercept[own].tolist(), strict=True):
        has = np.flatnonzero(row)
        rows.append(Row(tuple(position[int(t)] for t in has), tuple(row[has].tolist()), intercept))
    n_outer = len(rows) // 4 if teams.aggregation == "interquartile" else 0
    head, limits = "plain", (0.0, 0.0)
    if teams.is_logistic:
        head, limits = "logistic", (-LARGEST_LOG_ODDS, LARGEST_LOG_ODDS)
    elif teams.predictions is not None:
        head, limits = "within", (float(teams.predictions.low), float(teams.predictions.high))
    combine = "trimmed" if n_outer else "mean"
    return Block(tuple(values), tuple(rows), head, combine, None, limits=limits, n_outer=n_outer)


def _term(graph: _Graph, teams: Teams, term: int, output: int) -> int:
    """A program's output, centred and scaled, within what training rows showed; zero where it is not finite."""
    step = graph.add("sub", output, graph.add("constant", numbers=(float(teams.centre[term]),)))
    step = graph.add("quotient", step, graph.add("constant", numbers=(float(teams.spread[term]),)))
    if teams.terms is not None:
        step = graph.add("within", step, numbers=(float(teams.terms.low[term]), float(teams.terms.high[term])))
    return graph.add("finite", step, numbers=(0.0,))
