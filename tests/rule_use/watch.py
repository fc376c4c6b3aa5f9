"""Names of the rewrites that fire, by program: in this process, or in a run of pytest with `-p tests.rule_use.watch`.

What counts is what is kept: a replacement that the graph takes (`Sweep._account`), and a stable form of which a
derivative is taken. The plugin writes its ledger to the file of `RULE_USE`; a program is then a test, without its
parameters.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING
from unittest import mock

import pytest

from tg.functions import compile as compiling
from tg.functions import compiled
from tg.functions.backends import backend
from tg.gradient import stable
from tg.graph import sweep
from tg.graph.function_graph import FunctionGraph

if TYPE_CHECKING:
    from collections.abc import Iterator

SECONDS = 6  # of processor time, of one test
MOST = 3  # programs of a rewrite that are written down
Ledger = dict[str, list[str]]
"""The first programs in which each rewrite fires."""


class Watch:
    """A ledger of the programs of one source, and the program that is compiled now."""

    def __init__(self) -> None:
        self.ledger: Ledger = {}
        self.program = ""

    def note(self, name: str) -> None:
        """Note that a rewrite has fired."""
        met = self.ledger.setdefault(name, [])
        if self.program not in met and len(met) < MOST:
            met.append(self.program)


def read(path: Path) -> Ledger:
    """The ledger that a run of pytest has written."""
    found: Ledger = json.loads(path.read_text())
    return found


class _Named:
    """A stable form whose attempts say its name when they succeed."""

    def __init__(self, one, last):
        self.one, self.name, self.last = one, one.name, last

    def for_kinds(self, kinds):
        attempt = self.one.for_kinds(kinds)
        return attempt and (lambda node, outputs: self._told(attempt(node, outputs)))

    def _told(self, found):
        if found is not None:
            self.last[:] = [self.name]
        return found


@contextlib.contextmanager
def watched() -> Iterator[Watch]:
    """Note what fires until the end of the block; programs made before may have their stable forms already."""
    watch, last = Watch(), []
    account, better, rules = sweep.Sweep._account, stable._Sweep._better, stable._rules

    def noted(state, rule, *rest):
        watch.note(rule)
        account(state, rule, *rest)

    def noted_better(opened, v):
        found = better(opened, v)
        if found is not None:
            watch.note(last[0])
        return found

    @functools.cache
    def named_rules(mode, exclude):
        known = rules(mode, exclude)
        return stable._Rules({key: [_Named(one, last) for one in tried] for key, tried in known.by_key.items()}, {})

    with (
        mock.patch.object(sweep.Sweep, "_account", noted),
        mock.patch.object(stable._Sweep, "_better", noted_better),
        mock.patch.object(stable, "_rules", named_rules),
    ):
        yield watch


def interpreted(inputs, outputs, ones, setting):
    """A program rewritten for its backend, and run as the reference has it: no compiler is waited for."""
    if setting.choice.name != compiling.REFERENCE:
        compiling.rewritten(FunctionGraph.of(inputs, outputs, ones), setting)
    reference = setting._replace(choice=backend(compiling.REFERENCE))
    return compiling.interpreted(compiling.prepared(inputs, outputs, ones, reference))


def stop(*_: object) -> None:
    """End a test whose programs are compiled by now, and which runs them on the reference.

    Raises:
        Failed: always.
    """
    pytest.fail(f"more than {SECONDS} s")


class Plugin:
    """Watches a run of pytest, and writes its ledger at the end."""

    def __init__(self) -> None:
        self.stack = contextlib.ExitStack()
        self.watch = self.stack.enter_context(watched())
        self.stack.enter_context(mock.patch.object(compiled, "compile_expression", interpreted))

    def pytest_collectstart(self, collector: pytest.Collector) -> None:
        self.watch.program = collector.nodeid

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self.watch.program = nodeid.partition("[")[0]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self) -> Iterator[None]:
        signal.signal(signal.SIGPROF, stop)
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        try:
            return (yield)
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)

    def pytest_runtest_logfinish(self) -> None:
        Path(os.environ["RULE_USE"]).write_text(json.dumps(self.watch.ledger))  # a run may be stopped

    def pytest_unconfigure(self) -> None:
        self.stack.close()


def pytest_configure(config: pytest.Config) -> None:
    """Begin to watch."""
    if "RULE_USE" in os.environ:
        config.pluginmanager.register(Plugin(), "rule-use")
