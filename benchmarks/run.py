"""`make bench`: every measurement in a child process of its own, engines in turn, as ratios beside the peers.

Tables are printed; benchmarks/results/latest.json has the figures and benchmarks/results/index.html shows them.
PyTensor is measured where benchmarks/.venv-pytensor (or PYTENSOR_PYTHON) has it: an environment with
`pip install pytensor numba jax`. `--only start calls` measures these pages alone and keeps the others' last figures.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import subprocess
from pathlib import Path
from typing import Any

from harness import PEER, child, in_turn, seconds
from page import write
from rich.console import Console
from rich.table import Table

RESULTS = Path(__file__).parent / "results"
BACKENDS = ("perform", "c", "numba", "jax", "torch", "mlx")
SIZES = {"wide": ("62", "250", "1000", "4000", "12500"), "mix": ("250", "1000", "4000", "16000", "50000")}
SIZES["deep"] = SIZES["mix"]  # of "wide" each node of the expression makes four applies with its gradient
PEER_SIZES = ("250", "1000")  # four times as many nodes take PyTensor many minutes on "wide"
ENGINE_MODELS = ("radon", "logistic 5000x20", "mlp 10x64", "deep 5342")
PEER_MODES = ("NUMBA", "CVM")
MODELS = (
    "w1 sum of squares 1e5",
    "w2 transcendental 1e3",
    "w2 transcendental 1e5",
    "w2 transcendental 1e5 float32",
    "w3 softmax rows 1000x1000",
    "w4 logsumexp rows 1000x1000",
    "w5 normal 1e5",
    "w6 layer 1000, gradient",
    "w7 grouped 1e6",
    "w7 grouped 1e6, gradient",
    "radon",
    "logistic 5000x20",
    "mlp 10x64",
    "deep 500",
)


def start(rounds: int) -> dict[str, Any]:
    """Median seconds of whole processes; compile caches cold, unless the name says warm."""
    names = ["import-numpy", "import-tg", "numpy", *BACKENDS, "c-warm", "numba-warm", "raw-jax", "raw-torch", "raw-mlx"]
    return in_turn(
        "start", names, rounds, lambda name: seconds("start.py", name, fresh_cache=not name.endswith("-warm"))
    )


def calls(rounds: int) -> dict[str, Any]:
    """The median over rounds of the least microseconds a call."""
    names = ("raw-numpy", "raw-jax", "raw-torch", "raw-mlx", "raw-numba", *(f"tg-{name}" for name in BACKENDS))
    peers = {f"pytensor-{mode}": PEER for mode in PEER_MODES if PEER.exists()}
    return in_turn("calls", [*names, *peers], rounds, lambda name: child("calls.py", name, python=peers.get(name)))


def models(rounds: int) -> dict[str, Any]:
    """For each model and engine: seconds to the first result, microseconds a call, checksum."""
    names = ("numpy", "jax", "torch", *(f"tg-{name}" for name in BACKENDS))
    peers = {f"pytensor-{mode}": PEER for mode in PEER_MODES if PEER.exists()}
    return {
        model: in_turn(
            model,
            [*names, *peers],
            rounds,
            lambda engine, model=model: child("measure.py", model, engine, python=peers.get(engine)),
        )
        for model in MODELS
    }


def engine(rounds: int) -> dict[str, Any]:
    """Seconds from expression to rewritten graph."""
    found: dict[str, dict[str, Any]] = {}
    for name in ("wide", "mix", "deep", *ENGINE_MODELS):
        own, theirs = (("0",), ("0",)) if name in ENGINE_MODELS else (SIZES[name], PEER_SIZES)
        lines = {"tg": ("engine_tg.py", name, *own)}
        if PEER.exists():
            lines["pytensor"] = ("engine_pytensor.py", name, *theirs)
        found[name] = in_turn(
            f"engine {name}",
            list(lines),
            rounds,
            lambda who, lines=lines: child(*lines[who], python=PEER if who == "pytensor" else None),
        )
    return found


PAGES = {"start": start, "calls": calls, "models": models, "engine": engine}


def machine() -> dict[str, str]:
    """What the figures were measured on."""
    lines = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []
    model = next(
        (line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine()
    )
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False).stdout
    return {
        "processor": f"{model}, {os.cpu_count()} processors",
        "python": platform.python_version(),
        "commit": commit.strip(),
    }


def wrong(results: dict[str, Any]) -> list[str]:
    """The models on which two engines do not agree."""
    found = []
    for model, row in results.get("models", {}).items():
        sums = {name: got["checksum"] for name, got in row.items() if "checksum" in got}
        reference = sums.get("tg-perform")
        tolerance = 1e-3 if "float32" in model else 1e-6
        for name, values in sums.items() if reference else ():
            pairs = zip(values, reference, strict=True)
            if any(abs(a - b) > tolerance * max(1.0, abs(b)) for a, b in pairs):
                found.append(f"{model}: {name} found {values}, the reference {reference}")
    return found


def shown(got: float | str) -> str:
    """A figure with three digits, or why there is none."""
    return got if isinstance(got, str) else f"{got:,.0f}" if got >= 1000 else f"{got:.3g}"


def table(title: str, rows: dict[str, dict[str, Any]], console: Console) -> None:
    """Print engines as rows and workloads as columns."""
    columns = list(dict.fromkeys(label for row in rows.values() for label in row))
    printed = Table("", *columns, title=title)
    for name, row in rows.items():
        printed.add_row(name, *(shown(row[label]) if label in row else "" for label in columns))
    console.print(printed)


def show(results: dict[str, Any], console: Console) -> None:
    """The tables."""
    if "start" in results:
        table("start: seconds of whole processes", results["start"], console)
    if "calls" in results:
        table("calls, µs", results["calls"], console)
    for key, unit in (("compile", "seconds to the first result"), ("run", "µs a call")):
        rows = {
            model: {name: got[key] for name, got in row.items() if key in got}
            for model, row in results.get("models", {}).items()
        }
        if rows:
            table(unit, rows, console)
    for name, row in results.get("engine", {}).items():
        rows = {
            who: {f"{size} ({got['applies']:.0f} applies)": got["total"] for size, got in sizes.items()}
            for who, sizes in row.items()
            if "error" not in sizes
        }
        table(f"rewriting {name}, seconds", rows, console)
        for line in growth(row.get("tg", {})):
            console.print(line)


def growth(sizes: dict[str, Any]) -> list[str]:
    """How the stages grow with the graph: the exponent between the smallest and the largest, and the memory."""
    if "error" in sizes or len(sizes) < 2:
        return []
    (_, small), *_, (_, large) = sizes.items()
    ratio = math.log(large["applies"] / small["applies"])
    stages = ("build", "import", "rewrite", "total", "print", "parse")
    found = ", ".join(f"{stage} {math.log(large[stage] / small[stage]) / ratio:.2f}" for stage in stages)
    return [f"exponents: {found}; {large['bytes_per_node']:.0f} bytes a node"]


def main() -> None:
    """Measure, print, and keep the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", choices=PAGES, default=list(PAGES))
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / "latest.json"
    results = json.loads(path.read_text()) if path.exists() else {}
    results["machine"] = machine()
    for name in given.only:
        results[name] = PAGES[name](given.rounds)
        path.write_text(json.dumps(results, indent=1) + "\n")
    show(results, Console(width=180))
    for line in wrong(results):
        print(f"WRONG  {line}")
    write(results, RESULTS / "index.html")
    raise SystemExit(1 if wrong(results) else 0)


if __name__ == "__main__":
    main()
