"""Eight threads that call one function at once, made to change places in the middle of a plugin's rules.

A race is seen only if threads change at the wrong moment. CPython lets one run for milliseconds, a rule takes
microseconds: so in the frames of plugins each thread stops now and then between two instructions.
"""

from __future__ import annotations

import sys
import threading
import time
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tg_conformance.watch import folders_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

THREADS: Final = 8
OFTEN: Final = 0.15  # of the instructions of a rule
PAUSE: Final = 2e-5  # seconds, in which others run
PAUSES: Final = 5000  # of a thread; loops of the reference took minutes with one for every few of their instructions


def in_threads(
    function: Callable[..., Any], arguments: Sequence[Sequence[Any]], rounds: int, backend: str
) -> list[tuple[int, Any]]:
    """The results of each call, with the number of its thread; all start together.

    Raises:
        Exception: what a call raised.
    """
    results: list[tuple[int, Any]] = []
    raised: list[BaseException] = []
    start = threading.Barrier(len(arguments))
    folders = tuple(folders_of(backend))

    def work(number: int) -> None:
        rng, pauses = np.random.default_rng(number), 0

        def trace(frame: Any, event: str, argument: Any) -> Any:
            if not frame.f_code.co_filename.startswith(folders):
                return None
            frame.f_trace_opcodes, frame.f_trace_lines = True, False
            return step

        def step(frame: Any, event: str, argument: Any) -> Any:
            nonlocal pauses
            if rng.random() < OFTEN:
                pauses += 1
                time.sleep(PAUSE)
            if pauses < PAUSES:
                return step
            sys.settrace(None)
            frame.f_trace_opcodes = False
            return None

        start.wait()
        sys.settrace(trace)
        try:
            results.extend((number, function(*arguments[number])) for _ in range(rounds))
        except BaseException as error:  # noqa: BLE001 (raised in the thread that asked)
            raised.append(error)
        finally:
            sys.settrace(None)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(len(arguments))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if raised:
        raise ThreadsError(raised[0]) from raised[0]
    return results


class ThreadsError(Exception):
    """A call that raised among others, and not alone."""

    def __str__(self) -> str:
        return f"in {THREADS} threads a call raised {self.args[0]!r}, alone it did not"
