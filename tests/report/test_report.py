"""What the page says, without a browser."""

import html
import re
import xml.etree.ElementTree as ET
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris, make_friedman1
from sklearn.linear_model import LinearRegression
from sklearn.metrics import r2_score
from sklearn.model_selection import train_test_split

import symgrove as sg
from symgrove.compression.one_formula import one_formula
from symgrove.forest.forest import Forest
from symgrove.forest.mathml import to_mathml
from symgrove.forest.primitive_table import BUILTIN
from symgrove.forest.primitives import PrimitiveSet
from symgrove.forest.text import parse
from symgrove.report.classes import lift_curve
from symgrove.report.data_summary import summarise
from symgrove.report.exports import all_exports
from symgrove.report.features import look_at_features
from symgrove.report.formulas import in_parts
from symgrove.report.mistakes import find_mistakes
from symgrove.report.page import ReportPage
from symgrove.report.rows import choose_rows
from symgrove.report.scores import score_all
from symgrove.report.what_if import controls
from symgrove.report.words import listed, number, percent
from tests.contracts.test_methods import METHODS

SETTINGS = METHODS[sg.TwoSEGPRegressor]


@pytest.fixture(scope="module")
def fitted():
    X, y = make_friedman1(300, n_features=5, noise=0.5, random_state=0)
    return sg.TwoSEGPRegressor(**SETTINGS).fit(X[:200], y[:200]), X, y


def test_rows_of_the_fit_are_recognised(fitted, tmp_path):
    model, X, y = fitted
    model.save(tmp_path / "model.json")
    for known in (model, sg.load(tmp_path / "model.json")):
        rows = choose_rows(known, X, y, None)
        assert (len(rows.X_test), len(rows.X_train)) == (100, 200)
        assert np.array_equal(rows.y_test, y[200:])
        assert rows.is_new
        new = choose_rows(known, X[200:], y[200:], None)
        assert new.note == "Scores are of 100 rows that the model was not fitted on."
        assert new.is_new
        mixed = choose_rows(known, X[188:218], y[188:218], None)
        assert "The model was fitted on 12 of these 30 rows" in mixed.note
        assert not mixed.is_new
        assert not choose_rows(known, X[:100], y[:100], (X[200:], y[200:])).is_new
        assert choose_rows(known, X[:200], y[:200] + 1.0, None).is_new  # same features, another target
        assert "optimistic" in choose_rows(known, X[:200], y[:200], None).note
        assert not choose_rows(known, X[:200], y[:200], None).is_new


def test_rows_kept_out_for_calibration_judge():
    X, y = make_friedman1(200, n_features=5, random_state=0)
    model = sg.TwoSEGPRegressor(**SETTINGS, calibration=0.3).fit(X, y)
    rows = choose_rows(model, X, y, None)
    assert len(rows.X_test) == 60
    assert rows.is_calibrated_on
    assert "60 of the rows calibrated the model" in rows.note
    again = choose_rows(model, rows.X_test, rows.y_test, None)
    assert again.is_calibrated_on
    other_X, other_y = make_friedman1(100, n_features=5, random_state=1)
    model.calibrate(other_X, other_y)
    assert choose_rows(model, other_X, other_y, None).is_calibrated_on
    assert not choose_rows(model, rows.X_test, rows.y_test, None).is_calibrated_on


def test_training_rows_may_be_given(fitted):
    model, X, y = fitted
    rows = choose_rows(model, X[200:], y[200:], (X[:200], y[:200]))
    assert np.array_equal(rows.X_train, X[:200])
    assert "fitted on 3 of these 103 rows" in choose_rows(model, X[197:], y[197:], (X[:200], y[:200])).note


def test_scores_are_those_of_the_models(fitted):
    model, X, y = fitted
    rows = choose_rows(model, X, y, None)
    scores = score_all(model, rows, 0.9)
    assert scores.lines[0].values[0] == f"{model.score(X[200:], y[200:]):.3f}"
    linear = r2_score(y[200:], LinearRegression().fit(X[:200], y[:200]).predict(X[200:]))
    assert next(line for line in scores.lines if line.name == "linear regression").values[0] == f"{linear:.3f}"
    low, high = model.predict_interval(X[200:]).T
    inside = np.mean((low <= y[200:]) & (y[200:] <= high))
    assert f"hold the true value of {percent(inside)} of these rows" in scores.intervals


def test_of_many_new_rows_one_fifth_judges_the_other_models(fitted):
    model, *_ = fitted
    X, y = make_friedman1(3000, n_features=5, noise=0.5, random_state=1)
    scores = score_all(model, choose_rows(model, X, y, None), 0.9)
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.2, random_state=0)
    linear = r2_score(y_test, LinearRegression().fit(X_train, y_train).predict(X_test))
    line = next(line for line in scores.lines if line.name == "linear regression")
    assert line.values[0] == f"{linear:.3f}"
    assert (line.n_trained, line.how) == ("2400", "one fifth of the same rows, trained on the others")
    assert "trained on 2400 rows, this one on 200: that favours them." in scores.caution
    assert scores.lines[0].values[0] == f"{model.score(X, y):.3f}"


def trained(scores):
    return [line.n_trained for line in scores.lines if "during the fit" not in line.name]


def test_the_table_says_how_many_rows_each_model_was_trained_on(fitted, no_figures):
    model, X, y = fitted
    same = score_all(model, choose_rows(model, X, y, None), 0.9)
    assert (trained(same), same.caution) == (["200"] * 5, "")
    given = score_all(model, choose_rows(model, X[200:], y[200:], (X[:200], y[:200])), 0.9)
    assert (trained(given), given.caution) == (["200"] * 5, "")
    assert given.lines[-1].how == "the same rows, trained on the same rows too"
    new = score_all(model, choose_rows(model, X[200:], y[200:], None), 0.9)
    assert trained(new) == ["200", *["80"] * 4]
    assert new.caution.startswith("The other models were trained on 80 rows, this one on 200: that favours it. With")
    part = score_all(model, choose_rows(model, X[150:], y[150:], None), 0.9)
    assert trained(part) == ["200", *["50"] * 4]
    assert part.caution == "The other models were trained on 50 rows, this one on 200: that favours it."
    assert part.lines[-1].how == "the same rows"
    page = sg.report(model, X[200:], y[200:])
    assert new.caution in page
    assert '<th scope="col">rows trained on</th>' in page
    assert "trained on" not in re.search("<tfoot>.*</tfoot>|$", sg.report(model, X, y), re.DOTALL)[0]


def test_training_rows_that_are_not_known_are_not_made_up(fitted):
    _, X, y = fitted
    unmarked = sg.TwoSEGPRegressor(**SETTINGS).fit(X[:200], y[:200])
    unmarked._seen = {}
    new = score_all(unmarked, choose_rows(unmarked, X[200:], y[200:], None), 0.9)
    assert trained(new) == ["not known", *["80"] * 4]
    assert new.caution == "The other models were trained on other rows than this one."
    given = score_all(unmarked, choose_rows(unmarked, X[200:], y[200:], (X[:200], y[:200])), 0.9)
    assert (trained(given), given.caution) == (["200"] * 5, "")


def test_of_very_many_training_rows_other_models_get_a_part(fitted, monkeypatch):
    model, X, y = fitted
    for module in ("rows", "scores"):
        monkeypatch.setattr(f"symgrove.report.{module}.MOST_TO_TRAIN", 150)
    rows = choose_rows(model, X, y, None)
    assert "The other models are trained on 150 of 200 training rows." in rows.note
    scores = score_all(model, rows, 0.9)
    assert trained(scores) == ["200", *["150"] * 4]
    assert "that favours it." in scores.caution


def test_the_sum_of_the_weights_is_not_called_a_share_of_the_variation(no_figures):
    X, y = np.random.default_rng(0).normal(size=(2, 60, 2))
    for strength, wanted in (
        ("fixed", "1: the strength was not chosen, so it says nothing about the data"),
        ("auto", None),
    ):
        settings = {"generations": 3, "population_size": 40, "n_estimators": 4, "random_state": 0}
        model = sg.GroveRegressor(**settings, strength=strength).fit(X, y[:, 0])
        page = sg.report(model, X, y[:, 0])
        told = re.search('sum of the stacking weights</th><td class="text">(.*?)</td>', page)[1]
        assert told == wanted or told.startswith(
            f"{model.stacking_weight_sum_:.2f}, at most 1; the rest of the prediction"
        )
        assert "to be found" not in page
    assert "Not a share of the target's variation" in " ".join(sg.GroveRegressor.__doc__.split())


def test_scores_of_classes_with_rows_that_lack_one():
    X, y = load_iris(return_X_y=True)
    model = sg.TwoSEGPClassifier(**METHODS[sg.TwoSEGPClassifier]).fit(X, y)
    rows = choose_rows(model, X[:100] + 1e-3, y[:100], None)
    scores = score_all(model, rows, 0.9)
    assert scores.columns == ["accuracy", "balanced accuracy", "log loss"]
    assert float(scores.lines[0].values[0]) > 0.8
    assert len(scores.lines) == 6


def test_what_may_mislead_is_told():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(100, 2)), columns=["a", "b"])
    y = X.a + X.b
    X = X.assign(constant=1.0, leak=3 * y + 1, twin=np.exp(X.a))
    X = pd.concat([X, X[:7]], ignore_index=True)
    y = np.append(y, [*y[:5], *(y[5:7] + 1e-4)])
    model = sg.TwoSEGPRegressor(**SETTINGS).fit(X, y)
    text = "\n".join(summarise(model, choose_rows(model, X, y, None)).warnings)
    assert "7 rows have the same features as another row; 2 of them with another target" in text
    assert "Columns that never change: constant." in text
    assert "Almost the target itself: leak." in text
    assert "Columns that say the same: a and twin." in text


def test_classes_that_leak_or_are_rare():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = (X[:, 1] > 2.0).astype(int)
    model = sg.TwoSEGPClassifier(**METHODS[sg.TwoSEGPClassifier]).fit(X, y)
    text = "\n".join(summarise(model, choose_rows(model, X, y, None)).warnings)
    assert "Almost the target itself: x1." in text
    assert "Rare classes: 1." in text


def test_the_page_escapes_what_is_given(fitted, no_figures):
    X, y = make_friedman1(120, n_features=5, random_state=0)
    frame = pd.DataFrame(X, columns=["<b>", "&amp;", "</script>", "`", "{{ 7 * 7 }}"])
    model = sg.TwoSEGPRegressor(**SETTINGS).fit(frame, y)
    page = sg.report(model, frame, y, title="</title><script>")
    assert "<title>&lt;/title&gt;&lt;script&gt; (symgrove)</title>" in page
    assert "<b>" not in re.sub(r"<b>[^<]*</b>", "", page)
    assert "49" not in re.findall(r"<th scope=\"row\">(.*?)</th>", page)
    data = re.search(r'<script type="application/json" id="what-if-data">(.*?)</script>', page, re.DOTALL)[1]
    assert "<" not in data


def test_bad_input(fitted):
    model, X, y = fitted
    with pytest.raises(ValueError, match=r"coverage must be a number above 0 and below 0\.9991"):
        sg.report(model, X, y, coverage=90)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        sg.report(model, X, y[:-1])
    with pytest.raises(ValueError, match="y must be finite numbers"):
        sg.report(model, X, np.where(np.arange(300) == 3, np.nan, y))
    classifier = sg.TwoSEGPClassifier(**METHODS[sg.TwoSEGPClassifier]).fit(X, y > 12)
    with pytest.raises(ValueError, match="labels that the model was not fitted with: 'True', 'maybe'"):
        sg.report(classifier, X, np.where(y > 12, "True", "maybe"))


def test_labels_are_equal_if_their_values_are(fitted):
    _, X, y = fitted
    model = sg.TwoSEGPClassifier(**METHODS[sg.TwoSEGPClassifier]).fit(X, (y > 12).astype(int))
    for kind in (float, bool):
        assert choose_rows(model, X, (y > 12).astype(kind), None).y.dtype == model.classes_.dtype


def test_rows_that_other_models_cannot_take(no_figures):
    X, y = make_friedman1(200, n_features=5, random_state=0)
    model = sg.TwoSEGPClassifier(**METHODS[sg.TwoSEGPClassifier]).fit(X, y > 12)
    page = sg.report(model, X[y > 12] + 1e-3, np.ones((y > 12).sum(), dtype=bool))
    assert "these rows are too few, or of one class" in page
    one = sg.TwoSEGPRegressor(**SETTINGS).fit(X, y)
    assert "<h2>Scores</h2>" in sg.report(one, X[:1], y[:1])


def test_functions_of_ones_own_leave_out_what_cannot_be_done():
    def bend(x):
        return x * x + 1.0

    X = np.random.default_rng(0).normal(size=(100, 2))
    y = X[:, 0] ** 2
    functions = ("add", sg.primitive(bend))
    model = sg.TwoSEGPRegressor(**SETTINGS, functions=functions).fit(X, y)
    page = sg.report(model, X, y)
    assert "This model cannot run in a page: this model uses the function &#39;bend&#39; of yours" in page
    assert "what-if-data" not in page.split("<script>")[0]
    assert "change for one standard deviation" not in page
    packed = {made.name: made for made in all_exports(model)}
    assert [name for name, made in packed.items() if made.content] == ["latex", "text"]
    own = sg.primitive(bend, javascript="{0} * {0} + 1", derivative=(lambda a: 2 * a,))
    page = sg.report(model.set_params(functions=("add", own)).fit(X, y), X, y)
    assert "what-if-data" in page.split("<script>")[0]
    assert "change for one standard deviation" in page


def test_any_coverage_is_shown_as_it_is(fitted, monkeypatch):
    model, X, y = fitted
    drawn = []
    monkeypatch.setattr(
        "symgrove.report.build.draw_all", lambda model, rows, coverage, looked: drawn.append(coverage) or []
    )
    for coverage in (0.975, 0.999):
        page = sg.report(model, X, y, coverage=coverage)
        assert f"Intervals for {100 * coverage:g} %" in page
        assert f'"coverage": {coverage}' in page
    assert drawn == [0.975, 0.999]


def test_the_start_is_a_row(fitted):
    X, y = make_friedman1(100, n_features=5, random_state=0)
    X[:, 0], X[:, 1] = 0.37, np.exp(20 * X[:, 1] - 15)
    model = sg.TwoSEGPRegressor(**SETTINGS).fit(X, y)
    data = controls(model, choose_rows(model, X, y, None), 0.9)
    start = [next(c["value"] for c in data["controls"] if c["feature"] == j) for j in range(5)]
    assert (start == X).all(axis=1).any()
    assert all(c["low"] <= c["value"] <= c["high"] for c in data["controls"])


def test_the_start_has_the_most_frequent_category():
    rng = np.random.default_rng(0)
    kinds = np.array(["a"] * 8 + ["b"] * 52 + ["c"] * 60)
    numbers = rng.normal(size=120) + np.where(kinds == "a", 0, 5)  # the median is nearest to rare "b"
    numbers[kinds == "c"] *= -1
    codes = np.select([kinds == "b", kinds == "c"], [0, 2], 1)  # the median, 1, is the rarest
    kinds = pd.Series([*kinds, *[None] * 4], dtype="category")
    frame = pd.DataFrame({"n": np.append(numbers, [0.0] * 4), "kind": kinds, "code": np.append(codes, [2] * 4)})
    frame.loc[122:, "n"] = np.nan
    y = frame["n"].fillna(0)
    model = sg.TwoSEGPRegressor(**SETTINGS).fit(frame, y)
    for n_rows in (120, 124):
        data = controls(model, choose_rows(model, frame[:n_rows], y[:n_rows], None), 0.9)
        assert data["start"][1:] == ["c", 2]
        assert data["start"][0] in frame["n"].tolist()
    choice = next(c for c in data["controls"] if c["kind"] == "choice")
    assert choice["options"][choice["value"]] == ("c", "c")


def test_commands_name_the_file_of_the_model(fitted, monkeypatch):
    model, *_ = fitted
    monkeypatch.setattr("symgrove.report.exports.LARGEST", 10)
    for file, wanted in (
        (None, 'too long for a page; model.export("c") writes it'),
        ("my model's.json", """too long for a page; symgrove export 'my model'"'"'s.json' --to c writes it"""),
        ("-m.json", "too long for a page; symgrove export ./-m.json --to c writes it"),
    ):
        assert next(made for made in all_exports(model, file) if made.name == "c").problem == wanted
    monkeypatch.setattr("symgrove.report.exports.MOST_STEPS_FOR_SQL", 1)
    told = {made.name: made.problem for made in all_exports(model, "m.json")}
    assert told["sql"] == "a very long query; symgrove export m.json --to sql --dialect duckdb writes it"


def test_other_estimators_get_a_message(fitted):
    _, X, y = fitted
    with pytest.raises(TypeError, match="Of a search, give best_estimator_"):
        sg.report(LinearRegression().fit(X, y), X, y)


def test_a_failed_write_leaves_the_old_page(fitted, tmp_path, no_figures, monkeypatch):
    model, X, y = fitted
    with pytest.raises(FileNotFoundError):
        sg.report(model, X, y, path=tmp_path / "no" / "report.html")
    (tmp_path / "report.html").write_text("old")
    monkeypatch.setattr("os.fsync", lambda _: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    with pytest.raises(OSError, match="No space left"):
        sg.report(model, X, y, path=tmp_path / "report.html")
    assert [(file.name, file.read_text()) for file in tmp_path.iterdir()] == [("report.html", "old")]


@pytest.mark.parametrize("name", list(BUILTIN))
def test_mathml_is_well_formed(name):
    forest = Forest(2, PrimitiveSet(tuple(BUILTIN)))
    inner = forest.apply("add", forest.feature(0), forest.constant(-1.5e-7))
    operands = [inner, forest.feature(1)][: BUILTIN[name].arity]
    text = to_mathml(forest, forest.apply(name, *operands), ["x1", "a < b & c"])
    content = "".join(ET.fromstring(text).itertext())
    assert "a < b & c" in content or BUILTIN[name].arity == 1
    assert "1.5⋅10−7" in content
    if name in ("mul", "square", "cube", "neg", "power"):
        assert "(x1+" in content


def test_numbers_are_written_as_people_write_them():
    shown = {125512.3: "125,500", 0.03125: "0.03125", -4.0: "−4", 1.5e-7: "1.5×10⁻⁷", -2.5e20: "−2.5×10²⁰", 0: "0"}
    assert {value: number(value) for value in shown} == shown
    assert (number(99999.9), number(484_500, 6), number(np.inf)) == ("100,000", "484,500", "∞")
    assert [percent(p) for p in (0, 0.042, 0.5, 0.953, 0.9999, 1)] == [
        f"{text}\u00a0%" for text in ("0", "4.2", "50", "95.3", "above 99.9", "100")
    ]
    assert (listed(["a", "b", "c"]), listed(list("abcd"), 2)) == ("a, b and c", "a, b and 2 more")


def test_formulas_are_cut_where_a_line_may_end():
    forest = Forest(2, PrimitiveSet(("add", "sub", "mul", "square")))
    names = ["a", "b"]
    root = parse(forest, "(a + b)^2 - (a - 3) * b + (2 * a - b)", names)
    parts = in_parts(to_mathml(forest, root, names))
    texts = ["".join(ET.fromstring(part).itertext()) for part in parts]
    assert texts == ["(a+b)2", "−(a−3)⋅b", "+(2⋅a−b)"]


def test_of_a_search_the_page_has_the_front_and_no_evolution():
    X = np.random.default_rng(0).uniform(1, 2, size=(60, 2))
    model = sg.LawRegressor(random_state=0, max_time=5).fit(X, 3 * X[:, 0])
    page = sg.report(model, X, 3 * X[:, 0])
    assert "The best formula of each size." in page
    assert page.count("This one predicts") == 1
    assert "ended by exact" in page
    assert re.search(r"The model is one formula:</p>\s*<div class=\"maths\"><math>.*3.*x", page)
    assert "Convergence" not in page


def test_a_page_shows_itself_in_a_notebook_and_saves_itself(tmp_path):
    text = '<!doctype html><p class="a">1 < 2 & "x"</p><script>let s = "</iframe>";</script>\n'
    page = ReportPage(text)
    page.save(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == text
    assert "doctype" not in repr(page)

    found = []
    parser = HTMLParser()
    parser.handle_starttag = lambda tag, attrs: found.append((tag, dict(attrs).get("srcdoc")))
    parser.feed(page._repr_html_())
    assert found == [("iframe", text)]


def test_the_summary_says_in_words_what_was_measured(fitted, no_figures):
    model, X, y = fitted
    page = html.unescape(sg.report(model, X, pd.Series(y, name="yield (kg)")))
    rows = choose_rows(model, X, y, None)
    errors = np.abs(model.predict(X[200:]) - y[200:])
    said = f"On 100 rows that the model was not fitted on, predictions of yield (kg) are off by {number(errors.mean())}"
    assert said in page
    mean = number(np.abs(y[200:] - y[:200].mean()).mean())
    assert f"Without a model, always the mean: off by {mean} on average." in page
    assert "Of the other kinds of models, the best is" in page
    looked = look_at_features(model, rows)
    first = looked.curves[looked.order[0]][0]
    told = re.search(rf"<b>{first.feature}</b>: the larger it is, the (higher|lower)", page)
    assert told is None or (told[1] == "higher") == (first.average[-1] > first.average[0])
    assert f"<b>{first.feature}</b>: " in page


def test_of_several_classes_the_summary_says_what_values_speak_for(no_figures):
    X, y = load_iris(return_X_y=True, as_frame=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    model = sg.GroveClassifier(**METHODS[sg.GroveClassifier]).fit(X, names)
    page = html.unescape(sg.report(model, X, pd.Series(names, name="species")))
    assert "The model predicts species from" in page
    assert "Without a model, always the most frequent class: 33\u00a0% right." in page
    assert "low values speak for setosa, high ones for virginica" in page
    assert "The model was fitted on these 150 rows, so scores are optimistic." in page


def test_segments_share_out_the_rows_and_the_worst_rows_come_first():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"n": rng.normal(size=120), "kind": rng.choice(["a", "b"], 120)}).astype({"kind": "category"})
    y = X.n + (X.kind == "b") + np.where(X.kind == "b", rng.normal(size=120), 0)
    X.loc[:14, "n"] = np.nan
    model = sg.TwoSEGPRegressor(**SETTINGS).fit(X, y)
    rows = choose_rows(model, X, y, None)
    found = find_mistakes(model, rows, look_at_features(model, rows))
    errors = np.abs(model.predict(X) - y)
    for name, n in (("n", 5), ("kind", 2)):
        own = [segment for segment in found.segments if segment.column == name]
        assert (len(own), sum(segment.n_rows for segment in own)) == (n, 120)
    by_kind = {segment.values: segment.error for segment in found.segments if segment.column == "kind"}
    assert by_kind == {kind: number(errors[X.kind == kind].mean()) for kind in "ab"}
    missing = next(segment for segment in found.segments if segment.values == "missing")
    assert (missing.n_rows, missing.error) == (15, number(errors[:15].mean()))
    assert [row[0] for row in found.worst] == [number(v) for v in y[np.argsort(-errors, kind="stable")[:8]]]


def test_lift_is_how_much_more_frequent_a_class_is():
    depth, lift = lift_curve(np.array([True, False, True, False]), np.array([0.9, 0.2, 0.5, 0.5]))
    assert depth.tolist() == [0.25, 0.75, 1]
    assert lift == pytest.approx([2, 4 / 3, 1])


def test_the_summary_has_one_formula_that_says_about_the_same(fitted, no_figures, monkeypatch):
    model, X, y = fitted
    known = one_formula(model, X, y)
    monkeypatch.setattr("symgrove.report.summary.one_formula", lambda *_: known)
    page = html.unescape(sg.report(model, X, pd.Series(y, name="yield")))
    monkeypatch.setattr("symgrove.report.summary.one_formula", None)  # what the model knows is not found again
    monkeypatch.setattr(model, "one_formula_", known, raising=False)
    for text in (page, html.unescape(sg.report(model, X, pd.Series(y, name="yield")))):
        found = re.search(r"In one formula \(R² (.*?) on 100 new rows; the ensemble (.*?) on the same\): yield =", text)
        assert found[2] == f"{model.score(X[200:], y[200:]):.2f}"
        assert "<math>" in text[found.end() : text.index("<h2>Scores</h2>")]
