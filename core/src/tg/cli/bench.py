"""`tg bench`: small programs timed on every backend and in NumPy, beside another machine's figures if there are any.

`tg bench --json > mine.json` keeps figures, `tg bench --beside mine.json` shows this machine's as parts of them.
"""

from __future__ import annotations

import json
import platform
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from tg.cli import show
from tg.errors import InputError, TgError, message

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator, Mapping, Sequence

NUMPY: Final = "numpy"
SECONDS: Final = 0.2  # for which a program is called
LEAST: Final = 3  # calls


class Job(NamedTuple):
    """A program with inputs, and what a user of NumPy would write."""

    name: str
    inputs: Sequence[Any]
    outputs: Any
    arrays: Sequence[Any]
    plain: Callable[..., Any] | None


def add(commands: Any) -> None:
    """Declare the command."""
    command = commands.add_parser("bench", help="small programs timed on every backend and in NumPy")
    command.add_argument("backends", nargs="*", metavar="BACKEND", help="only these; all without any")
    command.add_argument("--beside", metavar="FILE", type=Path, help="figures of --json to compare with")
    command.add_argument("--seconds", type=float, default=SECONDS, help="for which each program is called")
    command.add_argument("--json", action="store_true", help="for machines to read")
    command.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Time the programs; 1 if one is wrong.

    Raises:
        InputError: the file has no figures.
    """
    beside = {} if args.beside is None else figures(args.beside)
    names = args.backends or [one.name for one in _listed()]
    rows = [measured(job, names, args.seconds) for job in jobs()]
    if args.json:
        show.as_json({"machine": f"{platform.system()} {platform.machine()}", "rows": rows})
    else:
        columns = (NUMPY, *names)
        table = [(row["name"], *(_cell(row, name, beside.get(row["name"], {})) for name in columns)) for row in rows]
        show.table(table, "program", *columns, title="microseconds a call, the least of many")
        if beside:
            show.text("in brackets: times as long as in the file")
    return 1 if any(one["wrong"] for row in rows for one in row["backends"].values()) else 0


def _listed() -> Sequence[Any]:
    from tg.cli import backends

    return [one for one in backends.listed(every=False) if one.is_available]


def jobs() -> Iterator[Job]:
    """The programs: a call that does next to nothing, elementwise work, a product, a gradient, a loop."""
    import tg

    rng = np.random.default_rng(0)
    x, m, w, y = tg.vector("x"), tg.matrix("m"), tg.vector("w"), tg.vector("y")
    few, many = rng.normal(size=3), rng.normal(size=100_000)
    square = rng.normal(size=(300, 300))
    table, weights = rng.normal(size=(10_000, 20)), rng.normal(size=20)
    labels = (rng.random(10_000) < 0.5).astype(float)
    yield Job("a call, 3 numbers", [x], x + 1, [few], lambda a: a + 1)
    chain = tg.sum(tg.exp(-x * x) * tg.tanh(x))
    yield Job("exp and tanh, 100,000", [x], chain, [many], lambda a: np.sum(np.exp(-a * a) * np.tanh(a)))
    yield Job("a product, 300 x 300", [m], m @ m, [square], lambda a: a @ a)
    loss = tg.mean(tg.softplus(m @ w) - y * (m @ w))

    def gradient(a: Any, b: Any, c: Any) -> Any:
        return a.T @ (1 / (1 + np.exp(-(a @ b))) - c) / len(c)

    yield Job("logistic gradient, 10,000 x 20", [m, w, y], tg.grad(loss, w), [table, weights, labels], gradient)
    steps, _ = tg.scan(lambda state, one: (0.9 * state + one, None), 0.0, x)
    yield Job("a loop, 1,000 steps", [x], steps, [many[:1000]], None)


def measured(job: Job, names: Sequence[str], seconds: float) -> dict[str, Any]:
    """The times of one program, in seconds; None where NumPy has no such form, or a backend does not run it."""
    import tg

    want = tg.function(job.inputs, job.outputs, backend="perform", mode="off")(*job.arrays)
    times: dict[str, dict[str, Any]] = {}
    for name in names:
        try:
            f = tg.function(job.inputs, job.outputs, backend=name)
            wrong = not _alike(f(*job.arrays), want)
        except TgError as error:
            times[name] = {"seconds": None, "wrong": False, "why": str(error).partition("\n")[0]}
            continue
        times[name] = {"seconds": least(f, job.arrays, seconds), "wrong": wrong, "why": None}
    plain = None if job.plain is None else least(job.plain, job.arrays, seconds)
    return {"name": job.name, NUMPY: plain, "backends": times}


def least(f: Callable[..., Any], arrays: Sequence[Any], seconds: float) -> float:
    """The least time of a call, of as many as there is time for."""
    best, ended, count = float("inf"), time.perf_counter() + seconds, 0
    while count < LEAST or time.perf_counter() < ended:
        began = time.perf_counter()
        f(*arrays)
        best, count = min(best, time.perf_counter() - began), count + 1
    return best


def _alike(got: Any, want: Any) -> bool:
    pairs = zip(*((v if isinstance(v, tuple | list) else [v]) for v in (got, want)), strict=True)
    return all(np.allclose(a, b, rtol=1e-6, atol=1e-9) for a, b in pairs)


def figures(path: Path) -> dict[str, Mapping[str, float | None]]:
    """The times of a file of `--json`, by program and column.

    Raises:
        InputError: there is no such file, or it has none.
    """
    try:
        rows = json.loads(path.read_text(encoding="utf-8"))["rows"]
        return {
            row["name"]: {NUMPY: row[NUMPY], **{name: one["seconds"] for name, one in row["backends"].items()}}
            for row in rows
        }
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        hint = "tg bench --json > FILE writes one"
        raise InputError(message(f"beside: {path}: found no figures", hint=hint)) from error


def _cell(row: Mapping[str, Any], name: str, beside: Mapping[str, float | None]) -> str:
    """A time in microseconds, and as a part of the file's."""
    one = {"seconds": row[NUMPY], "wrong": False} if name == NUMPY else row["backends"][name]
    if one["seconds"] is None:
        return "–"
    other = beside.get(name)
    times = f" ({one['seconds'] / other:.2f})" if other else ""
    return f"{one['seconds'] * 1e6:,.1f}{times}" + (" wrong" if one["wrong"] else "")
