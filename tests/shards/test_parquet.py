"""Rows of Parquet files: the same pieces however files and row groups divide them."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from symgrove.shards import pieces
from symgrove.shards.parquet import ParquetSource, open_parquet

N_ROWS = 5000
NUMBERS = np.arange(float(N_ROWS))
TABLE = pa.table(
    {
        "a": NUMBERS,
        "b": pa.array([None if i % 7 == 0 else i for i in range(N_ROWS)], type=pa.int16()),
        "text": pa.array([None if i % 11 == 0 else "xyz"[i % 3] for i in range(N_ROWS)]).dictionary_encode(),
        "flag": [i % 2 == 0 for i in range(N_ROWS)],
        "y": pa.array(range(N_ROWS), type=pa.int32()),
        "when": pa.array([0] * N_ROWS, type=pa.date32()),
    }
)


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.setattr(pieces, "MOST_ROWS", 2048)
    for i, (start, stop, n_of_group) in enumerate([(0, 1, 1), (1, 3000, 700), (3000, 3000, 1), (3000, N_ROWS, 1999)]):
        pq.write_table(TABLE[start:stop], tmp_path / f"{i}.parquet", row_group_size=n_of_group)
    return open_parquet(str(tmp_path))


def block(files, start, stop, room=0):
    source = ParquetSource(files.columns(["a", "b", "text", "flag"]), files.columns(["y"]), "a", room)
    make, *given = source.make(None, "", slice(start, stop))
    return make(*given)


@pytest.mark.parametrize("room", [0, 10**6 // 2, 10**9])
def test_pieces_are_rows_in_order_whether_they_are_kept_or_not(files, room):
    assert (files.n_rows, files.n_files, files.numbers, files.texts) == (
        N_ROWS,
        3,
        ("a", "b", "y"),
        ("text", "flag"),
    )
    for start, stop in [(2048, 4096), (4096, N_ROWS), (0, N_ROWS)]:
        own = block(files, start, stop, room)
        for _ in range(3):
            found = [*own.pieces()]
            assert [len(piece.X) for piece in found] == [min(2048, stop - s) for s in range(start, stop, 2048)]
            assert [piece.start for piece in found] == list(range(start, stop, 2048))
            together = {name: np.concatenate([piece.X[name] for piece in found]) for name in found[0].X.columns}
            assert np.array_equal(together["a"], NUMBERS[start:stop])
            assert np.array_equal(np.concatenate([piece.weight for piece in found]), NUMBERS[start:stop])
            expected = TABLE["b"][start:stop].to_pylist()
            assert [None if np.isnan(b) else b for b in together["b"]] == expected
            assert together["text"].tolist() == TABLE["text"][start:stop].to_pylist()
            assert together["flag"].tolist() == [str(f) for f in TABLE["flag"][start:stop].to_pylist()]
            y = np.concatenate([piece.y for piece in found])
            assert y.dtype.kind == "i"
            assert np.array_equal(y, np.arange(start, stop))
    assert len(own._kept) == {0: 0, 10**9: 3}.get(room, 1)
    assert all(values.base is None for columns in own._kept for values in columns.values())  # no views of more rows


def test_some_rows_come_from_all_parts(files):
    found = files.some_rows(["a", "text"], 60, files.columns(["y"]))
    assert 40 <= found["a"].size <= 60  # some row groups have fewer than their share
    assert found["a"].max() > 4000
    assert found["text"].size == found["a"].size


def test_columns_come_in_one_order_whatever_the_files_have(files, tmp_path):
    pq.write_table(TABLE.select(TABLE.column_names[::-1]), tmp_path / "9.parquet")
    found = [*open_parquet(str(tmp_path)).record_batches(4000)]
    assert {tuple(batch.schema.names) for batch in found} == {files.names}
    assert found[-1]["a"].to_pylist()[-1] == N_ROWS - 1


def test_whole_numbers_too_large_for_floats_are_features_and_labels(tmp_path):
    large = 2**60 + np.arange(100) % 2
    pq.write_table(pa.table({"a": 2**60 + np.arange(100), "y": large}), tmp_path / "0.parquet")
    own = open_parquet(str(tmp_path))
    make, *given = ParquetSource(own.columns(["a"]), own.columns(["y"]).of_whole_numbers()).make(
        None, "", slice(0, 100)
    )
    (piece,) = make(*given).pieces()
    assert np.array_equal(piece.X["a"], 2.0**60 + np.arange(100.0))
    assert np.array_equal(piece.y, large)


def test_files_that_cannot_be_used_say_why(files, tmp_path):
    with pytest.raises(ValueError, match=r"column 'when' of .* holds values of type date32"):
        files.columns(["when"])
    with pytest.raises(ValueError, match="has no column 'z'"):
        files.columns(["z"])
    with pytest.raises(ValueError, match="there is no file"):
        open_parquet(str(tmp_path / "x-*.parquet"))
    pq.write_table(TABLE.select(["a"]), tmp_path / "9.parquet")
    with pytest.raises(ValueError, match=r"9\.parquet.* has other columns, or of other types"):
        open_parquet(str(tmp_path))
    (tmp_path / "9.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(ValueError, match="cannot be read as Parquet"):
        open_parquet(str(tmp_path))
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match="has no Parquet files"):
        open_parquet(str(tmp_path / "empty"))
    pq.write_table(TABLE[:0], tmp_path / "empty" / "0.parquet")
    with pytest.raises(ValueError, match="has no rows"):
        open_parquet(str(tmp_path / "empty"))
