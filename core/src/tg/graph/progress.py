"""Progress of a long compilation: one line on the standard error, where a person sees it.

A thread writes it, begun only where the standard error is a terminal or a notebook's; compilations of less than two
seconds say nothing. The line goes when the compilation ends.
"""

from __future__ import annotations

import sys
import threading
from typing import TYPE_CHECKING, Final, final

from tg.configuration import current

if TYPE_CHECKING:
    from typing import TextIO

    from tg.graph.timing import Span

DELAY: Final = 2.0  # seconds before the first line
STEP: Final = 0.5  # seconds from one line to the next
WIDTH: Final = 79  # of the line, less than that of a terminal


@final
class Progress:
    """A context manager around one compilation.

    Args:
        what: its name.
        span: the span that is open while it runs; those inside it tell where it is.
    """

    def __init__(self, what: str, span: Span) -> None:
        self._what, self._span = what, span
        self._done = threading.Event()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> None:
        stream = sys.stderr
        if is_watched(stream) and current().progress:
            self._thread = threading.Thread(target=self._write, args=(stream,), name="tg progress", daemon=True)
            self._thread.start()

    def __exit__(self, *raised: object) -> None:
        if self._thread is not None:
            self._done.set()
            self._thread.join()

    def _write(self, stream: TextIO) -> None:
        seconds = DELAY
        if self._done.wait(DELAY):
            return
        try:
            while True:
                line = f"tg: compiling {self._what}, {seconds:.0f} s: {' › '.join(open_steps(self._span))}"
                stream.write("\r" + line[:WIDTH].ljust(WIDTH))
                stream.flush()
                if self._done.wait(STEP):
                    break
                seconds += STEP
            stream.write("\r" + " " * WIDTH + "\r")
            stream.flush()
        except (OSError, ValueError):  # nobody reads any more
            return


def is_watched(stream: TextIO | None) -> bool:
    """Whether a person may see what is written to a stream now: a terminal's, or a notebook's."""
    if stream is None or stream.closed:
        return False
    return stream.isatty() or type(stream).__module__.partition(".")[0] == "ipykernel"


def open_steps(span: Span) -> list[str]:
    """The names of the spans that are open in a span of another thread, outermost first."""
    names: list[str] = []
    while span.parts and not span.parts[-1].ended:
        span = span.parts[-1]
        names.append(span.name)
    return names
