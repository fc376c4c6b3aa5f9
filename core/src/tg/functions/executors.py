"""Executors of other libraries, as `tg.map_over` uses them: a task is started, its outcome is waited for.

None of the libraries is imported but by its name; objects of them are known by their classes.
"""

from __future__ import annotations

import importlib
import os
from concurrent.futures import BrokenExecutor, Executor
from typing import TYPE_CHECKING, Any, Final, Protocol, final

from tg.errors import InputError, message
from tg.functions.tasks import Outcome, Task, run
from tg.variables.structure import short

if TYPE_CHECKING:
    from collections.abc import Callable

KINDS: Final = (
    "an executor of concurrent.futures, or a function that makes one",
    "a Client of dask.distributed",
    '"ray", or the module',
    '"joblib", or a joblib.Parallel',
    "None",
)
ANEW: Final = "  hint: executor=lambda: ProcessPoolExecutor(4) makes one anew when a process dies"


class Engine(Protocol):
    """A runner of tasks, on the workers of a library."""

    workers: int

    def start(self, task: Task) -> Any:
        """Start a task; by what is returned its outcome is known."""

    def outcome(self, handle: Any) -> Outcome:
        """The outcome, waited for.

        Raises:
            Exception: by the library: the worker was lost.
        """
        raise NotImplementedError

    def may_retry(self, error: Exception) -> bool:
        """Whether a task that ended so may be started again."""
        raise NotImplementedError

    def cancel(self, handle: Any) -> None:
        """Do not begin a task that has not begun."""

    def close(self) -> None:
        """End what was begun here."""


def engine_of(executor: Any) -> Engine:
    """The runner of tasks on an executor.

    Raises:
        InputError: none that is known, or its library is not installed.
    """
    if isinstance(executor, Executor):
        return _Pool(executor)
    names = {executor} if isinstance(executor, str) else {getattr(executor, "__name__", "")}
    names |= {f"{kind.__module__}.{kind.__qualname__}" for kind in type(executor).__mro__}
    for name, make in _KNOWN.items():
        if name in names:
            return make(executor)
    pool = executor() if callable(executor) else None
    if not isinstance(pool, Executor):
        raise InputError(message(f"map_over: executor: found {short(executor)}, needed {', '.join(KINDS)}"))
    return _Pool(pool, executor)


def _module(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        raise InputError(message(f"map_over: executor: {name} is not installed")) from error


@final
class _Pool(Engine):
    """An executor of `concurrent.futures`; one that is made here is made again when it breaks."""

    def __init__(self, pool: Executor, make: Callable[[], Executor] | None = None) -> None:
        self._pool, self._make = pool, make
        self.workers = getattr(pool, "_max_workers", None) or os.cpu_count() or 1

    def start(self, task: Task) -> Any:
        try:
            return self._pool.submit(run, task)
        except BrokenExecutor as error:
            if self._make is None:
                error.add_note(ANEW)
                raise
            self._pool = self._make()
            return self._pool.submit(run, task)

    def outcome(self, handle: Any) -> Outcome:
        try:
            return handle.result()  # type: ignore[no-any-return]
        except BrokenExecutor as error:
            if self._make is None:
                error.add_note(ANEW)
            raise

    def may_retry(self, error: Exception) -> bool:
        return self._make is not None and isinstance(error, BrokenExecutor)

    def cancel(self, handle: Any) -> None:
        handle.cancel()

    def close(self) -> None:
        if self._make is not None:
            self._pool.shutdown()


@final
class _Dask(Engine):
    """A `Client` of Dask, whose scheduler tries tasks of lost workers elsewhere before it gives up."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self.workers = max(1, sum(client.ncores().values()))

    def start(self, task: Task) -> Any:
        return self._client.submit(run, task, pure=False)

    def outcome(self, handle: Any) -> Outcome:
        return handle.result()  # type: ignore[no-any-return]

    def may_retry(self, error: Exception) -> bool:
        return True

    def cancel(self, handle: Any) -> None:
        handle.cancel()

    def close(self) -> None:
        """The client is the caller's."""


@final
class _Ray(Engine):
    """Ray, which is started if it has not been."""

    def __init__(self, _: Any) -> None:
        self._ray = _module("ray")
        if not self._ray.is_initialized():
            self._ray.init()
        self._run = self._ray.remote(run)
        self.workers = max(1, int(self._ray.cluster_resources().get("CPU", 1)))

    def start(self, task: Task) -> Any:
        return self._run.remote(task)

    def outcome(self, handle: Any) -> Outcome:
        return self._ray.get(handle)  # type: ignore[no-any-return]

    def may_retry(self, error: Exception) -> bool:
        return True

    def cancel(self, handle: Any) -> None:
        self._ray.cancel(handle)

    def close(self) -> None:
        """Ray stays: other tasks may run on it."""


@final
class _Joblib(Engine):
    """`joblib.Parallel`, which takes many tasks and gives all outcomes: those that wait go together."""

    def __init__(self, executor: Any) -> None:
        self._joblib = _module("joblib")
        is_made = isinstance(executor, self._joblib.Parallel)
        self._parallel = executor if is_made else self._joblib.Parallel(n_jobs=-1)
        self.workers = self._joblib.effective_n_jobs(self._parallel.n_jobs)
        self._waiting: list[Task] = []
        self._outcomes: dict[int, Outcome] = {}  # by the first element

    def start(self, task: Task) -> Any:
        self._waiting.append(task)
        return task.start

    def outcome(self, handle: Any) -> Outcome:
        if handle not in self._outcomes:
            outcomes = [*self._parallel(self._joblib.delayed(run)(task) for task in self._waiting)]
            self._outcomes |= {task.start: outcome for task, outcome in zip(self._waiting, outcomes, strict=True)}
            self._waiting.clear()
        return self._outcomes.pop(handle)

    def may_retry(self, error: Exception) -> bool:
        return True

    def cancel(self, handle: Any) -> None:
        """Nothing: a task that waits has not begun."""

    def close(self) -> None:
        """Workers stay: joblib ends them when they have been idle."""


_KNOWN: Final[dict[str, Callable[[Any], Engine]]] = {
    "distributed.client.Client": _Dask,
    "ray": _Ray,
    "joblib": _Joblib,
    "joblib.parallel.Parallel": _Joblib,
}
