"""`FrozenGraph`: a closed, immutable, hashable program; what a linker is given and what ops with inner graphs hold.

Values are numbered: the inputs first, then the constants, then the results of the nodes in topological order.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, Final, NamedTuple, final

from tg.graph import loc as locs
from tg.graph.checks import Check
from tg.graph.collector import paused
from tg.graph.nodes import Constant, Variable, apply
from tg.graph.operators import NAMESPACE
from tg.types.atoms import AxisLength, ScalarValue
from tg.types.lengths import Length, is_large, of_atom
from tg.types.requirements import Requirements
from tg.types.substitution import atoms
from tg.types.tensor_type import TensorType

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import numpy as np

    from tg.graph.checks import Descriptor
    from tg.graph.loc import Loc
    from tg.graph.op import Op


LENGTH_TYPE: Final = TensorType("int64")


class Node(NamedTuple):
    """One application: the op, and the numbers of its operands and results."""

    op: Op
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]


class FrozenCheck(NamedTuple):
    """A check by value numbers: the condition, the reported values, and what to raise."""

    condition: int
    values: tuple[int, ...]
    descriptor: Descriptor


class Origin(NamedTuple):
    """The origin of a node: the user's lines and the rules that made it."""

    locs: tuple[Loc, ...] = ()
    rules: tuple[str, ...] = ()


@final
class ValueSlot:
    """Stands for a numbered value as the owner of symbolic lengths."""

    __slots__ = ("name", "number", "serial")

    def __init__(self, number: int) -> None:
        self.number = self.serial = number
        self.name = f"%{number}"


PARTS: Final = ("arity", "types", "constants", "nodes", "outputs", "checks", "names", "origins", "assumed")


@final
class Deferred:
    """A graph that is made when it is first looked at; of several threads that make it at a time the first decides."""

    __slots__ = ("_graphs", "_make")

    def __init__(self, make: Callable[[], FrozenGraph]) -> None:
        self._make = make
        self._graphs: list[FrozenGraph] = []

    @property
    def graph(self) -> FrozenGraph:
        """The graph."""
        if not self._graphs:
            self._graphs.append(self._make())
        return self._graphs[0]


@final
class FrozenGraph:
    """A closed program over numbered values.

    Equality and hash are by structure: types, constants, nodes, outputs, checks and what is assumed of values. Names of
    inputs and the origins of nodes are kept beside and take no part in them.
    """

    __slots__ = (
        "_deferred",
        "_digest",
        "_kept_as",
        "_kept_constants",
        "_opened",
        "_prepared",
        "_symbolic",
        "arity",
        "assumed",
        "checks",
        "constants",
        "names",
        "nodes",
        "origins",
        "outputs",
        "types",
    )
    _deferred: Deferred | None
    _digest: int | None
    _kept_as: str | None
    _kept_constants: tuple[Constant, ...]
    _opened: tuple[object, Any]
    _prepared: Any
    _symbolic: tuple[TensorType, ...] | None
    arity: int
    types: tuple[TensorType, ...]
    constants: tuple[Constant, ...]
    nodes: tuple[Node, ...]
    outputs: tuple[int, ...]
    checks: tuple[FrozenCheck, ...]
    names: Mapping[int, str]
    origins: Mapping[int, Origin]
    assumed: Mapping[int, frozenset[str]]  # facts that were assumed of values, by their numbers

    def __init__(
        self,
        arity: int,
        types: Sequence[TensorType],
        constants: Sequence[Constant],
        nodes: Sequence[Node],
        outputs: Sequence[int],
        checks: Sequence[FrozenCheck] = (),
        names: Mapping[int, str] | None = None,
        origins: Mapping[int, Origin] | None = None,
        assumed: Mapping[int, frozenset[str]] | None = None,
    ) -> None:
        """Build from parts; `types` covers all values, `names` and `assumed` are by value, `origins` by node number."""
        put = object.__setattr__
        put(self, "arity", arity)
        put(self, "types", tuple(types))
        put(self, "constants", tuple(constants))
        put(self, "nodes", tuple(nodes))
        put(self, "outputs", tuple(outputs))
        put(self, "checks", tuple(checks))
        put(self, "names", dict(names or {}))
        put(self, "origins", dict(origins or {}))
        put(self, "assumed", dict(sorted((assumed or {}).items())))
        self._begin(None)

    def _begin(self, deferred: Deferred | None) -> None:
        put = object.__setattr__
        put(self, "_deferred", deferred)
        put(self, "_digest", None)
        put(self, "_kept_as", None)
        put(self, "_kept_constants", ())
        put(self, "_opened", (None, None))
        put(self, "_prepared", None)
        put(self, "_symbolic", None)

    @classmethod
    def deferred(cls, make: Callable[[], FrozenGraph]) -> FrozenGraph:
        """A graph that takes its parts from another, made when one of them is first looked at."""
        graph = object.__new__(cls)
        graph._begin(Deferred(make))
        return graph

    if not TYPE_CHECKING:  # to a type checker all parts are there

        def __getattr__(self, name: str) -> Any:
            """A part of a deferred graph: a slot that is still empty."""
            deferred = self._deferred if name in PARTS else None
            if deferred is not None:
                for part in PARTS:
                    object.__setattr__(self, part, getattr(deferred.graph, part))
                object.__setattr__(self, "_deferred", None)
            return object.__getattribute__(self, name)

    def __setattr__(self, name: str, value: object) -> None:
        text = f"FrozenGraph.{name} cannot be set, frozen graphs are immutable"
        raise AttributeError(text)

    @property
    def input_types(self) -> tuple[TensorType, ...]:
        """The types of the inputs."""
        return self.types[: self.arity]

    @property
    def output_types(self) -> tuple[TensorType, ...]:
        """The types of the outputs."""
        return tuple(self.types[k] for k in self.outputs)

    def constant(self, number: int) -> Constant | None:
        """The constant with this value number, None if the value is not one."""
        k = number - self.arity
        return self.constants[k] if 0 <= k < len(self.constants) else None

    @property
    def kept_as(self) -> str | None:
        """The name under which this program is kept on disk, as it is here; None where it is not."""
        return self._kept_as

    @property
    def kept_constants(self) -> tuple[Constant, ...]:
        """The constants of a program on disk to which what else is kept of it refers, by their places."""
        return self._kept_constants

    def keep_as(self, name: str, constants: Sequence[Constant]) -> None:
        """Say that the program is kept under a name, with these constants: of this object alone, not of copies."""
        object.__setattr__(self, "_kept_constants", tuple(constants))
        object.__setattr__(self, "_kept_as", name)

    @property
    def prepared(self) -> Any:
        """The form that `tg.graph.interpret` runs in place of this graph; None until it has been asked to."""
        return self._prepared

    def keep_prepared(self, steps: object) -> None:
        """Keep what runs in place of this graph: of this object alone, not of copies."""
        object.__setattr__(self, "_prepared", steps)

    def opened(self, way: object) -> Any:
        """This graph over variables, as derivatives are taken of it; None until it has been opened in this way."""
        key, value = self._opened
        return value if key is way else None

    def keep_opened(self, way: object, value: object) -> None:
        """Keep this graph over variables, opened in one way: of this object alone, not of copies."""
        object.__setattr__(self, "_opened", (way, value))

    @property
    def structure(self) -> tuple[object, ...]:
        """The key that equal graphs share."""
        return (
            self.types[: self.arity],
            tuple(c.key for c in self.constants),
            self.nodes,
            self.outputs,
            self.checks,
            tuple(self.assumed.items()),
        )

    @property
    def digest(self) -> int:
        """The hash of the structure, computed once."""
        value = self._digest
        if value is None:
            value = hash(self.structure)
            object.__setattr__(self, "_digest", value)
        return value

    def __hash__(self) -> int:
        return self.digest

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if type(other) is not FrozenGraph:
            return NotImplemented
        return self.digest == other.digest and self.structure == other.structure

    def __repr__(self) -> str:
        return f"<graph of {self.arity} inputs, {len(self.nodes)} nodes, {len(self.outputs)} outputs>"

    def __reduce__(self) -> tuple[object, ...]:
        parts = (self.arity, self.types, [c.data for c in self.constants], self.nodes, self.outputs, self.checks)
        return (_rebuild, (*parts, self.names, self.origins, self.assumed))

    @property
    def symbolic(self) -> tuple[TensorType, ...]:
        """The types of all values with symbolic lengths over `ValueSlot`s: the shape graph, computed once.

        Unknown lengths count as different from 1, and lengths that a check makes equal are one length.
        """
        types = self._symbolic
        if types is None:
            types = _symbolic_types(self)
            object.__setattr__(self, "_symbolic", types)
        return types

    def deciding_lengths(self, number: int) -> frozenset[int]:
        """The values that decide how long a value is: -1 for any that is no input; lengths of inputs are none."""
        deciding = set()
        for atom in (a for n in self.symbolic[number].shape for a in atoms(n)):
            owner = getattr(getattr(atom, "owner", None), "number", self.arity)
            if owner >= self.arity or type(atom) is not AxisLength:
                deciding.add(owner if owner < self.arity else -1)
        return frozenset(deciding)

    def instantiate(self, inputs: Sequence[Variable]) -> tuple[Variable, ...]:
        """The outputs as variables over the given inputs: this graph inlined, without what its checks require."""
        values = self._over(inputs)
        return tuple(values[k] for k in self.outputs)

    def instantiate_with_checks(self, inputs: Sequence[Variable]) -> tuple[tuple[Variable, ...], list[Check]]:
        """The outputs over the given inputs, and the stated checks, which no op of the outputs would make again."""
        values = self._over(inputs)
        stated = [check for check in self.checks if check.descriptor.stated]
        checks = [Check(values[c.condition], tuple(values[k] for k in c.values), c.descriptor) for c in stated]
        return tuple(values[k] for k in self.outputs), checks

    def _over(self, inputs: Sequence[Variable]) -> list[Variable]:
        """All values as variables over the given inputs."""
        values: list[Variable] = [*(self._promised(k, v) for k, v in enumerate(inputs)), *self.constants]
        with locs.at(None):
            for k, node in enumerate(self.nodes):
                origin = self.origins.get(k)
                locs.fix(origin.locs[0] if origin is not None and origin.locs else None)
                results = apply(node.op, [values[i] for i in node.inputs])
                values.extend(map(self._promised, node.outputs, results) if self.assumed else results)
        return values

    def _promised(self, number: int, v: Variable) -> Variable:
        """A value with what is assumed of it."""
        names = self.assumed.get(number)
        return v if names is None else NAMESPACE.assume_facts(v, names)

    def with_nodes(self, nodes: Sequence[Node]) -> FrozenGraph:
        """The same program with other ops in its nodes."""
        if all(a is b for a, b in zip(nodes, self.nodes, strict=True)):
            return self
        parts = (self.outputs, self.checks, self.names, self.origins, self.assumed)
        return FrozenGraph(self.arity, self.types, self.constants, nodes, *parts)

    def with_origins(self, origins: Mapping[int, Origin]) -> FrozenGraph:
        """The same program with other origins of its nodes."""
        parts = (self.nodes, self.outputs, self.checks, self.names, origins, self.assumed)
        return FrozenGraph(self.arity, self.types, self.constants, *parts)

    def last_uses(self) -> tuple[tuple[int, ...], ...]:
        """For each node the values that nothing after it reads, so that they may be freed or overwritten."""
        keep = set(self.outputs)
        for check in self.checks:
            keep.update((check.condition, *check.values))
        live: set[int] = set(range(self.arity + len(self.constants))) | keep
        uses: list[tuple[int, ...]] = []
        for node in reversed(self.nodes):
            dying = [k for k in dict.fromkeys((*node.inputs, *node.outputs)) if k not in live]
            live.update(dying)
            uses.append(tuple(dying))
        return tuple(reversed(uses))


def _rebuild(
    arity: int,
    types: Sequence[TensorType],
    arrays: Sequence[np.ndarray[Any, Any]],
    nodes: Sequence[Node],
    outputs: Sequence[int],
    checks: Sequence[FrozenCheck],
    names: Mapping[int, str],
    origins: Mapping[int, Origin],
    assumed: Mapping[int, frozenset[str]],
) -> FrozenGraph:
    constants = [Constant(a) for a in arrays]
    return FrozenGraph(arity, types, constants, nodes, outputs, checks, names, origins, assumed)


def _symbolic_types(frozen: FrozenGraph) -> tuple[TensorType, ...]:
    slots = [ValueSlot(k) for k in range(len(frozen.types))]
    with Requirements() as needs:
        return tuple(_inferred(frozen, symbolic_inputs(frozen), slots, needs.resolve))


def symbolic_inputs(frozen: FrozenGraph) -> list[TensorType]:
    """The types of the inputs, in which every unknown length is an atom of its own."""
    return [_with_atoms(t, ValueSlot(k)) for k, t in enumerate(frozen.input_types)]


def types_for(frozen: FrozenGraph, inputs: Sequence[TensorType]) -> list[TensorType]:
    """The symbolic types of all values for inputs of these symbolic types, which may broadcast where they may be 1.

    Lengths that no input determines are atoms whose owners are `ValueSlot`s.
    """
    slots = [ValueSlot(k) for k in range(len(frozen.types))]
    return _inferred(frozen, inputs, slots, lambda length: length)


@paused
def _inferred(
    frozen: FrozenGraph,
    inputs: Sequence[TensorType],
    slots: Sequence[ValueSlot],
    resolve: Callable[[int | Length], int | Length],
) -> list[TensorType]:
    """The one shape rule run over a graph."""
    types = [*inputs, *frozen.types[frozen.arity : frozen.arity + len(frozen.constants)]]
    values: dict[int, int | Length] = {}
    for node in frozen.nodes:
        arguments: list[object] = [types[k] for k in node.inputs]
        for position in node.op.size_operands(len(node.inputs)):
            arguments[position] = resolve(_value(frozen, node.inputs[position], values, slots))
        for number, t in zip(node.outputs, node.op.infer(*arguments), strict=True):
            types.append(_with_atoms(_more_precise(t, frozen.types[number], resolve), slots[number]))
        _note_length_value(node, frozen, types, values, slots)
    return types


def _with_atoms(t: TensorType, slot: ValueSlot) -> TensorType:
    """The type with an atom of its own for every length that is unknown, or large."""
    n = len(t.shape)
    own = [d is None or is_large(d) for d in t.shape]
    if not any(own):
        return t
    pairs = enumerate(zip(t.shape, own, strict=True))
    return t.with_shape([of_atom(AxisLength(slot, k - n, not_one=True)) if one else d for k, (d, one) in pairs])


def _more_precise(
    inferred: TensorType, declared: TensorType, resolve: Callable[[int | Length], int | Length]
) -> TensorType:
    """The inferred type with the lengths that the graph declares statically, and of equal lengths the one for all."""
    pairs = zip(inferred.shape, declared.shape, strict=True)
    shape = tuple(d if type(d) is int else n if n is None else resolve(n) for n, d in pairs)
    return inferred if all(map(operator.is_, shape, inferred.shape)) else inferred.with_shape(shape)


def _value(
    frozen: FrozenGraph, number: int, values: dict[int, int | Length], slots: Sequence[ValueSlot]
) -> int | Length:
    constant = frozen.constant(number)
    if constant is not None:
        return int(constant.data)
    return values.get(number, of_atom(ScalarValue(slots[number])))


class _Operand:
    """An operand for `Op.length_value`: its symbolic shape and, through `value_of`, its number."""

    __slots__ = ("number", "shape", "type")

    def __init__(self, number: int, symbolic: TensorType, static: TensorType) -> None:
        self.number, self.shape, self.type = number, symbolic.shape, static


def _note_length_value(
    node: Node,
    frozen: FrozenGraph,
    types: Sequence[TensorType],
    values: dict[int, int | Length],
    slots: Sequence[ValueSlot],
) -> None:
    if len(node.outputs) != 1 or frozen.types[node.outputs[0]] != LENGTH_TYPE:
        return
    operands: Any = [_Operand(k, types[k], frozen.types[k]) for k in node.inputs]
    value = node.op.length_value(operands, lambda v: _value(frozen, v.number, values, slots))  # type: ignore[attr-defined]
    if value is not None and not is_large(value):
        values[node.outputs[0]] = value
