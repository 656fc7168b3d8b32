"""
A messy table
=============

Numbers with currencies, gaps that mean something, categories, dates in words: the command line takes the file as it
is, says how it read it, and the model file remembers. Here the same from Python, through the command.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import symgrove

rng = np.random.default_rng(0)
n = 400
built = pd.Timestamp("2015-01-01") + pd.to_timedelta(rng.integers(0, 3000, n), unit="D")
area, town = rng.uniform(30, 160, n), rng.choice(["Harbour", "Old town", "West"], n)
price = 2500 * area * np.where(town == "Harbour", 1.4, 1.0) + 25 * (built - built.min()).days + rng.normal(0, 9000, n)
table = pd.DataFrame(
    {
        "area": [f"{a:.1f}".replace(".", ",") for a in area],  # decimal commas
        "town": town,
        "finished": built.strftime("%d.%m.%Y"),
        "deposit": [f"{p * 0.02:,.2f} €".replace(",", " ").replace(".", ",") for p in price],
        "price": price.round(2),
    }
)
table.loc[rng.random(n) < 0.3, "deposit"] = "n/a"  # missing, but worth a lot where it is there
table.loc[rng.random(n) < 0.1, "town"] = ""
table["price"] = [f"{p:.2f}".replace(".", ",") for p in table["price"]]
table.head(4)

# %%
# Written as a spreadsheet would, with semicolons, and fitted in the shell:
folder = Path(tempfile.mkdtemp())
table.to_csv(folder / "houses.csv", sep=";", index=False)


def symgrove_command(*words):
    """What `symgrove ...` prints."""
    command = [sys.executable, "-c", "from symgrove.cli.app import app; app()", *words]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    print(
        done.stdout
        + "\n".join(
            line for line in done.stderr.splitlines() if not line.startswith(("GroveRegressor", "symgrove: compiling"))
        )
    )


symgrove_command(
    "fit", "houses.csv", "--target", "price", "-o", "model.json", "--generations", "15", "--n-estimators", "10",
    "--strength", "fixed", "--calibration", "0.2", "--no-one-formula",
)  # fmt: skip

# %%
# What stands for what is a part of the model:
symgrove_command("show", "model.json")

# %%
# The file predicts raw texts in Python too, and columns are one feature each in all answers:
model = symgrove.load(folder / "model.json")
raw = table.drop(columns="price")[:2]
print(model.predict(raw).round())

fig, ax = plt.subplots(figsize=(6, 2.6), layout="constrained")
ax.barh(list(model.feature_names_in_), model.feature_importances_, color="#0072B2")
ax.set(xlabel="importance")
