"""Walking the nodes of a graph: names, operators by version, functions, subgraphs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, final

from onnx import defs

import tg
from tg.backend import Variable, is_inexact, message
from tg_onnx.reading.arrays import array_of
from tg_onnx.reading.checking import check_node, refused
from tg_onnx.reading.definitions import defined_as, schema_of
from tg_onnx.reading.elements import BY_TYPE_STRING, element
from tg_onnx.reading.lengths import LENGTH_RULES, with_lengths
from tg_onnx.reading.node import DOMAIN_NAMES, Node, attributes_of, place_of
from tg_onnx.reading.table import rule_for
from tg_onnx.reading.values import Value, folded

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from onnx import AttributeProto, FunctionProto, GraphProto, NodeProto

OLDEST: Final = 7  # the operator set from which operands broadcast as NumPy's do
DEEPEST: Final = 64  # graphs inside graphs, and functions inside functions


@final
class Reader:
    """State that all graphs of a model share: its functions and the folder of its files."""

    __slots__ = ("folder", "functions", "names")

    def __init__(self, functions: Sequence[FunctionProto], folder: Path | None) -> None:
        self.functions = {(f.domain, f.name, f.overload): f for f in functions}
        self.folder = folder
        self.names: dict[int, tuple[Variable, str]] = {}  # the model's inputs by `id`


@final
class Scope:
    """The values that nodes of one graph see by name, those of the graphs around it included."""

    __slots__ = ("absent", "attributes", "depth", "outer", "reader", "values", "versions")

    def __init__(
        self,
        reader: Reader,
        versions: Mapping[str, int],
        outer: Scope | None = None,
        attributes: Mapping[str, AttributeProto] | None = None,
        depth: int = 0,
    ) -> None:
        self.reader, self.versions, self.outer, self.depth = reader, versions, outer, depth
        self.attributes: Mapping[str, AttributeProto] = attributes if attributes is not None else {}
        self.values: dict[str, Value] = {}
        self.absent: set[str] = set()  # names of optional inputs that are not there
        if depth > DEEPEST:
            raise tg.LimitError(message(f"model: found graphs inside graphs deeper than {DEEPEST}, needed fewer"))

    def inside(self) -> Scope:
        """A scope for a graph inside this one."""
        return Scope(self.reader, self.versions, self, self.attributes, self.depth + 1)

    def find(self, name: str) -> Value | None:
        """The value of a name, here or in a graph around."""
        scope: Scope | None = self
        while scope is not None:
            value = scope.values.get(name)
            if value is not None:
                return value
            scope = scope.outer
        return None

    def sources(self, variable: Variable) -> list[str]:
        """Names of the model's inputs that a variable is computed from."""
        pending, met, names = [variable], {id(variable)}, []
        while pending:
            v = pending.pop()
            if id(v) in self.reader.names:
                names.append(self.reader.names[id(v)][1])
            for u in v.inputs:
                if id(u) not in met:
                    met.add(id(u))
                    pending.append(u)
        return sorted(names)

    def remedy(self, variable: Variable) -> str | None:
        """A hint that says how to fix what decides a value: integers by their values, other inputs by their lengths."""
        names = self.sources(variable)
        whole = [n for v, n in self.reader.names.values() if n in names and not is_inexact(v.dtype)]
        entries = ", ".join(f"{name!r}: …" for name in whole or names)
        argument = "values" if whole else "shapes"
        return f"tg_onnx.load(model, {argument}={{{entries}}}) fixes what decides it" if names else None

    def read(self, graph: GraphProto) -> list[Value]:
        """The outputs of a graph whose inputs are in `values` already."""
        self.take_initializers(graph)
        for proto in graph.node:
            self.run(proto)
        return [self.output(o.name) for o in graph.output]

    def take_initializers(self, graph: GraphProto) -> None:
        """Put in the constants of a graph that are not there yet."""
        if graph.sparse_initializer:
            raise tg.NoRuleError(message(f"graph {graph.name!r}: found sparse initialisers, needed dense ones"))
        for t in graph.initializer:
            if t.name not in self.values:
                kind = element(t.data_type, f"initialiser {t.name!r}")
                self.values[t.name] = Value(None, kind, data=array_of(t, kind, self.reader.folder))

    def output(self, name: str) -> Value:
        """The value that a graph gives under a name."""
        value = self.find(name)
        if value is None:
            raise tg.InputError(message(f"graph: found no node that gives {name!r}, needed one before it is read"))
        return value

    def run(self, proto: NodeProto) -> None:
        """Read one node, and put in what it gives."""
        inputs = tuple([self.output(n) if n and n not in self.absent else None for n in proto.input])
        results = self.results(proto, inputs)
        for name, value in zip(proto.output, results, strict=False):
            if name and value is not None:
                self.values[name] = value

    def results(self, proto: NodeProto, inputs: tuple[Value | None, ...]) -> list[Value | None]:
        """The results of a node: by tg's rule, else by the function that the model or ONNX defines it as."""
        domain = "" if proto.domain == "ai.onnx" else proto.domain
        local = self.reader.functions.get((proto.domain, proto.op_type, proto.overload))
        if local is not None:
            return self.call(proto, inputs, local, attributes_of(proto, self.attributes))
        version = self.versions.get(domain)
        if version is None:
            named = DOMAIN_NAMES.get(domain, domain)
            raise tg.InputError(message(f"{place_of(proto)}: found no import of operator set {named}, needed one"))
        schema = schema_of(proto.op_type, version, domain)
        node = Node(proto, self, inputs, schema, version)
        check_node(node)
        rule = rule_for(domain, proto.op_type, node.since)
        if rule is not None:
            return self.apply(node, rule)
        with refused(node):
            body = defined_as(node)
        if body is None:
            named = DOMAIN_NAMES.get(domain, domain)
            hint = None if schema is not None else "a local function of the model, or com.microsoft's ops that tg reads"
            raise tg.NoRuleError(
                message(f"{node.place}: found {named}.{proto.op_type}, version {node.since}, which tg does not read, "
                        "needed another op", hint=hint)
            )  # fmt: skip
        assert schema is not None
        defaults = {name: a.default_value for name, a in schema.attributes.items() if a.default_value.type}
        return self.call(proto, inputs, body, {**defaults, **node.attributes})

    def apply(self, node: Node, rule: Any) -> list[Value | None]:
        """The results of a rule, as values of the types that the op declares."""
        with refused(node):
            if node.proto.op_type in LENGTH_RULES and node.proto.domain in ("", "ai.onnx"):
                value = with_lengths(node)
                if value is not None:
                    return [value]
            results = rule(node)
        results = list(results) if isinstance(results, tuple | list) else [results]
        constant = all(v is None or v.is_constant for v in node.inputs) and not node.attributes.keys() & GRAPHS
        return [None if r is None else _typed(node, k, r, constant=constant) for k, r in enumerate(results)]

    def call(
        self,
        proto: NodeProto,
        inputs: tuple[Value | None, ...],
        body: FunctionProto,
        attributes: Mapping[str, AttributeProto],
    ) -> list[Value | None]:
        """The results of a function's body for these operands."""
        versions = {("" if o.domain == "ai.onnx" else o.domain): o.version for o in body.opset_import}
        defaults = {a.name: a for a in body.attribute_proto}
        versions.setdefault("", self.versions.get("", int(defs.onnx_opset_version())))
        scope = Scope(self.reader, versions, None, {**defaults, **attributes}, self.depth + 1)
        scope.values = {name: v for name, v in zip(body.input, inputs, strict=False) if v is not None}
        absent = {name for name in body.input if name not in scope.values}
        wanted = [name for k, name in enumerate(body.output) if k < len(proto.output) and proto.output[k]]
        used = _used(body, set(wanted))
        for node in body.node:
            if not used & set(node.output):
                continue
            entries = tuple(None if not n or n in absent else scope.output(n) for n in node.input)
            for name, value in zip(node.output, scope.results(node, entries), strict=False):
                if name and value is not None:
                    scope.values[name] = value
        return [scope.output(n) if n in wanted else None for n in body.output[: len(proto.output)]]


GRAPHS: Final = frozenset(("body", "then_branch", "else_branch"))


def _used(body: FunctionProto, wanted: set[str]) -> set[str]:
    """Names that the wanted results of a function are computed from."""
    for node in reversed(body.node):
        if wanted & set(node.output):
            wanted.update(node.input)
            wanted.update(_captured(node))
    return wanted


def _captured(node: NodeProto) -> set[str]:
    """Names that the graphs of a node's attributes read."""
    names: set[str] = set()
    for a in node.attribute:
        for graph in (a.g, *a.graphs):
            for inner in graph.node:
                names.update(inner.input)
                names.update(_captured(inner))
            names.update(o.name for o in graph.output)
    return names


def _typed(node: Node, k: int, result: Any, *, constant: bool) -> Value:
    """A rule's result as a value of the element type that the op's schema binds."""
    if isinstance(result, Value):
        if constant and result.data is None:
            return Value(folded(result.variable), result.element)
        return result
    kind = _declared(node, k)
    if kind is not None and result.dtype != kind.dtype:
        result = tg.cast(result, kind.dtype)
    return Value(folded(result) if constant else result, kind)


def _declared(node: Node, k: int) -> Any:
    """The element type of result k: that of the operands which share its type."""
    schema = node.schema
    if schema is None or not schema.outputs:
        return None
    name = schema.outputs[min(k, len(schema.outputs) - 1)].type_str
    if name in BY_TYPE_STRING:
        return BY_TYPE_STRING[name]
    for position, value in enumerate(node.inputs):
        if value is not None and schema.inputs[min(position, len(schema.inputs) - 1)].type_str == name:
            return value.element
    return None
