"""Refusals: an error of Python or NumPy that an argument causes inside tg, told at the door as tg tells its own.

Functions check what users get wrong most; all else fails somewhere inside, by a line that adds or counts or iterates.
The frames of the traceback say which names that line reads, and one of them is the argument, or an element of it. Only
what fails is looked at, so calls that work pay nothing. An error that passes a frame of the user's own is left alone.
"""

from __future__ import annotations

import dis
import inspect
import re
from typing import TYPE_CHECKING, Any, Final

from tg.callers import is_inside
from tg.errors import BoundsError, DomainError, InputError, RangeError, TgError, message

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from types import TracebackType

RAW: Final = (  # of Python and NumPy, each with the class of tg that a caller may catch as the same
    (OverflowError, RangeError),
    (IndexError, BoundsError),
    (ValueError, DomainError),
    (TypeError, InputError),
    (AttributeError, InputError),
)
RAW_ERRORS: Final = tuple(raw for raw, _ in RAW)
KINDS: Final = {
    "int": "an integer",
    "float": "a number",
    "str": "a string",
    "bool": "True or False",
    "Callable": "a function",
    "Sequence": "a sequence",
    "Mapping": "a mapping",
    "tuple": "a tuple",
    "list": "a list",
    "TensorLike": "an array",
    "ShapeLike": "a shape",
    "SizeLike": "a number of elements",
    "Integers": "an integer or several",
    "PaddingLike": "integers, 'same' or 'valid'",
    "KeyLike": "a key",
}
NOUNS: Final = ("a ", "an ", "one ", "the ", "integer", "number", "numbers", "each ", "True ", "None ")
CALLS: Final = re.compile(r"\(\) (missing \d|takes |got )")  # of a function, the user's perhaps, that tg calls
LONGEST: Final = 60  # characters of a value that a message shows
ENTRY: Final = re.compile(r"^(?: {4}| {8})([\w, *]+): (.*(?:\n {8,}(?! *[\w, *]+: ).*)*)", re.MULTILINE)


def refusal(
    what: str, f: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any], error: Exception
) -> TgError | None:
    """The exception of tg for an error that a call of a function of tg raised; None where it is to stay as it is.

    Args:
        what: the name of what was called.
        args, kwargs: those of the call.
        error: what was raised by it, which has come through tg alone.
    """
    kind = next((own for raw, own in RAW if isinstance(error, raw)), None)
    frames = [*_frames(error.__traceback__)][1:]  # the first is the door's
    if kind is None or not frames or CALLS.search(str(error)):
        return None
    if not all(is_inside(f.tb_frame.f_globals.get("__name__", "")) for f in frames):
        return None
    try:
        arguments = dict(inspect.signature(f).bind(*args, **kwargs).arguments)
        arguments.pop("self", None)
    except TypeError:
        return None
    name = _at_fault(arguments, frames)
    if name is None:
        return None
    needed, told = _needed(inspect.signature(f).parameters[name]), _told(f, name)
    if told.startswith(NOUNS):
        needed, told = told, ""
    lines = [(name, told)] if told else []
    text = f"{what}: {name}: found {_shown(arguments[name])}, needed {needed}"
    return kind(message(text, *lines, ("because", str(error).partition("\n")[0] or type(error).__name__)))


def _frames(traceback: TracebackType | None) -> Iterator[TracebackType]:
    while traceback is not None:
        yield traceback
        traceback = traceback.tb_next


def _at_fault(arguments: Mapping[str, Any], frames: list[TracebackType]) -> str | None:
    """The argument that the innermost failing expression reads, itself or an element of it; None if none does."""
    for entry in reversed(frames):
        names = _read(entry)
        local = entry.tb_frame.f_locals
        values = {name: local[name] for name in names if name in local}
        for name, value in values.items():  # under its own name first: None and small numbers are the same everywhere
            if name in arguments and value is arguments[name]:
                return name
        for value in values.values():
            for name, argument in arguments.items():
                if value is argument or (isinstance(argument, tuple | list) and any(value is one for one in argument)):
                    return name
    read = {name for name in _read(frames[0]) if name in arguments}  # by the function itself, of another value by then
    return read.pop() if len(read) == 1 else None


def _read(entry: TracebackType) -> list[str]:
    """The local names that the failing expression of a frame reads, in order."""
    code = entry.tb_frame.f_code
    places = list(code.co_positions())
    line, end_line, column, end_column = places[entry.tb_lasti // 2]
    if line is None or end_line is None or column is None or end_column is None:
        return []
    names: list[str] = []
    for instruction in dis.get_instructions(code):
        at = instruction.positions
        if (
            at is None
            or at.lineno is None
            or at.end_lineno is None
            or at.col_offset is None
            or at.end_col_offset is None
        ):
            continue
        is_within = (line, column) <= (at.lineno, at.col_offset) and (at.end_lineno, at.end_col_offset) <= (
            end_line,
            end_column,
        )
        if is_within and instruction.opname.startswith(("LOAD_FAST", "LOAD_DEREF")):
            read = instruction.argval
            names += read if isinstance(read, tuple) else [read]  # one instruction may read two
    return names


def _shown(value: Any) -> str:
    text = " ".join(repr(value).split())
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."


def _told(f: Callable[..., Any], name: str) -> str:
    """The beginning of what the docstring says of a parameter; empty where it has no entry."""
    for names, text in ENTRY.findall(inspect.getdoc(f) or ""):
        if name in re.split(r"\W+", names):
            return str(re.split(r"[.;:]\s|[.;:]$", " ".join(text.split()), maxsplit=1)[0])
    return ""


def _needed(parameter: inspect.Parameter) -> str:
    """The need of a parameter, by its annotation, else by its default."""
    annotation = str(parameter.annotation)
    if parameter.annotation is not parameter.empty and annotation != "Any":
        names = re.findall(r"\w+", re.sub(r"\[.*\]", "", annotation))
        kinds = [KINDS.get(name, name) for name in names]
        return " or ".join(dict.fromkeys(kinds))
    return KINDS.get(type(parameter.default).__name__, "another kind of value")
