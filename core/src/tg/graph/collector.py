"""`paused`: the cyclic garbage collector held while a graph is built or its program written.

A compilation makes many objects and drops few; the collector would look through all of them again and again, and take
as long as the work itself. Garbage is collected afterwards as always: when the guard of the call is gone, however that
was left (see `tg.turns`), C calls `gc.enable`.
"""

from __future__ import annotations

import functools
import gc
import operator
import os
import weakref
from _thread import get_ident
from typing import TYPE_CHECKING, Any, Final, ParamSpec, TypeVar, final

from tg.turns import Guard

if TYPE_CHECKING:
    from collections.abc import Callable

P = ParamSpec("P")
T = TypeVar("T")

_enable: Final[Callable[..., Any]] = operator.methodcaller("enable")


@final
class _Hold(weakref.ref[Guard]):
    """A hold that ends with its guard by enabling the collector: `_enable` is called with it."""

    __slots__ = ()
    enable = staticmethod(gc.enable)


_holds: Final[dict[int, _Hold]] = {}  # by thread


def paused(function: Callable[P, T]) -> Callable[P, T]:
    """A function that holds the collector if it finds it on; calls of other threads then hold it no longer."""

    @functools.wraps(function)
    def called(*args: P.args, **kwargs: P.kwargs) -> T:
        if not gc.isenabled():
            return function(*args, **kwargs)
        for hold in map(_Hold, (Guard(),), (_enable,)):
            _holds[get_ident()] = hold
            gc.disable()
            result = function(*args, **kwargs)
        _holds.pop(get_ident(), None)
        return result

    return called


def _after_fork_in_child() -> None:
    if any(hold() is not None and thread != get_ident() for thread, hold in _holds.items()):
        gc.enable()
    _holds.clear()


os.register_at_fork(after_in_child=_after_fork_in_child)
