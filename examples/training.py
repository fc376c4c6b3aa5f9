"""Networks that learn: digits by a residual network, a text by a transformer.

python examples/training.py                         # on C
python examples/training.py c jax                   # on these backends
python examples/training.py c --docs docs/_static   # and write down what the page of networks shows
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from networks import characters, digits
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

if TYPE_CHECKING:
    from collections.abc import Mapping

LIMITS = {"accuracy": 0.985, "loss": 1.7}  # what a training that works reaches


def main() -> int:
    """Train and print; 0 if all networks have learnt."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("backends", nargs="*", default=["c"])
    parser.add_argument("--docs", type=Path, help="a folder to write a picture and the tables into")
    chosen = parser.parse_args()
    console = Console(width=110, record=True)
    with Progress(console=Console(stderr=True)) as progress:
        of_digits = {name: _digits(name, progress) for name in chosen.backends}
        of_text = {name: _characters(name, progress) for name in chosen.backends}
    show(of_digits, of_text, console)
    if chosen.docs:
        picture(of_digits, of_text, chosen.docs / "training.svg")
        lines = console.export_text().splitlines()
        (chosen.docs / "training.txt").write_text("".join(f"{line.rstrip()}\n" for line in lines))
    knows = all(r.accuracies[-1] >= LIMITS["accuracy"] for r in of_digits.values())
    return 0 if knows and all(np.mean(r.losses[-50:]) < LIMITS["loss"] for r in of_text.values()) else 1


def _digits(backend: str, progress: Progress) -> digits.Result:
    task = progress.add_task(f"digits on {backend}", total=digits.EPOCHS)
    return digits.train(backend, report=lambda *_: progress.advance(task))


def _characters(backend: str, progress: Progress) -> characters.Result:
    task = progress.add_task(f"characters on {backend}", total=characters.STEPS)
    return characters.train(backend, report=lambda *_: progress.advance(task))


def show(of_digits: Mapping[str, Any], of_text: Mapping[str, Any], console: Console) -> None:
    """Print what was reached."""
    table = Table("digits", "last loss", "test images, %", "steps a second", title="A residual network")
    for name, r in of_digits.items():
        speed = f"{(len(r.losses) - 1) / r.seconds:.0f}"
        table.add_row(name, f"{r.losses[-1]:.4f}", f"{100 * r.accuracies[-1]:.2f}", speed)
    console.print(table)
    head = ("characters", "last 50 steps, nats", "text kept back, nats", "steps a second")
    table = Table(*head, title="A GPT of characters")
    for name, r in of_text.items():
        speed = f"{(len(r.losses) - 1) / r.seconds:.2f}"
        table.add_row(name, f"{np.mean(r.losses[-50:]):.3f}", f"{r.unseen:.3f}", speed)
    console.print(table)
    for name, r in of_text.items():
        console.print(f"{name} writes: {r.written!r}", markup=False, highlight=False)


def picture(of_digits: Mapping[str, Any], of_text: Mapping[str, Any], path: Path) -> None:
    """Draw the losses, and the accuracies."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure
    from pictures import NO_DATE, STYLE

    with rc_context(STYLE):
        figure = Figure(figsize=(9, 2.8), layout="constrained")
        losses, wrong, text = figure.subplots(1, 3)
        for name, r in of_digits.items():
            losses.semilogy(np.arange(len(r.losses)), r.losses, linewidth=0.6, label=name)
            wrong.plot(np.arange(1, len(r.accuracies) + 1), 100 * np.array(r.accuracies), linewidth=1, label=name)
        for name, r in of_text.items():
            text.plot(r.losses, linewidth=0.6, label=name)
        titles = ("digits: loss", "digits: test images, %", "characters: loss, nats")
        for axes, title, along in zip((losses, wrong, text), titles, ("step", "epoch", "step"), strict=True):
            axes.set_title(title)
            axes.set_xlabel(along)
            axes.legend(frameon=False)
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, metadata=NO_DATE)


if __name__ == "__main__":
    raise SystemExit(main())
