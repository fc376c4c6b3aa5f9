"""`Interface`: what a compiled entry has to know of a program, kept with the code so that an entry needs no graph.

Lengths of results are in postfix: over all lengths of the inputs, one after another, or of those that the plan finds.
"""

from __future__ import annotations

import itertools
from collections import Counter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tg.ops.indexing import Slice
from tg.ops.reduction import Reduce
from tg.ops.shape import AxisLength, BroadcastTo, Concatenate, ExpandDims, Reshape, Squeeze, Transpose
from tg.types.atoms import AxisLength as AxisAtom
from tg.types.atoms import Derived, key
from tg.types.lengths import Length
from tg_native.fusion.loop import Loop
from tg_native.plan.shapes import follows_from_inputs, index_space, number_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy as np

    from tg.graph.frozen import FrozenGraph
    from tg.types.tensor_type import TensorType

WORK: Final = 1000  # elements times ops, about a microsecond: then it pays to release the GIL
MOST: Final = 1000  # inputs, outputs and lengths: they are kept in the frame of the call
LONGEST: Final = 32  # words of one length
PASSES: Final = (Reduce, Loop, AxisLength, BroadcastTo, Concatenate, ExpandDims, Reshape, Slice, Squeeze, Transpose)

# The numbers of the words are those of `tg_c/entry.c`.
LENGTHS: Final = ("end", "constant", "length", "planned", "+", "*", "//", "%", "min", "max", "broadcast")
SHIFT: Final = 4  # the bits of a word that say what it is; the rest is its operand
LARGEST: Final = 1 << 63 - SHIFT - 1  # of a word's operand, but for its sign
SPLIT: Final = 1 << 30


class Step(NamedTuple):
    """One step of something in postfix: what it is, of `LENGTHS` or of a nesting's words, and a number."""

    what: str
    operand: int = 0


class Output(NamedTuple):
    """One result: its type, each of its lengths in postfix, and whether the plan has to find these."""

    type: TensorType
    shape: tuple[tuple[Step, ...], ...]
    is_planned: bool


class Interface(NamedTuple):
    """The types of a program's inputs and its results, whether it reports checks, and the work of a call.

    `patience` is how many elements inputs and outputs may have in a call that keeps the GIL.
    """

    inputs: tuple[TensorType, ...]
    outputs: tuple[Output, ...]
    has_checks: bool
    patience: int

    @property
    def planned(self) -> int:
        """Number of lengths that the plan finds: all of all outputs, or none where those of the inputs decide them."""
        return sum(o.type.ndim for o in self.outputs) if self.has_plan else 0

    @property
    def has_plan(self) -> bool:
        """Whether the lengths of some output depend on more than those of the inputs."""
        return any(o.is_planned for o in self.outputs)

    @property
    def dtypes(self) -> list[np.dtype[Any]]:
        """The dtypes of inputs and outputs, which an entry names by their addresses."""
        return [t.numpy_dtype for t in (*self.inputs, *(o.type for o in self.outputs))]

    def fits(self, extra: int = 0) -> bool:
        """Whether a call has room for all that it needs in its frame, with so many more inputs."""
        ndim = sum(t.ndim for t in (*self.inputs, *(o.type for o in self.outputs)))
        longest = max((len(steps) for o in self.outputs for steps in o.shape), default=0)
        return max(len(self.inputs) + extra, len(self.outputs), ndim) <= MOST and longest <= LONGEST


def interface_of(graph: FrozenGraph) -> Interface:
    """The interface of a graph's program."""
    return Interface(graph.input_types, tuple(_outputs(graph)), bool(graph.checks), _patience(graph))


# --- the lengths of results ------------------------------------------------------------------------------------------


def _outputs(graph: FrozenGraph) -> Iterator[Output]:
    first = list(itertools.accumulate((t.ndim for t in graph.input_types), initial=0))
    at = 0
    for number in graph.outputs:
        shape = graph.symbolic[number].shape
        is_planned = not follows_from_inputs(graph, number)
        steps = [
            [Step("planned", at + axis)] if is_planned else _postfix(n, graph, first) for axis, n in enumerate(shape)
        ]
        yield Output(graph.types[number], tuple(map(tuple, steps)), is_planned)
        at += len(shape)


def _postfix(length: Any, graph: FrozenGraph, first: Sequence[int]) -> list[Step]:
    if type(length) is not Length:
        return _constant(length)
    steps: list[Step] = []
    for count, (monomial, factor) in enumerate(length.terms.items()):
        factors = [_postfix_of_atom(atom, graph, first) for atom in monomial]
        if factor != 1 or not factors:
            factors.insert(0, _constant(factor))
        for k, part in enumerate(factors):
            steps += [*part, *([Step("*")] if k else [])]
        steps += [Step("+")] if count else []
    return steps or _constant(0)


def _constant(value: int) -> list[Step]:
    """A number: where a word beside its kind does not hold it, its upper bits times 2**30 and the others."""
    if abs(value) < LARGEST:
        return [Step("constant", value)]
    parts = divmod(value, SPLIT)
    return [*(Step("constant", n) for n in (parts[0], SPLIT)), Step("*"), Step("constant", parts[1]), Step("+")]


def _postfix_of_atom(atom: Any, graph: FrozenGraph, first: Sequence[int]) -> list[Step]:
    if type(atom) is Derived:
        return [*_postfix(atom.lhs, graph, first), *_postfix(atom.rhs, graph, first), Step(atom.kind)]
    assert type(atom) is AxisAtom
    number = number_of(atom)
    return [Step("length", first[number] + atom.axis + graph.types[number].ndim)]


# --- the GIL ---------------------------------------------------------------------------------------------------------


def _patience(graph: FrozenGraph) -> int:
    """Number of elements that inputs and outputs may have in a call that keeps the GIL: about a microsecond's work.

    0 where their number does not bound the work: an op is more than a pass over its operands, or works on a shape that
    does not fit into that of an input or an output.
    """
    counters = [_factors(graph.symbolic[k].shape) for k in (*range(graph.arity), *graph.outputs)]
    fitting = {tuple(factors.elements()) for factors in counters}
    steps = 1
    for node in graph.nodes:
        if steps > WORK or not (node.op.pointwise or isinstance(node.op, PASSES)):
            return 0
        types = [t for k in (*node.inputs, *node.outputs) if (t := graph.symbolic[k]).shape]
        for shape in (*([index_space(node.op, types)] if isinstance(node.op, Loop) else []), *(t.shape for t in types)):
            own = _factors(shape)
            if (alike := tuple(own.elements())) in fitting:
                continue
            if not any(own <= other for other in counters):
                return 0
            fitting.add(alike)
        steps += sum(len(s.program.nodes) for s in node.op.stages) if isinstance(node.op, Loop) else 1
    return WORK // steps


def _factors(shape: Sequence[Any]) -> Counter[object]:
    """The lengths of a value, however they stand; those of 1 left out."""
    return Counter(key(n) for n in shape if type(n) is not int or n != 1)
