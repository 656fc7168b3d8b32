"""Kernels on vectors that stay where the rows are: read them in float64, add them up, say what is known of each.

A vector is given by its address, and read as (value - centre) * scale; all are as long as the data.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from symgrove._jit import double_at, float_to_rank, kernel, rank_to_float, reduction, single_at, subroutine

FIRST_LEFT = 5  # row of the room: after four vectors of the right side, and the weights


class Places(NamedTuple):
    """Where vectors lie, whether in float64 (else float32), and how they are read."""

    address: NDArray[np.int64]
    is_double: NDArray[np.bool_]
    centre: NDArray[np.float64]
    scale: NDArray[np.float64]


@kernel
def gather(places, index, start, out):
    """Rows of `out` become vectors of the index from row `start` on; those of a negative index 0."""
    for i in range(index.size):
        read(places, index[i], start, out[i])


@subroutine
def read(places, k, start, out):
    """Copy vector k from row `start` on, as it is read; 0 if k is negative."""
    if k < 0:
        out[:] = 0.0
    elif places.is_double[k]:
        copy(double_at(places.address[k] + 8 * start), places.centre[k], places.scale[k], out)
    else:
        copy(single_at(places.address[k] + 4 * start), places.centre[k], places.scale[k], out)


@subroutine
def copy(vector, centre, scale, out):
    """Copy a vector, centred and scaled."""
    for t in range(out.size):
        out[t] = (np.float64(vector[t]) - centre) * scale


@kernel
def multiply(left, right, weights, left_index, right_index, is_squared, tasks, start, stop, room, out):
    """Add products on a block of rows: a task is a product j, and a range of its vectors on the right.

    Vectors are read into the `room`, four of the right side at a time, and multiplied four by four: sixteen sums at
    a time keep the arithmetic units busy, and each number that is loaded is used four times. With `is_squared`, vectors
    on the right are squared. A weight for each product, or none at all.
    """
    n_rows = stop - start
    n_left = 0
    used = np.empty(left_index.shape[1], dtype=np.int64)
    before = -1
    for task in range(tasks.shape[0]):
        j, first, last = tasks[task]
        if j != before:
            n_left = read_left(left, weights, left_index[j], j, start, n_rows, used, room)
            before = j
        b = first
        while b < last:
            columns = (-1, -1, -1, -1)
            n_found = 0
            while b < last and n_found < 4:
                k = right_index[j, b]
                if k >= 0:
                    row = room[n_found, :n_rows]
                    read(right, k, start, row)
                    if is_squared:
                        multiply_by(row, row)
                    columns = replaced(columns, n_found, b)
                    n_found += 1
                b += 1
            for i in range(n_found, 4):
                room[i, :n_rows] = 0.0
            if n_found > 0:
                for a in range(0, n_left, 4):
                    found = sixteen_sums(room, FIRST_LEFT + a, n_rows)
                    for i in range(min(4, n_left - a)):
                        for k in range(n_found):
                            out[j, used[a + i], columns[k]] += found[4 * i + k]


@subroutine
def replaced(columns, i, value):
    """A tuple of four with one replaced."""
    p, q, r, s = columns
    return value if i == 0 else p, value if i == 1 else q, value if i == 2 else r, value if i == 3 else s


@subroutine
def read_left(left, weights, index, j, start, n_rows, used, room):
    """Read the vectors of an index, times weights j, and zeros up to a multiple of four; `used` are their positions."""
    weight = room[FIRST_LEFT - 1, :n_rows]
    if weights.address.size > 0:
        read(weights, j, start, weight)
    n_used = 0
    for a in range(index.size):
        if index[a] >= 0:
            row = room[FIRST_LEFT + n_used, :n_rows]
            read(left, index[a], start, row)
            if weights.address.size > 0:
                multiply_by(row, weight)
            used[n_used] = a
            n_used += 1
    for a in range(n_used, n_used + (-n_used) % 4):
        room[FIRST_LEFT + a, :n_rows] = 0.0
    return n_used


@subroutine
def multiply_by(row, other):
    """Multiply a row in place."""
    for t in range(row.size):
        row[t] *= other[t]


@reduction
def sixteen_sums(room, first, n_rows):
    """Products of four rows with the first four, summed."""
    p, q, r, s = room[first], room[first + 1], room[first + 2], room[first + 3]
    y0, y1, y2, y3 = room[0], room[1], room[2], room[3]
    a0 = a1 = a2 = a3 = b0 = b1 = b2 = b3 = c0 = c1 = c2 = c3 = d0 = d1 = d2 = d3 = 0.0
    for t in range(n_rows):
        a, b, c, d = p[t], q[t], r[t], s[t]
        y = y0[t]
        a0, b0, c0, d0 = a0 + a * y, b0 + b * y, c0 + c * y, d0 + d * y
        y = y1[t]
        a1, b1, c1, d1 = a1 + a * y, b1 + b * y, c1 + c * y, d1 + d * y
        y = y2[t]
        a2, b2, c2, d2 = a2 + a * y, b2 + b * y, c2 + c * y, d2 + d * y
        y = y3[t]
        a3, b3, c3, d3 = a3 + a * y, b3 + b * y, c3 + c * y, d3 + d * y
    return a0, a1, a2, a3, b0, b1, b2, b3, c0, c1, c2, c3, d0, d1, d2, d3


@kernel
def combine(places, index, coefficients, start, stop, out):
    """Rows `start` to `stop` of each vector of `out` become a linear combination of the vectors in a row of the index.

    Vectors with the coefficient 0 or a negative index do not enter.
    """
    n_rows = stop - start
    for i in range(index.shape[0]):
        row = out[i, start:stop]
        row[:] = 0.0
        for j in range(index.shape[1]):
            k, coefficient = index[i, j], coefficients[i, j]
            if k < 0 or coefficient == 0.0:
                continue
            if places.is_double[k]:
                vector = double_at(places.address[k] + 8 * start)
                add(vector, n_rows, places.centre[k], places.scale[k], coefficient, row)
            else:
                vector = single_at(places.address[k] + 4 * start)
                add(vector, n_rows, places.centre[k], places.scale[k], coefficient, row)


@subroutine
def add(vector, n_rows, centre, scale, coefficient, out):
    """Add a vector times a coefficient."""
    for t in range(n_rows):
        out[t] += (np.float64(vector[t]) - centre) * scale * coefficient


@kernel
def measure(places, index, centres, factors, start, stop, n_at_a_time, room, out):
    """Rows `start` to `stop` of each vector of `out` become squared lengths of a factor times vectors less a centre.

    Some rows at a time are read into the `room`, whose last four rows are for coordinates of the product: four vectors
    at a time are added to four coordinates, so that each number that is loaded is used four times.
    """
    used = np.empty(index.shape[1], dtype=np.int64)
    last = room.shape[0] - 4
    for i in range(index.shape[0]):
        n_used = 0
        for j in range(index.shape[1]):
            if index[i, j] >= 0:
                used[n_used] = j
                n_used += 1
        n_padded = n_used + (-n_used) % 4
        factor = np.zeros((n_padded, n_padded))
        for a in range(n_used):
            for b in range(n_used):
                factor[a, b] = factors[i, used[a], used[b]]
        for first in range(start, stop, n_at_a_time):
            n_rows = min(n_at_a_time, stop - first)
            for a in range(n_used):
                read(places, index[i, used[a]], first, room[a, :n_rows])
                shift(room[a, :n_rows], centres[i, used[a]])
            for a in range(n_used, n_padded):
                room[a, :n_rows] = 0.0
            total = out[i, first : first + n_rows]
            total[:] = 0.0
            for a in range(0, n_padded, 4):
                room[last:, :n_rows] = 0.0
                for b in range(0, n_padded, 4):
                    block = factor[a : a + 4, b : b + 4]
                    if is_any(block):
                        add_sixteen(block, room[b : b + 4], room[last:], n_rows)
                add_squares(room[last:], total)


@subroutine
def shift(row, centre):
    """Subtract a number in place."""
    for t in range(row.size):
        row[t] -= centre


@subroutine
def is_any(block):
    """Whether an entry is not 0: of a triangular factor, half of the blocks are."""
    for a in range(4):
        for b in range(4):
            if block[a, b] != 0.0:
                return True
    return False


@reduction
def add_sixteen(block, rows, out, n_rows):
    """Add a block of four by four times four rows to four others."""
    a0, a1, a2, a3 = block[0, 0], block[0, 1], block[0, 2], block[0, 3]
    b0, b1, b2, b3 = block[1, 0], block[1, 1], block[1, 2], block[1, 3]
    c0, c1, c2, c3 = block[2, 0], block[2, 1], block[2, 2], block[2, 3]
    d0, d1, d2, d3 = block[3, 0], block[3, 1], block[3, 2], block[3, 3]
    w, x, y, z = rows[0], rows[1], rows[2], rows[3]
    p, q, r, s = out[0], out[1], out[2], out[3]
    for t in range(n_rows):
        e, f, g, h = w[t], x[t], y[t], z[t]
        p[t] += a0 * e + a1 * f + a2 * g + a3 * h
        q[t] += b0 * e + b1 * f + b2 * g + b3 * h
        r[t] += c0 * e + c1 * f + c2 * g + c3 * h
        s[t] += d0 * e + d1 * f + d2 * g + d3 * h


@subroutine
def add_squares(rows, out):
    """Add squares of four rows."""
    p, q, r, s = rows[0], rows[1], rows[2], rows[3]
    for t in range(out.size):
        out[t] += p[t] * p[t] + q[t] * q[t] + r[t] * r[t] + s[t] * s[t]


@kernel
def sum_with_weights(left, right, weight):
    """Sum of products of two vectors with weights, in the order of the rows; rows of weight zero do not enter."""
    total = 0.0
    for t in range(weight.size):
        if weight[t] != 0.0:
            total += weight[t] * left[t] * right[t]
    return total


@kernel
def summarize(places, first, last, panel_rows, weight, direction, out):
    """What is known of vectors `first` to `last`, as stored; a row of `out` for each: see `VectorSummary`.

    Mean and variance are found panel by panel and put together by the formula of Chan, Golub and LeVeque, so they lose
    no digits however far the mean is from zero.
    """
    n_rows = weight.size
    for k in range(first, last):
        low, high = np.inf, -np.inf
        total, mean, squares, projection = 0.0, 0.0, 0.0, 0.0
        for start in range(0, n_rows, panel_rows):
            stop = min(start + panel_rows, n_rows)
            own_weight, own_direction = weight[start:stop], direction[start:stop]
            if places.is_double[k]:
                found = look_at(double_at(places.address[k] + 8 * start), own_weight, own_direction)
            else:
                found = look_at(single_at(places.address[k] + 4 * start), own_weight, own_direction)
            low, high = np.minimum(low, found[0]), np.maximum(high, found[1])  # NaN if one is
            projection += found[5]
            if found[2] > 0.0:
                together = total + found[2]
                difference = found[3] - mean
                mean += difference * (found[2] / together)
                squares += found[4] + difference * difference * (total / together) * found[2]
                total = together
        out[k, 0], out[k, 1] = low, high
        out[k, 2], out[k, 3], out[k, 4] = mean, np.sqrt(squares / total), projection


@subroutine
def look_at(vector, weight, direction):
    """Of a panel: lowest and highest value, weight, mean, squares about it, product with a direction."""
    low, high = reach_of(vector, weight.size)
    total, first, projection = sums_of(vector, weight, direction)
    mean = first / total if total > 0.0 else 0.0
    return low, high, total, mean, squares_about(mean, vector, weight), projection


@reduction
def sums_of(vector, weight, direction):
    """Sums of the weights, and of the vector with weights and with a direction."""
    total = first = projection = 0.0
    for t in range(weight.size):
        x = np.float64(vector[t])
        total += weight[t]
        first += weight[t] * x
        projection += direction[t] * x
    return total, first, projection


@reduction
def squares_about(centre, vector, weight):
    """Weighted sum of squared distances from the centre."""
    squares = 0.0
    for t in range(weight.size):
        distance = np.float64(vector[t]) - centre
        squares += weight[t] * distance * distance
    return squares


@subroutine
def reach_of(vector, n_rows):
    """Lowest and highest value; NaN is beyond infinity, on the side of its sign."""
    low = high = float_to_rank(vector[0])
    for t in range(n_rows):
        rank = float_to_rank(vector[t])
        low = min(low, rank)
        high = max(high, rank)
    return np.float64(rank_to_float(low)), np.float64(rank_to_float(high))
