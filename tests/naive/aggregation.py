"""What members say together, from the definitions: one row at a time, plain lists."""

import math
import statistics


def combine(members, aggregation, fallback, weights=None):
    """Prediction on one row from what members say there."""
    if aggregation == "interquartile":
        said = sorted(m if math.isfinite(m) else fallback for m in members)
        n_outer = len(said) // 4
        return statistics.fmean(said[n_outer : len(said) - n_outer])
    counted = [i for i, m in enumerate(members) if math.isfinite(m)]
    if aggregation == "weighted":
        total = sum(weights[i] for i in counted)
        return sum(weights[i] * members[i] for i in counted) / total if total > 0 else fallback
    if not counted:
        return fallback
    return {"mean": statistics.fmean, "median": statistics.median}[aggregation]([members[i] for i in counted])


def vote(said, fallback, weights):
    """Share of the votes for class 1 on one row: added in order; who is not finite says the fallback."""
    total = 0.0
    for weight in weights:
        total += weight
    share = 0.0
    for weight, own in zip(weights, said, strict=True):
        share += weight / total * (own if math.isfinite(own) else fallback)
    return share


def weights_of(errors):
    """One over the error; of those with an error of zero, all the same; nothing for what is infinite."""
    if 0 in errors:
        return [1.0 if error == 0 else 0.0 for error in errors]
    return [0.0 if math.isinf(error) else 1 / error for error in errors]
