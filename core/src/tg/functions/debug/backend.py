"""Whether a backend gave what the reference gives, and if not, which of its rules is at fault.

To find that, each node of the program is compiled alone, all in one program, with the reference's values as operands.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tg.errors import DebugError, TgError, message
from tg.functions.debug import report
from tg.functions.debug.promises import close, difference
from tg.functions.debug.rounding import RUNS, is_inexact, limits, noisy, wide
from tg.functions.debug.values import gap
from tg.functions.programs import Programs
from tg.functions.request import Options, Request
from tg.functions.structure import flatten
from tg.graph.nodes import Constant, Variable, apply
from tg.link.linker import node_lines
from tg.types.dtypes import numpy_dtype
from tg.types.tensor_type import TensorType

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tg.functions.compile import Program, Setting
    from tg.functions.debug.promises import Difference
    from tg.functions.debug.values import Values
    from tg.functions.shared import Value
    from tg.graph.frozen import FrozenGraph

    Array = np.ndarray[Any, Any]


def check(
    frozen: FrozenGraph,
    variables: Mapping[int, Variable],
    values: Values,
    wanted: Sequence[Array],
    outputs: Sequence[Array],
    owed: Callable[[], Sequence[Array]],
    setting: Setting,
) -> None:
    """Compare what a backend gave with what the reference gives for the rewritten program.

    Args:
        variables: the values of the program by number.
        owed: what the outputs owe to rounding.
    Raises:
        DebugError: an output differs: the node whose rule differs alone, where there is one.
    """
    for k, (want, got) in enumerate(zip(wanted, outputs, strict=True)):
        mismatch = compared(k, np.asarray(want), np.asarray(got), lambda k=k: owed()[k])  # type: ignore[misc]
        if mismatch is not None:
            _blame_a_node(frozen, variables, values, setting)
            rows = [*report.output_rows(frozen, k), *report.difference_rows(mismatch)]
            hint = "each node alone gives what the reference gives: the fault is in what the backend makes of several"
            raise DebugError(message(f"backend {setting.choice.name!r}: output {k}: {mismatch.what}", *rows, hint=hint))


def compared(k: int, want: Array, got: Array, owed: Callable[[], Array]) -> Difference | None:
    """The first element that is more different than rounding explains."""
    if want.dtype != got.dtype or want.shape != got.shape:
        return difference(k, np.asarray(str(want.dtype)), np.asarray(str(got.dtype)), np.asarray(True))
    wrong = gap(want, got) != 0
    if not wrong.any():
        return None
    size = owed()
    if not is_inexact(want):
        wrong &= size == 0
    else:
        tiny = limits(want.dtype).tiny
        flushed = (np.abs(wide(want)) < tiny) & (np.abs(wide(got)) < tiny)
        wrong &= ~(close(want, got, size) | flushed | ~np.isfinite(size))
    return difference(k, want, got, wrong) if wrong.any() else None


def _blame_a_node(frozen: FrozenGraph, variables: Mapping[int, Variable], values: Values, setting: Setting) -> None:
    """Raise for the first node that the backend, given the reference's operands, computes otherwise."""
    cut = _Cut(frozen, variables, values)
    try:
        results = cut.run(setting)
    except TgError:
        return
    rng = np.random.default_rng(0)
    for number, got in zip(cut.numbers, results, strict=True):
        node = frozen.nodes[number]
        operands = [cut.array(k) for k in node.inputs]
        for place, k in enumerate(node.outputs):
            if k not in variables:
                continue
            want = np.asarray(cut.array(k))
            base = [cut.array(j) if j in variables else None for j in node.outputs]
            runs = [
                noisy(node.op, operands, [np.asarray(want if b is None else b) for b in base], rng) for _ in range(RUNS)
            ]
            size = np.maximum.reduce([gap(want, run[place]) for run in runs])
            mismatch = compared(place, want, np.asarray(got[place]), lambda size=size: size)  # type: ignore[misc]
            if mismatch is not None:
                rows = [
                    *node_lines(frozen, number),
                    *report.difference_rows(mismatch),
                    *cut.operand_rows(node, mismatch),
                ]
                text = f"backend {setting.choice.name!r}: its rule for {node.op.name}: {mismatch.what}"
                raise DebugError(message(text, *rows))


class _Cut:
    """A program taken apart: every node of its own, with the values of its operands as inputs.

    Integer scalars, of which shapes are made, are computed in place: some backends must know shapes when compiling.
    """

    def __init__(self, frozen: FrozenGraph, variables: Mapping[int, Variable], values: Values) -> None:
        self.frozen, self.variables, self.values = frozen, variables, values
        self.inputs: dict[int, Variable] = {}
        self.numbers = [n for n, node in enumerate(frozen.nodes) if any(k in variables for k in node.outputs)]
        self._scalars: dict[int, Variable] = {}
        self.results = [self._alone(n) for n in self.numbers]

    def array(self, number: int) -> Array:
        """The reference's value."""
        constant = self.frozen.constant(number)
        return constant.data if constant is not None else np.asarray(self.values.of(self.variables[number]))

    def _alone(self, n: int) -> tuple[Variable, ...]:
        node = self.frozen.nodes[n]
        results = apply(node.op, [self._operand(k) for k in node.inputs])
        for k, v in zip(node.outputs, results, strict=True):
            if v.type == TensorType("int64"):
                self._scalars[k] = v
        return results

    def _operand(self, number: int) -> Variable:
        constant = self.frozen.constant(number)
        if constant is not None:
            return Constant(constant.data)
        if number in self._scalars:
            return self._scalars[number]
        if number not in self.inputs:
            array = self.array(number)
            t = self.frozen.types[number]
            self.inputs[number] = Variable(TensorType(t.dtype, array.shape), name=f"v{number}")
        return self.inputs[number]

    def run(self, setting: Setting) -> list[tuple[Array, ...]]:
        """The results of each node on the backend."""
        results, structure = flatten([v for outputs_of_node in self.results for v in outputs_of_node])
        options = Options(setting.choice, mode="off")
        programs = Programs(Request(tuple(self.inputs.values()), (), tuple(results), (), structure, options))
        arrays = [self.array(k).astype(numpy_dtype(v.type.dtype), copy=False) for k, v in self.inputs.items()]

        def ran(program: Program, arrays: Sequence[Array], held: Sequence[Value]) -> list[Array]:
            outputs, status = program.executable.run(arrays)
            if status:
                raise program.descriptors[status[0] - 1].build(status[1:])
            return [program.executable.to_numpy(v) for v in outputs]

        flat = iter(programs.run(arrays, (), ran))
        return [tuple(next(flat) for _ in outputs_of_node) for outputs_of_node in self.results]

    def operand_rows(self, node: Any, mismatch: Difference) -> list[tuple[str, str]]:
        """The operands of a node at the place of a difference."""
        rows = []
        for k, number in enumerate(node.inputs[: report.OPERANDS]):
            array = self.array(number)
            place = report.place_in(array, mismatch.place) if node.op.pointwise else None
            rows.append((f"operand {k}", f"%{number} = {report.element(array, place)}"))
        return rows
