"""Columns of a table become features as the naive twin says, and survive documents."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest

from symgrove.forest.forest import Forest
from symgrove.forest.primitives import PrimitiveSet
from symgrove.forest.text import parse, to_text
from symgrove.models.coding import category_text, coded, coded_for_fit
from symgrove.models.columns import (
    FEWEST_FOR_INDICATOR,
    MOST_CATEGORIES,
    SHARE_FOR_INDICATOR,
    TableColumn,
    TableColumns,
    columns_from,
    plain_columns,
    weighted_median,
)
from symgrove.models.document import Entries
from tests.naive import columns as naive

HOSTILE = (
    'a"b',
    "it's",
    "x`y",
    "line\nbreak",
    "ünïcode ✓",
    "",
    " padded ",
    "missing",
    "another",
    "[in]",
    "{0}",
    "1",
    "NaN",
)


def random_table(rng, n_rows):
    """Columns of numbers and of categories, some with holes, as lists of Python's values."""
    many = [f"c{i:02}" for i in range(MOST_CATEGORIES + 5)]
    table = {
        "whole": rng.normal(size=n_rows).tolist(),
        "seldom": rng.normal(size=n_rows).tolist(),
        "often": rng.integers(0, 5, n_rows).astype(float).tolist(),
        "kind": [str(k) for k in rng.choice(HOSTILE[:7], n_rows)],
        "many": [str(k) for k in rng.choice(many, n_rows)],
    }
    for name, share in (("seldom", 0.02), ("often", 0.3), ("kind", 0.1)):
        for i in np.flatnonzero(rng.random(n_rows) < share):
            table[name][i] = None
    return table


def as_frame(table, n_first=0):
    return pd.DataFrame({name: pd.Series(values[n_first:], dtype=object) for name, values in table.items()})


@pytest.mark.parametrize("seed", range(6))
def test_features_are_those_of_the_naive_twin(seed):
    rng = np.random.default_rng(seed)
    table, is_categorical = random_table(rng, 300), [False, False, False, True, True]
    weights = rng.integers(0, 4, 300) if seed % 2 else np.ones(300, dtype=int)
    training = np.flatnonzero(weights)
    T, raw = coded_for_fit(as_frame(table), list(table), is_categorical)
    weight = weights[training].astype(float) if seed % 2 else None
    columns = raw.learned(T[training], weight)
    rules = MOST_CATEGORIES, SHARE_FOR_INDICATOR, FEWEST_FOR_INDICATOR
    own = [naive.learn(v, weights, c, *rules) for v, c in zip(table.values(), is_categorical, strict=True)]
    new = random_table(rng, 40)
    new["kind"][:3] = ["unseen", "", None]
    new["whole"][:3] = [None, None, 1e9]
    for rows, given in (
        (columns.features(raw.recoded(T, columns)), table),
        (columns.features(coded(as_frame(new), columns)), new),
    ):
        wanted = [
            [f for c, v in zip(own, row, strict=True) for f in naive.features(c, v)]
            for row in zip(*given.values(), strict=True)
        ]
        np.testing.assert_array_equal(rows, np.array(wanted, dtype=float))
    plain = [n for label, c in list(zip(table, own, strict=True))[:3] for n in naive.names(label, c)]
    assert columns.labels[: len(plain)] == plain
    assert len(set(columns.labels)) == columns.owners.size == rows.shape[1]
    shown = [sorted(v for v in column if v is not None) for column in columns.values(raw.recoded(T, columns)).T]
    assert shown[:4] == [sorted(v for v in values if v is not None) for values in list(table.values())[:4]]


def test_the_weighted_median_counts_rows_as_often_as_their_weights():
    rng = np.random.default_rng(0)
    for _ in range(200):
        n = int(rng.integers(1, 8))
        values, weights = rng.integers(0, 4, n).astype(float), rng.integers(1, 4, n)
        assert weighted_median(values, weights.astype(float)) == naive.median(values.tolist(), weights.tolist())
        assert weighted_median(values) == np.median(values)
    assert weighted_median(np.zeros(0)) == 0.0


def test_frames_of_all_kinds_are_the_same_table():
    numbers, texts = [1.5, None, 3.0, 1.5], ["b", "a", None, "b"]
    frames = [
        pd.DataFrame({"n": numbers, "c": pd.Series(texts, dtype="category")}),
        pd.DataFrame({"n": pd.array(numbers, dtype="Float64"), "c": texts}),
        pl.DataFrame({"n": numbers, "c": texts}, schema_overrides={"c": pl.Categorical}),
        pl.DataFrame({"n": numbers, "c": texts}, schema_overrides={"c": pl.Enum(["b", "z", "a"])}),
        np.array(list(zip(numbers, texts, strict=True)), dtype=object),
    ]
    for frame in frames:
        table, columns = coded_for_fit(frame, ["n", "c"], [False, True])
        np.testing.assert_array_equal(table, [[1.5, 1.0], [np.nan, 0.0], [3.0, np.nan], [1.5, 1.0]])
        assert columns.columns[1].categories == ("a", "b")


def test_categories_are_compared_as_texts():
    given = [1, 1.0, np.int64(1), np.float32(1), "1", True, 1.5, None, np.nan, pd.NA, pd.NaT, 2**60]
    assert [category_text(v) for v in given] == [*["1"] * 5, "True", "1.5", *[None] * 4, str(2**60)]


def test_hostile_names_and_categories_have_names_that_read_back():
    columns = TableColumns(
        (
            TableColumn("a`[b] is c", 0.0, True, True),
            TableColumn("k", categories=HOSTILE, has_indicator=True, has_others=True),
            TableColumn("[k is 1]", 0.0),
        )
    )
    labels = columns.labels
    assert len(set(labels)) == len(labels)
    assert "[k is missing]" in labels
    assert '[k is "missing"]' in labels
    assert "[k is 1]_" in labels
    forest = Forest(len(labels), PrimitiveSet(("add", "mul")))
    for i, label in enumerate(labels):
        root = forest.apply("add", forest.feature(i), forest.constant(2.0))
        text = to_text(forest, root, labels)
        assert parse(forest, text, labels) == root
        assert text.isprintable() or "`" in text, label
    assert to_text(forest, forest.feature(labels.index("[k is missing]")), labels) == "[k is missing]"


def test_documents_give_back_the_same_columns():
    columns = TableColumns(
        (
            TableColumn("a", 0.1 + 0.2, True, True),
            TableColumn("k", 0.0, categories=HOSTILE, has_indicator=True),
            TableColumn("b"),
        )
    )
    entries = Entries({"columns": json.loads(json.dumps(columns.document()))})
    again = columns_from(entries.each("columns"), ["a", "k", "b"])
    assert again.columns[:2] == columns.columns[:2]
    assert np.isnan(again.columns[2].fill)
    for change, message in (
        ({"fill": "1"}, "'fill'"),
        ({"has_indicator": 1}, "'has_indicator'"),
        ({"categories": ["x", "x"]}, "different texts"),
        ({"categories": [1]}, "different texts"),
        ({"fill": None}, "a number for rows without one"),
        ({"has_others": True}, "must have categories"),
    ):
        damaged = [columns.document()[0] | change, *columns.document()[1:]]
        with pytest.raises(ValueError, match=message):
            columns_from(Entries({"columns": damaged}).each("columns"), ["a", "k", "b"])
    with pytest.raises(ValueError, match="must have 2 items"):
        columns_from(entries.each("columns"), ["a", "k"])


def test_complete_numbers_are_passed_on_as_they_are():
    X = np.arange(6.0).reshape(3, 2)
    assert plain_columns(["a", "b"]).features(X) is X
    assert TableColumns((TableColumn("a", 9.0), TableColumn("b", 9.0))).features(X) is X
