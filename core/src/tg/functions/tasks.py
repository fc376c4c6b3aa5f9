"""Tasks of `tg.map_over`: a function and some elements on their way to a worker, and what comes back."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import pickle
import time
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, final

if TYPE_CHECKING:
    from tg.functions.compiled import Function

KEPT: Final = 4  # functions that a worker has at hand, the last ones
_arrived: Final[dict[str, Travelling]] = {}
_arriving: Final = Lock()  # a function that comes to several threads at once is compiled by one


@final
class Travelling:
    """A function: itself within a process, its pickle between processes, which each of them restores once."""

    def __init__(self, f: Function) -> None:
        self.f = f

    @functools.cached_property
    def pickle(self) -> bytes:
        """The text of the function, as it was when it was first sent."""
        return pickle.dumps(self.f, pickle.HIGHEST_PROTOCOL)

    @property
    def nbytes(self) -> int:
        """The number of bytes that are sent with each task; 0 if nothing has been sent."""
        return len(self.pickle) if "pickle" in vars(self) else 0

    def __reduce__(self) -> tuple[object, ...]:
        return arrived, (hashlib.blake2b(self.pickle, digest_size=20).hexdigest(), self.pickle)


def arrived(digest: str, data: bytes) -> Travelling:
    """A function that was sent: the one that the process has, or restored here."""
    with _arriving:
        if digest not in _arrived:
            sent = Travelling(pickle.loads(data))  # noqa: S301 (a part of a pickle)
            sent.__dict__["pickle"] = data
            _arrived[digest] = sent
            while len(_arrived) > KEPT:
                del _arrived[next(iter(_arrived))]
        return _arrived[digest]


@final
@dataclasses.dataclass(frozen=True, slots=True)
class Task:
    """A function, and elements of which the first has a number."""

    sent: Travelling
    start: int
    elements: list[Any]

    def __reduce__(self) -> tuple[object, ...]:
        return packed(self, Task)


@final
@dataclasses.dataclass(frozen=True, slots=True)
class Outcome:
    """Results of a task in order, the error that ended it if one did, and what it took."""

    results: list[Any]
    error: Exception | None
    seconds: float
    nbytes: int  # of arguments and results, guessed by those of the last

    def __reduce__(self) -> tuple[object, ...]:
        return packed(self, Outcome)


def packed(record: Task | Outcome, make: type[Task | Outcome]) -> tuple[object, ...]:
    """A record for a pickle, as one piece: Dask sends each array of its own as a message of its own."""
    fields = [getattr(record, field.name) for field in dataclasses.fields(record)]
    return _unpacked, (make, pickle.dumps(fields, pickle.HIGHEST_PROTOCOL))


def _unpacked(make: type[Task | Outcome], data: bytes) -> Task | Outcome:
    return make(*pickle.loads(data))  # noqa: S301 (a part of a pickle)


def run(task: Task) -> Outcome:
    """Call the function with each element, in a worker."""
    results, error, element = [], None, None
    begin = time.perf_counter()
    for k, element in enumerate(task.elements, task.start):
        try:
            results.append(call(task.sent.f, element))
        except Exception as raised:  # noqa: BLE001 (told by whoever reads the results)
            error = portable(noted(raised, k))
            break
    seconds = time.perf_counter() - begin
    return Outcome(results, error, seconds, len(results) * (_nbytes(element) + _nbytes(results[-1:])))


def call(f: Function, element: Any) -> Any:
    """A call with an element: a tuple of arguments, a dict of arguments by name, or the only one."""
    if isinstance(element, tuple):
        return f(*element)
    return f(**element) if isinstance(element, dict) else f(element)


def noted(error: Exception, k: int) -> Exception:
    """The error with a note that says of which element it is."""
    error.add_note(f"map_over: element {k}")
    return error


def portable(error: Exception) -> Exception:
    """The error, or one with its text where a pickle cannot hold it."""
    try:
        pickle.loads(pickle.dumps(error))  # noqa: S301 (made here)
    except Exception:  # noqa: BLE001 (whatever a class of a library does)
        text = "\n".join([f"{type(error).__name__}: {error}", *error.__notes__])
        return RuntimeError(text)
    return error


def _nbytes(value: Any) -> int:
    if isinstance(value, dict):
        value = [*value.values()]
    if isinstance(value, list | tuple):
        return sum(map(_nbytes, value))
    return int(getattr(value, "nbytes", 0))


def described(task: Task) -> str:
    """The numbers of its elements, for a message."""
    last = task.start + len(task.elements) - 1
    return f"element {last}" if task.start == last else f"elements {task.start} to {last}"
