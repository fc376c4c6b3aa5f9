"""The jobs on every backend that is installed, side by side with what is used for them without tg.

python examples/jobs.py                         # what `make examples` runs
python examples/jobs.py c numba                 # on these backends, and the reference
python examples/jobs.py c --jobs process gru    # of these jobs
python examples/jobs.py --docs docs/_static     # and write down what the page of examples shows
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import epidemic
import regressions
from rich.console import Console
from tables import chance, loops, matrices

from tg.demo.run import chosen, compare

if TYPE_CHECKING:
    from collections.abc import Callable

    from tg.demo.run import Model

WIDTH = 150  # of tables that go into a file


def main() -> int:
    """Run and print all; 0 if every number is right."""
    parser = argparse.ArgumentParser()
    parser.add_argument("backends", nargs="*")
    parser.add_argument("--jobs", nargs="+", choices=list(JOBS), default=list(JOBS))
    parser.add_argument("--docs", type=Path, help="a folder to write a picture and the tables of each job into")
    chosen_here = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="tg-cache-of-examples-") as folder:
        os.environ["TG_CACHE_DIR"] = folder  # what an earlier run compiled would make the first results look cheap
        return run(chosen_here.backends, chosen_here.jobs, chosen_here.docs)


def run(backends: list[str], jobs: list[str], folder: Path | None) -> int:
    """Run jobs on these backends, and write their pictures and tables if there is a folder for them."""
    console = Console(width=None if sys.stdout.isatty() else WIDTH, record=True)
    known, tables = chosen(backends), {}
    fine, found = True, {}
    for job in jobs:
        for model in JOBS[job]():
            found[model.title], is_right = compare(model, known, console)
            fine = fine and is_right
            if not is_right:
                console.print(f"{model.title}: a number is wrong, or a backend failed")
        tables[job] = console.export_text()
    if folder:
        import pictures

        pictures.write(jobs, found, folder)
        for job, text in tables.items():
            (folder / f"{job}.txt").write_text("".join(f"{line.rstrip()}\n" for line in text.splitlines()))
    return 0 if fine else 1


JOBS: dict[str, Callable[[], list[Model]]] = {  # a model is a table
    "epidemic": lambda: [*map(loops.of_series, epidemic.series())],
    "gru": lambda: [loops.of_brackets()],
    "solvers": lambda: [loops.of_orbit(), loops.of_flight(), loops.of_memory()],
    "process": lambda: [matrices.of_process()],
    "regressions": lambda: [*map(matrices.of_regression, regressions.regressions())],
    "factors": lambda: [matrices.of_factors()],
    "nuts": lambda: [chance.of_nuts()],
    "kalman": lambda: [chance.of_ships()],
    "bootstrap": lambda: [chance.of_bootstrap()],
    "particles": lambda: [chance.of_particles()],
    "mixtures": lambda: [chance.of_mixture(), chance.of_chain()],
}

if __name__ == "__main__":
    sys.exit(main())
