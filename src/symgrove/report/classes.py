"""Plots for classes: which are taken for which, and how well probabilities sort the rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import metrics

from symgrove._style import BLUE, GREEN, ORANGE, PURPLE, SKY, YELLOW, plain
from symgrove.estimators.classifier import Classifier

Matrix = NDArray[np.float64]
CLASS_COLOURS = (BLUE, ORANGE, GREEN, PURPLE, SKY, YELLOW)
MOST_CLASSES = 6  # that are drawn side by side
MOST_IN_MATRIX = 20
Plot = Callable[[Any], Any]


def plots_of_classes(model: Classifier, X: Any, y: NDArray[Any]) -> list[tuple[str, Plot, str]]:
    """Title, plot and text of each; curves of two classes are those of the second one."""
    shares = model.predict_proba(X)
    classes = model.classes_
    predicted = classes[shares.argmax(axis=1)]
    found: list[tuple[str, Plot, str]] = []
    if len(classes) <= MOST_IN_MATRIX:
        text = "Rows of the true classes, by the class that is predicted. Mistakes are off the diagonal."
        found.append(("Which class is taken for which", lambda ax: _matrix(classes, y, predicted, ax), text))
    shown = [k for k in _shown(classes, y) if 0 < np.sum(y == classes[k]) < len(y)]
    if shown:
        found += [
            (
                "Receiver operating characteristic",
                lambda ax: _roc(classes, shown, y, shares, ax),
                "Of the rows of a class, the share that is found, against false alarms among the others, as the "
                "threshold falls. AUC: 1 is perfect, 0.5 is chance.",
            ),
            (
                "Precision and recall",
                lambda ax: _precision(classes, shown, y, shares, ax),
                "Of the rows that are said to be of a class, how many are, against the share of the class that is "
                "found. AP: the mean precision.",
            ),
            (
                "Lift",
                lambda ax: _lift(classes, shown, y, shares, ax),
                "How many times as many rows of a class are among those with its highest probabilities as among all.",
            ),
        ]
    return found


def _shown(classes: NDArray[Any], y: NDArray[Any]) -> list[int]:
    if len(classes) == 2:
        return [1]
    counts = np.array([np.sum(y == label) for label in classes])
    most: list[int] = sorted(np.argsort(-counts, kind="stable")[:MOST_CLASSES].tolist())
    return most


def _matrix(classes: NDArray[Any], y: NDArray[Any], predicted: NDArray[Any], ax: Any) -> None:
    counts = metrics.confusion_matrix(y, predicted, labels=classes)
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    ax.imshow(shares, vmin=0, vmax=1, cmap="Blues")
    for i, row in enumerate(counts):
        for j, count in enumerate(row):
            ax.text(j, i, f"{count:,}", ha="center", va="center", color="white" if shares[i, j] > 0.5 else "black")
    labels = [plain(str(label), 16) for label in classes]
    ax.set_xticks(range(len(labels)), labels, rotation=30, ha="right")
    ax.set_yticks(range(len(labels)), labels)
    ax.set_xlabel("predicted")
    ax.set_ylabel("true")


def _lines(classes: NDArray[Any], shown: list[int], y: NDArray[Any], shares: Matrix) -> Any:
    """For each class that is shown: whether rows are of it, their probabilities, a colour and a label."""
    for place, k in enumerate(shown):
        yield y == classes[k], shares[:, k], CLASS_COLOURS[place], plain(str(classes[k]), 16)


def _roc(classes: NDArray[Any], shown: list[int], y: NDArray[Any], shares: Matrix, ax: Any) -> None:
    ax.plot([0, 1], [0, 1], color="grey", linewidth=0.8)
    for is_own, share, colour, label in _lines(classes, shown, y, shares):
        alarms, recall, _ = metrics.roc_curve(is_own, share)
        ax.plot(alarms, recall, color=colour, label=f"{label}: AUC {metrics.auc(alarms, recall):.3f}")
    ax.set_xlabel("false alarms")
    ax.set_ylabel("found")
    ax.legend(frameon=False, fontsize="small", loc="lower right")


def _precision(classes: NDArray[Any], shown: list[int], y: NDArray[Any], shares: Matrix, ax: Any) -> None:
    for is_own, share, colour, label in _lines(classes, shown, y, shares):
        precision, recall, _ = metrics.precision_recall_curve(is_own, share)
        mean = metrics.average_precision_score(is_own, share)
        ax.step(recall, precision, where="post", color=colour, label=f"{label}: AP {mean:.3f}")
        ax.axhline(is_own.mean(), color=colour, linewidth=0.8, linestyle=":")
    ax.set_xlabel("recall: share that is found")
    ax.set_ylabel("precision")
    ax.set_ylim(0, 1.05)
    ax.legend(frameon=False, fontsize="small", loc="lower left")


def _lift(classes: NDArray[Any], shown: list[int], y: NDArray[Any], shares: Matrix, ax: Any) -> None:
    ax.axhline(1, color="grey", linewidth=0.8)
    for is_own, share, colour, label in _lines(classes, shown, y, shares):
        depth, lift = lift_curve(is_own, share)
        ax.plot(depth, lift, color=colour, label=label)
    ax.set_xlabel("share of the rows, highest probability first")
    ax.set_ylabel("lift")
    ax.set_ylim(bottom=0)
    ax.legend(frameon=False, fontsize="small", loc="upper right")


def lift_curve(is_own: NDArray[np.bool_], share: Matrix) -> tuple[Matrix, Matrix]:
    """Depths, and how much more frequent a class is down to them than in all rows; equal ones come together."""
    order = np.argsort(-share, kind="stable")
    ends = np.flatnonzero(np.append(np.diff(share[order]) != 0, True)) + 1
    found = np.cumsum(is_own[order])[ends - 1]
    return ends / len(share), found / ends / is_own.mean()
