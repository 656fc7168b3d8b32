"""Estimators of anyone's package in a study, as module:Class."""

import json
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import make_classification, make_friedman1
from sklearn.metrics import accuracy_score
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsRegressor
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from symgrove.experiments import baselines, runner
from symgrove.experiments.comparison import compare_methods, page_of_comparison
from symgrove.experiments.datasets import DataSet
from symgrove.experiments.estimators import is_of_other_library, make
from symgrove.experiments.paper import run_study
from symgrove.experiments.study import Run, Study, StudyMethod, load_study

MODULE = """
import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin

a_number = 3


class Plain:
    '''A class of its own: no scikit-learn, no random_state.'''

    def __init__(self, share=0.5, shape=()):
        self.share, self.shape = share, shape

    def get_params(self, deep=True):
        return {"share": self.share, "shape": self.shape}

    def fit(self, X, y):
        self.value = np.quantile(y, self.share)
        return self

    def predict(self, X):
        return np.full((len(X), *self.shape), self.value)


class WithoutFit:
    def predict(self, X):
        return X


class Needs(RegressorMixin, BaseEstimator):
    def __init__(self, inner):
        self.inner = inner

    def fit(self, X, y):
        return self

    def predict(self, X):
        return np.zeros(len(X))


class Anything(Plain):
    def __init__(self, **settings):
        super().__init__()
        self.settings = settings

    def get_params(self, deep=True):
        return {"random_state": None, **self.settings}
"""
HEAD = 'title = "Mine"\nkind = "table"\ndatasets = ["mine"]\nruns = 3\n'


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "made_up_methods.py").write_text(MODULE)
    (tmp_path / "broken_methods.py").write_text("1 / 0")
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def study_of(folder, *methods, head=HEAD):
    file = folder / "own.toml"
    blocks = [f'[methods.m{i}]\nlabel = "M{i}"\n{text}\n' for i, text in enumerate(methods)]
    file.write_text(head + "\n".join(blocks))
    return load_study(str(file))


def friedman():
    X, y = make_friedman1(80, random_state=0)
    return DataSet("mine", X, y, "regression")


def classes():
    X, y = make_classification(80, random_state=0)
    return DataSet("mine", X, np.where(y == 1, "yes", "no"), "classification")


def test_estimators_of_any_package_run_beside_ours_and_resume(folder):
    study = study_of(
        folder,
        'regressor = "ClassicGPRegressor"\nparameters = { population_size = 12, generations = 1 }',
        'regressor = "sklearn.tree:DecisionTreeRegressor"\nparameters = { max_features = 2, max_depth = 3 }',
        'regressor = "sklearn.neighbors:KNeighborsRegressor"\nparameters = { n_neighbors = 3 }',
        'regressor = "made_up_methods:Plain"\nparameters = { share = 0.25 }',
    )
    data = friedman()
    found = run_study(study, folder / "out", own={"mine": data})
    assert not found.failures
    X, X_test, y, y_test = train_test_split(data.X, data.y, test_size=0.3, random_state=2)
    expected = {
        "sklearn.tree:DecisionTreeRegressor": DecisionTreeRegressor(max_features=2, max_depth=3, random_state=2),
        "sklearn.neighbors:KNeighborsRegressor": KNeighborsRegressor(3),
    }
    last = {row["estimator"]: row for row in found.rows.values() if row["split"] == 2}
    for name, model in expected.items():
        error = np.sqrt(np.mean((model.fit(X, y).predict(X_test) - y_test) ** 2))
        assert last[name]["test"] == pytest.approx(error, rel=1e-12)
    assert last["made_up_methods:Plain"]["test"] == pytest.approx(
        np.sqrt(np.mean((np.quantile(y, 0.25) - y_test) ** 2))
    )
    assert "n_members" in last["ClassicGPRegressor"]
    assert all("n_members" not in row for name, row in last.items() if ":" in name)
    text = (folder / "out" / "own.md").read_text()
    assert all(f"| M{i} |" in text for i in range(4))
    again = run_study(study, folder / "out", own={"mine": data}, show=lambda *_: pytest.fail("nothing was missing"))
    assert again.rows == found.rows


def test_classifiers_are_judged_by_accuracy_whatever_their_labels(folder):
    study = study_of(folder, 'classifier = "sklearn.tree:DecisionTreeClassifier"\nparameters = { max_depth = 2 }')
    data = classes()
    found = run_study(study, folder / "out", own={"mine": data}, n_runs=1)
    X, X_test, y, y_test = train_test_split(data.X, data.y, test_size=0.3, random_state=0)
    model = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, y)
    (row,) = found.rows.values()
    assert (row["error"], row["test"]) == (None, accuracy_score(y_test, model.predict(X_test)))


def test_the_seed_goes_to_those_who_take_one(folder):
    assert make("sklearn.tree:DecisionTreeRegressor", {"max_depth": 2}, seed=7).random_state == 7
    assert make("made_up_methods:Anything", {"depth": 2}, seed=7).settings == {"depth": 2, "random_state": 7}
    assert vars(make("made_up_methods:Plain", {"share": 0.1}, seed=7)) == {"share": 0.1, "shape": ()}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('regressor = "nowhere.at_all:Thing"', "importing nowhere.at_all failed with ModuleNotFoundError.*PYTHONPATH"),
        ('regressor = "broken_methods:Thing"', "importing broken_methods failed with ZeroDivisionError"),
        ('regressor = "sklearn.svm:SVRR"', "sklearn.svm has no 'SVRR'; correct the name"),
        ('regressor = "sklearn.svm:"', "is not known; known are GroveRegressor.* as module:Class"),
        (
            'regressor = "made_up_methods:a_number"',
            "is of type int; accepted are classes with fit, predict, get_params",
        ),
        ('regressor = "made_up_methods:WithoutFit"', "is a class without fit or get_params; accepted are classes"),
        ('regressor = "made_up_methods:Needs"', r"cannot be made with \{\}: TypeError: .*'inner'"),
        ('regressor = "made_up_methods:Plain"\nparameters = { sare = 1 }', "no parameter 'sare'.*it has share, shape"),
        ('regressor = "sklearn.svm:SVC"', "is named as regressor, but is a classifier"),
        ('classifier = "sklearn.svm:SVR"', "is named as classifier, but is a regressor"),
        ('regressor = "sklearn.cluster:KMeans"', "is named as regressor, but is a clusterer"),
        ('regressor = "sklearn.tree:DecisionTreeRegressor"\nparameters = { random_state = 1 }', "number of the split"),
        ('regressor = "sklearn.svm:SVR"\nparameters = { C = inf }', "'C' must be a value or a list .* got inf"),
        ('regressor = "sklearn.svm:SVR"\nparameters = { C = 2020-01-01 }', "'C' must be a value or a list"),
        ('regressor = "sklearn.svm:SVR"\nrecord = "diversity"', "only those can record 'diversity'"),
        ('regressor = "sklearn.svm:SVR"\nrecord = "intervals"', "has no predict_interval"),
    ],
)
def test_what_cannot_be_run_is_refused_before_any_run(folder, text, message):
    with pytest.raises(ValueError, match=f"(?s)own.toml' cannot be read: method 'm0': .*{message}"):
        study_of(folder, text)


def test_a_missing_library_of_a_baseline_is_told_when_the_study_is_read(folder, monkeypatch):
    def fail(name):
        raise ImportError(name)

    monkeypatch.setattr(baselines.importlib, "import_module", fail)
    with pytest.raises(ValueError, match="method 'm0': XGBRegressor needs xgboost; install it with"):
        study_of(folder, 'regressor = "XGBRegressor"\nparameters = { max_depth = 2 }')


def test_predictions_of_another_shape_are_a_failure_and_not_a_number(folder):
    row = runner.run_one(Run("mine", 0, "made_up_methods:Plain", (("shape", (1,)),), ""), friedman())
    assert row["error"] == "ValueError: predict returned shape (56, 1); expected one value for each row, (56,)."


def test_a_kind_that_shows_what_others_do_not_have_gets_a_clear_error(folder):
    head = HEAD.replace('"table"', '"pruning"')
    study = study_of(folder, 'regressor = "sklearn.neighbors:KNeighborsRegressor"', head=head)
    with pytest.raises(ValueError, match="runs of M0 do not have 'n_distinct_members', which the kind 'pruning' shows"):
        run_study(study, folder / "out", own={"mine": friedman()}, n_runs=1)


def test_comparisons_count_methods_of_other_libraries_by_their_module(folder):
    names = ("GroveRegressor", "symgrove:GroveRegressor", "XGBRegressor", "sklearn.svm:SVR", "symgroves.own:Mine")
    assert [is_of_other_library(name) for name in names] == [False, False, True, True, True]
    methods = [StudyMethod("a", "A", "GroveRegressor"), StudyMethod("b", "B", "sklearn.svm:SVR")]
    study = Study("s", "S", "comparison", ["asn"], methods, runs=2)
    tasks = {"asn": "regression"}
    rows = {run.key: {"error": None, "test": run.split, "seconds": 1.0} for run in study.plan(2, tasks)}
    _, caution, *_ = page_of_comparison(compare_methods(study, rows, tasks)).paragraphs
    assert "better than methods of other libraries in 0 of 1 comparisons and significantly worse in 0" in caution


def test_committed_rows_keep_their_identity():
    lines = (Path(__file__).parents[2] / "docs/results/runs.jsonl").read_text().splitlines()
    for row in map(json.loads, lines):
        parameters = tuple(sorted((n, tuple(v) if isinstance(v, list) else v) for n, v in row["parameters"].items()))
        run = Run(row["dataset"], row["split"], row["estimator"], parameters, row["record"])
        assert run.key == row["key"]
