"""Evolutions on folds: what they say of the rows that they never saw."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from symgrove.methods.grove.configuration import Folds, Regime
from symgrove.methods.grove.pooling import (
    FEW_PENALTIES,
    SHARE_OF_POOL,
    PoolLevel,
    bytes_of_sums,
    population_level,
    sums_of_each,
)
from symgrove.methods.grove.settling import RowPass, units_of
from symgrove.methods.grove.setup import (
    TeamSettings,
    make_fold_evolutions,
    range_of_predictions,
    to_teams,
)
from symgrove.methods.grove.turns import Populations
from symgrove.methods.problem import Rows
from symgrove.methods.side_by_side import States
from symgrove.models.joint_sums import members_of
from symgrove.models.teams import Range, Teams
from symgrove.rng import stream

Matrix = NDArray[np.float64]
Positions = NDArray[np.intp]


class HeldOut(NamedTuple):
    """What is predicted for rows that were held out, (n_targets, n_rows), and the spread of the teams."""

    prediction: Matrix
    spread: Matrix


class FoldRows:
    """Training rows, and which of them each fold holds out.

    Parameters
    ----------
    training : Rows
    held_out : sequence of (n_held_out,)
        Positions of the rows; no two folds hold out the same.
    """

    def __init__(self, training: Rows, held_out: Sequence[Positions]) -> None:
        self.training = training
        self.held_out = held_out
        rests = [np.setdiff1d(np.arange(len(training.X)), own) for own in held_out]
        # With one fold nobody needs the rows that it holds out.
        self.rows = training if len(rests) > 1 else training.take(rests[0])
        self.rests = rests if len(rests) > 1 else [np.arange(rests[0].size)]

    def evolutions(self, settings: TeamSettings, regime: Regime, seed: int) -> Populations:
        """Of all folds, side by side."""
        return make_fold_evolutions(settings, regime, self.rows, self.rests, seed)

    def ensembles(self, settings: TeamSettings, method: Populations, states: States) -> Iterator[tuple[Rows, Teams]]:
        """The rows that each fold leaves, and the teams that evolved on them."""
        teams = to_teams(settings, method, states, self.rows)
        for part in method.parts:
            part.engine.forget()  # room for predictions; terms are soon evaluated again
        n_targets = int(teams.target_of.max()) + 1
        n_of_fold = teams.n_teams // (n_targets * len(self.rests))
        fold_of = np.tile(np.repeat(np.arange(len(self.rests)), n_of_fold), n_targets)
        for f, rest in enumerate(self.rests):
            rows = self.rows.take(rest) if len(self.rests) > 1 else self.rows
            own = _some(teams, fold_of == f)
            yield rows, own if len(self.rests) == 1 else _within(own, rows, settings)


def _some(teams: Teams, chosen: NDArray[np.bool_]) -> Teams:
    """Some of the teams, and the terms that they have."""
    used = (teams.coefficients[chosen] != 0).any(axis=0)
    terms = teams.terms and Range(teams.terms.low[used], teams.terms.high[used])
    return replace(
        teams,
        programs=teams.programs[used],
        centre=teams.centre[used],
        spread=teams.spread[used],
        coefficients=teams.coefficients[chosen][:, used],
        intercept=teams.intercept[chosen],
        target_of=teams.target_of[chosen],
        errors=teams.errors[chosen],
        terms=terms,
    )


def _within(teams: Teams, rows: Rows, settings: TeamSettings) -> Teams:
    """The same, kept within what these rows show."""
    if not settings.clip:
        return teams
    free = replace(teams, terms=None, features=Range(*rows.feature_range(teams.standardization)))
    low, high = np.full(teams.programs.size, np.inf), np.full(teams.programs.size, -np.inf)
    for _, values in free.term_values(rows.X, settings.n_threads):
        low, high = np.minimum(low, values.min(axis=1)), np.maximum(high, values.max(axis=1))
    return replace(free, terms=Range(low, high), predictions=range_of_predictions(settings, rows))


def predict_teams(settings: TeamSettings, folds: FoldRows, each: Sequence[tuple[Rows, Teams]]) -> HeldOut:
    """Predictions of the teams of each fold for the rows that it holds out."""
    return _put_together(settings, folds, [[teams] for _, teams in each])[0]


def predict_populations(
    settings: TeamSettings, folds: FoldRows, each: Sequence[tuple[Rows, Teams]], n_populations: int, n_of_fit: int
) -> tuple[HeldOut, float]:
    """Predictions of regressions over the terms of each population, with the penalty that suits them best.

    Their spread is what it would be of so many as the fit has.
    """
    fitted: list[list[Teams]] = []
    for rows, teams in each:
        level = population_level(teams, n_populations, FEW_PENALTIES)
        sums = sums_of_each(teams, level.uses, rows, units_of(rows, settings.loss), RowPass(settings.n_threads))
        fitted.append([level.fit_each(teams, sums, penalty) for penalty in level.penalties])
    found = _put_together(settings, folds, fitted)
    best = min(range(len(found)), key=lambda i: _squares(found[i].prediction, folds.training))
    wider = _spread_of(n_of_fit) / _spread_of(n_populations) if n_populations > 1 else 1.0
    return found[best]._replace(spread=wider * found[best].spread), FEW_PENALTIES[best]


def _spread_of(n: int) -> float:
    """The expected standard deviation (divided by n) of so many normal values, in units of that of the distribution."""
    return float(np.sqrt(2 / n) * np.exp(gammaln(n / 2) - gammaln((n - 1) / 2)))


def has_room_for_populations(settings: TeamSettings, regime: Regime, rows: Rows) -> bool:
    """Whether the memory budget leaves room for products of all terms of a population; as many as the fit may have."""
    n_populations = min(regime.n_populations, regime.n_teams)
    n_terms = -(-regime.n_teams_of_fit // n_populations) * settings.configuration.most_terms(
        regime.rules.max_terms, len(rows.X)
    )
    n_regressions = n_populations * len(rows.targets)
    return n_regressions * bytes_of_sums(n_terms) < SHARE_OF_POOL * settings.memory_budget


def fit_populations(settings: TeamSettings, teams: Teams, rows: Rows, n_populations: int, penalty: float) -> Teams:
    """Regressions over the terms of each population, on all rows."""
    level: PoolLevel = population_level(teams, n_populations)
    sums = sums_of_each(teams, level.uses, rows, units_of(rows, settings.loss), RowPass(settings.n_threads))
    return level.fit_each(teams, sums, penalty)


def _put_together(settings: TeamSettings, folds: FoldRows, each: Sequence[Sequence[Teams]]) -> list[HeldOut]:
    """What several ensembles of each fold, which have the same terms, predict for the rows that it holds out."""
    X, n_targets = folds.training.X, len(folds.training.targets)
    found = [HeldOut(np.full((n_targets, len(X)), np.nan), np.full(len(X), np.nan)) for _ in each[0]]
    for own, ensembles in zip(folds.held_out, each, strict=True):
        for rows, said in members_of(ensembles, X[own], settings.n_threads):
            for teams, members, (prediction, spread) in zip(ensembles, said, found, strict=True):
                prediction[:, own[rows]] = teams.combine(members)
                spread[own[rows]] = members[teams.target_of == 0].std(axis=0)
    return found


def _squares(prediction: Matrix, training: Rows) -> float:
    """Mean squared error of the targets, each in units of its spread, on rows that were held out."""
    weight = np.ones(prediction.shape[1]) if training.weight is None else training.weight
    known = ~np.isnan(prediction).any(axis=0)
    spread = np.maximum(training.targets.std(axis=1, keepdims=True), 1e-300)
    distance = ((prediction - training.targets) / spread)[:, known]
    return float(np.average(distance**2, axis=1, weights=weight[known]).mean())


def rows_of_folds(training: Rows, seed: int, folds: Folds, *, is_logistic: bool) -> FoldRows:
    """Five folds, or one fifth of the rows; of labels, each gets its share."""
    order = stream(seed, "folds").permutation(len(training.X))
    if is_logistic:
        labels = np.argmax(training.targets, axis=0) if len(training.targets) > 1 else training.targets[0]
        order = order[np.argsort(labels[order], kind="stable")]
    return FoldRows(training, [np.sort(order[f :: folds.n_folds]) for f in range(n_folds(order.size, folds))])


def n_folds(n_rows: int, folds: Folds) -> int:
    """How often rows are held out of whole evolutions."""
    return folds.n_folds if n_rows <= folds.most_rows else 1


def for_folds(regime: Regime, folds: Folds) -> Regime:
    """Cheaper evolutions of the same strength, for rows held out: fewer populations, teams and candidates."""
    rules = regime.rules
    share = min(1.0, folds.population_size / rules.population_size)
    window = rules.window if rules.window <= folds.small_window else max(1, round(share * rules.window))
    fewer = replace(rules, population_size=min(rules.population_size, folds.population_size), window=window)
    return replace(
        regime,
        n_populations=min(regime.n_populations, folds.n_populations),
        n_teams=min(regime.n_teams, folds.n_teams),
        rules=fewer,
    )
