"""A few threads for what nobody waits for: they end with the process, and a forked child has its own.

The threads are daemons. At exit what is queued is dropped, and what runs is given a few seconds, for a compiler that is
torn down under its feet could crash the process. A fork waits for what runs, so that no compiler is copied at its work,
with locks that nobody will release; what was not done by then the child does for itself.
"""

from __future__ import annotations

import atexit
import logging  # noqa: F401 (imported by a compiler while a fork waits for it, its own hooks would run half)
import os
import threading
from collections import deque
from typing import TYPE_CHECKING, Final, final

if TYPE_CHECKING:
    from collections.abc import Callable

SIZE: Final = max(1, min(4, (os.cpu_count() or 2) // 2))  # threads
EXIT_PATIENCE = 5.0  # seconds that the end of the process waits for what runs
FORK_PATIENCE = 60.0  # and a fork: less than to compile at once would have taken


@final
class Job:
    """Work for the pool; `failed` is told of its exception before anybody who waits."""

    __slots__ = ("_done", "_failed", "_work", "error")

    def __init__(self, work: Callable[[], None], failed: Callable[[BaseException], None]) -> None:
        self._work, self._failed = work, failed
        self._done = threading.Event()
        self.error: BaseException | None = None

    @property
    def is_done(self) -> bool:
        """Whether it has ended, one way or the other."""
        return self._done.is_set()

    def run(self) -> None:
        """Do it, in this thread."""
        try:
            self._work()
        except BaseException as error:  # noqa: BLE001 (whoever waits is told)
            self.error = error
            self._failed(error)
        finally:
            self._done.set()

    def wait(self, timeout: float | None) -> bool:
        """Wait until it has ended; whether it has."""
        return self._done.wait(timeout)

    def renew(self) -> None:
        """In a forked child: what the parent's thread may have held is not held here."""
        self._done = threading.Event()


@final
class _Pool:
    """Threads that are started as jobs come."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.queue: deque[Job] = deque()
        self.running: set[Job] = set()
        self.threads: list[threading.Thread] = []
        self.idle = 0
        self.held = 0  # by how many forks: nothing new begins

    def submit(self, job: Job) -> None:
        with self.changed:
            self.queue.append(job)
            if self.idle < len(self.queue) and len(self.threads) < SIZE:
                thread = threading.Thread(target=self._serve, name=f"tg-{len(self.threads)}", daemon=True)
                self.threads.append(thread)
                thread.start()
            self.changed.notify_all()

    def _serve(self) -> None:
        while True:
            with self.changed:
                self.idle += 1
                self.changed.wait_for(lambda: self.queue and not self.held)
                self.idle -= 1
                job = self.queue.popleft()
                self.running.add(job)
            job.run()
            with self.changed:
                self.running.discard(job)
                self.changed.notify_all()

    def quieten(self, patience: float) -> None:
        """Let what runs come to its end, within limits; nothing new begins. The caller holds `changed`."""
        self.held += 1
        if threading.current_thread() not in self.threads:
            self.changed.wait_for(lambda: not self.running, patience)

    def close(self) -> None:
        """The process ends."""
        with self.changed:
            self.queue.clear()
            self.quieten(EXIT_PATIENCE)


_pool = _Pool()


def submit(job: Job) -> Job:
    """Have the pool do a job."""
    _pool.submit(job)
    return job


def _before_fork() -> None:
    _pool.changed.acquire()
    _pool.quieten(FORK_PATIENCE)


def _after_fork_in_parent() -> None:
    _pool.held -= 1
    _pool.changed.notify_all()
    _pool.changed.release()


def _after_fork_in_child() -> None:
    global _pool
    before, _pool = _pool, _Pool()  # the parent's threads do not exist here
    for job in (*before.running, *before.queue):
        job.renew()
        submit(job)


def _at_exit() -> None:
    _pool.close()


atexit.register(_at_exit)
os.register_at_fork(before=_before_fork, after_in_parent=_after_fork_in_parent, after_in_child=_after_fork_in_child)
