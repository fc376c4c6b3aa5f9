"""Products with weights that are packed by group, beside those of float32: `python benchmarks/groups.py c numba`.

For each backend, format and number of rows, known and not, the milliseconds of a call, least of many.
"""

from __future__ import annotations

import sys
import time
from typing import Any, Final

import numpy as np

import tg

SIZES: Final = ((1024, 1024), (4096, 4096))
ROWS: Final = (1, 4, 16, 64, 256)
FORMATS: Final = ("float32", "q8_0", "q4_0", "q4_k")
SECONDS: Final = 0.5  # of calls


def product(backend: str, name: str, rows: int | None, weights: Any) -> Any:
    """A compiled product x @ weights.T."""
    x = tg.tensor("x", "float32", (rows, weights.shape[1]))
    outputs = x @ tg.shared(weights, "weights", shape=weights.shape).T
    return tg.function([x], outputs, backend=backend) if name == "float32" else _quantized(x, outputs, name, backend)


def _quantized(x: Any, outputs: Any, name: str, backend: str) -> Any:
    return tg.quantized(([x], outputs), name, backend=backend)


def least(f: Any, x: Any) -> float:
    """Milliseconds of the shortest call."""
    f(x)
    best, end = float("inf"), time.perf_counter() + SECONDS
    while time.perf_counter() < end:
        start = time.perf_counter()
        f(x)
        best = min(best, time.perf_counter() - start)
    return best * 1e3


def main(backends: list[str]) -> None:
    """Print a line for each."""
    draws = np.random.default_rng(0)
    for n, k in SIZES:
        weights = draws.normal(size=(n, k)).astype("float32")
        for backend in backends:
            for name in FORMATS:
                times = []
                for rows in ROWS:
                    x = draws.normal(size=(rows, k)).astype("float32")
                    known, any_rows = (least(product(backend, name, m, weights), x) for m in (rows, None))
                    times.append(f"{rows}: {known:.3f} / {any_rows:.3f}")
                print(f"{backend} {n}x{k} {name:8} {'  '.join(times)}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:] or ["c"])
