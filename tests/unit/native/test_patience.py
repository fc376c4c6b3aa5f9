"""What takes long is told, to whoever looks on, and what does not is not."""

import io
import logging
import sys

import pytest

from tg_native.show import patience
from tg_native.show.patience import LONG, Patience


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def clock(monkeypatch):
    """Seconds that a test sets."""
    now = [100.0]
    monkeypatch.setattr(patience, "monotonic", lambda: now[0])
    return now


def test_two_seconds_are_nothing_to_speak_of(clock, monkeypatch, caplog):
    monkeypatch.setattr(sys, "stderr", Terminal())
    with caplog.at_level(logging.INFO, "tg"), Patience("compiling") as told:
        clock[0] += LONG - 0.1
        told.tick()
    assert sys.stderr.getvalue() == ""
    assert not caplog.records


def test_a_terminal_shows_what_takes_long_until_it_is_over(clock, monkeypatch, caplog):
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setenv("TERM", "xterm")
    with caplog.at_level(logging.INFO, "tg"), Patience("gcc compiles 4,000 lines [of] C") as told:
        clock[0] += 65
        told.tick()
        shown = sys.stderr.getvalue()
        told.tick()
    assert "tg: gcc compiles 4,000 lines [of] C" in shown
    assert "0:01:05" in shown
    assert "\x1b[2K" in sys.stderr.getvalue()[len(shown) :]  # the line is erased
    assert not caplog.records


def test_elsewhere_the_logger_gets_one_record(clock, monkeypatch, caplog):
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with caplog.at_level(logging.INFO, "tg"), Patience("compiling") as told:
        for _ in range(5):
            clock[0] += 1
            told.tick()
    assert [record.getMessage() for record in caplog.records] == ["compiling: 2 s so far"]
    assert sys.stderr.getvalue() == ""


def test_an_error_ends_the_line(clock, monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    told = Patience("compiling")

    def compiling():
        with told:
            clock[0] += 3
            told.tick()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        compiling()
    assert not told._shown.live.is_started


def test_in_a_notebook_core_tells_it(clock, monkeypatch):
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    monkeypatch.setitem(sys.modules, "ipykernel", logging)  # any module: that it was imported is seen
    with Patience("compiling") as told:
        clock[0] += 65
        told.tick()
    assert sys.stderr.getvalue() == ""
