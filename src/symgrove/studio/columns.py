"""A table as a person chooses from it: what each column holds, what is missing, how its values are distributed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from symgrove.studio.settings import LONGEST_NAME, MOST_COLUMNS

N_BARS = 16
MOST_CATEGORIES = 6  # that have a bar
MOST_CLASSES = 10  # of whole numbers that are taken for classes, as of `symgrove fit`
FEWEST_LABELS = 20  # rows from which on texts that are all different are no categories


class GivenColumn(NamedTuple):
    """Values of a column, numbers or texts, None where one is missing; or why it cannot be used."""

    values: Sequence[Any]
    is_date: bool = False
    trouble: str = ""


def described(columns: Mapping[str, GivenColumn]) -> list[dict[str, Any]]:
    """For each column its kind, counts and distribution, and what it may be chosen for."""
    if len(columns) > MOST_COLUMNS:
        raise ValueError(
            f"the table has {len(columns):,} columns, and a page shows at most {MOST_COLUMNS:,}. Leave some out, or "
            "use `symgrove fit`."
        )
    for name in columns:
        if len(name) > LONGEST_NAME:
            raise ValueError(
                f"a column's name has {len(name):,} characters ({name[:40]!r}...), more than {LONGEST_NAME}."
            )
    return [_described(name, given) for name, given in columns.items()]


def _described(name: str, given: GivenColumn) -> dict[str, Any]:
    known = [value for value in given.values if value is not None]
    found: dict[str, Any] = {"name": name, "n": len(given.values), "missing": len(given.values) - len(known)}
    if given.trouble or not known:
        return found | {"kind": "unusable", "trouble": given.trouble or "it holds no value", "tasks": []}
    if isinstance(known[0], str):
        return found | _of_texts(known)
    numbers = np.array(known, dtype=np.float64)
    different = np.unique(numbers)
    is_whole = bool(np.all(numbers == np.round(numbers)) and np.abs(numbers).max() < 2**53)
    may_be_classes = is_whole and different.size <= max(MOST_CLASSES, numbers.size // 2)
    tasks = ["regression"] if different.size > 1 else []
    if may_be_classes and different.size > 1:
        tasks = ["classification", *tasks] if different.size <= MOST_CLASSES else [*tasks, "classification"]
    found |= {"different": int(different.size), "bars": _bars(numbers, different), "tasks": tasks}
    low, median, high = (2 * float(v) for v in np.quantile(numbers / 2, [0, 0.5, 1]))  # half: differences stay finite
    found |= {"low": low, "median": median, "high": high, "is_feature": different.size > 1}
    return found | {"kind": "date", "tasks": []} if given.is_date else found | {"kind": "number", "is_whole": is_whole}


def _bars(numbers: Any, different: Any) -> list[int]:
    """Counts in parts of equal width, or of each value if they are few."""
    if different.size <= N_BARS:
        return [int(n) for n in np.unique(numbers, return_counts=True)[1]]
    with np.errstate(all="ignore"):
        low, high = numbers.min() / 2, numbers.max() / 2  # halves, because their difference may be infinite
        places = np.clip(((numbers / 2 - low) / (high - low) * N_BARS).astype(int), 0, N_BARS - 1)
    return [int(n) for n in np.bincount(places, minlength=N_BARS)]


def _of_texts(known: Sequence[str]) -> dict[str, Any]:
    counts = Counter(known)
    most = counts.most_common(MOST_CATEGORIES)
    rest = len(known) - sum(n for _, n in most)
    is_label = len(counts) == len(known) >= FEWEST_LABELS
    is_target = 1 < len(counts) <= max(MOST_CLASSES, len(known) // 2)
    return {
        "kind": "text",
        "different": len(counts),
        "common": [[text[:80], n] for text, n in most],
        "bars": [n for _, n in most] + ([rest] if rest else []),
        "is_feature": not is_label and len(counts) > 1,
        "tasks": ["classification"] if is_target else [],
    }


def suggested_target(columns: Sequence[dict[str, Any]]) -> str | None:
    """The last column that can be one: mostly it is what people want to know."""
    return next((column["name"] for column in reversed(columns) if column["tasks"]), None)
