"""The parent of a backend's worker: sends ids, collects outcomes, and finds out which item crashed or hung."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, final

from tg_conformance.outcome import Outcome

if TYPE_CHECKING:
    from collections.abc import Sequence

START: Final = 120.0  # seconds that a worker may take to start: frameworks are slow to import


class _Died(Exception):  # noqa: N818 (reads as the fact it states)
    """The worker has ended or was ended; the text says how."""


@final
class Worker:
    """The one worker process of a backend, started when it is first needed and again after it has died."""

    def __init__(
        self,
        backend: str,
        tier: str,
        limit: float,
        *,
        mode: str | None = None,
        exclude: Sequence[str] = (),
        options: Sequence[str] = (),
    ) -> None:
        """A worker that is yet to be started.

        Args:
            mode: of the functions that it compiles; None for the configured one.
            exclude: rules, passes and classes of rewriting that they go without.
            options: of the backend, as `NAME=VALUE`.
        """
        self.backend, self.tier, self.limit = backend, tier, limit
        self.mode, self.exclude, self.options = mode, tuple(exclude), tuple(options)
        self.restarts = 0
        self._folder = tempfile.TemporaryDirectory(prefix="tg-conformance-")
        self._process: subprocess.Popen[str] | None = None

    def run(self, ids: Sequence[str]) -> list[Outcome]:
        """The outcomes of a batch; an item that ends or hangs the process has failed, and the others are run again."""
        started = time.perf_counter()
        try:
            return self._ask({"ids": list(ids)})
        except _Died as death:
            if len(ids) == 1:
                return [self._outcome_of_death(ids[0], death, started)]
        middle = len(ids) // 2
        return self.run(ids[:middle]) + self.run(ids[middle:])

    def gap(self, k: int, name: str) -> list[Outcome]:
        """Whether a gap is true, by the items of the tier that it covers."""
        started = time.perf_counter()
        try:
            return self._ask({"gap": k})
        except _Died as death:
            return [self._outcome_of_death(name, death, started, proven="passed")]

    def option(self, option: str, name: str) -> list[Outcome]:
        """Whether another value of an option shows."""
        started = time.perf_counter()
        try:
            return self._ask({"option": option})
        except _Died as death:
            return [self._outcome_of_death(name, death, started)]

    def _outcome_of_death(self, name: str, death: _Died, started: float, proven: str = "xfailed") -> Outcome:
        """A failure, unless it came of what a gap says that the backend cannot do."""
        reason, seconds = self._reason(), time.perf_counter() - started
        return Outcome(name, proven if reason else "failed", reason or str(death), seconds)

    def close(self) -> None:
        """End the process."""
        self._end()
        self._folder.cleanup()

    def _ask(self, request: dict[str, Any]) -> list[Outcome]:
        process = self._started()
        assert process.stdin is not None
        try:
            process.stdin.write(json.dumps(request) + "\n")
            process.stdin.flush()
            return [Outcome(*one) for one in json.loads(self._read(process, self.limit))]
        except BrokenPipeError:
            raise self._death(process) from None
        except BaseException:  # an interruption: what the process still answers would be taken for what is asked next
            self._end()
            raise

    def _read(self, process: subprocess.Popen[str], limit: float) -> str:
        """The next line that the worker writes."""
        assert process.stdout is not None
        ready, _, _ = select.select([process.stdout], [], [], limit)
        if not ready:
            self._end()
            raise _Died(f"hung: no answer within {limit:g} s{self._journal()}")
        line = process.stdout.readline()
        if not line:
            raise self._death(process)
        return line

    def _death(self, process: subprocess.Popen[str]) -> _Died:
        code = process.wait(10)
        self._end()
        how = f"signal {-code}" if code < 0 else f"exit status {code}"
        errors = self._file("stderr").read_text(errors="replace")[-2000:]
        return _Died(f"crashed: the worker ended with {how}{self._journal()}\n{errors}")

    def _journal(self) -> str:
        """The item that the worker was running, from its journal."""
        last = self._last()[1:]
        return f" while running {last[0]}{f' and {len(last) - 1} more' if len(last) > 1 else ''}" if last else ""

    def _reason(self) -> str:
        """Why a gap says that what the worker was doing may fail; nothing where no gap was tried."""
        return next(iter(self._last()), "")

    def _last(self) -> list[str]:
        """The last line of the journal: the reason of a gap or nothing, then the ids."""
        path = self._file("journal")
        lines = path.read_text().splitlines() if path.exists() else []
        return list(json.loads(lines[-1])) if lines else []

    def _started(self) -> subprocess.Popen[str]:
        if self._process is not None and self._process.poll() is None:
            return self._process
        self.restarts += 1
        command = [sys.executable, "-m", "tg_conformance.worker", "--backend", self.backend, "--tier", self.tier]
        command += [word for option in self.options for word in ("--option", option)]
        errors = self._file("stderr").open("w")
        self._process = subprocess.Popen(
            [*command, "--journal", str(self._file("journal"))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            env=self._environment(),
        )
        errors.close()
        self._read(self._process, START)  # it says when it is ready
        return self._process

    def _environment(self) -> dict[str, str]:
        """The parent's environment and import path, so that a worker sees what the parent sees, and its options.

        What it compiles goes to a folder of its own unless the parent has chosen one: nothing old is tested.
        """
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        environment.setdefault("TG_CACHE_DIR", str(self._file("cache")))
        if self.mode is not None:
            environment["TG_MODE"] = self.mode
        if self.exclude:
            environment["TG_EXCLUDE"] = ",".join(self.exclude)
        return environment

    def _file(self, name: str) -> Path:
        return Path(self._folder.name) / name

    def _end(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait(10)
            for stream in (self._process.stdin, self._process.stdout):
                if stream is not None:
                    stream.close()
            self._process = None
