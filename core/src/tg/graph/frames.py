"""Frames of tracebacks: an error at a user's line shows that line, and few or none of tg's own frames below it.

At the doors of expressions and calls what is inside is cut off (`TgError.trim`), whoever prints it. In notebooks
nothing of tg is left: IPython asks an error how it is shown, by `_render_traceback_`.
`tg.config(tracebacks="full")` and `TG_TRACEBACKS=full` show all frames. `sys.excepthook` stays as it is.
"""

from __future__ import annotations

import os
import sys
from types import TracebackType
from typing import TYPE_CHECKING

from tg.callers import is_inside
from tg.configuration import chosen

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.errors import TgError


def is_short() -> bool:
    """Whether frames of tg are left out."""
    config = chosen()
    if config is not None:
        return config.tracebacks == "short"
    return os.environ.get("TG_TRACEBACKS") != "full"  # errors of what else stands there are made while this is asked


def of_user(traceback: TracebackType | None) -> TracebackType | None:
    """A traceback without the frames of tg; None where there are no others."""
    entries = []
    entry = traceback
    while entry is not None:
        entries.append(entry)
        entry = entry.tb_next
    shown: TracebackType | None = None
    for entry in reversed(entries):
        if not is_inside(entry.tb_frame.f_globals.get("__name__", "")):
            shown = TracebackType(shown, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return shown


def rendered(error: TgError) -> Sequence[str]:
    """The lines of an error as IPython shows it.

    Raises:
        AttributeError: IPython is not there.
    """
    shell = sys.modules["IPython"].get_ipython()
    own = None if error.shows_all else of_user(error.__traceback__)
    traceback = error.__traceback__ if own is None else own
    lines: Sequence[str] = shell.InteractiveTB.structured_traceback(type(error), error, traceback, tb_offset=1)
    return lines
