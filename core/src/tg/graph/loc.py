"""Provenance: where in the user's program a node was made.

A `Loc` is the code object and the instruction of the first frame outside tg; file and line are worked out on demand. It
takes no part in equality, hashing, text or generated code.
"""

from __future__ import annotations

import contextlib
import itertools
import linecache
import sys
import threading
from contextvars import ContextVar
from pathlib import PurePath
from typing import TYPE_CHECKING, Final, NamedTuple, final

from tg.callers import is_inside, outside
from tg.errors import TgError
from tg.graph.frames import is_short, of_user, rendered

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import CodeType, FrameType


class LayerCall(NamedTuple):
    """A call of a layer: its number, which no other call has, and the name of the layer's class."""

    number: int
    kind: str


class Part(NamedTuple):
    """The part of a network that a node is of: the calls of layers around it, outermost first, and the direction."""

    calls: tuple[LayerCall, ...] = ()
    is_backward: bool = False  # whether reverse mode has made it


NO_PART: Final = Part()
_PART: Final[ContextVar[Part]] = ContextVar("tg_part", default=NO_PART)
_CALLS: Final = itertools.count()


@final
class Loc:
    """A place in the user's program, and the rules by which what was made there got a stable form for derivatives.

    The part of a network goes along with it: both are of what was written, not of what rewriting makes of it.
    """

    __slots__ = ("code", "instruction", "part", "rules")

    def __init__(self, code: CodeType, instruction: int, rules: tuple[str, ...] = (), part: Part = NO_PART) -> None:
        self.code, self.instruction, self.rules, self.part = code, instruction, rules, part

    def by(self, rule: str) -> Loc:
        """The same place, for what a further rule has made."""
        return Loc(self.code, self.instruction, (*self.rules, rule), self.part)

    def backward(self) -> Loc:
        """The same place, for what reverse mode has made of a node."""
        part = self.part
        return self if part.is_backward else Loc(self.code, self.instruction, self.rules, Part(part.calls, True))

    @property
    def line(self) -> int:
        """The line number, counted from 1."""
        for start, end, line in self.code.co_lines():
            if start <= self.instruction < end and line is not None:
                return line
        return self.code.co_firstlineno

    @property
    def file(self) -> str:
        """The path of the file as Python knows it."""
        return self.code.co_filename

    @property
    def source(self) -> str:
        """The text of the line, empty where the file cannot be read."""
        return linecache.getline(self.file, self.line).strip()

    def __str__(self) -> str:
        cell = _cell(self.file)
        where = f"{PurePath(self.file).name}:{self.line}" if cell is None else f"{cell}, line {self.line}"
        return where if self.code.co_name == "<module>" else f"{where} in {self.code.co_name}"

    def __repr__(self) -> str:
        return f"Loc({self})"

    def __reduce__(self) -> tuple[object, ...]:
        return (_restored, (self.file, self.line, self.code.co_name, self.rules, self.part))


def _cell(file: str) -> str | None:
    """The cell of a notebook that a file stands for, as IPython names it: "Cell In[2]"; None for other files.

    IPython is asked where it is loaded, and never imported.
    """
    if not file.startswith("<ipython-input-") and "ipykernel" not in file:
        return None
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    named = getattr(getattr(shell, "compile", None), "format_code_name", lambda name: None)(file)
    return None if named is None else " ".join(named)


def _restored(file: str, line: int, function: str, rules: tuple[str, ...], part: Part = NO_PART) -> Loc:
    """A place of another process, in a code object that has nothing but the place."""
    code = compile("", file, "exec").replace(co_name=function, co_firstlineno=line)
    return Loc(code, -1, rules, part)


@contextlib.contextmanager
def calling(kind: str) -> Iterator[None]:
    """Mark what is made inside a `with` block as made by a call of a layer, whose class has this name."""
    part = _PART.get()
    token = _PART.set(part._replace(calls=(*part.calls, LayerCall(next(_CALLS), kind))))
    try:
        yield
    finally:
        _PART.reset(token)


_LOCAL = threading.local()


def here() -> Loc | None:
    """The place in the user's program that is being executed, or the one that `at` holds fixed."""
    fixed: Loc | None = getattr(_LOCAL, "fixed", None)
    if fixed is not None or getattr(_LOCAL, "muted", False):
        return fixed
    frame = outside()
    return Loc(frame.f_code, frame.f_lasti, (), _PART.get()) if frame is not None else None


def is_muted() -> bool:
    """Whether what is made now is not the user's: it is made of other nodes, by a derivative, a rule or an import."""
    return getattr(_LOCAL, "muted", False)


def is_called_by(package: str) -> bool:
    """Whether a module of a package lies between the user's line that is being executed and tg."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and is_inside(module := frame.f_globals.get("__name__", "")):
        if module.partition(".")[0] == package:
            return True
        frame = frame.f_back
    return False


def fix(loc: Loc | None) -> None:
    """Change the place that the innermost `at` holds fixed: what a sweep calls at each node."""
    _LOCAL.fixed = loc


@contextlib.contextmanager
def at(loc: Loc | None) -> Iterator[None]:
    """Give the nodes made inside a `with` block this place: what tg makes inherits from what it was made of."""
    before = getattr(_LOCAL, "fixed", None), getattr(_LOCAL, "muted", False)
    _LOCAL.fixed, _LOCAL.muted = loc, True
    try:
        yield
    finally:
        _LOCAL.fixed, _LOCAL.muted = before


def created_at(file: str, line: int, function: str = "<module>") -> contextlib.AbstractContextManager[None]:
    """Give what is built inside a `with` block another place: for what is read from a program of another kind.

    Args:
        file, line: where the other program's line stands, counted from 1.
        function: the function that it stands in.
    Example:
        >>> import tg
        >>> with tg.created_at("model.py", 12, "likelihood"):
        ...     y = tg.log(tg.vector("x"))
        >>> str(y.apply.loc)
        'model.py:12 in likelihood'
    """
    return at(_restored(file, line, function, ()))


def _text() -> str | None:
    """The place in the user's program that is being executed, with the text of its line."""
    place = here()
    return f"{place}:  {place.source}" if place is not None else None


TgError.locate = staticmethod(_text)
TgError.is_short = staticmethod(is_short)
TgError.of_user = staticmethod(of_user)
TgError.rendered = staticmethod(rendered)
