"""What an ensemble of programs computes for one row, for exports."""

from __future__ import annotations

from symgrove.fitness.losses import THRESHOLD
from symgrove.forest.primitive_table import BUILTIN
from symgrove.models.ensemble import Ensemble, shares_of
from symgrove.models.plan import Graph, MemberBlock, PlanTarget, Row
from symgrove.models.task import Task


def ensemble_target(graph: Graph, ensemble: Ensemble, task: Task) -> PlanTarget:
    """The target that an ensemble predicts."""
    classes = task.classes
    features = graph.features(ensemble.standardization, None)
    values = tuple(graph.programs(ensemble.forest, ensemble.programs, features))
    if classes is None and ensemble.is_mean:
        slope, intercept, weight = ensemble.pooled()
        rows = tuple(Row((i,), (float(slope[i]),), float(intercept[i])) for i in range(ensemble.programs.size))
        own = tuple(weight.tolist())
        block = MemberBlock(values, rows, "plain", "pooled", ensemble.fallback, counts=own, samples=_samples(ensemble))
        return PlanTarget(None, (1.0,), (block,))
    rows = _samples(ensemble)
    if classes is not None and ensemble.weights is not None:
        said = tuple(_said(graph, values[row.indices[0]], row, ensemble, is_vote=len(classes) == 2) for row in rows)
        row = Row(tuple(range(len(said))), tuple(shares_of(ensemble.weights).tolist()), 0.0)
        return PlanTarget(None, (1.0,), (MemberBlock(said, (row,), "plain", "mean", None),))
    head = "plain" if classes is None else "vote" if len(classes) == 2 else "share"
    combine, n_outer = "mean", 0
    if classes is None:
        combine = {"median": "median", "interquartile": "trimmed"}[ensemble.aggregation]
        n_outer = len(rows) // 4 if combine == "trimmed" else 0
    threshold = ensemble.threshold
    block = MemberBlock(values, rows, head, combine, ensemble.fallback, threshold=threshold, n_outer=n_outer)
    return PlanTarget(None, (1.0,), (block,))


def _said(graph: Graph, value: int, row: Row, ensemble: Ensemble, *, is_vote: bool) -> int:
    """A member's vote, or its clipped output; the fallback where its output is not finite."""

    def apply(name: str, *operands: int) -> int:
        return graph.add(name, *operands, primitive=BUILTIN[name])

    def constant(number: float) -> int:
        return graph.add("constant", numbers=(number,))

    scaled, (slope,), threshold = value, row.coefficients, ensemble.threshold
    if slope != 1:
        scaled = apply("mul", constant(slope), scaled)
    if row.intercept != 0:
        scaled = apply("add", constant(row.intercept), scaled)
    if is_vote:
        said = apply("step", scaled, constant(threshold))
    else:
        shifted = scaled if threshold == THRESHOLD else graph.subtract(scaled, threshold - THRESHOLD)
        said = graph.add("within", shifted, numbers=(0.0, 1.0))
    nothing = apply("sub", scaled, scaled)  # 0, or NaN if it is not finite
    return graph.add("finite", apply("add", said, nothing), numbers=(ensemble.fallback,))


def _samples(ensemble: Ensemble) -> tuple[Row, ...]:
    """The member of every sample."""
    members = zip(ensemble.program_of.tolist(), ensemble.slope.tolist(), ensemble.intercept.tolist(), strict=True)
    return tuple(Row((i,), (slope,), intercept) for i, slope, intercept in members)
