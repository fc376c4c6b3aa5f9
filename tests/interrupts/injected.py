"""Exceptions at single instructions of tg: raised by a trace function, at every line and opcode of a call in turn."""

from __future__ import annotations

import contextlib
import gc
import re
import sys
from time import monotonic, sleep

EVERYWHERE = re.compile(r"/tg(_\w+)?/|<tg")
TURNS = re.compile(r"/tg/(functions/|turns|plugin/memo|graph/collector)|/tg_numba/(native|engine|entry|program)\.py")
"""Where turns are taken, of a call that compiles: all that is executed then are 400,000 instructions."""


class InjectedError(BaseException):
    """What is raised."""


class Tracer:
    """Counts the instructions of tg that a call executes, and raises before one of them."""

    def __init__(self, chosen=0, files=EVERYWHERE):
        self.chosen, self.count, self.place = chosen, 0, ""
        self._files, self._known = files, {}

    def _is_own(self, code):
        if code not in self._known:
            self._known[code] = self._files.search(code.co_filename) is not None
        return self._known[code]

    def __call__(self, frame, event, arg):
        """The trace function."""
        if not self._is_own(frame.f_code):
            return None
        frame.f_trace_opcodes = True
        if event != "exception":
            self.count += 1
            if self.count == self.chosen:
                self.place = f"{frame.f_code.co_qualname}:{frame.f_lineno}, {event} at byte {frame.f_lasti}"
                raise InjectedError(self.place)
        return self

    def run(self, call):
        """Make a call; the exception that was injected, with its traceback, or None."""
        sys.settrace(self)
        try:
            call()
        except InjectedError as error:
            return error
        finally:
            sys.settrace(None)
        return None


def instructions(call, files=EVERYWHERE):
    """How many instructions of tg a call executes."""
    tracer = Tracer(files=files)
    tracer.run(call)
    return tracer.count


@contextlib.contextmanager
def ignored():
    """What is raised in finalizers is ignored as ever, and not shown either."""
    before, sys.unraisablehook = sys.unraisablehook, lambda unraisable: None
    try:
        yield
    finally:
        sys.unraisablehook = before


def collects(seconds=10.0):
    """Whether the collector is on, or comes on again once a compilation in the background has ended."""
    until = monotonic() + seconds
    while not gc.isenabled() and monotonic() < until:
        sleep(0.01)
    return gc.isenabled()


def inject(way, chosen, files=EVERYWHERE):
    """Interrupt a call at each of the chosen instructions, and look each time; how many were interrupted."""
    before, kept, reached = way.effects(), None, 0
    with ignored():
        for number in chosen:
            tracer = Tracer(number, files)
            kept = tracer.run(way.call)  # its traceback is kept while it is looked at what is left
            reached += bool(tracer.place)
            try:
                before = way.look(before)
                assert collects(), "the collector is off"
            except AssertionError as error:
                error.add_note(f"  after an exception in {tracer.place}")
                raise
    del kept
    return reached
