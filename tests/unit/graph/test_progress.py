"""A line on the standard error while a long compilation runs, where a person sees it."""

from __future__ import annotations

import io
import sys
import threading

import pytest

import tg
from tg.graph import progress
from tg.graph.progress import Progress, is_watched, open_steps
from tg.graph.timing import Span


class Terminal(io.StringIO):
    def __init__(self) -> None:
        super().__init__()
        self.wrote = threading.Event()

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> int:
        self.wrote.set()
        return super().write(text)


@pytest.fixture
def terminal(monkeypatch):
    stream = Terminal()
    monkeypatch.setattr(progress, "DELAY", 0.0)
    monkeypatch.setattr(progress, "STEP", 0.001)
    return stream


def test_it_says_where_a_compilation_is_and_leaves_nothing(terminal, monkeypatch):
    monkeypatch.setattr(sys, "stderr", terminal)  # here, for pytest puts its own in place before a test begins
    with Span("specialization") as span, Progress("loss", span), Span("link"), Span("compiler"):
        terminal.wrote.clear()
        assert terminal.wrote.wait(10)
    lines = terminal.getvalue().split("\r")
    assert any(line.startswith("tg: compiling loss, 0 s: link › compiler") for line in lines)
    assert lines[-2:] == [" " * progress.WIDTH, ""]
    assert max(map(len, lines)) <= progress.WIDTH
    assert not any(thread.name == "tg progress" for thread in threading.enumerate())


def test_it_goes_where_compiling_fails(terminal, monkeypatch):
    monkeypatch.setattr(sys, "stderr", terminal)

    def fail():
        with Span("specialization") as span, Progress("f", span):
            assert terminal.wrote.wait(10)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert terminal.getvalue().endswith("\r")


def test_short_compilations_say_nothing(monkeypatch, terminal):
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(progress, "DELAY", 60.0)
    x = tg.vector("x")
    tg.function([x], tg.exp(x), backend="perform")
    assert terminal.getvalue() == ""


def test_the_configuration_turns_it_off(terminal, monkeypatch):
    monkeypatch.setattr(sys, "stderr", terminal)
    with tg.config(progress=False), Span("specialization") as span, Progress("f", span):
        pass
    assert terminal.getvalue() == ""


def test_only_terminals_and_notebooks_are_written_to():
    closed = Terminal()
    closed.close()
    notebook = type("OutStream", (io.StringIO,), {"__module__": "ipykernel.iostream"})()
    assert [is_watched(stream) for stream in (None, io.StringIO(), closed, Terminal(), notebook)] == [
        False,
        False,
        False,
        True,
        True,
    ]


def test_open_steps_are_those_that_have_not_ended():
    with Span("a", root=True) as root:
        with Span("done"):
            pass
        with Span("b"), Span("c"):
            assert open_steps(root) == ["b", "c"]
        assert open_steps(root) == []
