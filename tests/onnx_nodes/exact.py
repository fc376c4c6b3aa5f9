"""A case computed in float64 by ONNX's reference: a second oracle where 16 bits are expected."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import AttributeProto, ModelProto, TensorProto, numpy_helper
from onnx.reference import ReferenceEvaluator

if TYPE_CHECKING:
    from onnx import NodeProto

    from tests.onnx_nodes.cases import Case

NARROW = (TensorProto.FLOAT, TensorProto.FLOAT16)


def in_float64(case: Case) -> dict[str, np.ndarray[Any, Any]]:
    """The outputs of a case whose floats are all of float64."""
    model = ModelProto()
    model.CopyFrom(case.model)
    for info in (*model.graph.input, *model.graph.output):
        if info.type.tensor_type.elem_type in NARROW:
            info.type.tensor_type.elem_type = TensorProto.DOUBLE
    for node in model.graph.node:
        _widen(node)
    inputs = {n: a.astype(np.float64) if a.dtype.kind == "f" else a for n, a in case.inputs.items()}
    results = ReferenceEvaluator(model).run(None, inputs)
    return dict(zip(case.outputs, results, strict=True))


def _widen(node: NodeProto) -> None:
    for a in node.attribute:
        if a.name == "to" and a.i in NARROW:
            a.i = TensorProto.DOUBLE
        if a.type == AttributeProto.TENSOR and a.t.data_type in NARROW:
            a.t.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(a.t).astype(np.float64)))
        if a.name in ("value_float", "value_floats"):
            numbers = np.array(a.f if a.name == "value_float" else list(a.floats), np.float64)
            a.Clear()
            a.name, a.type = "value", AttributeProto.TENSOR
            a.t.CopyFrom(numpy_helper.from_array(numbers))
