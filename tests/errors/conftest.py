"""What a mistake must be like on every backend: the class, the user's line, names and values, and nothing changed."""

from __future__ import annotations

import inspect
import sys
import traceback
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import tg
from tg import plugin
from tg.functions.shared import Shared

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType, TracebackType

    from tg.functions.compiled import Function

BACKENDS = sorted(b.name for b in plugin.registry().backends() if b.is_available)
MARK = "# here"
LINES = 10  # within so many lines stands what the user has to know


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> Iterator[str]:
    """The backend that functions of the test are made for."""
    name: str = request.param
    with tg.config(backend=name):
        yield name


class Fine:
    """Good calls: made before a mistake, and again after it, with the same results and without compiling anew."""

    def __init__(self) -> None:
        self.calls: list[tuple[Function, tuple[Any, ...], Any]] = []

    def __call__(self, f: Function, *args: Any, gives: Any) -> None:
        np.testing.assert_allclose(f(*args), gives)
        self.calls.append((f, args, gives))

    def again(self) -> None:
        for f, args, gives in self.calls:
            before = f.compiles
            np.testing.assert_allclose(f(*args), gives)
            assert f.compiles == before, "what was compiled has been lost"


@pytest.fixture
def fine() -> Fine:
    """`fine(f, *args, gives=…)` is a call that works."""
    return Fine()


class Mistake:
    """A `with` block in which an error of one class is raised whose text tells what was wrong.

    The line that has to be named is the one marked with `# here`, else the one that raised. The arrays and shared
    variables that the test holds must be as before; its good calls are made again, or without any, the input variables
    that it holds are used for a function.
    """

    def __init__(self, fine: Fine, error: type[Exception], tells: tuple[str, ...]) -> None:
        self.fine, self.error, self.tells = fine, error, tells

    def __enter__(self) -> None:
        self.frame = sys._getframe(1)
        self.before = held(self.frame)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        assert error is not None, f"no error; needed a {self.error.__name__}"
        if not isinstance(error, tg.TgError) and not issubclass(kind, self.error):  # type: ignore[arg-type]
            return False
        assert type(error) is self.error, "".join(traceback.format_exception(error))
        text = shown(error)
        top = "\n".join(text.splitlines()[:LINES])
        if isinstance(error, tg.TgError):
            file = PurePath(self.frame.f_code.co_filename).name
            assert f"{file}:{self.line(error)} " in top, f"needed line {self.line(error)} in:\n{text}"
            places = [line for line in text.splitlines() if line.startswith("  at  ")]
            assert all(line.startswith(f"  at  {file}:") for line in places), f"a place that is not the user's:\n{text}"
        for needed in self.tells:
            assert needed in top, f"needed {needed!r} in:\n{text}"
        compare(self.before, held(self.frame))
        self.fine.again() if self.fine.calls else use(self.frame)
        return True

    def line(self, error: BaseException) -> int:
        source, first = inspect.getsourcelines(self.frame.f_code)
        marked = [first + k for k, line in enumerate(source) if line.rstrip().endswith(MARK)]
        if marked:
            return marked[0]
        own = [line for f, line in traceback.walk_tb(error.__traceback__) if f.f_code is self.frame.f_code]
        return own[-1]


@pytest.fixture
def mistake(fine: Fine, backend: str) -> Any:
    """`with mistake(tg.ShapeError, "x", "[3]"):` holds a mistake and what the text has to tell."""
    return lambda error, *tells: Mistake(fine, error, tells)


def shown(error: BaseException) -> str:
    """What a traceback ends with: the class, the message, the notes."""
    return "".join(traceback.format_exception_only(error))


def held(frame: FrameType) -> dict[str, Any]:
    """Copies of the arrays that a frame holds, and of the values of its shared variables."""
    found = {}
    for name, value in frame.f_locals.items():
        if isinstance(value, Shared):
            found[name] = value.get_value()
        elif isinstance(value, np.ndarray):
            found[name] = value.copy()
    return found


def compare(before: dict[str, Any], after: dict[str, Any]) -> None:
    for name, value in before.items():
        assert value.dtype == after[name].dtype
        np.testing.assert_array_equal(after[name], value, err_msg=f"the mistake has changed {name}")


def use(frame: FrameType) -> None:
    """Make and call a function of the input variables that a frame holds."""
    inputs = [v for v in frame.f_locals.values() if type(v) is tg.Variable and v.apply is None]
    sizes = [np.ones([3 if n is None else n for n in v.type.shape], v.type.dtype) for v in inputs]
    found = tg.function(inputs, [tg.sum(v * 2) for v in inputs])(*sizes)
    assert [float(v) for v in found] == [2.0 * value.size for value in sizes]
