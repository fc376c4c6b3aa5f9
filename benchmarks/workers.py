"""Engines side by side: each in a child process of its own that stays, asked in turn for a slice of every row.

So a slow minute of the machine meets every engine, and an import is paid once. In each round an engine begins anew, its
cache empty, so that its seconds to the first result are a median too; one that compiled for long does not. The rows
whose compiling has a target have a process of their own, in which nothing was compiled before.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import statistics
import subprocess
import sys
import tempfile
from typing import TYPE_CHECKING, Any

import numpy as np
from harness import ENVIRONMENT, HERE, PEER, caches
from rich.progress import track
from targets import TARGETS

if TYPE_CHECKING:
    from collections.abc import Sequence

TURNS, SLICE = 3, 0.03  # how often an engine is asked about a row in one round, and for how many seconds
ONE_THREAD = {
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
    **dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1"),
}
PATIENCE = 5.0  # seconds of compiling in a round, above which there is no second time
ALONE = {target.row for target in TARGETS if target.page == "compile"}
LIMIT = 20.0  # seconds of compiling and measuring one row; an engine that takes longer has no figure
LIMITS = {"torch.compile": 40.0, "pytensor-NUMBA": 150.0, "pytensor-CVM": 150.0}


class NoFigureError(Exception):
    """An engine that has no figure, and why."""


class Worker:
    """One engine's process, begun when it is asked: one that has died or was too slow is followed by another."""

    def __init__(self, engine: str, script: str = "measure.py", limit: float | None = None) -> None:
        self.engine, self.script = engine, script
        self.limit = limit or LIMITS.get(engine, LIMIT)
        self.process: subprocess.Popen[str] | None = None
        self.folder: tempfile.TemporaryDirectory[str] | None = None  # of its caches
        self.compiling = 0.0  # seconds, so far

    def ask(self, row: str, seconds: float = SLICE) -> dict[str, Any]:
        """Its answer on a row.

        Raises:
            NoFigureError: an error, a death or silence.
        """
        process = self.process or self._begin()
        try:
            process.stdin.write(json.dumps([row, seconds]) + "\n")
            process.stdin.flush()
            if not select.select([process.stdout], [], [], self.limit)[0]:
                self.end()
                raise NoFigureError(f"more than {self.limit:.0f} s")
            line = process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            raise NoFigureError(self._last_words(process))
        found = json.loads(line)
        if "error" in found:
            raise NoFigureError(found["error"])
        self.compiling += found.get("compile", 0.0)
        return found

    def begin_round(self) -> None:
        """Forget what was compiled, unless it took long."""
        if self.compiling < PATIENCE:
            self.end()
            self.compiling = 0.0

    def end(self, *, keeps_caches: bool = False) -> None:
        """End the process and what it has started, and remove its caches unless the next is to have them."""
        if self.process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)  # with the compilers it has started
            self.process.communicate()
            self.process = None
        if self.folder is not None and not keeps_caches:
            self.folder.cleanup()
            self.folder = None

    def _begin(self) -> subprocess.Popen[str]:
        threads = "threads=" in self.engine
        self.folder = self.folder or tempfile.TemporaryDirectory()
        self.complaints = tempfile.TemporaryFile("w+")  # noqa: SIM115  # closed with the worker
        self.process = subprocess.Popen(
            [PEER if self.engine.startswith("pytensor") else sys.executable, self.script, self.engine],
            cwd=HERE,
            env={**ENVIRONMENT, **caches(self.folder.name), **({} if threads else ONE_THREAD)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.complaints,
            text=True,
            start_new_session=True,
        )
        return self.process

    def _last_words(self, process: subprocess.Popen[str]) -> str:
        code = process.wait()
        self.complaints.seek(0)
        lines = [line for line in self.complaints.read().splitlines() if line[:1].strip()]  # not indented
        self.end()
        return (lines or [f"ended with {code}"])[-1][:200]


def measured(rows: Sequence[str], engines: Sequence[str], rounds: int) -> dict[str, dict[str, Any]]:
    """For each row and engine: medians over the rounds and turns, and the least; or the error.

    `run` and `least` are microseconds a call, `compile` seconds to the first result, `checksum` of the first results;
    `spread` is how far apart the middle half of the answers lies, as a part of their median: noise of the machine.
    """
    answers: dict[str, dict[str, list[dict[str, Any]]]] = {row: {engine: [] for engine in engines} for row in rows}
    failed: dict[str, dict[str, str]] = {row: {} for row in rows}
    workers = {(engine, row): Worker(engine) for engine in engines for row in ("", *ALONE)}
    try:
        for row in track([row for _ in range(rounds) for row in rows], "run"):
            at_work = [workers[engine, row if row in ALONE else ""] for engine in engines]
            if row == rows[0]:
                _begin_round(at_work)
            _ask_in_turn(row, at_work, answers[row], failed[row])
            if row in ALONE:
                _begin_round(at_work)
    finally:
        for worker in workers.values():
            worker.end()
    return {
        row: {
            engine: {"error": failed[row][engine]} if engine in failed[row] else _whole(answers[row][engine])
            for engine in engines
        }
        for row in rows
    }


def _begin_round(workers: Sequence[Worker]) -> None:
    for worker in workers:
        worker.begin_round()


def _ask_in_turn(
    row: str, workers: Sequence[Worker], answers: dict[str, list[dict[str, Any]]], failed: dict[str, str]
) -> None:
    """Some answers of every engine on a row, or why one has none."""
    for worker in [*workers] * TURNS:
        if worker.engine not in failed:
            try:
                answers[worker.engine].append(worker.ask(row))
            except NoFigureError as why:
                failed[worker.engine] = str(why)


def _whole(answers: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """What several answers say together."""
    compiles = [one["compile"] for one in answers if "compile" in one]
    below, median, above = np.percentile([one["run"] for one in answers], (25, 50, 75)).tolist()
    return {
        "run": median,
        "spread": (above - below) / median,
        "least": min(one["least"] for one in answers),
        **({"compile": statistics.median(compiles)} if compiles else {}),
        "checksum": next(one["checksum"] for one in answers if "checksum" in one),
    }
