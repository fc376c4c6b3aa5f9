"""A plugin of pytest: PyTensor has the default mode of `PEER_MODE`, and outcomes go to the file of `PEER_OUTCOMES`."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

SECONDS = 120  # of processor time, of one test: compilers that it starts are not counted


def mode(name: str) -> Any:
    """A mode by its name: PYTHON is PyTensor's own, with its Python implementations alone."""
    from pytensor.compile.mode import Mode, get_mode
    from pytensor.graph.rewriting.db import RewriteDatabaseQuery
    from pytensor.link.vm import VMLinker

    if name == "PYTHON":
        # a sum whose elements are computed on the way leaves out the first by the Python implementation
        query = RewriteDatabaseQuery(include=["fast_run"], exclude=["local_careduce_fusion"])
        return Mode(VMLinker(use_cloop=False, c_thunks=False), query)
    import tg_pytensor  # noqa: F401  it registers its modes

    return get_mode(name)


@pytest.hookimpl(trylast=True)
def pytest_sessionstart() -> None:
    """Set the default mode, after the checkout's `conftest.py` has set the flags that PyTensor reads when imported."""
    import pytensor

    pytensor.config.mode = mode(os.environ["PEER_MODE"])


def flat(seed: Any) -> Any:
    """A seed without sequences in sequences, which NumPy flattened itself before 2.5 and refuses since."""
    if not isinstance(seed, list | tuple):
        return seed
    return [number for part in seed for number in (flat(part) if isinstance(part, list | tuple) else [part])]


default_rng = np.random.default_rng
np.random.default_rng = lambda seed=None: default_rng(flat(seed))


class Late(BaseException):
    """A test has taken too long."""


def stop(*_: Any) -> None:
    """End the test that runs.

    Raises:
        Late: always.
    """
    raise Late(f"more than {SECONDS} s")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what measures time: it looks at no values."""
    timed = [item for item in items if "benchmark" in getattr(item, "fixturenames", ())]
    if timed:
        config.hook.pytest_deselected(items=timed)
        items[:] = [item for item in items if item not in timed]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """A test within its time, and with the same numbers whatever ran before it."""
    np.random.seed(20261127)  # noqa: NPY002  that is the one that the tests draw from
    signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        return (yield)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[Any]:
    """Write the outcome of a test down, with the beginning of what it raised."""
    report = yield
    if report.when == "call" or report.outcome != "passed":
        text = "" if call.excinfo is None else f"{call.excinfo.typename}: {call.excinfo.value}"[:2000]
        line = json.dumps([item.nodeid, report.when, report.outcome, text, round(call.duration, 2)])
        with Path(os.environ["PEER_OUTCOMES"]).open("a") as file:
            file.write(line + "\n")
    return report
