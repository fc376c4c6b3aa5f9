"""Running measurements: each in a child process, in turn, so that a slow minute of the machine meets every engine."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.progress import track

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

HERE = Path(__file__).parent
PEER = Path(os.environ.get("PYTENSOR_PYTHON", HERE / ".venv-pytensor/bin/python"))
WITH_PYMC = Path(os.environ.get("PYMC_PYTHON", HERE.parent / "plugins/tg-pytensor/.venv/bin/python"))
HINDRANCES = ("OPENBLAS_CORETYPE", "PYTHONDONTWRITEBYTECODE")  # halve BLAS, and compile every module at every start
ENVIRONMENT = {key: value for key, value in os.environ.items() if key not in HINDRANCES}
LIMIT = 150.0  # seconds; an engine that takes longer is told to have


def caches(folder: str) -> dict[str, str]:
    """The settings that make a folder hold all that a child process compiles."""
    names = ("TG_CACHE_DIR", "NUMBA_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR")
    return {**dict.fromkeys(names, folder), "PYTENSOR_FLAGS": f"base_compiledir={folder}"}


def child(*arguments: str, python: Path | None = None) -> Any:
    """What a child process printed as its last line, parsed as JSON."""
    return json.loads(_run(arguments, python, 1)[1].splitlines()[-1])


def seconds(*arguments: str, fresh_cache: bool = True) -> dict[str, float]:
    """How long a whole child process takes; its compile cache is empty, or as an equal child has just left it."""
    return {"seconds": _run(arguments, None, 1 if fresh_cache else 2)[0]}


def _run(arguments: Sequence[str], python: Path | None, times: int) -> tuple[float, str]:
    """The seconds and the output of the last of some equal children that share a cache of their own."""
    line = [str(python or sys.executable), *arguments]
    with tempfile.TemporaryDirectory() as cache:
        environment = {**ENVIRONMENT, **caches(cache)}
        for _ in range(times):
            before = time.perf_counter()
            done = subprocess.run(
                line, cwd=HERE, env=environment, capture_output=True, text=True, check=True, timeout=LIMIT
            )
            taken = time.perf_counter() - before
    return taken, done.stdout


def in_turn(what: str, names: Sequence[str], rounds: int, measure: Callable[[str], Any]) -> dict[str, Any]:
    """The median of some rounds, in each of which every engine is measured once; one that fails is told why, once."""
    taken: dict[str, list[Any]] = {name: [] for name in names}
    failed: dict[str, dict[str, str]] = {}
    for _ in track(range(rounds), what):
        for name in names:
            if name in failed:
                continue
            try:
                taken[name].append(measure(name))
            except subprocess.TimeoutExpired:
                failed[name] = {"error": f"more than {LIMIT:.0f} s"}
            except subprocess.CalledProcessError as error:
                failed[name] = {"error": (error.stderr.strip().splitlines() or ["failed"])[-1][:200]}
    return {name: failed.get(name) or median(taken[name]) for name in names}


def median(found: Sequence[Any]) -> Any:
    """The median of numbers, member by member of dicts and lists; the first of what is no number."""
    first = found[0]
    if isinstance(first, dict):
        return {key: median([one[key] for one in found]) for key in first}
    if isinstance(first, list):
        return [median(column) for column in zip(*found, strict=True)]
    return statistics.median(found) if isinstance(first, int | float) else first
