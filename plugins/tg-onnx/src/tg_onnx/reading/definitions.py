"""ONNX's own declarations of ops: their versions, and the functions that some are defined as."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import onnx
from onnx import FunctionProto, TypeProto, defs

if TYPE_CHECKING:
    from tg_onnx.reading.node import Node
    from tg_onnx.reading.values import Value


def schema_of(op: str, version: int, domain: str) -> Any:
    """ONNX's declaration of an op at a version, None where there is none."""
    try:
        return defs.get_schema(op, version, domain)
    except (defs.SchemaError, TypeError):  # the latter for a name that is no text: Protocol Buffers give its bytes
        return None


def defined_as(node: Node) -> FunctionProto | None:
    """The function that ONNX defines an op as, at the version in force."""
    schema: Any = node.schema
    if schema is None:
        return None
    if schema.has_function:
        earlier = [v for v in schema.function_opset_versions if v <= node.version]
        return _function(
            schema.get_function_with_opset_version(max(earlier) if earlier else min(schema.function_opset_versions))
        )
    if schema.has_context_dependent_function:
        versions = schema.context_dependent_function_opset_versions
        earlier = [v for v in versions if v <= node.version]
        proto = onnx.NodeProto()
        proto.CopyFrom(node.proto)
        del proto.attribute[:]
        for name, a in node.attributes.items():
            entry = proto.attribute.add()
            entry.CopyFrom(a)
            entry.name = name
        for name, declared in schema.attributes.items():
            if name not in node.attributes and declared.default_value.type:
                proto.attribute.add().CopyFrom(declared.default_value)
        types = [_type_of(v).SerializeToString() for v in node.inputs]
        body = schema.get_context_dependent_function_with_opset_version(
            max(earlier) if earlier else min(versions), proto.SerializeToString(), types
        )
        return _function(body) if body else None
    return None


def _function(body: bytes) -> FunctionProto:
    proto = FunctionProto()
    proto.ParseFromString(body)
    return proto


def _type_of(value: Value | None) -> TypeProto:
    proto = TypeProto()
    if value is not None:
        proto.tensor_type.elem_type = value.element.number
        for n in value.variable.type.shape:
            dim = proto.tensor_type.shape.dim.add()
            if n is not None:
                dim.dim_value = n
    return proto
