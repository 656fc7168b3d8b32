"""Random programs: full, grow, and the ramped half-and-half initial population of the reference implementation.

The ramped population has a full half and a grown half; in each, the height limit rises in equal shares from the lowest
to the highest. A program that was drawn before is rejected and redrawn, until ten times the population size have been
rejected; after that duplicates are accepted.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from symgrove._checks import check_generator, check_pair, check_whole
from symgrove.forest import random_kernels
from symgrove.forest.forest import Forest
from symgrove.forest.random_kernels import Buffers, Shape, Vocabulary

CONSTANT_DECIMALS = 3  # as the reference implementation rounds
LARGEST_CONSTANT = 1e300  # times ten to the decimals must be finite
LARGEST_PROGRAM = 2**20


class RandomPrograms:
    """A source of random programs.

    Parameters
    ----------
    forest : Forest
        Programs are made for it and for forests of the same features and functions; it is not kept.
    constant_range : (float, float) or None
        Constants are uniform in this range, with three decimals. A constant is one terminal among n_features + 1.
        None: no constants.
    max_height : int
        Largest height that will be asked for.
    features : array-like of int, optional
        Indices of the features that programs may use; by default all.

    Examples
    --------
    >>> import numpy as np
    >>> from symgrove import Forest, RandomPrograms
    >>> forest = Forest(2)
    >>> roots = RandomPrograms(forest).ramped_half_and_half(forest, 10, np.random.default_rng(0))
    >>> len(roots)
    10
    """

    def __init__(
        self,
        forest: Forest,
        constant_range: tuple[float, float] | None = (-5.0, 5.0),
        max_height: int = 6,
        features: ArrayLike | None = None,
    ) -> None:
        self.max_height = max_height
        self.n_features = forest.n_features
        chosen = np.arange(forest.n_features) if features is None else np.array(features, dtype=np.int64)
        if chosen.size == 0 or chosen.min() < 0 or chosen.max() >= forest.n_features:
            raise ValueError(f"features must be some of 0 to {forest.n_features - 1}, got {features!r}.")
        span = np.zeros(0)
        if constant_range is not None:
            check_pair("constant_range", constant_range)
            low, high = constant_range
            if max(abs(low), abs(high)) > LARGEST_CONSTANT:
                raise ValueError(f"constant_range must lie within ±{LARGEST_CONSTANT:g}, got {constant_range!r}.")
            span = np.array([low, high, CONSTANT_DECIMALS], dtype=np.float64)
        functions = np.array([p.code for p in forest.primitives.functions], dtype=np.int32)
        self.vocabulary = Vocabulary(functions, forest.arity, chosen, span)
        self.buffers = _new_buffers(self._largest_size(max_height))

    def _largest_size(self, height: int) -> int:
        check_whole("max_height", height, 0)
        is_binary = self.vocabulary.arity[self.vocabulary.functions].max() == 2
        largest = 2 ** (min(height, 60) + 1) - 1 if is_binary else height + 1
        if largest > LARGEST_PROGRAM:
            raise ValueError(
                f"programs of height {height} can have more than {LARGEST_PROGRAM} nodes, which is too many."
            )
        return largest

    def _check_height(self, height: int) -> None:
        check_whole("height", height, 0)
        if not 0 <= height <= self.max_height:
            raise ValueError(f"height must be from 0 to max_height={self.max_height}, got {height}.")

    def check_forest(self, forest: Forest) -> None:
        """Refuse a forest of other features or functions."""
        if not isinstance(forest, Forest):
            raise TypeError(f"expected the Forest that programs are made in, got {type(forest).__name__}.")
        if forest.n_features != self.n_features or not np.array_equal(forest.arity, self.vocabulary.arity):
            raise ValueError(f"programs are made for other features or functions than those of {forest!r}.")

    def full(self, forest: Forest, height: int, rng: np.random.Generator) -> int:
        """Root of a program whose leaves all have this depth."""
        return self._draw(forest, Shape(height, 0, True, -1.0), rng)

    def grow(
        self,
        forest: Forest,
        height: int,
        rng: np.random.Generator,
        min_height: int = 2,
        p_function: float | None = None,
    ) -> int:
        """Root of a grown program: functions above `min_height`, any token down to `height`, terminals there.

        In between, a function has the chance `p_function`; by default every function and terminal has the same.
        """
        chance = -1.0 if p_function is None else float(p_function)
        return self._draw(forest, Shape(height, min_height, False, chance), rng)

    def grow_some(
        self, forest: Forest, n_programs: int, height: int, rng: np.random.Generator, min_height: int = 2
    ) -> NDArray[np.int64]:
        """Roots of so many programs that `grow` would give one after the other."""
        self._check(forest, height, min_height, rng)
        roots = np.empty(n_programs, dtype=np.int64)
        n_drawn = 0
        while n_drawn < n_programs:
            forest.reserve(self.buffers.code.size)
            shape = Shape(height, min_height, False, -1.0)
            n_drawn = random_kernels.draw_some(
                forest.columns, rng, self.vocabulary, shape, self.buffers, n_drawn, roots
            )
        return roots

    def _check(self, forest: Forest, height: int, min_height: int, rng: np.random.Generator) -> None:
        self._check_height(height)
        check_whole("min_height", min_height, 0)
        check_generator(rng)
        self.check_forest(forest)

    def _draw(self, forest: Forest, shape: Shape, rng: np.random.Generator) -> int:
        self._check(forest, shape.height, shape.minimum, rng)
        forest.reserve(self.buffers.code.size)
        return int(random_kernels.draw_one(forest.columns, rng, self.vocabulary, shape, self.buffers))

    def ramped_half_and_half(
        self,
        forest: Forest,
        n_programs: int,
        rng: np.random.Generator,
        heights: tuple[int, int] = (2, 6),
        min_height: int = 2,
    ) -> NDArray[np.int64]:
        """Roots of an initial population; the first half is full, the second grown (one more if odd)."""
        low, high = heights
        if low > high:
            raise ValueError(f"heights must be (lowest, highest), got {heights!r}.")
        self._check_height(low)
        self._check_height(high)
        check_whole("n_programs", n_programs, 1)
        check_whole("min_height", min_height, 0)
        check_generator(rng)
        self.check_forest(forest)
        roots = np.empty(n_programs, dtype=np.int64)
        state = np.zeros(2, dtype=np.int64)
        span = np.array([low, high, min_height], dtype=np.int64)
        while state[0] < n_programs:
            forest.reserve(self.buffers.code.size)
            random_kernels.draw_ramped(
                forest.columns, rng, self.vocabulary, span, n_programs // 2, self.buffers, state, roots
            )
        return roots


def _new_buffers(n_tokens: int) -> Buffers:
    code, feature = np.zeros((2, n_tokens), dtype=np.int32)
    return Buffers(code, feature, np.zeros(n_tokens), np.zeros(n_tokens + 2, dtype=np.int64))
