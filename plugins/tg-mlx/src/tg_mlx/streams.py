"""Streams that programs run on: one for each device, shared by all threads, and the lock that makes that safe.

MLX's own streams belong to the thread that made them: an array that waits for its evaluation on one thread cannot be
used on another, and every thread that computes keeps a thread of MLX for good. Here all threads share a stream.
"""

from __future__ import annotations

import functools
import os
import threading
from typing import Any, Final

import mlx.core as mx

from tg import OptionError
from tg.backend import message

LOCK: Final[Any] = threading.RLock()
os.register_at_fork(after_in_child=LOCK._at_fork_reinit)  # whoever held it is not there


@functools.cache
def stream(device: str) -> Any:
    """The stream of a device.

    Raises:
        OptionError: MLX has no such device here.
    """
    mlx_device = getattr(mx, device)
    if not mx.is_available(mlx_device):
        raise OptionError(message(f"backend 'mlx': option device: found {device!r}, needed 'cpu': MLX has no GPU here"))
    with LOCK:
        return mx.new_thread_unsafe_stream(mlx_device)


class Shared:
    """The lock, and the shared stream as the default of the calling thread, for one trace or call."""

    __slots__ = ("_context",)

    def __init__(self, device: str) -> None:
        self._context: Any = mx.stream(stream(device))

    def __enter__(self) -> None:
        LOCK.acquire()
        self._context.__enter__()

    def __exit__(self, *exc: object) -> None:
        try:
            self._context.__exit__(*exc)
        finally:
            LOCK.release()
