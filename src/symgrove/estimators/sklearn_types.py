"""What is used of scikit-learn's base classes, with types: scikit-learn itself has none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from typing import Self

    from numpy.typing import NDArray

    class BaseEstimator:
        """Parameters by name, printing, pickling."""

        n_features_in_: int
        feature_names_in_: NDArray[Any]

        def get_params(self, deep: bool = True) -> dict[str, Any]: ...

        def set_params(self, **parameters: Any) -> Self: ...

        def __getstate__(self) -> dict[str, Any]: ...

        def __setstate__(self, state: dict[str, Any]) -> None: ...

        def __sklearn_tags__(self) -> Any: ...

        def _repr_html_inner(self) -> str: ...

        def _repr_mimebundle_(self, **options: Any) -> dict[str, Any]: ...

    class RegressorMixin:
        """R² as `score`."""

        def score(self, X: Any, y: Any, sample_weight: Any = None) -> float: ...

    class ClassifierMixin:
        """Accuracy as `score`."""

        def score(self, X: Any, y: Any, sample_weight: Any = None) -> float: ...

else:
    from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin


class Predictor(Protocol):
    """An estimator of any library."""

    def fit(self, X: Any, y: Any) -> Any:
        """Learn from rows."""

    def predict(self, X: Any) -> Any:
        """A number or a class for each row."""


__all__ = ["BaseEstimator", "ClassifierMixin", "Predictor", "RegressorMixin"]
