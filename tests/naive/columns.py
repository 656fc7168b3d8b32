"""Features of a table by definition, value by value: lists of Python's numbers and texts, None where one is missing."""

import statistics
from collections import Counter


def median(values, weights):
    """Of values that are there, each as often as its weight, a whole number, says."""
    known = [v for v, w in zip(values, weights, strict=True) if v is not None for _ in range(w)]
    return statistics.median(known) if known else 0.0


def learn(values, weights, is_categorical, most, share, fewest):
    """What is known of a column after training on its values; rows of weight 0 are not there."""
    there = [v for v, w in zip(values, weights, strict=True) if w]
    n_missing = there.count(None)
    if not is_categorical:
        has_indicator = fewest <= n_missing < len(there) and n_missing >= share * len(there)
        return {"fill": median(values, weights), "indicator": has_indicator, "kept": None, "others": False}
    counts = Counter(v for v in there if v is not None)
    kept = sorted(sorted(counts, key=lambda c: (-counts[c], c))[:most])
    return {"fill": None, "indicator": n_missing > 0, "kept": kept, "others": len(counts) > most}


def features(column, value):
    """The features of one value."""
    if column["kept"] is None:
        found = [column["fill"] if value is None else value]
    else:
        found = [1.0 if value == category else 0.0 for category in column["kept"]]
        if column["others"]:
            found.append(1.0 if value is not None and value not in column["kept"] else 0.0)
    if column["indicator"]:
        found.append(1.0 if value is None else 0.0)
    return found


def names(label, column):
    """What the features are called."""
    if column["kept"] is None:
        found = [label]
    else:
        found = [f"[{label} is {category}]" for category in column["kept"]]
        found += [f"[{label} is another]"] if column["others"] else []
    return [*found, f"[{label} is missing]"] if column["indicator"] else found
