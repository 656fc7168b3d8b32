"""
The studio
==========

`symgrove studio data.csv` opens a page where you choose what to predict, watch formulas evolve and take away what was
found, without a line of code. It is made of processes and files: here a script asks it as its page does, and draws
what a run wrote down on its way.

.. image:: ../files/docs/studio.png
   :alt: The studio, while a search goes on
"""

import json
import re
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

import matplotlib.pyplot as plt
from sklearn.datasets import make_friedman1

folder = Path(tempfile.mkdtemp())
X, y = make_friedman1(300, n_features=6, noise=1.0, random_state=0)
rows = [",".join(f"{value:.4f}" for value in (*row, target)) for row, target in zip(X, y, strict=True)]
(folder / "data.csv").write_text("a,b,c,d,e,f,y\n" + "\n".join(rows))

words = ["studio", str(folder / "data.csv"), "--no-browser", "--folder", str(folder / "studio")]
command = [sys.executable, "-c", "from symgrove.cli.app import app; app()", *words]
studio = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
address = re.search(r"http://\S+", studio.stderr.readline())[0]


def ask(path, value=None):
    """What the page asks: JSON, at an address that nobody can guess."""
    data = None if value is None else json.dumps(value).encode()
    with urllib.request.urlopen(address + path, data=data, timeout=60) as answer:
        return json.loads(answer.read())


def until(look, is_enough):
    """What is there, once it is enough."""
    while not is_enough(found := look()):
        time.sleep(0.1)
    return found


try:
    table = until(lambda: ask("api/state")["tables"], lambda tables: tables and tables[0]["state"] != "reading")[0]
    features = ["a", "b", "c", "d", "e", "f"]
    wanted = {"table": table["id"], "target": "y", "features": features, "categorical": []}
    run = ask(
        "api/runs", {**wanted, "task": "regression", "goal": "2segp", "seconds": 20, "seed": 0, "generations": 60}
    )
    done = until(lambda: ask(f"api/runs/{run['id']}"), lambda own: own["state"] not in ("waiting", "running"))
finally:
    studio.terminate()
one = done["result"]["in_one_formula"]
print(done["state"] + ":", one["left"], "=", one["text"])
print(one["scores"])

# %%
# A run is a process of its own, which goes on when the page and the server are closed, and a folder of files. What
# happened in it is a line of JSON for each event, which the page follows:

lines = next(folder.rglob("events.jsonl")).read_text().splitlines()
errors = [event for event in map(json.loads, lines) if event["kind"] == "errors"]
times, (best, lower, median, upper) = [e["seconds"] for e in errors], zip(*(e["values"] for e in errors), strict=True)
fig, ax = plt.subplots(figsize=(7, 3.4), layout="constrained")
ax.fill_between(times, lower, upper, color="#56B4E9", alpha=0.4, label="half of the members")
ax.plot(times, median, color="#0072B2", label="median member")
ax.plot(times, best, color="#D55E00", label="best member")
ax.set(xlabel="seconds since the start of the run", ylabel=f"{errors[0]['of']} on rows of the fit")
ax.legend(frameon=False)

# %%
# All about it: :doc:`../studio`.
