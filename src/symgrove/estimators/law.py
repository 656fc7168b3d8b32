"""Estimator of Law; the search is methods/law/."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from symgrove._checks import check_whole
from symgrove.estimators.law_rules import check_rules
from symgrove.estimators.left_out import SEARCH, held_out, score_of_search
from symgrove.estimators.parameters import EvolutionParameters, check_choice, check_evolution, check_transform
from symgrove.estimators.regressor import Regressor
from symgrove.estimators.runs import Finished, Limits
from symgrove.estimators.units import check_units, units_of_fit, warn_without_formula
from symgrove.evolution.checkpoint import Checkpoint
from symgrove.evolution.interrupt import Interrupt
from symgrove.evolution.progress import say
from symgrove.evolution.remaining import Left
from symgrove.evolution.watching import Moment, current_watcher
from symgrove.forest.text import to_text
from symgrove.methods.law.choosing import RULES, Entry
from symgrove.methods.law.fitted import LawSettings, Searched, SoFar, find_front, model_of
from symgrove.methods.law.functions import CHOICES
from symgrove.methods.law.units import Units
from symgrove.methods.law.warm_up import compile_kernels
from symgrove.methods.problem import Problem, Rows
from symgrove.methods.programs import Fitted
from symgrove.models.document import Document
from symgrove.models.front import Front, FrontPoint
from symgrove.models.intervals import learn_from_left_out
from symgrove.models.model import LeftOut
from symgrove.models.task import Regression

# Why a search ended; of several targets the first of these counts.
REASONS = ("interrupted", "time", "everything", "noise", "exact")
Matrix = NDArray[np.float64]
LEAST_MEMORY = 600 << 20


class LawRegressor(Regressor):
    """One short formula, found by search, and by evolution where there is no law.

    Sums, products, quotients and powers of features in their own units, with a few constants and functions. Formulas
    are looked for among sums of up to three monomials with continuous exponents, and in a library of 100,000 small
    expressions, of which products and sums of one, two and three are compared with transforms of the target. Constants
    are found by least squares, and become simple numbers where data do not contradict. If none of these is exact, or
    leaves nothing but noise, formulas of every size evolve. The best of every size is on the front.

    Parameters
    ----------
    functions : sequence of str, default=('log', 'exp', 'sin', 'cos', 'tanh', 'arcsin', 'arccos', 'max', 'min')
        Functions that formulas may have, of log, exp, sin, cos, tanh, arcsin, arccos, max and min.
        Arithmetic, and powers with halves and thirds, are always there.
    choose : "auto", "mdl", "one_se", "accuracy" or int, default='auto'
        Which formula of the front predicts. accuracy: the one with the lowest error on rows that the search did not
        see, a fifth of them, at most 2,000; of up to 300 rows without a law, each is left out of one of five searches.
        one_se: the smallest whose error there is within one standard error of that, of the difference. mdl: of those
        within two standard errors, the one with which data and formula are described in the fewest bits. auto: mdl
        where the search ended with a law (`stop_reason_` is exact or noise); else, of at most 60 nodes, the first if it
        is within two standard errors, or the lowest n log(error²) + m log(held_out_error²) + 2 nodes (as the
        search counts them), of n rows with m held out, or, of up to 300 rows, the smallest within half a standard
        error. A number: the best of at most this size. `use` changes it after the fit.
    units : dict, optional
        A unit for each column, by its name or place, as pint writes it: {"m": "kg", "v": "m/s"}; "" is none. Then only
        formulas are searched that are right in units. Needs pint and `target_unit`. See docs/law.md.
    target_unit : str, optional
        Unit of y; a list of them for several targets.
    constants_have_units : bool, default=False
        Whether constants have what unit a formula needs; else they are numbers.
    max_size : int, optional
        The most nodes that a formula of the front may have.
    effort : "full" or "quick", default='full'
        quick: only sums of monomials, and a third of the generations; a second or two instead of up to half a minute,
        with larger errors. Of few rows, one search.
    nested_constraints : dict, optional
        For a function, how many of others may be nested in it, as of PySR: {"sin": {"sin": 0, "cos": 0}} means neither
        within a sine. By default, everything may be.
    categorical_features : "from_dtype", None or array-like, default='from_dtype'
        As of the other estimators.
    max_time : float, optional
        Seconds after which the search ends with what it has.
    calibration : float, optional
        Share of the rows that is kept out of the fit, for intervals with a guarantee.
    target_transform : "log", "box-cox" or None
        As of the other estimators: formulas are of the transformed target, predictions in its own units. Not with
        `units`.
    memory_budget : int, optional
        A fit is refused if this is below what a search needs at least, 600 MiB; many rows take more.
    n_jobs : int, optional
        Threads of predictions. The search has one.
    random_state : int, RandomState instance or None, default=None
    verbose : int, default=0
        Above 0, the best formula so far is shown on stderr.

    Attributes
    ----------
    front_ : Front
        The best formula of every size: size, error, held_out_error, description_length, formula, latex, sympy, predict.
        A table, a frame (`to_frame`), a plot (`plot`). Of several targets, a list with one for each.
    stop_reason_ : str
        Why the search ended: exact; noise (what is left cannot be told from noise, and the formula is short);
        everything (has been tried); time; interrupted.
    ensemble_ : list of Member
        The formula as a member; with several targets, one for each.
    columns_ : TableColumns
        What features are made of columns with categories and missing values.
    model_ : Model
        What predicts, shows, exports and saves.
    feature_importances_ : ndarray of shape (n_features,)
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only if X had column names.

    Notes
    -----
    Size is the number of nodes of the SymPy expression of a formula as it is shown, every constant counted. The first
    Ctrl-C ends the search and leaves a fitted model.

    Examples
    --------
    >>> import numpy as np
    >>> from symgrove import LawRegressor
    >>> X = np.random.default_rng(0).uniform(1, 3, (50, 2))
    >>> model = LawRegressor(effort="quick", random_state=0).fit(X, X[:, 0] ** 2 / X[:, 1])
    >>> model.formula(), model.stop_reason_
    ('x0^2 / x1', 'exact')
    """

    has_out_of_bag = False
    _searched: Searched | None = None

    def __init__(
        self,
        *,
        functions: Any = CHOICES,
        choose: Any = "auto",
        units: Any = None,
        target_unit: Any = None,
        constants_have_units: bool = False,
        max_size: int | None = None,
        effort: str = "full",
        nested_constraints: Any = None,
        categorical_features: Any = "from_dtype",
        max_time: float | None = None,
        calibration: float | None = None,
        target_transform: str | None = None,
        memory_budget: int | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.functions = functions
        self.choose = choose
        self.units = units
        self.target_unit = target_unit
        self.constants_have_units = constants_have_units
        self.max_size = max_size
        self.effort = effort
        self.nested_constraints = nested_constraints
        self.categorical_features = categorical_features
        self.max_time = max_time
        self.calibration = calibration
        self.target_transform = target_transform
        self.memory_budget = memory_budget
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def check_parameters(self) -> None:
        for function in self._functions():
            check_choice("functions", function, CHOICES)
        _check_choose(self.choose)
        check_units(self.units, self.target_unit, self.constants_have_units)
        check_rules(self.max_size, self.nested_constraints)
        check_choice("effort", self.effort, ("full", "quick"))
        shared = ("max_time", "calibration", "memory_budget", "n_jobs", "verbose")
        check_evolution(EvolutionParameters(**{name: getattr(self, name) for name in shared}))
        check_transform(self)
        if self.units is not None and self.target_transform is not None:
            raise ValueError("units are those of y, and the fit is of the transformed y: set target_transform=None.")

    def _functions(self) -> tuple[str, ...]:
        given = (self.functions,) if isinstance(self.functions, str) else self.functions
        if not isinstance(given, (list, tuple)):
            raise TypeError(f"functions must be a list or tuple of names, got {given!r}.")
        return tuple(given)

    def _units(self, problem: Problem) -> list[Units] | None:
        n_targets, are_free = problem.task.n_targets, bool(self.constants_have_units)
        return units_of_fit(self.units, self.target_unit, self.columns_, n_targets, are_free=are_free)

    # Fitting

    def _compile(self) -> None:
        compile_kernels()

    def _within_memory(self, problem: Problem) -> Problem:
        if self._memory_budget() < LEAST_MEMORY:
            raise ValueError(
                f"memory_budget={self.memory_budget} bytes is too small: a search needs at least {LEAST_MEMORY}. Raise "
                "it."
            )
        return problem

    def _evolve(
        self,
        problem: Problem,
        limits: Limits,
        checkpoint: Checkpoint,
        interrupt: Interrupt,
        given: tuple[Any, Any] | None = None,
    ) -> Finished:
        end = np.inf if limits.max_time is None else time.perf_counter() + limits.max_time
        units = self._units(problem)
        rules = units, self.max_size, self.nested_constraints or {}, self.effort == "quick", self._names
        tell = partial(self._tell, problem, time.perf_counter())
        settings = LawSettings(self._functions(), end, lambda: interrupt.is_requested, tell, *rules)
        fronts = [find_front(problem, k, settings) for k in range(problem.task.n_targets)]
        warn_without_formula(units, [front.entries for front in fronts])
        training, task = problem.training, problem.task
        assert isinstance(task, Regression)
        fallbacks = [float(np.average(target, weights=training.weight)) for target in training.targets]
        owners = [] if self.columns_.is_plain else [self.columns_.owners]
        importances = [
            np.array([
                model_of(task.of_one(k), fallbacks[k : k + 1], [entry]).importances(training.X, problem.seed, *owners)
                for entry in front.entries
            ])
            for k, front in enumerate(fronts)
        ]  # fmt: skip
        held_out = training.targets[0][fronts[0].held_out]
        reasons = ["interrupted" if interrupt.is_requested else front.reason for front in fronts]
        searched = Searched([front.entries for front in fronts], fallbacks, importances, held_out, reasons)
        reason = min(reasons, key=REASONS.index)
        fitted = Fitted(searched.model(problem.task, self.choose), [])
        left_out = _said_of(searched.chosen(self.choose)[0].held_out, fronts[0].held_out, training)
        return Finished(fitted, {}, reason, 0, {"_searched": searched}, left_out)

    def _set_fitted(self, problem: Problem, finished: Finished) -> None:
        super()._set_fitted(problem, finished)
        del self.n_generations_, self.history_  # there are none
        self._seed = problem.seed
        assert self._searched is not None
        self._set_front(self._searched)
        self._held_out = self._held_out or score_of_search(problem, finished.left_out)
        self.feature_importances_ = self._searched.importances_of(self.choose)

    def _set_front(self, searched: Searched) -> None:
        """Show what was searched; also after reading a file."""
        self._searched = searched
        reading, task = self.model_.reading, self.model_.task
        assert isinstance(task, Regression)
        points = [
            [
                FrontPoint(
                    error=float(np.sqrt(entry.error)),
                    held_out_error=float(np.sqrt(entry.held_out_error)),
                    description_length=entry.description,
                    _model=model_of(task.of_one(k), [fallback], [entry]).with_reading(
                        None if reading is None else reading.with_residual(np.sqrt(entry.error))
                    ),
                    _names=self._names,
                    _columns=self.columns_,
                    _size=entry.size,
                )
                for entry in entries
            ]
            for k, (entries, fallback) in enumerate(zip(searched.entries, searched.fallbacks, strict=True))
        ]
        self.front_: Any = self._with_chosen(points)

    def _with_chosen(self, fronts: Sequence[Sequence[FrontPoint]]) -> Any:
        """Fronts, or the only one, that know which point predicts."""
        assert self._searched is not None
        places = self._searched.places(self._fitted_with["choose"])
        found = [Front(own, place) for own, place in zip(fronts, places, strict=True)]
        return found[0] if len(found) == 1 else found

    def use(self, choose: str | int | None = None, *, size: int | None = None) -> Self:
        """Predict with another formula of the front, picked by a rule or by its size.

        What intervals were learned from rows kept out of the fit is gone: `calibrate` again. Files do not hold rows,
        so that a model that was read from one has no intervals at all until then.

        Parameters
        ----------
        choose : "auto", "mdl", "one_se", "accuracy" or int, optional
        size : int, optional
            The best of at most so many nodes; the same as a number for `choose`.

        Returns
        -------
        self
        """
        check_is_fitted(self)
        if (choose is None) == (size is None):
            raise TypeError(f"use takes a rule or a size, one of both, got choose={choose!r} and size={size!r}.")
        if size is not None:
            check_whole("size", size, 1)
        choose = size if choose is None else choose
        assert choose is not None
        _check_choose(choose)
        searched = self._searched
        if searched is None:
            raise ValueError("this model was read from a file without a front; fit again to choose another formula.")
        self._held_out = self._scored_again(searched.chosen(self._fitted_with["choose"]), searched.chosen(choose))
        self.choose = choose
        self._fitted_with = {**self._fitted_with, "choose": choose}
        reading, error = self.model_.reading, min(entry.error for entry in searched.chosen(choose))
        model = searched.model(self.model_.task, choose)
        self.model_ = model if reading is None else model.with_reading(reading.with_residual(np.sqrt(error)))
        self.front_ = self._with_chosen([self.front_] if isinstance(self.front_, Front) else self.front_)
        self.ensemble_ = self.model_.members(self._names)
        self.feature_importances_ = searched.importances_of(choose)
        self._uncertainty = None
        if searched.held_out_target is not None and self.model_.task.n_targets == 1:
            said = searched.chosen(choose)[0].held_out
            left_out = LeftOut(said[None], np.zeros(said.size))
            self._uncertainty = learn_from_left_out(left_out, searched.held_out_target, self._seed)
        return self

    def _scored_again(self, before: Sequence[Entry], after: Sequence[Entry]) -> Document | None:
        """The score of another formula on the rows that the search did not see; files hold only its error there."""
        own = self._held_out
        if own is None or own["of"] != SEARCH or not before[0].held_out_error:
            return None
        task, target = self.model_.task, None if self._searched is None else self._searched.held_out_target
        if task.transforms:  # errors are of the transformed target, scores in units
            said = after[0].held_out[None]
            return (
                None if target is None else held_out(task.out_of_bag_score(said, target[None], None), SEARCH, said.size)
            )
        left = (1 - own["value"]) * after[0].held_out_error / before[0].held_out_error
        return held_out(1 - left, SEARCH, own["n_rows"])

    def _tell(self, problem: Problem, start: float, step: str, so_far: SoFar) -> None:
        """Of a step of the search, on stderr and to whoever watches."""
        watcher = current_watcher()
        best = so_far.best if self.verbose or watcher is not None else None
        if best is None:
            return
        if self.verbose:
            shown = to_text(best.forest, best.root, self._names, 4)
            unit, error = self._fitted_target, np.sqrt(best.error)
            say(type(self).__name__, f"{step}: {shown[:100]} (training RMSE {error:.4g}, in units of {unit})")
        if watcher is None:
            return
        seconds = time.perf_counter() - start
        left = None if self.max_time is None else Left(*[max(self.max_time - seconds, 0.0)] * 3)
        if so_far.fold or so_far.target:  # the front of the first is what people watch
            watcher(Moment(f"another search, {step}", seconds, left, None, None))
            return
        front = so_far.front()
        errors = self._shown_errors(problem, np.array([entry.error for entry in front]))
        watcher(Moment(step, seconds, left, errors, partial(self._points_so_far, problem, front)))

    def _points_so_far(self, problem: Problem, front: Sequence[Entry]) -> list[FrontPoint]:
        """The best of every size, as points of the first target."""
        assert isinstance(problem.task, Regression)
        task, fallback = problem.task.of_one(0), float(np.average(problem.training.targets[0]))
        return [
            FrontPoint(
                error=float(np.sqrt(entry.error)),
                description_length=entry.description,
                _model=model_of(task, [fallback], [entry]),
                _names=self._names,
                _columns=self.columns_,
            )
            for entry in front
        ]


def _said_of(said: Matrix, places: NDArray[np.intp], training: Rows) -> LeftOut:
    """What the chosen formula said of the rows held out, as it was before it was fitted on them too."""
    prediction, spread = np.full((1, len(training.X)), np.nan), np.full(len(training.X), np.nan)
    prediction[0, places] = said
    spread[places] = 0.0
    return LeftOut(prediction, spread)


def _check_choose(value: Any) -> None:
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        check_whole("choose", value, 1)
    elif not (isinstance(value, str) and value in RULES):
        raise ValueError(f"choose must be one of {', '.join(map(repr, RULES))}, or a size (int), got {value!r}.")
