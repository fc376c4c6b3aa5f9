"""The lengths of a graph's values as generated code knows them when it computes them.

Unlike `FrozenGraph.symbolic`, lengths are expressed by what comes before a value: equalities that a node needs are not
used to rename lengths but collected, and the generated function makes sure of each before it runs the node.
"""

from __future__ import annotations

import math
from collections import Counter
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple, final

from tg.errors import ShapeError, message
from tg.graph.frozen import ValueSlot, symbolic_inputs, types_for
from tg.types import lengths, magnitudes
from tg.types.atoms import AxisLength, Derived, ScalarValue, key
from tg.types.lengths import Length, of_atom
from tg.types.requirements import Requirements
from tg.types.substitution import atoms
from tg.types.tensor_type import TensorType
from tg_native.fusion.loop import Loop
from tg_native.plan.values import count

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from tg.graph.frozen import FrozenGraph, Node
    from tg.types.atoms import Atom

    Pair = tuple[int | Length, int | Length]

INT64_SCALAR = TensorType("int64")


class Shapes(NamedTuple):
    """The type of each value, for each node the pairs of lengths that must be equal, and scalars that are lengths."""

    types: tuple[TensorType, ...]
    equal: tuple[tuple[Pair, ...], ...]
    values: Mapping[int, int | Length]

    def size(self, frozen: FrozenGraph, number: int) -> int | Length:
        """A scalar that is used as a size."""
        return _value(frozen, number, self.values)


@final
class _Pairs(Requirements):
    """Collects the equalities that shape rules need, and renames nothing."""

    __slots__ = ("pairs",)

    def __init__(self) -> None:
        super().__init__()
        self.pairs: list[Pair] = []

    def require(
        self, a: int | Length, b: int | Length, what: Callable[[], str] | None, broadcasts: bool = False
    ) -> int | Length:
        self.pairs.append((a, b))
        return b if type(b) is int else a

    def resolve(self, length: int | Length) -> int | Length:
        return length


class _Operand(NamedTuple):
    """Interface of an operand that `Op.length_value` needs."""

    number: int
    shape: tuple[Any, ...]
    type: TensorType


def shapes_of(frozen: FrozenGraph) -> Shapes:
    """Infer the types of all values in terms of inputs and earlier values."""
    slots = [ValueSlot(k) for k in range(len(frozen.types))]
    first = frozen.arity + len(frozen.constants)
    types: list[Any] = [_with_atoms(t, slots[k]) for k, t in enumerate(frozen.types[:first])]
    types.extend([None] * (len(frozen.types) - first))
    values: dict[int, int | Length] = {}
    equal: list[tuple[Pair, ...]] = []
    for node in frozen.nodes:
        with _Pairs() as needs:
            operands: list[Any] = [types[k] for k in node.inputs]
            for position in node.op.size_operands(len(node.inputs)):
                operands[position] = _value(frozen, node.inputs[position], values)
            results = node.op.infer(*operands)
            for number, t in zip(node.outputs, results, strict=True):
                types[number] = _declared(t, frozen.types[number], slots[number], needs.pairs)
            _note_value(node, frozen, types, values)
        equal.append(tuple(needs.pairs))
    return Shapes(tuple(types), tuple(equal), values)


def _with_atoms(t: TensorType, slot: ValueSlot) -> TensorType:
    n = len(t.shape)
    return t.with_shape([_own(slot, k - n) if d is None else d for k, d in enumerate(t.shape)])


def _own(slot: ValueSlot, axis: int) -> Length:
    return of_atom(AxisLength(slot, axis, not_one=True))


def _declared(inferred: TensorType, declared: TensorType, slot: ValueSlot, pairs: list[Pair]) -> TensorType:
    """The inferred type with the lengths that the graph states as ints, which must then hold."""
    shape: list[int | Length | None] = []
    for axis, (n, length) in enumerate(zip(inferred.shape, declared.shape, strict=True)):
        if type(length) is int:
            if n is not None and type(n) is not int:
                pairs.append((length, n))
            shape.append(length)
        else:
            shape.append(_own(slot, axis - len(declared.shape)) if n is None else n)
    return inferred.with_shape(shape)


def _value(frozen: FrozenGraph, number: int, values: Mapping[int, int | Length]) -> int | Length:
    constant = frozen.constant(number)
    if constant is not None:
        return int(constant.data)
    return values.get(number, of_atom(ScalarValue(ValueSlot(number))))


def _note_value(node: Node, frozen: FrozenGraph, types: list[Any], values: dict[int, int | Length]) -> None:
    """Remember an int64 scalar that is made of lengths as a length."""
    if len(node.outputs) != 1 or frozen.types[node.outputs[0]] != INT64_SCALAR:
        return
    operands: Any = [_Operand(k, types[k].shape, frozen.types[k]) for k in node.inputs]
    value = node.op.length_value(operands, lambda v: _value(frozen, v.number, values))  # type: ignore[attr-defined]
    if value is not None and not lengths.is_large(value):
        values[node.outputs[0]] = value


def resolved(frozen: FrozenGraph) -> list[tuple[Any, ...]]:
    """The shapes of all values, in which lengths that must be equal are one."""
    with Requirements() as needs:
        types: Any = types_for(frozen, symbolic_inputs(frozen))
    return [tuple(needs.resolve(n) for n in t.shape) for t in types]


def needs_plan(graph: FrozenGraph) -> bool:
    """Whether the lengths of some output depend on more than those of the inputs."""
    return not all(follows_from_inputs(graph, number) for number in graph.outputs)


def number_of(atom: Atom) -> int:
    """The value that an atom belongs to."""
    owner: ValueSlot = atom.owner  # type: ignore[attr-defined]
    return owner.number


def follows_from_inputs(graph: FrozenGraph, number: int) -> bool:
    """Whether the lengths of a value follow from those of the inputs alone."""
    shape: tuple[Any, ...] = graph.symbolic[number].shape
    return all(type(a) is AxisLength and number_of(a) < graph.arity for n in shape for a in atoms(n))


def inexact(length: int | Length) -> list[Length]:
    """The polynomials in a length, itself among them, of which it is not known that int64 holds them.

    Generated code computes with int64, which wraps, and beside it with float64, which rounds: where the two are less
    than 2**62 apart nothing has wrapped.
    """
    polynomials: dict[object, Length] = {}
    stack = [length]
    while stack:
        top = stack.pop()
        if type(top) is Length and not magnitudes.is_exact(top) and top.key not in polynomials:
            polynomials[top.key] = top
            sides = (side for m in top.terms for a in m if type(a) is Derived for side in (a.lhs, a.rhs))
            stack.extend(side for side in sides if not magnitudes.is_exact_inside(side))
    return list(polynomials.values())


def is_scalar(length: Length) -> bool:
    """Whether a length is just the value of a scalar, which int64 holds."""
    return type(length.atom) is ScalarValue


def is_within(length: int | Length) -> bool:
    """Whether a length is known to be from 0 to the longest that there is."""
    return lengths.is_natural(length) and magnitudes.is_exact(length)


def is_countable(shape: Sequence[int | Length], others: Iterable[Sequence[int | Length]]) -> bool:
    """Whether the elements of a shape are known to be no more than int64 counts, or than those of another array."""
    if magnitudes.magnitude(count(shape)) <= LONGEST_OF_ANY:
        return True
    static, own = _parts(shape)
    for other in others:
        most, symbols = _parts(other)
        if static <= max(most, 1) and own <= symbols:
            return True
    return False


def new_shapes(graph: FrozenGraph, shapes: Shapes, k: int) -> list[tuple[tuple[Any, ...], int]]:
    """The shapes of the results of node k, each with the bytes of an element, and the index space of a loop."""
    node = graph.nodes[k]
    types = [shapes.types[number] for number in node.outputs]
    pairs: list[tuple[tuple[Any, ...], int]] = [(t.shape, t.numpy_dtype.itemsize) for t in types if t.shape]
    if isinstance(node.op, Loop):
        space = index_space(node.op, [shapes.types[n] for n in (*node.inputs, *node.outputs)])
        pairs.append((tuple(space), 1))
    return [(s, item) for s, item in pairs if not any(number_of(a) in node.outputs for n in s for a in atoms(n))]


def index_space(loop: Loop, types: Sequence[TensorType]) -> list[Any]:
    """The lengths of a loop's index space: on each axis that of a value which is not repeated along it."""
    columns = zip(*(t.shape for t in types if t.ndim == len(loop.extents)), strict=True)
    return [next((n for n in column if type(n) is not int or n != 1), 1) for column in columns]


def _parts(shape: Sequence[int | Length]) -> tuple[int, Counter[object]]:
    """The product of the known lengths, and the others."""
    numbers = [n for n in shape if type(n) is int]
    return math.prod(numbers), Counter(key(n) for n in shape if type(n) is not int)


LONG_AND_EMPTY: Final = 2**30  # bytes, of an array without elements, beyond which loops would go over it for seconds
LONGEST_OF_ANY: Final = 2**63 >> 5  # elements of which no dtype makes more bytes than int64 counts


def python_length(length: Any, graph: FrozenGraph) -> str:
    """A length of an output as a Python expression of the input arrays `a0`, `a1` and so on, and of `LENGTH_SCOPE`."""
    text = _polynomial(length, graph)
    return text if lengths.is_natural(length) else f"length({text})"


def _polynomial(length: Any, graph: FrozenGraph) -> str:
    if type(length) is not Length:
        return str(length)
    terms = []
    for monomial, factor in length.terms.items():
        factors = [_python_atom(atom, graph) for atom in monomial]
        terms.append("*".join([*([str(factor)] if factor != 1 or not factors else []), *factors]))
    return " + ".join(terms)


PYTHON: Final = {"//": "floor_divide", "%": "remainder", "min": "minimum", "max": "maximum", "broadcast": "broadcast"}


def _python_atom(atom: Atom, graph: FrozenGraph) -> str:
    if type(atom) is Derived:
        left, right = (_polynomial(side, graph) for side in (atom.lhs, atom.rhs))
        return f"n.{PYTHON[atom.kind]}({left}, {right})"
    assert type(atom) is AxisLength
    number = number_of(atom)
    axis = atom.axis + graph.types[number].ndim
    return f"a{number}.shape[{axis}]"


def _length(n: int) -> int:
    if n < 0:
        raise ShapeError(message(f"length: found {n}, needed at least 0"))
    return n


LENGTH_SCOPE: Final = MappingProxyType({"length": _length, "n": lengths})
"""What the expressions of `python_length` use."""


def results_text(results: Mapping[str, str]) -> list[str]:
    """Lines of a generated caller that make arrays for results, by their names; `refused` is told what no array can be.

    No length is too large for Python, and NumPy counts the bytes of an array before it asks for them.
    """
    if not results:
        return []
    lines = [f"        {name} = {text}" for name, text in results.items()]
    return ["    try:", *lines, "    except (MemoryError, ValueError) as error: return refused(arrays, error)"]
