"""A few threads for what nobody waits for: they end with the process, and a forked child has its own.

The threads are daemons. At exit what is queued is dropped, and what runs is given a few seconds, for a compiler that is
torn down under its feet could crash the process. A job delays forks while it runs (`tg.turns`), so that no compiler is
copied at its work, with locks that nobody will release; what was not done by then the child does for itself.
"""

from __future__ import annotations

import atexit
import logging  # noqa: F401 (imported by a compiler while a fork waits for it, its own hooks would run half)
import os
import threading
from queue import SimpleQueue
from time import monotonic
from typing import TYPE_CHECKING, Final, final

from tg.turns import Claim, Guard, Turn, alone, held

if TYPE_CHECKING:
    from collections.abc import Callable

SIZE: Final = max(1, min(4, (os.cpu_count() or 2) // 2))  # threads
EXIT_PATIENCE = 5.0  # seconds that the end of the process waits for what runs
RUNNING: Final = Claim(frozenset(), delays_forks=True)


@final
class Job:
    """Work for the pool; `failed` is told of its exception before anybody who waits."""

    __slots__ = ("_failed", "_guard", "_open", "_work", "error")
    _guard: Guard | None  # until it has ended
    _open: Turn

    def __init__(self, work: Callable[[], None], failed: Callable[[BaseException], None]) -> None:
        self._work, self._failed = work, failed
        self.error: BaseException | None = None
        self.renew()

    @property
    def is_done(self) -> bool:
        """Whether it has ended, one way or the other."""
        return self._open() is None

    def run(self) -> None:
        """Do it, in this thread."""
        try:
            self._work()
        except BaseException as error:  # noqa: BLE001 (whoever waits is told)
            self.error = error
            self._failed(error)
        finally:
            self._guard = None

    def wait(self, timeout: float | None) -> bool:
        """Wait until it has ended; whether it has."""
        self._open.wait_for_guard(-1 if timeout is None else timeout)
        return self.is_done

    def renew(self) -> None:
        """It has not ended: made new, or in a forked child, where the thread that ran it is not."""
        guard = self._guard = Guard()
        self._open = Turn(guard)


@final
class _Pool:
    """Threads that are started as jobs come."""

    def __init__(self) -> None:
        self.queue: SimpleQueue[Job] = SimpleQueue()
        self.jobs: dict[Job, None] = {}  # queued, or running
        self.threads: list[threading.Thread] = []
        self.is_closed = False

    def submit(self, job: Job) -> None:
        self.jobs[job] = None
        self.queue.put(job)
        if len(self.threads) < min(SIZE, len(self.jobs)):
            thread = threading.Thread(target=self._serve, name=f"tg-{len(self.threads)}", daemon=True)
            self.threads.append(thread)
            thread.start()

    def _serve(self) -> None:
        while True:
            job = self.queue.get()
            for turn in alone():
                turn.take(RUNNING)
                if not self.is_closed:
                    job.run()
                    self.jobs.pop(job, None)
            turn.leave()
            del job

    def close(self) -> None:
        """The process ends."""
        self.is_closed, until = True, monotonic() + EXIT_PATIENCE
        for turn in held():
            if turn.claim is RUNNING and turn.thread != threading.get_ident():
                turn.wait(until)


_pool = _Pool()


def submit(job: Job) -> Job:
    """Have the pool do a job."""
    _pool.submit(job)
    return job


def _after_fork_in_child() -> None:
    global _pool
    before, _pool = _pool, _Pool()  # the parent's threads do not exist here
    for job in before.jobs:
        job.renew()
        submit(job)


def _at_exit() -> None:
    _pool.close()


atexit.register(_at_exit)
os.register_at_fork(after_in_child=_after_fork_in_child)
