"""Which pairs of atoms describe a target best, from their products: closed forms, for every pair."""

from __future__ import annotations

from symgrove._jit import kernel

NEARLY_EQUAL = 2e-4  # of the square of a correlation to one


@kernel
def scan_pairs(
    products,
    left,
    right,
    left_factor,
    right_factor,
    first_right,
    limit,
    out_left,
    out_right,
    out_score,
    n_found,
    first_left,
):
    """Share of the target that two atoms describe, from unit vectors: products of them, and theirs with the target.

    What a pair leaves is multiplied by the factors of its atoms. Pairs above the limit are appended. Returns how many
    there are then, and the first atom that did not fit.
    """
    n_left, n_right = products.shape
    for i in range(first_left, n_left):
        if out_left.size - n_found < n_right:
            return n_found, i
        a, own_factor = left[i], left_factor[i]
        for j in range(n_right):
            g = products[i, j]
            b = right[first_right + j]
            rest = 1.0 - g * g
            left_over = (rest - a * a - b * b + 2.0 * a * b * g) * own_factor * right_factor[first_right + j]
            if rest > NEARLY_EQUAL and left_over < (1.0 - limit) * rest:
                out_left[n_found] = i
                out_right[n_found] = first_right + j
                out_score[n_found] = 1.0 - left_over / rest
                n_found += 1
    return n_found, n_left


@kernel
def scan_affine(
    with_target,
    with_one,
    squares,
    weight,
    first,
    second,
    first_right,
    limit,
    out_left,
    out_right,
    out_score,
    n_found,
    first_left,
):
    """Share of the sum of squares of each target that an atom and a constant describe, from weighted sums.

    Sums over rows: of targets times atoms, of atoms, of squares of atoms, of weights, of targets, of their squares.
    """
    n_targets, n_atoms = with_target.shape
    for i in range(first_left, n_targets):
        if out_left.size - n_found < n_atoms:
            return n_found, i
        mean = first[i] / weight[i]
        spread = second[i] - first[i] * mean
        by_mean = second[i] - spread
        for j in range(n_atoms):
            b = with_one[i, j]
            own = squares[i, j] - b * b / weight[i]
            both = with_target[i, j] - b * mean
            described = by_mean * own + both * both
            if own > NEARLY_EQUAL * squares[i, j] and described > limit * own * second[i]:
                out_left[n_found] = i
                out_right[n_found] = first_right + j
                out_score[n_found] = described / (own * second[i])
                n_found += 1
    return n_found, n_targets
