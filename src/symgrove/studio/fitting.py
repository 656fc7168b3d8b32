"""A run: one fit that is watched, and what it leaves in its folder."""

from __future__ import annotations

import _thread
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from symgrove.compression.one_formula import one_formula
from symgrove.estimators.base import Estimator
from symgrove.estimators.fitted import feature_names_of, fronts_of
from symgrove.estimators.input import columns_of
from symgrove.evolution.watching import watched_by
from symgrove.models.document import Document
from symgrove.models.table_frame import TableFrame
from symgrove.studio.code import ESTIMATORS, parameters_of
from symgrove.studio.events import EventLog
from symgrove.studio.folder import write_json
from symgrove.studio.recorder import Heart, Recorder
from symgrove.studio.results import result_of
from symgrove.studio.settings import RunSettings
from symgrove.studio.snapshots import ShownRows, Snapshots

MOST_ROWS = 500  # that errors of formulas on the way are of


class GivenTable(NamedTuple):
    """ShownRows to fit on, as `symgrove fit` prepares them; `told` is what the model remembers of the table."""

    X: TableFrame
    y: Any
    categorical: list[str]
    told: Document
    notes: list[str]


def run_fit(folder: Path, settings: RunSettings, given: GivenTable, log: EventLog, before: float) -> None:
    """Fit, and write events, the model and what is known of it; `before` are the seconds that the run has had.

    A byte more in the file `stop` is what Ctrl-C is: the first leaves a model, the second, to give up, none.
    """
    estimator = _estimator(folder, settings, given)
    recorder = Recorder(
        log, Snapshots(_some(given), lambda: columns_of(estimator), lambda: feature_names_of(estimator)), before
    )
    classes = [str(label) for label in np.unique(given.y)] if settings.task == "classification" else None
    log.write("begin", rows=len(given.X), classes=classes, seconds=before, notes=given.notes)
    stop = _StopRequests(folder / "stop")
    with Heart(lambda: log.write("beat", seconds=round(recorder.seconds, 2)), stop.check):
        with watched_by(recorder):
            estimator.fit(given.X, given.y)
        seconds = recorder.seconds
        fronts = fronts_of(estimator)
        formulas = recorder.show(fronts[0] if fronts else estimator.model_)
        estimator.table_ = given.told
        log.write("step", what="one formula" if settings.goal != "law" else "the model", seconds=round(seconds, 2))
        estimator.save(folder / "model.json")  # whatever happens to the rest
        why_not = _find_one_formula(estimator, given) if settings.goal != "law" else "rows"
        estimator.save(folder / "model.json")
        write_json(folder / "result.json", result_of(estimator, seconds, formulas, given.notes, why_not))
    is_stopped = estimator.stop_reason_ == "interrupted"
    log.write(
        "end", reason="stopped" if is_stopped else "finished", by=estimator.stop_reason_, seconds=round(seconds, 2)
    )


def _estimator(folder: Path, settings: RunSettings, given: GivenTable) -> Estimator:
    own = parameters_of(settings)
    if given.categorical:
        own["categorical_features"] = given.categorical
    if settings.goal != "law":
        own |= {"checkpoint": folder / "checkpoint.npz", "n_jobs": -1}
    made: Estimator = getattr(import_module("symgrove"), ESTIMATORS[settings.goal, settings.task])(**own)
    return made


def _some(given: GivenTable) -> ShownRows:
    """ShownRows to look at, always the same."""
    places = np.random.default_rng(0).permutation(len(given.X))[:MOST_ROWS]
    y = np.asarray(given.y)[places]
    targets = y if y.dtype.kind == "f" else np.searchsorted(np.unique(given.y), y)
    return ShownRows(given.X.take(places.tolist()), targets.astype(np.float64))


def _find_one_formula(estimator: Estimator, given: GivenTable) -> str:
    """Have the model know it, or say why there is none."""
    try:
        found = one_formula(estimator, given.X, given.y)
    except KeyboardInterrupt:
        return "stopped"
    if found is None:
        return "rows" if len(given.X) < 10 else "nothing"
    estimator.one_formula_ = found
    return "nothing"


class _StopRequests:
    """Passes requests on to the main thread, as Ctrl-C."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._n_passed = 0

    def check(self) -> None:
        try:
            n_requests = self._file.stat().st_size
        except OSError:
            return
        if n_requests > self._n_passed:
            self._n_passed += 1
            _thread.interrupt_main()
