"""The column to predict: numbers or classes, and what to do where it looks like one and is the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from symgrove.cli._common import tell
from symgrove.cli.tables import DataTable
from symgrove.models.number_text import share_of_numbers

MOST_CLASSES = 10  # of whole numbers that are taken for labels; of texts, where every second row has another
MOST_SHOWN = 3


def target_of(table: DataTable, name: str, rows: Sequence[int], task: str) -> tuple[np.ndarray[Any, Any], str]:
    """The target of some rows, and the task: texts, or few different whole numbers, are classes."""
    values = [table.column(name)[i] for i in rows]
    if table.is_date(name):
        raise ValueError(f"the target {name!r} holds dates, which are not predicted. Make numbers of them.")
    if table.is_text(name):
        texts = [table.texts(name)[i] for i in rows]
        _check_texts(table, name, texts, task)
        return np.array(texts), "classification"
    is_whole = all(float(v).is_integer() and abs(v) < 2**53 for v in values)
    is_few = is_whole and len(set(values)) <= MOST_CLASSES
    found = ("classification" if is_few else "regression") if task == "auto" else task
    if found == "classification":
        if not is_whole:
            raise ValueError(
                f"the target {name!r} holds numbers that are not whole (or beyond 2^53): no classes. --task regression "
                "predicts the numbers."
            )
        if len(set(values)) > max(MOST_CLASSES, len(values) // 2):
            tell(f"note: {len(set(values))} classes in {len(values)} rows; --task regression predicts numbers")
        return np.array([int(v) for v in values]), found
    return np.array(values, dtype=np.float64), found


def _check_texts(table: DataTable, name: str, texts: list[str], task: str) -> None:
    """Refuse texts that are hardly meant as classes, unless classes are asked for."""
    if task == "classification":
        return
    share, odd = share_of_numbers(texts)
    n_odd = sum(text in set(odd) for text in texts)
    classes = "symgrove fit --task classification takes every different value for a class."
    if odd and share >= 0.5:
        raise ValueError(
            f"the target {name!r} is a number in most rows, and in {n_odd} of {len(texts)} it is none ({listed(odd)}). "
            f"Correct these or leave them empty: rows without a target are left out. {classes}"
        )
    if not odd and texts:
        raise ValueError(
            f"the target {name!r} holds numbers that are not written alike ({listed(_ends(texts))}): different "
            f"currencies, percents, or points and commas. Make them alike. {classes}"
        )
    n_different = len(set(texts))
    if task == "regression":
        numbers = [other for other in table.given if other != name and _is_numbers(table, other)]
        others = f" Columns of numbers: {', '.join(map(repr, numbers[:10]))}." if numbers else ""
        raise ValueError(
            f"the target {name!r} holds texts, which is no regression ({listed(texts)}).{others} {classes}"
        )
    if n_different > max(MOST_CLASSES, len(texts) // 2):
        raise ValueError(
            f"the target {name!r} has {n_different} different texts in {len(texts)} rows ({listed(texts)}), which is "
            f"too many for classes to learn. Name another column. {classes}"
        )


def _is_numbers(table: DataTable, name: str) -> bool:
    try:
        return not table.is_text(name) and not table.is_date(name)
    except ValueError:
        return False


def listed(texts: list[str]) -> str:
    """The first few."""
    different = list(dict.fromkeys(texts))
    return ", ".join(map(repr, different[:MOST_SHOWN])) + (", ..." if len(different) > MOST_SHOWN else "")


def _ends(texts: list[str]) -> list[str]:
    """The first text, and one that is written otherwise."""
    marks = [("".join(c for c in text if not c.isdigit()), text) for text in texts]
    return [texts[0], *(text for mark, text in marks if mark != marks[0][0])][:2]
