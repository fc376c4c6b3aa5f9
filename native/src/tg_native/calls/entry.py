"""The record of a signature: what a compiled entry reads at every call to check, allocate, run and give back.

A backend whose programs have a fixed entry in machine code,

    i64 run(const void *const *inputs, const i64 *lengths, void *const *outputs, i64 *status)

can give `Executable.entry` without generating anything for a signature: one small machine program serves all. It is
called with the arguments of a function and reads a record of int64 words, in which objects are their addresses:

    run, plan, general   the program; what computes lengths, or 0; what is called where the entry declines
    patience             elements of inputs and outputs up to which the GIL is kept
    arity, extra, lengths, planned, outputs, depth   how many there are, and how high the nesting's stack grows
    calls                whether the nesting calls Python
    each input           dtype, scalar type or 0, number, least, most, bytes of an element, whether it is bool, rank,
                         and the lengths: UNKNOWN is any but 1
    each extra input     its address
    each output          dtype, the input that it may overwrite or -1, whether its lengths are handed on to `run`,
                         rank, and each length in postfix
    the nesting          of the results, in postfix

`run` is given the pointers of the inputs and of the extra ones, then all lengths of all inputs, one after another,
followed by those of outputs that `plan` has found. `number` says as what a Python number is passed for a 0-d input.
What is unusual is declined, and goes the general way with all its errors: another type, dtype, rank, layout, number of
arguments, a keyword, a length 1 where the record has UNKNOWN, or one that no memory holds, a bool whose byte is neither
0 nor 1, a check that fails, memory that there is not.

An output that may overwrite an input is that very array, where it is writable, owns its memory, and no other argument
lies there; else it is a new one, as ever. A call that is declined has written nothing. What the nesting's call of
Python raises is what the entry raises: nothing is built twice.
"""

from __future__ import annotations

import itertools
import struct
from collections import Counter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from tg.ops.indexing import Slice
from tg.ops.reduction import Reduce
from tg.ops.shape import AxisLength, BroadcastTo, Concatenate, ExpandDims, Reshape, Squeeze, Transpose
from tg.types import lengths
from tg.types.dtypes import is_integer
from tg.types.lengths import Derived, Length, key
from tg.variables.structure import LEAF
from tg_native.fusion.loop import Loop
from tg_native.plan.shapes import follows_from_inputs, index_space, needs_plan, number_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tg.graph.frozen import FrozenGraph
    from tg.link.signature import Signature
    from tg.types.tensor_type import TensorType
    from tg.variables.structure import Structure

UNKNOWN: Final = -1
WORK: Final = 1000  # elements times ops, about a microsecond: then it pays to release the GIL
MOST: Final = 1000  # inputs, outputs and lengths: they are kept in the frame of the call
LONGEST: Final = 32  # words of one length
PASSES: Final = (Reduce, Loop, AxisLength, BroadcastTo, Concatenate, ExpandDims, Reshape, Slice, Squeeze, Transpose)

# The numbers of the words below are those of the machine program.
NUMBERS: Final = ("", "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32",
                  "float64")  # fmt: skip
LENGTHS: Final = ("end", "constant", "length", "planned", "+", "*", "//", "%", "min", "max", "broadcast")
NESTING: Final = ("end", "leaf", "list", "tuple", "dict", "call")
SHIFT: Final = 4  # the bits of a word that say what it is; the rest is its operand
LARGEST: Final = 1 << 63 - SHIFT - 1  # of a word's operand, but for its sign
SPLIT: Final = 1 << 30


class Native(NamedTuple):
    """A program in machine code: the addresses of its entries, the pointers after those of the inputs, its owner.

    `reuses` are the outputs and inputs, in pairs, that may share memory.
    """

    run: int
    plan: int
    extra: tuple[int, ...]
    owner: object
    reuses: tuple[tuple[int, int], ...] = ()


class Step(NamedTuple):
    """One step of something in postfix: what it is, of `LENGTHS` or `NESTING`, and a number."""

    what: str
    operand: int = 0


class Record(NamedTuple):
    """The words, and the objects that must live as long as they."""

    words: bytes
    objects: tuple[object, ...]


def record(graph: FrozenGraph, native: Native, signature: Signature, scalars: Callable[[str], int]) -> Record | None:
    """The record of a program for a function; None where it has too much for the frame of a call.

    Args:
        scalars: the address of the NumPy scalar type of a dtype whose value stands right after an object's head, or 0.
    """
    if not fits(graph, len(native.extra)):
        return None
    own = sum(t.ndim for t in graph.input_types)
    handed = sum(graph.types[number].ndim for number in graph.outputs if not follows_from_inputs(graph, number))
    planned = sum(graph.types[number].ndim for number in graph.outputs) if needs_plan(graph) else 0
    nesting, objects = _nesting(signature.structure)
    reused = {k: j for k, j in native.reuses if j in signature.free}
    words = [
        *(native.run, native.plan if planned else 0, id(signature.general), patience(graph)),
        *(graph.arity, len(native.extra), own + handed, planned, len(graph.outputs), len(nesting)),
        any(step.what == "call" for step, _ in nesting_of(signature.structure)),
        *(word for t in graph.input_types for word in _input(t, scalars)),
        *native.extra,
        *(word for k, lengths in enumerate(output_lengths(graph))
          for word in _output(graph, graph.outputs[k], reused.get(k, -1), lengths)),
        *nesting,
    ]  # fmt: skip
    return Record(
        struct.pack(f"={len(words)}q", *words), (native.owner, signature.general, *dtypes_of(graph), *objects)
    )


def fits(graph: FrozenGraph, extra: int = 0) -> bool:
    """Whether a call has room for all that it needs in its frame."""
    lengths = sum(graph.types[k].ndim for k in (*range(graph.arity), *graph.outputs))
    longest = max((len(steps) for output in output_lengths(graph) for steps in output), default=0)
    return max(graph.arity + extra, len(graph.outputs), lengths) <= MOST and longest <= LONGEST


def dtypes_of(graph: FrozenGraph) -> list[np.dtype[Any]]:
    """The dtypes of inputs and outputs, which an entry names by their addresses."""
    return [graph.types[k].numpy_dtype for k in (*range(graph.arity), *graph.outputs)]


def _input(t: TensorType, scalars: Callable[[str], int]) -> list[int]:
    number, least, most = 0, 0, 0
    if t.ndim == 0 and t.dtype in NUMBERS:
        number = NUMBERS.index(t.dtype)
        if is_integer(t.dtype):
            limits, word = np.iinfo(t.dtype), np.iinfo(np.int64)
            least, most = max(limits.min, word.min), min(limits.max, word.max)
    scalar = scalars(t.dtype) if t.ndim == 0 else 0
    shape = [UNKNOWN if n is None else n for n in t.static.shape]
    size = t.numpy_dtype.itemsize
    limits_of = (int(least), int(most))
    return [id(t.numpy_dtype), scalar, number, *limits_of, size, t.dtype == "bool", t.ndim, *shape]  # type: ignore[list-item]


def _output(graph: FrozenGraph, number: int, source: int, lengths: Sequence[Sequence[Step]]) -> list[int]:
    t = graph.types[number]
    postfix = [word for steps in lengths for word in (*(s.operand << SHIFT | LENGTHS.index(s.what) for s in steps), 0)]
    return [id(t.numpy_dtype), source, not follows_from_inputs(graph, number), t.ndim, *postfix]


# --- the lengths of results ------------------------------------------------------------------------------------------


def output_lengths(graph: FrozenGraph) -> list[list[list[Step]]]:
    """Of each output each length in postfix: over all lengths of the inputs, or one of those that the plan finds."""
    first = list(itertools.accumulate((t.ndim for t in graph.input_types), initial=0))
    found: list[list[list[Step]]] = []
    at = 0
    for number in graph.outputs:
        shape = graph.symbolic[number].shape
        if follows_from_inputs(graph, number):
            found.append([_postfix(n, graph, first) for n in shape])
        else:
            found.append([[Step("planned", at + axis)] for axis in range(len(shape))])
        at += len(shape)
    return found


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
    assert type(atom) is lengths.AxisLength
    number = number_of(atom)
    return [Step("length", first[number] + atom.axis + graph.types[number].ndim)]


# --- the nesting of results ------------------------------------------------------------------------------------------


def _nesting(structure: Structure) -> tuple[list[int], list[object]]:
    """The nesting as words, and the objects in it."""
    steps = nesting_of(structure)
    words: list[int] = []
    for step, thing in steps:
        words += [step.operand << SHIFT | NESTING.index(step.what), *([id(thing)] if thing is not None else [])]
    return [*words, 0], [thing for _, thing in steps if thing is not None]


def nesting_of(structure: Structure, kinds: Sequence[type] = (list, tuple, dict)) -> list[tuple[Step, object]]:
    """How results are put together, in postfix: leaves, then lists, tuples and dicts of so many parts.

    Beside a dict stand its keys. Where there is more than these kinds, a list of all leaves is what Python is called
    with: beside the call stands what is called.
    """
    found: list[tuple[Step, object]] = []
    if _is_plain(structure.key, kinds):
        _nest(structure.key, found)
        return found

    def build(leaves: list[Any]) -> Any:
        return structure(iter(leaves))

    count = _leaves(structure.key)
    return [*[(Step("leaf"), None)] * count, (Step("list", count), None), (Step("call"), build)]


def _is_plain(key: Any, kinds: Sequence[type]) -> bool:
    if key == LEAF:
        return True
    return key is not None and key[0] in kinds and all(_is_plain(part, kinds) for part in key[2])


def _leaves(key: Any) -> int:
    if key == LEAF:
        return 1
    return 0 if key is None else sum(map(_leaves, key[2]))


def _nest(key: Any, found: list[tuple[Step, object]]) -> None:
    if key == LEAF:
        found.append((Step("leaf"), None))
        return
    kind, names, parts = key
    for part in parts:
        _nest(part, found)
    found.append((Step(kind.__name__, len(parts)), names if kind is dict else None))


# --- the GIL ---------------------------------------------------------------------------------------------------------


def patience(graph: FrozenGraph) -> int:
    """How many elements inputs and outputs may have in a call that keeps the GIL: about a microsecond's work.

    0 where their number does not bound the work: an op is more than a pass over its operands, or works on a shape that
    does not fit into that of an input or an output.
    """
    known = [_factors(graph.symbolic[k].shape) for k in (*range(graph.arity), *graph.outputs)]
    fitting = {tuple(factors.elements()) for factors in known}
    steps = 1
    for node in graph.nodes:
        if steps > WORK or not (node.op.pointwise or isinstance(node.op, PASSES)):
            return 0
        types = [t for k in (*node.inputs, *node.outputs) if (t := graph.symbolic[k]).shape]
        for shape in (*([index_space(node.op, types)] if isinstance(node.op, Loop) else []), *(t.shape for t in types)):
            own = _factors(shape)
            if (alike := tuple(own.elements())) in fitting:
                continue
            if not any(own <= other for other in known):
                return 0
            fitting.add(alike)
        steps += sum(len(s.program.nodes) for s in node.op.stages) if isinstance(node.op, Loop) else 1
    return WORK // steps


def _factors(shape: Sequence[Any]) -> Counter[object]:
    """The lengths of a value, however they stand; those of 1 left out."""
    return Counter(key(n) for n in shape if type(n) is not int or n != 1)
