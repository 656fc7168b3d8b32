"""How quickly the studio shows something, how often it changes, how much memory its page takes; and its picture.

    python -m tests.studio.measures [RESULTS.jsonl] [PICTURE.png]

For each goal: from `symgrove studio data.csv` to the page, from the start of a run to its first formula on the screen,
the longest time without a change of the page while the run goes on, megabytes of the page's process and of its scripts.
Needs Chromium. A row for each goal is appended to the results.
"""

import base64
import json
import os
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path

import psutil
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait
from sklearn.datasets import load_diabetes

from tests.report import browser as chromium
from tests.studio.asking import Studio

SECONDS = 20
SECONDS_TO_CHOOSE = 5  # that a person takes at least to look at the columns
WATCH = """
window.changes = [performance.now()];
let last = "";
const look = () => {
  const text = document.getElementById("progress").textContent;
  if (text !== last) { last = text; window.changes.push(performance.now()); }
};
const all = { subtree: true, childList: true, characterData: true };
new MutationObserver(look).observe(document.getElementById("main"), all);
"""


def wait(browser, selector, text=""):
    def found(own):
        return any(text in each.text for each in own.find_elements(By.CSS_SELECTOR, selector))

    WebDriverWait(browser, 60, poll_frequency=0.02, ignored_exceptions=[Exception]).until(found)


def megabytes(browser):
    """Of the largest process of a page, not shared with others."""
    below = psutil.Process(browser.service.process.pid).children(recursive=True)
    pages = [own for own in below if "--type=renderer" in own.cmdline()]
    return max(own.memory_full_info().uss for own in pages) / 2**20


def measured(browser, table, folder, goal):
    """A row."""
    start = time.perf_counter()
    studio = Studio(folder, str(table))
    try:
        browser.get(studio.address)
        wait(browser, "button[type=submit]")
        row = {"goal": goal, "seconds_to_page": time.perf_counter() - start}
        time.sleep(SECONDS_TO_CHOOSE)
        for choice in (f"input[name=goal][value='{goal}']", "button[type=submit]"):
            browser.execute_script("arguments[0].click()", browser.find_element(By.CSS_SELECTOR, choice))
        start = time.perf_counter()
        wait(browser, "#verdict .maths")
        row["seconds_to_formula"] = time.perf_counter() - start
        browser.execute_script(WATCH)
        end = time.perf_counter() + SECONDS
        while time.perf_counter() < end and browser.find_elements(By.ID, "stop"):
            time.sleep(0.5)
            row["megabytes"] = max(row.get("megabytes", 0), megabytes(browser))
        times = browser.execute_script("return window.changes")
        row["longest_without_change"] = max(b - a for a, b in pairwise(times)) / 1000
        row["megabytes_of_scripts"] = browser.execute_script("return performance.memory.usedJSHeapSize") / 2**20
    finally:
        studio.end()
    return {name: round(value, 2) if isinstance(value, float) else value for name, value in row.items()}


def look(browser, width, height):
    settings = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", settings)


def main(results, picture):
    browser = chromium.start()
    look(browser, 1400, 1000)
    rows = []
    try:
        with tempfile.TemporaryDirectory() as folder:
            table = Path(folder) / "diabetes.csv"
            load_diabetes(as_frame=True, scaled=False).frame.to_csv(table, index=False)
            for goal in ("grove", "2segp", "law"):
                rows.append({**measured(browser, table, Path(folder) / "studio", goal), "load": os.getloadavg()[0]})
                sys.stdout.write(json.dumps(rows[-1]) + "\n")
            wait(browser, "#progress")
            if picture:
                browser.execute_script("document.querySelector('footer').remove()")
                shot = browser.execute_cdp_cmd("Page.captureScreenshot", {})
                Path(picture).write_bytes(base64.b64decode(shot["data"]))
    finally:
        browser.quit()
    if results:
        with open(results, "a", encoding="utf-8") as stream:
            stream.writelines(json.dumps(row) + "\n" for row in rows)


if __name__ == "__main__":
    main(*[*sys.argv[1:], None, None][:2])
