"""Numbers of a formula with as many digits as make a difference."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from symgrove.forest.forest import Forest
from symgrove.forest.values import slopes_of, values_of

Matrix = NDArray[np.float64]
FEWEST, MOST = 2, 10  # digits
STEP = 1e-6  # relative, for differences
SHARE_OF_SPREAD = 0.01  # of the values, by which digits that are left out for people may move them
SHARE_OF_ROWS = 0.9  # of rows, those that move least: predictions may be huge near a pole


def with_few_digits(forest: Forest, root: int, X: Matrix, margin: float) -> int:
    """The program, its constants rounded as far as its values on most rows move by at most `margin`.

    Each constant has a share of that; what they do together is looked at afterwards.
    """
    constants = [node for node in forest.reachable([root]) if forest.name(node) == "constant"]
    own = {node: float(forest.columns.value[node]) for node in constants}
    slopes = _slopes(forest, root, X, {node: value for node, value in own.items() if value})
    share = margin / max(1.0, np.sqrt(len(slopes)))
    digits = {}
    for node, slope in slopes.items():
        errors = (abs(_rounded(own[node], d) / own[node] - 1) * slope <= share for d in range(FEWEST, MOST + 1))
        digits[node] = FEWEST + next((k for k, is_enough in enumerate(errors) if is_enough), MOST - FEWEST)
    while True:
        rounded = {node: _rounded(own[node], d) for node, d in digits.items()}
        if _moved(forest, root, X, rounded) <= margin or min(digits.values(), default=MOST) >= MOST:
            return replaced(forest, root, rounded)
        digits = {node: min(d + 1, MOST) for node, d in digits.items()}


def with_short_numbers(forest: Forest, root: int, X: Matrix, margin: float, most: int) -> int:
    """As `with_few_digits`, but with at most so many digits, unless that moves the values by a part of their spread."""
    few = with_few_digits(forest, root, X, margin)
    short = with_digits(forest, few, most)
    before, after = values_of(forest, [few, short], X)
    with np.errstate(all="ignore"):
        moved = _on_most_rows((after - before)[np.isfinite(before)])
        spread = float(before[np.isfinite(before)].std()) if np.isfinite(before).any() else 0.0
    return short if moved <= max(margin, SHARE_OF_SPREAD * spread) else few


def _slopes(forest: Forest, root: int, X: Matrix, own: Mapping[int, float]) -> dict[int, float]:
    """By how much a relative change of each constant moves the values on most rows, for each unit of the change."""
    names = {forest.name(node) for node in forest.reachable([root]) if forest.children(node)}
    if not all(forest.primitives[name].derivative for name in names):
        return {node: _moved(forest, root, X, {node: v * (1 + STEP)}) / STEP for node, v in own.items()}
    has = np.isfinite(values_of(forest, [root], X)[0])
    slopes = slopes_of(forest, root, X[has], list(own))
    return {node: _on_most_rows(slope * own[node]) for node, slope in zip(own, slopes, strict=True)}


def _rounded(value: float, digits: int) -> float:
    return float(f"{value:.{digits}g}")


def _moved(forest: Forest, root: int, X: Matrix, constants: Mapping[int, float]) -> float:
    """By how much other constants move the values on most rows where the program has any."""
    with np.errstate(all="ignore"):
        before, after = values_of(forest, [root], X)[0], values_of(forest, [root], X, constants)[0]
        return _on_most_rows((after - before)[np.isfinite(before)])


def _on_most_rows(moved: Matrix) -> float:
    if not moved.size:
        return 0.0
    return float(np.quantile(np.where(np.isfinite(moved), np.abs(moved), np.inf), SHARE_OF_ROWS, method="lower"))


def with_digits(forest: Forest, root: int, digits: int) -> int:
    """The program, every constant rounded to so many significant digits."""
    constants = (node for node in forest.reachable([root]) if forest.name(node) == "constant")
    return replaced(forest, root, {node: _rounded(float(forest.columns.value[node]), digits) for node in constants})


def replaced(forest: Forest, root: int, constants: Mapping[int, float]) -> int:
    """The program with other constants; factors and exponents that become one are left out."""
    made: dict[int, int] = {}
    for node in forest.reachable([root]):
        children = [made[child] for child in forest.children(node)]
        if children:
            made[node] = _applied(forest, forest.name(node), children)
        else:
            made[node] = forest.constant(constants[node]) if node in constants else node
    return made[root]


def _applied(forest: Forest, name: str, children: list[int]) -> int:
    one = forest.constant(1.0)
    if name in ("mul", "div", "plain_div", "power") and children[1] == one:
        return children[0]
    if name == "mul" and children[0] == one:
        return children[1]
    return forest.apply(name, *children)
