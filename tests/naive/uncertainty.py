"""Intervals, mixtures and corrected probabilities from their definitions, one row at a time."""

import math


def conformal_factor(scores, coverage):
    """The smallest of the numbers of widths that at least the needed share of the scores, and one more, is within."""
    sizes = sorted(abs(score) for score in scores)
    for factor in sizes:
        n_inside = sum(size <= factor for size in sizes)
        if n_inside >= (len(sizes) + 1) * coverage - 1e-9:
            return factor
    return math.inf


def log_density(value, prediction, members, stretch, noise):
    """Of the mixture: half of the spread moves the centres, half widens every member's normal distribution."""
    spread = math.sqrt(sum((m - prediction) ** 2 for m in members) / len(members))
    deviation = math.sqrt(noise**2 + 0.5 * stretch**2 * spread**2)
    total = 0.0
    for member in members:
        centre = prediction + math.sqrt(0.5) * stretch * (member - prediction)
        total += math.exp(-0.5 * ((value - centre) / deviation) ** 2) / (deviation * math.sqrt(2 * math.pi))
    return math.log(total / len(members))


def corrected(shares, power, weights, floor):
    raised = [w * max(s, floor) ** power for s, w in zip(shares, weights, strict=True)]
    return [r / sum(raised) for r in raised]
