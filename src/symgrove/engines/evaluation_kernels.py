"""Kernels that run over one panel of rows: evaluate the steps, centre the outputs, add up sums.

Cost: a step costs its block of rows; everything else is linear in programs times rows (times samples for the second
passes). Buffers belong to the calling thread.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from symgrove._jit import call_block, float_to_bits, kernel, subroutine

N_LOOKS = 9  # rows that the centre of a program is found from


class PlacedSteps(NamedTuple):
    """What each step applies, and the places of its result and operands.

    A place is the address of a vector's first row if it is positive, else ``-1 - i``: for i below the number of roots,
    row i of the outputs, above it a scratch row.
    """

    code: NDArray[np.int32]
    out: NDArray[np.int64]
    left: NDArray[np.int64]
    right: NDArray[np.int64]


class Frame(NamedTuple):
    """Where a panel lies: addresses and row lengths (in bytes) of outputs and scratch, and the panel's first row."""

    values: int
    values_stride: int
    n_roots: int
    scratch: int
    scratch_stride: int
    itemsize: int
    first_row: int
    n_rows: int
    block_rows: int


@subroutine
def locate(place, frame, start):
    """Address of a place (see `PlacedSteps`) for the block that starts at row `start` of the panel."""
    if place >= 0:
        return place + (frame.first_row + start) * frame.itemsize
    index = -1 - place
    if index < frame.n_roots:
        return frame.values + index * frame.values_stride + start * frame.itemsize
    return frame.scratch + (index - frame.n_roots) * frame.scratch_stride


@kernel
def run_steps(steps, scalars, n_steps, blocks, frame):
    """Compute all steps on a panel, block by block."""
    for start in range(0, frame.n_rows, frame.block_rows):
        n_rows = min(frame.block_rows, frame.n_rows - start)
        for k in range(n_steps):
            out = locate(steps.out[k], frame, start)
            left = locate(steps.left[k], frame, start)
            right = locate(steps.right[k], frame, start)
            call_block(blocks[steps.code[k]], out, left, right, n_rows, scalars[k])


@subroutine
def read_term(values, n_rows, centre, factor, low, high, out):
    """A term from its program's outputs on a block."""
    for i in range(n_rows):
        z = (np.float64(values[i]) - centre) * factor
        z = low if z < low else z
        z = high if z > high else z
        out[i] = z if z - z == 0.0 else 0.0


@kernel
def run_and_add(steps, scalars, n_steps, blocks, frame, program_of, terms, scratch, sums):
    """Compute all steps on a panel, block by block, and add each program's term to its sums as soon as it is there.

    `program_of` a step is the program whose output it writes, or -1; outputs lie in scratch rows.
    """
    term = np.empty(frame.block_rows, dtype=np.float64)
    for start in range(0, frame.n_rows, frame.block_rows):
        n_rows = min(frame.block_rows, frame.n_rows - start)
        row = frame.first_row + start
        for k in range(n_steps):
            out = locate(steps.out[k], frame, start)
            left = locate(steps.left[k], frame, start)
            right = locate(steps.right[k], frame, start)
            call_block(blocks[steps.code[k]], out, left, right, n_rows, scalars[k])
            p = program_of[k]
            if p >= 0:
                values = scratch[-1 - steps.out[k]]
                read_term(values, n_rows, terms.centre[p], terms.factor[p], terms.low[p], terms.high[p], term)
                for entry in range(terms.first[p], terms.first[p + 1]):
                    own, coefficient = sums[terms.member[entry]][row : row + n_rows], terms.coefficient[entry]
                    for i in range(n_rows):
                        own[i] += coefficient * term[i]


@subroutine
def sorted_middle(looks):
    """Median of a few numbers, which are sorted in place by insertion."""
    for k in range(1, looks.size):
        value = looks[k]
        i = k
        while i > 0 and looks[i - 1] > value:
            looks[i] = looks[i - 1]
            i -= 1
        looks[i] = value
    return looks[looks.size // 2]


@kernel
def find_centres(values, n_rows, largest_exponent, shift, scale):
    """Shift and scale of each program from its outputs on the first panel (n_programs, n_rows).

    The shift is the median of a few spread rows, the scale a power of two near their median distance from it: outliers,
    which protected division makes all the time, do not reach either. Neither changes a result, only its rounding.
    """
    looks = np.empty(N_LOOKS, dtype=np.float64)
    for p in range(shift.size):
        for k in range(N_LOOKS):
            looks[k] = values[p, k * (n_rows - 1) // (N_LOOKS - 1)]
        middle = sorted_middle(looks)
        middle = middle if math.isfinite(middle) else 0.0
        for k in range(N_LOOKS):
            looks[k] = abs(looks[k] - middle)
        spread = sorted_middle(looks)
        if not spread > 0.0:
            for i in range(n_rows):
                spread = max(spread, np.float64(abs(values[p, i] - middle)))
        exponent = 0
        if math.isfinite(spread) and spread > 0.0:
            exponent = math.frexp(spread)[1]
        exponent = min(max(exponent, -largest_exponent), largest_exponent)
        shift[p] = middle
        scale[p] = math.ldexp(1.0, exponent)


@kernel
def centre_and_square(values, n_rows, shift, inverse_scale, reach_bits, squares):
    """Replace outputs by z = (o - shift) / scale and write z * z; `reach_bits` keeps bits of the largest |o - shift|.

    Bits of non-negative floats order like the floats, with NaN on top, and their maximum vectorises.
    """
    for p in range(shift.size):
        row = values[p]
        square = squares[p]
        centre = shift[p]
        inverse = inverse_scale[p]
        largest = reach_bits[p]
        for i in range(n_rows):
            difference = row[i] - centre
            bits = float_to_bits(abs(difference))
            largest = bits if bits > largest else largest
            z = difference * inverse
            row[i] = z
            square[i] = z * z
        reach_bits[p] = largest


@kernel
def weigh_target(weights, target, out):
    """Rows of weights and, below them, of weights times target: (2 * n_samples, n_rows of the panel)."""
    n_samples = weights.shape[0]
    for j in range(n_samples):
        for i in range(target.size):
            w = weights[j, i]
            out[j, i] = w
            out[n_samples + j, i] = w * target[i]


@kernel
def sum_exact(values, n_rows, shift, scale, wanted, weights, target, reach, out):
    """Sums of w*z, w*z*t and w*z*z in float64 about a centre for each program and sample, without rows of weight 0.

    `reach` gets the largest |o - shift| of those rows. The sums of pairs that are not wanted are 0.
    """
    n_programs, n_samples = shift.shape
    for p in range(n_programs):
        for j in range(n_samples):
            first = cross = second = largest = 0.0
            n_wanted = n_rows if wanted[p, j] else 0
            for i in range(n_wanted):
                w = np.float64(weights[j, i])
                if w != 0.0:
                    difference = np.float64(values[p, i]) - shift[p, j]
                    z = difference / scale[p, j]
                    first += w * z
                    cross += w * z * target[i]
                    second += w * z * z
                    largest = max(largest, abs(difference))
            reach[p, j] = largest
            out[0, p, j] = first
            out[1, p, j] = cross
            out[2, p, j] = second


@kernel
def sum_squared(values, n_rows, slope, intercept, weights, target, sums, out):
    """Weighted squared residuals in float64; `weights` is (n_rows, n_samples), so that the inner loop vectorises."""
    n_programs, n_samples = slope.shape
    for p in range(n_programs):
        sums[:] = 0
        for i in range(n_rows):
            o = np.float64(values[p, i])
            y = target[i]
            for j in range(n_samples):
                residual = intercept[p, j] + slope[p, j] * o - y
                sums[j] += weights[i, j] * residual * residual
        for j in range(n_samples):
            out[p, j] = sums[j]


@kernel
def sum_misclassified(values, n_rows, slope, intercept, threshold, weights, is_one, sums, out):
    """Weights of the rows whose scaled output is on the wrong side of the threshold; NaN if an output is not finite."""
    n_programs, n_samples = slope.shape
    for p in range(n_programs):
        sums[:] = 0
        poison = 0.0
        for i in range(n_rows):
            o = values[p, i]
            nothing = type(o)(0)
            poison += o - o
            if is_one[i]:
                for j in range(n_samples):
                    sums[j] += nothing if intercept[p, j] + slope[p, j] * o > threshold else weights[i, j]
            else:
                for j in range(n_samples):
                    sums[j] += weights[i, j] if intercept[p, j] + slope[p, j] * o > threshold else nothing
        for j in range(n_samples):
            out[p, j] = sums[j] + poison


@kernel
def sum_deviations(values, n_rows, slope, intercept, above, below, delta, weights, target, sums, out):
    """Weighted sums of sizes of residuals, or of Huber's function of them if delta is above zero, in float64.

    They are taken times `above` where the target is above the scaled output, else times `below`. NaN if an output is
    not finite; rows of weight zero do not enter.
    """
    n_programs, n_samples = slope.shape
    for p in range(n_programs):
        sums[:] = 0.0
        poison = 0.0
        for i in range(n_rows):
            o = np.float64(values[p, i])
            y = target[i]
            poison += o - o
            for j in range(n_samples):
                residual = y - (intercept[p, j] + slope[p, j] * o)
                size = abs(residual)
                if delta > 0.0:
                    inner = min(size, delta)
                    size = inner * (size - 0.5 * inner)
                weighted = weights[i, j] * (above if residual > 0.0 else below) * size
                sums[j] += weighted if weights[i, j] != 0.0 else 0.0
        for j in range(n_samples):
            out[p, j] = sums[j] + poison


@kernel
def sum_own_loss(values, n_rows, slope, intercept, block, weights, target, room, out):
    """Weighted sums of the loss whose block is given by address; NaN if an output is not finite.

    Some rows and all samples at a time go through `room`, (3, rows of a tile, n_samples). Rows of weight zero do not
    enter.
    """
    n_programs, n_samples = slope.shape
    y, scaled, losses = room[0], room[1], room[2]
    tile_rows = y.shape[0]
    for p in range(n_programs):
        out[p, :] = 0.0
        poison = 0.0
        for start in range(0, n_rows, tile_rows):
            n_tile = min(tile_rows, n_rows - start)
            for i in range(n_tile):
                o = np.float64(values[p, start + i])
                t = target[start + i]
                poison += o - o
                for j in range(n_samples):
                    y[i, j] = t
                    scaled[i, j] = intercept[p, j] + slope[p, j] * o
            size = n_tile * n_samples
            call_block(block, losses.ctypes.data, y.ctypes.data, scaled.ctypes.data, size, 0.0)
            for i in range(n_tile):
                for j in range(n_samples):
                    w = weights[start + i, j]
                    weighted = w * losses[i, j]
                    out[p, j] += weighted if w != 0.0 else 0.0
        for j in range(n_samples):
            out[p, j] += poison
