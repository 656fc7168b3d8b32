"""Converters for skl2onnx: with them, pipelines that end in one of our estimators become ONNX models.

from symgrove.estimators.onnx_pipelines import register
register()
skl2onnx.to_onnx(pipeline, X[:1])
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from skl2onnx import update_registered_converter
from skl2onnx.common.data_types import (
    BooleanTensorType,
    DoubleTensorType,
    FloatTensorType,
    Int64TensorType,
    StringTensorType,
)
from skl2onnx.helpers import add_onnx_graph

from symgrove import estimators as known
from symgrove.estimators.base import Estimator
from symgrove.estimators.classifier import Classifier
from symgrove.export.onnx import label_type, to_onnx

_LABELS = {7: Int64TensorType, 8: StringTensorType, 9: BooleanTensorType, 11: DoubleTensorType}


def register(estimators: Sequence[type[Estimator]] | None = None) -> None:
    """Tell skl2onnx about all estimators of the library, or about some classes."""
    for estimator in [getattr(known, name) for name in known.ESTIMATORS] if estimators is None else estimators:
        options = {"zipmap": [False]} if issubclass(estimator, Classifier) else {}
        update_registered_converter(estimator, f"symgrove{estimator.__name__}", _shapes, _convert, options=options)


def _plan(operator: Any) -> Any:
    plan = operator.raw_operator._plan()
    if plan.columns.categorical:
        raise ValueError(
            "skl2onnx gives a step of a pipeline one matrix of numbers, and this model takes texts of categories too. "
            "Encode them in a step of the pipeline (OneHotEncoder), or export the model itself: export('onnx')."
        )
    return plan


def _is_double(operator: Any) -> bool:
    return isinstance(operator.inputs[0].type, DoubleTensorType)


def _shapes(operator: Any) -> None:
    plan = _plan(operator)
    n_rows = operator.inputs[0].type.shape[0]
    number = DoubleTensorType if _is_double(operator) else FloatTensorType
    if plan.classes is None:
        operator.outputs[0].type = number([n_rows, len(plan.targets)])
        return
    operator.outputs[0].type = _LABELS[label_type(plan.classes)]([n_rows])
    operator.outputs[1].type = number([n_rows, len(plan.classes)])


def _convert(scope: Any, operator: Any, container: Any) -> None:
    dtype = "float64" if _is_double(operator) else "float32"
    add_onnx_graph(scope, operator, container, to_onnx(_plan(operator), "", dtype))
