"""
One model in four languages
===========================

An export computes what `predict` computes. Here a model is fitted on a table with a missing value and a category,
written as SQL, C, ONNX and an Excel workbook, and the first three are run: the largest difference on 300 rows is
drawn.
"""

import ctypes
import sqlite3
import subprocess
import tempfile
from contextlib import closing
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import onnxruntime
import pandas as pd

from symgrove import GroveRegressor

rng = np.random.default_rng(0)
table = pd.DataFrame({"rooms": rng.integers(1, 7, 300).astype(float), "age": rng.uniform(0, 90, 300)})
table["town"] = pd.Categorical(rng.choice(["Harbour", "Old town"], 300))
price = 40 * table["rooms"] + 20 * (table["town"] == "Harbour") - 0.01 * table["age"] ** 2 + rng.normal(0, 5, 300)
table.loc[rng.random(300) < 0.1, "age"] = np.nan

model = GroveRegressor(n_estimators=5, max_terms=6, max_size=7, generations=15, strength="fixed", random_state=0)
model.fit(table, price)
expected = model.predict(table)
folder = Path(tempfile.mkdtemp())
differences = {}

# %%
# SQL
# ---
# One query, here run by SQLite; NULL is a missing value.
query = model.export("sql", table="houses", dialect="sqlite")
print(query[:300], "...")
with closing(sqlite3.connect(":memory:")) as connection:
    table.astype({"town": str}).to_sql("houses", connection, index=False)
    differences["SQL (SQLite)"] = np.abs(pd.read_sql(query, connection).iloc[:, -1] - expected).max()

# %%
# C
# -
# A file without anything to link but the mathematical library: numbers in one array, categories as texts in another.
source = model.export("c")
print("\n".join(source.splitlines()[:12]), "\n...")
(folder / "model.c").write_text(source)
subprocess.run(["gcc", "-O2", "-shared", "-fPIC", "model.c", "-o", "model.so", "-lm"], cwd=folder, check=True)
predict = ctypes.CDLL(str(folder / "model.so")).predict
predict.restype, predict.argtypes = ctypes.c_double, [ctypes.POINTER(ctypes.c_double), ctypes.POINTER(ctypes.c_char_p)]
by_c = [
    predict((ctypes.c_double * 2)(row.rooms, row.age), (ctypes.c_char_p * 1)(row.town.encode()))
    for row in table.itertuples()
]
differences["C (gcc)"] = np.abs(by_c - expected).max()

# %%
# ONNX
# ----
onnx_model = model.export("onnx")
session = onnxruntime.InferenceSession(onnx_model.SerializeToString())
given = {"X": table[["rooms", "age"]].to_numpy(), "categories": table[["town"]].astype(str).to_numpy(dtype=object)}
differences["ONNX Runtime"] = np.abs(session.run(None, given)[0].ravel() - expected).max()

# %%
# Excel
# -----
# A workbook whose cells are formulas: change a number, and the prediction changes.
model.export("excel", path=folder / "model.xlsx", X=table[:50])
print((folder / "model.xlsx").stat().st_size // 1024, "KB")

# %%
# The differences are rounding, in a price of some hundred:
fig, ax = plt.subplots(figsize=(7, 2.4), layout="constrained")
ax.barh(list(differences), [max(d, 1e-17) for d in differences.values()], color="#0072B2")
ax.set(xscale="log", xlim=(1e-17, 1e-2), xlabel="largest difference from predict, on 300 rows")
