"""Scalar programs over index spaces: what elementwise ops and fused loops become."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tg.graph.frozen import FrozenGraph, Node
from tg_c.block import Block, Place
from tg_c.division import divide, time_of, time_to_move
from tg_c.lanes import lane_size
from tg_c.machine import vector_bytes
from tg_c.prelude import Element
from tg_c.text import literal
from tg_c.vectors import Vectors
from tg_native.kernels.dtypes import WORDS, item_size, kind_of
from tg_native.loops.staging import split
from tg_native.plan.values import Array, Scalar, collapsed, is_zero, spread

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from tg.graph.op import Op
    from tg.types.lengths import Length
    from tg_c.kernel import Kernel
    from tg_c.site import Site
    from tg_native.plan.values import Value


class ScalarProgram(NamedTuple):
    """Steps over numbered scalars: the operands first; `literals` are those that are known."""

    dtypes: tuple[str, ...]
    literals: Mapping[int, str]
    nodes: tuple[Node, ...]
    outputs: tuple[int, ...]


def program_of(frozen: FrozenGraph) -> ScalarProgram:
    """The scalar program that a graph of 0-d values is."""
    dtypes = tuple(t.dtype for t in frozen.types)
    literals = {frozen.arity + k: literal(c.data[()], c.type.dtype) for k, c in enumerate(frozen.constants)}
    return ScalarProgram(dtypes, literals, frozen.nodes, frozen.outputs)


def one_op(op: Op, site: Site) -> list[Value]:
    """A single op on elements."""
    n = len(site.inputs)
    dtypes = (*(v.dtype for v in site.inputs), site.types[0].dtype)
    return pointwise(site, ScalarProgram(dtypes, {}, (Node(op, tuple(range(n)), (n,)),), (n,)), site.inputs)


def pointwise(site: Site, program: ScalarProgram, values: Sequence[Value]) -> list[Value]:
    """Run a scalar program at every index of the space of the results."""
    shape = site.types[0].shape
    scalars = [uniform(v) for v in values]
    if all(s is not None for s in scalars):
        return _uniform_results(site, program, [s for s in scalars if s is not None])
    outputs = [site.allocate(k) for k in range(len(program.outputs))]
    operands = [
        s if s is not None else spread(v, shape)  # type: ignore[arg-type]
        for s, v in zip(scalars, values, strict=True)
    ]
    arrays = [v for v in operands if isinstance(v, Array)]
    space = collapsed(shape, [a.strides for a in (*arrays, *outputs)])  # type: ignore[arg-type]
    kernel = site.kernel()
    each = time_of(program.nodes, program.dtypes) + time_to_move(a.dtype for a in (*arrays, *outputs))
    kernel.division = divide(site, space.shape, each, in_row=len(space.shape) == 1)
    _Nest(kernel, site, program, operands, space.shape, space.strides).write(outputs)
    site.call(kernel)
    return list(outputs)


def uniform(value: Value) -> Scalar | None:
    """The scalar that all elements of a value equal, if they are known to."""
    if isinstance(value, Scalar):
        return value
    return Scalar(value.dtype, value.fill) if value.fill is not None else None


def _uniform_results(site: Site, program: ScalarProgram, operands: Sequence[Scalar]) -> list[Value]:
    """The program run once, for all indices alike."""
    texts = dict(program.literals)
    texts.update((k, s.text) for k, s in enumerate(operands))
    for node in program.nodes:
        (number,) = node.outputs
        expression = step(site, program, node, texts)
        name = site.names[program.outputs.index(number)] if number in program.outputs else None
        texts[number] = site.local(program.dtypes[number], expression, name)
    found: list[Value] = []
    for k, number in enumerate(program.outputs):
        dtype, shape = program.dtypes[number], site.types[k].shape
        if shape:
            found.append(Array(dtype, "", shape, (0,) * len(shape), None, texts[number]))  # type: ignore[arg-type]
        else:
            found.append(Scalar(dtype, texts[number]))
    return found


def step(site: Site, program: ScalarProgram, node: Node, texts: Mapping[int, str]) -> str:
    """The C expression of one step."""
    dtypes = tuple(program.dtypes[k] for k in node.inputs)
    operands = tuple(texts[k] for k in node.inputs)
    return site.element(node.op, Element(operands, dtypes, program.dtypes[node.outputs[0]], site.prelude))


def has_lanes(dtype: str) -> bool:
    """Whether there are vectors of a dtype."""
    return kind_of(dtype) != "complex"


def vectors_for(site: Site, program: ScalarProgram, varying: Collection[int], length: int | Length) -> Vectors | None:
    """The vectors of a loop over an axis, if it has any: as many lanes as the widest of the values allows.

    Args:
        varying: the numbers of the values that differ along the axis.
        length: of the axis.
    """
    dtypes = {program.dtypes[k] for k in varying}
    if not dtypes or not all(has_lanes(dtype) for dtype in dtypes):
        return None
    steps = [node for node in program.nodes if node.outputs[0] in varying]
    sizes = [_lane_size(site, program, node) for node in steps]
    if steps and all(size is None for size in sizes):
        return None  # each element would be computed by itself
    count = vector_bytes() // max((*map(item_size, dtypes), *(size for size in sizes if size is not None)))
    while type(length) is int and count > max(length, 1):
        count //= 2
    return Vectors(site.prelude, count, max(map(item_size, dtypes))) if count > 1 else None


def _lane_size(site: Site, program: ScalarProgram, node: Node) -> int | None:
    dtypes = tuple(program.dtypes[k] for k in node.inputs)
    return lane_size(site.rule(node.op), node.op, dtypes, program.dtypes[node.outputs[0]])


class _Nest(NamedTuple):
    """The loops of a scalar program: what is the same along the inner axis is computed before the inner loop."""

    kernel: Kernel
    site: Site
    program: ScalarProgram
    operands: Sequence[Value]
    shape: Sequence[int | Length]
    strides: Sequence[Sequence[int | Length]]  # of the arrays among the operands, then of the outputs

    def write(self, outputs: Sequence[Array]) -> None:
        """Write the whole function."""
        kernel, program = self.kernel, self.program
        strides = iter(self.strides)
        reads = [(k, v, kernel.read(v), next(strides)) for k, v in enumerate(self.operands) if isinstance(v, Array)]
        varying = [k for k, _, _, s in reads if self.shape and not is_zero(s[-1])]
        early, late = split(program.nodes, set(varying))
        numbers = {*varying, *(number for node in late for number in node.outputs)}
        vectors = vectors_for(self.site, program, numbers, self.shape[-1]) if self.shape else None
        block = Block(kernel, self.site, program.dtypes, vectors)
        for k, text in program.literals.items():
            block.share(k, text)
        for k, v in enumerate(self.operands):
            if isinstance(v, Scalar):
                block.share(k, kernel.value(v))
        stores = [
            (number, y, kernel.write(y), next(strides)) for number, y in zip(program.outputs, outputs, strict=True)
        ]
        divided = kernel.division is not None
        outer = kernel.loops(self.shape[:-1], divided=divided)
        for k, v, name, s in reads:
            if k not in varying:
                kernel.line(f"const {WORDS[v.dtype]} t{k} = {kernel.at(name, outer, s[: len(outer)])};")
                block.share(k, f"t{k}")
        loads = [self._place(outer, f"p{k}", k, v, name, s) for k, v, name, s in reads if k in varying]
        targets = [self._place(outer, f"q{at}", k, y, name, s) for at, (k, y, name, s) in enumerate(stores)]
        block.run(early)
        block.invert(late)
        if divided and not outer:
            block.open_between("lo", "hi")
        elif self.shape:
            block.open(self.shape[-1])
        block.load(loads)
        block.run(late)
        block.store(targets)
        kernel.close(len(self.shape))

    def _place(
        self, outer: Sequence[str], row: str, number: int, v: Array, name: str, strides: Sequence[int | Length]
    ) -> Place:
        """Where a row of an array begins: a local of the outer loops, unless there is one row only."""
        start = self.kernel.place(name, outer, strides[: len(outer)])
        stride = strides[-1] if strides else 0
        if start == name:
            return Place(number, name, stride)
        const = "const " if row.startswith("p") else ""
        self.kernel.line(f"{const}{WORDS[v.dtype]} *{self.kernel.restrict(v)}{row} = {start};")
        return Place(number, row, stride)
