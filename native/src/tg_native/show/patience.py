"""Saying that something takes long: nothing for the first two seconds, then what it is and since when.

Where a person looks on, at a terminal or in a notebook, a line with a running clock stands there until it is over; else
one record goes to the logger `tg`.
"""

from __future__ import annotations

import sys
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, Self, final

if TYPE_CHECKING:
    from types import TracebackType

LONG: Final = 2.0  # seconds


@final
class Patience:
    """A context manager for what may take long, in which `tick` is called now and then.

    Args:
        what: such as "gcc compiles a unit of 4,211 lines".
    """

    __slots__ = ("_began", "_is_logged", "_shown", "_what")

    def __init__(self, what: str) -> None:
        self._what, self._is_logged = what, False
        self._shown: Any = None  # a rich.progress.Progress, once there is one

    def __enter__(self) -> Self:
        self._began = monotonic()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._shown is not None:
            self._shown.stop()

    def tick(self) -> None:
        """Say so, if it has taken long by now."""
        taken = monotonic() - self._began
        if taken < LONG:
            return
        if self._shown is not None:
            self._shown.refresh()
        elif _is_watched():
            self._shown = _shown(self._what, taken)
        elif not self._is_logged:
            self._is_logged = True
            import logging  # 4 ms that few processes need

            logging.getLogger("tg").info("%s: %.0f s so far", self._what, taken)


def _is_watched() -> bool:
    """Whether a person sees what is printed now, at a terminal; in a notebook core's line of progress tells it."""
    return bool(sys.stderr is not None and sys.stderr.isatty())


def _shown(what: str, taken: float) -> Any:
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
    shown = Progress(*columns, console=console, transient=True, auto_refresh=False)
    shown.add_task(f"tg: {what}", total=None)
    (task,) = shown.tasks
    if task.start_time is not None:
        task.start_time -= taken
    shown.start()
    shown.refresh()
    return shown
