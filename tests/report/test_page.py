"""The report in a real browser."""

import json

import numpy as np
import pandas as pd
import pytest
from selenium.webdriver.common.by import By
from sklearn.datasets import load_breast_cancer, load_iris, make_friedman1

import symgrove as sg
from tests.contracts.test_methods import METHODS
from tests.report import browser as chromium

SMALL = {"generations": 5, "random_state": 0}


@pytest.fixture(scope="module")
def browser():
    found = chromium.start()
    yield found
    found.quit()


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Models with their pages, by name, made when they are first asked for."""
    folder = tmp_path_factory.mktemp("reports")
    X, y = make_friedman1(150, n_features=6, noise=0.5, random_state=0)
    X[:, 5] = np.round(10 * X[:, 5])
    frame = pd.DataFrame(X, columns=["speed (m/s)", "b", "<script>alert(1)</script>", "d\"'", "e", "whole"])
    iris, cancer = load_iris(return_X_y=True), load_breast_cancer(return_X_y=True, as_frame=True)
    models = {
        "grove": (sg.GroveRegressor(**METHODS[sg.GroveRegressor], calibration=0.3), frame, y),
        "2segp": (sg.TwoSEGPRegressor(**METHODS[sg.TwoSEGPRegressor]), frame, y),
        "one": (sg.ClassicGPRegressor(**METHODS[sg.ClassicGPRegressor], max_size=30), frame, y),
        "votes": (sg.TwoSEGPClassifier(**METHODS[sg.TwoSEGPClassifier], calibration=0.2), *cancer),
        "three": (sg.GroveClassifier(**METHODS[sg.GroveClassifier]), *iris),
    }

    class Made(dict):
        def __missing__(self, name):
            model, given, target = models[name]
            model.fit(given[:120], target[:120]) if name != "three" else model.fit(given[::2], target[::2])
            sg.report(model, given, target, path=folder / f"{name}.html", title=f"model <{name}>")
            self[name] = model, np.asarray(given, dtype=float), folder / f"{name}.html"
            return self[name]

    return Made()


NAMES = ["grove", "votes", "three", pytest.param("2segp", marks=pytest.mark.slow)]


@pytest.mark.parametrize("name", NAMES)
def test_the_page_renders_without_errors(name, made, browser):
    _, _, path = made[name]
    chromium.open_page(browser, path)
    assert browser.get_log("browser") == []
    assert browser.find_element(By.TAG_NAME, "h1").text == f"model <{name}>"
    figures = browser.find_elements(By.CSS_SELECTOR, "figure svg")
    assert len(figures) >= 8
    assert all(figure.rect["width"] > 100 and figure.rect["height"] > 60 for figure in figures)
    names = browser.execute_script("return performance.getEntriesByType('resource').map((e) => e.name)")
    assert [n for n in names if not n.startswith(("data:", "blob:"))] == []


def read_row(browser, model):
    """The values of the controls, in the order of the features."""
    data = json.loads(browser.find_element(By.ID, "what-if-data").get_attribute("textContent"))
    fields = browser.find_elements(By.CSS_SELECTOR, "#controls input[type=number]")
    row = np.full(model.n_features_in_, np.nan)
    for control, field in zip(data["controls"], fields, strict=True):
        row[control["feature"]] = float(field.get_property("value"))
    return row


@pytest.mark.parametrize("name", NAMES)
def test_sliders_predict_what_the_model_predicts(name, made, browser):
    model, _, path = made[name]
    chromium.open_page(browser, path)
    sliders = browser.find_elements(By.CSS_SELECTOR, "#controls input[type=range]")
    assert len(sliders) == model.n_features_in_
    rng = np.random.default_rng(0)
    for _ in range(4):
        for slider in sliders:
            browser.execute_script(
                "const [s, t] = arguments; s.value = Number(s.min) + t * (Number(s.max) - Number(s.min));"
                "s.dispatchEvent(new Event('input'));",
                slider,
                rng.uniform(),
            )
        answer = browser.find_element(By.ID, "answer")
        row = read_row(browser, model)[None]
        found = answer.get_attribute("data-prediction")
        wanted = model.predict(pd.DataFrame(row, columns=model.feature_names_in_) if name != "three" else row)[0]
        if hasattr(model, "classes_"):
            assert found == str(wanted)
            shares = model.predict_proba(_frame(model, row))[0]
            for label, share in zip(model.classes_, shares, strict=True):
                assert f"{label}: {100 * share:.1f} %" in answer.text
            continue
        assert float(found) == pytest.approx(wanted, rel=1e-9)
        if name != "one":
            ends = [float(answer.get_attribute(f"data-{end}")) for end in ("lower", "upper")]
            assert ends == pytest.approx(model.predict_interval(_frame(model, row), 0.9)[0], rel=1e-9)


def _frame(model, row):
    return pd.DataFrame(row, columns=model.feature_names_in_) if hasattr(model, "feature_names_in_") else row


def test_typing_a_number_and_going_back(made, browser):
    model, _, path = made["grove"]
    chromium.open_page(browser, path)
    before = browser.find_element(By.ID, "answer").get_attribute("data-prediction")
    field = browser.find_elements(By.CSS_SELECTOR, "#controls input[type=number]")[0]
    field.clear()
    field.send_keys("0.125")
    wanted = model.predict(_frame(model, read_row(browser, model)[None]))[0]
    assert float(browser.find_element(By.ID, "answer").get_attribute("data-prediction")) == pytest.approx(wanted)
    browser.execute_script("arguments[0].click()", browser.find_element(By.ID, "reset"))
    assert browser.find_element(By.ID, "answer").get_attribute("data-prediction") == before


@pytest.mark.parametrize("name", ["grove", "three"])
def test_a_row_of_the_data_is_explained(name, made, browser):
    model, X, path = made[name]
    chromium.open_page(browser, path)
    field = browser.find_element(By.ID, "row-number")
    field.send_keys("5")
    found = browser.find_element(By.ID, "answer").get_attribute("data-prediction")
    wanted = model.predict(_frame(model, X[4:5]))[0]
    assert found == str(wanted) if name == "three" else float(found) == pytest.approx(wanted, rel=1e-9)
    truth = browser.find_element(By.ID, "truth")
    assert truth.text.startswith("There, the target is ")
    moved = browser.find_elements(By.CSS_SELECTOR, "#controls input[type=number]")[0]
    moved.clear()
    moved.send_keys("0.5")
    assert (field.get_property("value"), truth.text) == ("", "")  # no row of the data


def test_many_features_are_shown_on_request(made, browser):
    _, _, path = made["votes"]
    chromium.open_page(browser, path)
    controls = browser.find_elements(By.CSS_SELECTOR, ".control")
    assert sum(c.is_displayed() for c in controls) == 12
    browser.execute_script("arguments[0].click()", browser.find_element(By.ID, "more"))
    assert all(c.is_displayed() for c in controls)


def test_exports_are_unpacked_and_formulas_open(made, browser):
    model, _, path = made["one"]
    chromium.open_page(browser, path)
    for button in browser.find_elements(By.CSS_SELECTOR, "button.view"):
        browser.execute_script("arguments[0].click()", button)
        name = button.get_attribute("data-export")
        wanted = model.export(name) if name != "sql" else model.export("sql", dialect="sqlite")
        chromium.WebDriverWait(browser, 5).until(
            lambda b, w=wanted: b.find_element(By.ID, "code").get_attribute("textContent") == w
        )
    assert browser.find_elements(By.CSS_SELECTOR, ".maths math")
    copy = browser.find_element(By.CSS_SELECTOR, ".exports button.copy")
    browser.execute_script("navigator.clipboard.writeText = async (text) => { window.copied = text; }")
    browser.execute_script("arguments[0].click()", copy)
    chromium.WebDriverWait(browser, 5).until(
        lambda b: b.execute_script("return window.copied") == model.export("python")
    )


def _luminance(browser, selector, name):
    colour = browser.execute_script(
        f"return getComputedStyle(document.querySelector('{selector}')).getPropertyValue('{name}')"
    )
    red, green, blue = (int(v) for v in colour.removeprefix("rgb(").removesuffix(")").split(","))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_both_themes(theme, made, browser):
    _, _, path = made["grove"]
    chromium.open_page(browser, path, theme)
    for wanted in (theme, "light" if theme == "dark" else "dark"):
        paper = _luminance(browser, "body", "background-color")
        assert paper > 200 if wanted == "light" else paper < 60
        for selector in ("body", ".quiet", "nav a", "figure"):
            assert abs(_luminance(browser, selector, "color") - paper) > 60
        assert abs(_luminance(browser, "figure svg text", "fill") - paper) > 100  # plots follow the page
        browser.find_element(By.ID, "theme").click()


@pytest.mark.parametrize("name", ["grove", "three"])
def test_a_phone_does_not_scroll_sideways(name, made, browser):
    _, _, path = made[name]
    chromium.open_page(browser, path, width=375, height=700)
    assert browser.execute_script("return document.documentElement.scrollWidth") <= 375
    browser.execute_script("document.querySelector('#what-if').scrollIntoView()")
    assert browser.find_element(By.CSS_SELECTOR, "#controls input[type=range]").rect["width"] > 250


def test_print_leaves_out_what_paper_cannot_do(made, browser):
    _, _, path = made["grove"]
    chromium.open_page(browser, path)
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    assert not browser.find_element(By.ID, "what-if").is_displayed()
    assert browser.find_element(By.ID, "scores").is_displayed()
