"""Loops over rows beside explicit vectors in C: `python benchmarks/rows.py [c|numba ...]`, on a quiet machine.

Softmax and its kin, layer norm, sums and maxima of 1000 rows of 1000 numbers, by one thread. The loops of C
(`limits/row_loops.c`) write into results that are made once, sum floats as floats in one order, and do not look for
NaN; those of tg sum them as doubles, pairwise. All calls take turns, and the least of each counts.
"""

from __future__ import annotations

import ctypes
import sys
import tempfile
import time
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from native import built
from rich.console import Console
from rich.table import Table

import tg

if TYPE_CHECKING:
    from collections.abc import Callable

    Array = np.ndarray[Any, Any]

SHAPE: Final = (1000, 1000)
ROUNDS: Final = 60


def layer_norm(x: Any) -> Any:
    """Rows of mean 0 and spread 1."""
    spread = tg.sqrt(tg.var(x, axis=-1, keepdims=True) + 1e-5)
    return (x - tg.mean(x, axis=-1, keepdims=True)) / spread


ROWS: Final[dict[str, Callable[[Any], Any]]] = {
    "softmax": lambda x: tg.softmax(x, axis=-1),
    "log_softmax": lambda x: x - tg.logsumexp(x, axis=-1, keepdims=True),
    "logsumexp": lambda x: tg.logsumexp(x, axis=-1),
    "layer_norm": layer_norm,
    "max": lambda x: tg.max(x, axis=-1),
    "total": lambda x: tg.sum(x, axis=-1),
}


def by_hand(library: ctypes.CDLL, name: str, x: Array, like: Array) -> Callable[[], Array]:
    """A call of a loop of C, for these very arrays."""
    function = getattr(library, f"{name}_{'double' if x.dtype == np.float64 else 'float'}")
    out = np.empty_like(like)
    given = [ctypes.c_void_p(a.ctypes.data) for a in (out, x)]

    def call() -> Array:
        function(*given, *(ctypes.c_long(n) for n in SHAPE))
        return out

    return call


def microseconds(calls: list[Callable[[], object]]) -> list[float]:
    """What each takes."""
    least = [float("inf")] * len(calls)
    for _ in range(ROUNDS):
        for k, call in enumerate(calls):
            for _ in range(2):
                before = time.perf_counter_ns()
                call()
                least[k] = min(least[k], (time.perf_counter_ns() - before) / 1000)
    return least


def main(words: list[str]) -> None:
    """Print a table."""
    backends = words or ["c", "numba"]
    table = Table("rows", "dtype", "by hand, µs", *(f"{b}, {what}" for what in ("µs", "ratio") for b in backends))
    with tempfile.TemporaryDirectory() as folder:
        library = ctypes.CDLL(built("row_loops.c", folder, "-lm"))
        for name, expression in ROWS.items():
            for dtype in ("float64", "float32"):
                x = tg.tensor("x", dtype, (None, None))
                array = np.random.default_rng(0).normal(size=SHAPE).astype(dtype)
                functions = [tg.function([x], expression(x), backend=backend) for backend in backends]
                hand = by_hand(library, name, array, functions[0](array))
                np.testing.assert_allclose(hand(), functions[0](array), 1e-4, 1e-4)
                best, *ours = microseconds([hand, *(lambda f=f, a=array: f(a) for f in functions)])
                ratios = (f"{one / best:.2f}" for one in ours)
                table.add_row(name, dtype, f"{best:.0f}", *(f"{one:.0f}" for one in ours), *ratios)
    Console(width=100).print(table)


if __name__ == "__main__":
    main(sys.argv[1:])
