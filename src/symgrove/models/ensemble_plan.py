"""What an ensemble of programs computes for one row, for exports."""

from __future__ import annotations

import numpy as np

from symgrove.models.ensemble import Ensemble
from symgrove.models.plan import Graph, MemberBlock, PlanTarget, Row
from symgrove.models.task import Task


def ensemble_target(graph: Graph, ensemble: Ensemble, task: Task) -> PlanTarget:
    """The target that an ensemble predicts."""
    classes = task.classes
    features = graph.features(ensemble.standardization, None)
    values = tuple(graph.programs(ensemble.forest, ensemble.programs, features))
    if classes is None and ensemble.aggregation == "mean":
        n = ensemble.programs.size
        counts = np.bincount(ensemble.program_of, minlength=n).astype(np.float64)
        slope = np.bincount(ensemble.program_of, ensemble.slope, n)
        intercept = np.bincount(ensemble.program_of, ensemble.intercept, n)
        rows = tuple(Row((i,), (float(slope[i]),), float(intercept[i])) for i in range(n))
        own = tuple(counts.tolist())
        block = MemberBlock(values, rows, "plain", "pooled", ensemble.fallback, counts=own, samples=_samples(ensemble))
        return PlanTarget(None, (1.0,), (block,))
    rows = _samples(ensemble)
    head = "plain" if classes is None else "vote" if len(classes) == 2 else "share"
    combine = "median" if classes is None else "mean"
    block = MemberBlock(values, rows, head, combine, ensemble.fallback, threshold=ensemble.threshold)
    return PlanTarget(None, (1.0,), (block,))


def _samples(ensemble: Ensemble) -> tuple[Row, ...]:
    """The member of every sample."""
    members = zip(ensemble.program_of.tolist(), ensemble.slope.tolist(), ensemble.intercept.tolist(), strict=True)
    return tuple(Row((i,), (slope,), intercept) for i, slope, intercept in members)
