"""What an ensemble of programs computes for one row, for exports."""

from __future__ import annotations

import numpy as np

from symgrove.models.ensemble import Ensemble, shares_of
from symgrove.models.plan import Graph, MemberBlock, PlanTarget, Row
from symgrove.models.task import Task


def ensemble_target(graph: Graph, ensemble: Ensemble, task: Task) -> PlanTarget:
    """The target that an ensemble predicts."""
    classes = task.classes
    features = graph.features(ensemble.standardization, None)
    values = tuple(graph.programs(ensemble.forest, ensemble.programs, features))
    named = np.array([each.node for each in ensemble.named], dtype=np.int64)
    steps = graph.programs(ensemble.forest, named, features)
    graph.names |= {step: (each.kind, each.place) for step, each in zip(steps, ensemble.named, strict=True)}
    if classes is None and ensemble.is_mean:
        slope, intercept, weight = ensemble.pooled()
        rows = tuple(Row((i,), (float(slope[i]),), float(intercept[i])) for i in range(ensemble.programs.size))
        own = tuple(weight.tolist())
        block = MemberBlock(values, rows, "plain", "pooled", ensemble.fallback, counts=own, samples=_samples(ensemble))
        return PlanTarget(None, (1.0,), (block,))
    rows = _samples(ensemble)
    if classes is not None and ensemble.weights is not None:
        rules = "vote" if len(classes) == 2 else "share", "mean", ensemble.fallback
        blocks = tuple(
            MemberBlock((values[row.indices[0]],), (row._replace(indices=(0,)),), *rules, threshold=ensemble.threshold)
            for row in rows
        )
        return PlanTarget(0.0, tuple(shares_of(ensemble.weights).tolist()), blocks)
    head = "plain" if classes is None else "vote" if len(classes) == 2 else "share"
    combine, n_outer = "mean", 0
    if classes is None:
        combine = {"median": "median", "interquartile": "trimmed"}[ensemble.aggregation]
        n_outer = len(rows) // 4 if combine == "trimmed" else 0
    threshold = ensemble.threshold
    block = MemberBlock(values, rows, head, combine, ensemble.fallback, threshold=threshold, n_outer=n_outer)
    return PlanTarget(None, (1.0,), (block,))


def _samples(ensemble: Ensemble) -> tuple[Row, ...]:
    """The member of every sample."""
    members = zip(ensemble.program_of.tolist(), ensemble.slope.tolist(), ensemble.intercept.tolist(), strict=True)
    return tuple(Row((i,), (slope,), intercept) for i, slope, intercept in members)
