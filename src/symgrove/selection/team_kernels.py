"""Kernels of team selection: who joins a team, who leaves it, in closed form.

A team is a ridge regression on its terms. Slot 0 is the intercept; empty slots have zeros in the inverse and in the
coefficients, so all algebra runs over all slots.
"""

from __future__ import annotations

import numpy as np

from symgrove._jit import kernel

COLLINEAR = 1e-3  # share of a candidate's own sum of squares that the team must leave


@kernel
def best_candidate(scalar, perp, own, penalty):
    """The candidate that lowers the objective most, or -1; its gain is scalar^2 / (perp + penalty)."""
    best = -1
    highest = 0.0
    for c in range(scalar.size):
        if perp[c] > COLLINEAR * own[c]:
            gain = scalar[c] * scalar[c] / (perp[c] + penalty)
            if gain > highest:
                highest = gain
                best = c
    return best


@kernel
def join(inverse, coefficients, slot, chosen, projected, crossed, shared, scalar, perp, penalty):
    """Take a candidate into a slot, and orthogonalise the others to it.

    `projected` is the candidates' products with the team times the inverse, `crossed` the products with the team,
    `shared` the candidates' products with the chosen one. `scalar` and `perp` are updated.
    """
    n_slots = coefficients.size
    pivot = perp[chosen] + penalty
    step = scalar[chosen] / pivot
    own = projected[chosen].copy()
    for a in range(n_slots):
        coefficients[a] -= own[a] * step
        w = own[a] / pivot
        for b in range(n_slots):
            inverse[a, b] += w * own[b]
    for a in range(n_slots):
        inverse[a, slot] = -own[a] / pivot
        inverse[slot, a] = inverse[a, slot]
    inverse[slot, slot] = 1.0 / pivot
    coefficients[slot] = step
    for c in range(scalar.size):
        left = shared[c]
        for a in range(n_slots):
            left -= crossed[c, a] * own[a]
        scalar[c] -= left * step
        perp[c] -= left * left / pivot
        # The new slot has products of its own from now on.
        ratio = left / pivot
        for a in range(n_slots):
            projected[c, a] -= ratio * own[a]
        projected[c, slot] = ratio
        crossed[c, slot] = shared[c]
    perp[chosen] = 0.0


@kernel
def leave(inverse, coefficients, is_taken, max_terms):
    """Remove the terms that raise the objective least until the team is small enough."""
    n_slots = coefficients.size
    n_terms = 0
    for a in range(1, n_slots):
        n_terms += is_taken[a]
    while n_terms > max_terms:
        worst = -1
        lowest = np.inf
        for a in range(1, n_slots):
            if is_taken[a]:
                loss = coefficients[a] * coefficients[a] / inverse[a, a]
                if worst < 0 or loss < lowest:
                    lowest = loss
                    worst = a
        pivot = inverse[worst, worst]
        ratio = coefficients[worst] / pivot
        column = inverse[:, worst].copy()
        for a in range(n_slots):
            coefficients[a] -= column[a] * ratio
            w = column[a] / pivot
            for b in range(n_slots):
                inverse[a, b] -= w * column[b]
        inverse[:, worst] = 0.0
        inverse[worst, :] = 0.0
        coefficients[worst] = 0.0
        is_taken[worst] = False
        n_terms -= 1
