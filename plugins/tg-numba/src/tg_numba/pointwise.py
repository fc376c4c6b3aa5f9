"""Scalar programs over index spaces: what elementwise ops and fused loops become."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tg.graph.frozen import FrozenGraph, Node
from tg.link.values import Array, Scalar, collapsed, is_zero, spread
from tg_numba.element import Element

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tg.graph.op import Op
    from tg.link.loop import Loop
    from tg.link.values import Value
    from tg.types.lengths import Length
    from tg_numba.program import Unit
    from tg_numba.site import Site


class ScalarProgram(NamedTuple):
    """Steps over numbered scalars: the operands first; `literals` are those that are known."""

    dtypes: tuple[str, ...]
    literals: Mapping[int, str]
    nodes: tuple[Node, ...]
    outputs: tuple[int, ...]


def program_of(frozen: FrozenGraph, unit: Unit) -> ScalarProgram:
    """The scalar program that a graph of 0-d values is."""
    dtypes = tuple(t.dtype for t in frozen.types)
    literals = {frozen.arity + k: unit.literal(c.data[()], c.type.dtype) for k, c in enumerate(frozen.constants)}
    return ScalarProgram(dtypes, literals, frozen.nodes, frozen.outputs)


def one_op(op: Op, site: Site) -> list[Value]:
    """A single op on elements."""
    n = len(site.inputs)
    dtypes = (*(v.dtype for v in site.inputs), site.types[0].dtype)
    return pointwise(site, ScalarProgram(dtypes, {}, (Node(op, tuple(range(n)), (n,)),), (n,)))


def loop(op: Loop, site: Site) -> list[Value]:
    """A fused loop of one stage."""
    (stage,) = op.stages
    return pointwise(site, program_of(stage.program, site.unit))


def pointwise(site: Site, program: ScalarProgram) -> list[Value]:
    """Run a scalar program at every index of the space of the results."""
    shape = site.types[0].shape
    scalars = [_uniform(v) for v in site.inputs]
    if all(s is not None for s in scalars):
        return _uniform_results(site, program, [s for s in scalars if s is not None])
    outputs = [site.allocate(k) for k in range(len(program.outputs))]
    operands = [
        s if s is not None else spread(v, shape)  # type: ignore[arg-type]
        for s, v in zip(scalars, site.inputs, strict=True)
    ]
    arrays = [v for v in operands if isinstance(v, Array)]
    space = collapsed(shape, [a.strides for a in (*arrays, *outputs)])  # type: ignore[arg-type]
    _write(site, program, operands, outputs, space.shape, space.strides)
    return list(outputs)


def _uniform(value: Value) -> Scalar | None:
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
        texts[number] = site.local(expression, name)
    found: list[Value] = []
    for k, number in enumerate(program.outputs):
        dtype, shape = program.dtypes[number], site.types[k].shape
        if shape:
            found.append(Array(dtype, "", shape, (0,) * len(shape), None, texts[number]))  # type: ignore[arg-type]
        else:
            found.append(Scalar(dtype, texts[number]))
    return found


def step(site: Site, program: ScalarProgram, node: Node, texts: Mapping[int, str]) -> str:
    """The expression of one step."""
    dtypes = tuple(program.dtypes[k] for k in node.inputs)
    operands = tuple(texts[k] for k in node.inputs)
    return site.element(node.op, Element(operands, dtypes, program.dtypes[node.outputs[0]], site.unit))


def _write(
    site: Site,
    program: ScalarProgram,
    operands: Sequence[Value],
    outputs: Sequence[Array],
    shape: Sequence[int | Length],
    strides: Sequence[Sequence[int | Length]],
) -> None:
    """The loops of a scalar program: what is constant along the inner axis is read before the inner loop.

    `strides` are those of the arrays among the operands, then of the outputs.
    """
    nest = site.nest()
    each = iter(strides)
    texts = dict(program.literals)
    texts.update((k, v.text) for k, v in enumerate(operands) if isinstance(v, Scalar))
    reads = [(k, v, next(each)) for k, v in enumerate(operands) if isinstance(v, Array)]
    stores = [(y, next(each)) for y in outputs]
    outer = nest.loops(shape[:-1])
    late: list[tuple[int, Array, str, int | Length]] = []
    for k, v, s in reads:
        if not shape or is_zero(s[-1]):
            texts[k] = nest.local(nest.read(v.dtype, v.pointer, nest.offset(outer, s[: len(outer)])))
        else:
            late.append((k, v, nest.place(v.pointer, outer, s[: len(outer)]), s[-1]))
    targets = [(nest.place(y.pointer, outer, s[: len(outer)]), s[-1] if shape else 0) for y, s in stores]
    index = nest.loop(shape[-1]) if shape else "0"
    for k, v, place, stride in late:
        texts[k] = nest.local(nest.read(v.dtype, place, nest.step(index, stride)))
    for node in program.nodes:
        (number,) = node.outputs
        texts[number] = nest.local(step(site, program, node, texts))
    for number, (place, stride) in zip(program.outputs, targets, strict=True):
        nest.line(f"{place}[{nest.step(index, stride)}] = {texts[number]}")
    site.call(nest)
