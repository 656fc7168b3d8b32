"""Selections by name, and with parameters: what `selection=` accepts.

`errors` has a row for each parent and child and a column for each bootstrap sample. "Best" ranks a program by its
lowest error over the samples (push further what is best), "worst" by its highest (push what lacks behind): the
ablations of Virgolin (2021). Partitions are the paper's own selection and variants of it.

A selection is called with (errors, n_selected, rng), or, if its first parameter is called `candidates`, with
(candidates, n_selected, rng). One with a positive attribute `n_cases` is also given the errors of every program on so
many randomly drawn rows; one with a true attribute `distinct` sees equal programs once.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from symgrove._checks import LARGEST_TOURNAMENT, check_flag, check_whole
from symgrove._missing import check_not_missing
from symgrove.selection.lexicase import partitioned_lexicase
from symgrove.selection.tournament import distinct_tournament, partitioned_tournament, tournament
from symgrove.selection.truncation import Indices, check_errors, partitioned_truncation, truncation

Matrix = NDArray[np.float64]
Selection = Callable[..., Indices]


class Candidates(NamedTuple):
    """All that a selection may see of parents and offspring, in this order.

    Attributes
    ----------
    errors : (n_programs, n_samples)
        Lower is better; +inf is unusable.
    sizes : (n_programs,)
        Nodes.
    ages : (n_programs,)
        Generations since the line of parents began with a program made from scratch; donors do not count.
    generation : int
        0 when the first offspring are there.

    Examples
    --------
    >>> import numpy as np
    >>> from symgrove.selection import Candidates
    >>> def youngest(candidates, n_selected, rng):
    ...     return np.argsort(candidates.ages)[:n_selected]
    >>> errors = np.array([[0.1], [0.2], [0.3]])
    >>> youngest(Candidates(errors, np.array([3, 5, 1]), np.array([4, 0, 2]), 7), 2, None).tolist()
    [1, 2]
    """

    errors: Matrix
    sizes: NDArray[np.int32]
    ages: NDArray[np.int64]
    generation: int


def sees_candidates(selection: Selection) -> bool:
    """Whether a selection takes `Candidates` in place of errors."""
    try:
        first = next(iter(inspect.signature(selection).parameters), "")
    except (TypeError, ValueError):  # of some compiled functions
        return False
    return first == "candidates"


def _key(errors: Matrix, by: str) -> Matrix:
    matrix = check_errors(errors, ndim=2)
    return np.asarray(matrix.min(axis=1) if by == "best" else matrix.max(axis=1))


def _check_by(by: str) -> None:
    if by not in ("best", "worst"):
        raise ValueError(f"by must be 'best' or 'worst', got {by!r}.")


@dataclass(frozen=True)
class Truncation:
    """The programs with the lowest best (or worst) error over the samples.

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from symgrove import TwoSEGPRegressor, selection
    >>> X, y = make_friedman1(60, random_state=0)
    >>> settings = dict(population_size=50, n_estimators=5, generations=5, random_state=0)
    >>> model = TwoSEGPRegressor(**settings, selection=selection.Truncation()).fit(X, y)
    >>> model.n_generations_
    5
    """

    by: str = "worst"

    def __post_init__(self) -> None:
        _check_by(self.by)

    def __call__(self, errors: Matrix, n_selected: int, rng: np.random.Generator) -> Indices:
        """Indices of the survivors."""
        return truncation(_key(errors, self.by), n_selected)


@dataclass(frozen=True)
class Tournament:
    """Winners of tournaments on the best (or worst) error over the samples.

    Parameters
    ----------
    size : int
        Programs in a tournament.
    by : "worst" or "best"
    distinct : bool
        Whether equal programs count as one, which can survive only once: copies of a good program cannot fill the
        population.

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from symgrove import TwoSEGPRegressor, selection
    >>> X, y = make_friedman1(60, random_state=0)
    >>> settings = dict(population_size=50, n_estimators=5, generations=5, random_state=0)
    >>> model = TwoSEGPRegressor(**settings, selection=selection.Tournament(4, by="best")).fit(X, y)
    >>> model.n_generations_
    5
    """

    size: int = 8
    by: str = "worst"
    distinct: bool = False

    def __post_init__(self) -> None:
        check_whole("size", self.size, 1, LARGEST_TOURNAMENT)
        _check_by(self.by)
        check_flag("distinct", self.distinct)

    def __call__(self, errors: Matrix, n_selected: int, rng: np.random.Generator) -> Indices:
        """Indices of the survivors."""
        hold = distinct_tournament if self.distinct else tournament
        return hold(_key(errors, self.by), n_selected, self.size, rng)


@dataclass(frozen=True)
class Partition:
    """An equal share of places for each sample.

    Parameters
    ----------
    n_parts : int, optional
        Only so many samples, drawn anew each generation, have places; so the pressure is that of `n_parts` samples,
        whatever their number. All by default. Elites are kept for every sample either way.
    tournament_size : int, optional
        Fill places with winners of tournaments on the sample's error. By default, with the best of the sample.

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from symgrove import TwoSEGPRegressor, selection
    >>> X, y = make_friedman1(60, random_state=0)
    >>> settings = dict(population_size=50, n_estimators=5, generations=5, random_state=0)
    >>> model = TwoSEGPRegressor(**settings, selection=selection.Partition(n_parts=2)).fit(X, y)
    >>> model.n_generations_
    5
    """

    n_parts: int | None = None
    tournament_size: int | None = None

    def __post_init__(self) -> None:
        check_whole("n_parts", self.n_parts, 1, is_optional=True)
        check_whole("tournament_size", self.tournament_size, 1, LARGEST_TOURNAMENT, is_optional=True)

    def __call__(self, errors: Matrix, n_selected: int, rng: np.random.Generator) -> Indices:
        """Indices of the survivors."""
        matrix = check_errors(errors, ndim=2)
        if self.n_parts is not None and self.n_parts < matrix.shape[1]:
            matrix = matrix[:, np.sort(rng.choice(matrix.shape[1], self.n_parts, replace=False))]
        if self.tournament_size is None:
            return partitioned_truncation(matrix, n_selected, rng)
        return partitioned_tournament(matrix, n_selected, self.tournament_size, rng)


@dataclass(frozen=True)
class PartitionLexicase:
    """ε-lexicase inside each partition, on rows that are drawn anew each generation.

    Errors on rows are those of the program with one scaling, fitted on all training rows.

    Parameters
    ----------
    n_cases : int
        Rows to draw; all if there are fewer.

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from symgrove import TwoSEGPRegressor, selection
    >>> X, y = make_friedman1(60, random_state=0)
    >>> settings = dict(population_size=50, n_estimators=5, generations=5, random_state=0)
    >>> model = TwoSEGPRegressor(**settings, selection=selection.PartitionLexicase(n_cases=20)).fit(X, y)
    >>> model.n_generations_
    5
    """

    n_cases: int = 256

    def __post_init__(self) -> None:
        check_whole("n_cases", self.n_cases, 1)

    def __call__(self, errors: Matrix, n_selected: int, rng: np.random.Generator, cases: Matrix) -> Indices:
        """Indices of the survivors; `cases` holds errors on rows."""
        return partitioned_lexicase(errors, cases, n_selected, rng)


NAMES: dict[str, Selection] = {
    "partition": Partition(),
    "truncation-best": Truncation("best"),
    "truncation-worst": Truncation("worst"),
    "tournament4-best": Tournament(4, "best"),
    "tournament4-worst": Tournament(4, "worst"),
    "tournament8-best": Tournament(8, "best"),
    "tournament8-worst": Tournament(8, "worst"),
    "partition-tournament": Partition(tournament_size=8),
    "partition-lexicase": PartitionLexicase(),
    "partition-10": Partition(n_parts=10),
}


def check_selection(selection: Any) -> None:
    """A known name or a callable, or a clear error."""
    check_not_missing(selection)
    if not (callable(selection) or (isinstance(selection, str) and selection in NAMES)):
        raise ValueError(
            f"selection must be one of {', '.join(map(repr, NAMES))}, a selection of symgrove.selection, or a function "
            f"(errors, n_selected, rng) -> indices or (candidates, n_selected, rng) -> indices; got {selection!r}."
        )


def make_selection(selection: Any) -> Selection:
    """The selection of a name, or the callable itself."""
    found: Selection = NAMES[selection] if isinstance(selection, str) else selection
    return found
