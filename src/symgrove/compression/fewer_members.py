"""Fewer members of an ensemble."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from symgrove.compression.judging import ROWS_OF_FIT, is_new
from symgrove.compression.path import Given, ModelsOfSizes, all_say, point_of, whole_point
from symgrove.estimators.fitted import feature_names_of
from symgrove.models.ensemble import COMBINE, Ensemble, make_ensemble
from symgrove.models.front import FrontPoint
from symgrove.models.one_formula import NEW_ROWS
from symgrove.models.program_model import ProgramModel
from symgrove.models.pruning import PruningSteps, choose_members, make_folds

Matrix = NDArray[np.float64]
MOST_MEMBERS = 60  # steps of choosing members


def fewer_members(model: ProgramModel, given: Given) -> ModelsOfSizes:
    """Members chosen one after the other, with errors of cross-validation."""
    before = all_say(model, given.X)
    # What is chosen is chosen by squares: for a quantile, say, the model knows better than the target what to aim at.
    goals = given.targets if given.measure.loss is None else before
    folds = make_folds(len(given.X), given.seed)
    steps: list[PruningSteps] = []
    for ensemble, members, goal in zip(model.ensembles, model.said(given.X), goals, strict=True):
        combine = None if ensemble.is_mean else partial(_combined, ensemble)
        steps.append(choose_members(members, goal, MOST_MEMBERS, combine, folds, ensemble.weights))
    found: list[FrontPoint] = []
    known: dict[tuple[str, float, float], int] = {}
    for step in range(MOST_MEMBERS):
        chosen = [s.chosen[: step + 1] for s in steps]
        programs = [np.unique(e.program_of[c]) for e, c in zip(model.ensembles, chosen, strict=True)]
        inside, outside = (
            given.measure.error(given.targets, np.stack([said[step] for said in each]))
            for each in ([s.said for s in steps], [s.held_out for s in steps])
        )
        smaller, n_parts = _with_members(model, chosen), sum(p.size for p in programs)
        size = _size_of(smaller, feature_names_of(given.estimator), known)
        found.append(point_of(given.estimator, smaller, n_parts, inside, outside, size))
    error, n_programs = given.measure.error(given.targets, before), sum(e.programs.size for e in model.ensembles)
    found.append(whole_point(given.estimator, n_programs, error, error))
    rows = NEW_ROWS if is_new(given.estimator, given.X, given.own_targets).all() else ROWS_OF_FIT
    return ModelsOfSizes(found, rows, len(given.X))


def _size_of(model: ProgramModel, names: Sequence[str] | None, known: dict[tuple[str, float, float], int]) -> int:
    """Nodes of all members; the same members are in many models."""
    total = 0
    for member in model.members(names):
        key = member.program, member.slope, member.intercept
        if key not in known:
            known[key] = member.size
        total += known[key]
    return total


def _combined(ensemble: Ensemble, members: Matrix) -> Matrix:
    return COMBINE[ensemble.aggregation](members, ensemble.fallback, None)


def _with_members(model: ProgramModel, chosen: list[list[int]]) -> ProgramModel:
    ensembles, inside, outside = [], [], []
    for ensemble, errors, own in zip(model.ensembles, model.shown_errors(), chosen, strict=True):
        samples = np.array(own)
        roots = ensemble.programs[ensemble.program_of[samples]]
        slope, intercept = ensemble.slope[samples], ensemble.intercept[samples]
        rules = ensemble.fallback, ensemble.standardization, ensemble.aggregation, ensemble.threshold
        weights = None
        if ensemble.weights is not None:
            weights = ensemble.weights[samples] / ensemble.weights[samples].max()
        ensembles.append(make_ensemble(ensemble.forest, roots, slope, intercept, *rules, weights))
        inside.append(errors[0][samples])
        outside.append(errors[1][samples])
    return ProgramModel(tuple(ensembles), model.task, tuple(inside), tuple(outside), model.merge, model.reading)
