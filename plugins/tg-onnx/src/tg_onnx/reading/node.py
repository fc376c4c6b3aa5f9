"""`Node`: one node of a model as rules see it: operands, attributes, versions, and the texts of errors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NoReturn, final

import numpy as np
from onnx import AttributeProto

import tg
from tg.backend import message

if TYPE_CHECKING:
    from collections.abc import Mapping

    from onnx import GraphProto, NodeProto
    from onnx.defs import OpSchema

    from tg.backend import Variable
    from tg_onnx.reading.graphs import Scope
    from tg_onnx.reading.values import Value

DOMAIN_NAMES: Final = {"": "ai.onnx"}


@final
class Node:
    """A node with its operands as values; rules read it and give variables or values."""

    __slots__ = ("_attributes", "inputs", "proto", "schema", "scope", "version")
    proto: NodeProto
    scope: Scope
    inputs: tuple[Value | None, ...]
    schema: OpSchema | None
    version: int  # of the operator set that the model imports

    def __init__(
        self, proto: NodeProto, scope: Scope, inputs: tuple[Value | None, ...], schema: OpSchema | None, version: int
    ) -> None:
        self.proto, self.scope, self.inputs, self.schema, self.version = proto, scope, inputs, schema, version
        self._attributes = attributes_of(proto, scope.attributes)

    @property
    def since(self) -> int:
        """The version of the op that is in force."""
        return self.version if self.schema is None else int(self.schema.since_version)

    @property
    def place(self) -> str:
        """The node as errors call it: op, name, first result."""
        return place_of(self.proto)

    @property
    def outputs(self) -> int:
        """The number of results, up to the last that has a name."""
        names = list(self.proto.output)
        while names and not names[-1]:
            names.pop()
        return len(names)

    def gives(self, k: int) -> bool:
        """Whether result k is used."""
        return k < len(self.proto.output) and bool(self.proto.output[k])

    def has(self, k: int) -> bool:
        """Whether operand k is there."""
        return k < len(self.inputs) and self.inputs[k] is not None

    def value(self, k: int) -> Value:
        """Operand k."""
        entry = self.inputs[k] if k < len(self.inputs) else None
        if entry is None:
            raise tg.InputError(message(f"{self.place}: found no operand {k}, needed one"))
        return entry

    def __getitem__(self, k: int) -> Variable:
        return self.value(k).variable

    def get(self, k: int) -> Variable | None:
        """The variable of operand k, None where it is left out."""
        return self[k] if self.has(k) else None

    @property
    def variables(self) -> list[Variable]:
        """All operands."""
        return [self[k] for k in range(len(self.inputs))]

    @property
    def attributes(self) -> Mapping[str, AttributeProto]:
        """The attributes that the node has, those of a function's caller put in."""
        return self._attributes

    def attr(self, name: str, default: Any = None) -> Any:
        """The value of an attribute: a number, text, list, tensor or graph."""
        proto = self._attributes.get(name)
        if proto is None:
            return default
        if proto.type == AttributeProto.FLOAT:
            return float(np.float32(proto.f))
        if proto.type == AttributeProto.INT:
            return int(proto.i)
        if proto.type == AttributeProto.STRING:
            return proto.s.decode("utf-8", "replace")
        if proto.type == AttributeProto.FLOATS:
            return [float(f) for f in proto.floats]
        if proto.type == AttributeProto.INTS:
            return [int(i) for i in proto.ints]
        if proto.type == AttributeProto.STRINGS:
            return [s.decode("utf-8", "replace") for s in proto.strings]
        if proto.type == AttributeProto.TENSOR:
            return proto.t
        if proto.type == AttributeProto.GRAPH:
            return proto.g
        return self.refuse(f"attribute {name} of type {proto.type}", "a number, text, list, tensor or graph")

    def number(self, name: str, default: int, most: int, least: int = 1) -> int:
        """An attribute that counts something, or the default.

        Raises:
            InputError: it is less than `least` or more than `most`.
        """
        number = int(self.attr(name, default))
        if not least <= number <= most:
            raise tg.InputError(message(f"{self.place}: found {name} {number}, needed {least} to {most}"))
        return number

    def axis(self, name: str, default: int, rank: int) -> int:
        """An attribute that is an axis of `rank` ones, counted from the first.

        Raises:
            InputError: there is no such axis.
        """
        return self.number(name, default, rank - 1, -rank) % rank

    def graph(self, name: str) -> GraphProto:
        """An attribute that is a graph."""
        graph: GraphProto | None = self.attr(name)
        if graph is None:
            self.refuse(f"no attribute {name}", "a graph")
        return graph

    def static(self, k: int, what: str) -> np.ndarray[Any, Any]:
        """The elements of operand k, which must be known now.

        Raises:
            SymbolicError: inputs of the model decide them.
        """
        data = self.value(k).data
        if data is None:
            self.not_static(k, what)
        return data

    def ints(self, k: int, what: str) -> list[int]:
        """The integers of operand k, which must be known now."""
        return [int(n) for n in self.static(k, what).flat]

    def sizes(self, k: int, what: str) -> list[Any]:
        """The integers of operand k: ints, lengths, or scalar variables where the program computes them."""
        lengths = self.value(k).lengths
        if lengths is None:
            self.not_static(k, what)
        return list(lengths.flat)

    def static_or(self, k: int, what: str, default: Any) -> Any:
        """`ints` of an operand that may be left out."""
        return self.ints(k, what) if self.has(k) else default

    def not_static(self, k: int, what: str) -> NoReturn:
        """Raise that an operand has to be known now, with the inputs that decide it."""
        names = self.scope.sources(self[k])
        entries = ", ".join(f"{name!r}: …" for name in names)
        hint = f"tg_onnx.load(model, values={{{entries}}}) fixes what decides it" if names else None
        what = f"{what} that {', '.join(names) or 'the program'} decides"
        error = tg.SymbolicError(message(f"{self.place}: found {what}, needed constants", hint=hint))
        error.inputs = tuple(names)  # type: ignore[attr-defined]
        raise error

    def refuse(self, what: str, needed: str, hint: str | None = None) -> NoReturn:
        """Raise that tg does not read such a node."""
        raise tg.NoRuleError(message(f"{self.place}: found {what}, needed {needed}", hint=hint))


def attributes_of(proto: NodeProto, caller: Mapping[str, AttributeProto]) -> dict[str, AttributeProto]:
    """Attributes by name; those that refer to an attribute of the function's caller are that one."""
    table: dict[str, AttributeProto] = {}
    for a in proto.attribute:
        entry = caller.get(a.ref_attr_name) if a.ref_attr_name else a
        if entry is not None:
            table[a.name] = entry
    return table


def place_of(proto: NodeProto) -> str:
    """A node as errors call it."""
    name = proto.name or next((o for o in proto.output if o), "")
    return f"node {name!r} ({proto.op_type})"
