"""`make bench`: every measurement in a child process of its own, interleaved, as ratios beside the peers.

Results go to benchmarks/results/latest.json and the tables are printed. PyTensor is measured where
benchmarks/.venv-pytensor (or PYTENSOR_PYTHON) has it: a virtual environment with `pip install pytensor`.
"""

from __future__ import annotations

import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import track
from rich.table import Table

HERE = Path(__file__).parent
PEER = Path(os.environ.get("PYTENSOR_PYTHON", HERE / ".venv-pytensor/bin/python"))
ENVIRONMENT = {k: v for k, v in os.environ.items() if k != "OPENBLAS_CORETYPE"}
SIZES = ("250", "1000", "4000", "16000")
PEER_SIZES = ("250", "1000")  # four times as many nodes take PyTensor many minutes on "wide"
ROUNDS = 5
BACKENDS = ("perform", "c", "jax")


def child(*arguments: str, python: str = sys.executable, **environment: str) -> str:
    """What a child process printed."""
    done = subprocess.run(
        [python, *arguments], cwd=HERE, env={**ENVIRONMENT, **environment}, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(f"{' '.join(arguments)}:\n{done.stderr[-2000:]}")
    return done.stdout


def start() -> dict[str, float]:
    """Median seconds of whole processes, taken in turn; compile caches cold."""
    names = ("import-numpy", "import-tg", "numpy", "perform", "c", "raw-jax", "jax")
    taken: dict[str, list[float]] = {name: [] for name in names}
    for _ in track(range(ROUNDS), "start"):
        for name in names:
            with tempfile.TemporaryDirectory() as cache:
                before = time.perf_counter()
                child("start.py", name, TG_CACHE_DIR=cache)
                taken[name].append(time.perf_counter() - before)
    with tempfile.TemporaryDirectory() as cache:
        child("start.py", "c", TG_CACHE_DIR=cache)
        warm = []
        for _ in range(ROUNDS):
            before = time.perf_counter()
            child("start.py", "c", TG_CACHE_DIR=cache)
            warm.append(time.perf_counter() - before)
    return {**{name: statistics.median(v) for name, v in taken.items()}, "c (warm cache)": statistics.median(warm)}


def calls() -> dict[str, dict[str, float]]:
    """Median microseconds per call."""
    names = ("raw-numpy", "raw-jax", *BACKENDS)
    taken: dict[str, list[dict[str, float]]] = {name: [] for name in names}
    for _ in track(range(3), "calls"):
        for name in names:
            taken[name].append(json.loads(child("calls.py", name)))
    return {
        name: {label: statistics.median(run[label] for run in runs) for label in runs[0]}
        for name, runs in taken.items()
    }


def engine() -> dict[str, dict[str, Any]]:
    """Seconds from expression to rewritten graph, beside PyTensor's where it is."""
    found: dict[str, dict[str, Any]] = {}
    for name in track(("wide", "mix", "deep"), "engine"):
        found[name] = {"tg": json.loads(child("engine_tg.py", name, *SIZES))}
        if PEER.exists():
            try:
                text = child("engine_pytensor.py", name, *PEER_SIZES, python=str(PEER), PYTENSOR_FLAGS="cxx=")
                found[name]["pytensor"] = json.loads(text)
            except RuntimeError as error:
                found[name]["pytensor_error"] = str(error)
    return found


def show(results: dict[str, Any], console: Console) -> None:
    """The tables."""
    table = Table("start", "seconds", "beyond its base", title="whole processes, median")
    base = results["start"]
    for name, seconds in base.items():
        under = {"import-tg": "import-numpy", "jax": "raw-jax"}.get(name, "numpy")
        table.add_row(name, f"{seconds:.3f}", "" if name == under else f"{seconds - base[under]:+.3f} ({under})")
    console.print(table)
    labels = list(results["calls"]["raw-numpy"])
    table = Table("µs a call", *labels, title="calls")
    for name, row in results["calls"].items():
        table.add_row(name, *(f"{row[label]:.2f}" for label in labels))
    console.print(table)
    columns = ("tg applies", "tg build", "tg rewrite", "µs a node", "PyTensor applies", "PyTensor rewrite", "ratio")
    table = Table("engine", "size", *columns, title="seconds from expression to rewritten graph")
    for name, row in results["engine"].items():
        for size, got in row["tg"].items():
            peer = row.get("pytensor", {}).get(size)
            cells = [str(got["applies"]), f"{got['build']:.3f}", f"{got['total']:.3f}"]
            cells.append(f"{1e6 * got['total'] / got['applies']:.0f}")
            if peer:
                cells += [str(peer["applies"]), f"{peer['total']:.3f}", f"{peer['total'] / got['total']:.0f} ×"]
            table.add_row(name, size, *cells)
    console.print(table)


def main() -> None:
    """Measure, print, and keep the figures."""
    results = {
        "machine": f"{platform.machine()}, {os.cpu_count()} processors, Python {platform.python_version()}",
        "start": start(),
        "calls": calls(),
        "engine": engine(),
    }
    folder = HERE / "results"
    folder.mkdir(exist_ok=True)
    (folder / "latest.json").write_text(json.dumps(results, indent=2) + "\n")
    show(results, Console(width=None if sys.stdout.isatty() else 120))


if __name__ == "__main__":
    main()
