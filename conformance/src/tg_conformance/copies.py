"""Copies of the reference's code: what they compute is compared with itself, and nothing tells of their calls.

A copy is another function with the very code object of a reference (`types.FunctionType(op.perform.__code__, …)`), a
code object that somebody keeps to make one, or a function whose instructions are those of a reference of some length:
its source compiled again or pasted, under other names of arguments and variables, with or without the tuple around a
single result. A short reference (`return (np.sort(x, self.axis),)`) is what anybody writes, and no copy by its text.
"""

from __future__ import annotations

import dis
import functools
import gc
import sys
from pathlib import Path
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import tg

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

CORE: Final = f"{Path(tg.__file__).parent}/"
LONG: Final = 40  # instructions: two authors write so many alike by no chance


class Reference(NamedTuple):
    """A function of the reference, the code that it has, and the ops or elementwise functions that it computes."""

    function: FunctionType
    code: CodeType
    keys: tuple[object, ...]


def copies(references: Sequence[Reference], ours: frozenset[int]) -> Iterator[tuple[tuple[object, ...], str]]:
    """The keys of each reference that is copied, and where the copy is.

    Args:
        ours: ids of functions that share the code of references by right.
    """
    by_code = {one.code: one for one in references}
    by_outline = _by_outline(tuple(references))
    originals = ours | {id(one.function) for one in references}
    closures = [one.function.__closure__ for one in references if one.function.__closure__]
    functions: list[FunctionType] = [value for value in everything() if type(value) is FunctionType]
    for function in functions:
        code = function.__code__
        candidates = by_outline.get((code.co_argcount, code.co_names))
        if candidates and id(function) not in originals:
            one = by_code.get(code) or _equal(code, candidates)
            if one is not None and not _is_cores(function, closures):
                yield one.keys, f"{Path(code.co_filename).name}:{code.co_firstlineno}"
    for name, module in [*sys.modules.items()]:
        for value in [one for one in getattr(module, "__dict__", {}).values() if type(one) is CodeType]:
            if value in by_code:
                yield by_code[value].keys, f"{name}, which keeps it"


def everything() -> list[Any]:
    """All objects that Python's garbage collector knows, those that somebody had it freeze among them."""
    is_frozen = gc.get_freeze_count() > 0
    if is_frozen:
        gc.unfreeze()
    objects = gc.get_objects()
    if is_frozen:
        gc.freeze()
    return objects


@functools.cache
def _by_outline(references: tuple[Reference, ...]) -> dict[tuple[Any, ...], list[Reference]]:
    """References by what two codes that are alike have in common and is cheap to look at."""
    groups: dict[tuple[Any, ...], list[Reference]] = {}
    for one in references:
        groups.setdefault((one.code.co_argcount, one.code.co_names), []).append(one)
    return groups


def _equal(code: CodeType, candidates: Sequence[Reference]) -> Reference | None:
    """The one of some references that has the same instructions, and many."""
    text = _instructions(code)
    return next((one for one in candidates if len(text) >= LONG and _instructions(one.code) == text), None)


def _instructions(code: CodeType) -> list[tuple[str, Any]]:
    """The instructions with what they name in place of its number, without the tuple around a single result."""
    instructions = [(one.opname, _operand(one)) for one in dis.get_instructions(code)]
    return [
        one
        for one, after in zip(instructions, [*instructions[1:], ("", 0)], strict=True)
        if not (one == ("BUILD_TUPLE", 1) and after[0] == "RETURN_VALUE")
    ]


def _operand(one: dis.Instruction) -> Any:
    if isinstance(one.argval, CodeType):
        return tuple(_instructions(one.argval))
    if one.opcode in dis.haslocal:
        return one.arg  # the number of a variable, whatever it is called
    if one.opcode in dis.hasjrel or one.opcode in dis.hasjabs:
        return one.arg
    return repr(one.argval) if one.opcode in dis.hasconst else one.argval


def _is_cores(function: FunctionType, closures: Sequence[tuple[Any, ...]]) -> bool:
    """Whether a function is core's own: what a module of core has under its name, or another closure of its factory."""
    module = sys.modules.get(function.__module__)
    if module is None or not str(getattr(module, "__file__", "")).startswith(CORE):
        return False
    if function.__closure__ is not None:
        return function.__closure__ not in closures
    named: object = module
    for name in function.__qualname__.split("."):
        named = getattr(named, name, None)
    return named is function
