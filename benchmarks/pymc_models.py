"""Models of PyMC by tg's import route and by PyTensor's C and Numba modes: what compiling costs, and a call.

    PYTHONPATH=… PYTHON_WITH_PYMC benchmarks/pymc_models.py [--rows radon kalman] [--rounds 3] [--out FILE]

Each model and engine is measured in a forked child of one process, which has imported all of them and compiled a
trivial function with each; caches of compiled code are empty. Compiling goes from the model to the first value and
gradient, with all that PyMC, PyTensor and tg do for it, in seconds of processor time, that of C compilers included.
A call is of what a sampler calls: one flat vector in, value and gradient out; the least of rounds of processor time.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import shutil
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

ENGINES = ("tg-c", "tg-numba", "pytensor-C", "pytensor-NUMBA")
BATCH = 0.03  # seconds of calls that are timed together
CACHES = ("TG_CACHE_DIR", "NUMBA_CACHE_DIR")
LINKERS = {"pytensor-C": "cvm", "pytensor-NUMBA": "numba"}


def spent() -> float:
    """Seconds of processor time of this process and of those that it has started."""
    return sum(os.times()[:4])


def by_tg(model: Any, backend: str) -> Callable[[Any], Any]:
    """The flat function by tg's import route."""
    import tg_pytensor

    return tg_pytensor.from_pymc(model).value_and_grad(backend, flat=True)


def by_pytensor(model: Any, engine: str) -> Callable[[Any], Any]:
    """The function inside of what PyMC's samplers call, which trusts its inputs as they make it do."""
    from pytensor.compile.mode import Mode

    found = model.logp_dlogp_function(ravel_inputs=True, mode=Mode(linker=LINKERS[engine], optimizer="fast_run"))
    found.set_extra_values({})
    found._pytensor_function.trust_input = True
    return found._pytensor_function


def compiled(model: Any, engine: str) -> Callable[[Any], Any]:
    """The flat function of a model by an engine."""
    return by_tg(model, engine.removeprefix("tg-")) if engine.startswith("tg-") else by_pytensor(model, engine)


def answer(build: Callable[[], Any], engine: str, rounds: int) -> dict[str, Any]:
    """Seconds to the first value, microseconds a call, and the value."""
    import numpy as np
    from pymc.blocking import DictToArrayBijection

    model = build()
    start = model.initial_point(0)
    point = DictToArrayBijection.map({v.name: start[v.name] for v in model.continuous_value_vars}).data
    point = point + 0.1 * np.random.default_rng(0).normal(size=point.shape)
    before = spent()
    f = compiled(model, engine)
    value, slope = f(point)
    cold = spent() - before
    once, count = time.process_time(), 1
    while (taken := time.process_time() - once) < BATCH:
        f(point)
        count += 1
    count = max(1, int(count * BATCH / taken))
    least = math.inf
    for _ in range(rounds):
        before = time.process_time()
        for _ in range(count):
            f(point)
        least = min(least, time.process_time() - before)
    return {"compile": cold, "call": 1e6 * least / count, "value": float(value), "slope": float(np.abs(slope).sum())}


def forked(work: Callable[[], Any]) -> Any:
    """What a function gives in a forked process, through a pipe; what went wrong as text."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        try:
            found = work()
        except BaseException as error:  # noqa: BLE001 (whatever it is, the row says so)
            found = {"error": f"{type(error).__name__}: {error}".splitlines()[0]}
        os.write(writing, json.dumps(found).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        found = json.loads(pipe.read() or '{"error": "the process died"}')
    os.waitpid(child, 0)
    return found


def emptied(folder: Path) -> None:
    """Remove what is in a folder."""
    for entry in folder.iterdir():
        shutil.rmtree(entry) if entry.is_dir() else entry.unlink()


def warmed() -> None:
    """Import everything, and compile a trivial function with each engine."""
    import pytensor
    import pytensor.tensor as pt

    import tg
    import tg_pytensor  # noqa: F401  what is imported is not compiling

    x = pt.dvector("x")
    for linker in LINKERS.values():
        pytensor.function([x], x + 1, mode=pytensor.compile.mode.Mode(linker=linker))([1.0])
    v = tg.vector("v")
    for backend in ("c", "numba"):
        tg.function([v], v + 1, backend=backend)([1.0])


def table(found: dict[str, dict[str, Any]]) -> str:
    """Rows of Markdown, and the geometric means."""
    lines = [
        "| model | tg C µs | tg Numba µs | PyTensor C µs | Numba µs | × | tg C s | PyTensor C s | Numba s | × |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    calls, compiles = [], []
    for name, row in found.items():
        if failed := {engine: got["error"] for engine, got in row.items() if "error" in got}:
            lines.append(f"| {name} | " + "; ".join(f"{engine}: {text}" for engine, text in failed.items()) + " |")
            continue
        call, cold = ({engine: got[what] for engine, got in row.items()} for what in ("call", "compile"))
        ours, peers = ([engine for engine in row if engine.startswith(who)] for who in ("tg", "pytensor"))
        if not ours or not peers:
            continue
        calls.append(min(call[e] for e in peers) / min(call[e] for e in ours))
        compiles.append(min(cold[e] for e in peers) / cold[ours[0]])
        shown = [f"{call[e]:.1f}" if e in call else "" for e in ENGINES] + [f"{calls[-1]:.1f}"]
        shown += [f"{cold[e]:.2f}" if e in cold else "" for e in ENGINES if e != "tg-numba"] + [f"{compiles[-1]:.1f}"]
        lines.append(f"| {name} | " + " | ".join(shown) + " |")
    if calls:
        mean = [math.exp(sum(map(math.log, ratios)) / len(ratios)) for ratios in (calls, compiles)]
        lines.append(f"| geometric mean | | | | | {mean[0]:.1f} | | | | {mean[1]:.1f} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", nargs="*", default=[])
    parser.add_argument("--engines", nargs="*", default=ENGINES)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--table", action="store_true", help="show what --out has, and measure nothing")
    given = parser.parse_args()
    found = json.loads(given.out.read_text()) if given.out and given.out.exists() else {}
    if not given.table:
        measure(given, found)
    print(table(found))


def measure(given: argparse.Namespace, found: dict[str, Any]) -> None:
    """Each model by each engine in turn."""
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        os.environ.update(dict.fromkeys(CACHES, folder))
        os.environ["PYTENSOR_FLAGS"] = f"compiledir={folder},blas__ldflags="
        sys.path.insert(0, str(Path(__file__).parents[1] / "plugins/tg-pytensor/tests"))
        from models28 import MODELS

        warmed()
        for name in given.rows or MODELS:
            for engine in given.engines:
                emptied(Path(folder))
                row = found.setdefault(name, {})
                row[engine] = forked(lambda name=name, engine=engine: answer(MODELS[name], engine, given.rounds))
                print(name, engine, row[engine], flush=True)
                if given.out:
                    given.out.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
