"""Methods that look for formulas, each on one core until its time is up: ours, gplearn, Operon and PySR.

Settings of the others are those of SRBench (La Cava et al. 2021), or wider, so that the time is what limits them. Their
libraries are optional: `pip install symgrove[laws]`, and pysr, which installs Julia when it is imported.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from symgrove.estimators.law import LawRegressor
from symgrove.methods.law.warm_up import compile_kernels

Matrix = NDArray[np.float64]
FOREVER = 10**9  # generations and evaluations, where time is the limit
GPLEARN_FUNCTIONS = ("add", "sub", "mul", "div", "sqrt", "log", "sin", "cos")
OPERON_SYMBOLS = "add,sub,mul,div,exp,log,sqrt,square,sin,cos,tanh,asin,acos,pow,constant,variable"
GOOD_ENOUGH = 1e-12  # of the target's spread: the error at which gplearn stops


class Searcher(Protocol):
    """Something that is fitted and has then a formula, for SymPy, of the symbols that it is given.

    `reason` says why the search ended.
    """

    reason: str

    def fit(self, X: Matrix, y: Matrix) -> Any:
        """Search."""

    def formula(self, symbols: Sequence[Any]) -> Any:
        """What was found."""


class OfLaw:
    """Ours, with default parameters."""

    reason = "time"

    def __init__(self, seed: int, max_time: float) -> None:
        self.regressor = LawRegressor(max_time=max_time, random_state=seed)
        compile_kernels()  # is not part of the time

    def fit(self, X: Matrix, y: Matrix) -> None:
        """Search."""
        self.regressor.fit(X, y)
        self.reason = self.regressor.stop_reason_

    def formula(self, symbols: Sequence[Any]) -> Any:
        """The chosen one."""
        found = self.regressor.ensemble_[0].sympy
        return found.xreplace(_by_name(found, [f"x{k}" for k in range(len(symbols))], symbols))


class OfGplearn:
    """gplearn, a generation at a time, since it knows no time limit; the last one may be over time."""

    reason = "time"

    def __init__(self, seed: int, max_time: float) -> None:
        make = import_module("gplearn.genetic").SymbolicRegressor
        settings = {"population_size": 1000, "function_set": GPLEARN_FUNCTIONS, "metric": "rmse", "low_memory": True}
        self.regressor = make(**settings, generations=1, warm_start=True, random_state=seed)
        self.max_time = max_time

    def fit(self, X: Matrix, y: Matrix) -> None:
        """Search."""
        end, generations = time.perf_counter() + self.max_time, 0
        enough = GOOD_ENOUGH * float(np.std(y))
        while not generations or time.perf_counter() < end:
            generations += 1
            self.regressor.set_params(generations=generations)
            self.regressor.fit(X, y)
            if self.regressor.run_details_["best_fitness"][-1] <= enough:
                self.reason = "exact"
                return

    def formula(self, symbols: Sequence[Any]) -> Any:
        """The best of the last generation; functions without protection, but where an operand is zero on all rows."""
        sympy = import_module("sympy")
        known: dict[str, Callable[..., Any]] = {
            "add": lambda a, b: a + b,
            "sub": lambda a, b: a - b,
            "mul": lambda a, b: a * b,
            "div": lambda a, b: a / b if b != 0 else sympy.Integer(1),
            "sqrt": lambda a: sympy.sqrt(sympy.Abs(a)),
            "log": lambda a: sympy.log(sympy.Abs(a)) if a != 0 else sympy.Integer(0),
        }
        stack: list[Any] = []
        for node in reversed(self.regressor._program.program):
            if isinstance(node, (int, np.integer)):
                stack.append(symbols[int(node)])
            elif isinstance(node, float):
                stack.append(sympy.Float(node))
            else:
                operands = [stack.pop() for _ in range(node.arity)]
                function = known[node.name] if node.name in known else getattr(sympy, node.name)
                stack.append(function(*operands))
        return stack.pop()


class OfOperon:
    """Operon (pyoperon): errors and sizes as two objectives, constants by least squares in single precision.

    Of its front, the formula with the lowest Bayesian information criterion: its default needs the noise.
    """

    reason = "time"

    def __init__(self, seed: int, max_time: float) -> None:
        make = import_module("pyoperon.sklearn").SymbolicRegressor
        self.regressor = make(
            allowed_symbols=OPERON_SYMBOLS,
            objectives=["r2", "length"],
            model_selection_criterion="bayesian_information_criterion",
            population_size=1000,
            generations=FOREVER,
            max_evaluations=FOREVER,
            optimizer_iterations=5,
            max_time=max(1, round(max_time)),
            n_threads=1,
            random_state=seed,
        )

    def fit(self, X: Matrix, y: Matrix) -> None:
        """Search."""
        self.regressor.fit(X, y)

    def formula(self, symbols: Sequence[Any]) -> Any:
        """The chosen one."""
        text = self.regressor.get_model_string(self.regressor.model_, precision=17).replace("^", "**")
        known = {f"X{k}": own for k, own in enumerate(symbols, start=1)}
        sympy = import_module("sympy")
        return sympy.sympify(text, locals={**known, "abs": sympy.Abs})


class OfPySR:
    """PySR, in one process, with the functions that Operon has."""

    reason = "time"

    def __init__(self, seed: int, max_time: float) -> None:
        self.regressor = import_module("pysr").PySRRegressor(
            niterations=FOREVER,
            timeout_in_seconds=max_time,
            binary_operators=["+", "-", "*", "/", "^"],
            unary_operators=["exp", "log", "sqrt", "square", "sin", "cos", "tanh"],
            constraints={"^": (-1, 1)},
            parallelism="serial",
            deterministic=True,
            random_state=seed,
            precision=64,
            progress=False,
            verbosity=0,
            temp_equation_file=True,
        )

    def fit(self, X: Matrix, y: Matrix) -> None:
        """Search."""
        self.regressor.fit(X, y)

    def formula(self, symbols: Sequence[Any]) -> Any:
        """The chosen one."""
        found = self.regressor.sympy()
        return found.xreplace(_by_name(found, [f"x{k}" for k in range(len(symbols))], symbols))


def _by_name(expression: Any, names: Sequence[str], symbols: Sequence[Any]) -> dict[Any, Any]:
    """Symbols of an expression to others."""
    known = dict(zip(names, symbols, strict=True))
    return {own: known[own.name] for own in expression.free_symbols}


@dataclass(frozen=True)
class LawMethod:
    """A method of the study; `module` and `package` are what it needs besides symgrove."""

    label: str
    make: Callable[[int, float], Searcher]
    module: str = ""
    package: str = ""

    def why_not(self) -> str:
        """Why it cannot run here; empty if it can."""
        if not self.module:
            return ""
        try:
            import_module(self.module)
        except Exception as error:
            return f"{self.package} cannot be imported: {error}"
        return ""

    def version(self) -> str:
        """Of the package that it needs."""
        try:
            return version(self.package) if self.package else ""
        except PackageNotFoundError:
            return ""


METHODS = {
    "law": LawMethod("LawRegressor", OfLaw),
    "gplearn": LawMethod("gplearn", OfGplearn, "gplearn.genetic", "gplearn"),
    "operon": LawMethod("Operon", OfOperon, "pyoperon.sklearn", "pyoperon"),
    "pysr": LawMethod("PySR", OfPySR, "pysr", "pysr"),
}
