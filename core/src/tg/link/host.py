"""Functions that run on the host with NumPy: the sizes that depend on values, and the checks that shapes decide.

Lengths of intermediate values are computed from the lengths of inputs, through the graph's symbolic types: nothing but
what a size depends on is evaluated.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Final, NamedTuple, final

import numpy as np

from tg.graph.frozen import ValueSlot
from tg.link.colour import colours
from tg.link.linker import add_node_note
from tg.link.symbolic import host_function, operators, refuse
from tg.ops.control import lower_checks
from tg.ops.shape import AxisLength
from tg.types import lengths, substitution
from tg.types.atoms import AxisLength as AxisAtom
from tg.types.atoms import Derived
from tg.types.lengths import Length

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from tg.graph.frozen import FrozenGraph, Node
    from tg.graph.op import InnerInput
    from tg.link.funcify import FuncifyLinker
    from tg.link.symbolic import Symbols
    from tg.types.atoms import Atom

    Array = np.ndarray[Any, Any]

OPERATORS: Final = {
    "//": "floor_divide",
    "%": "remainder",
    "min": "minimum",
    "max": "maximum",
    "broadcast": "broadcast",
}


class HostFunction(NamedTuple):
    """A function of a graph's inputs, its text, and the inputs whose values it reads (of the others, only shapes)."""

    function: Callable[..., tuple[Any, ...]]
    source: str
    reads: frozenset[int]


@final
class Shaped:
    """Stands for an array of which only the shape is needed."""

    __slots__ = ("shape",)

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.shape = shape


def host_sizes(graph: FrozenGraph, name: str, as_numpy: Callable[[Any], Any]) -> HostFunction | None:
    """The function of the sizes that depend on values, None if there are none.

    It gives one int for each entry of `colours(graph).sizes`, then one tuple for each of `calls`: for each inner graph
    the sizes inside, () where they change from one application of the graph to the next.
    """
    colouring = colours(graph)
    if not (colouring.sizes or colouring.calls):
        return None
    writer = _HostWriter(graph, name, as_numpy)
    for number in colouring.calls:
        writer.inner[number] = tuple(
            sizes.function if sizes is not None and sizes.is_fixed else None
            for sizes in sizes_inside(graph.nodes[number], f"{name}_{number}", as_numpy)
        )
    results = [*(f"int(n{k})" for k in colouring.sizes), *(f"s{number}" for number in colouring.calls)]
    return writer.function(colouring.sizes, [f"return ({', '.join(results)},)"])


class SizesInside(NamedTuple):
    """The function of the sizes in an inner graph that depend on values."""

    function: HostFunction
    is_fixed: bool  # whether they are the same in all applications: made of operands that do not change


def sizes_inside(node: Node, name: str, as_numpy: Callable[[Any], Any]) -> list[SizesInside | None]:
    """For each inner graph of a node the sizes in it that depend on values; None where there are none."""
    entries: list[SizesInside | None] = []
    graphs, places = node.op.inner_graphs(), node.op.inner_inputs(len(node.inputs))
    for k, (graph, inputs) in enumerate(zip(graphs, places, strict=True)):
        function = host_sizes(lower_checks(graph), f"{name}_{k}", as_numpy)
        is_fixed = function is not None and all(inputs[place].is_same for place in function.reads)
        entries.append(None if function is None else SizesInside(function, is_fixed))
    return entries


def host_checks(graph: FrozenGraph, name: str, symbols: Symbols | None = None) -> HostFunction:
    """The function that raises for the first check of a graph that fails; shapes alone must decide the checks."""
    writer = _HostWriter(graph, name, lambda array: array, symbols)
    from_shapes = colours(graph).shape
    body: list[str] = []
    needed: list[int] = []
    integer = "int" if symbols is None else ""
    for k, check in enumerate(graph.checks):
        values = [f"{integer}({writer.name(v)})" if v in from_shapes else "0" for v in check.values]
        needed.extend((check.condition, *(v for v in check.values if v in from_shapes)))
        condition, shown = writer.name(check.condition), f"({''.join(v + ', ' for v in values)})"
        if symbols is None:
            writer.scope[f"error{k}"] = check.descriptor.build
            body.append(f"if not {condition}: raise error{k}({shown})")
        else:
            writer.scope[f"refuse{k}"] = functools.partial(refuse, check.descriptor)
            body.append(f"refuse{k}({condition}, {shown})")
    return writer.function(needed, [*body, "return ()"])


@final
class _HostWriter:
    """Collects the lines of a function over `n0`, `n1`, …: the inputs, and the values computed from them."""

    def __init__(
        self, graph: FrozenGraph, name: str, as_numpy: Callable[[Any], Any], symbols: Symbols | None = None
    ) -> None:
        self.graph, self.title, self.symbols = graph, name, symbols
        self.inner: dict[int, tuple[HostFunction | None, ...]] = {}  # by node: what computes the sizes inside
        self.scope: dict[str, Any] = {"__name__": __name__, "np": np, "as_numpy": as_numpy, "Shaped": Shaped}
        self.scope.update({text: lengths.OPERATIONS[kind] for kind, text in OPERATORS.items()})
        if symbols is not None:
            self.scope.update(operators(symbols))

    def function(self, wanted: Iterable[int], body: list[str]) -> HostFunction:
        """The function that computes the values `wanted` and then runs the lines of `body`."""
        graph = self.graph
        needed = self._needed(wanted)
        reads = frozenset(k for k in needed if k < graph.arity)
        lines = [f"def {self.title}({', '.join(f'n{k}' for k in range(graph.arity))}):"]
        lines += [f"    n{k} = as_numpy(n{k})" for k in sorted(reads)]
        for number, node in enumerate(graph.nodes):
            if any(k in needed for k in node.outputs):
                lines.append(f"    {self._node(number, node)}")
            if number in self.inner:
                lines.append(f"    {self._sizes_inside(number, node)}")
        text = "\n".join([*lines, *(f"    {line}" for line in body)]) + "\n"
        exec(compile(text, f"<tg {self.title}>", "exec"), self.scope)
        return HostFunction(self.scope[self.title], text, reads)

    def _needed(self, wanted: Iterable[int]) -> set[int]:
        """The values to be computed, and the inputs to be read."""
        graph, needed = self.graph, set(wanted)
        for number in reversed(range(len(graph.nodes))):
            node = graph.nodes[number]
            if number in self.inner:
                needed.update(self._read_inside(number, node))
            if not any(k in needed for k in node.outputs):
                continue
            needed.update(self._owners(self._length(node)) if isinstance(node.op, AxisLength) else node.inputs)
        return needed

    def _read_inside(self, number: int, node: Node) -> set[int]:
        """The values that inner sizes need: those they read, and those that the lengths of the others depend on."""
        values: set[int] = set()
        for inner, inputs in zip(self.inner[number], node.op.inner_inputs(len(node.inputs)), strict=True):
            if inner is None:
                continue
            for position, source in enumerate(inputs):
                k = node.inputs[source.operand]
                if position in inner.reads:
                    values.add(k)
                elif k >= self.graph.arity:
                    for n in self.graph.symbolic[k].shape[source.is_slice :]:
                        values |= self._owners(n)
        return values

    def _owners(self, length: int | Length | None) -> set[int]:
        """The values that must be computed to know a length: not inputs of which it is just the length."""
        owners = set()
        for atom in substitution.atoms(length):
            number = _owner(atom)
            if type(atom) is not AxisAtom or number >= self.graph.arity:
                owners.add(number)
        return owners

    def _length(self, node: Node) -> int | Length | None:
        assert isinstance(node.op, AxisLength)
        source, axis = node.inputs[0], node.op.axis
        static = self.graph.types[source].shape[axis]
        if static is not None:
            return static
        if source < self.graph.arity:
            return lengths.of_atom(AxisAtom(ValueSlot(source), axis))
        return self.graph.symbolic[source].shape[axis]

    def _node(self, number: int, node: Node) -> str:
        if isinstance(node.op, AxisLength):
            text = self._text(self._length(node))
            return f"n{node.outputs[0]} = {text if self.symbols is not None else f'np.array({text}, np.int64)'}"
        dtypes = [self.graph.types[k].dtype for k in (*node.inputs, *node.outputs)]
        symbols = self.symbols
        self.scope[f"p{number}"] = node.op.perform if symbols is None else host_function(node.op, dtypes, symbols)
        targets = "".join(f"n{k}, " for k in node.outputs)
        return f"{targets}= p{number}({', '.join(map(self.name, node.inputs))})"

    def _sizes_inside(self, number: int, node: Node) -> str:
        texts, places = [], node.op.inner_inputs(len(node.inputs))
        for j, (inner, inputs) in enumerate(zip(self.inner[number], places, strict=True)):
            if inner is None:
                texts.append("()")
                continue
            self.scope[f"sizes{number}_{j}"] = inner.function
            arguments = [
                self._argument(node.inputs[source.operand], source, is_read=position in inner.reads)
                for position, source in enumerate(inputs)
            ]
            texts.append(f"sizes{number}_{j}({', '.join(arguments)})")
        return f"s{number} = ({', '.join(texts)},)"

    def _argument(self, k: int, source: InnerInput, *, is_read: bool) -> str:
        """An input of an inner graph: its value if that is read, or what has its shape."""
        if is_read or (k < self.graph.arity and not source.is_slice):
            return self.name(k)
        if k < self.graph.arity:
            return f"Shaped(tuple({self.name(k)}.shape[1:]))"
        return f"Shaped(({''.join(self._text(n) + ', ' for n in self.graph.symbolic[k].shape[source.is_slice :])}))"

    def name(self, k: int) -> str:
        """A value in the function's text."""
        constant = self.graph.constant(k)
        if constant is None:
            return f"n{k}"
        self.scope[f"k{k}"] = constant.data
        return f"k{k}"

    def _text(self, length: int | Length | None) -> str:
        """A length as a Python expression."""
        if type(length) is not Length:
            return str(length)
        products = ("*".join([str(factor), *map(self._atom, atoms)]) for atoms, factor in length.terms.items())
        return " + ".join(products)

    def _atom(self, atom: Atom) -> str:
        if type(atom) is Derived:
            return f"{OPERATORS[atom.kind]}({self._text(atom.lhs)}, {self._text(atom.rhs)})"
        name = self.name(_owner(atom))
        return f"{name}.shape[{atom.axis}]" if type(atom) is AxisAtom else f"int({name})"


def _owner(atom: Atom) -> int:
    slot = getattr(atom, "owner", None)
    assert isinstance(slot, ValueSlot)
    return slot.number


def called_back(linker: FuncifyLinker, graph: FrozenGraph, number: int) -> Callable[..., Any]:
    """The rule of an op that calls Python, where nothing is traced: to NumPy, the reference, and back."""
    op = graph.nodes[number].op

    def rule(*arrays: Any) -> Any:
        try:
            results = op.perform(*(a if type(a) is int else linker.to_numpy(a) for a in arrays))
        except Exception as error:
            add_node_note(error, graph, number)
            raise
        natives = tuple(map(linker.to_native, results))
        return natives[0] if len(natives) == 1 else natives

    return rule


def quiet(perform: Callable[..., tuple[Array, ...]]) -> Callable[..., tuple[Array, ...]]:
    """The function of an op, without NumPy's warnings."""

    def run(*arrays: Array) -> tuple[Array, ...]:
        with np.errstate(all="ignore"):
            return perform(*arrays)

    return run
