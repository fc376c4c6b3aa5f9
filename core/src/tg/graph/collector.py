"""`paused`: the cyclic garbage collector held while a graph is built or its program written.

A compilation makes many objects and drops few; the collector would look through all of them again and again, and take
as long as the work itself. Garbage is collected afterwards as always.
"""

from __future__ import annotations

import contextlib
import gc
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


class _Holders:
    """How many threads hold the collector, and whether it was on before the first did."""

    lock = threading.Lock()
    count = 0
    was_on = False


@contextlib.contextmanager
def paused() -> Iterator[None]:
    """Hold the collector inside a `with` block; it goes on when the last block of any thread ends."""
    with _Holders.lock:
        if _Holders.count == 0:
            _Holders.was_on = gc.isenabled()
            gc.disable()
        _Holders.count += 1
    try:
        yield
    finally:
        with _Holders.lock:
            _Holders.count -= 1
            if _Holders.count == 0 and _Holders.was_on:
                gc.enable()
