"""The study of laws: what it plans, what it records, and what it shows."""

import json
import sys
import types

import numpy as np
import pytest
import sympy

from symgrove.experiments import law_methods, law_study
from symgrove.experiments.law_methods import METHODS, LawMethod
from symgrove.experiments.law_study import LawRun, LawStudy, page_of_laws, run_law, run_laws
from symgrove.experiments.laws import built_in, read_equations
from symgrove.experiments.tables import to_markdown

TABLE = """id,formula,ranges,half
product,3.5*a*b/c**2,a:1:2 b:1:3 c:0.5:2,tuning
root,2*pi*sqrt(l/g),l:0.1:2 g:5:15,judged
"""


@pytest.fixture
def feynman(tmp_path):
    (tmp_path / "feynman.csv").write_text(TABLE)
    return read_equations(tmp_path / "feynman.csv")


class Told:
    """A method that says a formula without looking."""

    reason = "told"

    def __init__(self, seed, max_time):
        self.seed = seed

    def fit(self, X, y):
        np.ones((len(X), 100_000)).sum()  # 8 MB for ten rows

    def formula(self, symbols):
        if len(symbols) == 2:
            raise RuntimeError("no idea")
        a, b, c = symbols
        return sympy.Float(3.5) * a * b / c ** (2 + self.seed)


def test_the_tuning_half_is_what_is_run_unless_the_other_is_asked_for(feynman):
    known = {**built_in(), "feynman": feynman}
    planned = LawStudy(methods=["law"]).plan(known)
    assert {run.equation.name for run in planned} == {"product"}
    assert [(run.n_rows, run.noise) for run in planned] == [
        (n_rows, noise) for n_rows in (100, 10_000) for noise in (0.0, 0.001, 0.01, 0.1)
    ]
    judged = LawStudy("judged", methods=["law"]).plan(known)
    assert {run.equation.half for run in judged} == {"judged"}
    assert {run.equation.collection for run in judged} == set(known)
    assert {run.noise for run in judged if run.equation.collection == "nguyen"} == {0.0, 0.01}
    assert {run.n_rows for run in judged if run.equation.collection != "feynman"} == {None}
    assert len({run.key for run in planned + judged}) == len(planned) + len(judged)
    for names in (["nguyen"], ["root"]):
        with pytest.raises(ValueError, match=r"no equation of .* is in the tuning half"):
            LawStudy(wanted=names).plan(known)
    one = LawStudy("judged", ["nguyen-3"], ["law"], noises=[0.5], n_runs=2).plan(known)
    assert [(run.equation.name, run.noise, run.seed) for run in one] == [("nguyen-3", 0.5, 0), ("nguyen-3", 0.5, 1)]


def test_what_is_not_known_is_told(feynman, monkeypatch):
    known = {"feynman": feynman}
    with pytest.raises(ValueError, match="no collection or equation 'nguyn'; collections are feynman"):
        LawStudy(wanted=["nguyn"]).plan(known)
    with pytest.raises(ValueError, match="no method 'eureqa'; methods are law, gplearn, operon, pysr"):
        LawStudy(methods=["eureqa"]).plan(known)
    monkeypatch.setitem(METHODS, "operon", LawMethod("Operon", Told, "nowhere.at_all", "nowhere"))
    with pytest.raises(ValueError, match=r"operon cannot run here: nowhere cannot be imported: .*pip install nowhere"):
        LawStudy(methods=["operon"]).plan(known)
    assert "operon" not in {run.method for run in LawStudy(rows=[10]).plan(known)}


def test_rows_say_what_was_found_and_at_what_cost(feynman, monkeypatch):
    monkeypatch.setitem(METHODS, "told", LawMethod("Told", Told))
    row = run_law(LawRun(feynman[0], "told", 0.0, 10, 1.0, 0))
    assert row["error"] is None
    assert (row["found"], row["found_by_symbols"], row["r2"]) == (True, True, 1.0)
    assert (row["formula"], row["size"], row["reason"]) == ("3.5*a*b/c**2", 7, "told")
    assert row["n_rows"] == row["rows"] == 10
    if sys.platform == "linux":
        assert 7 < row["memory"] < 12
    other = run_law(LawRun(feynman[0], "told", 0.0, 10, 1.0, 1))
    assert (other["found"], other["found_by_symbols"]) == (False, False)
    assert other["relative_error"] > 0
    assert other["r2"] < 1
    failed = run_law(LawRun(feynman[1], "told", 0.0, 10, 1.0, 0))
    assert failed["error"] == "RuntimeError: no idea"
    assert json.loads(json.dumps([row, other, failed], allow_nan=False)) == [row, other, failed]


def test_a_study_resumes_and_tries_failed_runs_again(tmp_path, feynman, monkeypatch):
    monkeypatch.setitem(METHODS, "told", LawMethod("Told", Told))
    calls = []
    monkeypatch.setattr(Told, "fit", lambda self, X, y: calls.append(len(X)))
    study = LawStudy("judged", ["feynman"], ["told"], noises=[0.0], rows=[10])
    run = {"out": tmp_path / "out", "data_dir": tmp_path}
    assert run_laws(study, **run).failures == ["RuntimeError: no idea"]
    assert run_laws(study, **run).failures == ["RuntimeError: no idea"]
    assert calls == [10, 10]
    tuning = LawStudy("tuning", ["feynman"], ["told"], noises=[0.0], rows=[20])
    for _ in range(2):
        assert run_laws(tuning, **run).failures == []
    assert calls == [10, 10, 20]
    run_laws(tuning, **run, again=True)
    assert calls == [10, 10, 20, 20]
    shown = run_laws(tuning, tmp_path / "out", only_show=True)
    assert len(shown.rows) == 2
    assert {file.name for file in shown.files} == {"laws.md", "laws.tex", "laws.html"}
    assert "Feynman, judged half" in shown.files[0].read_text()


def made_up(collection, half, method, found, by_symbols, seconds, memory=10.0, error=None):
    row = {"collection": collection, "half": half, "method": method, "noise": 0.01, "rows": None, "max_time": 60.0}
    row |= {
        "version": "",
        "found": found,
        "found_by_symbols": by_symbols,
        "processor_seconds": seconds,
        "memory": memory,
    }
    return {**row, "error": error}


def test_the_page_counts_and_shows_what_was_held_back_first(monkeypatch):
    monkeypatch.setattr(law_study, "not_here", lambda: {"pysr": "pysr cannot be imported: no Julia", "law": "?"})
    rows = [
        made_up("feynman", "tuning", "law", True, True, 1.0),
        made_up("nguyen", "judged", "operon", True, None, 2.0, None),
        made_up("nguyen", "judged", "law", True, True, 1.0, 20.0),
        made_up("nguyen", "judged", "law", True, False, 2.0, 30.0),
        made_up("nguyen", "judged", "law", False, None, 9.0),
        made_up("nguyen", "judged", "law", None, None, None, error="ValueError: no"),
    ]
    text = to_markdown(page_of_laws(rows))
    assert text.index("**Nguyen**") < text.index("**Feynman, tuning half**")
    lines = [line for line in text.splitlines() if line.startswith(("| LawRegressor", "| Operon"))]
    assert lines[0] == "| LawRegressor | 0.01 | its own | 60 | 4, 1 failed | 2 (50%) | 1 (25%) [1] | 2.00 | 9.0 | 30 |"
    assert lines[1] == "| Operon | 0.01 | its own | 60 | 1 | 1 (100%) | 0 (0%) [1] | 2.00 | 2.0 |  |"
    assert "PySR was not run: pysr cannot be imported: no Julia." in text
    assert "LawRegressor was not run" not in text
    assert "N. Q. Uy" in text


def searched(name, n_rows=60, max_time=1.0):
    rng = np.random.default_rng(0)
    X = rng.uniform(1, 2, size=(n_rows, 2))
    method = METHODS[name].make(0, max_time)
    method.fit(X, X[:, 0] * X[:, 1])
    symbols = sympy.symbols("a b", positive=True)
    return method, method.formula(symbols), symbols


def test_ours_finds_an_easy_law():
    method, formula, (a, b) = searched("law")
    assert formula == a * b
    assert method.reason == "exact"


@pytest.mark.parametrize("name", ["gplearn", "operon"])
def test_others_find_an_easy_law_and_their_formulas_are_read(name):
    pytest.importorskip(METHODS[name].module)
    _, formula, (a, b) = searched(name, max_time={"gplearn": 60.0, "operon": 1.0}[name])  # gplearn stops when it has it
    assert METHODS[name].version()
    assert float((formula / (a * b)).subs({a: 1.3, b: 1.7})) == pytest.approx(1, abs=1e-4)


def test_formulas_of_gplearn_are_read_without_protection():
    genetic = pytest.importorskip("gplearn.genetic")
    functions = ("add", "sub", "mul", "div", "sqrt", "log", "sin", "cos")
    X = np.random.default_rng(0).uniform(1, 2, size=(50, 2))
    model = genetic.SymbolicRegressor(population_size=40, generations=2, function_set=functions, random_state=1)
    model.fit(X, X[:, 0])
    a, b = sympy.symbols("a b", real=True)
    method = METHODS["gplearn"].make(0, 1.0)
    checked = 0
    for program in model._programs[-1]:
        method.regressor = types.SimpleNamespace(_program=program)
        values = sympy.lambdify((a, b), method.formula((a, b)))(X[:, 0], X[:, 1]) * np.ones(50)
        if np.isfinite(values).all() and np.abs(values).max() < 1e3:
            checked += np.allclose(values, program.execute(X))
    assert checked > 30


def test_formulas_of_operon_predict_what_it_predicts():
    pytest.importorskip("pyoperon.sklearn")
    method, formula, symbols = searched("operon")
    X = np.random.default_rng(1).uniform(1, 2, size=(20, 2))
    values = sympy.lambdify(symbols, formula)(X[:, 0], X[:, 1])
    np.testing.assert_allclose(values, method.regressor.predict(X), rtol=1e-4)


def test_pysr_is_given_its_time_and_its_formula_is_read(monkeypatch):
    """By a stand-in, since PySR needs Julia."""

    class Regressor:
        def __init__(self, **settings):
            self.settings = settings

        def fit(self, X, y):
            self.shape = X.shape

        def sympy(self):
            return sympy.Symbol("x0") * sympy.Symbol("x1") ** 2

    monkeypatch.setitem(sys.modules, "pysr", types.SimpleNamespace(PySRRegressor=Regressor))
    assert METHODS["pysr"].why_not() == ""
    method, formula, (a, b) = searched("pysr", max_time=7.0)
    assert formula == a * b**2
    assert method.regressor.settings["timeout_in_seconds"] == 7.0
    assert method.regressor.shape == (60, 2)


def test_gplearn_stops_when_its_time_is_up(monkeypatch):
    pytest.importorskip("gplearn.genetic")
    clock = iter(range(100))
    monkeypatch.setattr(law_methods.time, "perf_counter", lambda: next(clock) / 2)
    monkeypatch.setattr(law_methods, "GOOD_ENOUGH", -1.0)
    method, _, _ = searched("gplearn", max_time=1.5)
    assert method.regressor.generations == 3
    assert method.reason == "time"
