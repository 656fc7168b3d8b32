"""The studio in a real browser, from a dropped file to an exported model, with the keyboard alone."""

import csv
import gzip
import io
import json
import time
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("uvicorn")

from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

import symgrove
from tests.report import browser as chromium
from tests.studio.asking import Studio

AXE = gzip.decompress((Path(__file__).parent / "axe" / "axe.min.js.gz").read_bytes()).decode()
HOSTILE = ['<img src=x onerror="alert(1)">', "__proto__", "=1+1", "constructor"]
LOOKS = [(1400, "light"), (390, "dark")]
DROP = """
const [zone, name, text] = arguments;
const given = new DataTransfer();
given.items.add(new File([text], name));
for (const kind of ["dragover", "drop"]) {
  zone.dispatchEvent(new DragEvent(kind, { dataTransfer: given, bubbles: true }));
}
"""


@pytest.fixture
def browser():
    found = chromium.start()
    yield found
    found.quit()


@pytest.fixture
def studio(tmp_path):
    found = Studio(tmp_path / "folder")
    yield found
    found.end()


def make_table():
    """Of a target that is no law, so that a search takes all of its time."""
    rng = np.random.default_rng(0)
    X = rng.uniform(1, 2, size=(200, len(HOSTILE)))
    stream = io.StringIO()
    writer = csv.writer(stream)
    writer.writerow([*HOSTILE, "<b>y</b>"])
    y = np.floor(3 * X[:, 0]) * np.where(X[:, 1] > 1.5, 2, 1) + 0.3 * rng.normal(size=200)
    writer.writerows(np.column_stack([X, y]).tolist())
    return stream.getvalue()


class Page:
    """What a person does with the keyboard, and sees."""

    def __init__(self, browser):
        self.browser = browser

    def wait(self, selector, text="", seconds=60):
        def found(browser):
            elements = browser.find_elements(By.CSS_SELECTOR, selector)
            return next((own for own in elements if text in own.text), None)

        return WebDriverWait(self.browser, seconds, ignored_exceptions=[Exception]).until(found)

    def tab_to(self, selector):
        """Press Tab until an element that a person would look for has the focus; it must be seen that it has."""
        wanted = self.wait(selector)
        for _ in range(80):
            if self.browser.switch_to.active_element == wanted:
                outline = wanted.value_of_css_property("outline-style")
                assert outline != "none", selector
                return wanted
            self.browser.switch_to.active_element.send_keys(Keys.TAB)
        raise AssertionError(f"Tab does not lead to {selector}")

    def press(self, selector, key=Keys.ENTER):
        self.tab_to(selector).send_keys(key)

    def look(self, width, theme):
        settings = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
        self.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", settings)
        feature = {"name": "prefers-color-scheme", "value": theme}
        self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})

    def check(self):
        """In both looks: nothing is wider than the page, and nothing keeps people from using it."""
        for width, theme in LOOKS:
            self.look(width, theme)
            time.sleep(0.1)
            widths = self.browser.execute_script("return [document.documentElement.scrollWidth, innerWidth]")
            assert widths[0] <= widths[1]
            self.browser.execute_script(AXE)
            own = "const done = arguments[0]; axe.run({ iframes: false }).then((found) => done(found.violations))"
            found = self.browser.execute_async_script(own)
            told = [(v["id"], v["impact"], [node["html"][:160] for node in v["nodes"][:3]]) for v in found]
            assert told == [], (width, theme)
        self.look(*LOOKS[0])


def test_from_a_dropped_file_to_an_exported_model(browser, studio, tmp_path):
    browser.execute_cdp_cmd("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(tmp_path)})
    page = Page(browser)
    page.look(*LOOKS[0])
    browser.get(studio.address)
    zone = page.wait("#drop")
    page.check()
    browser.execute_script(DROP, zone, "<i>table</i>.csv", make_table())
    page.wait("button[type=submit]")
    names = [own.text for own in browser.find_elements(By.CSS_SELECTOR, "th.name label:first-child")]
    assert names == [*HOSTILE, "<b>y</b>"]
    assert "a number, <b>y</b>, from 4 columns" in browser.find_element(By.ID, "chosen").text
    page.check()
    page.tab_to("input[name=time]:checked").send_keys(Keys.ARROW_UP)  # ten seconds
    page.press("button[type=submit]")
    page.wait("#verdict .maths math")
    page.wait("figure:last-child circle.point")
    first = browser.current_window_handle
    address = browser.current_url
    browser.switch_to.new_window("tab")  # the first is hidden now
    browser.get(address)
    page.wait("#verdict .maths math")
    page.press("#stop")
    page.wait("#verdict", "In one formula")
    browser.close()
    browser.switch_to.window(first)
    lead = page.wait("#verdict .lead", "In one formula")
    assert lead.text == "In one formula"
    assert "R² 0." in browser.find_element(By.ID, "verdict").text
    assert "<b>y</b> =" in browser.find_element(By.CSS_SELECTOR, "#verdict .maths").get_attribute("aria-label")
    page.check()
    page.press("#code-button")
    assert "LawRegressor" in page.wait("pre").text
    page.press("button[data-file='model.json']")
    page.wait("#downloads", "in your downloads")
    model = tmp_path / "model.json"
    WebDriverWait(browser, 20).until(lambda _: model.exists())
    assert list(symgrove.load(model).feature_names_in_) == HOSTILE
    assert not (tmp_path / "open.html").exists()
    rows = json.loads(studio.get("api/state"))["runs"]
    assert [run["state"] for run in rows] in (["stopped"], ["finished"])
    assert browser.get_log("browser") == []
    assert browser.execute_script("return document.querySelectorAll('img, b, i').length") == 0


@pytest.mark.slow
def test_two_runs_side_by_side_a_stopped_one_goes_on_and_the_report(browser, studio, tmp_path):
    """Heavier: `make test-studio`."""
    browser.execute_cdp_cmd("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(tmp_path)})
    page = Page(browser)
    page.look(*LOOKS[0])
    table = studio.upload("a.csv", make_table().encode())
    wanted = {"table": table["id"], "target": "<b>y</b>", "features": HOSTILE, "categorical": [], "task": "regression"}
    runs = []
    for goal in ("law", "2segp", "grove"):
        own = {**wanted, "goal": goal, "seconds": 5, "generations": 10_000 if goal == "2segp" else 12}
        runs.append(studio.json("api/runs", "POST", own)["id"])
    browser.get(f"{studio.address}#/run/{runs[1]}")
    page.wait("#stop")
    page.check()
    page.wait("#verdict", "In one formula")
    page.press("#continue")
    page.wait("#stop")
    page.wait("#verdict", "In one formula")
    for run in runs:
        studio.run(run, state="finished")
    browser.get(f"{studio.address}#/compare/{runs[0]}/{runs[1]}")
    page.wait(".card.second", "In one formula")
    page.check()
    browser.get(f"{studio.address}#/")
    page.wait(".entries")
    page.check()
    browser.get(f"{studio.address}#/run/{runs[2]}")
    page.press("#look")
    frame = page.wait("iframe.report")
    browser.switch_to.frame(frame)
    WebDriverWait(browser, 30).until(lambda b: b.find_element(By.ID, "answer").get_attribute("data-lower"))
    assert browser.execute_script("return origin") == "null"  # the report reads nothing of the studio
    browser.switch_to.default_content()
    page.check()
    for name in ("model.py", "model.js", "model.c", "model.sql", "model.onnx", "model.tex", "model.txt", "report.html"):
        page.press(f"button[data-file='{name}']")
        page.wait("#downloads", f"{name} is in your downloads")
        WebDriverWait(browser, 20).until(lambda _, name=name: (tmp_path / name).exists())
    assert browser.get_log("browser") == []
