"""Functions of elements with loops, as functions of lanes: what the expansions of their records say.

A unit has one such function, with its loops inside, which go on for as long as some lane does. So an element never
leaves the registers between a loop and the next, what no lane needs is not run, and a program is rewritten without the
hundreds of steps that such an expansion has. All is computed in float64.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Final, cast

import numpy as np

from tg.graph.function_graph import freeze
from tg.graph.nodes import Variable
from tg.ops.elementwise.record import Elementwise as ElementwiseOp
from tg.ops.loops import Scan, While
from tg.types.requirements import unheard
from tg.types.tensor_type import TensorType
from tg_native.kernels.dtypes import item_size
from tg_native.kernels.element import Elementwise
from tg_native.kernels.index import Index
from tg_native.kernels.lanes import Lanes, constant

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tg.graph.frozen import FrozenGraph, Node
    from tg.graph.op import Op
    from tg.ops.elementwise.record import ElementwiseFunction
    from tg.plugin.records import Rule
    from tg_native.kernels.routine import Routine

    Value = Lanes | np.ndarray[Any, Any]
    """Lanes, or an array that is known while code is written."""

WIDE: Final = "float64"


def expanded(fn: ElementwiseFunction) -> Elementwise:
    """The rule of a function that is computed as its expansion says."""
    called = functools.partial(_called, fn)
    return Elementwise(floating=called, unsigned=called)  # the last operand of a draw is its bits


def _called(fn: ElementwiseFunction, *operands: Lanes) -> Lanes:
    body, dtype = operands[0].body, operands[0].dtype

    def wide(*lanes: Lanes) -> Lanes:
        return body.shared(fn.name, functools.partial(_written, fn), lanes, inline=False)

    width = body.machine.vector_bytes // item_size(WIDE)
    if dtype == WIDE:  # of vectors that go abreast each ends its loops by itself
        return body.in_vectors(wide, width, *operands) if body.lanes > width else wide(*operands)
    return body.in_vectors(lambda *lanes: wide(*(x.to(WIDE) for x in lanes)).to(dtype), width, *operands)


def _written(fn: ElementwiseFunction, *operands: Lanes) -> Lanes:
    """The steps of an expansion."""
    (value,) = _run(_graph(fn, tuple(x.dtype for x in operands)), operands, operands[0].body)
    return _in_lanes(value, operands[0])


@functools.cache
def _graph(fn: ElementwiseFunction, dtypes: tuple[str, ...]) -> FrozenGraph:
    """The expansion, of single elements."""
    operands = [Variable(TensorType(dtype)) for dtype in dtypes]
    assert fn.expansion is not None
    with unheard():  # it is asked for while another graph is made
        return freeze(operands, (fn.expansion(*operands),))


def _run(graph: FrozenGraph, operands: Sequence[Value], body: Any) -> list[Value]:
    """The results of a graph of single elements."""
    values: dict[int, Value] = dict(enumerate(operands))
    values.update((graph.arity + k, c.data) for k, c in enumerate(graph.constants))
    for node in graph.nodes:
        inputs = [values[k] for k in node.inputs]
        constants = [x for x in inputs if not isinstance(x, Lanes)]
        results = _known(node, constants) if len(constants) == len(inputs) else _of_lanes(graph, node, inputs, body)
        values.update(zip(node.outputs, results, strict=False))
    return [values[k] for k in graph.outputs]


def _known(node: Node, arrays: Sequence[np.ndarray[Any, Any]]) -> Sequence[Value]:
    with np.errstate(all="ignore"):
        return node.op.perform(*arrays)


def _of_lanes(graph: FrozenGraph, node: Node, operands: Sequence[Value], body: Routine) -> Sequence[Value]:
    """The results of an op some of whose operands are lanes."""
    op = node.op
    if isinstance(op, While):
        return _while(op, [_constant(x, body) for x in operands], body)
    if isinstance(op, Scan):
        return _scan(op, operands, body)
    lanes = [_constant(x, body) for x in operands]
    if not op.pointwise:  # of one element, what moves or combines elements does nothing
        return lanes[:1]
    return [_elementwise(op, lanes, graph.types[node.outputs[0]].dtype)]


def _elementwise(op: Op, operands: Sequence[Lanes], result: str) -> Value:
    rule = _rules().get(op.rule_key)
    if rule is not None:
        return cast("Lanes", rule(op, operands, result))
    assert isinstance(op, ElementwiseOp)
    return _written(op.fn, *operands)


@functools.cache
def _rules() -> Mapping[object, Rule]:
    from tg_native.kernels.elementwise import KERNELS  # which this module's functions are among

    return KERNELS


def _constant(x: Value, body: Any) -> Lanes:
    return x if isinstance(x, Lanes) else constant(body, x[()], str(x.dtype))


def _in_lanes(x: Value, like: Lanes) -> Lanes:
    return _constant(x, like.body)


def _while(op: While, operands: Sequence[Lanes], body: Routine) -> list[Value]:
    """Steps for as long as some lane goes on: one that has ended keeps what counts, as elements of an array do."""
    carries, held = operands[: op.carries], operands[op.carries :]
    with body.of(0):
        steps = body.variable("int64")
        steps.set(constant(body, 0, "int64"))

    def made() -> Index:
        with body.of(0):
            return Index(steps.get())

    def holds(*carried: Lanes) -> Any:
        (goes_on,) = _run(op.condition, [*carried, *held], body)
        some: Any = body.anywhere(_constant(goes_on, body))
        return some if op.max_steps is None else some & (made() < op.max_steps)

    def step(*carried: Lanes) -> list[Lanes]:
        after = [_constant(x, body) for x in _run(op.body, [*carried, *held], body)[: op.carries]]
        with body.of(0):
            steps.set((made() + 1).value)
        return after

    return list(body.while_loop(carries, holds, step))


def _scan(op: Scan, operands: Sequence[Value], body: Routine) -> list[Value]:
    """A number of steps that is known: one after the other where each has numbers of its own, else in a loop.

    What is traced, for derivatives, nobody reads.
    """
    carries, sequences, held = op.parts(operands)
    length = op.length
    assert length is not None, "a loop of an expansion has a number of steps"
    if not sequences:
        fixed = [_constant(x, body) for x in held]

        def step(_: Index, *carried: Lanes) -> list[Lanes]:
            return [_constant(x, body) for x in _run(op.body, [*carried, *fixed], body)[: op.carries]]

        return list(body.fold(0, length, 1, [_constant(x, body) for x in carries], step))
    state = list(carries)
    for k in reversed(range(length)) if op.reverse else range(length):
        slices = [cast("np.ndarray[Any, Any]", x)[k] for x in sequences]
        state = _run(op.body, [*state, *map(np.asarray, slices), *held], body)[: op.carries]
    return state
