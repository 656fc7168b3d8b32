"""What members say of rows elsewhere that their samples left out: sums of all, and some rows themselves."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import add
from typing import NamedTuple

import numpy as np

from symgrove.fitness.block_bootstrap import SpreadCounts
from symgrove.methods.problem import Matrix, Places, Rows
from symgrove.methods.spread_rows import Pieces, SpreadRows, put_together
from symgrove.models.block_scores import ScoreSums
from symgrove.models.model import LeftOut, RowLossOf
from symgrove.models.program_model import ProgramModel
from symgrove.rng import stream

MOST_ROWS = 10_000  # that come here: importances, formulas and intervals need no more


class RowsSaid(NamedTuple):
    """Some rows, with what `LeftOut` holds of them."""

    rows: Rows
    prediction: Matrix
    spread: Matrix


class LeftOutSums(NamedTuple):
    """Of some rows.

    Attributes
    ----------
    losses, weights : tuples of arrays (n_members,)
        For each target, of the rows that each member left out.
    score : ScoreSums
    some : tuple of RowsSaid
    """

    losses: tuple[Matrix, ...]
    weights: tuple[Matrix, ...]
    score: ScoreSums
    some: tuple[RowsSaid, ...]

    def __add__(self, other: LeftOutSums) -> LeftOutSums:  # type: ignore[override]
        losses, weights = (
            tuple(a + b for a, b in zip(own, more, strict=True)) for own, more in zip(self[:2], other[:2], strict=True)
        )
        return LeftOutSums(losses, weights, self.score + other.score, self.some + other.some)


class LeftOutElsewhere(NamedTuple):
    """The score on all rows, errors of members on all that they left out; and some rows, of which all is known."""

    score: float
    rows: Rows
    left_out: LeftOut


def some_places(rows: SpreadRows, seed: int) -> Places:
    """Rows that come here, by place."""
    return np.sort(stream(seed, "known rows").choice(rows.n_rows, size=min(MOST_ROWS, rows.n_rows), replace=False))


def left_out_elsewhere(
    rows: SpreadRows,
    model: ProgramModel,
    outside: Sequence[SpreadCounts],
    row_losses: Sequence[RowLossOf] | None,
    seed: int,
) -> LeftOutElsewhere:
    """One pass over all rows, each with the counts that its block draws again."""
    own = rows.places_of_blocks(some_places(rows, seed))
    found = rows.blocks.map(left_out_of_block, model, tuple(outside), row_losses, own)
    total: LeftOutSums = reduce(add, (sums for sums in found if sums is not None))
    errors = tuple(
        losses / np.where(weights > 0, weights, np.nan)
        for losses, weights in zip(total.losses, total.weights, strict=True)
    )
    prediction = np.concatenate([own.prediction for own in total.some], axis=1)
    spread = np.concatenate([own.spread for own in total.some])
    known = put_together([own.rows for own in total.some])
    return LeftOutElsewhere(total.score.score, known, LeftOut(prediction, spread, errors))


def left_out_of_block(
    pieces: Pieces,
    model: ProgramModel,
    outside: tuple[SpreadCounts, ...],
    row_losses: Sequence[RowLossOf] | None,
    places: Places,
) -> LeftOutSums | None:
    """Of one block; `places` are those of its rows that come here."""
    samples = [own.distinct() for own in outside]  # members may share one, and targets do
    drawn = {own: own.of_block(pieces.block.number) for own in {own for own, _ in samples}}
    total: LeftOutSums | None = None
    first = 0
    for rows in pieces:
        here = slice(first, first + len(rows.X))
        masks = {own: counts[:, here] == 0 for own, counts in drawn.items()}
        is_outside = [masks[own][place] for own, place in samples]
        found = model.out_of_bag_of(rows.X, rows.targets, is_outside, rows.weight, row_losses)
        prediction = np.stack([own.prediction for own in found])
        low, high = np.searchsorted(places, [here.start, here.stop])
        chosen = places[low:high] - first
        sums = LeftOutSums(
            tuple(own.losses for own in found),
            tuple(own.weights for own in found),
            ScoreSums.of(model.task, prediction, rows.targets, rows.weight),
            (RowsSaid(rows.take(chosen), prediction[:, chosen], found[0].spread[chosen]),),
        )
        total = sums if total is None else total + sums
        first = here.stop
    return total
