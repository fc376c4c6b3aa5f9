"""Scalar programs over index spaces: what elementwise ops and fused loops become."""

from __future__ import annotations

from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple, final

from tg.graph.frozen import FrozenGraph, Node
from tg.graph.op import exact_key
from tg.link.declines import taken
from tg.ops.elementwise.cast import Cast
from tg.ops.elementwise.record import Elementwise
from tg.types.tensor_type import TensorType
from tg_native.kernels.dtypes import is_half, working
from tg_native.kernels.lanes import constant_of
from tg_native.kernels.libm import is_written
from tg_native.loops.costs import has_many_steps
from tg_native.loops.divisors import inverses, quotient
from tg_native.loops.repeats import form_of, keys, once
from tg_native.loops.signs import never_positive
from tg_native.plan.values import Array, Scalar, collapsed, is_one, is_zero, spread

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from tg.graph.op import Op
    from tg.ops.elementwise.record import ElementwiseFunction
    from tg.types.lengths import Length
    from tg_native.graphs.site import Site
    from tg_native.kernels.index import Counted, Index, Pointer
    from tg_native.kernels.lanes import Elements
    from tg_native.kernels.routine import Block, Routine
    from tg_native.loops.divisors import Inverse
    from tg_native.loops.function import Function
    from tg_native.loops.kernel import Kernel
    from tg_native.plan.values import Value


NO_INVERSES: Final[Mapping[int, Inverse]] = MappingProxyType({})
SHORT: Final = 48  # steps of a program that is worth being written twice, for full and for partial blocks

ABREAST: Final = 2  # vectors that a chain of steps works on at once


class ScalarProgram(NamedTuple):
    """Steps over numbered scalars: the operands first; `constants` are those that are known.

    Of `never_positive` values rules are told, which may have a form for them, and of `shifted` ones, among which those
    above 0 have an infinite one beside them in a sum (`tg_native.loops.signs`).
    """

    dtypes: tuple[str, ...]
    constants: Mapping[int, Any]
    nodes: tuple[Node, ...]
    outputs: tuple[int, ...]
    never_positive: frozenset[int] = frozenset()
    shifted: frozenset[int] = frozenset()

    @property
    def form(self) -> tuple[object, ...]:
        """Hashable content, the same for equal programs."""
        return (self.dtypes, exact_key(tuple(self.constants.items())), self.nodes, self.outputs, self.never_positive)


@final
class Steps:
    """A scalar program in the making; values are their numbers, the operands first."""

    def __init__(self, dtypes: Sequence[str]) -> None:
        self.dtypes = list(dtypes)
        self.constants: dict[int, Any] = {}
        self.nodes: list[Node] = []

    def _new(self, dtype: str) -> int:
        self.dtypes.append(dtype)
        return len(self.dtypes) - 1

    def constant(self, value: int, dtype: str) -> int:
        """A number that is known."""
        number = self._new(dtype)
        self.constants[number] = value
        return number

    def do(self, fn: ElementwiseFunction, *operands: int, result: str | None = None) -> int:
        """The result of a function, of the dtype of its last operand unless it is given."""
        number = self._new(result or self.dtypes[operands[-1]])
        self.nodes.append(Node(fn.op, operands, (number,)))
        return number

    def cast(self, operand: int, dtype: str) -> int:
        """A value in another dtype."""
        if self.dtypes[operand] == dtype:
            return operand
        number = self._new(dtype)
        self.nodes.append(Node(Cast(dtype), (operand,), (number,)))
        return number

    def program(self, *outputs: int) -> ScalarProgram:
        """The program with these results."""
        return ScalarProgram(tuple(self.dtypes), self.constants, tuple(self.nodes), outputs)


def program_of(frozen: FrozenGraph, never_above_0: Iterable[int] = ()) -> ScalarProgram:
    """The scalar program that a graph of 0-d values is, of which some are known besides not to be above 0."""
    dtypes = tuple(t.dtype for t in frozen.types)
    constants = {frozen.arity + k: c.data[()] for k, c in enumerate(frozen.constants)}
    return ScalarProgram(dtypes, constants, frozen.nodes, frozen.outputs, never_positive(frozen, never_above_0))


def one_op(op: Op, site: Site) -> list[Value]:
    """A single op on elements."""
    n = len(site.inputs)
    dtypes = (*(v.dtype for v in site.inputs), site.types[0].dtype)
    return pointwise(site, ScalarProgram(dtypes, {}, (Node(op, tuple(range(n)), (n,)),), (n,)), site.inputs)


def converted(value: Value, dtype: str, site: Site) -> Value:
    """A value in another dtype."""
    shape = value.shape if isinstance(value, Array) else ()
    return one_op(Cast(dtype), site.given([value], [TensorType(dtype, shape)]))[0]


def in_float32(rule: Callable[[Any, Any], Value]) -> Callable[[Any, Any], Value]:
    """A rule with one result as it computes halves: in float32, rounded in the end."""

    def widened(op: Any, site: Site) -> Value:
        if not any(is_half(v.dtype) for v in site.inputs):
            return rule(op, site)
        inputs = [converted(v, working(v.dtype), site) for v in site.inputs]
        (wanted,) = site.types
        result = rule(op, site.given(inputs, [TensorType(working(wanted.dtype), wanted.shape)]))
        if result.dtype != wanted.dtype:
            return one_op(Cast(wanted.dtype), site.given([result]))[0]
        return result

    return widened


def pointwise(site: Site, program: ScalarProgram, inputs: Sequence[Value]) -> list[Value]:
    """Run a scalar program at every index of the space of the results."""
    scalars = [uniform(v) for v in inputs]
    if all(s is not None for s in scalars):
        return site.single(program, [s for s in scalars if s is not None])
    outputs = [site.allocate(k) for k in range(len(program.outputs))]
    mapped(site, program, inputs, outputs, is_repeated=site.is_repeated)
    return list(outputs)


def copied(function: Function, source: Value, target: Array) -> None:
    """Copy elements into memory of the same shape, which does not overlap."""
    mapped(function, ScalarProgram((target.dtype,), {}, (), (0,)), [source], [target])


def mapped(
    function: Function,
    program: ScalarProgram,
    operands: Sequence[Value],
    outputs: Sequence[Array],
    *,
    is_repeated: bool = False,
) -> None:
    """Run a scalar program at every index of the space of some arrays, and write its results there.

    Args:
        is_repeated: other arrays are run through likewise: over a row of elements their number is an argument, so that
            one function serves arrays of all lengths, as the updates of all parameters have.
    """
    shape = outputs[0].shape
    sources = [uniform(v) or v for v in operands]
    placed = [spread(v, shape) if isinstance(v, Array) else v for v in sources]
    strides = [v.strides for v in (*placed, *outputs) if isinstance(v, Array)]
    space = collapsed(shape, strides)
    stored = [s[-1] for s in space.strides[len(strides) - len(outputs) :] if s]
    inner = space.shape[-1] if space.shape else 1
    vectors = max(ABREAST if _is_a_chain(program) else 1, abreast(function, program.nodes))
    kernel = function.kernel(program.dtypes if all(map(is_one, stored)) else (), vectors, inner)
    moved = [v.dtype for v in (*placed, *outputs) if isinstance(v, Array)]
    function.divide(kernel, space.shape, [(program.nodes, program.dtypes)], moved)
    lengths: Sequence[int | Length | Index] = space.shape
    if is_repeated and len(lengths) == 1:
        lengths = [kernel.length(inner, "elements")]
    kinds, texts = form_of(v.viewed((), ()) if isinstance(v, Array) else v for v in (*placed, *outputs))
    form = ("mapped", program.form, kernel.body.lanes, keys(lengths), *map(keys, space.strides), kinds)
    nest = _Nest(kernel, function, program, placed, lengths, space.strides)
    once(function.forms, kernel, form, texts, partial(nest.write, outputs))
    kernel.streams = True
    function.run(kernel)


def abreast(function: Function, nodes: Iterable[Node]) -> int:
    """Number of vectors that some step asks for, as its own steps wait for each other."""
    rules = (function.rule(node.op) for node in nodes if isinstance(node.op, Elementwise))
    return max((getattr(rule, "abreast", 1) for rule in rules), default=1)


def _is_a_chain(program: ScalarProgram) -> bool:
    """Whether most steps wait for the one before, and are so many that the processor does not see the next round."""
    depth = dict.fromkeys(range(len(program.dtypes)), 0)
    for node in program.nodes:
        depth[node.outputs[0]] = 1 + max((depth[k] for k in node.inputs), default=0)
    return SHORT < len(program.nodes) < 2 * max(depth.values())


def is_worth_twice(body: Routine, nodes: Sequence[Node], dtypes: Sequence[str]) -> bool:
    """Whether full blocks have code of their own: where that is short enough to be compiled twice.

    Beside tens of instructions nobody sees a branch at each load, but a compiler sees them twice; of a call it sees
    little, which takes up to a sixth longer where such branches stand around it.
    """
    if len(nodes) > SHORT:
        return False
    return not body.asks_whole or not any(is_long(node) and stands_there(node, dtypes, body) for node in nodes)


def stands_there(node: Node, dtypes: Sequence[str], body: Routine) -> bool:
    """Whether a long step is written in place, by a kernel, rather than called."""
    return is_written(node.op.fn.name, dtypes[node.outputs[0]], body.machine)  # type: ignore[attr-defined]


def is_long(node: Node) -> bool:
    """Whether a step is a call of a function, around which few vectors can be kept, or as long as one."""
    return isinstance(node.op, Elementwise) and has_many_steps(node.op.fn)


def uniform(value: Value) -> Scalar | None:
    """The scalar that all elements of a value equal, if they are known to."""
    if isinstance(value, Scalar):
        return value
    return Scalar(value.dtype, value.fill) if value.fill is not None else None


class Place(NamedTuple):
    """Start of the elements of an operand along the inner axis, and the distance between them."""

    number: int
    place: Pointer | Counted
    stride: int | Length


class _Nest(NamedTuple):
    """The loops of a scalar program: what is constant along the inner axis is read before the inner loop."""

    kernel: Kernel
    function: Function
    program: ScalarProgram
    operands: Sequence[Value]
    shape: Sequence[int | Length | Index]
    strides: Sequence[Sequence[int | Length]]  # of the arrays among the operands, then of the outputs

    def write(self, outputs: Sequence[Array]) -> None:
        """Write the whole function."""
        kernel, program, body = self.kernel, self.program, self.kernel.body
        values = {k: constant_of(body, value, program.dtypes[k]) for k, value in program.constants.items()}
        values.update((k, kernel.scalar(v)) for k, v in enumerate(self.operands) if isinstance(v, Scalar))
        strides = iter(self.strides)
        reads = [(k, kernel.operand(v), next(strides)) for k, v in enumerate(self.operands) if isinstance(v, Array)]
        stores = [(kernel.write(y), next(strides)) for y in outputs]
        for n in self.shape:
            kernel.as_index(n)
        with kernel.loops(self.shape[:-1], first=True) as outer:
            places = [Place(k, kernel.moved(p, outer, s[: len(outer)]), s[-1] if s else 0) for k, p, s in reads]
            targets = [(kernel.moved(p, outer, s[: len(outer)]), s[-1] if s else 1) for p, s in stores]
            twice = is_worth_twice(body, program.nodes, program.dtypes)
            inner = self.shape[-1] if self.shape else 1

            def over(write: Callable[[Block], None]) -> None:
                kernel.blocks(inner, write, twice=twice, asks=not twice, first=len(self.shape) == 1)

            write_row(self.function, kernel, program, values, places, targets, over)


def write_row(
    function: Function,
    kernel: Kernel,
    program: ScalarProgram,
    values: dict[int, Elements],
    places: Sequence[Place],
    targets: Sequence[tuple[Pointer, int | Length]],
    over: Callable[[Callable[[Block], None]], None],
) -> None:
    """Run a scalar program along a row: what is the same for all elements comes first.

    Args:
        values: operands that are known, and constants.
        targets: where the outputs begin, and how far their elements are apart.
        over: runs what is done with a block for all blocks of the row.
    """
    late = [place for place in places if not is_zero(place.stride)]
    values.update((p.number, kernel.load_one(p.place)) for p in places if is_zero(p.stride))
    run(function, program, values)
    shared = inverses(program.nodes, values) if not kernel.body.exact else NO_INVERSES

    def write(block: Block) -> None:
        all_values = values | {p.number: kernel.load(p.place, p.stride, block) for p in late}
        run(function, program, all_values, shared)
        for number, (target, stride) in zip(program.outputs, targets, strict=True):
            kernel.store(all_values[number], target, stride, block)

    over(write)


def run(
    function: Function, program: ScalarProgram, values: dict[int, Elements], shared: Mapping[int, Inverse] = NO_INVERSES
) -> None:
    """Run the steps of a scalar program whose operands are known, on lanes; their results are then known too."""
    for node in program.nodes:
        if node.outputs[0] not in values and all(k in values for k in node.inputs):
            step(function, program, node, values, shared)


def step(
    function: Function, program: ScalarProgram, node: Node, values: dict[int, Elements], shared: Mapping[int, Inverse]
) -> None:
    """Run one step whose operands are known; `shared` has the inverses of divisors."""
    (number,) = node.outputs
    operands = tuple(values[k] for k in node.inputs)
    rule = function.rule(node.op)
    if node.inputs and node.inputs[0] in program.never_positive:
        rule = getattr(rule, "of_nonpositive", None) or rule
    elif node.inputs and node.inputs[0] in program.shifted:
        rule = getattr(rule, "of_shifted", None) or rule
    result: Any = quotient(node, values, shared) or rule(node.op, operands, program.dtypes[number])
    if result is NotImplemented:
        result = taken(result, node.op, [TensorType(program.dtypes[k]) for k in node.inputs])
    values[number] = result
