"""The time of a compilation: spans of one clock that lie within one another.

A root is opened for each function that is made; what compiles opens spans in it, which costs well under a microsecond
each. Where no root is open in a thread, a span is timed and forgotten.
"""

from __future__ import annotations

import functools
import gc
import threading
from time import perf_counter
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, final

from tg.errors import TgError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    P = ParamSpec("P")
    T = TypeVar("T")


@final
class Span:
    """A stretch of time with a name, and the spans inside it; a context manager that is entered once.

    Args:
        root: belongs to no span around it.
    """

    __slots__ = ("_around", "_root", "began", "collected", "ended", "name", "note", "parts")

    def __init__(self, name: str, note: str = "", *, root: bool = False) -> None:
        self.name, self.note, self._root = name, note, root
        self.parts: list[Span] = []
        self.began = self.ended = 0.0
        self.collected = 0.0  # seconds of the garbage collector, outside the parts
        self._around: Span | None = None

    @classmethod
    def of(cls, name: str, began: float, ended: float, parts: Iterable[Span] = ()) -> Span:
        """A span that is over, by `time.perf_counter`."""
        span = cls(name)
        span.began, span.ended, span.parts = began, ended, list(parts)
        return span

    @property
    def seconds(self) -> float:
        """The seconds for which it was open."""
        return self.ended - self.began

    @property
    def rest(self) -> float:
        """The seconds for which neither a span inside it accounts nor the garbage collector."""
        return self.seconds - self.collected - sum(part.seconds for part in self.parts)

    def walk(self, depth: int = 0) -> Iterator[tuple[int, Span]]:
        """This span and all inside it, each with its depth."""
        yield depth, self
        for part in self.parts:
            yield from part.walk(depth + 1)

    def __enter__(self) -> Span:
        self._around = around = _LOCAL.span
        if around is not None and not self._root:
            around.parts.append(self)
        _LOCAL.span = self
        if self._root:
            gc.callbacks.append(_collecting)
        self.began = perf_counter()
        return self

    def __exit__(self, *raised: object) -> None:
        self.ended = perf_counter()
        _LOCAL.span, self._around = self._around, None
        if self._root and _collecting in gc.callbacks:
            gc.callbacks.remove(_collecting)


class _Local(threading.local):
    span: Span | None = None
    collecting: float | None = None  # when the garbage collector began


_LOCAL = _Local()


def _collecting(phase: str, info: object) -> None:
    """Callback of the garbage collector before and after it runs, once for each root that is open."""
    span, began = _LOCAL.span, _LOCAL.collecting
    if phase == "start":
        _LOCAL.collecting = perf_counter()
    elif span is not None and began is not None:
        span.collected += perf_counter() - began
        _LOCAL.collecting = None


def annotate(note: str) -> None:
    """Say something about the span that is open here, such as that a cache had what it looked for."""
    if _LOCAL.span is not None:
        _LOCAL.span.note = note


def current_span() -> Span | None:
    """The innermost span that is open in this thread."""
    return _LOCAL.span


def recorded(name: str) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Open a root around each call of a function."""

    def wrap(function: Callable[P, T]) -> Callable[P, T]:
        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> T:
            try:
                with Span(name, root=True):
                    return function(*args, **kwargs)
            except TgError as error:
                error.trim()
                raise

        return call

    return wrap
