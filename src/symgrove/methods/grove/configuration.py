"""The numbers behind Grove that are no parameters of its estimators: one value, which ablations replace.

class Shorter(GroveRegressor):
    configuration = replace(GroveRegressor.configuration, early_snapshots=(5,))
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from symgrove.fitness.terms import DIGITS, NEARLY_CONSTANT
from symgrove.variation.mixture import SHARE_OF_CONSTANTS, SHARES, TREE_HEIGHT


@dataclass(frozen=True, kw_only=True)
class TeamRules:
    """Numbers that shape an evolution of teams.

    Attributes
    ----------
    population_size : int
        Candidates a generation.
    window : int
        How many of them each team looks at.
    n_joining : int
        How many may join a team in a generation.
    max_terms : int
        Of a team.
    ridge : float
        Penalty, as a share of the sample's weight.
    """

    population_size: int
    window: int
    n_joining: int
    max_terms: int
    ridge: float


@dataclass(frozen=True, kw_only=True)
class Regime:
    """How strongly to fit: how many evolutions share the teams, their rules, and the generations to look at them.

    `n_teams_of_fit` are those of the evolution on all rows, if this is a cheaper one on some of them.
    """

    name: str
    n_populations: int
    n_teams: int
    max_size: int
    rules: TeamRules
    snapshots: tuple[int, ...]
    n_teams_of_fit: int

    def until(self, generation: int) -> Regime:
        """The same, ended after so many generations."""
        return replace(self, snapshots=(*(g for g in self.snapshots if g < generation), generation))

    def times(self, n: int) -> Regime:
        """So many of these evolutions, which go through generations together."""
        return replace(self, n_populations=n * min(self.n_populations, self.n_teams), n_teams=n * self.n_teams)


@dataclass(frozen=True, kw_only=True)
class SecondRegime:
    """Evolutions of another strength that may enter the stack, relative to the main ones.

    Attributes
    ----------
    name : str
    team_factor, term_factor : int
        Times as many teams, times as many terms in each.
    size_factor, size_more, largest_size : int
        Formulas have `size_factor * max_size + size_more` nodes, at most `largest_size`.
    window : int or float
        Candidates that a team looks at, or their share.
    ridge : float
    snapshots : tuple of int
        Generations after which they may enter.
    fewest_rows, most_rows : int
        On fewer rows, or on more, there are none.
    """

    name: str
    team_factor: int = 1
    term_factor: int = 1
    size_factor: int = 1
    size_more: int = 0
    largest_size: int = 2**31
    window: int | float
    ridge: float
    snapshots: tuple[int, ...]
    fewest_rows: int = 0
    most_rows: int = 2**62


@dataclass(frozen=True, kw_only=True)
class Folds:
    """How rows are held out of whole evolutions to choose the strength.

    Attributes
    ----------
    n_folds : int
        On more than `most_rows` rows, one of them is enough.
    n_populations, n_teams, population_size : int
        At most, of evolutions that are made only to be judged; windows up to `small_window` stay as they are.
    smallest_weight : float
        Smaller ones are zero.
    clearly : float
        Standard errors by which a stack must beat the strongest ensemble if there is one fold.
    ends_at : float
        An evolution ends once a snapshot is worse than the best one before by so many standard errors.
    fewest_rows : int
        With fewer, the strength is fixed.
    """

    n_folds: int = 5
    most_rows: int = 500
    n_populations: int = 2
    n_teams: int = 20
    population_size: int = 300
    small_window: int = 10
    smallest_weight: float = 0.01
    clearly: float = 2.0
    ends_at: float = float("inf")
    fewest_rows: int = 10


@dataclass(frozen=True, kw_only=True)
class ManyRows:
    """What changes where rows are many: evolutions are judged themselves, and coefficients are found on all rows.

    Attributes
    ----------
    fewest_rows : int
        From so many rows on.
    share_held_out, most_held_out : float, int
        Rows that evolutions do not see, to judge them by: a share of the rows, and so many at most.
    share_of_teams : float
        Of `n_estimators`.
    rows_of_a_turn : int
        That an evolution has at a time, if there is room for them.
    least_gain : float
        The evolution ends when its loss on the rows held out falls by a smaller share from one look to the next.
    n_newton_steps : int
        On all rows, with other losses than squares, for which one is exact.
    """

    fewest_rows: int = 5001
    share_held_out: float = 0.1
    most_held_out: int = 10_000
    share_of_teams: float = 0.5
    rows_of_a_turn: int = 2048
    least_gain: float = 0.005
    n_newton_steps: int = 3


@dataclass(frozen=True, kw_only=True)
class CandidateRules:
    """How candidates are made and told apart.

    Attributes
    ----------
    shares : tuple of float
        Of crossover, mutation, perturbation, join, new and hoist.
    share_of_constants, tree_height
        Of new programs and branches.
    n_data_values : int
        Values of each feature that half of the constants are drawn from; 0: none are.
    nearly_constant : float
        Programs with a smaller spread are dropped.
    digits : (int, int)
        Terms whose projections on a random direction agree to so many digits are the same; in float64 and float32.
    """

    shares: tuple[float, ...] = SHARES
    share_of_constants: float = SHARE_OF_CONSTANTS
    tree_height: int = TREE_HEIGHT
    n_data_values: int = 1024
    nearly_constant: float = NEARLY_CONSTANT
    digits: tuple[int, int] = (DIGITS["float64"], DIGITS["float32"])


@dataclass(frozen=True, kw_only=True)
class GroveConfiguration:
    """Everything that the estimators' parameters do not say.

    Attributes
    ----------
    early_snapshots : tuple of int
        Generations after which the main evolution is weaker, but may be the better for it.
    second : SecondRegime
    folds : Folds
    many : ManyRows
    candidates : CandidateRules
    rows_per_term, fewest_terms : int
        Teams have at most a term for so many rows, but so many always.
    n_close, n_close_of_all : int
        Candidates that a team judges in full; more if there are few teams, because it costs little then.
    share_of_main : float
        Of `max_time`, for the main evolution if something else follows.
    share_of_choosing : float
        Of that, when the strength must be chosen.
    """

    early_snapshots: tuple[int, ...]
    second: SecondRegime
    folds: Folds = field(default_factory=Folds)
    many: ManyRows = field(default_factory=ManyRows)
    candidates: CandidateRules = field(default_factory=CandidateRules)
    rows_per_term: int = 5
    fewest_terms: int = 3
    n_close: int = 24
    n_close_of_all: int = 1200
    share_of_main: float = 0.5
    share_of_choosing: float = 0.6

    def most_terms(self, max_terms: int, n_rows: int) -> int:
        """Of a team on so many rows."""
        return max(self.fewest_terms, min(max_terms, n_rows // self.rows_per_term))

    def most_judged(self, n_teams: int) -> int:
        """Candidates that each of so many teams judges in full, of a large window."""
        return max(self.n_close, self.n_close_of_all // n_teams)


FOR_REGRESSION = GroveConfiguration(
    early_snapshots=(3, 10, 20, 45),
    folds=Folds(ends_at=1.0),
    many=ManyRows(rows_of_a_turn=4096),
    second=SecondRegime(
        name="gentle", team_factor=2, largest_size=9, window=10, ridge=0.1, snapshots=(5, 15, 60), most_rows=100
    ),
)
FOR_CLASSIFICATION = GroveConfiguration(
    early_snapshots=(10, 30, 60),
    second=SecondRegime(
        name="strong",
        term_factor=2,
        size_factor=2,
        size_more=1,
        window=0.5,
        ridge=1e-3,
        snapshots=(30, 100, 200),
        fewest_rows=501,
    ),
)
