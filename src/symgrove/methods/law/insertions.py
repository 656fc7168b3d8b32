"""Which small terms, added to or multiplied with which node of a program, would lower its error most.

To first order, adding c t at a node moves the program by c times t times the slope of the program with respect to that
node. So the share of the residual that t explains there is a correlation, and those of all terms at all nodes are two
matrix products. Multiplying a node by 1 + c t is the same with the slope times the node's value.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from symgrove.blas import product
from symgrove.forest.forest import Forest, Ids
from symgrove.methods.law.archive import Archived
from symgrove.methods.law.fitted_programs import FittedPrograms
from symgrove.methods.law.functions import OF_TWO_FEATURES, THRESHOLDS

Matrix = NDArray[np.float64]
N_THRESHOLDS = 7
MOST_PAIRED = 15  # features whose pairs are terms
LARGEST_VALUE, SMALLEST_SPREAD = 1e8, 1e-9
SMALLEST_SHARE = 1e-6  # of what a term would be without the slope


class JudgedRows(NamedTuple):
    """The rows that insertions are judged on."""

    features: Matrix
    y: Matrix
    weight: Matrix


class InsertionTerms(NamedTuple):
    """Small programs to insert, standardised in single precision, (n_terms, n_rows), and squared."""

    roots: Ids
    centre: Matrix
    spread: Matrix
    values: NDArray[np.float32]
    squares: NDArray[np.float32]
    sizes: NDArray[np.int64]


def simple_terms(forest: Forest, features: Matrix, functions: Sequence[str]) -> list[int]:
    """Features, functions of one, thresholds, products, quotients and extremes of two."""
    own = [forest.feature(j) for j in range(len(features))]
    roots = [*own]
    for row in (forest.primitives[name] for name in functions):
        if row.arity == 1:
            roots += [forest.apply(row, x) for x in own]
        elif row.name in THRESHOLDS:
            for x, values in zip(own, features, strict=True):
                inner = np.linspace(0.0, 1.0, N_THRESHOLDS + 2)[1:-1]
                roots += [forest.apply(row, x, forest.constant(c)) for c in np.unique(np.quantile(values, inner))]
        if row.name in OF_TWO_FEATURES:
            pairs = [*combinations(own[:MOST_PAIRED], 2)]
            pairs += [] if row.commutes else [(b, a) for a, b in pairs]
            roots += [forest.apply(row, *pair) for pair in pairs]
    return roots


def make_terms(programs: FittedPrograms, roots: Ids, rows: JudgedRows) -> InsertionTerms:
    """Those of the programs that have values on the rows, and vary."""
    forest = programs.forest
    values = _values(forest, roots, rows.features)
    with np.errstate(all="ignore"):
        centre = product(values, rows.weight) / rows.weight.sum()
        spread = np.sqrt(product((values - centre[:, None]) ** 2, rows.weight) / rows.weight.sum())
        is_good = (np.abs(values).max(axis=1) < LARGEST_VALUE) & (spread > SMALLEST_SPREAD * np.abs(centre))
    is_good &= spread > 0
    roots, centre, spread = roots[is_good], centre[is_good], spread[is_good]
    standard = ((values[is_good] - centre[:, None]) / spread[:, None]).astype(np.float32)
    return InsertionTerms(roots, centre, spread, standard, standard**2, forest.size(roots).astype(np.int64))


def _values(forest: Forest, roots: Ids, features: Matrix) -> Matrix:
    found: dict[int, Matrix] = {}
    columns = forest.columns
    with np.errstate(all="ignore"):
        for node in forest.reachable(roots):
            name = forest.name(node)
            if name == "feature":
                found[node] = features[columns.left[node]]
            elif name == "constant":
                found[node] = np.full(features.shape[1], columns.value[node])
            else:
                children = forest.children(node)
                found[node] = forest.primitives[name].meaning(found[children[0]], found[children[-1]], 0.0)
    return np.array([found[root] for root in roots.tolist()])


class InsertionPlaces(NamedTuple):
    """Where a term may go: nodes, whether it multiplies there, and directions of length one, (n_places, n_rows)."""

    nodes: Ids
    multiplies: NDArray[np.bool_]
    directions: Matrix
    scale: Matrix


def places_of(programs: FittedPrograms, parent: Archived, rows: JudgedRows) -> tuple[InsertionPlaces, Matrix] | None:
    """All places of a program, and its residuals; None if it has no value on a row."""
    found = programs.slopes(parent.root, rows.features)
    if found is None:
        return None
    a, b = parent.line
    residuals = rows.y - a - b * found.values[-1]
    nodes = np.concatenate([found.nodes, found.nodes])
    multiplies = np.arange(nodes.size) >= found.nodes.size
    with np.errstate(all="ignore"):
        directions = b * np.concatenate([found.slopes, found.slopes * found.values])
        scale = np.sqrt((directions**2).mean(axis=1))
        is_good = np.isfinite(scale) & (scale > 0)
    directions = directions[is_good] / scale[is_good, None]
    return InsertionPlaces(nodes[is_good], multiplies[is_good], directions, scale[is_good]), residuals


def best_insertions(
    programs: FittedPrograms,
    parent: Archived,
    terms: InsertionTerms,
    rows: JudgedRows,
    n_most: int,
    share: float,
    rng: np.random.Generator,
) -> tuple[Ids, Ids]:
    """Nodes of the program, and what to put in their place: the best of a random share of all insertions."""
    nobody = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    found = places_of(programs, parent, rows)
    if found is None or not terms.roots.size:
        return nobody
    places, residuals = found
    n_rows, unit = residuals.size, float(np.abs(residuals).max())  # single precision has no room for huge squares
    if not unit > 0:
        return nobody
    weighted = (places.directions * (residuals / unit * rows.weight)).astype(np.float32)
    numerator = product(terms.values, weighted.T)
    denominator = product(terms.squares, (places.directions**2 * rows.weight).astype(np.float32).T)
    gain = numerator**2 / np.maximum(denominator, SMALLEST_SHARE * n_rows)
    gain *= rng.random(gain.shape) < share
    gain /= np.sqrt(terms.sizes + 3.0)[:, None]
    flat = gain.ravel()
    n_most = min(n_most, flat.size - 1)
    best = np.argpartition(-flat, n_most)[:n_most]
    best = best[flat[best] > 0]
    old, new = [], []
    for i, j in zip(*np.unravel_index(best, gain.shape), strict=True):
        step = float(numerator[i, j] / max(denominator[i, j], SMALLEST_SHARE * n_rows))
        coefficient = step * unit / float(places.scale[j] * terms.spread[i])
        if np.isfinite(coefficient):
            old.append(int(places.nodes[j]))
            new.append(_inserted(programs.forest, old[-1], bool(places.multiplies[j]), terms, int(i), coefficient))
    return np.array(old, dtype=np.int64), np.array(new, dtype=np.int64)


def _inserted(forest: Forest, node: int, multiplies: bool, terms: InsertionTerms, i: int, coefficient: float) -> int:
    scaled = forest.apply("mul", forest.constant(coefficient), int(terms.roots[i]))
    if not multiplies:
        return forest.apply("add", node, scaled)
    rest = 1.0 - coefficient * float(terms.centre[i])
    return forest.apply("mul", node, forest.apply("add", scaled, forest.constant(rest if np.isfinite(rest) else 1.0)))
