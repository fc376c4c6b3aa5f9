"""Nodes against ONNX's own declarations: attributes, numbers of operands and results, before a rule reads them."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, Final

from onnx import AttributeProto
from onnx.defs import OpSchema

import tg
from tg.backend import message

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tg_onnx.reading.node import Node

MISFITS: Final = (TypeError, ValueError, LookupError, AttributeError, ArithmeticError)
SINGLE: Final = OpSchema.FormalParameterOption.Single


def check_node(node: Node) -> None:
    """Refuse a node that ONNX's declaration of its op does not allow; an op without a declaration has all of them.

    Raises:
        InputError: an attribute that the op lacks, of another type, or left out though needed; too few or too many
            operands or results; an operand that is left out though needed.
    """
    schema = node.schema
    if schema is None:
        return
    declared: Any = schema.attributes
    for name, proto in node.attributes.items():
        if name not in declared:
            _refuse(node, f"attribute {name!r}", f"one of {', '.join(declared) or 'none'}")
        needed = int(declared[name].type)
        if proto.type != needed:
            _refuse(node, f"attribute {name!r} of type {_type_name(proto.type)}", _type_name(needed))
    for name, attribute in declared.items():
        if attribute.required and name not in node.attributes:
            _refuse(node, f"no attribute {name!r}", f"one of type {_type_name(int(attribute.type))}")
    _check_count(node, "operands", len(node.inputs), schema.min_input, schema.max_input)
    _check_count(node, "results", len(node.proto.output), schema.min_output, schema.max_output)
    for k, formal in enumerate(schema.inputs):
        if formal.option == SINGLE and not node.has(k):
            _refuse(node, f"no operand {k} ({formal.name})", "one")


def _check_count(node: Node, what: str, count: int, least: int, most: int) -> None:
    if not least <= count <= most:
        _refuse(node, f"{count} {what}", f"{least}" if least == most else f"from {least} to {most}")


def _type_name(number: int) -> str:
    names = AttributeProto.AttributeType
    return names.Name(number).lower() if number in names.values() else str(number)


def _refuse(node: Node, what: str, needed: str) -> None:
    hint = "onnx.checker.check_model(model) says what is wrong with a file"
    raise tg.InputError(message(f"{node.place}: found {what}, needed {needed}", hint=hint))


@contextlib.contextmanager
def refused(node: Node) -> Iterator[None]:
    """Name the node in errors of its rule: its operands' shapes or its attributes' values do not fit together.

    Rules read lists of attributes and shapes as ONNX says they are; Python's own error of a list too short, say, is the
    cause of the one that is raised. An error of tg gets a note, unless it names the node already.
    """
    try:
        yield
    except tg.errors.TgError as error:
        if node.place not in str(error):
            error.add_note(f"  in {node.place}")
        raise
    except MISFITS as error:
        types = ", ".join("none" if v is None else f"{v.variable.type}" for v in node.inputs)
        what = f"operands ({types}) and attributes that do not fit together ({type(error).__name__}: {error})"
        hint = "onnx.checker.check_model(model, full_check=True) says what is wrong with a file"
        raise tg.InputError(message(f"{node.place}: found {what}, needed those of a valid node", hint=hint)) from error
