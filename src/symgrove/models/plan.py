"""A fitted model written down as what is computed for one row: the common ground of all exports.

    steps    = a shared graph of scalar operations: features, constants, primitives, clips
    block    = members, each a weighted sum of steps, and how they are combined to one number
    target   = base + sum of weight * (block - base), its transform undone
    plan     = targets, and what they mean: a number, or probabilities of classes

Operations are in the order of `predict`, so that a target language with IEEE doubles gives the same up to the rounding
of its logarithm, exponential and sums.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from symgrove.forest.forest import Forest
from symgrove.forest.primitive_table import BUILTIN, Primitive
from symgrove.models.columns import TableColumns, plain_columns
from symgrove.models.conformal import ConformalScores
from symgrove.models.probabilities import Correction
from symgrove.models.standardization import Standardization
from symgrove.models.target_transform import TargetTransform

Matrix = NDArray[np.float64]


class Step(NamedTuple):
    """One scalar operation.

    `name` is "input" (numbers: the feature's index), "constant" (its value), a primitive (its epsilon, if it has one),
    "quotient" (plain division), "within" (lowest, highest) or "finite" (what stands in for a result that is not
    finite); `args` are earlier steps. Brackets follow the name of a user's function: "within()" is not "within".
    """

    name: str
    args: tuple[int, ...] = ()
    numbers: tuple[float, ...] = ()
    primitive: Primitive | None = None


class Row(NamedTuple):
    """A member: intercept + sum of coefficients times values."""

    indices: tuple[int, ...]
    coefficients: tuple[float, ...]
    intercept: float


@dataclass(frozen=True)
class MemberBlock:
    """Members and how they are combined.

    Attributes
    ----------
    values : tuple of int
        Steps that the rows refer to by position.
    rows : tuple of Row
    head : str
        What is done with a member's sum: "plain", "within" (`limits`), "vote" (1 above `threshold`, else 0),
        "share" (less `threshold` plus one half, within 0 and 1), "logistic" or "exponential" (of the sum
        within `limits`).
    combine : str
        "mean"; "median"; "pooled": sum of the rows over sum of their `counts`; "trimmed": the mean without the
        `n_outer` lowest and highest.
    samples : tuple of Row
        Of "pooled": the members themselves, whose spread is that of the prediction.
    fallback : float or None
        None: all members count. Else members that are not finite do not count (of "pooled": those whose value is not;
        of "trimmed": they count as this number), and this is the result if none does or the result is not finite.
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


class PlanTarget(NamedTuple):
    """base + sum of weight * (block - base), or the only block if `base` is None; then `inverse` undoes a transform."""

    base: float | None
    weights: tuple[float, ...]
    blocks: tuple[MemberBlock, ...]
    inverse: TargetTransform | None = None


@dataclass(frozen=True)
class Plan:
    """What a fitted model computes for one row.

    Attributes
    ----------
    origin : str
        Name of the estimator.
    features : list of str
        What steps of the name "input" read.
    classes : list or None
        None: regression. Two: the target is the probability of the second one, which is predicted if it is above one
        half. More: a target for each; divided by their sum they are probabilities; of equal ones the first counts.
    steps : list of Step
    targets : tuple of PlanTarget
    correction : Correction or None
        What is done with the probabilities at the end.
    intervals : ConformalScores or None
        How wide intervals are, in languages that have them.
    names : dict
        Of steps that equations show under a name: "dimension" and its number, or "distance" and the place of a class.
    given : TableColumns or None
        How features are made of the columns that a user gives; None: they are the columns, never missing.
    target_names : list of str
        Names of the targets if they are several numbers; else empty.
    """

    origin: str
    features: list[str]
    classes: list[Any] | None
    steps: list[Step]
    targets: tuple[PlanTarget, ...]
    correction: Correction | None = None
    intervals: ConformalScores | None = None
    names: dict[int, tuple[str, int]] = field(default_factory=dict)
    given: TableColumns | None = None
    target_names: list[str] = field(default_factory=list)

    @property
    def columns(self) -> TableColumns:
        """How features are made of columns."""
        return plain_columns(self.features) if self.given is None else self.given

    @property
    def blocks(self) -> list[MemberBlock]:
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
class Graph:
    """Steps under construction; equal steps are one."""

    steps: list[Step] = field(default_factory=list)
    index_of: dict[tuple[Any, ...], int] = field(default_factory=dict)
    names: dict[int, tuple[str, int]] = field(default_factory=dict)

    def add(self, name: str, *args: int, numbers: tuple[float, ...] = (), primitive: Primitive | None = None) -> int:
        """The place of a step, which is made if it is new."""
        key = (name, args, tuple(float(n).hex() for n in numbers))  # -0.0 is not 0.0
        if key not in self.index_of:
            self.index_of[key] = len(self.steps)
            self.steps.append(Step(name, args, numbers, primitive))
        return self.index_of[key]

    def features(self, standardization: Standardization, limits: Any) -> list[int]:
        """Standardised features, within limits if there are any."""
        found = []
        for i, (mean, spread) in enumerate(zip(*(a.tolist() for a in standardization), strict=True)):
            step = self.add("input", numbers=(i,))
            if mean != 0:
                step = self.subtract(step, mean)
            if spread != 1:
                step = self.add("quotient", step, self.add("constant", numbers=(spread,)))
            if limits is not None:
                step = self.add("within", step, numbers=(float(limits.low[i]), float(limits.high[i])))
            found.append(step)
        return found

    def subtract(self, step: int, value: float) -> int:
        """A step less a number."""
        return self.add("sub", step, self.add("constant", numbers=(value,)), primitive=BUILTIN["sub"])

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
                row = forest.primitives[name]
                children = [step_of[child] for child in forest.children(node)]
                epsilon = (forest.primitives.epsilon_of(name),) if row.has_epsilon else ()
                shown = name if row.function is None else f"{name}()"
                step_of[node] = self.add(shown, *children, numbers=epsilon, primitive=row)
        return [step_of[int(root)] for root in roots]


def plain_labels(classes: Iterable[Any] | None) -> list[Any] | None:
    """Classes as Python's own strings, numbers or booleans."""
    if classes is None:
        return None
    return [c.item() if isinstance(c, np.generic) else c for c in classes]
