"""What a stack of teams computes for one row, for exports."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from symgrove.models.plan import Graph, MemberBlock, PlanTarget, Row
from symgrove.models.teams import LARGEST_LOG_ODDS, Teams


def stack_target(
    graph: Graph, levels: tuple[Teams, ...], weights: NDArray[np.float64], base: float, k: int
) -> PlanTarget:
    """The k-th target of a stack."""
    blocks = tuple(_team_block(graph, teams, k) for teams in levels)
    return PlanTarget(base, tuple(weights.tolist()), blocks)


def _team_block(graph: Graph, teams: Teams, k: int) -> MemberBlock:
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
    elif (found := teams.limits_of(k)) is not None:
        head, limits = "within", (found.low, found.high)
        head = "exponential" if teams.has_log_link else head
    combine = "trimmed" if n_outer else "mean"
    return MemberBlock(tuple(values), tuple(rows), head, combine, None, limits=limits, n_outer=n_outer)


def _term(graph: Graph, teams: Teams, term: int, output: int) -> int:
    """A program's output, centred and scaled, within what training rows showed; zero where it is not finite."""
    step = graph.subtract(output, float(teams.centre[term]))
    step = graph.add("quotient", step, graph.add("constant", numbers=(float(teams.spread[term]),)))
    if teams.terms is not None:
        step = graph.add("within", step, numbers=(float(teams.terms.low[term]), float(teams.terms.high[term])))
    return graph.add("finite", step, numbers=(0.0,))
