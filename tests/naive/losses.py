"""Losses of regression on one row, from their definitions, and their derivatives by small differences."""

import math


def squared(y, p):
    return (y - p) ** 2


def absolute(y, p):
    return abs(y - p)


def huber(y, p, delta):
    distance = abs(y - p)
    return 0.5 * distance**2 if distance <= delta else delta * (distance - 0.5 * delta)


def quantile(y, p, q):
    return q * (y - p) if y > p else (1 - q) * (p - y)


def poisson(y, p):
    return 2 * ((y * math.log(y / p) if y > 0 else 0.0) - y + p)


def first_derivative(loss, p, h):
    return (loss(p + h) - loss(p - h)) / (2 * h)


def second_derivative(loss, p, h):
    return (loss(p + h) - 2 * loss(p) + loss(p - h)) / h**2
