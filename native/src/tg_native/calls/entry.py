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

import struct
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from tg.types.dtypes import is_integer
from tg.variables.structure import LEAF
from tg_native.calls.interface import LENGTHS, SHIFT, Step

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tg.link.signature import Signature
    from tg.types.tensor_type import TensorType
    from tg.variables.structure import Structure
    from tg_native.calls.interface import Interface, Output

UNKNOWN: Final = -1

# The numbers of the words below are those of the machine program.
NUMBERS: Final = ("", "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32",
                  "float64")  # fmt: skip
NESTING: Final = ("end", "leaf", "list", "tuple", "dict", "call")


class Native(NamedTuple):
    """A program in machine code: the addresses of its entries, the pointers after those of the inputs, its owner.

    `reuses` are the outputs and inputs, in pairs, that may share memory.
    """

    run: int
    plan: int
    extra: tuple[int, ...]
    owner: object
    reuses: tuple[tuple[int, int], ...] = ()


class Record(NamedTuple):
    """The words, and the objects that must live as long as they."""

    words: bytes
    objects: tuple[object, ...]


def record(interface: Interface, native: Native, signature: Signature, scalars: Callable[[str], int]) -> Record | None:
    """The record of a program for a function; None where it has too much for the frame of a call.

    Args:
        scalars: the address of the NumPy scalar type of a dtype whose value stands right after an object's head, or 0.
    """
    if not interface.fits(len(native.extra)):
        return None
    own = sum(t.ndim for t in interface.inputs)
    handed = sum(o.type.ndim for o in interface.outputs if o.is_planned)
    nesting, objects = _nesting(signature.structure)
    reused = {k: j for k, j in native.reuses if j in signature.free}
    words = [
        *(native.run, native.plan if interface.planned else 0, id(signature.general), interface.patience),
        *(len(interface.inputs), len(native.extra), own + handed, interface.planned, len(interface.outputs)),
        len(nesting),
        any(step.what == "call" for step, _ in nesting_of(signature.structure)),
        *(word for t in interface.inputs for word in _input(t, scalars)),
        *native.extra,
        *(word for k, output in enumerate(interface.outputs) for word in _output(output, reused.get(k, -1))),
        *nesting,
    ]
    return Record(
        struct.pack(f"={len(words)}q", *words), (native.owner, signature.general, *interface.dtypes, *objects)
    )


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


def _output(output: Output, source: int) -> list[int]:
    t = output.type
    postfix = [word for n in output.shape for word in (*(s.operand << SHIFT | LENGTHS.index(s.what) for s in n), 0)]
    return [id(t.numpy_dtype), source, output.is_planned, t.ndim, *postfix]


# --- the nesting of results ------------------------------------------------------------------------------------------


def _nesting(structure: Structure) -> tuple[list[int], list[object]]:
    """The nesting as words, and the objects in it."""
    steps = nesting_of(structure)
    words: list[int] = []
    for step, thing in steps:
        words += [step.operand << SHIFT | NESTING.index(step.what), *([id(thing)] if thing is not None else [])]
    return [*words, 0], [thing for _, thing in steps if thing is not None]


def nesting_of(structure: Structure, kinds: Sequence[type] = (list, tuple, dict)) -> list[tuple[Step, object]]:
    """Steps that put results together, in postfix: leaves, then lists, tuples and dicts of so many parts.

    Beside a dict stand its keys. Where there is more than these kinds, a list of all leaves is what Python is called
    with: beside the call stands what is called.
    """
    steps: list[tuple[Step, object]] = []
    if _is_plain(structure.key, kinds):
        _nest(structure.key, steps)
        return steps

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


def _nest(key: Any, steps: list[tuple[Step, object]]) -> None:
    if key == LEAF:
        steps.append((Step("leaf"), None))
        return
    kind, names, parts = key
    for part in parts:
        _nest(part, steps)
    steps.append((Step(kind.__name__, len(parts)), names if kind is dict else None))
