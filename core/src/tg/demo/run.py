"""`tg demo`: the digits network on every backend, as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

import tg
from tg.demo import digits
from tg.errors import TgError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.plugin.records import BackendStatus

REFERENCE: Final = "perform"
NEEDED_ACCURACY: Final = 0.95


def main(names: Sequence[str] = ()) -> int:
    """Train on the named backends (all by default) and print what each took; 0 if all that ran agree."""
    console = Console()
    try:
        data = digits.load()
    except ImportError:
        text = 'the demo needs scikit-learn, whose digits it trains on: pip install "tg-core[demo]"'
        console.print(text, markup=False)
        return 1
    known = [b for b in tg.backends() if b.name == REFERENCE or not names or b.name in names]
    unknown = sorted(set(names) - {b.name for b in known})
    if unknown:
        console.print(f"no backend is called {', '.join(unknown)}; `tg backends` lists those that are", markup=False)
        return 1
    known.sort(key=lambda b: b.name != REFERENCE)
    console.print(
        f"A 64-64-10 network on {len(data.images)} images of digits, tested on {len(data.test_images)}; "
        f"{digits.EPOCHS} epochs of mini-batches of {digits.BATCH}, momentum {digits.MOMENTUM}."
    )
    results, notes = _train_all(known, data, console)
    console.print(_table(known, results, notes))
    reference = results.get(REFERENCE)
    weak = [r for r in results.values() if r.accuracy < NEEDED_ACCURACY]
    return 0 if reference is not None and not weak and not any(b.is_available and b.name in notes for b in known) else 1


def _train_all(
    known: Sequence[BackendStatus], data: digits.Digits, console: Console
) -> tuple[dict[str, digits.Result], dict[str, str]]:
    results: dict[str, digits.Result] = {}
    notes: dict[str, str] = {}
    columns = (
        TextColumn("{task.description:<10}"),
        BarColumn(),
        TextColumn("{task.fields[loss]}"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        for b in known:
            if not b.is_available:
                notes[b.name] = b.reason or b.state
                continue
            task = progress.add_task(b.name, total=digits.EPOCHS, loss="compiling")

            def show(epoch: int, loss: float, task: object = task) -> None:
                progress.update(task, completed=epoch, loss=f"loss {loss:.4f}")  # type: ignore[arg-type]

            try:
                results[b.name] = digits.train(b.name, data, show)
            except TgError as error:
                notes[b.name] = f"{type(error).__name__}: {error}"
    return results, notes


def _table(known: Sequence[BackendStatus], results: dict[str, digits.Result], notes: dict[str, str]) -> Table:
    table = Table(title="digits", caption="difference: the largest of any loss or parameter from the reference's")
    for name in ("backend", "compile s", "µs a step", "accuracy", "difference"):
        table.add_column(name, justify="left" if name == "backend" else "right")
    reference = results.get(REFERENCE)
    for b in known:
        r = results.get(b.name)
        if r is None:
            table.add_row(b.name, escape((notes.get(b.name) or "–").splitlines()[0]), "", "", "")
            continue
        table.add_row(
            b.name,
            f"{r.compile_seconds:.2f}",
            f"{r.step_microseconds:.0f}",
            f"{100 * r.accuracy:.2f} %",
            "reference" if r is reference or reference is None else f"{difference(r, reference):.1e}",
        )
    return table


def difference(a: digits.Result, b: digits.Result) -> float:
    """The largest absolute difference of two runs' losses and final parameters."""
    pairs = [(a.losses, b.losses), *((a.parameters[k], b.parameters[k]) for k in a.parameters)]
    return max(float(np.max(np.abs(x - y))) for x, y in pairs)
