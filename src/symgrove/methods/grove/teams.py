"""Evolution of teams: the algorithm behind Grove, on one set of training rows.

    draw the bootstrap samples, once; each owns a team, at first only an intercept
    repeat:
        candidates = children of random terms of random teams; at first the features and random programs
        evaluate them once; drop those that are useless or equal to another
        for every team: look at a random window of candidates, let the best few join, let the least useful leave
    terms that are in no team die

A candidate is judged by what it adds to the team that a sample already has, not by how well it fits alone.

Populations are sets of teams that do not meet: parents and candidates of a team are those of its population. Several
go through a generation together, because what is called for all of them costs little more than for one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from symgrove.engines.base import Handle, Index
from symgrove.fitness.terms import Terms, different, make_terms, random_direction
from symgrove.forest.forest import Forest, Ids
from symgrove.methods.base import ForestMethod, ForestState, check_array, check_ids, nodes_of
from symgrove.methods.grove.configuration import CandidateRules, TeamRules
from symgrove.methods.grove.fits import TeamFits
from symgrove.methods.grove.losses import TeamLoss
from symgrove.methods.grove.populations import padded, seed_of_population, smallest
from symgrove.rng import stream
from symgrove.selection.team import TeamFit, drop_terms, join_best, judge, stand_beside
from symgrove.variation.mixture import MixedVariation

Matrix = NDArray[np.float64]
# Updates lose digits; after so many generations inverses and coefficients are made anew.
GENERATIONS_BETWEEN_REFRESHES = 16
N_NEWTON_STEPS = 5  # to fit a team from scratch


@dataclass(frozen=True, kw_only=True)
class TeamState(ForestState):
    """A run between two generations.

    `roots`, `coefficients` and `is_taken` are (n_teams, n_slots); slot 0 is the intercept. `inverse` is (n_teams,
    n_slots, n_slots), or empty with other losses than squares. `errors` are the teams' mean losses on their samples.
    """

    roots: Ids
    coefficients: Matrix
    is_taken: NDArray[np.bool_]
    inverse: Matrix
    errors: Matrix
    ids: ClassVar[tuple[str, ...]] = ("roots",)


class _Candidates(NamedTuple):
    """Terms that may join, their vectors, and which of them each population has, (n_populations, n_most); else -1."""

    terms: Terms
    vectors: Handle
    of: Index


@dataclass
class _Tables:
    """What is known of the teams' terms, (n_teams, n_slots), and the teams' predictions, for one state.

    Made anew when they are of another. Keys are NaN where a slot is empty.
    """

    of: TeamState | None = None
    key: Matrix = field(default_factory=lambda: np.zeros((0, 0)))
    centre: Matrix = field(default_factory=lambda: np.zeros((0, 0)))
    spread: Matrix = field(default_factory=lambda: np.zeros((0, 0)))
    predictions: Handle = None

    def columns_from(self, terms: Terms) -> Iterator[tuple[Matrix, Matrix]]:
        """The tables of terms, each with what terms say for it."""
        return zip((self.key, self.centre, self.spread), (terms.key, terms.centre, terms.spread), strict=True)


@dataclass(frozen=True, kw_only=True)
class TeamEvolution(ForestMethod):
    """The method on one set of rows.

    Attributes
    ----------
    vary
        Makes programs.
    counts : (n_samples, n_rows)
        How often each sample has each row; there is a team for each target and sample.
    population_of : (n_samples,)
        The population of each sample; each has one at least.
    targets : (n_targets, n_rows)
        Standardised, or 0 and 1; with the Poisson loss, divided by their mean.
    row_weight : (n_rows,)
        Sample weights; their mean is one.
    n_close : int
        Of a large window, so many candidates are judged in full: those closest to the residuals.
    candidates : CandidateRules
        How they are told apart.
    loss : TeamLoss
    """

    vary: MixedVariation
    counts: NDArray[Any]
    population_of: Index
    targets: Matrix
    row_weight: Matrix
    rules: TeamRules
    candidates: CandidateRules
    n_close: int
    loss: TeamLoss
    state_type: ClassVar[type[ForestState]] = TeamState
    _tables: _Tables = field(default_factory=_Tables, repr=False)

    @property
    def n_teams(self) -> int:
        """Teams of all targets."""
        return len(self.targets) * len(self.counts)

    @property
    def target_of(self) -> Index:
        """The target of each team."""
        return np.repeat(np.arange(len(self.targets)), len(self.counts))

    @cached_property
    def population_of_team(self) -> Index:
        """The population of each team."""
        return np.tile(self.population_of, len(self.targets))

    @cached_property
    def teams_of(self) -> Index:
        """Teams of each population, (n_populations, n_most); else -1."""
        n_populations = int(self.population_of.max()) + 1
        return padded([np.flatnonzero(self.population_of_team == p) for p in range(n_populations)])

    @cached_property
    def seeds(self) -> list[int]:
        """Of each population: what one draws does not depend on the others."""
        return [seed_of_population(self.seed, p) for p in range(len(self.teams_of))]

    def outside(self) -> NDArray[np.bool_]:
        """Which rows each team was not fitted on, (n_teams, n_rows)."""
        return np.tile((self.counts == 0) | (self.row_weight == 0), (len(self.targets), 1))

    @property
    def n_slots(self) -> int:
        """Places of a team: the intercept, its terms, and those that join before others leave."""
        return 1 + self.rules.max_terms + self.rules.n_joining

    # The method

    def init(self) -> TeamState:
        """Teams of an intercept, such as the mean of the target on each sample or its log odds, and the first terms."""
        shape = self.n_teams, self.n_slots
        coefficients = np.zeros(shape)
        is_taken = np.zeros(shape, dtype=np.bool_)
        is_taken[:, 0] = True
        inverse = np.zeros((*shape, self.n_slots) if self.loss.is_squared else (self.n_teams, 0, 0))
        coefficients[:, 0] = self.fits.starts
        if self.loss.is_squared:
            inverse[:, 0, 0] = 1.0 / self.fits.total
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
        children = self._breed(state)
        tables = self._fill_tables(state)
        vectors, slots = self._vectors_of(state, tables)
        candidates = self._candidates(state.forest, children)
        tables.of = None  # until every team is done
        new = replace(
            state,
            generation=state.generation + 1,
            n_evaluations=state.n_evaluations + self.rules.population_size * len(self.teams_of),
            nodes=nodes_of(state.forest),
            roots=state.roots.copy(),
            coefficients=state.coefficients.copy(),
            is_taken=state.is_taken.copy(),
            inverse=state.inverse.copy(),
        )
        if candidates.terms.root.size:
            self._improve(new, tables, candidates, vectors, slots)
        new = replace(new, errors=self.fits.errors(tables.predictions))
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

    def _breed(self, state: TeamState) -> list[Ids]:
        """Children of each population."""
        n_children, forest = self.rules.population_size, state.forest
        is_term = state.is_taken[:, 1:]
        n_terms = is_term.sum(axis=1)
        first = np.argsort(~is_term, axis=1, kind="stable")  # taken slots first
        bred = []
        for own, seed in zip(self.teams_of, self.seeds, strict=True):
            rng = stream(seed, "variation", state.generation + 1)
            teams = own[(own >= 0) & (n_terms[own] > 0)]
            if not teams.size:
                bred.append(self._first_programs(forest, rng))
                continue
            owner = teams[rng.integers(teams.size, size=(2, n_children))]
            place = np.minimum((rng.random((2, n_children)) * n_terms[owner]).astype(np.int64), n_terms[owner] - 1)
            bases, donors = state.roots[owner, 1 + first[owner, place]]
            bred.append(self.vary(forest, bases, donors, rng))
        return bred

    def _first_programs(self, forest: Forest, rng: np.random.Generator) -> Ids:
        n_children = self.rules.population_size
        features = np.array([forest.feature(i) for i in range(forest.n_features)])
        n_new = max(n_children - features.size, n_children // 2)
        return np.concatenate([features, self.vary.new(forest, n_new, rng)])

    def _candidates(self, forest: Forest, children: list[Ids]) -> _Candidates:
        """Those of the children that are usable and different."""
        roots, place = np.unique(np.concatenate(children), return_inverse=True)
        vectors = self.engine.evaluate(forest, roots)
        terms = self._make_terms(roots, vectors)
        standardized = vectors[terms.position].standardized(terms.centre, terms.spread)
        term_of = np.full(roots.size, -1)
        term_of[terms.position] = np.arange(terms.position.size)
        # In the order in which a population has made them: ids depend on what others make.
        made = np.split(term_of[place.ravel()], np.cumsum([own.size for own in children])[:-1])
        return _Candidates(terms, standardized, padded([different(terms, own[own >= 0]) for own in made]))

    def _make_terms(self, roots: Ids, vectors: Handle, *, keep_all: bool = False) -> Terms:
        own = self.candidates
        summary = self.engine.summaries(vectors, self.row_weight / self.engine.n_rows, self._direction)
        digits = own.digits[0 if self.engine.dtype == np.float64 else 1]
        return make_terms(roots, summary, digits, keep_all=keep_all, nearly_constant=own.nearly_constant)

    @cached_property
    def _direction(self) -> Matrix:
        return random_direction(self.engine.n_rows, self.seed)

    # Teams

    @cached_property
    def fits(self) -> TeamFits:
        """How coefficients are found."""
        return TeamFits(self.engine, self.counts, self.row_weight, self.targets, self.rules.ridge, self.loss)

    def _improve(
        self, state: TeamState, tables: _Tables, candidates: _Candidates, vectors: Handle, slots: Index
    ) -> None:
        """Let terms join every team, and others leave; arrays of the state and the tables are changed in place."""
        everybody = np.arange(self.n_teams)
        weights = self.fits.curvatures(everybody, tables.predictions)
        inverse = state.inverse
        if not self.loss.is_squared or state.generation % GENERATIONS_BETWEEN_REFRESHES == 0:
            inverse = self.fits.inverses(everybody, vectors, slots, weights)
            if self.loss.is_squared:  # rows may be others than before
                state.coefficients[:] = self.fits.solution(inverse, vectors, slots)
                tables.predictions = self.engine.combine(state.coefficients, vectors, slots)
        scores = self.fits.scores(everybody, tables.predictions)
        teams = TeamFit(inverse, state.coefficients, state.is_taken, self.fits.penalty)
        before = state.coefficients.copy()
        slots = self._join(teams, state, tables, candidates, vectors, slots, (weights, scores))
        both = vectors + candidates.vectors
        if not self.loss.is_squared:
            state.coefficients[:] = before  # a full step may lead far away where curvature is small
            self._newton_twice(state, inverse, both, slots, tables.predictions)
        drop_terms(teams, self.rules.max_terms)
        has_left = ~state.is_taken
        slots[has_left], state.roots[has_left], tables.key[has_left] = -1, -1, np.nan
        predictions = self.engine.combine(state.coefficients, both, slots)
        if not self.loss.is_squared:
            self.fits.newton(everybody, both, slots, inverse, state.coefficients, predictions)
            # Not what the step led to, which differs in the last bits from what a resumed run finds.
            predictions = self.engine.combine(state.coefficients, both, slots)
        else:
            state.inverse[:] = inverse
        tables.predictions = predictions

    def _join(
        self,
        teams: TeamFit,
        state: TeamState,
        tables: _Tables,
        candidates: _Candidates,
        vectors: Handle,
        slots: Index,
        derivatives: tuple[Handle, Handle],
    ) -> Index:
        """Let the best candidates join each team; which vector is then in which slot, candidates after the others."""
        weights, _ = derivatives
        terms, own_vectors, _ = candidates
        seen, scalar = self._windows(candidates, *derivatives, tables.key, state.generation)
        crossed = self.engine.products(own_vectors, vectors, weights, seen, slots)
        judged = judge(teams, crossed, self.engine.squares(own_vectors, weights, seen), scalar)
        slots = slots.copy()
        for n_joined in range(1, self.rules.n_joining + 1):
            joined = join_best(teams, judged)
            j = np.flatnonzero(joined.chosen >= 0)
            slot, chosen = joined.slot[j], seen[j, joined.chosen[j]]
            slots[j, slot] = len(vectors) + chosen
            state.roots[j, slot] = terms.root[chosen]
            for table, known in tables.columns_from(terms):
                table[j, slot] = known[chosen]
            if not j.size or n_joined == self.rules.n_joining:
                break
            newest = np.full((self.n_teams, 1), -1)
            newest[j, 0] = chosen
            shared = self.engine.products(own_vectors, own_vectors, weights, newest, seen)[:, 0]
            stand_beside(teams, judged, joined, shared)
        return slots

    def _newton_twice(
        self, state: TeamState, inverse: Matrix, vectors: Handle, slots: Index, predictions: Handle
    ) -> None:
        """A step for every team, and another from there for those that could not make a whole one."""
        fits, everybody = self.fits, np.arange(self.n_teams)
        shares, predictions = fits.newton(everybody, vectors, slots, inverse, state.coefficients, predictions)
        again = np.flatnonzero(shares < 1.0)
        if again.size:
            weights = fits.curvatures(again, predictions[again])
            inverse[again] = fits.inverses(again, vectors, slots[again], weights)
            fits.newton(again, vectors, slots[again], inverse[again], state.coefficients, predictions[again])

    def _windows(
        self, candidates: _Candidates, weights: Handle, scores: Handle, keys: Matrix, generation: int
    ) -> tuple[Index, Matrix]:
        """Candidates that each team judges in full, and their products with the scores, (n_teams, n_judged).

        Every team looks at a random window. Of a large one, those count whose correlation with the team's residuals is
        highest: a product or two for all teams, instead of one with all terms for each team. Terms that a team has are
        -1.
        """
        terms, vectors, of = candidates
        own = of[self.population_of_team]
        order = np.full(own.shape, np.inf)
        for teams, some, seed in zip(self.teams_of, of, self.seeds, strict=True):
            n_teams, n = int((teams >= 0).sum()), int((some >= 0).sum())
            order[teams[:n_teams], :n] = stream(seed, "window", generation).random((n_teams, n))
        n_seen = min(self.rules.window, own.shape[1])
        if n_seen <= self.n_close:
            position = smallest(order, n_seen)
        else:
            found = self._with_scores(scores, candidates)
            share = found**2
            if not self.loss.is_squared:  # else the sums of squares are much alike: all terms have a mean square of one
                squares = self.engine.squares
                found_squares = squares(vectors[of[0]], weights) if len(of) == 1 else squares(vectors, weights, own)
                share /= found_squares + self.fits.penalty[:, None]
            share[order > np.partition(order, n_seen - 1, axis=1)[:, n_seen - 1 : n_seen]] = -1.0
            share[own < 0] = -1.0
            position = smallest(-share, self.n_close)
        seen = np.take_along_axis(own, position, axis=1)
        seen = np.where((terms.key[seen][:, :, None] == keys[:, None, :]).any(axis=2), -1, seen)
        if n_seen <= self.n_close:
            itself = np.arange(self.n_teams)[:, None]
            return seen, self.engine.products(scores, vectors, None, itself, seen)[:, 0]
        return seen, np.where(seen < 0, 0.0, np.take_along_axis(found, position, axis=1))

    def _with_scores(self, scores: Handle, candidates: _Candidates) -> Matrix:
        """Products of the teams' scores with the candidates of their populations, (n_teams, n_most)."""
        found = self.engine.products(scores, candidates.vectors, None, self.teams_of, candidates.of)
        by_team = np.empty((self.n_teams, found.shape[2]))
        by_team[self.teams_of[self.teams_of >= 0]] = found[self.teams_of >= 0]
        return by_team

    def shrink(self, state: TeamState) -> list[TeamState]:
        """States of a single team with one term fewer at a time, the least useful leaving first, each fitted anew."""
        vectors, slots = self._vectors_of(state, self._fill_tables(state))
        coefficients, is_taken, roots = state.coefficients.copy(), state.is_taken.copy(), state.roots.copy()
        is_taken[:, 1:] &= coefficients[:, 1:] != 0  # one that just joined may have no coefficient yet
        smaller = []
        for n_terms in range(int(is_taken.sum()) - 2, 0, -1):
            inverse = self._refit(vectors, np.where(is_taken, slots, -1), coefficients)
            drop_terms(TeamFit(inverse, coefficients, is_taken, self.fits.penalty), n_terms)
            own_slots = np.where(is_taken, slots, -1)
            self._refit(vectors, own_slots, coefficients)
            roots[~is_taken] = -1
            errors = self.fits.errors(self.engine.combine(coefficients, vectors, own_slots))
            taken = is_taken.copy()
            smaller.append(
                replace(state, roots=roots.copy(), coefficients=coefficients.copy(), is_taken=taken, errors=errors)
            )
        return smaller

    def _refit(self, vectors: Handle, slots: Index, coefficients: Matrix) -> Matrix:
        """The best coefficients of the first team's terms, and the inverse that goes with them."""
        team, fits = np.zeros(1, dtype=np.intp), self.fits
        for _ in range(1 if self.loss.is_squared else N_NEWTON_STEPS):
            predictions = self.engine.combine(coefficients, vectors, slots)
            inverse = fits.inverses(team, vectors, slots, fits.curvatures(team, predictions))
            if self.loss.is_squared:
                coefficients[:] = fits.solution(inverse, vectors, slots)
            else:
                fits.newton(team, vectors, slots, inverse, coefficients, predictions)
        return inverse

    # Tables and saving

    def _vectors_of(self, state: TeamState, tables: _Tables) -> tuple[Handle, Index]:
        """The vectors of the intercept and of all distinct terms, and which of them is in each slot of a team."""
        is_term = state.roots >= 0
        roots, first, position = np.unique(state.roots[is_term], return_index=True, return_inverse=True)
        slots = np.full(state.roots.shape, -1, dtype=np.intp)
        slots[:, 0] = 0
        slots[is_term] = 1 + position.ravel()
        terms = self.engine.evaluate(state.forest, roots, keep=True)
        centre, spread = tables.centre[is_term][first], tables.spread[is_term][first]
        return self.fits.ones + terms.standardized(centre, spread), slots

    def _fill_tables(self, state: TeamState) -> _Tables:
        tables = self._tables
        if tables.of is state:
            return tables
        tables.of = None  # until all are made
        is_term = state.roots >= 0
        roots, position = np.unique(state.roots[is_term], return_inverse=True)
        tables.key, tables.centre, tables.spread = (np.full(is_term.shape, np.nan) for _ in range(3))
        terms = self.terms(state, roots)
        for table, known in tables.columns_from(terms):
            table[is_term] = known[position.ravel()]
        vectors, slots = self._vectors_of(state, tables)
        tables.predictions = self.engine.combine(state.coefficients, vectors, slots)
        tables.of = state
        return tables

    def usable(self, state: TeamState) -> TeamState:
        """The state without terms that are constant, or not finite, on these rows: they came with others."""
        is_term = state.roots >= 0
        roots, position = np.unique(state.roots[is_term], return_inverse=True)
        terms = self.terms(state, roots)
        is_lost = ~(np.isfinite(terms.low) & np.isfinite(terms.high))
        is_lost |= ~(terms.spread > self.candidates.nearly_constant * (1.0 + np.abs(terms.centre)))
        lost = np.zeros(is_term.shape, dtype=np.bool_)
        lost[is_term] = is_lost[position.ravel()]
        return replace(
            state,
            roots=np.where(lost, -1, state.roots),
            is_taken=state.is_taken & ~lost,
            coefficients=np.where(lost, 0.0, state.coefficients),
        )

    def terms(self, state: TeamState, roots: Ids) -> Terms:
        """Distinct programs of a state as terms."""
        return self._make_terms(roots, self.engine.evaluate(state.forest, roots, keep=True), keep_all=True)

    def check_arrays(self, arrays: Mapping[str, NDArray[Any]], n_nodes: int) -> None:
        shape = self.n_teams, self.n_slots
        check_ids("roots", arrays["roots"], shape, n_nodes, lowest=-1)
        check_array("coefficients", arrays["coefficients"], shape, "f")
        check_array("is_taken", arrays["is_taken"], shape, "b")
        check_array("errors", arrays["errors"], shape[:1], "f")
        inverse = (*shape, self.n_slots) if self.loss.is_squared else (self.n_teams, 0, 0)
        check_array("inverse", arrays["inverse"], inverse, "f")
        if ((arrays["roots"] >= 0) != arrays["is_taken"])[:, 1:].any():
            raise ValueError("a slot of a team has a term exactly if it is taken")
