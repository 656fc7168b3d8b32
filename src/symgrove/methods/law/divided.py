"""Quotients: y / (m a), its square, or a / y as an affine function of an atom, for every a of many."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from symgrove.blas import product
from symgrove.methods.law import pair_kernels
from symgrove.methods.law.atoms import Places
from symgrove.methods.law.findings import Findings
from symgrove.methods.law.library import Atoms
from symgrove.methods.law.pairs import BestPairs
from symgrove.methods.law.task import LawTask
from symgrove.methods.law.transforms import POWERS, Transform, offer_linear, transformed

Matrix = NDArray[np.float64]
N_CHEAPEST, N_ATOMS, N_AT_ONCE = 500, 40_000, 3000
OF_KINDS = (("sums", 150), ("1 +", 200), ("powers", 300), ("functions", 150))
N_PAIRS, N_OFFERED, N_PER_ATOM = 400, 150, 6


class _Divided(NamedTuple):
    """A target divided by an atom, or multiplied with it, as a transform sees it."""

    place: int
    is_above: bool  # whether y is divided by the atom
    target: Matrix
    weight: Matrix


def search_quotients(task: LawTask, findings: Findings, atoms: Atoms, multiplier: int) -> Iterator[str]:
    """Offer formulas m a T^-1(c0 + c1 e); pauses after each transform."""
    for transform in (POWERS[1.0], POWERS[2.0], POWERS[-1.0]):
        if task.is_over():
            return
        _search(task, findings, atoms, multiplier, transform)
        yield f"{transform.name} of quotients"


def _search(task: LawTask, findings: Findings, atoms: Atoms, multiplier: int, transform: Transform) -> None:
    library, formulas = atoms.library, findings.formulas
    divided = _targets(task, findings, atoms, multiplier, transform)
    if not divided:
        return
    order = library.without_unit(np.argsort(library.cost, kind="stable"))[:N_ATOMS]
    V = library.values[order]
    V = V / (np.sqrt((V * V).mean(axis=1, keepdims=True)) + 1e-30)
    target = np.stack([own.target for own in divided])
    squared = np.stack([own.weight for own in divided]) ** 2
    first, second = (squared * target).sum(axis=1), (squared * target**2).sum(axis=1)
    both32, squared32 = (squared * target).astype(np.float32), squared.astype(np.float32)
    best = BestPairs(N_PAIRS, -1.0, N_PER_ATOM)
    for start in range(0, len(V), N_AT_ONCE):
        E = V[start : start + N_AT_ONCE]
        sums = product(both32, E.T), product(squared32, E.T), product(squared32, (E * E).T)
        arrays = (*sums, squared.sum(axis=1), first, second)
        best.scan(pair_kernels.scan_affine, arrays, len(divided), start)
        if task.is_over():
            return
    for i, j in [*best][:N_OFFERED]:
        if task.is_over():
            return
        own = divided[i]
        a = library.formula(own.place, formulas)
        factor = formulas.mul(multiplier, a) if own.is_above else formulas.div(multiplier, a)
        offer_linear(findings, transform, factor, [library.formula(int(order[j]), formulas)], "quotient")


def _targets(task: LawTask, findings: Findings, atoms: Atoms, multiplier: int, transform: Transform) -> list[_Divided]:
    library = atoms.library
    m = findings.formulas.predict(multiplier, task.scanned)
    # Only quotients without a unit are functions of something, plus a constant.
    above, below = library.table.ids(np.array([atoms.wanted, -atoms.wanted])).tolist()

    def suiting(places: Places) -> Places:
        return places[np.isin(library.dimension[places], (above, below))]

    cheapest = suiting(np.argsort(library.cost, kind="stable"))[:N_CHEAPEST]
    kinds = [suiting(atoms.kinds[kind])[:n] for kind, n in OF_KINDS]
    found = []
    for place in np.unique(np.concatenate([cheapest, *kinds])).tolist():
        if task.is_over():
            break
        a = library.values[place].astype(np.float64)
        for is_above in (True, False) if transform.degree > 0 else (True,):
            if library.dimension[place] != (above if is_above else below):
                continue
            with np.errstate(all="ignore"):
                own = transformed(transform, task.scanned, m * a if is_above else m / a)
            if own is None or own.usable.mean() < 0.97:
                continue
            weight = own.weight / (np.sqrt(np.mean(own.weight**2)) + 1e-300)
            scale = np.sqrt(np.mean((weight * own.target) ** 2)) + 1e-300
            found.append(_Divided(place, is_above, own.target / scale, weight))
    return found
