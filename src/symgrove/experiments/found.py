"""Whether a formula is the law: by its values on other rows, and by SRBench's rule.

By values: on rows without noise, from ranges 1.5 times wider, the formula is the truth up to a factor or an offset,
with a relative root mean squared error below 1e-6; with noise, after its constants were fitted on rows without noise,
and if the fit as it was is within five times the noise.

By SRBench's rule (La Cava et al. 2021, symbolic solution): SymPy simplifies the formula minus the truth, or the formula
over the truth, to a constant, once constants are rounded to three decimals. SymPy may take for ever, so it works in a
process of its own: `python -m symgrove.experiments.found` reads a formula and a truth, and writes the verdict.
"""

from __future__ import annotations

import json
import subprocess
import sys
import warnings
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import sympy
from numpy.typing import NDArray
from scipy.optimize import least_squares

from symgrove.experiments.laws import Equation

Matrix = NDArray[np.float64]
N_WIDE, N_CLEAN, WIDER = 2000, 3000, 1.5
EXACT, TIMES_NOISE = 1e-6, 5.0
LEAST_KNOWN = 0.98  # of the rows of the truth, the share on which a formula must have a value
FAR = 1e3  # standard deviations, beyond which a residual counts no more
MOST_EVALUATIONS = 300  # of a fit of constants
DECIMALS, MOST_DENOMINATOR = 3, 12
SECONDS_FOR_SYMPY = 60.0
N_LOOKED_AT, LEVEL = 200, 1e-6  # rows on which a difference is seen not to be constant, and how much it then varies


class ByValues(NamedTuple):
    """Found or not; the errors on wider rows, and of the formula as it was on rows like those of the fit."""

    is_found: bool
    error: float
    error_as_it_was: float


def judge_values(formula: Any, truth: Equation, noise: float, seed: int) -> ByValues:
    """The first rule, for a SymPy expression of the truth's symbols."""
    free = FreeFormula(formula, truth.symbols())
    X_wide, y_wide = truth.uniform_rows(N_WIDE, seed, WIDER)
    X_clean, y_clean = truth.uniform_rows(N_CLEAN, seed)
    error = relative_error(free(X_wide, free.constants), y_wide)
    if noise:
        error = min(error, relative_error(free(X_wide, free.fitted(X_clean, y_clean)), y_wide))
    as_it_was = relative_error(free(X_clean, free.constants), y_clean)
    return ByValues(bool(error < EXACT and (not noise or as_it_was < TIMES_NOISE * noise)), error, as_it_was)


def relative_error(predicted: Matrix, y: Matrix) -> float:
    """Up to a factor or an offset, where both have values; infinite if the prediction has few."""
    known = np.isfinite(predicted)
    if known.mean() < LEAST_KNOWN:
        return np.inf
    predicted, y = predicted[known], y[known]
    with np.errstate(over="ignore", invalid="ignore"):
        factor = (predicted * y).sum() / ((predicted**2).sum() + 1e-300)
        of_factor = np.sqrt(np.mean((y - factor * predicted) ** 2) / np.mean(y**2))
        of_offset = np.std(y - predicted) / (np.std(y) + 1e-300)
    return float(np.nanmin([of_factor, of_offset, np.inf]))


class FreeFormula:
    """A formula whose constants can be changed; whole numbers, exponents in twelfths, and what is no decimal, stay."""

    def __init__(self, formula: Any, symbols: list[Any]) -> None:
        if formula.has(sympy.zoo, sympy.nan, sympy.oo, -sympy.oo):  # which have no value anywhere
            formula = sympy.Float("nan")
        numbers: dict[Any, Any] = {}
        freed = _freed(formula, numbers)
        self.constants = np.array([float(n) for n in numbers])
        self._values = sympy.lambdify([symbols, [*numbers.values()]], freed, modules=["scipy", "numpy"])

    def __call__(self, X: Matrix, constants: Matrix) -> Matrix:
        """Values on rows; not a number where there is none."""
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = np.asarray(self._values(X.T, constants) * np.ones(len(X)))
        return np.where(np.abs(found.imag) > 0, np.nan, found.real) if np.iscomplexobj(found) else found

    def fitted(self, X: Matrix, y: Matrix) -> Matrix:
        """Constants that suit other rows."""
        if not self.constants.size:
            return self.constants
        scale = np.std(y) + 1e-300

        def residuals(constants: Matrix) -> Matrix:
            return np.clip(np.nan_to_num((self(X, constants) - y) / scale, nan=FAR), -FAR, FAR)

        steps = np.abs(self.constants) + 1e-3
        return np.asarray(least_squares(residuals, self.constants, x_scale=steps, max_nfev=MOST_EVALUATIONS).x)


def _freed(expression: Any, numbers: dict[Any, Any]) -> Any:
    """With a symbol in the place of every constant that can be changed; equal ones have one symbol."""
    if expression.is_Float and float(expression) % 1:
        return numbers.setdefault(expression, sympy.Dummy(f"c{len(numbers)}", real=True))
    parts = [
        own if expression.is_Pow and k and own.is_Float and not (12 * float(own)) % 1 else _freed(own, numbers)
        for k, own in enumerate(expression.args)
    ]
    return expression.func(*parts) if parts else expression


def values_of(formula: Any, X: Matrix, symbols: list[Any]) -> Matrix:
    """What a formula is on rows; not a number where it has no value."""
    free = FreeFormula(formula, symbols)
    return free(X, free.constants)


def size_of(formula: Any) -> int:
    """Nodes of a SymPy expression, every constant counted."""
    return len([*sympy.preorder_traversal(formula)])


def is_solution(formula: Any, truth: Any, X: Matrix, symbols: list[Any]) -> bool:
    """SRBench's rule, for SymPy expressions; `X` are rows, on which most differences are seen not to be constant."""
    if not formula.free_symbols:
        return False
    for own in dict.fromkeys([formula, sympy.expand(formula)]):
        for compared, is_ratio in ((own - truth, False), (own / truth, True)):
            short = rounded(compared)
            scale = 1.0 if is_ratio else float(np.abs(values_of(truth, X, symbols)).max())
            if _varies(short, X, symbols, scale):
                continue
            left = short if not short.free_symbols else _simplified(short)
            if not left.free_symbols and left.is_finite and not (is_ratio and left == 0):
                return True
    return False


def _simplified(expression: Any) -> Any:
    """As SymPy can, which fails on some formulas."""
    try:
        return sympy.simplify(expression)
    except Exception:
        return expression


def _varies(expression: Any, X: Matrix, symbols: list[Any], scale: float) -> bool:
    """Whether values tell without any algebra that an expression is not constant."""
    values = values_of(expression, X, symbols)
    values = values[np.isfinite(values)]
    return bool(values.size and np.ptp(values) > LEVEL * max(scale, float(np.abs(values).max())))


def rounded(expression: Any) -> Any:
    """Constants with three decimals, as fractions, so that SymPy finds equal ones equal.

    One that a simple fraction rounds to is that fraction: 0.333 is a third, also as an exponent.
    """
    evaluated = _with_numbers(expression)
    numbers = {n: _simple(float(n)) for n in evaluated.atoms(sympy.Float)}
    return evaluated.xreplace(numbers)


def _with_numbers(expression: Any) -> Any:
    """With numbers in the place of π, roots of numbers and the like, also inside functions."""
    if expression.is_number:
        number = expression if expression.is_Integer else expression.evalf()
        return number if number.is_Float else expression
    return expression.func(*map(_with_numbers, expression.args)) if expression.args else expression


def _simple(value: float) -> Any:
    near = round(value, DECIMALS)
    simple = Fraction(near).limit_denominator(MOST_DENOMINATOR)
    chosen = simple if round(float(simple), DECIMALS) == near else Fraction(str(near))
    return sympy.Rational(chosen.numerator, chosen.denominator)


def judge_symbols(formula: Any, truth: Equation, seed: int, seconds: float = SECONDS_FOR_SYMPY) -> bool | None:
    """SRBench's rule, in a process that is ended if it takes longer: None then."""
    X, _ = truth.uniform_rows(N_LOOKED_AT, seed)
    signs = [own.low >= 0 for own in truth.ranges]
    question = {"formula": str(formula), "truth": str(truth.sympy()), "names": truth.features, "signs": signs}
    question["rows"] = X.tolist()
    try:
        done = subprocess.run(
            [sys.executable, "-m", "symgrove.experiments.found"],
            input=json.dumps(question),
            timeout=seconds,
            check=False,
            capture_output=True,
            text=True,
        )
    except subprocess.TimeoutExpired:
        return None
    if done.returncode:
        raise ValueError(f"SymPy could not compare {formula} with {truth.formula}: {done.stderr[-300:]}")
    return bool(json.loads(done.stdout))


def main() -> None:
    """A question on standard input, a verdict on standard output."""
    question = json.load(sys.stdin)
    symbols = [
        sympy.Symbol(name, positive=True) if is_positive else sympy.Symbol(name, real=True)
        for name, is_positive in zip(question["names"], question["signs"], strict=True)
    ]
    known = dict(zip(question["names"], symbols, strict=True))
    formula, truth = (sympy.sympify(question[what], locals=known) for what in ("formula", "truth"))
    sys.stdout.write(json.dumps(is_solution(formula, truth, np.array(question["rows"]), symbols)))


if __name__ == "__main__":
    main()
