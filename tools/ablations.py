"""`make ablations`: what each choice in Grove is worth, by changing one at a time.

Splits have seeds from 100 on: results are judged on 0 to 39, so nothing is tuned on those. Data: the paper's nine sets,
Friedman's three problems with noise, and the sets that come with scikit-learn. The strength is fixed, so that one
evolution is measured and not the choice among several. Rows go to docs/results/ablations.jsonl; those that are there
are not made again. Then docs/ablations.md is written from them.

Arguments: processes, 1 by default; splits, 10 by default; names of variants, all by default. `0` processes: only write
the page.
"""

from __future__ import annotations

import hashlib
import json
import sys
import time
import warnings
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from sklearn import datasets
from sklearn.decomposition import PCA
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import FunctionTransformer, PowerTransformer, QuantileTransformer, StandardScaler

from symgrove import GroveClassifier, GroveRegressor
from symgrove.experiments.datasets import KNOWN, load
from symgrove.experiments.runner import append_row, circumstances, only_process
from symgrove.methods.grove.configuration import GroveConfiguration

DOCS = Path(__file__).parent.parent / "docs"
ROWS, PAGE = DOCS / "results" / "ablations.jsonl", DOCS / "ablations.md"
FIRST_SPLIT = 100
CLEAR = 2.5  # standard errors
REGRESSION = ("asn", "ccs", "enc", "enh", "friedman1", "friedman2", "friedman3", "diabetes")
CLASSIFICATION = ("bcw", "heart", "iono", "sonar", "wine", "iris", "parks", "digits")
# Larger data with clear classes want the rules of the stronger evolution. Fewer teams and generations, to save time.
STRONG = {"window": 250, "max_terms": 100, "max_size": 25, "ridge": 1e-3, "n_estimators": 20, "generations": 50}
BASES = {"parks": STRONG, "digits": STRONG}
# Parts of the configuration that choose the strength, which is fixed here.
OF_STRENGTH = ("early_snapshots", "second", "folds", "share_of_main")

Configure = Callable[[GroveConfiguration], GroveConfiguration]


class Variant(NamedTuple):
    """One change: parameters (a function is applied to the default), the configuration, steps before Grove.

    `sets` are the data sets that it is tried on.
    """

    text: str
    parameters: Mapping[str, Any] = MappingProxyType({})
    configure: Configure = lambda own: own
    before: Callable[[], Any] | None = None
    sets: Sequence[str] = (*REGRESSION, *CLASSIFICATION)


def times(factor: float) -> Callable[[Any], Any]:
    """A parameter multiplied; whole numbers stay whole."""
    return lambda value: type(value)(factor * value)


def candidates(**changes: Any) -> Configure:
    """Candidates made or told apart in another way."""
    return lambda own: replace(own, candidates=replace(own.candidates, **changes))


def quantiles() -> Any:
    """Features as shares of the training rows below them."""
    return QuantileTransformer(n_quantiles=100, random_state=0)


def with_components() -> Any:
    """Five principal components beside the features."""
    components = make_pipeline(StandardScaler(), PCA(5, random_state=0))
    return make_union(FunctionTransformer(), components)


WIDE = ("bcw", "iono", "sonar", "wine", "diabetes")
VARIANTS = {
    "default": Variant("the default"),
    "again": Variant("the same, other random numbers", {"random_state": 1}),
    "one-population": Variant("one population instead of five", {"n_populations": 1}),
    "one-longer": Variant("one population, twice the generations", {"n_populations": 1, "generations": times(2)}),
    "ten-populations": Variant("ten populations", {"n_populations": 10}),
    "longer": Variant("twice the generations", {"generations": times(2)}),
    "shorter": Variant("half the generations", {"generations": times(0.5)}),
    "more-teams": Variant("twice the teams", {"n_estimators": times(2)}),
    "bootstrap": Variant("bootstrap samples instead of 80 % of the rows", {"sampling": "bootstrap"}),
    "less-ridge": Variant("ridge / 3", {"ridge": times(1 / 3)}),
    "more-ridge": Variant("ridge × 3", {"ridge": times(3.0)}),
    "fewer-terms": Variant("half the terms", {"max_terms": times(0.5)}),
    "more-terms": Variant("1.5 times the terms", {"max_terms": times(1.5)}),
    "smaller": Variant("formulas of 60 % of the size", {"max_size": times(0.6)}),
    "larger": Variant("formulas of 1.5 times the size", {"max_size": times(1.5)}),
    "small-window": Variant("40 % of the window", {"window": times(0.4)}),
    "large-window": Variant("twice the window", {"window": times(2)}),
    "one-joins": Variant("one joins a team in a generation instead of two", {"n_joining": 1}),
    "three-join": Variant("three join", {"n_joining": 3}),
    "plain-mean": Variant("plain mean of the teams", {"aggregation": "mean"}, sets=REGRESSION),
    "no-clips": Variant("no clips", {"clip": False}),
    "no-steps": Variant(
        "without step, max, min", {"functions": ("add", "sub", "mul", "aq", "sqrt", "log1p")}, sets=REGRESSION
    ),
    "polynomials": Variant("only +, −, ×", {"functions": ("add", "sub", "mul")}, sets=REGRESSION),
    "more-constants": Variant("share of constants 0.3", configure=candidates(share_of_constants=0.3)),
    "normal-constants": Variant("no constants from the data", configure=candidates(n_data_values=0)),
    "height-1": Variant("new branches of height 1", configure=candidates(tree_height=1)),
    "height-3": Variant("new branches of height 3", configure=candidates(tree_height=3)),
    "more-perturbation": Variant(
        "perturbation 0.35 instead of 0.20", configure=candidates(shares=(0.24, 0.16, 0.35, 0.13, 0.08, 0.04))
    ),
    "no-crossover": Variant("no crossover", configure=candidates(shares=(0.0, 0.3, 0.3, 0.2, 0.15, 0.05))),
    "nearly-constant-3": Variant("nearly constant: below 1e-3", configure=candidates(nearly_constant=1e-3)),
    "digits-3": Variant("equal to 3 digits: duplicates", configure=candidates(digits=(3, 3))),
    "quantiles": Variant("features as quantiles", before=quantiles),
    "power": Variant("features after Yeo and Johnson", before=PowerTransformer),
    "components": Variant("five principal components more", before=with_components, sets=WIDE),
}


def problem(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Features and target."""
    if name in KNOWN:
        data = load(name)
        return data.X, data.y
    if name.startswith("friedman"):
        noise = {"friedman1": 1.0, "friedman2": 100.0, "friedman3": 0.1}[name]
        return getattr(datasets, f"make_{name}")(300, noise=noise, random_state=0)
    return getattr(datasets, f"load_{name}")(return_X_y=True)


def model_of(variant: Variant, name: str, split: int) -> Any:
    """The estimator, with the steps before it."""
    base = GroveRegressor if name in REGRESSION else GroveClassifier
    kind: Any = type(base.__name__, (base,), {"configuration": variant.configure(base.configuration)})
    settings = {**kind().get_params(), **BASES.get(name, {})}
    changed = {k: v(settings[k]) if callable(v) else v for k, v in variant.parameters.items()}
    seed = 1000 * changed.pop("random_state", 0) + split
    model = kind(**{**settings, **changed, "strength": "fixed", "random_state": seed, "n_jobs": 1})
    return make_pipeline(variant.before(), model) if variant.before else model


def digest_of(key: str, name: str, split: int) -> str:
    """Of all that a run's result depends on but the code: rows of other settings or defaults are not read."""
    variant = VARIANTS[key]
    model = model_of(variant, name, split)
    grove = model[-1] if variant.before else model
    numbers = {k: v for k, v in asdict(grove.configuration).items() if k not in OF_STRENGTH}
    before = variant.before.__name__ if variant.before else ""
    text = repr((sorted(grove.get_params().items()), sorted(numbers.items()), before))
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def measure(key: str, name: str, split: int) -> dict[str, Any]:
    """Root mean squared error, or accuracy and mean of minus the logarithm of the probability, on the test rows."""
    variant = VARIANTS[key]
    X, y = problem(name)
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.3, random_state=split)
    row: dict[str, Any] = {"variant": key, "dataset": name, "split": split, "digest": digest_of(key, name, split)}
    row["commit"] = circumstances()["commit"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        start = time.perf_counter()
        model = model_of(variant, name, split).fit(X, y)
        row["seconds"] = round(time.perf_counter() - start, 2)
        if name in REGRESSION:
            return {**row, "error": float(np.sqrt(np.mean((model.predict(X_test) - y_test) ** 2)))}
        shares = model.predict_proba(X_test)[np.arange(len(y_test)), np.searchsorted(model.classes_, y_test)]
    loss = float(-np.log(np.clip(shares, 0.01, 0.99)).mean())
    return {**row, "accuracy": float(model.score(X_test, y_test)), "loss": loss}


# The page

INTRODUCTION = """\
# What each choice in Grove is worth

Made by `make ablations` from results/ablations.jsonl: one change at a time, on {n_splits} splits with seeds from
{first} on (results are judged on 0 to 39), at fixed strength. The default was run twice; the first line compares its
two runs and shows what means nothing, the others are compared with the mean of the two, split by split. Bold: beyond
{clear} standard errors, which count splits as independent and are too small for that. With so many cells, some are
bold by chance; defaults had been chosen on some of these splits, which favours them. =: nothing changes there, and it
does not count in the mean. Empty: not tried there. Parks and digits have the rules of the stronger evolution, 20
teams and 50 generations.
"""


def comparison(rows: dict[tuple[str, str, int], dict[str, Any]], key: str, name: str, what: str) -> tuple[float, float]:
    """Mean change against the default, split by split, with its standard error: percent, or points of accuracy."""
    baseline = ("default",) if key == "again" else ("default", "again")
    splits = [s for v, d, s in rows if (v, d) == (key, name) and all((b, name, s) in rows for b in baseline)]
    if len(splits) < 2:
        return np.nan, np.nan
    if all(_same(rows[key, name, s], rows["default", name, s]) for s in splits):
        return 0.0, 0.0
    found = 100 * np.array([[rows[v, name, s][what] for s in splits] for v in (key, *baseline)])
    new, *old = found if what == "accuracy" else 100 * np.log(found)
    change = new - np.mean(old, axis=0)
    return float(change.mean()), float(change.std(ddof=1) / np.sqrt(len(splits)))


def _same(row: dict[str, Any], other: dict[str, Any]) -> bool:
    return all(row.get(what) == other.get(what) for what in ("error", "loss"))


def table(rows: dict[tuple[str, str, int], dict[str, Any]], names: Sequence[str], what: str) -> list[str]:
    """A line for each variant that was tried, in Markdown."""
    lines = [f"| | {' | '.join(names)} | mean |", f"|---|{'---|' * len(names)}---|"]
    for key, variant in VARIANTS.items():
        found = np.array([comparison(rows, key, name, what) for name in names])
        if key == "default" or np.isnan(found).all():
            continue
        cells = ["" if np.isnan(m) else shown(m, e, what) for m, e in found]
        known = found[found[:, 1] > 0]
        error = float(np.sqrt((known[:, 1] ** 2).sum())) / max(len(known), 1)
        mean = f"{shown(known[:, 0].mean(), error, what)} ± {error:.1f}" if len(known) else "="
        lines.append(f"| {variant.text} | {' | '.join(cells)} | {mean} |")
    return lines


def shown(mean: float, error: float, what: str) -> str:
    """A change, bold if it is clear; = if nothing changed, because the change does not matter there."""
    if not error:
        return "="
    change = mean if what == "accuracy" else 100 * np.expm1(mean / 100)
    text = f"{change:+.1f}".replace("-", "−")
    return f"**{text}**" if abs(mean) > CLEAR * error else text


def default_line(rows: dict[tuple[str, str, int], dict[str, Any]], names: Sequence[str], what: str) -> str:
    """What the default reaches."""
    means = defaultdict(list)
    for (key, name, _), row in rows.items():
        if key == "default" and what in row:
            means[name].append(row[what])
    return ", ".join(f"{name} {np.mean(means[name]):.4g}" for name in names if means[name])


def write_page(rows: dict[tuple[str, str, int], dict[str, Any]]) -> str:
    """docs/ablations.md from the rows."""
    n_splits = len({split for _, _, split in rows})
    return "\n".join(
        [
            INTRODUCTION.format(n_splits=n_splits, first=FIRST_SPLIT, clear=CLEAR),
            "## Regression: change of the test error in percent",
            "",
            f"The default's mean error: {default_line(rows, REGRESSION, 'error')}.",
            "",
            *table(rows, REGRESSION, "error"),
            "",
            "## Classification: change of the accuracy in points",
            "",
            f"The default's mean accuracy: {default_line(rows, CLASSIFICATION, 'accuracy')}.",
            "",
            *table(rows, CLASSIFICATION, "accuracy"),
            "",
            "## Classification: change of the loss in percent",
            "",
            "Loss: mean of minus the logarithm of the label's probability. The default's mean:",
            f"{default_line(rows, CLASSIFICATION, 'loss')}.",
            "",
            *table(rows, CLASSIFICATION, "loss"),
            "",
        ]
    )


def read_rows() -> dict[tuple[str, str, int], dict[str, Any]]:
    """Rows by variant, data set and split, of the settings that are now the default."""
    text = ROWS.read_text(encoding="utf-8") if ROWS.exists() else ""
    *lines, _ = text.split("\n")  # what comes after the last line end was cut off
    found = {(row["variant"], row["dataset"], row["split"]): row for row in map(json.loads, lines)}
    return {run: row for run, row in found.items() if run[0] in VARIANTS and row["digest"] == digest_of(*run)}


def main(n_jobs: int, n_splits: int, keys: Sequence[str]) -> None:
    """Make what is missing, then the page."""
    unknown = set(keys) - set(VARIANTS)
    if unknown:
        raise SystemExit(f"unknown variants {', '.join(sorted(unknown))}; known are {', '.join(VARIANTS)}.")
    rows = read_rows()
    splits = range(FIRST_SPLIT, FIRST_SPLIT + n_splits)
    wanted = [(key, name, split) for key in keys or VARIANTS for name in VARIANTS[key].sets for split in splits]
    missing = [run for run in wanted if run not in rows] if n_jobs else []
    missing.sort(key=lambda run: (run[1] == "digits", run[1] == "parks"))  # what takes longest comes last
    if missing:
        parallel = Parallel(n_jobs=n_jobs, return_as="generator_unordered")
        with only_process(ROWS.parent):
            for n_done, row in enumerate(parallel(delayed(measure)(*run) for run in missing), start=1):
                append_row(ROWS, row)
                print(f"\r{n_done} of {len(missing)}", end="", file=sys.stderr, flush=True)
        print(file=sys.stderr)
    PAGE.write_text(write_page(read_rows()), encoding="utf-8")
    print(f"written: {PAGE}")


if __name__ == "__main__":
    numbers = [int(argument) for argument in sys.argv[1:3]]
    main(numbers[0] if numbers else 1, numbers[1] if numbers[1:] else 10, sys.argv[3:])
