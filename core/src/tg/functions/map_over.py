"""`tg.map_over`: a compiled function of each element of an iterable, in order, over an executor of another library.

Elements go in chunks, whose length follows the time that the last one took, so that a message costs little beside what
it asks for. A window of chunks is under way; what is read makes room for the next.
"""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Sized
from itertools import count, islice
from typing import TYPE_CHECKING, Any, Final, final

from tg.errors import InputError, message
from tg.functions.compiled import Function
from tg.functions.executors import engine_of
from tg.functions.tasks import Task, Travelling, call, described, noted
from tg.variables.structure import short

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from tg.functions.executors import Engine
    from tg.functions.tasks import Outcome

SECONDS: Final = 0.1  # of a chunk: a message costs Dask, which takes longest, 1 to 4 ms
RATE: Final = 1e7  # bytes of the function that a second of a chunk is worth
LARGE: Final = 1 << 24  # bytes of arguments and results of a chunk
GROWTH: Final = 16  # times the length of the chunk before: elements differ, and one says little
AHEAD: Final = 4  # chunks under way for each worker


def map_over(
    f: Function,
    batches: Iterable[Any],
    *,
    executor: Any = None,
    chunk: int | None = None,
    window: int | None = None,
    retries: int = 2,
    progress: bool | Callable[[int, int | None], None] = False,
) -> Iterator[Any]:
    """The results of a compiled function for each element of an iterable, in order, as they are asked for.

    The function is sent as its text and compiled once in each process, of whose shared variables it has the values that
    these had when it was sent. No more elements are taken than are under way, so the iterable may be endless. When the
    iterator is closed, or an element raises, what has not begun is cancelled.

    Args:
        batches: of each element a tuple of arguments, a dict of arguments by name, or the only argument.
        executor: one of `concurrent.futures`, or a function that makes one, which is shut down at the end; a `Client`
            of Dask; "ray" or "joblib", or the module; a `joblib.Parallel`; None: a plain loop.
        chunk: how many elements a message has; unless given as many as take about 0.1 s.
        window: how many chunks are under way, unless given four for each worker.
        retries: how often a chunk is tried again whose worker was lost; what the function raises is not.
        progress: True writes a line to stderr, a function is called with the number of results that have been read, and
            the number of all, or None.
    Raises:
        InputError: the function has updates, native results, or is none; another executor.
        Exception: by the iterator, what the function raises, with a note of the element.
    Example:
        >>> from concurrent.futures import ThreadPoolExecutor
        >>> import tg
        >>> x, y = tg.scalar("x"), tg.scalar("y")
        >>> f = tg.function([x, y], x / y)
        >>> with ThreadPoolExecutor(2) as pool:
        ...     [float(z) for z in tg.map_over(f, [(1, 2), {"y": 4, "x": 1}], executor=pool)]
        [0.5, 0.25]
    """
    _check(f)
    for name, value, least in (("chunk", chunk, 1), ("window", window, 1), ("retries", retries, 0)):
        if value is not None and (type(value) is not int or value < least):
            raise InputError(message(f"map_over: {name}: found {short(value)}, needed an integer of at least {least}"))
    if executor is None:
        results = _in_line(f, batches)
    else:
        engine = engine_of(executor)
        results = _results(engine, _Chunks(f, batches, chunk), window or AHEAD * engine.workers, retries)
    if not progress:
        return results
    length = len(batches) if isinstance(batches, Sized) else None
    return _told(results, length, _Line() if progress is True else progress)


def _check(f: object) -> None:
    """Refuse what has no meaning in another process.

    Raises:
        InputError: see above.
    """
    if not isinstance(f, Function):
        hint = "tg.function makes one; of any function of Python, executor.map is the same"
        raise InputError(message(f"map_over: found {short(f)}, needed a compiled function", hint=hint))
    if f.request.targets:
        hint = "the state may be an argument and a result; a key of tg.random.key is a stream's"
        text = f"map_over: {f.name} updates {f.request.targets[0]!r}, which other processes have copies of"
        raise InputError(message(text, hint=hint))
    if f.request.options.native:
        text = f'map_over: {f.name} has output="native", needed NumPy arrays, which can be sent'
        raise InputError(message(text))


def _in_line(f: Function, batches: Iterable[Any]) -> Iterator[Any]:
    for k, element in enumerate(batches):
        try:
            result = call(f, element)
        except Exception as error:
            noted(error, k)
            raise
        yield result


@final
class _Chunks:
    """The iterable in tasks, each as long as the outcome of the last one says."""

    def __init__(self, f: Function, batches: Iterable[Any], length: int | None) -> None:
        self._sent, self._elements, self._start = Travelling(f), iter(batches), 0
        self._length, self._is_fixed = length or 1, length is not None
        self.is_measured = self._is_fixed  # until it is, a task for each worker is enough

    def next(self) -> Task | None:
        """The next task; None after the last."""
        elements = list(islice(self._elements, self._length))
        task = Task(self._sent, self._start, elements)
        self._start += len(elements)
        return task if elements else None

    def learn(self, outcome: Outcome) -> None:
        """Take the time and the bytes of a chunk into account."""
        number = len(outcome.results)
        self.is_measured = True
        if number and not self._is_fixed:
            seconds = SECONDS + self._sent.nbytes / RATE
            fitting = min(seconds / max(outcome.seconds, 1e-9), LARGE / max(outcome.nbytes, 1)) * number
            self._length = max(1, min(int(fitting), GROWTH * self._length))


def _results(engine: Engine, chunks: _Chunks, window: int, retries: int) -> Iterator[Any]:
    """The results of all chunks in order; at most so many chunks are under way."""
    under_way: deque[tuple[Task, Any]] = deque()
    is_over = False
    try:
        while True:
            while not is_over and len(under_way) < (window if chunks.is_measured else engine.workers):
                task = chunks.next()
                is_over = task is None
                if task is not None:
                    under_way.append((task, engine.start(task)))
            if not under_way:
                return
            outcome = _outcome(engine, *under_way.popleft(), retries)
            chunks.learn(outcome)
            yield from outcome.results
            if outcome.error is not None:
                raise outcome.error
    finally:
        for _, handle in under_way:
            engine.cancel(handle)
        engine.close()


def _outcome(engine: Engine, task: Task, handle: Any, retries: int) -> Outcome:
    """The outcome of a task, started again where its worker is lost.

    Raises:
        Exception: what the library of the executor raises, with a note.
    """
    for attempt in count():
        try:
            return engine.outcome(handle if attempt == 0 else engine.start(task))
        except Exception as error:
            if attempt == retries or not engine.may_retry(error):
                error.add_note(f"map_over: {described(task)}, attempt {attempt + 1}")
                raise
    raise AssertionError


def _told(results: Iterator[Any], length: int | None, tell: Callable[[int, int | None], None]) -> Iterator[Any]:
    for done, result in enumerate(results, 1):
        tell(done, length)
        yield result


@final
class _Line:
    """A line of stderr with the number of results, written anew ten times a second."""

    def __init__(self) -> None:
        self._begin, self._next = time.monotonic(), 0.0

    def __call__(self, done: int, length: int | None) -> None:
        seconds = time.monotonic() - self._begin
        if seconds >= self._next or done == length:
            self._next = seconds + 0.1
            number = done if length is None else f"{done} of {length}"
            sys.stderr.write(f"\r{number}, {seconds:.1f} s" + ("\n" if done == length else ""))
            sys.stderr.flush()
