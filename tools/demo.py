"""`make demo`: train on two data sets that come with scikit-learn and print what was found.

A Friedman problem (regression) and the paper's breast cancer data (classification), each against a linear model and a
random forest.
"""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer, make_friedman1
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from symgrove import GroveClassifier, GroveRegressor, TwoSEGPClassifier, TwoSEGPRegressor

FOLDER = Path("build")


def compare(title, models, X, y):  # type: ignore[no-untyped-def]
    """Fit all models on the same split and print their scores; returns the first, which is ours."""
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.3, random_state=0)
    print(f"\n{title}: {len(X_train)} training rows, {X.shape[1]} features")
    print(f"  {'':24} {'in sample':>10} {'out of sample':>14} {'seconds':>8}")
    for name, model in models.items():
        start = time.perf_counter()
        model.fit(X_train, y_train)
        seconds = time.perf_counter() - start
        print(f"  {name:24} {model.score(X_train, y_train):10.3f} {model.score(X_test, y_test):14.3f} {seconds:8.1f}")
    return next(iter(models.values()))


def show(model, n_shown=3):  # type: ignore[no-untyped-def]
    """Print the shortest members."""
    members = sorted(model.ensemble_, key=lambda member: len(member.formula))
    print(f"  {len(members)} distinct members; the {n_shown} shortest:")
    for member in members[:n_shown]:
        formula = member.rounded()
        formula = formula if len(formula) <= 300 else formula[:297] + "..."
        print(f"    {member.weight:4.0%}  {formula}")


def main() -> None:
    """Train, compare, show, save."""
    X, y = make_friedman1(600, noise=1.0, random_state=0)
    regressor = compare(
        "Friedman 1 (R²)",
        {
            "symgrove 2SEGP": TwoSEGPRegressor(random_state=0, verbose=1),
            "symgrove Grove": GroveRegressor(random_state=0, verbose=1),
            "linear regression": LinearRegression(),
            "random forest": RandomForestRegressor(random_state=0),
        },
        X,
        y,
    )
    show(regressor)
    cancer = load_breast_cancer(as_frame=True)
    classifier = compare(
        "Breast cancer (accuracy)",
        {
            "symgrove 2SEGP": TwoSEGPClassifier(random_state=0, max_size=30, verbose=1),
            "symgrove Grove": GroveClassifier(random_state=0, verbose=1),
            "logistic regression": make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)),
            "random forest": RandomForestClassifier(random_state=0),
        },
        cancer.data,
        cancer.target,
    )
    show(classifier)
    FOLDER.mkdir(exist_ok=True)
    regressor.save(FOLDER / "demo-friedman.json")
    classifier.save(FOLDER / "demo-cancer.json")
    print(f"\nThe models are in {FOLDER / 'demo-friedman.json'} and {FOLDER / 'demo-cancer.json'}.")
    header = ",".join([*(f"x{i}" for i in range(X.shape[1])), "y"])
    np.savetxt(FOLDER / "friedman.csv", np.column_stack([X, y]), delimiter=",", header=header, comments="", fmt="%.6g")


main()
