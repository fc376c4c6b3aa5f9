"""Models of PyMC by tg's two routes and by PyTensor's C and Numba modes: what compiling costs, and a call.

    PYTHONPATH=… PYTHON_WITH_PYMC benchmarks/pymc_models.py [--rows radon kalman] [--rounds 3] [--out FILE]

`python benchmarks/run.py --only pymc` runs it in the environment that `make pytensor` installs.

Each model and engine is measured in a forked child of one process, which has imported all of them and compiled a
trivial function with each; caches of compiled code are empty. Compiling goes from the model to the first value and
gradient, with all that PyMC, PyTensor and tg do for it, in seconds of processor time, that of C compilers included.
A call is of what a sampler calls: one flat vector in, value and gradient out; the least of rounds of processor time.
The function of modes is that of `model.logp_dlogp_function()`, as PyMC's samplers call it.
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

ENGINES = ("tg-c", "tg-numba", "mode-TG_C", "pytensor-C", "pytensor-NUMBA")
TITLES = ("tg C", "tg Numba", "mode TG_C", "PyTensor C", "PyTensor Numba")
BATCH = 0.03  # seconds of calls that are timed together
CACHES = ("TG_CACHE_DIR", "NUMBA_CACHE_DIR")
LINKERS = {"pytensor-C": "cvm", "pytensor-NUMBA": "numba"}
SAME = 1e-9  # of what engines give, relative to it; PyTensor's derivative of gammainc is off by 3e-11


def spent() -> float:
    """Seconds of processor time of this process and of those that it has started."""
    return sum(os.times()[:4])


def by_tg(model: Any, backend: str) -> Callable[[Any], Any]:
    """The flat function by tg's import route."""
    import tg_pytensor

    return tg_pytensor.from_pymc(model).value_and_grad(backend, flat=True)


def by_mode(model: Any, engine: str) -> Callable[[Any], Any]:
    """The function inside of what PyMC's samplers call, which trusts its inputs as they make it do."""
    from pytensor.compile.mode import Mode

    linker = LINKERS.get(engine)
    mode = engine.removeprefix("mode-") if linker is None else Mode(linker=linker, optimizer="fast_run")
    found = model.logp_dlogp_function(ravel_inputs=True, mode=mode)
    found.set_extra_values({})
    found._pytensor_function.trust_input = True
    return found._pytensor_function


def compiled(model: Any, engine: str) -> Callable[[Any], Any]:
    """The flat function of a model by an engine."""
    return by_tg(model, engine.removeprefix("tg-")) if engine.startswith("tg-") else by_mode(model, engine)


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


def ratio(figures: dict[str, float], own: tuple[str, ...]) -> float | None:
    """How many times as long PyTensor's better mode takes as the better of some engines."""
    peers = [figures[e] for e in LINKERS if e in figures]
    ours = [figures[e] for e in own if e in figures]
    return min(peers) / min(ours) if peers and ours else None


def rows(found: dict[str, dict[str, Any]]) -> tuple[list[str], list[list[str]]]:
    """Titles, a row for each model, and the geometric means of what PyTensor's better mode takes more."""
    head = ["model", *(f"{name} µs" for name in TITLES), "tg ×", "mode ×"]
    head += [*(f"{name} s" for name in TITLES if name != "tg Numba"), "tg ×", "mode ×"]
    lines, means = [], []
    for name, row in found.items():
        failed = [f"{engine}: {got['error']}" for engine, got in row.items() if "error" in got]
        call, cold = ({engine: got[what] for engine, got in row.items() if what in got} for what in ("call", "compile"))
        calls = [ratio(call, ("tg-c", "tg-numba")), ratio(call, ("mode-TG_C",))]
        colds = [ratio(cold, ("tg-c",)), ratio(cold, ("mode-TG_C",))]
        means.append((*calls, *colds))
        cells = [f"{call[e]:.1f}" if e in call else "" for e in ENGINES] + [times(x) for x in calls]
        cells += [f"{cold[e]:.2f}" if e in cold else "" for e in ENGINES if e != "tg-numba"] + [times(x) for x in colds]
        lines.append([name, *cells, *failed])
    columns = [[x for x in column if x is not None] for column in zip(*means, strict=True)]
    of_calls, of_modes, of_colds, of_cold_modes = (times(mean(column)) for column in columns or [[]] * 4)
    blank = [""] * len(ENGINES)
    return head, [*lines, ["geometric mean", *blank, of_calls, of_modes, *blank[1:], of_colds, of_cold_modes]]


def times(x: float | None) -> str:
    """A ratio with one digit after the point."""
    return "" if x is None else f"{x:.1f}"


def mean(ratios: list[float]) -> float | None:
    """The geometric mean."""
    return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else None


def table(found: dict[str, dict[str, Any]]) -> str:
    """The rows as Markdown."""
    head, lines = rows(found)
    return "\n".join(f"| {' | '.join(line)} |" for line in (head, ["---"] * len(head), *lines))


def wrong(found: dict[str, dict[str, Any]]) -> list[str]:
    """The models of which two engines give other values or gradients."""
    texts = []
    for name, row in found.items():
        given = {engine: got for engine, got in row.items() if "value" in got}
        for what in ("value", "slope"):
            numbers = [got[what] for got in given.values()]
            if numbers and not max(numbers) - min(numbers) <= SAME * max(map(abs, numbers)):
                texts.append(f"{name}: the {what} by {', '.join(given)} is {numbers}")
    return texts


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", nargs="*", default=[""], help="what the names of models begin with")
    parser.add_argument("--engines", nargs="*", default=ENGINES)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--table", action="store_true", help="show what --out has, and measure nothing")
    given = parser.parse_args()
    found = json.loads(given.out.read_text()) if given.out and given.out.exists() else {}
    if not given.table:
        measure(given, found)
    print(table(found))
    raise SystemExit("\n".join(wrong(found)) or 0)


def measure(given: argparse.Namespace, found: dict[str, Any]) -> None:
    """Each model by each engine in turn."""
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        os.environ.update(dict.fromkeys(CACHES, folder))
        os.environ["PYTENSOR_FLAGS"] = f"base_compiledir={folder},compiledir={folder},blas__ldflags="
        sys.path.insert(0, str(Path(__file__).parents[1] / "plugins/tg-pytensor/tests"))
        from models28 import MODELS

        warmed()
        for name in [name for name in MODELS if name.startswith(tuple(given.rows))]:
            for engine in given.engines:
                emptied(Path(folder))
                (Path(folder) / "numba").mkdir()  # PyTensor makes it when it is imported, and puts Numba's cache there
                row = found.setdefault(name, {})
                row[engine] = forked(lambda name=name, engine=engine: answer(MODELS[name], engine, given.rounds))
                print(name, engine, row[engine], flush=True)
                if given.out:
                    given.out.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
