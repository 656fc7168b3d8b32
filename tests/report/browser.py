"""Debian's Chromium, without a screen; with CI set it must be there."""

import os
import shutil

import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

# Without the network: the page must not need it, and Chromium must not wait for it.
FLAGS = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--host-resolver-rules=MAP*~NOTFOUND",
]


def start():
    programs = [shutil.which(name) for name in ("chromium", "chromedriver")]
    if not all(programs):
        if os.environ.get("CI"):
            raise RuntimeError("chromium or chromedriver is missing; `make system-programs` installs them.")
        pytest.skip("chromium is not installed")
    options = webdriver.ChromeOptions()
    options.binary_location = programs[0]
    for flag in FLAGS:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    return webdriver.Chrome(options=options, service=webdriver.ChromeService(programs[1]))


def open_page(browser, path, theme="light", width=1100, height=900):
    """Load a page and wait until the model in it has answered."""
    settings = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", settings)
    feature = {"name": "prefers-color-scheme", "value": theme}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
    browser.get_log("browser")
    browser.get(path.as_uri())
    WebDriverWait(browser, 20).until(lambda b: b.find_element(By.ID, "answer").get_attribute("data-prediction"))
