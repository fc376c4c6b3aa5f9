"""From a text to the frozen graph it describes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from tg import errors
from tg.graph.checks import Descriptor
from tg.graph.facts import possible
from tg.graph.frozen import FrozenCheck, FrozenGraph, Node, ValueSlot
from tg.graph.nodes import Constant
from tg.graph.text.printer import VERSION
from tg.graph.text.tokens import Tokens
from tg.graph.text.values import MOST_NESTED, Values
from tg.types.atoms import AxisLength, ScalarValue
from tg.types.dtypes import is_integer
from tg.types.lengths import Length, of_atom
from tg.types.requirements import Requirements
from tg.types.tensor_type import TensorType

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np

    from tg.graph.op import Op


def parse(
    source: str, ops: Mapping[str, object], constants: Mapping[str, np.ndarray[Any, Any]] | None = None
) -> FrozenGraph:
    """The graph of a text that `to_text` printed, or that was written by hand.

    Values may have any labels and constants may stand anywhere before their use. Every node's types are compared with
    those that its op infers. Comments, and so provenance, are skipped.

    Args:
        ops: elementwise functions and op classes by the names that the text uses.
        constants: the large constants by digest, as `to_text_with_constants` gives them.
    Raises:
        TextError: the text is not a program: the line, the column, what was found and what was needed.
    """
    tokens = Tokens(source)
    values = Values(tokens, ops, constants or {})
    if tokens.text != "tg":
        raise tokens.failure(f"'tg {VERSION}'")
    tokens.advance()
    at, version = tokens.at, values.integer("the version of the text")
    if version != VERSION:
        raise tokens.refusal(at, f"found version {version}, needed {VERSION}")
    while True:
        tokens.expect("graph")
        label, at = "", tokens.at
        if tokens.kind == "graph":
            label = tokens.advance()
        if label in values.graphs:
            raise tokens.refusal(at, f"found a second graph {label}, needed another name")
        values.begin()
        graph = _Body(tokens, values).read()
        if not label:
            break
        values.end(label, graph)
    if tokens.kind != "end":
        raise tokens.failure("the end of the text")
    return graph


class _Value(NamedTuple):
    """A value while its graph is read: inputs count from 0, constants down from -1, results on from the inputs."""

    number: int
    type: TensorType
    symbolic: TensorType
    constant: Constant | None


class _Body:
    """Reads one graph: its inputs, its statements up to `return`, and the checks among them."""

    def __init__(self, tokens: Tokens, values: Values) -> None:
        self.tokens, self.values = tokens, values
        self.labels: dict[str, _Value] = {}
        self.names: dict[int, str] = {}
        self.constants: list[Constant] = []
        self.nodes: list[Node] = []
        self.types: list[TensorType] = []  # of inputs and results
        self.checks: list[FrozenCheck] = []
        self.assumed: dict[int, frozenset[str]] = {}

    def read(self) -> FrozenGraph:
        self._inputs()
        arity = len(self.types)
        self.tokens.expect("{")
        while not self.tokens.accept("return"):
            if self.tokens.accept("check"):
                self._check()
            elif self.tokens.kind == "value":
                self._definition()
            else:
                raise self.tokens.failure("a value, 'check' or 'return'")
        outputs = [v.number for v in self._operands("}")]
        return self._numbered(arity, outputs)

    def _numbered(self, arity: int, outputs: Sequence[int]) -> FrozenGraph:
        """The graph with every value at its final number: inputs, constants, results."""
        shift = len(self.constants)

        def final(number: int) -> int:
            return arity - 1 - number if number < 0 else number if number < arity else number + shift

        def all_final(numbers: Sequence[int]) -> tuple[int, ...]:
            return tuple(map(final, numbers))

        types = [*self.types[:arity], *(c.type for c in self.constants), *self.types[arity:]]
        nodes = [Node(op, all_final(inputs), all_final(results)) for op, inputs, results in self.nodes]
        checks = [FrozenCheck(final(c), all_final(shown), descriptor) for c, shown, descriptor in self.checks]
        names = {final(number): name for number, name in self.names.items()}
        assumed = {final(number): facts for number, facts in self.assumed.items()}
        parts = (self.constants, nodes, all_final(outputs), checks, names)
        return FrozenGraph(arity, types, *parts, assumed=assumed)

    def _inputs(self) -> None:
        self.tokens.expect("(")
        while not self.tokens.accept(")"):
            at, label, name = self._label()
            self.tokens.expect(":")
            t = self.values.type()
            self._assume(len(self.types), t)
            self._define(at, label, name, len(self.types), t)
            self._separated(")")

    def _assume(self, number: int, t: TensorType) -> None:
        """The facts in braces after a type."""
        at = self.tokens.at
        if self.tokens.text != "{":
            return
        names = self.values.facts()
        try:
            self.assumed[number] = possible(names, t)
        except errors.TgError as error:
            raise self.tokens.refusal(at, str(error).partition("\n")[0]) from error

    def _separated(self, end: str) -> None:
        if self.tokens.text != end:
            self.tokens.expect(",")

    def _label(self) -> tuple[int, str, str | None]:
        """A value where it is defined: its place, its label, and its name if it has one."""
        at, label = self.tokens.at, self.tokens.take("value", "a value, as '%0'")
        if self.tokens.kind == "string":
            return at, label, self.values.string()
        return at, label, self.tokens.advance() if self.tokens.kind == "name" else None

    def _define(
        self, at: int, label: str, name: str | None, number: int, t: TensorType, constant: Constant | None = None
    ) -> None:
        if label in self.labels:
            raise self.tokens.refusal(at, f"found a second definition of {label}, needed another label")
        self.labels[label] = _Value(number, t, _with_atoms(t, number), constant)
        if name is not None:
            self.names[number] = name
        if constant is None:
            self.types.append(t)

    def _definition(self) -> None:
        labels = [self._label()]
        while self.tokens.accept(","):
            labels.append(self._label())
        self.tokens.expect("=")
        if self.tokens.accept("const"):
            self._constant(labels)
        else:
            self._node(labels)

    def _constant(self, labels: Sequence[tuple[int, str, str | None]]) -> None:
        if len(labels) != 1:
            raise self.tokens.refusal(labels[1][0], f"found {len(labels)} values, needed one for a constant")
        t = self.values.type()
        constant = Constant(self.values.array(t))
        self.constants.append(constant)
        self._define(*labels[0], -len(self.constants), t, constant)

    def _node(self, labels: Sequence[tuple[int, str, str | None]]) -> None:
        at, op = self.tokens.at, self.values.op()
        self.tokens.expect("(")
        operands = self._operands(")")
        self.tokens.expect(":")
        first = len(self.types)
        types = [self.values.type()]
        self._assume(first, types[0])
        while self.tokens.accept(","):
            types.append(self.values.type())
            self._assume(first + len(types) - 1, types[-1])
        self._compare(at, op, self._inferred(at, op, operands), types)
        if len(types) != len(labels):
            raise self.tokens.refusal(labels[0][0], f"{op.name}: found {len(labels)} values, needed {len(types)}")
        for k, (label, t) in enumerate(zip(labels, types, strict=True)):
            self._define(*label, first + k, t)
        self.nodes.append(Node(op, tuple(v.number for v in operands), tuple(range(first, len(self.types)))))

    def _operands(self, end: str) -> list[_Value]:
        """Values up to a closing mark."""
        values: list[_Value] = []
        while not self.tokens.accept(end):
            values.append(self._value())
            self._separated(end)
        return values

    def _value(self) -> _Value:
        value = self.labels.get(self.tokens.text) if self.tokens.kind == "value" else None
        if value is None:
            raise self.tokens.failure("a value that is defined above")
        self.tokens.advance()
        return value

    def _inferred(self, at: int, op: Op, operands: Sequence[_Value]) -> Sequence[TensorType]:
        arguments: list[Any] = [v.symbolic for v in operands]
        try:
            for k in op.size_operands(len(operands)):
                arguments[k] = _size(operands[k])
            with Requirements():
                return op.infer(*arguments)
        except Exception as error:  # a type rule may raise anything for operands that no program gives it
            raise self.tokens.refusal(at, str(error).partition("\n")[0]) from error

    def _compare(self, at: int, op: Op, inferred: Sequence[TensorType], declared: Sequence[TensorType]) -> None:
        if len(inferred) == len(declared) and all(map(_agree, inferred, declared)):
            return
        actual, needed = (", ".join(str(t.static) for t in types) for types in (declared, inferred))
        raise self.tokens.refusal(at, f"{op.name}: found the type {actual}, needed {needed}")

    def _check(self) -> None:
        at, condition = self.tokens.at, self._value()
        if condition.type != TensorType("bool"):
            raise self.tokens.refusal(at, f"found a condition of type {condition.type}, needed bool[]")
        shown: list[_Value] = []
        if self.tokens.accept("shows"):
            self.tokens.expect("(")
            shown = self._operands(")")
        descriptor = self._descriptor(0)
        self.checks.append(FrozenCheck(condition.number, tuple(v.number for v in shown), descriptor))

    def _descriptor(self, depth: int) -> Descriptor:
        tokens = self.tokens
        at, quoted = tokens.at, tokens.kind == "string"
        error = self.values.string() if quoted else tokens.take("name", "an error class of tg")
        cls = getattr(errors, error, None)
        if errors.FOREIGN not in error and not (isinstance(cls, type) and issubclass(cls, errors.TgError)):
            raise tokens.refusal(at, f"found {error}, needed an error class of tg")
        text = self.values.string()
        hint = self.values.string() if tokens.accept("hint") else None
        stated = tokens.accept("stated")
        told = self._told() if tokens.accept("told") else None
        inner = self._inner(depth) if tokens.accept("inner") else ()
        return Descriptor(error, text, hint, inner, stated, told)

    def _told(self) -> tuple[int, ...]:
        """The user's steps that the steps of a loop are: a stride and a start, or nothing."""
        at, steps = self.tokens.at, self.values.field()
        if not (isinstance(steps, tuple) and len(steps) in (0, 2) and all(type(n) is int for n in steps)):
            raise self.tokens.refusal(at, f"found {steps!r}, needed a stride and a start, or ()")
        return steps

    def _inner(self, depth: int) -> tuple[Descriptor, ...]:
        """The checks of a graph that is defined above, or descriptors one by one."""
        if self.tokens.kind == "graph":
            return tuple(c.descriptor for c in self.values.graph().checks)
        if depth == MOST_NESTED:
            raise self.tokens.refusal(self.tokens.at, f"found checks nested more than {depth} deep, needed fewer")
        self.tokens.expect("(")
        descriptors: list[Descriptor] = []
        while not self.tokens.accept(")"):
            descriptors.append(self._descriptor(depth + 1))
            self._separated(")")
        return tuple(descriptors)


def _with_atoms(t: TensorType, number: int) -> TensorType:
    """The type with an atom of its own for every unknown length."""
    if None not in t.shape:
        return t
    slot, n = ValueSlot(number), len(t.shape)
    return t.with_shape(
        [of_atom(AxisLength(slot, k - n, not_one=True)) if d is None else d for k, d in enumerate(t.shape)]
    )


def _size(value: _Value) -> int | Length:
    if value.type.shape or not is_integer(value.type.dtype):
        text = f"size: found {value.type}, needed an integer scalar"
        raise errors.ShapeError(text)
    return int(value.constant.data) if value.constant is not None else of_atom(ScalarValue(ValueSlot(value.number)))


def _agree(inferred: TensorType, declared: TensorType) -> bool:
    """Whether a declared type has the dtype and rank of the inferred one, and no known length that contradicts it."""
    if inferred.dtype != declared.dtype or len(inferred.shape) != len(declared.shape):
        return False
    pairs = zip(inferred.shape, declared.shape, strict=True)
    return all(type(a) is not int or type(b) is not int or a == b for a, b in pairs)
