"""Study files: what they may say, and data files that they name."""

from dataclasses import replace

import numpy as np
import pytest

from symgrove.experiments.datasets import DataSet
from symgrove.experiments.paper import choose, run_study
from symgrove.experiments.study import load_study
from tests.experiments.test_studies import TINY, results

WHOLE = TINY.format(generations=2)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("title = ", "cannot be read"),
        ('title = "t"\nkind = "table"\ndatasets = ["asn"]\n', "cannot be read: the study has no 'methods'"),
        (WHOLE.replace("ClassicGPRegressor", "ClasicGP"), "the estimator 'ClasicGP' is not known"),
        (WHOLE.replace("runs = 6", "rums = 6"), "has an unknown entry 'rums'; it takes data,"),
        (WHOLE.replace("runs = 6", 'runs = "6"'), "runs must be a whole number"),
        (WHOLE.replace("population_size", "populaton_size"), "no parameter 'populaton_size'"),
        (WHOLE.replace('"table"', '"tabel"'), "kind must be one of table"),
        (WHOLE.replace('["friedman"]', '"friedman"'), "datasets must be a list"),
        (WHOLE.replace("runs = 6", 'record = "everything"'), "record must be one of"),
        (WHOLE.replace("runs = 6", 'published = ["tests"]'), "published must be a list of some"),
        (WHOLE.replace("runs = 6", 'order = "random"'), "order must be sorted or files, got 'random'"),
        (WHOLE.replace('["add", "mul"]', "{ add = 1 }"), "must be a value or a list"),
        ('title = "t"\nkind = "table"\ndatasets = ["asn"]\nmethods = "x"\n', "methods must be tables"),
        (WHOLE.replace('label = "cGP"', "label = 3"), "methods.cgp: .* got label = 3"),
        (
            WHOLE.replace('label = "cGP"', 'lable = "cGP"'),
            "methods.cgp has an unknown entry 'lable'",
        ),
        (
            WHOLE + '[data.a]\nfile = "a.csv"',
            "data.a has no 'target'; it takes file, target, task",
        ),
        (
            WHOLE + '[data.a]\nfile = "a"\ntarget = "y"\ntask = "rank"',
            "task must be regression or",
        ),
        (
            WHOLE + '[data.a]\nfile = 3\ntarget = "y"',
            "data.a: file, target and task must be texts",
        ),
    ],
)
def test_studies_that_make_no_sense_get_a_clear_error(tmp_path, text, message):
    file = tmp_path / "own.toml"
    file.write_text(text)
    with pytest.raises(ValueError, match=message):
        load_study(str(file))
    with pytest.raises(ValueError, match="unknown study 'table9'; known are table1"):
        load_study("table9")


FILES = """
title = "Two files"
kind = "table"
runs = 2

[data.sizes]
file = "tables/first.csv"
target = "size"

[data.counts]
file = "tables/second.csv"
target = "count"
task = "regression"

[methods.mean]
label = "neighbours"
regressor = "sklearn.neighbors:KNeighborsRegressor"
"""


def test_a_study_names_its_own_files_beside_it(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    (tmp_path / "tables").mkdir()
    np.savetxt(tmp_path / "tables/first.csv", rng.normal(size=(40, 2)), delimiter=",", header="a,size", comments="")
    np.savetxt(tmp_path / "tables/second.csv", rng.integers(3, size=(40, 2)), "%d", ",", header="a,count", comments="")
    (tmp_path / "files.toml").write_text(FILES)
    monkeypatch.chdir("/")
    study = load_study(tmp_path / "files.toml")
    found = run_study(study, tmp_path / "out")
    assert not found.failures
    assert sorted((row["dataset"], row["split"]) for row in found.rows.values()) == [
        (name, split) for name in ("counts", "sizes") for split in (0, 1)
    ]
    X, y = np.loadtxt(tmp_path / "tables/first.csv", delimiter=",", skiprows=1).T
    by_hand = run_study(study, tmp_path / "hand", own={"sizes": DataSet("sizes", X[:, None], y, "regression")})
    assert results(by_hand) == results(found)
    (tmp_path / "tables/second.csv").unlink()
    assert len(run_study(choose(study, ["sizes"]), tmp_path / "out").rows) == 2
    with pytest.raises(ValueError, match=r"second.csv' does not exist"):
        run_study(study, tmp_path / "out")


def test_a_study_without_data_gets_a_clear_error(tmp_path):
    (tmp_path / "tiny.toml").write_text(WHOLE)
    tiny = load_study(tmp_path / "tiny.toml")
    with pytest.raises(
        ValueError, match=r"tiny needs methods and data: name data sets, or give files as \[data.NAME\]"
    ):
        run_study(replace(tiny, datasets=[]), tmp_path)
