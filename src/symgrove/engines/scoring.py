"""From programs, or vectors that stay in an engine, to the errors matrix: the way every method goes.

Moments, a second look for the few programs whose sums cancelled, scaling and error in closed form, and a second pass
over rows where the loss is not in the moments or where the closed form has lost its digits. What is scored gives these
sums over rows (`Scored`): programs of a forest, or vectors (`vector_scoring.py`).
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from symgrove.engines.base import Engine, Roots
from symgrove.fitness.losses import Loss, RowLoss, mask_unusable
from symgrove.fitness.moments import Centre, Matrix, Moments, Samples, is_doubtful, replace_rows, sample_means
from symgrove.fitness.scaling import Fit, Scaling, fit_linear_scaling, identity_scaling, no_scaling
from symgrove.forest.forest import Forest, as_roots

# Below this share of the target's variance, an error from moments has lost too many digits.
NEARLY_PERFECT = {"float64": 1e-6, "float32": 1e-3}


class Scores(NamedTuple):
    """Errors of every program on every sample (lower is better, +inf if unusable), with the scaling behind them.

    Examples
    --------
    >>> import symgrove as sg
    >>> data = sg.make_dataset([[1.0], [2.0], [3.0], [4.0]], [2.0, 4.0, 6.0, 8.0])
    >>> primitives = sg.PrimitiveSet(("add", "mul"))
    >>> forest = sg.Forest(1, primitives)
    >>> roots = [sg.parse(forest, "x0 + x0"), sg.parse(forest, "x0 * x0")]
    >>> with sg.CpuEngine(data, primitives) as engine:
    ...     samples = engine.prepare(sg.bootstrap_counts(4, 2, seed=0))
    ...     scores = sg.score(engine, forest, roots, samples, sg.MeanSquaredError())
    >>> scores.errors.shape, scores.scaling.slope.shape
    ((2, 2), (2, 2))
    """

    errors: Matrix
    scaling: Scaling


class Scored(Protocol):
    """Outputs on all rows, of which a scoring asks for sums; `rows` are positions of some of them."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """What sums may be made in."""
        ...

    def __len__(self) -> int: ...

    def moments(self, samples: Samples, *, expect_more: bool) -> Moments:
        """As `Engine.moments`."""
        ...

    def exact_moments(
        self, rows: NDArray[np.intp], samples: Samples, centre: Centre, wanted: NDArray[np.bool_]
    ) -> Moments:
        """As `Engine.exact_moments`; the reach may be any scale of the differences from the centre."""
        ...

    def errors(self, rows: NDArray[np.intp], scaling: Scaling, samples: Samples, loss: Loss) -> Matrix:
        """As `Engine.errors`: sums of the row loss."""
        ...


class Programs(NamedTuple):
    """Distinct programs of a forest."""

    engine: Engine
    forest: Forest
    roots: Roots

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.engine.dtype

    def __len__(self) -> int:
        return self.roots.size

    def moments(self, samples: Samples, *, expect_more: bool) -> Moments:
        return self.engine.moments(self.forest, self.roots, samples, expect_more=expect_more)

    def exact_moments(
        self, rows: NDArray[np.intp], samples: Samples, centre: Centre, wanted: NDArray[np.bool_]
    ) -> Moments:
        return self.engine.exact_moments(self.forest, self.roots[rows], samples, centre, wanted)

    def errors(self, rows: NDArray[np.intp], scaling: Scaling, samples: Samples, loss: Loss) -> Matrix:
        return self.engine.errors(self.forest, self.roots[rows], scaling, samples, loss.row_loss, loss.threshold)


def score(
    engine: Engine, forest: Forest, roots: Roots, samples: Samples, loss: Loss, *, expect_more: bool = False
) -> Scores:
    """Errors, slopes and intercepts of programs on every sample; programs that repeat are evaluated once.

    `expect_more` hints that the outputs of these programs will be asked for again.

    Examples
    --------
    >>> import symgrove as sg
    >>> data = sg.make_dataset([[1.0], [2.0], [3.0], [4.0]], [2.0, 4.0, 6.0, 8.0])
    >>> primitives = sg.PrimitiveSet(("add", "mul"))
    >>> forest = sg.Forest(1, primitives)
    >>> roots = [sg.parse(forest, "x0 + x0"), sg.parse(forest, "x0 * x0")]
    >>> with sg.CpuEngine(data, primitives) as engine:
    ...     samples = engine.prepare(sg.bootstrap_counts(4, 2, seed=0))
    ...     scores = sg.score(engine, forest, roots, samples, sg.MeanSquaredError())
    >>> (scores.errors[0] < 1e-12).tolist()  # x0 + x0 is the target
    [True, True]
    """
    roots = as_roots(forest, roots)
    if (roots[1:] > roots[:-1]).all():
        return score_all(Programs(engine, forest, roots), samples, loss, expect_more=expect_more)
    distinct, position = np.unique(roots, return_inverse=True)
    errors, scaling = score_all(Programs(engine, forest, distinct), samples, loss, expect_more=expect_more)
    return Scores(errors[position], Scaling(scaling.slope[position], scaling.intercept[position]))


def score_all(scored: Scored, samples: Samples, loss: Loss, *, expect_more: bool = False) -> Scores:
    """Errors, slopes and intercepts on every sample."""
    needs_second_pass = loss.row_loss is not RowLoss.SQUARED
    if needs_second_pass and not loss.linear_scaling:
        return _sum_over_rows(scored, samples, identity_scaling((len(scored), samples.total.size)), loss)
    moments = _settled_moments(scored, samples, expect_more=needs_second_pass or expect_more)
    fit = fit_linear_scaling(moments, samples, scored.dtype) if loss.linear_scaling else no_scaling(moments, samples)
    if needs_second_pass:
        return _sum_over_rows(scored, samples, fit.scaling, loss)
    return Scores(mask_unusable(_refine(scored, samples, fit, loss), fit.scaling), fit.scaling)


def _settled_moments(scored: Scored, samples: Samples, *, expect_more: bool) -> Moments:
    """Moments of all, summed again about each sample's mean for those that need it."""
    moments = scored.moments(samples, expect_more=expect_more)
    rows = np.flatnonzero(is_doubtful(moments, samples, scored.dtype))
    if rows.size == 0:
        return moments
    wanted = np.ones((rows.size, samples.total.size), dtype=np.bool_)
    return replace_rows(moments, rows, _look_again(scored, samples, moments, rows, wanted))


def _look_again(
    scored: Scored, samples: Samples, moments: Moments, rows: NDArray[np.intp], wanted: NDArray[np.bool_]
) -> Moments:
    """Sums of the wanted pairs about each sample's own mean, in float64, scaled by what the sample's rows reach."""
    shape = wanted.shape
    shift = np.array(np.broadcast_to(moments.centre.shift[rows], shape))
    scale = np.array(np.broadcast_to(as_scale(moments.reach[rows])[:, None], shape))
    rough = scored.exact_moments(rows, samples, Centre(shift, scale), wanted)
    means = sample_means(rough, samples)
    centre = Centre(np.where(wanted, means, np.nan), as_scale(rough.reach))
    return scored.exact_moments(rows, samples, centre, wanted & np.isfinite(means))


def as_scale(reach: Matrix) -> Matrix:
    """Reaches as scales: where all outputs are equal, any scale does."""
    return np.where((reach > 0) & np.isfinite(reach), reach, 1.0)


def fit_pairs(engine: Engine, forest: Forest, roots: Roots, samples: Samples, wanted: NDArray[np.bool_]) -> Scaling:
    """Two-pass linear scaling in float64 of the wanted pairs of distinct programs and samples; the others are NaN."""
    scored = Programs(engine, forest, roots)
    moments = scored.moments(samples, expect_more=True)
    exact = _look_again(scored, samples, moments, np.arange(roots.size), wanted)
    slope, intercept = fit_linear_scaling(exact._replace(reach=moments.reach), samples, engine.dtype).scaling
    return Scaling(np.where(wanted, slope, np.nan), np.where(wanted, intercept, np.nan))


def _sum_over_rows(scored: Scored, samples: Samples, scaling: Scaling, loss: Loss) -> Scores:
    sums = scored.errors(np.arange(len(scored)), scaling, samples, loss)
    return Scores(mask_unusable(sums / samples.total, scaling), scaling)


def _refine(scored: Scored, samples: Samples, fit: Fit, loss: Loss) -> NDArray[np.float64]:
    """Squared errors, from residuals where outputs fit almost perfectly."""
    with np.errstate(over="ignore"):
        variance = np.float64(samples.target.scale) ** 2 * samples.target.variance
    is_near = (fit.error < NEARLY_PERFECT[scored.dtype.name] * variance).any(axis=1)
    rows = np.flatnonzero(is_near & np.isfinite(fit.scaling.slope).all(axis=1))
    if rows.size == 0:
        return fit.error
    errors = fit.error.copy()
    own = Scaling(fit.scaling.slope[rows], fit.scaling.intercept[rows])
    errors[rows] = scored.errors(rows, own, samples, loss) / samples.total
    return errors


def row_errors(
    engine: Engine, forest: Forest, roots: Roots, samples: Samples, loss: Loss, rows: NDArray[np.intp]
) -> Matrix:
    """Errors of programs on single rows, (n_programs, n_rows), with the scaling of the first of the samples.

    The programs are evaluated again on these rows alone, which costs little if they are few.
    """
    errors, scaling = score(engine, forest, roots, samples, loss)
    distinct, position = np.unique(roots, return_inverse=True)
    outputs = engine.outputs(forest, distinct, rows)[position.ravel()].astype(np.float64)
    with np.errstate(all="ignore"):
        scaled = scaling.intercept[:, :1] + scaling.slope[:, :1] * outputs
    losses = loss.of_rows(engine.target_of(rows), scaled)
    is_usable = np.isfinite(losses) & np.isfinite(errors[:, :1])
    return np.where(is_usable, losses, np.inf)
