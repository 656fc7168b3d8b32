"""Sums of a few monomials with continuous exponents, fitted by steps of Levenberg and Marquardt."""

from __future__ import annotations

import math

import numpy as np

from symgrove._jit import kernel, subroutine

LARGEST_EXPONENT = 60.0  # of e; beyond, squares overflow


@subroutine
def evaluate(logs, target, weight, c, exponents, jacobian, residuals, wants_slopes):
    total = 0.0
    n_rows, n_features = logs.shape
    n_terms = c.size
    for i in range(n_rows):
        predicted = 0.0
        for k in range(n_terms):
            a = 0.0
            for j in range(n_features):
                a += exponents[k, j] * logs[i, j]
            value = math.exp(min(a, LARGEST_EXPONENT))
            predicted += c[k] * value
            if wants_slopes:
                jacobian[i, k] = weight[i] * value
                slope = weight[i] * c[k] * value
                for j in range(n_features):
                    jacobian[i, n_terms + k * n_features + j] = slope * logs[i, j]
        residuals[i] = weight[i] * (target[i] - predicted)
        total += residuals[i] * residuals[i]
    return total


@subroutine
def solve_in_place(A, b):
    """Gaussian elimination by Cholesky's factors; False if the matrix is not positive."""
    n = b.size
    for i in range(n):
        for j in range(i + 1):
            s = A[i, j]
            for k in range(j):
                s -= A[i, k] * A[j, k]
            if i == j:
                if not s > 0.0:
                    return False
                A[i, i] = math.sqrt(s)
            else:
                A[i, j] = s / A[j, j]
    for i in range(n):
        s = b[i]
        for k in range(i):
            s -= A[i, k] * b[k]
        b[i] = s / A[i, i]
    for i in range(n - 1, -1, -1):
        s = b[i]
        for k in range(i + 1, n):
            s -= A[k, i] * b[k]
        b[i] = s / A[i, i]
    return True


@subroutine
def normal_equations(jacobian, residuals, gram, gradient):
    n_rows, n = jacobian.shape
    gram[:] = 0.0
    gradient[:] = 0.0
    for i in range(n_rows):
        for p in range(n):
            own = jacobian[i, p]
            gradient[p] += own * residuals[i]
            for q in range(p + 1):
                gram[p, q] += own * jacobian[i, q]


@kernel
def fit_signomial(logs, target, weight, c, exponents, n_steps, tolerance):
    """Coefficients and exponents are changed in place; returns the sum of squares."""
    n_rows, n_features = logs.shape
    n_terms = c.size
    n = n_terms * (n_features + 1)
    jacobian, residuals = np.empty((n_rows, n)), np.empty(n_rows)
    gram, gradient = np.empty((n, n)), np.empty(n)
    damped, step = np.empty((n, n)), np.empty(n)
    total = evaluate(logs, target, weight, c, exponents, jacobian, residuals, True)
    damping = 1e-2
    n_stalled = 0
    for _ in range(n_steps):
        normal_equations(jacobian, residuals, gram, gradient)
        is_better = False
        tried = total
        new_c, new_exponents = c.copy(), exponents.copy()
        for _ in range(5):
            damped[:] = gram
            for p in range(n):
                damped[p, p] += damping * (gram[p, p] + 1e-12)
            step[:] = gradient
            if solve_in_place(damped, step):
                for k in range(n_terms):
                    new_c[k] = c[k] + step[k]
                    for j in range(n_features):
                        new_exponents[k, j] = exponents[k, j] + step[n_terms + k * n_features + j]
                tried = evaluate(logs, target, weight, new_c, new_exponents, jacobian, residuals, False)
                if tried < total:
                    is_better = True
                    break
            damping *= 6.0
        if not is_better:
            break
        n_stalled = n_stalled + 1 if tried > total * (1.0 - 1e-3) else 0
        c[:] = new_c
        exponents[:] = new_exponents
        total = evaluate(logs, target, weight, c, exponents, jacobian, residuals, True)
        damping = max(0.2 * damping, 1e-10)
        if total < tolerance or n_stalled >= 6:
            break
    return total
