"""Constants of many programs by least squares: Levenberg's and Marquardt's steps, one program after the other.

A program f stands for a + b f, whose a and b are solved for exactly. Derivatives with respect to its constants are
exact too: values go up from leaves to root, slopes come down. A program that is not finite on a row, or divides by
something that changes its sign, fits nothing.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from symgrove._jit import kernel, reduction, subroutine
from symgrove.methods.law.signomial_kernels import solve_in_place

MOST_NODES, MOST_CONSTANTS = 64, 16
LARGEST_EXPONENT = 50.0
SMALLEST_SPREAD = 1e-14  # of a program's outputs, as a share of their squared mean
N_TRIES = 4
SMALLEST_GAIN = 1e-4

# What a node computes.
FEATURE, CONSTANT, ADD, SUB, MUL, DIV, NEG, SQUARE, SQRT, LOG, EXP, SIN, COS, TANH, ARCSIN, ARCCOS, MAX, MIN = range(18)


class ProgramScratch(NamedTuple):
    """The program at hand, operands by their place in it, and what its nodes compute on every row.

    `values` and `slopes` are (MOST_NODES, n_rows), `jacobian` is (MOST_CONSTANTS + 1, n_rows).
    """

    nodes: NDArray[np.int64]
    stack: NDArray[np.int64]
    is_seen: NDArray[np.bool_]
    operation: NDArray[np.int64]
    left: NDArray[np.int64]
    right: NDArray[np.int64]
    place: NDArray[np.int64]  # of a constant among the constants
    has_slope: NDArray[np.bool_]
    constants: NDArray[np.float64]
    values: NDArray[np.float64]
    slopes: NDArray[np.float64]
    jacobian: NDArray[np.float64]
    residuals: NDArray[np.float64]


class FitTarget(NamedTuple):
    """Features by column, target and weights of the rows."""

    columns: NDArray[np.float64]
    y: NDArray[np.float64]
    weight: NDArray[np.float64]


@subroutine
def list_nodes(columns, arity, root, nodes, stack, is_seen):
    """Nodes of a program, each once, operands first; how many, or 0 if there are too many."""
    n = 0
    top = 1
    stack[0] = root
    while top > 0:
        top -= 1
        node = stack[top]
        if is_seen[node]:
            continue
        if n == MOST_NODES:
            for i in range(n):
                is_seen[nodes[i]] = False
            return 0
        is_seen[node] = True
        nodes[n] = node
        n += 1
        code = columns.code[node]
        if arity[code] > 0:
            stack[top] = columns.left[node]
            top += 1
        if arity[code] > 1:
            stack[top] = columns.right[node]
            top += 1
    for i in range(n):
        is_seen[nodes[i]] = False
    nodes[:n] = np.sort(nodes[:n])
    return n


@subroutine
def read_program(columns, arity, operation_of, root, scratch):
    """Fill in the program; how many nodes and constants it has, (0, 0) if too many."""
    n = list_nodes(columns, arity, root, scratch.nodes, scratch.stack, scratch.is_seen)
    n_constants = 0
    for i in range(n):
        node = scratch.nodes[i]
        code = columns.code[node]
        operation = operation_of[code]
        scratch.operation[i] = operation
        scratch.has_slope[i] = operation == CONSTANT
        scratch.left[i] = scratch.right[i] = 0
        if operation == FEATURE:
            scratch.left[i] = columns.left[node]
        elif operation == CONSTANT:
            if n_constants == MOST_CONSTANTS:
                return 0, 0
            scratch.place[i] = n_constants
            scratch.constants[n_constants] = columns.value[node]
            n_constants += 1
        else:
            a = b = np.searchsorted(scratch.nodes[:n], columns.left[node])
            if arity[code] > 1:
                b = np.searchsorted(scratch.nodes[:n], columns.right[node])
            scratch.left[i], scratch.right[i] = a, b
            scratch.has_slope[i] = scratch.has_slope[a] or scratch.has_slope[b]
    return n, n_constants


@subroutine
def compute(n, scratch, constants, features):
    """Values of all nodes; False if one is not finite, or divides by what changes its sign."""
    n_rows = features.shape[1]
    for i in range(n):
        operation = scratch.operation[i]
        out = scratch.values[i]
        if operation == FEATURE:
            out[:] = features[scratch.left[i]]
            continue
        if operation == CONSTANT:
            out[:] = constants[scratch.place[i]]
            continue
        a, b = scratch.values[scratch.left[i]], scratch.values[scratch.right[i]]
        if operation == ADD:
            for k in range(n_rows):
                out[k] = a[k] + b[k]
        elif operation == SUB:
            for k in range(n_rows):
                out[k] = a[k] - b[k]
        elif operation == MUL:
            for k in range(n_rows):
                out[k] = a[k] * b[k]
        elif operation == DIV:
            low, high = ends(b)
            if not low * high > 0.0:
                return False
            for k in range(n_rows):
                out[k] = a[k] / b[k]
        elif operation == MAX:
            for k in range(n_rows):
                out[k] = max(a[k], b[k])
        elif operation == MIN:
            for k in range(n_rows):
                out[k] = min(a[k], b[k])
        elif operation == NEG:
            for k in range(n_rows):
                out[k] = -a[k]
        elif operation == SQUARE:
            for k in range(n_rows):
                out[k] = a[k] * a[k]
        elif not call(operation, a, out):
            return False
    low, high = ends(scratch.values[n - 1])
    return math.isfinite(low) and math.isfinite(high)


@subroutine
def call(operation, a, out):
    """A function of one operand; False outside its domain."""
    low, high = ends(a)
    if not (math.isfinite(low) and math.isfinite(high)):
        return False
    if operation == SQRT:
        if low < 0.0:
            return False
        out[:] = np.sqrt(a)
    elif operation == LOG:
        if low <= 0.0:
            return False
        out[:] = np.log(a)
    elif operation == EXP:
        if high > LARGEST_EXPONENT:
            return False
        out[:] = np.exp(a)
    elif operation == SIN:
        out[:] = np.sin(a)
    elif operation == COS:
        out[:] = np.cos(a)
    elif operation == TANH:
        out[:] = np.tanh(a)
    else:
        if low < -1.0 or high > 1.0:
            return False
        out[:] = np.arcsin(a) if operation == ARCSIN else np.arccos(a)
    return True


@subroutine
def ends(values):
    """The smallest and the largest; NaN if there is one."""
    low = high = values[0]
    for value in values:
        if math.isnan(value):
            return value, value
        low, high = min(low, value), max(high, value)
    return low, high


@subroutine
def add_slopes(n, scratch):
    """Derivatives of the root with respect to all nodes that have constants below them."""
    for i in range(n):
        scratch.slopes[i] = 0.0
    scratch.slopes[n - 1] = 1.0
    n_rows = scratch.values.shape[1]
    for i in range(n - 1, -1, -1):
        operation = scratch.operation[i]
        if not scratch.has_slope[i] or operation <= CONSTANT:
            continue
        own, out = scratch.slopes[i], scratch.values[i]
        a, b = scratch.values[scratch.left[i]], scratch.values[scratch.right[i]]
        to_a, to_b = scratch.slopes[scratch.left[i]], scratch.slopes[scratch.right[i]]
        if operation in (ADD, SUB):
            sign = 1.0 if operation == ADD else -1.0
            for k in range(n_rows):
                to_a[k] += own[k]
                to_b[k] += sign * own[k]
        elif operation == MUL:
            for k in range(n_rows):
                from_a = own[k] * b[k]  # before the other changes it, if both are the same node
                to_b[k] += own[k] * a[k]
                to_a[k] += from_a
        elif operation == DIV:
            for k in range(n_rows):
                to_a[k] += own[k] / b[k]
                to_b[k] -= own[k] * out[k] / b[k]
        elif operation in (MAX, MIN):
            for k in range(n_rows):
                if (a[k] >= b[k]) == (operation == MAX):
                    to_a[k] += own[k]
                else:
                    to_b[k] += own[k]
        else:
            add_slopes_of_call(operation, own, a, out, to_a)


@subroutine
def add_slopes_of_call(operation, own, a, out, to_a):
    for k in range(own.size):
        if operation == NEG:
            slope = -1.0
        elif operation == SQUARE:
            slope = 2.0 * a[k]
        elif operation == SQRT:
            slope = 0.5 / out[k]
        elif operation == LOG:
            slope = 1.0 / a[k]
        elif operation == EXP:
            slope = out[k]
        elif operation == SIN:
            slope = math.cos(a[k])
        elif operation == COS:
            slope = -math.sin(a[k])
        elif operation == TANH:
            slope = 1.0 - out[k] * out[k]
        else:
            slope = 1.0 / math.sqrt(1.0 - a[k] * a[k])
            slope = slope if operation == ARCSIN else -slope
        to_a[k] += own[k] * slope


@reduction
def line(f, target):
    """a and b of the weighted least squares line a + b f, and its mean squared error; infinite if f is constant."""
    y, weight = target.y, target.weight
    total = sum_f = sum_y = 0.0
    for k in range(f.size):
        total += weight[k]
        sum_f += weight[k] * f[k]
        sum_y += weight[k] * y[k]
    mean_f, mean_y = sum_f / total, sum_y / total
    ff = fy = yy = 0.0
    for k in range(f.size):
        own, other = f[k] - mean_f, y[k] - mean_y
        ff += weight[k] * own * own
        fy += weight[k] * own * other
        yy += weight[k] * other * other
    if not ff > SMALLEST_SPREAD * total * mean_f * mean_f or not math.isfinite(ff):
        return mean_y, 0.0, np.inf
    b = fy / ff
    return mean_y - b * mean_f, b, max(yy - b * fy, 0.0) / total


@reduction
def weighted_product(a, b, weight):
    total = 0.0
    for k in range(a.size):
        total += weight[k] * a[k] * b[k]
    return total


@reduction
def subtract_mean(values, weight):
    total = mean = 0.0
    for k in range(values.size):
        total += weight[k]
        mean += weight[k] * values[k]
    mean /= total
    for k in range(values.size):
        values[k] -= mean


@subroutine
def normal_equations(n, n_constants, scratch, target, a, b, gram, gradient):
    """Of the constants and b, with a solved for; False if they are not finite."""
    add_slopes(n, scratch)
    f = scratch.values[n - 1]
    for i in range(n):
        if scratch.operation[i] == CONSTANT:
            scratch.jacobian[scratch.place[i]] = b * scratch.slopes[i]
    scratch.jacobian[n_constants] = f
    scratch.residuals[:] = target.y - a - b * f
    for p in range(n_constants + 1):
        own = scratch.jacobian[p]
        subtract_mean(own, target.weight)
        gradient[p] = weighted_product(own, scratch.residuals, target.weight)
        for q in range(p + 1):
            gram[p, q] = weighted_product(own, scratch.jacobian[q], target.weight)
        if not (math.isfinite(gram[p, p]) and math.isfinite(gradient[p])):
            return False
    return True


@kernel
def fit_programs(columns, arity, operation_of, roots, target, n_steps, scratch, constants, lines, errors):
    """Constants of each program, (n_roots, MOST_CONSTANTS), a and b, and mean squared errors, infinite if unusable."""
    gram, damped = np.empty((2, MOST_CONSTANTS + 1, MOST_CONSTANTS + 1))
    gradient, step = np.empty((2, MOST_CONSTANTS + 1))
    tried = np.empty(MOST_CONSTANTS)
    for t in range(roots.size):
        errors[t] = np.inf
        n, n_constants = read_program(columns, arity, operation_of, roots[t], scratch)
        own = scratch.constants
        if n == 0 or not compute(n, scratch, own, target.columns):
            continue
        a, b, error = line(scratch.values[n - 1], target)
        damping = 1e-3
        m = n_constants + 1
        for _ in range(n_steps if n_constants > 0 and math.isfinite(error) else 0):
            if not normal_equations(n, n_constants, scratch, target, a, b, gram, gradient):
                break
            before = error
            for _ in range(N_TRIES):
                for p in range(m):
                    damped[p, : p + 1] = gram[p, : p + 1]
                    damped[p, p] += (damping + 1e-12) * gram[p, p] + 1e-300
                step[:m] = gradient[:m]
                if solve_in_place(damped[:m, :m], step[:m]):
                    tried[:n_constants] = own[:n_constants] + step[:n_constants]
                    if compute(n, scratch, tried, target.columns):
                        new_a, new_b, new_error = line(scratch.values[n - 1], target)
                        if new_error < error:
                            a, b, error = new_a, new_b, new_error
                            break
                damping = max(10.0 * damping, 1e-3)
            if not error < before:
                break
            own[:n_constants] = tried[:n_constants]
            damping *= 0.1
            if error > before * (1.0 - SMALLEST_GAIN):
                break
        constants[t, :n_constants] = own[:n_constants]
        lines[t, 0], lines[t, 1] = a, b
        errors[t] = error


@kernel
def find_slopes(columns, arity, operation_of, root, features, scratch):
    """Values of all nodes of a program, and its derivatives with respect to them; how many, 0 if unusable."""
    n, _ = read_program(columns, arity, operation_of, root, scratch)
    if n == 0 or not compute(n, scratch, scratch.constants, features):
        return 0
    scratch.has_slope[:n] = True
    add_slopes(n, scratch)
    return n
