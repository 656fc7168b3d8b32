"""Code that fits the same model again: Python, and a command where names of columns allow one."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from typing import Any

from symgrove.studio.settings import RunSettings

ESTIMATORS = {
    ("law", "regression"): "LawRegressor",
    ("grove", "regression"): "GroveRegressor",
    ("grove", "classification"): "GroveClassifier",
    ("2segp", "regression"): "TwoSEGPRegressor",
    ("2segp", "classification"): "TwoSEGPClassifier",
}
KEPT_OUT = 0.2  # of the rows, if some are
READERS = {"csv": "read_csv", "tsv": "read_csv", "parquet": "read_parquet", "xlsx": "read_excel"}


def parameters_of(settings: RunSettings) -> dict[str, Any]:
    """Of the estimator of a run."""
    own: dict[str, Any] = {"max_time": settings.seconds, "random_state": settings.seed}
    if settings.goal != "law":
        own["generations"] = settings.generations
    if settings.keeps_out:
        own["calibration"] = KEPT_OUT
    return own


def python_code(settings: RunSettings, data: str, kind: str, separator: str, odd: Sequence[str] = ()) -> str:
    """A script; `odd` are columns whose texts `symgrove` reads as numbers or dates, and pandas does not."""
    own = parameters_of(settings)
    if settings.categorical:
        own["categorical_features"] = [*settings.categorical]
    given = ", ".join(f"{name}={_written(value)}" for name, value in own.items())
    name = ESTIMATORS[settings.goal, settings.task]
    options = f", sep={_written(separator)}" if kind in ("csv", "tsv") and separator != "," else ""
    lines = [
        "import pandas as pd",
        "import symgrove as sg",
        "",
        f"table = pd.{READERS[kind]}({_written(data)}{options})",
        "table.columns = [str(name).strip() for name in table.columns]" if kind != "parquet" else "",
        f"table = table[table[{_written(settings.target)}].notna()]",
        f"X = table[{_written([*settings.features])}]",
        f"y = table[{_written(settings.target)}]",
        f"model = sg.{name}({given}).fit(X, y)",
        'print(model.formula("text", 4))' if settings.goal == "law" else "print(model)",
        'model.save("model.json")',
    ]
    if odd:
        listed = ", ".join(map(_written, odd))
        lines.insert(4, f"# The studio and the command line read these as numbers or dates; pandas does not: {listed}")
    return "\n".join(line for i, line in enumerate(lines) if line or i == 2) + "\n"


def command(settings: RunSettings, data: str) -> str | None:
    """The same from a shell; None if a name of a column has a comma, which separates names there."""
    if any("," in name or name != name.strip() for name in (settings.target, *settings.features)):
        return None
    words = [
        "symgrove",
        "fit",
        _operand(data),
        f"--target={settings.target}",
        f"--features={','.join(settings.features)}",
    ]
    words += [f"--method={settings.goal}", f"--task={settings.task}", f"--max-time={settings.seconds:g}"]
    if settings.goal != "law":
        words.append(f"--generations={settings.generations}")
    if settings.keeps_out:
        words.append(f"--calibration={KEPT_OUT}")
    if settings.categorical:
        words.append(f"--categorical-features={','.join(settings.categorical)}")
    return shlex.join([*words, f"--seed={settings.seed}", "-o", "model.json"])


def _operand(data: str) -> str:
    return f"./{data}" if data.startswith("-") else data


def _written(value: Any) -> str:
    """As Python has it, with double quotes."""
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=not value.isprintable())
    if isinstance(value, list):
        return f"[{', '.join(map(_written, value))}]"
    return repr(int(value) if isinstance(value, float) and value.is_integer() else value)
