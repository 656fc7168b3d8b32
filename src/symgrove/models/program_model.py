"""A model of programs: an ensemble for each target."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from symgrove.forest.forest import Forest
from symgrove.forest.primitives import PrimitiveSet
from symgrove.models.consensus import Recurring, recurring_parts
from symgrove.models.document import Allowance, Document, Entries, optional_numbers
from symgrove.models.ensemble import Ensemble, NamedNode, clipped, join_ensembles, votes_of, with_names
from symgrove.models.ensemble_document import ensemble_from_document, ensemble_to_document
from symgrove.models.ensemble_plan import ensemble_target
from symgrove.models.importance import feature_importances
from symgrove.models.members import Member, ensemble_as_sum, list_members
from symgrove.models.model import LeftOut, Matrix, MeanOfMembers, Model, Names, RowLossOf
from symgrove.models.out_of_bag import OutOfBag, predict_out_of_bag
from symgrove.models.plan import Graph, PlanTarget
from symgrove.models.reading import Reading
from symgrove.models.shown import shortened
from symgrove.models.task import Task


@dataclass(frozen=True)
class ProgramModel(Model):
    """Ensembles of programs.

    Attributes
    ----------
    ensembles : tuple of Ensemble
        One for each target.
    task : Task
    in_bag, out_of_bag : tuples of arrays (n_samples,)
        Errors of every sample's member, on the sample and on the rows that it left out.
    merge : bool
        Whether members of equal programs are shown as one.
    reading : Reading or None
        What is known of the training rows for showing formulas.

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from symgrove import TwoSEGPRegressor, extending as ex
    >>> X, y = make_friedman1(60, random_state=0)
    >>> model = TwoSEGPRegressor(population_size=50, n_estimators=5, generations=5, random_state=0).fit(X, y)
    >>> isinstance(model.model_, ex.ProgramModel), model.model_.ensembles[0].n_samples
    (True, 5)
    """

    ensembles: tuple[Ensemble, ...]
    task: Task
    in_bag: tuple[Matrix, ...]
    out_of_bag: tuple[Matrix, ...]
    merge: bool = True
    reading: Reading | None = None
    kind: ClassVar[str] = "programs"

    @property
    def primitives(self) -> PrimitiveSet:  # type: ignore[override]
        return self.ensembles[0].forest.primitives

    @property
    def n_features(self) -> int:  # type: ignore[override]
        return self.ensembles[0].forest.n_features

    def with_reading(self, reading: Reading | None) -> ProgramModel:
        return replace(self, reading=reading)

    def predict(self, X: Matrix, n_threads: int = 1) -> Matrix:
        if self.task.classes is None:
            return np.stack([ensemble.predict(X, n_threads) for ensemble in self.ensembles])
        if self.task.n_targets == 1:
            return self.ensembles[0].vote_share(X, n_threads)[None]
        return np.stack([ensemble.mean_clipped(X, n_threads) for ensemble in self.ensembles])

    def predict_with_spread(self, X: Matrix, n_threads: int = 1, target: int = 0) -> tuple[Matrix, Matrix]:
        return self.ensembles[target].predict_with_spread(X, n_threads)

    def predict_members(self, X: Matrix, n_threads: int = 1) -> Matrix:
        found = self.said(X, n_threads)
        if len(found) == 1:
            return found[0][None]
        n_members = max(map(len, found))  # targets with fewer take turns
        return np.stack([members[np.arange(n_members) % len(members)] for members in found])

    def said(self, X: Matrix, n_threads: int = 1) -> list[Matrix]:
        """For each target, what every sample's member contributes: its prediction, vote or clipped score."""
        if self.task.classes is None:
            return [ensemble.all_members(X, n_threads) for ensemble in self.ensembles]
        head = votes_of if self.task.n_targets == 1 else clipped
        return [ensemble.all_shares(X, head, n_threads) for ensemble in self.ensembles]

    def left_out(
        self,
        X: Matrix,
        targets: Matrix,
        outside: Sequence[NDArray[np.bool_]],
        weight: Matrix | None,
        row_losses: Sequence[RowLossOf] | None = None,
        n_threads: int = 1,
    ) -> LeftOut:
        found = self.out_of_bag_of(X, targets, outside, weight, row_losses, n_threads)
        return LeftOut(np.stack([own.prediction for own in found]), found[0].spread, tuple(own.error for own in found))

    def out_of_bag_of(
        self,
        X: Matrix,
        targets: Matrix,
        outside: Sequence[NDArray[np.bool_]],
        weight: Matrix | None,
        row_losses: Sequence[RowLossOf] | None = None,
        n_threads: int = 1,
    ) -> list[OutOfBag]:
        """What `left_out` is made of, for each target."""
        losses = [None] * len(targets) if row_losses is None else row_losses
        return [
            predict_out_of_bag(ensemble, X, target, mask, weight, self.task.head(ensemble.threshold), loss, n_threads)
            for ensemble, target, mask, loss in zip(self.ensembles, targets, outside, losses, strict=True)
        ]

    def with_left_out(self, left_out: LeftOut) -> ProgramModel:
        return replace(self, out_of_bag=left_out.errors)

    def with_names(self, forest: Forest, named: Sequence[NamedNode]) -> ProgramModel:
        """The model, parts of its programs named as in the forest that these came from.

        With an ensemble for each class, each has the distance from its class.
        """
        own = [
            [each for each in named if len(self.ensembles) == 1 or each.kind != "distance" or each.place == k]
            for k in range(len(self.ensembles))
        ]
        ensembles = zip(self.ensembles, own, strict=True)
        return replace(self, ensembles=tuple(with_names(ensemble, forest, names) for ensemble, names in ensembles))

    def members(self, names: Names) -> list[Member]:
        members: list[Member] = []
        for k, ensemble in enumerate(self.ensembles):
            target = None if self.task.targets is None else self.task.targets[k]
            prune = self.merge and ensemble.is_mean
            members += list_members(
                ensemble, self.in_bag[k], self.out_of_bag[k], names, target, self.reading, prune=prune
            )
        return members

    @property
    def parts(self) -> str:
        n_members, n_targets = self.ensembles[0].n_samples, len(self.ensembles)
        n_different = sum(ensemble.programs.size for ensemble in self.ensembles)
        each = f" for each of {n_targets} {'classes' if self.task.classes is not None else 'targets'}"
        text = ("one formula" if n_members == 1 else f"{n_members} members") + (each if n_targets > 1 else "")
        return text if n_different == n_members * n_targets else f"{text}, {n_different} of them different"

    def count_members(self) -> dict[str, int]:
        n_members = sum(ensemble.n_samples for ensemble in self.ensembles)
        return {"n_members": n_members, "n_distinct_members": sum(e.programs.size for e in self.ensembles)}

    def importances(self, X: Matrix, seed: int, owners: NDArray[np.intp] | None = None) -> Matrix:
        return feature_importances(self.ensembles, X, seed, owners)

    def recurring(self, names: Names, n_most: int | None) -> list[Recurring]:
        return [
            part
            for ensemble in self.ensembles
            for part in recurring_parts(ensemble, names, n_most, reading=self.reading)
        ]

    def as_sum(self) -> tuple[Forest, int] | None:
        is_mean = self.task.classes is None and len(self.ensembles) == 1 and self.ensembles[0].is_mean
        if not is_mean:
            return None
        return shortened(*ensemble_as_sum(self.ensembles[0], is_in_user_units=True), self.reading)

    def sums(self) -> list[MeanOfMembers]:
        return [MeanOfMembers(*ensemble_as_sum(e, is_in_user_units=False), e.standardization) for e in self.ensembles]

    @property
    def aggregation(self) -> str:
        return self.ensembles[0].aggregation

    def plan_targets(self, graph: Graph) -> tuple[PlanTarget, ...]:
        return tuple(ensemble_target(graph, ensemble, self.task) for ensemble in self.ensembles)

    def document(self) -> Document:
        return {
            "ensembles": [ensemble_to_document(ensemble) for ensemble in self.ensembles],
            "members": [
                {
                    "in_bag": optional_numbers(_without_inf(inside)),
                    "out_of_bag": optional_numbers(_without_inf(outside)),
                }
                for inside, outside in self.shown_errors()
            ],
            "smaller": [],
        }

    def shown_errors(self) -> list[tuple[Matrix, Matrix]]:
        """For each ensemble the errors of every sample's member, in the sample and outside, as they are shown."""
        found = []
        members = iter(self.members(None))
        for ensemble in self.ensembles:
            inside, outside = np.full((2, ensemble.n_samples), np.nan)
            n_seen = 0
            while n_seen < ensemble.n_samples:
                member = next(members)
                inside[list(member.samples)] = member.in_bag_error
                outside[list(member.samples)] = member.out_of_bag_error
                n_seen += len(member.samples)
            found.append((inside, outside))
        return found


def _without_inf(values: Matrix) -> Matrix:
    return np.where(np.isfinite(values), values, np.nan)


def join_models(models: Sequence[ProgramModel]) -> ProgramModel:
    """All members of several models in one."""
    targets = range(len(models[0].ensembles))
    in_bag = tuple(np.concatenate([model.in_bag[k] for model in models]) for k in targets)
    return ProgramModel(
        tuple(join_ensembles([model.ensembles[k] for model in models], in_bag[k]) for k in targets),
        models[0].task,
        in_bag,
        tuple(np.concatenate([model.out_of_bag[k] for model in models]) for k in targets),
        models[0].merge,
        models[0].reading,
    )


def program_model_from(
    entries: Entries, task: Task, n_features: int, primitives: PrimitiveSet, allowance: Allowance, *, merge: bool
) -> ProgramModel:
    """The model of a document, which `document` made."""
    own, errors = entries.each("ensembles"), entries.each("members")
    if len(own) != task.n_targets or len(errors) != len(own):
        raise ValueError(
            f"the file has {len(own)} ensembles and errors of {len(errors)}, which does not go with its estimator and "
            "classes."
        )
    ensembles = tuple(ensemble_from_document(e, n_features, primitives, allowance) for e in own)
    n_classes = 0 if task.classes is None else task.classes.size
    if any(n.kind == "distance" and n.place >= n_classes for ensemble in ensembles for n in ensemble.named):
        raise ValueError(f"the file names distances from other classes than the {n_classes} of its estimator.")
    inside, outside = (
        tuple(e.numbers(name, m.n_samples, is_optional=True) for e, m in zip(errors, ensembles, strict=True))
        for name in ("in_bag", "out_of_bag")
    )
    return ProgramModel(ensembles, task, inside, outside, merge)


def unknown_errors(ensembles: Sequence[Ensemble]) -> tuple[Matrix, ...]:
    """Errors of members that are not known.

    Examples
    --------
    >>> import numpy as np
    >>> from symgrove import Forest, parse
    >>> from symgrove import extending as ex
    >>> forest = Forest(1)
    >>> roots = np.array([parse(forest, "x0 + 1"), parse(forest, "x0 * x0")])
    >>> ensemble = ex.make_ensemble(forest, roots, np.ones(2), np.zeros(2), 0.0, ex.no_standardization(1))
    >>> ex.unknown_errors([ensemble])
    (array([nan, nan]),)
    """
    return tuple(np.full(ensemble.n_samples, np.nan) for ensemble in ensembles)
