"""Independent runs: a classic evolution on each bootstrap sample, averaged or voted (the paper's SIEL-App).

    for each of n_estimators bootstrap samples, in parallel:
        the best program of a classic GP that sees only this sample
    the ensemble is these programs

Member j depends on the seed and on j alone, so the first members of a larger ensemble are the smaller one.
"""

from __future__ import annotations

import math
import os
import tempfile
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from symgrove._checks import LARGEST_TOURNAMENT, check_flag, check_whole
from symgrove.evolution import checkpoint as checkpoints
from symgrove.evolution.interrupt import StopOnFile, StopOnInterrupt, ignoring_interrupts_outside
from symgrove.fitness.bootstrap import bootstrap_sample
from symgrove.methods._callbacks import has_callbacks, tell_callbacks
from symgrove.methods._documentation import document
from symgrove.methods._estimator import generation_of
from symgrove.methods._faces import EnsembleClassifier, EnsembleRegressor
from symgrove.methods._gp import Material, gp_arguments
from symgrove.methods._parameters import EnsembleParameters
from symgrove.methods._program_ensemble import ProgramEnsemble
from symgrove.methods._run import Found, Job, Outcome, Saved, n_workers, run
from symgrove.methods.two_segp import TwoSEGP
from symgrove.models.ensemble import join_ensembles
from symgrove.selection.named import Tournament

# The paper's example of equation 3 assumes programs of so many nodes, and populations of at least so many programs.
TYPICAL_SIZE = 100
SMALLEST_POPULATION = 100


class Budget(NamedTuple):
    """Population and generations of one evolution."""

    population_size: int
    generations: int


def matched_budget(n_estimators: int, population_size: int, generations: int) -> Budget:
    """What each evolution may cost, so that all together cost as much as one of 2SEGP (equation 3 of the paper).

    In 2SEGP a program costs its size plus one for each sample, instead of its size once for each sample.
    """
    share = (TYPICAL_SIZE + n_estimators) / (n_estimators * TYPICAL_SIZE)
    n_programs = int(population_size * generations * share)
    fewer = max(1, min(generations, n_programs // min(SMALLEST_POPULATION, population_size)))
    return Budget(max(2, n_programs // fewer), fewer)


@dataclass(kw_only=True, eq=False, repr=False)
class _IndependentGPParameters(EnsembleParameters, ProgramEnsemble):
    n_estimators: int = 10
    tournament_size: int = 8
    match_budget: bool = False

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_whole("tournament_size", self.tournament_size, 1, LARGEST_TOURNAMENT)
        check_flag("match_budget", self.match_budget)

    def _make_part(self, material: Material) -> TwoSEGP:
        counts = bootstrap_sample(material.engine.data.n_rows, material.sample_seed, material.member)
        own = material.engine.prepare(counts[None, :], material.weight)
        select = Tournament(self.tournament_size)
        return TwoSEGP(samples=own, whole=own, select=select, **gp_arguments(self, material))

    def _n_engine_threads(self) -> int:
        return 1

    def _shows_generations(self) -> bool:
        return False

    def _budget(self) -> Budget:
        """What each evolution gets."""
        budget = Budget(self.population_size, self.generations)
        return matched_budget(self.n_estimators, *budget) if self.match_budget else budget

    def _identity(self) -> dict[str, Any]:
        # With a matched budget, other generations mean another population: another run.
        return {**super()._identity(), "budget": list(self._budget()) if self.match_budget else []}

    def _evolve(self, job: Job, interrupt: StopOnInterrupt, given: tuple[Any, Any]) -> Outcome:
        budget = self._budget()
        # A new object, because fitted attributes would travel with this one.
        plain = type(self)(**{**self.get_params(deep=False), "population_size": budget.population_size})
        jobs = self._share(job._replace(generations=budget.generations))
        with ExitStack() as stack:
            if has_callbacks(self):  # told of the fit as a whole; generations pass in other processes
                stack.enter_context(tell_callbacks(self, *given, lambda state: {}))
            stop = StopOnFile(Path(stack.enter_context(tempfile.TemporaryDirectory())) / "stop")
            stack.enter_context(interrupt.requesting_with(stop.file))
            workers = Parallel(n_jobs=self._n_at_once(), verbose=10 if self.verbose else 0)
            try:
                found = workers(delayed(_evolve_member)(plain, own, stop, os.getpid()) for own in jobs)
            except Exception:
                if not interrupt.is_requested:
                    raise
                # Ctrl-C also reaches workers that are still starting, and kills them: begin one member here.
                found = [_evolve_member(plain, jobs[0], stop, os.getpid()), *([None] * (len(jobs) - 1))]
        outcomes: list[Outcome] = [outcome for outcome in found if outcome is not None]
        self.population_size_, self.generations_ = budget
        joined = _join(outcomes, [own.member for own, o in zip(jobs, found, strict=True) if o is not None])
        if self.checkpoint is not None:
            meta = {"fingerprint": job.mark, "seed": job.seed}
            if checkpoints.save_or_warn(self.checkpoint, joined.arrays, meta):
                for own in jobs:
                    assert own.checkpoint is not None
                    Path(own.checkpoint).unlink(missing_ok=True)
        return joined

    def _share(self, job: Job) -> list[Job]:
        """A job for each member; time and evaluations are divided."""
        n, n_at_once = self.n_estimators, self._n_at_once()
        shared = job._replace(
            kept_out=None,
            max_time=None if job.max_time is None else job.max_time / math.ceil(n / n_at_once),
            max_evaluations=None if job.max_evaluations is None else max(1, job.max_evaluations // n),
        )
        return [
            shared._replace(member=j, saved=_part_of(job.saved, j), checkpoint=self._member_checkpoint(j))
            for j in range(n)
        ]

    def _n_at_once(self) -> int:
        """Evolutions at the same time."""
        return min(n_workers(self.n_jobs), self.n_estimators)

    def _member_checkpoint(self, j: int) -> Path | None:
        """Where member j is saved until all are done."""
        return None if self.checkpoint is None else Path(f"{os.fspath(self.checkpoint)}.{j}")

    def _load_checkpoint(self, mark: str) -> Saved | None:
        """All members' runs, from the file of a complete run and from those that a run under way has left."""
        stored = super()._load_checkpoint(mark)
        for j in range(self.n_estimators):
            file = self._member_checkpoint(j)
            assert file is not None
            own = checkpoints.load(file, mark)
            if own is not None:
                arrays, meta = stored or ({}, own[1])
                known = _part_of(stored, j)
                if known is None or generation_of(own) > generation_of(known):
                    arrays = arrays | {f"{j}/{name}": array for name, array in own[0].items()}
                stored = arrays, meta
        return stored


def _evolve_member(estimator: ProgramEnsemble, job: Job, stop: StopOnFile, process: int) -> Outcome | None:
    """One evolution, maybe in another process; None if a stop was requested before it began."""
    if job.member > 0 and stop.is_requested:
        return None
    with ignoring_interrupts_outside(process):
        estimator._warm_up()
        return run(estimator, job, stop)


def _part_of(saved: Saved | None, j: int) -> Saved | None:
    """The saved run of member j."""
    if saved is None:
        return None
    prefix = f"{j}/"
    arrays = {name.removeprefix(prefix): a for name, a in saved[0].items() if name.startswith(prefix)}
    return (arrays, saved[1]) if arrays else None


def _join(outcomes: Sequence[Outcome], members: Sequence[int]) -> Outcome:
    """What all members leave, as one."""
    targets = range(len(outcomes[0].found.ensembles))
    reasons = Counter(o.reason for o in outcomes)
    del reasons["generations"]
    return Outcome(
        found=Found(
            ensembles=[join_ensembles([o.found.ensembles[k] for o in outcomes]) for k in targets],
            in_bag=[np.concatenate([o.found.in_bag[k] for o in outcomes]) for k in targets],
            outside=[np.concatenate([o.found.outside[k] for o in outcomes]) for k in targets],
            smaller=[],
        ),
        history=_join_histories([o.history for o in outcomes]),
        arrays={f"{j}/{name}": a for j, o in zip(members, outcomes, strict=True) for name, a in o.arrays.items()},
        reason=reasons.most_common(1)[0][0] if reasons else "generations",
        n_generations=max(o.n_generations for o in outcomes),
    )


def _join_histories(histories: Sequence[dict[str, NDArray[Any]]]) -> dict[str, NDArray[Any]]:
    """One history of all members; a member that ended early stays as it was."""
    length = max(len(h["generation"]) for h in histories)
    shapes = {name: column.shape[1:] for h in histories for name, column in h.items()}
    joined: dict[str, NDArray[Any]] = {}
    for name, shape in shapes.items():
        columns = [
            h[name][np.minimum(np.arange(length), len(h[name]) - 1)]
            if name in h and h[name].shape[1:] == shape
            else np.full((length, *shape), np.nan)
            for h in histories
        ]
        if name == "errors":
            joined[name] = np.concatenate(columns, axis=-1)
        elif name == "generation":
            joined[name] = np.max(columns, axis=0)
        elif name in ("mean_size", "max_size"):
            joined[name] = np.max(columns, axis=0) if name == "max_size" else np.mean(columns, axis=0)
        elif name in ("n_evaluations", "n_distinct", "n_elites", "seconds"):
            joined[name] = np.sum(columns, axis=0)
        else:  # what callbacks have added
            joined[name] = np.stack(columns, axis=-1)
    return joined


_TEXT = (
    "`n_estimators` separate evolutions of classic GP, each on its own bootstrap sample, run in parallel through "
    "joblib with whatever backend is set; their best programs are the ensemble. This is what 2SEGP does in one "
    "evolution, at `n_estimators` times the cost."
)
_OWN = {
    "n_estimators": ("int", "Evolutions, and so members."),
    "population_size": ("int", "Programs in each population."),
    "generations": ("int", "Generations of each evolution in total, also with `warm_start`."),
    "match_budget": (
        "bool",
        "Shrink each evolution so that all together cost about as much as one of 2SEGP with this population, these "
        "generations and this many members (equation 3 of the paper, programs of 100 nodes): 50 members of 500 x 100 "
        "get 100 x 15 each, 5 members 105 x 100.",
    ),
    "max_time": (
        "float, optional",
        "Seconds for all evolutions; each gets its share. Compiling is not counted, and initial populations are always "
        "scored.",
    ),
    "max_evaluations": ("int, optional", "Programs to make and score, divided among the evolutions."),
    "target_error": ("float, optional", "An evolution stops once the error of its best program is this low."),
    "early_stopping": (
        "bool",
        "Hold `validation_fraction` of the rows out of all evolutions; each stops after `n_generations_no_change` "
        "generations without improvement on them, and gives the program that was best there.",
    ),
    "memory_budget": (
        "int, optional",
        "Bytes for intermediate results of each evolution, 2 GiB by default; the data are not included.",
    ),
    "checkpoint": (
        "path, optional",
        "File that all runs are saved to at the end; until then each member has a file of this name with its number "
        "added. Otherwise as for 2SEGP: a fit with the same data and parameters goes on where they stopped.",
    ),
    "callbacks": (
        "callable or list of callables, optional",
        "Called at the start and after each generation of each evolution, in the process where it runs. Returning True "
        "stops that evolution; returning a dict adds its values to `history_`, with a last axis for the members.",
    ),
    "n_jobs": ("int, optional", "Evolutions at the same time, through joblib; the model does not depend on it."),
    "verbose": ("int", "1 shows which evolutions are done, on stderr."),
}
_ATTRIBUTES = {
    "oob_score_": (
        "float",
        "R² (regression) or accuracy (classification) on the training rows, from members whose sample did not draw a "
        "row.",
    ),
    "history_": (
        "dict of ndarray",
        "One entry a generation: generation, errors (of the best program of every member), mean_size, max_size, "
        "n_distinct, n_elites, n_evaluations, seconds; the last four are sums over members.",
    ),
    "n_generations_": ("int", "Generations of the evolution that came furthest."),
    "population_size_": ("int", "Programs in each population."),
    "generations_": ("int", "Generations that each evolution was given."),
}


@document("Ensemble of independent evolutions, for regression.", _TEXT, parameters=_OWN, attributes=_ATTRIBUTES)
class IndependentGPRegressor(_IndependentGPParameters, EnsembleRegressor):
    pass


@document("Ensemble of independent evolutions, for classification.", _TEXT, parameters=_OWN, attributes=_ATTRIBUTES)
class IndependentGPClassifier(_IndependentGPParameters, EnsembleClassifier):
    pass
