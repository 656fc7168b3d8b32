"""Kernels of team selection: who joins a team, who leaves it, in closed form.

A team is a ridge regression on its terms. Slot 0 is the intercept; empty slots have zeros in the inverse and in the
coefficients, so all algebra runs over all slots.
"""

from __future__ import annotations

import numpy as np

from symgrove._jit import kernel, subroutine

COLLINEAR = 1e-3  # share of a candidate's own sum of squares that the team must leave


@kernel
def join_best(teams, judged, joined):
    """Take each team's best candidate into its first empty slot; `joined` comes with -1 everywhere."""
    for j in range(teams.penalty.size):
        slot = first_empty(teams.is_taken[j])
        chosen = best_candidate(judged.scalar[j], judged.perp[j], judged.own[j], teams.penalty[j])
        if slot < 0 or chosen < 0:
            continue
        pivot = judged.perp[j, chosen] + teams.penalty[j]
        own = judged.projected[j, chosen]
        join(teams.inverse[j], teams.coefficients[j], slot, own, judged.scalar[j, chosen] / pivot, pivot)
        teams.is_taken[j, slot] = True
        joined.chosen[j] = chosen
        joined.slot[j] = slot


@subroutine
def first_empty(is_taken):
    """The first slot that is not taken, or -1."""
    for a in range(is_taken.size):
        if not is_taken[a]:
            return a
    return -1


@subroutine
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


@subroutine
def join(inverse, coefficients, slot, own, step, pivot):
    """Take a candidate into a slot: `own` is its projection, `pivot` what the team cannot say of it, penalised."""
    n_slots = coefficients.size
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


@kernel
def stand_beside(teams, judged, joined, shared):
    """Orthogonalise all candidates of a team to the one that has joined; `shared` are their products with it."""
    for j in range(teams.penalty.size):
        chosen, slot = joined.chosen[j], joined.slot[j]
        if chosen < 0:
            continue
        scalar, perp = judged.scalar[j], judged.perp[j]
        crossed, projected = judged.crossed[j], judged.projected[j]
        n_slots = crossed.shape[1]
        pivot = perp[chosen] + teams.penalty[j]
        step = scalar[chosen] / pivot
        own = projected[chosen].copy()
        for c in range(scalar.size):
            left = shared[j, c]
            for a in range(n_slots):
                left -= crossed[c, a] * own[a]
            scalar[c] -= left * step
            perp[c] -= left * left / pivot
            # The new slot has products of its own from now on.
            ratio = left / pivot
            for a in range(n_slots):
                projected[c, a] -= ratio * own[a]
            projected[c, slot] = ratio
            crossed[c, slot] = shared[j, c]
        perp[chosen] = 0.0


@kernel
def drop_terms(teams, max_terms):
    """Remove from each team the terms that raise the objective least until it is small enough."""
    for j in range(teams.penalty.size):
        leave(teams.inverse[j], teams.coefficients[j], teams.is_taken[j], max_terms)


@subroutine
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
