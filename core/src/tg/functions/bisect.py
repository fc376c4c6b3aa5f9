"""`tg.bisect`: the first op of a program whose value on a backend is not that of the reference.

The program is taken as it was written. One run on the backend gives all of its values: the first in the order of the
program that differs is made of operands that agree. A fault that shows only where values are not results (in a fused
loop, by a rewrite) is looked for with one result at a time, in as many runs as halving the program takes.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, NamedTuple, final

import numpy as np

from tg.configuration import current
from tg.errors import InputError, message
from tg.functions.arguments import input_named, pairs_of
from tg.functions.backends import choose
from tg.functions.binding import Binding
from tg.functions.compile import imported, link, rewritten
from tg.functions.compiled import Function
from tg.functions.debug.backend import compared
from tg.functions.debug.promises import allowed
from tg.functions.debug.report import element, place_in
from tg.functions.debug.rounding import RUNS
from tg.functions.debug.values import Region, Values, spread
from tg.functions.excluded import excluded
from tg.functions.formula import node_text, operand_text
from tg.functions.reproducer import Options as Written
from tg.functions.reproducer import program_text
from tg.functions.request import Options, Request
from tg.functions.shared import Shared, snapshots
from tg.functions.structure import flatten
from tg.graph.frozen import FrozenGraph
from tg.graph.function_graph import FunctionGraph
from tg.graph.nodes import Constant, Variable, apply
from tg.graph.traversal import inputs_of, sorted_applies
from tg.link.linker import node_loc

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.functions.backends import BackendChoice
    from tg.functions.compile import Setting
    from tg.functions.debug.promises import Difference
    from tg.graph.loc import Loc

    Array = np.ndarray[Any, Any]


@final
@dataclasses.dataclass(frozen=True, eq=False)
class Bisection:
    """The first op whose value differs: on which backend, the user's line, the operands, both values, a reproducer.

    `print` it, or read its fields; `reproducer` is the text of a Python program that shows the difference.
    """

    backend: str
    op: str  # as messages spell it
    node: str
    loc: Loc | None
    operands: tuple[Array, ...]
    reference: Array
    value: Array  # the backend's
    index: tuple[int, ...]  # of the first element that differs
    is_alone: bool  # whether the op by itself differs; else only with what stands before it
    runs: int  # of parts of the program on the backend
    reproducer: str
    rows: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        text = f"backend {self.backend!r}: {self.op}: the value differs from the reference's"
        by = "the op by itself differs" if self.is_alone else "the op differs together with what it is made of"
        return message(text, *self.rows, hint=f"{by}; .reproducer is a program that shows it")

    def __repr__(self) -> str:
        return f"<{self.op} on {self.backend} differs at {list(self.index)}>"


class Finding(NamedTuple):
    """A value that differs, by its number in the program, the backend's array, and the numbers that were results."""

    number: int
    value: Array
    mismatch: Difference
    results: tuple[int, ...]


def bisect(value: Any, inputs: Any = (), *, backend: str | BackendChoice | None = None) -> Bisection | None:
    """The first op of a program whose value on a backend differs from the reference's by more than rounding explains.

    Nothing is updated. Graphs inside of ops, such as the step of a loop, are not looked into: the loop is the op.

    Args:
        value: a function of `tg.function`, or an expression: a variable, or a nesting of them.
        inputs: the arguments of a call: a sequence by position, of a function alone, or a dict by name or variable.
        backend: a function's own unless given; of an expression the configured one.
    Returns:
        None where every result of the program agrees with the reference's.
    Raises:
        InputError: an argument is missing, or of no input.
        NoRuleError: the backend does not run the program.
        TgError: what a check of the program raises for these inputs.
    Example:
        >>> import tg
        >>> x = tg.vector("x")
        >>> print(tg.bisect(tg.log(1 + tg.exp(x)), {"x": [0.5, 700.0]}, backend="perform"))
        None
    """
    if isinstance(value, Function):
        args, kwargs = ((), inputs) if isinstance(inputs, dict) else (inputs, {})
        request = value.request.written or value.request
        choice = value.programs.choice if backend is None else choose(backend, value.backend)
        request = dataclasses.replace(request, options=dataclasses.replace(request.options, choice=choice)).retyped
        if not all(isinstance(key, str) for key in kwargs):
            kwargs = {key.name if isinstance(key, Variable) else key: one for key, one in kwargs.items()}
        arrays, held = request.taken(args, kwargs)
    else:
        request, arrays = _of_expression(value, inputs, choose(backend, current().backend))
        held = snapshots(request.sources)
    ones = request.ones(arrays, held)
    setting = request.setting(request.options.choice)._replace(reusable=(), updates=(), fixed=None)
    start = imported(request.variables, request.results, ones, setting).freeze()
    return _Search(start, [*arrays, *request.arrays(held)], setting).find()


def _of_expression(value: Any, inputs: Any, choice: BackendChoice) -> tuple[Request, list[Array]]:
    """The request of an expression over its inputs, and the arrays of these."""
    leaves, structure = flatten(value)
    every = inputs_of(leaves)
    variables = [v for v in every if not isinstance(v, Shared)]
    if not isinstance(inputs, dict):
        if inputs:
            raise InputError(message("bisect: found arguments by position, needed a dict for an expression"))
        inputs = {}
    pairs = [(input_named(k, leaves) if isinstance(k, str) else k, one) for k, one in pairs_of(inputs, "bisect")]
    values = {id(v): one for v, one in pairs}
    absent = [v.name or "_" for v in variables if id(v) not in values]
    if absent:
        raise InputError(message(f"bisect: found no value of {', '.join(absent)}, needed one for each input"))
    sources = tuple(v for v in every if isinstance(v, Shared))
    config = current()
    options = Options(choice, config.mode, excluded(config.exclude, choice.name), name="expression")
    request = Request(tuple(variables), sources, tuple(leaves), (), structure, options).retyped
    binding = Binding("bisect", request.inputs, {})
    return request, binding([values[id(v)] for v in variables], {})


@final
class _Search:
    """The search through one program for the values of one call."""

    def __init__(self, start: FrozenGraph, arrays: Sequence[Array], setting: Setting) -> None:
        self.start, self.arrays, self.setting, self.runs = start, list(arrays), setting, 0
        self.makers = {k: n for n, node in enumerate(start.nodes) for k in node.outputs}
        graph = FunctionGraph.thaw(_part(start, tuple(self.makers), keeps_checks=True))
        self._variables = dict(zip(self.makers, graph.outputs, strict=True))
        values = Values(graph.inputs, self.arrays)
        outputs = list(self._variables.values())
        self.values = dict(zip(self.makers, map(np.asarray, values.of_all(outputs)), strict=True))
        applies = tuple(node for node, _ in sorted_applies(outputs, boundary=graph.inputs))
        self.owed = dict(zip(self.makers, spread(values, Region(applies, ()), outputs, RUNS), strict=True))

    def find(self) -> Bisection | None:
        results = tuple(k for k in dict.fromkeys(self.start.outputs) if k in self.makers)
        first = self._first(results)
        if first is None:
            return None
        finding = self._first(self._ancestors(first.number)) or self._alone(first)
        return self._told(finding)

    def run(self, graph: FrozenGraph, arrays: Sequence[Array]) -> list[Array]:
        """The outputs of a graph on the backend, rewritten as the whole program is."""
        self.runs += 1
        program = link(rewritten(FunctionGraph.thaw(graph), self.setting), self.setting)
        outputs, status = program.executable.run_to_numpy(arrays)
        if status:
            raise program.descriptors[status[0] - 1].build(status[1:])
        return [*outputs]

    def _first(self, numbers: Sequence[int]) -> Finding | None:
        """The first of some values that differs where all of them are results."""
        if not numbers:
            return None
        outputs = self.run(_part(self.start, numbers), self.arrays)
        for k, (number, got) in enumerate(zip(numbers, outputs, strict=True)):
            mismatch = compared(k, self.values[number], np.asarray(got), lambda k=number: self.owed[k])  # type: ignore[misc]
            if mismatch is not None:
                return Finding(number, np.asarray(got), mismatch, tuple(numbers))
        return None

    def _ancestors(self, number: int) -> tuple[int, ...]:
        """The values that one is made of, itself as the last, in the order of the program."""
        needed = {number}
        for node in reversed(self.start.nodes):
            if not needed.isdisjoint(node.outputs):
                needed.update(node.inputs)
        return tuple(k for k in self.makers if k in needed)

    def _alone(self, finding: Finding) -> Finding:
        """A value that differs as the only result, of operands that do not."""
        while True:
            numbers = self._ancestors(finding.number)
            low, high = -1, len(numbers) - 1
            while high - low > 1:
                middle = (low + high) // 2
                one = self._first(numbers[middle : middle + 1])
                if one is None:
                    low = middle
                else:
                    high, finding = middle, one
            node = self.start.nodes[self.makers[finding.number]]
            below = (self._first((k,)) for k in dict.fromkeys(node.inputs) if k in self.makers)
            deeper = next(filter(None, below), None)
            if deeper is None:
                return finding
            finding = deeper

    def _told(self, finding: Finding) -> Bisection:
        start, number = self.start, finding.number
        n = self.makers[number]
        node, mismatch = start.nodes[n], finding.mismatch
        operands = tuple(self._value(k) for k in node.inputs)
        graph, arrays, is_alone = self._reproduced(finding)
        rows = [("node", node_text(start, n))]
        loc = node_loc(start, n)
        if loc is not None:
            rows.append(("created at", f"{loc}:  {loc.source}".rstrip()))
        where = f"{list(mismatch.place)}, " if mismatch.place else ""
        rows.append(("at", f"{where}{mismatch.many} of {mismatch.size} elements differ"))
        rows += [("reference", str(mismatch.before)), (self.setting.choice.name, str(mismatch.after))]
        for k, array in zip(node.inputs, operands, strict=True):
            index = place_in(array, mismatch.place) if node.op.pointwise else None
            rows.append((f"operand {operand_text(start, k)}", element(array, index)))
        output = graph.outputs.index(number) if not is_alone else node.outputs.index(number)
        bound = allowed(self.values[number], finding.value, self.owed[number], mismatch.place)
        written = Written(self.setting.choice, self.setting.mode, self.setting.exclude, output, mismatch.place, bound)
        return Bisection(
            self.setting.choice.name,
            node.op.spelled,
            node_text(start, n),
            loc,
            operands,
            self.values[number],
            finding.value,
            mismatch.place,
            is_alone,
            self.runs,
            program_text(graph, arrays, written),
            tuple(rows),
        )

    def _value(self, number: int) -> Array:
        constant = self.start.constant(number)
        if constant is not None:
            return constant.data
        return self.values[number] if number in self.makers else np.asarray(self.arrays[number])

    def _reproduced(self, finding: Finding) -> tuple[FrozenGraph, list[Array], bool]:
        """The least program that still differs: the op on its operands, else all before it."""
        graph, arrays = self._single(self.makers[finding.number])
        k = graph.outputs.index(graph.nodes[0].outputs[self._place(finding.number)])
        got = np.asarray(self.run(graph, arrays)[k])
        if compared(k, self.values[finding.number], got, lambda: self.owed[finding.number]) is not None:
            return graph, arrays, True
        lone = self._first((finding.number,))
        return _part(self.start, finding.results if lone is None else (finding.number,)), self.arrays, False

    def _place(self, number: int) -> int:
        return self.start.nodes[self.makers[number]].outputs.index(number)

    def _single(self, n: int) -> tuple[FrozenGraph, list[Array]]:
        """A node by itself, over operands that are inputs; integer scalars, which may be lengths, are constants."""
        node = self.start.nodes[n]
        variables: dict[int, Variable] = {}
        for k in node.inputs:
            array, t = self._value(k), self.start.types[k]
            if self.start.constant(k) is not None or (t.ndim == 0 and t.dtype == "int64"):
                variables[k] = Constant(array)
            else:
                variables[k] = Variable(t.with_shape(array.shape), name=f"v{k}")
        inputs = [v for v in variables.values() if not isinstance(v, Constant)]
        results = apply(node.op, [variables[k] for k in node.inputs])
        arrays = [self._value(k) for k, v in variables.items() if not isinstance(v, Constant)]
        return FunctionGraph.of(inputs, results).freeze(), arrays


def _part(frozen: FrozenGraph, numbers: Sequence[int], *, keeps_checks: bool = False) -> FrozenGraph:
    """A graph of some of the values of a program; without its checks, which have held."""
    checks = frozen.checks if keeps_checks else ()
    parts = (frozen.arity, frozen.types, frozen.constants, frozen.nodes, numbers, checks, frozen.names, frozen.origins)
    return FrozenGraph(*parts)
