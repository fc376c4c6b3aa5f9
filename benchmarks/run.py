"""`make bench`: every measurement in a child process of its own, engines in turn, as ratios beside the peers.

Tables are printed; benchmarks/results/latest.json has the figures and benchmarks/results/index.html shows them.
PyTensor is measured where benchmarks/.venv-pytensor (or PYTENSOR_PYTHON) has it: an environment with
`pip install pytensor numba jax`; models of PyMC where plugins/tg-pytensor/.venv (or PYMC_PYTHON) has it: what
`make pytensor` makes; networks by onnxruntime where .venv has it: `pip install onnxruntime onnxscript`.
`--only start calls` measures these pages alone and `--rows w2 radon` some rows of the pages `run`, `loops`, `draws`,
`pymc` and `networks`; the others keep their last figures. `--quick` leaves out the engines that compile for minutes, or
are very slow. `--only networks --docs docs/_static` writes the tables of the page of networks. `--before FILE`, the
latest.json of another tree, has the page show tg's figures as parts of those; on two machines they say little.
"""

from __future__ import annotations

import argparse
import json
import math
import platform
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

from draws import DRAWS
from harness import ENVIRONMENT, HERE, PEER, WITH_PYMC, child, in_turn, seconds
from machine import processor
from models import MODELS
from network_rows import ROWS as NETWORK_ROWS
from network_runs import networks
from network_runs import wrong as wrong_of_networks
from network_tables import tables as tables_of_networks
from network_tables import write as write_networks
from page import TITLES, write
from pymc_models import rows as rows_of_pymc
from pymc_models import wrong as wrong_of_pymc
from recurrences import LOOPS
from report import beside, reached, shown, why_not
from rich.console import Console
from rich.table import Table
from targets import rows_of, tables
from workers import ONE_THREAD, measured

import tg

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from report import Lines

RESULTS = Path(__file__).parent / "results"
BACKENDS = ("perform", "c", "numba", "jax", "torch", "mlx")
SIZES = {"wide": ("62", "250", "1000", "4000", "12500"), "mix": ("250", "1000", "4000", "16000", "50000")}
SIZES["deep"] = SIZES["mix"]  # of "wide" each node of the expression makes four applies with its gradient
PEER_SIZES = ("250", "1000")  # four times as many nodes take PyTensor many minutes on "wide"
ENGINE_MODELS = ("radon", "logistic 5000x20", "mlp 10x64", "deep 5342")
PEER_MODES = ("NUMBA", "CVM")
STEPS = {"tg-c": 3200, "tg-numba": 3200, "jax": 800, "pytensor-NUMBA": 200, "pytensor-CVM": 400}  # the most that end
THREADED = "tg-c threads=2"
FUSED = "tg-mlx compile=True"
SLOW = ("pytensor", "torch.compile", "mlx.compile", FUSED)  # minutes of compiling


def start(rounds: int) -> dict[str, Any]:
    """Median seconds of whole processes; compile caches cold, unless the name says warm."""
    names = ["import-numpy", "import-tg", "numpy", *BACKENDS, "c-warm", "numba-warm", "raw-jax", "raw-torch", "raw-mlx"]
    return in_turn(
        "start", names, rounds, lambda name: seconds("start.py", name, fresh_cache=not name.endswith("-warm"))
    )


def calls(rounds: int) -> dict[str, Any]:
    """The median over rounds of the least microseconds a call."""
    names = ("limit", *(f"raw-{name}" for name in ("numpy", "jax", "torch", "mlx", "numba")))
    peers = {f"pytensor-{mode}": PEER for mode in (*PEER_MODES, "NUMBA-trusted", "CVM-trusted") if PEER.exists()}
    engines = [*names, *(f"tg-{name}" for name in BACKENDS), *peers]
    return in_turn("calls", engines, rounds, lambda name: child("calls.py", name, python=peers.get(name)))


def run(rounds: int, words: Sequence[str], *, quick: bool) -> dict[str, Any]:
    """For each model and engine: microseconds a call, seconds to the first result, checksum."""
    rows = [row for row in MODELS if not words or any(row.startswith(word) for word in words)]
    own = [f"tg-{name}" for name in BACKENDS]
    own.insert(own.index("tg-c") + 1, THREADED)
    own.append(FUSED)
    peers = [f"pytensor-{mode}" for mode in PEER_MODES if PEER.exists()]
    raw = ["numba", "numpy", "jax", "torch", "torch.compile", "mlx", "mlx.compile"]
    engines = ["limit", "limit threads=2", *raw, *own, *peers]
    left_out = SLOW * quick + (THREADED,) * (not has_threads())
    return measured(rows, [name for name in engines if not name.startswith(left_out)], rounds)


def loops(rounds: int, words: Sequence[str], *, quick: bool) -> dict[str, Any]:
    """As `run`, for recurrences."""
    rows = [row for row in LOOPS if not words or any(row.startswith(word) for word in words)]
    peers = [f"pytensor-{mode}" for mode in PEER_MODES if PEER.exists()]
    engines = ["limit", "numpy", "jax", *(f"tg-{name}" for name in BACKENDS), *peers]
    return measured(rows, [name for name in engines if not name.startswith(SLOW * quick)], rounds)


def draws(rounds: int, words: Sequence[str], *, quick: bool) -> dict[str, Any]:
    """As `run`, for random numbers."""
    rows = [row for row in DRAWS if not words or any(row.startswith(word) for word in words)]
    engines = ["limit", "numpy", "jax", "torch", *(f"tg-{name}" for name in BACKENDS), THREADED]
    return measured(rows, engines if has_threads() else engines[:-1], rounds)


def pymc(rounds: int, words: Sequence[str], *, quick: bool) -> dict[str, Any]:
    """For each model and engine: microseconds a call, seconds from the model to the first gradient, what was found.

    Each model is compiled once, from empty caches; a round is seven of calls. All of it is processor time.
    """
    if not WITH_PYMC.exists():
        return {}
    out = RESULTS / "pymc.json"
    out.unlink(missing_ok=True)
    line = [WITH_PYMC, HERE / "pymc_models.py", "--out", out, "--rounds", str(7 * rounds), "--rows", *(words or [""])]
    engines = ["--engines", "tg-c", "tg-numba", "mode-TG_C"] if quick else []
    one = {**ENVIRONMENT, **ONE_THREAD}  # as on the other pages: OpenBLAS's threads wait for one another
    subprocess.run([*line, *engines], env=one, check=False)  # what is wrong is told with the rest
    return dict(json.loads(out.read_text())) if out.exists() else {}


def has_threads() -> bool:
    """Whether tg-c can use several threads."""
    try:
        tg.backend("c", threads=2)
    except (tg.errors.OptionError, tg.errors.BackendUnavailable):
        return False
    return True


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


def steps(rounds: int) -> dict[str, Any]:
    """Seconds of a processor to the first result of programs of so many steps, by kind, engine and count."""
    found: dict[str, Any] = {}
    for kind in ("vectors", "scalars"):
        lines = [
            f"{engine} {kind} {100 * 2**k}"
            for engine, most in STEPS.items()
            for k in range(6)
            if 100 * 2**k <= most and (PEER.exists() or not engine.startswith("pytensor"))
        ]
        measured = in_turn(
            f"steps of {kind}",
            lines,
            rounds,
            lambda line: child("steps.py", *line.split(), python=PEER if line.startswith("pytensor") else None),
        )
        for line, figures in measured.items():
            engine, _, count = line.split()
            found.setdefault(kind, {}).setdefault(engine, {})[count] = figures
    return found


ROWS = {"run": (run, MODELS), "loops": (loops, LOOPS), "draws": (draws, DRAWS), "pymc": (pymc, None)}
ROWS["networks"] = networks, NETWORK_ROWS
PAGES = {"start": start, "calls": calls, **{name: measure for name, (measure, _) in ROWS.items()}}
PAGES |= {"engine": engine, "steps": steps}


def machine() -> dict[str, str]:
    """What the figures were measured on."""
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False).stdout
    return {
        "processor": processor(),
        "python": platform.python_version(),
        "commit": commit.strip(),
    }


def wrong(results: dict[str, Any]) -> list[str]:
    """The models on which two engines do not agree."""
    found = []
    for model, row in rows_of(results).items():
        sums = {name: got["checksum"] for name, got in row.items() if "checksum" in got}
        others = DRAWS[model].others if model in DRAWS else ()
        sums = {name: values for name, values in sums.items() if name not in others}
        reference = sums.get("tg-perform", sums.get("limit"))
        tolerance = 1e-3 if "float32" in model else 1e-6
        for name, values in sums.items() if reference else ():
            pairs = zip(values, reference, strict=False)
            worst = max(abs(a - b) / max(1.0, abs(b)) for a, b in pairs)
            if len(values) != len(reference) or not worst <= tolerance:
                found.append(f"{model}: {name} is off by {worst:.2g}, with {len(values)} results of {len(reference)}")
    return found + wrong_of_pymc(results.get("pymc", {})) + wrong_of_networks(results.get("networks", {}))


def table(title: str, rows: Mapping[str, Mapping[str, float]], console: Console) -> None:
    """Print a dict of rows; what all have makes the columns."""
    if not rows:
        return
    columns = list(dict.fromkeys(label for row in rows.values() for label in row))
    cells = [[name, *(shown(row.get(column)) for column in columns)] for name, row in rows.items()]
    lines(title, (["", *columns], cells), console)


def lines(title: str, found: Lines, console: Console) -> None:
    """Print titles and rows."""
    head, rows = found
    printed = Table(*head, title=title)
    for row in rows:
        printed.add_row(*row)
    console.print(printed)


def show(results: dict[str, Any], console: Console) -> None:
    """The machine and the tables."""
    console.print(", ".join(results["machine"].values()))
    for page, title in TITLES.items():
        table(title, tables(results)[page], console)
    for name, row in results.get("engine", {}).items():
        rows = {
            who: {f"{size} ({got['applies']:.0f} applies)": got["total"] for size, got in sizes.items()}
            for who, sizes in row.items()
            if "error" not in sizes
        }
        table(f"rewriting {name}, seconds", rows, console)
        for line in growth(row.get("tg", {})):
            console.print(line)
    for kind, row in results.get("steps", {}).items():
        rows = {
            engine: {
                **{f"{count} steps": got["seconds"] for count, got in counts.items() if "seconds" in got},
                "exponent": exponent({int(count): got["seconds"] for count, got in counts.items() if "seconds" in got}),
                "MB": max((got["megabytes"] for got in counts.values() if "megabytes" in got), default=math.nan),
            }
            for engine, counts in row.items()
        }
        table(f"steps of {kind} and gradient, seconds of a processor to the first result", rows, console)
    if results.get("pymc"):
        lines("Models of PyMC", rows_of_pymc(results["pymc"]), console)
    for title, found in tables_of_networks(results.get("networks", {})).items():
        lines(f"Networks: {title}", found, console)
    lines("Run beside the limit and the best peer", beside(results), console)
    lines("Targets that are not met", reached(results, whole=False), console)
    lines("What has no figure", why_not(results), console)


def exponent(seconds: Mapping[int, float]) -> float:
    """How the seconds grow with the count, between the two largest."""
    if len(seconds) < 2:
        return math.nan
    (a, small), (b, large) = sorted(seconds.items())[-2:]
    return math.log(large / small) / math.log(b / a)


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
    parser.add_argument("--rows", nargs="+", default=[], help="what the names of rows begin with")
    parser.add_argument("--quick", action="store_true", help="without PyTensor and torch.compile")
    parser.add_argument("--docs", type=Path, help="a folder to write the tables of networks into")
    parser.add_argument("--before", type=Path, help="the latest.json of another tree, to be shown beside")
    given = parser.parse_args()
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / "latest.json"
    results = json.loads(path.read_text()) if path.exists() else {}
    results["machine"] = machine()
    for name in given.only:
        if name in ROWS:
            measure, rows = ROWS[name]
            found = results.get(name, {}) | measure(given.rounds, given.rows, quick=given.quick)
            results[name] = {row: found[row] for row in rows or found if row in found}
        else:
            results[name] = PAGES[name](given.rounds)
        path.write_text(json.dumps(results, indent=1) + "\n")
    show(results, Console(width=220))
    for line in wrong(results):
        print(f"WRONG  {line}")
    before = json.loads(given.before.read_text()) if given.before else None
    write(results, RESULTS / "index.html", before)
    if given.docs and "networks" in results:
        write_networks(results, given.docs)
    raise SystemExit(1 if wrong(results) else 0)


if __name__ == "__main__":
    main()
