"""Evolution of teams: the algorithm behind Grove, on one set of training rows.

    draw the bootstrap samples, once; each owns a team, at first only an intercept
    repeat:
        candidates = children of random terms of random teams; at first the features and random programs
        evaluate them once; drop those that are useless or equal to another
        for every team: look at a random window of candidates, let the best few join, let the least useful leave
    terms that are in no team die

A candidate is judged by what it adds to the team that a sample already has, not by how well it fits alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from symgrove.blas import product, single_blas_thread
from symgrove.fitness.terms import Terms, make_terms, random_direction
from symgrove.forest.forest import Ids
from symgrove.methods.base import ForestMethod, ForestState, check_array, check_ids, nodes_of
from symgrove.methods.grove.configuration import CandidateRules, TeamRules
from symgrove.rng import stream
from symgrove.selection.team import Team, add_terms, drop_terms, penalized_inverse
from symgrove.variation.mixture import MixedVariation

Matrix = NDArray[np.float64]
# Updates lose digits; after so many generations inverses are made anew.
GENERATIONS_BETWEEN_REFRESHES = 16
# Of the logistic loss: the least curvature, the largest log odds, the largest change of a coefficient in a step.
LEAST_CURVATURE = 1e-3
LARGEST_LOG_ODDS = 15.0
LARGEST_STEP = 3.0
STEP_SHARES = (1.0, 0.5, 0.25, 0.1)
N_NEWTON_STEPS = 5  # to fit a team from scratch


@dataclass(frozen=True, kw_only=True)
class TeamState(ForestState):
    """A run between two generations.

    `roots`, `coefficients` and `is_taken` are (n_teams, n_slots); slot 0 is the intercept. `inverse` is (n_teams,
    n_slots, n_slots), or empty with the logistic loss. `errors` are the teams' mean losses on their samples.
    """

    roots: Ids
    coefficients: Matrix
    is_taken: NDArray[np.bool_]
    inverse: Matrix
    errors: Matrix
    ids: ClassVar[tuple[str, ...]] = ("roots",)


@dataclass
class _Tables:
    """Outputs of the teams' terms and their predictions, for one state; made anew when they are of another."""

    of: TeamState | None = None
    values: Matrix = field(default_factory=lambda: np.zeros((0, 0, 0)))
    keys: Matrix = field(default_factory=lambda: np.zeros((0, 0)))  # of the terms; NaN where a slot is empty
    predictions: Matrix = field(default_factory=lambda: np.zeros((0, 0)))


@dataclass(frozen=True, kw_only=True)
class TeamEvolution(ForestMethod):
    """The method on one set of rows.

    Attributes
    ----------
    vary
        Makes programs.
    weights : (n_teams, n_rows)
        Bootstrap counts times sample weights.
    targets : (n_targets, n_rows)
        Standardised, or 0 and 1.
    target_of : (n_teams,)
        The target of each team.
    row_weight : (n_rows,)
        Sample weights; they sum to one.
    n_close : int
        Of a large window, so many candidates are judged in full: those closest to the residuals.
    candidates : CandidateRules
        How they are told apart.
    is_logistic : bool
        The loss; else squares.
    """

    vary: MixedVariation
    weights: Matrix
    targets: Matrix
    target_of: NDArray[np.intp]
    row_weight: Matrix
    rules: TeamRules
    candidates: CandidateRules
    n_close: int
    is_logistic: bool
    state_type: ClassVar[type[ForestState]] = TeamState
    _tables: _Tables = field(default_factory=_Tables, repr=False)

    @property
    def n_teams(self) -> int:
        """Teams of all targets."""
        return len(self.weights)

    @property
    def n_slots(self) -> int:
        """Places of a team: the intercept, its terms, and those that join before others leave."""
        return 1 + self.rules.max_terms + self.rules.n_joining

    # The method

    def init(self) -> TeamState:
        """Teams of an intercept, the mean of the target on each sample or its log odds, and the first terms."""
        shape = self.n_teams, self.n_slots
        coefficients = np.zeros(shape)
        is_taken = np.zeros(shape, dtype=np.bool_)
        is_taken[:, 0] = True
        inverse = np.zeros((self.n_teams, 0, 0) if self.is_logistic else (*shape, self.n_slots))
        mean = (self.weights * self.targets[self.target_of]).sum(axis=1) / self._total
        if self.is_logistic:
            share = np.clip(mean, 1e-3, 1 - 1e-3)
            coefficients[:, 0] = np.log(share / (1 - share))
        else:
            coefficients[:, 0] = mean
            inverse[:, 0, 0] = 1.0 / self._total
        state = TeamState(
            generation=-1,
            n_evaluations=0,
            nodes=nodes_of(self.new_forest()),
            roots=np.full(shape, -1, dtype=np.int64),
            coefficients=coefficients,
            is_taken=is_taken,
            inverse=inverse,
            errors=np.zeros(self.n_teams),
        )
        return self.step(state)

    def advance(self, state: TeamState) -> TeamState:
        """One generation; nodes are only appended, so that `rollback` can undo it."""
        children = np.unique(self._breed(state))
        outputs = self.engine.outputs(state.forest, children)
        candidates = self._make_terms(children, outputs)
        tables = self._fill_tables(state)
        tables.of = None  # until every team is done
        new = replace(
            state,
            generation=state.generation + 1,
            n_evaluations=state.n_evaluations + self.rules.population_size,
            nodes=nodes_of(state.forest),
            roots=state.roots.copy(),
            coefficients=state.coefficients.copy(),
            is_taken=state.is_taken.copy(),
            inverse=state.inverse.copy(),
        )
        if candidates.root.size:
            with single_blas_thread:
                self._improve(new, tables, candidates)
        new = replace(new, errors=self._errors(tables.predictions))
        tables.of = new
        return new

    def settle(self, state: TeamState) -> TeamState:  # type: ignore[override]
        """Forget what no team refers to; the tables stay those of the teams."""
        settled = super().settle(state)
        if self._tables.of is state:
            self._tables.of = settled
        return settled

    def rollback(self, state: TeamState) -> TeamState:  # type: ignore[override]
        """The state, usable again; tables are made anew."""
        self._tables.of = None
        return super().rollback(state)

    def describe(self, state: TeamState) -> dict[str, Any]:
        """Named values for the history."""
        roots = state.roots[state.roots >= 0]
        sizes = state.forest.size(roots) if roots.size else np.zeros(1, dtype=np.int32)
        return {
            "generation": state.generation,
            "n_evaluations": state.n_evaluations,
            "errors": state.errors if len(self.targets) == 1 else state.errors.reshape(len(self.targets), -1),
            "mean_size": float(sizes.mean()),
            "max_size": int(sizes.max()),
            "n_distinct": int(np.unique(roots).size),
            "n_terms": float(state.is_taken[:, 1:].sum(axis=1).mean()),
        }

    # Candidates

    def _breed(self, state: TeamState) -> Ids:
        n_children = self.rules.population_size
        rng = stream(self.seed, "variation", state.generation + 1)
        is_term = state.is_taken[:, 1:]
        n_terms = is_term.sum(axis=1)
        if not n_terms.any():
            features = np.array([state.forest.feature(i) for i in range(state.forest.n_features)])
            n_new = max(n_children - features.size, n_children // 2)
            return np.concatenate([features, self.vary.new(state.forest, n_new, rng)])
        teams = np.flatnonzero(n_terms)
        first = np.argsort(~is_term, axis=1, kind="stable")  # taken slots first
        owner = teams[rng.integers(teams.size, size=(2, n_children))]
        position = np.minimum((rng.random((2, n_children)) * n_terms[owner]).astype(np.int64), n_terms[owner] - 1)
        bases, donors = state.roots[owner, 1 + first[owner, position]]
        return self.vary(state.forest, bases, donors, rng)

    # Teams

    def _improve(self, state: TeamState, tables: _Tables, candidates: Terms) -> None:
        """Let terms join every team; arrays of the state and the tables are changed in place."""
        seen = self._windows(tables, candidates, state.generation)

        def improve(j: int) -> None:
            inverse = state.inverse[j] if state.inverse.size else np.zeros((self.n_slots, self.n_slots))
            team = Team(tables.values[j], inverse, state.coefficients[j], state.is_taken[j])
            self._improve_team(j, team, state, tables, candidates, seen[j])

        self.engine.map(improve, self.n_teams)

    def _improve_team(
        self, j: int, team: Team, state: TeamState, tables: _Tables, candidates: Terms, seen: NDArray[np.intp]
    ) -> None:
        rules = self.rules
        is_due = self.is_logistic or state.generation % GENERATIONS_BETWEEN_REFRESHES == 0
        weight, score = self._derivatives(j, tables.predictions[j])
        if is_due:
            team.inverse[:] = penalized_inverse(team, weight, self._penalty(j))
        is_known = (candidates.key[seen][:, None] == tables.keys[j]).any(axis=1)
        seen = seen[~is_known]
        before = team.coefficients.copy()
        joined = add_terms(
            team, candidates.values[seen].astype(np.float64), weight, score, self._penalty(j), rules.n_joining
        )
        for slot, chosen in joined:
            state.roots[j, slot] = candidates.root[seen[chosen]]
            tables.keys[j, slot] = candidates.key[seen[chosen]]
        if self.is_logistic:
            team.coefficients[:] = before  # a full step may lead far away where curvature is small
        if self.is_logistic and self._newton(j, team) < 1.0:
            weight, _ = self._derivatives(j, product(team.coefficients, team.values))
            team.inverse[:] = penalized_inverse(team, weight, self._penalty(j))
            self._newton(j, team)
        drop_terms(team, rules.max_terms)
        state.roots[j, ~team.is_taken] = -1
        tables.keys[j, ~team.is_taken] = np.nan
        if self.is_logistic:
            self._newton(j, team)
        tables.predictions[j] = product(team.coefficients, team.values)

    def _windows(self, tables: _Tables, candidates: Terms, generation: int) -> NDArray[np.intp]:
        """Candidates that each team judges in full, (n_teams, n_judged).

        Every team looks at a random window. Of a large one, those count whose correlation with the team's residuals is
        highest: a product or two for all teams, instead of one with all terms for each team.
        """
        n = candidates.root.size
        rng = stream(self.seed, "window", generation)
        keys = rng.random((self.n_teams, n))
        n_seen = min(self.rules.window, n)
        if n_seen <= self.n_close:
            return _smallest(keys, n_seen)
        derivatives = [self._derivatives(j, tables.predictions[j]) for j in range(self.n_teams)]
        dtype = self.engine.dtype
        share = product(np.stack([score for _, score in derivatives]).astype(dtype), candidates.values.T) ** 2
        if self.is_logistic:  # else the sums of squares are much alike: all terms have a mean square of one
            weights = np.stack([weight for weight, _ in derivatives]).astype(dtype)
            penalties = np.array([self._penalty(j) for j in range(self.n_teams)])
            share /= product(weights, (candidates.values**2).T) + penalties[:, None]
        share[keys > np.partition(keys, n_seen - 1, axis=1)[:, n_seen - 1 : n_seen]] = -1.0
        return _smallest(-share, self.n_close)

    def _derivatives(self, j: int, predictions: Matrix) -> tuple[Matrix, Matrix]:
        """Second and first derivative of a team's loss at its predictions, on every row."""
        weight = self.weights[j]
        target = self.targets[self.target_of[j]]
        if not self.is_logistic:
            return weight, weight * (target - predictions)
        probability = _probability(predictions)
        curvature = np.maximum(probability * (1 - probability), LEAST_CURVATURE)
        return weight * curvature, weight * (target - probability)

    def _newton(self, j: int, team: Team) -> float:
        """One step towards the team's best coefficients, with the inverse as it is, or the share of it that is one."""
        penalty = np.full(team.coefficients.size, self._penalty(j))
        penalty[0] = 0.0
        predictions = product(team.coefficients, team.values)
        _, score = self._derivatives(j, predictions)
        gradient = product(team.values, score) - penalty * team.coefficients
        step = np.clip(product(team.inverse, gradient), -LARGEST_STEP, LARGEST_STEP)
        change = product(step, team.values)

        def objective(share: float) -> float:
            coefficients = team.coefficients + share * step
            loss = self._losses(j, predictions + share * change)
            return float(product(self.weights[j], loss) + product(0.5 * penalty, coefficients**2))

        before = objective(0.0)
        for share in STEP_SHARES:
            if objective(share) < before:
                team.coefficients[:] += share * step
                return share
        return 0.0

    @cached_property
    def _total(self) -> Matrix:
        """Weight of each team's sample."""
        return self.weights.sum(axis=1)

    def _penalty(self, j: int) -> float:
        """Ridge penalty in the units of the Gram matrix; the logistic loss has at most a quarter of the curvature."""
        return self.rules.ridge * float(self._total[j]) * (0.25 if self.is_logistic else 1.0)

    def _errors(self, predictions: Matrix) -> Matrix:
        """Mean loss of every team on its sample."""
        losses = np.stack([self._losses(j, own) for j, own in enumerate(predictions)])
        return (self.weights * losses).sum(axis=1) / self._total

    def _losses(self, j: int, predictions: Matrix) -> Matrix:
        """Loss of a team on every row: squares, or minus the logarithm of the probability of the label."""
        target = self.targets[self.target_of[j]]
        if not self.is_logistic:
            return (target - predictions) ** 2
        # As log(1 + exp(-margin)), without overflow; logaddexp does the same five times slower.
        margin = np.where(target > 0.5, predictions, -predictions)
        return np.log1p(np.exp(-np.abs(margin))) + np.maximum(-margin, 0.0)

    def shrink(self, state: TeamState) -> list[TeamState]:
        """States of a single team with one term fewer at a time, the least useful leaving first, each fitted anew."""
        values = self._fill_tables(state).values[0]
        coefficients, is_taken, roots = (a[0].copy() for a in (state.coefficients, state.is_taken, state.roots))
        is_taken[1:] &= coefficients[1:] != 0  # one that just joined may have no coefficient yet
        team = Team(values, np.zeros((self.n_slots, self.n_slots)), coefficients, is_taken)
        smaller = []
        with single_blas_thread:
            for n_terms in range(int(is_taken.sum()) - 2, 0, -1):
                self._refit(team)
                drop_terms(team, n_terms)
                self._refit(team)
                roots[~is_taken] = -1
                errors = self._errors(product(coefficients, values)[None])
                arrays = (a[None].copy() for a in (roots, coefficients, is_taken))
                smaller.append(replace(state, **dict(zip(_TEAM, arrays, strict=True)), errors=errors))
        return smaller

    def _refit(self, team: Team) -> None:
        """The best coefficients of the first team's terms."""
        for _ in range(N_NEWTON_STEPS if self.is_logistic else 1):
            weight, _ = self._derivatives(0, product(team.coefficients, team.values))
            team.inverse[:] = penalized_inverse(team, weight, self._penalty(0))
            if self.is_logistic:
                self._newton(0, team)
        if not self.is_logistic:
            team.coefficients[:] = product(team.inverse, product(team.values, self.weights[0] * self.targets[0]))

    # Tables and saving

    def _fill_tables(self, state: TeamState) -> _Tables:
        tables = self._tables
        if tables.of is state:
            return tables
        is_term = state.roots >= 0
        roots, position = np.unique(state.roots[is_term], return_inverse=True)
        shape = self.n_teams, self.n_slots, self.engine.n_rows
        tables.values = np.zeros(shape)  # float64 throughout: sums of products in float32 lose the penalty
        tables.values[:, 0] = 1.0
        tables.keys = np.full(shape[:2], np.nan)
        if roots.size:
            terms = self.terms(state, roots)
            tables.values[is_term] = terms.values[position.ravel()]
            tables.keys[is_term] = terms.key[position.ravel()]
        with single_blas_thread:
            tables.predictions = np.stack(
                [product(c, v) for c, v in zip(state.coefficients, tables.values, strict=True)]
            )
        tables.of = state
        return tables

    def terms(self, state: TeamState, roots: Ids) -> Terms:
        """Distinct programs of a state as terms."""
        outputs = self.engine.outputs(state.forest, roots)
        return self._make_terms(roots, outputs, keep_all=True)

    def _make_terms(self, roots: Ids, outputs: NDArray[Any], *, keep_all: bool = False) -> Terms:
        own = self.candidates
        return make_terms(
            roots,
            outputs,
            self.row_weight,
            random_direction(self.engine.n_rows, self.seed),
            keep_all=keep_all,
            nearly_constant=own.nearly_constant,
            digits=own.digits[0 if outputs.dtype == np.float64 else 1],
        )

    def check_arrays(self, arrays: Mapping[str, NDArray[Any]], n_nodes: int) -> None:
        shape = self.n_teams, self.n_slots
        check_ids("roots", arrays["roots"], shape, n_nodes, lowest=-1)
        check_array("coefficients", arrays["coefficients"], shape, "f")
        check_array("is_taken", arrays["is_taken"], shape, "b")
        check_array("errors", arrays["errors"], shape[:1], "f")
        inverse = (self.n_teams, 0, 0) if self.is_logistic else (*shape, self.n_slots)
        check_array("inverse", arrays["inverse"], inverse, "f")
        if ((arrays["roots"] >= 0) != arrays["is_taken"])[:, 1:].any():
            raise ValueError("a place of a team has a term exactly if it is taken")


_TEAM = ("roots", "coefficients", "is_taken")


def _probability(log_odds: Matrix) -> Matrix:
    return 1.0 / (1.0 + np.exp(-np.clip(log_odds, -LARGEST_LOG_ODDS, LARGEST_LOG_ODDS)))


def _smallest(keys: Matrix, n: int) -> NDArray[np.intp]:
    """Positions of the n smallest keys of each row, in ascending order of position."""
    if n >= keys.shape[1]:
        return np.broadcast_to(np.arange(keys.shape[1]), keys.shape)
    return np.sort(np.argpartition(keys, n - 1, axis=1)[:, :n], axis=1)
