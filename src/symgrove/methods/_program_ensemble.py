"""What estimators share whose members are programs: how they are evolved, listed, and judged on rows left out."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from symgrove.fitness.losses import Loss
from symgrove.forest.forest import Forest
from symgrove.forest.random_programs import RandomPrograms
from symgrove.methods._estimator import EvolvedEnsemble
from symgrove.methods._gp import Material
from symgrove.methods._held_out import Head, HeldOutError, Training
from symgrove.methods._run import Found, Job, Outcome, Setting, parts_for_targets, programs_found
from symgrove.methods._several import Part, States
from symgrove.models.consensus import Recurring, recurring_parts
from symgrove.models.importance import feature_importances
from symgrove.models.members import Member, list_members
from symgrove.models.out_of_bag import OutOfBag, pack_samples, predict_out_of_bag
from symgrove.models.standardization import Standardization


class ProgramEnsemble(EvolvedEnsemble):
    """Base of the estimators whose members are programs with a slope and an intercept."""

    @abstractmethod
    def _loss(self) -> Loss:
        """What programs are scored by."""

    @abstractmethod
    def _make_source(self, forest: Forest) -> RandomPrograms:
        """Where random programs come from."""

    @abstractmethod
    def _make_part(self, material: Material) -> Part:
        """The method on one target."""

    @abstractmethod
    def _head(self, n_targets: int) -> Head:
        """What is done with members' outputs before they are combined; None: nothing."""

    @abstractmethod
    def _set_out_of_bag(self, training: Training, prediction: NDArray[np.float64], n_given: int) -> None:
        """Set `oob_prediction_`, with a row for each of the `n_given` rows, and `oob_score_`."""

    def _has_out_of_bag(self) -> bool:
        """Whether members leave training rows out."""
        return True

    def _is_classifier(self) -> bool:
        return self._head(1) is not None

    def _make_parts(
        self, training: Training, standardization: Standardization, seed: int, member: int, stack: ExitStack
    ) -> list[Any]:
        return list(parts_for_targets(self, training, standardization, seed, member, stack))

    def _found(self, setting: Setting, state: States, training: Training) -> Found:
        return programs_found(setting, state, training)

    def _held_out_error(self, held_out: Training, setting: Setting, stack: ExitStack) -> Callable[[States], float]:
        """What measures the error of a state on rows held out for early stopping."""
        head = self._head(len(held_out.targets))
        parts = setting.method.parts
        return HeldOutError(held_out, head, setting.aggregation, setting.standardization, parts, stack)

    def _set_model(self, job: Job, outcome: Outcome, n_given: int) -> None:
        self.ensemble_, found = self._list_members(job.training, outcome)
        if self._has_out_of_bag():
            self._set_out_of_bag(job.training, np.stack([f.prediction for f in found]), n_given)
            self._oob_spread = found[0].spread
            self._outside = pack_samples(outcome.found.outside, job.training.rows)
        self.feature_importances_ = feature_importances(self._ensembles, job.training.X, job.seed)

    def consensus(self, n_most: int | None = 10) -> list[Recurring]:
        """Parts of formulas that several members have, the most frequent first.

        Parameters
        ----------
        n_most : int, optional
            So many; None: all. With more than two classes: so many for each.
        """
        check_is_fitted(self)
        names = getattr(self, "feature_names_in_", None)
        return [part for ensemble in self._ensembles for part in recurring_parts(ensemble, names, n_most)]

    def _list_members(self, training: Training, outcome: Outcome) -> tuple[list[Member], list[OutOfBag]]:
        """The members as people read them, and what is known out of bag, for every target."""
        names = getattr(self, "feature_names_in_", None)
        prune = bool(getattr(self, "prune", True)) and self._aggregation() == "mean"
        members: list[Member] = []
        out_of_bag = []
        for k, (ensemble, in_bag, outside) in enumerate(zip(*outcome.found[:3], strict=True)):
            head = self._head(len(training.targets))
            found: OutOfBag = predict_out_of_bag(
                ensemble, training.X, training.targets[k], outside, training.weight, head
            )
            out_of_bag.append(found)
            target = self.classes_[k] if len(outcome.found.ensembles) > 1 else None
            members += list_members(ensemble, in_bag, found.error, names, target, prune=prune)
        return members, out_of_bag
