"""The functions of one operand that formulas may have: what they are, what they cost, and with which numbers inside."""

from __future__ import annotations

from math import pi
from typing import NamedTuple

from symgrove.methods.law import least_squares_kernels as kernels


class LawFunction(NamedTuple):
    """A function.

    Attributes
    ----------
    primitive : str
    bits : float
        Of writing it down. A function that is nearly a line or a power somewhere must pay for it: many are tried.
    numbers : tuple of float
        That operands are multiplied by in atoms; none: there are no such atoms.
    n_atoms : int
        At most.
    is_wide : bool
        Whether operands may be sums.
    """

    primitive: str
    bits: float
    numbers: tuple[float, ...] = ()
    n_atoms: int = 0
    is_wide: bool = False


# By the names that users and formulas have for them.
FUNCTIONS = {
    "sqrt": LawFunction("plain_sqrt", 3.5),
    "log": LawFunction("plain_log", 7.0, (1.0,), 1000),
    "exp": LawFunction(
        "plain_exp", 6.0, (1.0, -1.0, 0.5, -0.5, 1 / (2 * pi), -1 / (2 * pi), 2.0, -2.0), 4500, is_wide=True
    ),
    "sin": LawFunction("sin", 6.0, (1.0, 0.5, 2.0, pi, 2 * pi), 4500, is_wide=True),
    "cos": LawFunction("cos", 6.0, (1.0, 2.0, 0.5, pi, 2 * pi, 4 * pi), 4500, is_wide=True),
    "tanh": LawFunction("tanh", 9.0, (1.0, 0.5), 800),
    "arcsin": LawFunction("arcsin", 9.0, (1.0,), 300),
    "arccos": LawFunction("arccos", 9.0),
}
EXTREMES = ("max", "min")  # of two operands; only evolution makes formulas of them
# What users may choose from: powers with halves are always there.
CHOICES = (*(name for name in FUNCTIONS if name != "sqrt"), *EXTREMES)

# What evolution makes programs of, besides functions that the user allows; the others come with what was found before.
EVOLVED = ("add", "sub", "mul", "plain_div", "square", "plain_sqrt")
EVOLVED_IF_ALLOWED = ("log", "exp", *EXTREMES)
# Terms to insert are thresholds of one feature, and these of two.
THRESHOLDS = ("max",)
OF_TWO_FEATURES = ("mul", "plain_div", *EXTREMES)
# What the kernels of least squares call each primitive.
OPERATIONS = {
    "add": kernels.ADD,
    "sub": kernels.SUB,
    "mul": kernels.MUL,
    "plain_div": kernels.DIV,
    "neg": kernels.NEG,
    "square": kernels.SQUARE,
    "plain_sqrt": kernels.SQRT,
    "plain_log": kernels.LOG,
    "plain_exp": kernels.EXP,
    "sin": kernels.SIN,
    "cos": kernels.COS,
    "tanh": kernels.TANH,
    "arcsin": kernels.ARCSIN,
    "arccos": kernels.ARCCOS,
    "max": kernels.MAX,
    "min": kernels.MIN,
}
