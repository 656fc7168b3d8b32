"""A model file gives the same model back, and nothing else can come of reading one."""

import contextlib
import copy
import functools
import json
import os
import pickle
import random
import tracemalloc
import warnings
from dataclasses import replace

import joblib
import numpy as np
import pandas as pd
import pytest
import skops.io
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_iris, make_friedman1

import symgrove as sg
from symgrove.saving.estimators import from_document, to_document
from tests.contracts.test_methods import METHODS, settings_of, target_for

SMALL = {"population_size": 60, "n_estimators": 6, "generations": 3, "random_state": 1}


@pytest.fixture(scope="module")
def fitted():
    made = {}

    def get(kind, n_classes=0):
        if (kind, n_classes) not in made:
            X, y = make_friedman1(100, n_features=5, random_state=0)
            if n_classes:
                X, y = load_iris(return_X_y=True)
                X, y = X[y < n_classes], y[y < n_classes]
            made[kind, n_classes] = kind(**settings_of(kind, generations=3)).fit(X, target_for(kind, X, y))
        return made[kind, n_classes]

    return get


@pytest.fixture(scope="module")
def document(fitted):
    return to_document(fitted(sg.TwoSEGPRegressor))


def test_levels_with_the_same_terms_are_saved_once_and_evaluated_once(tmp_path, monkeypatch):
    X = np.random.default_rng(0).normal(size=(100, 3))
    model = sg.GroveRegressor(**SMALL, strength="fixed").fit(X, X[:, 0] * X[:, 1])
    (level,) = model.model_.levels
    other = replace(level, coefficients=0.5 * level.coefficients)
    both = {"levels": (level, other), "weights": np.array([0.6, 0.3]), "labels": ("main 3", "main 3, populations")}
    model.model_ = replace(model.model_, **both)
    model.stacking_weights_ = {"main 3": 0.6, "main 3, populations": 0.3}
    alone = [replace(model.model_, levels=(own,), weights=np.ones(1), labels=("",)) for own in (level, other)]
    base = model.model_.base[:, None]
    expected = base + 0.6 * (alone[0].predict(X) - base) + 0.3 * (alone[1].predict(X) - base)
    model.save(tmp_path / "model.json")
    saved = json.loads((tmp_path / "model.json").read_text())["ensembles"][0]["levels"]
    assert ["forest" in own for own in saved] == [True, False]
    again = sg.load(tmp_path / "model.json")
    assert again.model_.levels[1].shares_terms_with(again.model_.levels[0])
    calls = []
    weighted_sums = sg.CpuEngine.weighted_sums
    monkeypatch.setattr(sg.CpuEngine, "weighted_sums", lambda *own: calls.append(own[2]) or weighted_sums(*own))
    for one in (model, again):
        np.testing.assert_allclose(one.model_.predict(X), expected, rtol=1e-12)
        np.testing.assert_array_equal(one.predict(X), model.predict(X))
    assert [programs.size for programs in calls] == [level.programs.size] * 6  # one for each prediction
    document = to_document(model)
    document["ensembles"][0]["levels"].reverse()
    with pytest.raises(ValueError, match="'same_terms', and no ensemble before it"):
        from_document(document)


CASES = [(kind, n) for kind in METHODS for n in ((2, 3) if hasattr(kind, "predict_proba") else (0,))]


@pytest.mark.parametrize(("kind", "n_classes"), CASES, ids=lambda v: getattr(v, "__name__", str(v)))
def test_round_trip(kind, n_classes, fitted, tmp_path):
    model = fitted(kind, n_classes)
    model.save(tmp_path / "model.json")
    again = sg.load(tmp_path / "model.json")
    assert type(again) is kind
    X = np.random.default_rng(0).normal(size=(200, model.n_features_in_))
    assert np.array_equal(again.predict(X), model.predict(X))
    if n_classes:
        assert np.array_equal(again.predict_proba(X), model.predict_proba(X))
        assert again.classes_.dtype == model.classes_.dtype
    assert [repr(m) for m in again.ensemble_] == [repr(m) for m in model.ensemble_]
    assert again.ensemble_[0].formula == model.ensemble_[0].formula
    assert again.get_params() == model.get_params()
    assert again.export("c") == model.export("c")
    again.save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "model.json").read_bytes()
    if kind is sg.LawRegressor:  # which has no generations
        return
    history = again.history_
    assert history.keys() == model.history_.keys()
    for name, column in model.history_.items():
        np.testing.assert_allclose(history[name], np.where(np.isfinite(column), column, np.nan), rtol=1e-5)


@pytest.mark.parametrize("labels", [["a", "ü"], [True, False], [3, 7], [1.0, 2.0], [np.int8(1), np.int8(2)]])
def test_labels_and_names_survive(labels, tmp_path):
    X, y = load_iris(return_X_y=True)
    frame = pd.DataFrame(X[:100], columns=["a b", "c\n", 'd"', "e"])
    model = sg.TwoSEGPClassifier(**SMALL).fit(frame, np.array(labels)[y[:100]])
    model.save(tmp_path / "model.json")
    again = sg.load(tmp_path / "model.json")
    assert again.predict(frame).tolist() == model.predict(frame).tolist()
    assert list(again.feature_names_in_) == list(frame.columns)
    assert again.predict(frame).dtype.kind == model.predict(frame).dtype.kind


def test_one_formula_keeps_its_path(tmp_path):
    X, y = make_friedman1(100, n_features=5, random_state=0)
    settings = {**SMALL, "n_estimators": 1, "sampling": 1.0, "strength": "fixed", "max_terms": 4, "max_size": 7}
    model = sg.GroveRegressor(**settings).fit(X, y)
    model.save(tmp_path / "model.json")
    again = sg.load(tmp_path / "model.json")
    assert again.formula() == model.formula()
    assert [p.formula for p in again.size_path_] == [p.formula for p in model.size_path_]


def test_nothing_found_is_a_model_too(tmp_path):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), rng.normal(size=60)
    model = sg.GroveRegressor(**SMALL).fit(X, y)
    model.model_ = replace(model.model_, levels=(), weights=np.zeros(0), labels=())
    model.stacking_weights_ = dict.fromkeys(model.stacking_weights_, 0.0)
    model.ensemble_ = []
    model.save(tmp_path / "model.json")
    again = sg.load(tmp_path / "model.json")
    np.testing.assert_allclose(again.predict(X), y.mean())
    assert "prediction" in again.export("text") or again.formula()


def test_functions_of_the_user_must_be_given_again(tmp_path):
    def more(a):
        return a + 1.0

    own = sg.primitive(more)
    X, y = make_friedman1(80, n_features=5, random_state=0)
    model = sg.TwoSEGPRegressor(**SMALL, functions=("mul", own)).fit(X, y)
    model.save(tmp_path / "model.json")
    with pytest.raises(ValueError, match=r"functions of yours: more.*functions=\[symgrove.primitive\(more\)\]"):
        sg.load(tmp_path / "model.json")
    again = sg.load(tmp_path / "model.json", functions=[sg.primitive(more)])
    assert np.array_equal(again.predict(X), model.predict(X))


def test_a_model_of_the_papers_size_is_small(tmp_path):
    X, y = make_friedman1(200, random_state=0)
    model = sg.TwoSEGPRegressor(random_state=0, generations=30, n_jobs=2).fit(X, y)
    model.save(tmp_path / "model.json")
    assert os.path.getsize(tmp_path / "model.json") < 1_000_000
    for dump in (pickle.dumps, skops.io.dumps):
        assert len(dump(model)) < 1_000_000


def test_pickle_joblib_and_skops(fitted, tmp_path):
    model = fitted(sg.GroveRegressor)
    X = np.random.default_rng(0).normal(size=(50, 5))
    joblib.dump(model, tmp_path / "model.joblib")
    copies = [pickle.loads(pickle.dumps(model)), joblib.load(tmp_path / "model.joblib")]
    stored = skops.io.dumps(model)
    copies.append(skops.io.loads(stored, trusted=skops.io.get_untrusted_types(data=stored)))
    for again in copies:
        assert np.array_equal(again.predict(X), model.predict(X))


def test_bad_files_get_clear_errors(document, tmp_path):
    file = tmp_path / "model.json"

    def check(text, match):
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        with pytest.raises(ValueError, match=match):
            sg.load(file)

    check("", "cannot be read as a model")
    check("{}", "not a model that symgrove saved")
    check("[1, 2]", "not a model that symgrove saved")
    check(b"\xff\xfe\x00", "cannot be read as a model")
    check("[" * 100_000, "cannot be read as a model")
    check('{"a":' * 100_000, "cannot be read as a model")
    check(json.dumps({**document, "version": 99, "symgrove": "9.9"}), r"version 99 .* 9\.9.*newer")
    check(json.dumps({**document, "version": "1"}), "unknown version")
    check(json.dumps(document).replace('"fallback": ', '"fallback": NaN, "x": ', 1), "NaN, which is no number")
    check(json.dumps(document).replace('"fallback": ', '"fallback": 1e999, "x": ', 1), "'fallback'.*finite number")
    check(
        json.dumps(document).replace('"fallback": ', '"fallback": ' + "9" * 5000 + ', "x": ', 1),
        "cannot be read|finite",
    )
    check(json.dumps({**document, "estimator": "os.system"}), "one of GroveRegressor")
    check(json.dumps({**document, "parameters": {"evil": 1}}), "parameters that TwoSEGPRegressor does not know: evil")
    check(json.dumps({**document, "parameters": {"generations": "many"}}), "generations must be")
    check(json.dumps({**document, "n_features": 10**30}), "'n_features'.*whole number")
    check(json.dumps({k: v for k, v in document.items() if k != "fitted"}), "lacks the entry 'fitted'")
    with pytest.raises(FileNotFoundError):
        sg.load(tmp_path / "nothing.json")


def paths_in(value, path=()):
    """Ways to all entries of a document."""
    yield path
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from paths_in(inner, (*path, name))
    elif isinstance(value, list):
        for i, inner in enumerate(value[:3]):
            yield from paths_in(inner, (*path, i))


HOSTILE = [
    None, True, -1, 0, 2**31, 10**40, -(10**40), 1e308, -1e308, 0.5, "", "x", [], {}, [[]], [None], ["x"],
    [1e400], {"a": 1}, [0] * 1000, list(range(1000)), [-1] * 3, "9" * 1000,
]  # fmt: skip
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=8,
)


def changed(document, path, value):
    copy = json.loads(json.dumps(document))
    if not path:
        return value
    place = copy
    for key in path[:-1]:
        place = place[key]
    if value is Ellipsis:
        del place[path[-1]]
    else:
        place[path[-1]] = value
    return copy


def read_or_refuse(document, path):
    """Reading gives a model that predicts, or a ValueError: nothing else."""
    path.write_text(json.dumps(document))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = sg.load(path)
    except ValueError:
        return False
    with warnings.catch_warnings(), contextlib.suppress(ValueError):  # numbers may be absurd
        warnings.simplefilter("ignore")
        assert np.shape(model.predict(np.zeros((2, model.n_features_in_)))) == (2,)
    return True


@pytest.mark.parametrize("kind", [sg.TwoSEGPRegressor, sg.GroveClassifier])  # all of them: tests/hostile
def test_every_entry_may_be_anything(kind, fitted, tmp_path):
    model = fitted(kind, 3 if hasattr(kind, "predict_proba") else 0)
    document = to_document(model)
    assert read_or_refuse(document, tmp_path / "model.json")
    rng = random.Random(0)
    ways = [path for path in paths_in(document) if path[:1] != ("fitted",) or len(path) < 4]
    for path in ways:
        for value in [Ellipsis, rng.choice(HOSTILE)]:
            if path or value is not Ellipsis:
                read_or_refuse(changed(document, path, value), tmp_path / "model.json")


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_entries_may_be_any_json(data, document, tmp_path_factory):
    ways = list(paths_in(document))
    path = data.draw(st.sampled_from(ways))
    read_or_refuse(changed(document, path, data.draw(JSON)), tmp_path_factory.getbasetemp() / "fuzzed.json")


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_files_may_be_damaged(data, document, tmp_path_factory):
    text = bytearray(json.dumps(document).encode())
    file = tmp_path_factory.getbasetemp() / "damaged.json"
    if data.draw(st.booleans()):
        text = text[: data.draw(st.integers(0, len(text)))]
    else:
        for _ in range(data.draw(st.integers(1, 5))):
            text[data.draw(st.integers(0, len(text) - 1))] = data.draw(st.integers(0, 255))
    file.write_bytes(bytes(text))
    with warnings.catch_warnings(), contextlib.suppress(ValueError):
        warnings.simplefilter("ignore")
        sg.load(file).predict(np.zeros((2, 5)))


def test_a_file_holds_what_the_model_was_fitted_with(tmp_path):
    """Not what parameters were set to later."""
    X, y = make_friedman1(80, n_features=5, random_state=0)
    model = sg.TwoSEGPRegressor(**SMALL, functions=("add", "div", "log")).fit(X, y)
    wanted = model.predict(X)
    model.set_params(epsilon=0.5, functions=("mul", "sin"))
    model.save(tmp_path / "model.json")
    for again in (sg.load(tmp_path / "model.json"), pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert np.array_equal(again.predict(X), wanted)


class MyGrove(sg.GroveRegressor):
    pass


def test_subclasses_survive_too(tmp_path):
    X, y = make_friedman1(80, n_features=5, random_state=0)
    model = MyGrove(**SMALL, strength="fixed").fit(X, y)
    model.save(tmp_path / "model.json")
    for again in (sg.load(tmp_path / "model.json"), pickle.loads(pickle.dumps(model))):
        assert np.array_equal(again.predict(X), model.predict(X))


def test_hostile_files_are_refused_at_once(document, fitted, tmp_path):
    def refused(changed, match):
        with pytest.raises(ValueError, match=match):
            from_document(json.loads(json.dumps(changed)))

    three = to_document(fitted(sg.TwoSEGPClassifier, 3))
    refused({**three, "classes": {**three["classes"], "dtype": "<i8,(100000000,)f8"}}, "'classes'")
    code, left, right = [0], [0], [-1]
    for k in range(40):  # aq(sin(a), cos(a)) of itself: few nodes, a huge formula
        top = 3 * k
        code += [3, 4, 2]
        left += [top, top, top + 1]
        right += [-1, -1, top + 2]
    forest = {"functions": ["aq", "sin", "cos"], "code": code, "left": left, "right": right, "constants": []}
    own = {**document["ensembles"][0], "forest": forest, "programs": [120]}
    own |= {"program_of": [0], "slope": [1.0], "intercept": [0.0]}
    members = [{"in_bag": [0.0], "out_of_bag": [0.0]}]
    refused({**document, "functions": ["aq", "sin", "cos"], "ensembles": [own], "members": members}, "100000 nodes")
    spare = {**document["ensembles"][0], "program_of": [0] * 6}
    refused({**document, "ensembles": [spare]}, "programs without members")
    nested = functools.reduce(lambda inner, _: [inner], range(500), 1)
    refused({**document, "parameters": {"selection": nested}}, "nested more than")
    refused({**document, "functions": [{"own": []}]}, "must be names")
    teams = to_document(fitted(sg.GroveRegressor))
    stack = teams["ensembles"][0]
    refused({**teams, "ensembles": [{**stack, "levels": stack["levels"] * 30}]}, "levels")
    empty = {
        "terms": [[] for _ in stack["levels"][0]["terms"]],
        "coefficients": [[] for _ in stack["levels"][0]["terms"]],
    }
    refused({**teams, "ensembles": [{**stack, "levels": [{**stack["levels"][0], **empty}]}]}, "most of them in no team")


def test_small_files_do_not_take_gigabytes(document, fitted, tmp_path, monkeypatch):
    def refused(text, match):
        (tmp_path / "model.json").write_text(text)
        tracemalloc.start()
        with pytest.raises(ValueError, match=match):
            sg.load(tmp_path / "model.json")
        assert tracemalloc.get_traced_memory()[1] < 10 * len(text) + 1e7
        tracemalloc.stop()

    refused("[" + "[]," * 10**6 + "[]]", "lists and entries")
    refused("{" + ",".join(f'"{i}":0' for i in range(300_000)) + "}", "lists and entries")
    teams = to_document(fitted(sg.GroveRegressor))
    stack = teams["ensembles"][0]
    level = stack["levels"][0]
    n_places = len(level["terms"]) * len(level["programs"])
    monkeypatch.setattr("symgrove.saving.estimators.MOST_PLACES", 2 * n_places)
    from_document({**teams, "smaller": []})
    with pytest.raises(ValueError, match="more places in tables of teams"):
        from_document({**teams, "ensembles": [{**stack, "levels": [level] * 3, "weights": [0.1] * 3}]})
    monkeypatch.setattr("symgrove.saving.estimators.MOST_NODES", 10)
    with pytest.raises(ValueError, match="more nodes"):
        from_document(teams)
    monkeypatch.setattr("symgrove.saving.estimators.MOST_PLACES", 10)
    with pytest.raises(ValueError, match="could not be read again"):
        fitted(sg.GroveRegressor).save(tmp_path / "other.json")
    assert pickle.loads(pickle.dumps(fitted(sg.GroveRegressor))).ensemble_
    assert not (tmp_path / "other.json").exists()


def test_classes_that_no_file_holds(tmp_path):
    X, y = load_iris(return_X_y=True)
    days = np.array(["2026-01-01", "2026-01-02"], dtype="datetime64[D]")
    model = sg.TwoSEGPClassifier(**SMALL).fit(X[:100], days[y[:100]])
    with pytest.raises(ValueError, match="only texts, numbers and booleans"):
        model.save(tmp_path / "model.json")


def test_from_a_document_without_a_file(document, fitted):
    X = np.random.default_rng(0).normal(size=(9, 5))
    again = from_document(json.loads(json.dumps(document)))
    assert np.array_equal(again.predict(X), fitted(sg.TwoSEGPRegressor).predict(X))


def test_many_teams_with_terms_of_their_own(tmp_path):
    """Twenty classes, 50 teams each, in populations that share little: a large table, nearly empty."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 4)), np.arange(200) % 20
    sizes = {"n_populations": 5, "population_size": 400, "generations": 7, "max_terms": 8, "strength": "fixed"}
    model = sg.GroveClassifier(**sizes, random_state=0).fit(X, y)
    assert model.model_.levels[0].coefficients.size > 4 * 10**6
    model.save(tmp_path / "model.json")
    np.testing.assert_array_equal(sg.load(tmp_path / "model.json").predict_proba(X), model.predict_proba(X))
