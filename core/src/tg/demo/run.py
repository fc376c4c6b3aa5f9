"""`tg demo`: two models on every backend, a table each, and plots of what was sampled."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

import tg
from tg import plugin
from tg.demo import digits, radon
from tg.errors import InputError, NoRuleError, TgError, message

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from tg.plugin.records import BackendStatus

    Report = Callable[[int, str], None]

REFERENCE: Final = "perform"
NEEDED_ACCURACY: Final = 0.95
NEEDED_AGREEMENT: Final = 1e-8


class Model(NamedTuple):
    """A model of the demo: how to run it on a backend, and what to tell of a run beside the reference's."""

    title: str
    about: str
    steps: int
    run: Callable[[str, Report], Any]
    columns: tuple[str, ...]
    cells: Callable[[Any, Any], tuple[str, ...]]  # of a run and the reference's
    is_right: Callable[[Any, Any], bool]
    peers: Mapping[str, Callable[[Report], Any]] = MappingProxyType({})  # the same without tg: rows of their own
    may_lack_rules: bool = False  # whether a backend that has no rule for an op of the model is no failure
    caption: str = "difference: the largest of any number from the reference's"


def main(names: Sequence[str], plots: Path) -> int:
    """Run both models on the named backends (all by default), and print what each took; 0 if all agree.

    Raises:
        InputError: a name that is no backend's, or scikit-learn is missing.
    """
    console = Console()
    statuses = chosen(names)
    fine = True
    for model in (_digits(), _radon()):
        results, is_right = compare(model, statuses, console)
        fine = fine and is_right
        if model.title == "radon" and results:
            console.print(_plotted(results, plots), markup=False, highlight=False)
    return 0 if fine else 1


def compare(model: Model, statuses: Sequence[BackendStatus], console: Console) -> tuple[dict[str, Any], bool]:
    """Run a model on backends and its peers, and print a row for each; the results, and whether all are right.

    A peer that is not installed is told of, and no failure.
    """
    console.print(model.about, markup=False, highlight=False)
    results, notes = _run_all(model, statuses, console)
    console.print(_table(model, statuses, results))
    for name, note in notes.items():
        console.print(f"{name}: {note.splitlines()[0]}", markup=False, highlight=False)
    reference = results.get(REFERENCE)
    failed = [notes[b.name] for b in statuses if b.is_available and b.name in notes]
    if model.may_lack_rules:
        failed = [note for note in failed if not note.startswith(NoRuleError.__name__)]
    fine = reference is not None and not failed
    return results, fine and all(model.is_right(result, reference) for result in results.values())


def chosen(names: Sequence[str]) -> list[BackendStatus]:
    """The reference, then the backends of these names; without names all but doubles for tests."""
    choice = plugin.registry().backends() if names else tg.backends()
    statuses = [b for b in choice if b.name == REFERENCE or b.name in names or not names]
    if unknown := sorted(set(names) - {b.name for b in statuses}):
        raise InputError(
            message(f"no backend is called {', '.join(unknown)}", hint="`tg backends` lists those that are")
        )
    return sorted(statuses, key=lambda b: b.name != REFERENCE)


def _digits() -> Model:
    try:
        data = digits.load()
    except ImportError as error:
        text = "the demo needs scikit-learn, whose digits it trains on"
        raise InputError(message(text, hint='pip install "tg-core[demo]"')) from error

    def run(backend: str, report: Report) -> digits.Result:
        return digits.train(backend, data, lambda epoch, loss: report(epoch, f"loss {loss:.4f}"))

    return Model(
        "digits",
        f"A 64-64-10 network on {len(data.images)} images of digits, tested on {len(data.test_images)}; "
        f"{digits.EPOCHS} epochs of mini-batches of {digits.BATCH}, momentum {digits.MOMENTUM}.",
        digits.EPOCHS,
        run,
        ("compile s", "µs a step", "accuracy", "difference"),
        lambda r, reference: (
            f"{r.compile_seconds:.2f}",
            f"{r.step_microseconds:.0f}",
            f"{100 * r.accuracy:.2f} %",
            _difference(digits_difference, r, reference),
        ),
        lambda r, reference: r.accuracy >= NEEDED_ACCURACY and digits_difference(r, reference) < NEEDED_AGREEMENT,
    )


def _radon() -> Model:
    data = radon.load()

    def run(backend: str, report: Report) -> radon.Result:
        return radon.run(backend, data, lambda i: report(i, "fitted, sampling"))

    return Model(
        "radon",
        f"A hierarchical regression of {len(data.county)} houses in {len(data.uranium)} counties: fitted, then sampled "
        f"by Hamiltonian Monte Carlo, {radon.WARMUP} transitions of warm-up and {radon.DRAWS} draws.",
        radon.WARMUP + radon.DRAWS,
        run,
        ("compile s", "µs a gradient", "floor (c)", "sigma", "difference"),
        lambda r, reference: (
            f"{r.compile_seconds:.2f}",
            f"{r.call_microseconds:.0f}",
            f"{r.draws[:, 2].mean():.2f} ± {r.draws[:, 2].std():.2f}",
            f"{np.exp(r.draws[:, 4]).mean():.2f} ± {np.exp(r.draws[:, 4]).std():.2f}",
            _difference(radon_difference, r, reference),
        ),
        lambda r, reference: radon_difference(r, reference) < NEEDED_AGREEMENT,
    )


def _run_all(
    model: Model, statuses: Sequence[BackendStatus], console: Console
) -> tuple[dict[str, Any], dict[str, str]]:
    """The results by backend, and a note for each backend that has none."""
    results: dict[str, Any] = {}
    notes: dict[str, str] = {}
    told = TextColumn("{task.fields[told]}")
    columns = (TextColumn("{task.description:<10}"), BarColumn(), told, TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as progress:

        def reporter(name: str, told: str) -> Report:
            task = progress.add_task(name, total=model.steps, told=told)
            return lambda done, text: progress.update(task, completed=done, told=text)

        for b in statuses:
            if not b.is_available:
                notes[b.name] = b.reason or b.state
                continue
            try:
                results[b.name] = model.run(b.name, reporter(b.name, "compiling"))
            except TgError as error:
                notes[b.name] = f"{type(error).__name__}: {error}"
        for name, run in model.peers.items():
            try:
                results[name] = run(reporter(name, "without tg"))
            except ModuleNotFoundError as error:
                notes[name] = f"{error.name} is not installed"
    return results, notes


def _table(model: Model, statuses: Sequence[BackendStatus], results: dict[str, Any]) -> Table:
    table = Table(title=model.title, caption=model.caption)
    for name in ("backend", *model.columns):
        table.add_column(name, justify="left" if name == "backend" else "right")
    reference = results.get(REFERENCE)
    for name in (*(b.name for b in statuses), *model.peers):
        r = results.get(name)
        if r is None:
            table.add_row(name, "–")
        else:
            table.add_row(name, *map(escape, model.cells(r, reference)))
    return table


def _difference(measure: Callable[[Any, Any], float], result: Any, reference: Any) -> str:
    return "reference" if result is reference or reference is None else f"{measure(result, reference):.1e}"


def digits_difference(a: digits.Result, b: digits.Result) -> float:
    """The largest absolute difference of two runs' losses and final parameters."""
    pairs = [(a.losses, b.losses), *((a.parameters[k], b.parameters[k]) for k in a.parameters)]
    return max(float(np.max(np.abs(x - y))) for x, y in pairs)


def radon_difference(a: radon.Result, b: radon.Result) -> float:
    """The largest difference of log-densities and gradients at fixed points, relative to the largest of its point.

    Not of the draws: a path over the density multiplies each rounding.
    """
    size = np.max(np.abs(b.at_points), axis=1, keepdims=True)
    return float(np.max(np.abs(a.at_points - b.at_points) / size))


def _plotted(results: dict[str, radon.Result], folder: Path) -> str:
    """Write the trace plots, and say where."""
    try:
        from tg.demo.traces import plot
    except ImportError:
        return 'no trace plots, for which matplotlib is needed: pip install "tg-core[demo]"'
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "radon-traces.png"
    plot({name: result.draws for name, result in results.items()}, radon.NAMES, path)
    return f"trace plots: {path}"
