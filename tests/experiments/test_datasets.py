"""Data sets: by name from every source, verified; own files; nothing half-written."""

import http.server
import os
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import sklearn.datasets

from symgrove.experiments import datasets
from symgrove.experiments.datasets import KNOWN, checksum_of, load, load_file

FOLDER = Path(os.environ.get("SYMGROVE_DATA", Path(__file__).parents[3] / "shared" / "data"))


@pytest.fixture(autouse=True)
def own_folders(tmp_path, monkeypatch):
    monkeypatch.setenv("SYMGROVE_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("SYMGROVE_DATA", raising=False)


@pytest.fixture
def iono_like(monkeypatch):
    """A small stand-in for a data set that is downloaded as text: 3 rows, 2 features, labels b and g."""
    table = np.array([[0.5, 2.0, 1.0], [0.25, -1.0, 0.0], [1.5, 3.0, 1.0]])
    known = replace(KNOWN["iono"], shape=(3, 3), label_mean=2 / 3, checksum=checksum_of(table))
    monkeypatch.setitem(KNOWN, "iono", known)
    return table


@pytest.fixture
def server():
    """Serves whatever is in `server.content`; None is an error 404."""

    class Handler(http.server.BaseHTTPRequestHandler):
        content = None

        def do_GET(self):
            if Handler.content is None:
                self.send_error(404)
                return
            self.send_response(200)
            self.send_header("Content-Length", str(len(Handler.content) + Handler.missing))
            self.end_headers()
            self.wfile.write(Handler.content)

        def log_message(self, *_):
            pass

    Handler.missing = 0
    with http.server.HTTPServer(("127.0.0.1", 0), Handler) as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        Handler.url = f"http://127.0.0.1:{running.server_port}/data"
        yield Handler
        running.shutdown()


def test_breast_cancer_comes_with_scikit_learn():
    data = load("bcw")
    assert data.X.shape == (569, 30)
    assert data.task == "classification"
    assert data.y.sum() == 212  # malignant


@pytest.mark.skipif(not FOLDER.is_dir(), reason="the paper's data sets are not here; set SYMGROVE_DATA to their folder")
@pytest.mark.parametrize("name", KNOWN)
def test_every_file_of_the_paper_is_known(name):
    data = load(name, FOLDER)
    assert data.X.shape == (KNOWN[name].shape[0], KNOWN[name].shape[1] - 1)


@pytest.mark.skipif(not FOLDER.is_dir(), reason="the paper's data sets are not here; set SYMGROVE_DATA to their folder")
def test_sources_give_the_same_rows_in_the_same_order(monkeypatch):
    monkeypatch.setenv("SYMGROVE_DATA", str(FOLDER))
    from_file = load("bcw")
    monkeypatch.delenv("SYMGROVE_DATA")
    for a, b in zip(from_file, load("bcw"), strict=True):
        np.testing.assert_array_equal(a, b)


def test_rows_are_sorted_whatever_their_order(tmp_path, iono_like):
    for order in ([0, 1, 2], [2, 0, 1]):
        np.savetxt(tmp_path / "iono.csv", iono_like[order], delimiter=",")
        np.testing.assert_array_equal(load("iono", tmp_path).X, [[0.25, -1.0], [0.5, 2.0], [1.5, 3.0]])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("1,2\n", r"has shape \(1, 2\), expected \(3, 3\)"),
        ("0.5,2,1\n0.25,-1,1\n1.5,3,1\n", "a label of mean 1, expected 0.666667"),
        ("0.5,2,1\n0.25,-1,0\n1.5,9,1\n", "its checksum differs"),
        ("0.5,2,1\n0.25,nan,0\n1.5,3,1\n", "not finite"),
        ("a,b,c\n", "is not a table of numbers"),
        ("", "is not Ionosphere|not a table"),
    ],
)
@pytest.mark.filterwarnings("ignore:.*input contained no data")
def test_files_that_are_something_else_get_a_clear_error(tmp_path, iono_like, content, message):
    (tmp_path / "iono.csv").write_text(content)
    with pytest.raises(ValueError, match=message):
        load("iono", tmp_path)


def test_a_download_is_verified_and_kept(iono_like, server, monkeypatch, tmp_path):
    monkeypatch.setitem(KNOWN, "iono", replace(KNOWN["iono"], url=server.url))
    server.content = b"1.5,3,g\n0.5,2,g\n0.25,-1,b\n"
    first = load("iono")
    server.content = None
    np.testing.assert_array_equal(load("iono").X, first.X)  # from the cache
    assert [f.name for f in (tmp_path / "cache").iterdir()] == ["iono.csv"]


@pytest.mark.parametrize(
    ("content", "missing"), [(None, 0), (b"<html>moved</html>", 0), (b"1.5,3,g\n", 500), (b"1,2,g\n", 0)]
)
def test_a_download_that_fails_leaves_nothing(iono_like, server, monkeypatch, tmp_path, content, missing):
    monkeypatch.setitem(KNOWN, "iono", replace(KNOWN["iono"], url=server.url))
    monkeypatch.setattr(datasets, "SECONDS_TO_WAIT", 2.0)
    server.content, server.missing = content, missing
    with pytest.raises(ValueError, match=r"could not be downloaded from http|the download is not Ionosphere"):
        load("iono")
    assert not (tmp_path / "cache").exists() or list((tmp_path / "cache").iterdir()) == []


def test_the_telemonitoring_file_becomes_18_features_and_a_label():
    names = (
        "subject#,age,sex,test_time,motor_UPDRS,total_UPDRS,Jitter(%),Jitter(Abs),Jitter:RAP,Jitter:PPQ5,Jitter:DDP,"
    )
    names += "Shimmer,Shimmer(dB),Shimmer:APQ3,Shimmer:APQ5,Shimmer:APQ11,Shimmer:DDA,NHR,HNR,RPDE,DFA,PPE"
    values = ",".join(map(str, range(22)))
    table = KNOWN["parks"].recipe(f"{names}\n{values}\n".encode())
    assert table.tolist() == [[1, 5, *range(6, 22), 2]]


@pytest.mark.parametrize(
    ("name", "columns"), [("enh", [*range(8), 8]), ("enc", [*range(8), 9]), ("ccs", list(range(9)))]
)
def test_tables_of_openml_are_asked_for_by_number(monkeypatch, name, columns):
    n_rows = KNOWN[name].shape[0]
    asked = {}

    def fetch_openml(**arguments):
        asked.update(arguments)
        return type(
            "Found", (), {"data": np.arange(n_rows * 10.0).reshape(n_rows, 10)[:, : 9 if name == "ccs" else 10]}
        )

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", fetch_openml)
    table = datasets._download(name)
    np.testing.assert_array_equal(table, np.arange(n_rows * 10.0).reshape(n_rows, 10)[:, columns])
    assert asked["data_id"] == KNOWN[name].openml
    with pytest.raises(ValueError, match="the download is not"):
        load(name)


def test_the_labels_of_text_files():
    assert KNOWN["sonar"].recipe(b"0.1,0.2,R\n0.3,0.4,M\n").tolist() == [[0.1, 0.2, 0.0], [0.3, 0.4, 1.0]]
    assert KNOWN["heart"].recipe(b"70.0 1.0 2\n60.0 0.0 1\n").tolist() == [[70.0, 1.0, 1.0], [60.0, 0.0, 0.0]]
    assert KNOWN["asn"].recipe(b"800\t0\t126.2\n").tolist() == [[800.0, 0.0, 126.2]]


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_own_files(tmp_path, suffix):
    frame = pd.DataFrame({"a": np.arange(30.0), "price": np.arange(30) * 2.5, "kind": ["x", "y"] * 15})
    file = tmp_path / f"mine{suffix}"
    for kept, target, task in ((["a", "price"], "price", "regression"), (["a", "kind"], "kind", "classification")):
        (frame[kept].to_csv if suffix == ".csv" else frame[kept].to_parquet)(file, index=False)
        data = load_file(file, target)
        assert (data.name, data.task, data.X.shape) == ("mine", task, (30, 1))
    assert load_file(file, "kind", name="other").name == "other"
    with pytest.raises(ValueError, match=r"'kind' of .* is not numbers; it can be classified"):
        load_file(file, "kind", task="regression")
    with pytest.raises(ValueError, match=r"the data set 'asn' of .* is named like one of the paper"):
        load_file(file, "kind", name="asn")
    with pytest.raises(ValueError, match="no column 'prise'; its columns are a, kind"):
        load_file(file, "prise")
    frame.to_csv(tmp_path / "text.csv", index=False)
    with pytest.raises(ValueError, match="columns that are not numbers: kind"):
        load_file(tmp_path / "text.csv", "price")
    frame[["a", "price"]].replace(3.0, np.nan).to_csv(tmp_path / "gaps.csv", index=False)
    with pytest.raises(ValueError, match="missing values"):
        load_file(tmp_path / "gaps.csv", "price")
    with pytest.raises(ValueError, match="does not exist"):
        load_file(tmp_path / "nowhere.csv", "price")


def test_unknown_names_and_folders_get_a_clear_error(tmp_path):
    with pytest.raises(ValueError, match="unknown data set 'iris'; known are asn"):
        load("iris")
    with pytest.raises(ValueError, match="does not exist"):
        load("asn", tmp_path / "nowhere")


@pytest.mark.skipif(not FOLDER.is_dir(), reason="needs the paper's files")
def test_rows_in_the_order_of_the_files():
    sorted_rows, given = (load("heart", FOLDER, order) for order in ("sorted", "files"))
    table = np.column_stack([given.X, given.y])
    np.testing.assert_array_equal(table, np.loadtxt(FOLDER / "heart.csv", delimiter=","))
    np.testing.assert_array_equal(table[np.lexsort(table.T)], np.column_stack([sorted_rows.X, sorted_rows.y]))


def test_another_order_is_no_order_of_the_files(tmp_path, iono_like, monkeypatch):
    monkeypatch.setitem(datasets.IN_ORDER, "iono", checksum_of(iono_like, is_sorted=False))
    np.savetxt(tmp_path / "iono.csv", iono_like, delimiter=",")
    np.testing.assert_array_equal(load("iono", tmp_path, "files").y, iono_like[:, -1])
    np.savetxt(tmp_path / "iono.csv", iono_like[::-1], delimiter=",")
    with pytest.raises(ValueError, match=r"with its rows in their order: .*iono\.csv' is not that file"):
        load("iono", tmp_path, "files")
    with pytest.raises(ValueError, match="no folder of data is named"):
        load("iono", None, "files")
