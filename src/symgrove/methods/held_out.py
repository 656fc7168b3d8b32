"""How an ensemble does on rows held out of the whole evolution, for early stopping."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from symgrove.dataset import Dataset, features_by_column
from symgrove.engines.base import Engine
from symgrove.engines.registry import make_engine
from symgrove.methods.gp import ProgramMethod
from symgrove.methods.problem import Problem
from symgrove.methods.side_by_side import SideBySide, States
from symgrove.models.ensemble import COMBINE, mean_said, stand_in
from symgrove.models.row_blocks import row_blocks, rows_at_a_time


class HeldOutError:
    """Error of the ensembles on rows that no part of the evolution sees, combined as in predictions."""

    def __init__(self, problem: Problem, aggregation: str, method: SideBySide[ProgramMethod], engine: str) -> None:
        assert problem.held_out is not None
        rows = self.rows = problem.held_out
        self.task = problem.task
        self.aggregation = aggregation
        self.fallbacks = [problem.training.mean_of_target(k) for k in range(problem.training.n_targets)]
        self.n_targets = [len(part.of_targets()) for part in method.parts]
        self.parts: Sequence[ProgramMethod] = [own for part in method.parts for own in part.of_targets()]
        columns = features_by_column(rows.X, self.parts[0].engine.dtype, method.standardization.apply)
        self.engines = [
            make_engine(Dataset(columns, np.ascontiguousarray(target)), part.engine.primitives, name=engine)
            for target, part in zip(rows.targets, self.parts, strict=True)
        ]
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        for engine in self.engines:
            self._stack.enter_context(engine)
        return self

    def __exit__(self, *exception: object) -> None:
        self._stack.close()

    def __call__(self, state: States) -> float:
        states = [own for own, n in zip(state, self.n_targets, strict=True) for _ in range(n)]
        predictions = np.stack(
            [self._predict(*each) for each in zip(self.engines, self.parts, states, self.fallbacks, strict=True)]
        )
        with np.errstate(over="ignore"):
            if self.task.classes is None:
                losses = self._losses(predictions)
            else:
                losses = self.task.row_losses(predictions, self.rows.targets)
        error = float(np.average(losses, weights=self.rows.weight))
        return error if np.isfinite(error) else np.inf

    def _losses(self, predictions: NDArray[np.float64]) -> NDArray[np.float64]:
        """Of every row; of several targets, the mean of what is left of each one's loss without a model."""
        found = [
            part.loss.of_rows(*each) for part, *each in zip(self.parts, self.rows.targets, predictions, strict=True)
        ]
        if len(found) == 1:
            return found[0]
        before = [
            float(np.average(part.loss.of_rows(y, np.full(y.size, mean)), weights=self.rows.weight)) or 1.0
            for part, y, mean in zip(self.parts, self.rows.targets, self.fallbacks, strict=True)
        ]
        return np.mean([own / unit for own, unit in zip(found, before, strict=True)], axis=0)

    def _predict(self, engine: Engine, part: ProgramMethod, state: Any, fallback: float) -> NDArray[np.float64]:
        members = part.members(state)
        roots, member = np.unique(members.root, return_inverse=True)
        weights = part.weights(self.aggregation, members)
        head = self.task.head(part.loss.threshold)
        found = np.empty(engine.n_rows)
        for rows in row_blocks(engine.n_rows, rows_at_a_time(member.size)):
            outputs = engine.outputs(state.forest, roots, rows)[member.ravel()].astype(np.float64, copy=False)
            with np.errstate(all="ignore"):
                scaled = members.intercept[:, None] + members.slope[:, None] * outputs
            if head is not None:
                found[rows] = mean_said(head(scaled), fallback, weights)
                continue
            said = stand_in(self.aggregation, scaled, fallback)
            found[rows] = COMBINE[self.aggregation](said, 0.0, weights)
        return found
