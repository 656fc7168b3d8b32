"""The way from the smallest model to the whole one: what was given, errors, points, and which is chosen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import singledispatch
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from symgrove.estimators.base import Estimator
from symgrove.estimators.fitted import feature_names_of, parameters_of
from symgrove.estimators.input import columns_of
from symgrove.fitness.named_losses import LOSSES, NamedLoss, make_loss
from symgrove.models.ensemble import COMBINE
from symgrove.models.front import FrontPoint
from symgrove.models.model import Model
from symgrove.models.program_model import ProgramModel

Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class Measure:
    """What errors are: root mean squares, or of a model with another loss by name its mean."""

    loss: NamedLoss | None

    def error(self, targets: Matrix, said: Matrix) -> float:
        """Of all targets together, (n_targets, n_rows)."""
        if self.loss is not None:
            return float(self.loss.of_rows(targets, said).mean())
        return float(np.sqrt(np.mean((said - targets) ** 2)))


def measure_of(estimator: Estimator, targets: Matrix) -> Measure:
    """Of the loss that the estimator was fitted with."""
    own = parameters_of(estimator)
    if own.get("loss") not in LOSSES[1:]:
        return Measure(None)
    return Measure(make_loss(own["loss"], own["quantile"], own["huber_delta"], targets[0], None))


class Given(NamedTuple):
    """What a path is made from: a coded table, its features, targets as models know them, and in their own units."""

    estimator: Estimator
    table: Matrix
    X: Matrix
    targets: Matrix  # (n_targets, n_rows)
    own_targets: Matrix
    measure: Measure
    seed: int


class ModelsOfSizes(NamedTuple):
    """Models of several sizes, the whole one last; `rows` and `n_rows` say on which rows `held_out_error` is."""

    points: list[FrontPoint]
    rows: str
    n_rows: int


def point_of(
    estimator: Estimator,
    make: Model | Callable[[], Model],
    n_parts: int,
    error: float,
    held_out: float,
    size: int | None = None,
) -> FrontPoint:
    """A candidate."""
    return FrontPoint(
        error=error,
        held_out_error=held_out,
        n_parts=n_parts,
        _model=make,
        _names=feature_names_of(estimator),
        _columns=columns_of(estimator),
        _size=size,
    )


def whole_point(estimator: Estimator, n_parts: int, error: float, held_out: float) -> FrontPoint:
    """The model that the others are made from."""
    size = sum(member.size for member in estimator.ensemble_)
    return point_of(estimator, estimator.model_, n_parts, error, held_out, size)


@singledispatch
def all_say(model: Model, X: Matrix) -> Matrix:
    """What a model says before it is corrected or divided by the sum over the classes, as the path is measured."""
    return model.predict(X)


@all_say.register
def _(model: ProgramModel, X: Matrix) -> Matrix:
    if model.task.classes is None:
        (ensemble,), (members,) = model.ensembles, model.said(X)
        return COMBINE[ensemble.aggregation](members, ensemble.fallback, ensemble.weights)[None]
    return np.stack([e.mean_said(members) for e, members in zip(model.ensembles, model.said(X), strict=True)])


def better_than_smaller(points: Sequence[FrontPoint]) -> list[FrontPoint]:
    """Points that are better than all that are not larger, from small to large."""
    kept: list[FrontPoint] = []
    for point in sorted(points, key=lambda point: (point.size, point.held_out_error)):
        if not kept or point.held_out_error < kept[-1].held_out_error:
            kept.append(point)
    return kept


def choose(path: Sequence[FrontPoint], at_most: float, max_size: int | None) -> int:
    """The place of the smallest with so low an error, or of the best up to a size if that is larger."""
    fits = [i for i, point in enumerate(path) if max_size is None or point.size <= max_size]
    if not fits:
        raise ValueError(
            f"the smallest choice has {path[0].size} nodes, more than max_size={max_size}; `distill` makes formulas of "
            "any size."
        )
    good = [i for i in fits if path[i].held_out_error <= at_most]
    return good[0] if good else fits[-1]
