"""What classifiers say about their own uncertainty: probabilities that are corrected on rows kept out of the fit."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symgrove.methods._estimator import EvolvedEnsemble
from symgrove.methods._run import Job, Outcome
from symgrove.models.calibration import correction_from_document, correction_to_document
from symgrove.models.checked_rows import class_places
from symgrove.models.document import Document, Entries
from symgrove.models.probabilities import Correction, fit_correction

Matrix = NDArray[np.float64]


class CalibratedClassifier(EvolvedEnsemble):
    """Adds the correction to a classifier."""

    _correction: Correction | None = None

    @abstractmethod
    def _shares(self, X: Matrix) -> Matrix:
        """Shares of the classes as the ensemble gives them, (n_rows, n_classes)."""

    def _set_uncertainty(self, job: Job, outcome: Outcome) -> None:
        self.__dict__.pop("_correction", None)
        if job.kept_out is not None:
            self._calibrate(job.kept_out.X, job.kept_out.targets)

    def _calibrate(self, X: Matrix, targets: Matrix) -> None:
        self._correction = fit_correction(self._shares(X), class_places(targets))

    def _uncertainty_to_document(self) -> Document | None:
        return None if self._correction is None else correction_to_document(self._correction)

    def _uncertainty_from_document(self, entries: Entries) -> None:
        self._correction = correction_from_document(entries, self.classes_.size)

    def _probabilities(self, X: Any) -> Matrix:
        shares = self._shares(self._check_predict(X))
        return shares if self._correction is None else self._correction.apply(shares)
