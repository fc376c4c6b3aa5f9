"""What the forms of printers are worth: `python benchmarks/forms.py [c|numba ...]`, on a quiet machine.

A printer may have a form of its own for an operation that the kernel language defines by others (`Body.has_form`). It
stays if a program that has it takes 5 % longer without. Each row is a program over 10,000 elements, which the second
cache holds, compiled with all forms and without one; the two are called in turn, and the least of each counts. Forms
that this machine has no instruction for are the same code twice, and are told.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table

import tg

if TYPE_CHECKING:
    from collections.abc import Callable

ELEMENTS = 10_000
ROUNDS = 200
CALLS = 10  # of each in a round


class Row(NamedTuple):
    """A form and a program of one operand that has it."""

    word: str
    dtype: str
    program: Callable[[Any], Any]
    name: str


ROWS = (
    Row("larger", "float64", lambda x: tg.maximum(x, 0.25), "maximum(x, 1/4)"),
    Row("larger", "float32", lambda x: tg.max(x), "max(x)"),
    Row("larger", "int8", lambda x: tg.max(x), "max(x)"),
    Row("smaller", "float64", lambda x: tg.minimum(x, 0.25), "minimum(x, 1/4)"),
    Row("smaller", "float32", lambda x: tg.min(x), "min(x)"),
    Row("at_least", "float64", lambda x: tg.exp(x), "exp(x)"),
    Row("at_least", "float32", lambda x: tg.exp(x), "exp(x)"),
    Row("at_most", "float64", lambda x: tg.exp(x), "exp(x)"),
    Row("at_most", "float32", lambda x: tg.exp(x), "exp(x)"),
    Row("scaled", "float64", lambda x: tg.exp(x), "exp(x)"),
    Row("scaled", "float64", lambda x: tg.tanh(x), "tanh(x)"),
    Row("widened", "float16", lambda x: x * x, "x x"),
    Row("narrowed", "float16", lambda x: x * x, "x x"),
)


def body_of(backend: str) -> Any:
    """The printer's class that says which forms there are."""
    if backend == "c":
        from tg_c import body
    else:
        from tg_numba import body
    return body.Body


def compiled(row: Row, backend: str, *, has_form: bool) -> tuple[Callable[..., Any], str]:
    """The program, with its form or without, and its code."""
    printer = body_of(backend)
    usual = printer.has_form
    if not has_form:
        printer.has_form = lambda body, word, dtype: word != row.word and usual(body, word, dtype)
    try:
        x = tg.tensor("x", row.dtype, (None,))
        f = tg.function([x], row.program(x), backend=tg.backend(backend))
        f(np.ones(ELEMENTS, row.dtype))
        return f, f.source(full=True)
    finally:
        printer.has_form = usual


def least(f: Callable[..., Any], array: Any) -> float:
    """Microseconds of the fastest of some calls."""
    taken = []
    for _ in range(CALLS):
        before = time.perf_counter()
        f(array)
        taken.append(time.perf_counter() - before)
    return 1e6 * min(taken)


def main(backends: list[str]) -> None:
    """Print a table."""
    table = Table("backend", "form", "program", "dtype", "µs with it", "without", "ratio")
    for backend in backends:
        for row in ROWS:
            (with_it, text), (without, other) = (compiled(row, backend, has_form=has) for has in (True, False))
            if text == other:
                table.add_row(backend, row.word, row.name, row.dtype, "-", "-", "not here")
                continue
            array = np.linspace(-3, 3, ELEMENTS).astype(row.dtype)
            pairs = [(least(with_it, array), least(without, array)) for _ in range(ROUNDS)]
            a, b = (min(column) for column in zip(*pairs, strict=True))
            table.add_row(backend, row.word, row.name, row.dtype, f"{a:.2f}", f"{b:.2f}", f"{b / a:.2f}")
    Console().print(table)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        os.environ.update(TG_CACHE_DIR=folder, TG_REMEMBER="false")  # what is kept would not know of the form
        main(sys.argv[1:] or ["c", "numba"])
