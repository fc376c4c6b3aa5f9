"""What elementwise functions cost, in additions: `python benchmarks/costs.py [NAME ...]`, on a quiet machine.

Each function runs on the C backend over 10,000 elements of float64 (of int64 or bool where it has no others, and of
complex128), which the second cache holds, in the widest vectors. What a call takes with one element is subtracted. The
least of all rounds counts, and every round meets every function, so that a slow second of the machine spares none. The
last column is what the record says (`cost`), which `tests/unit/native/test_costs.py` holds backends' decisions to.
"""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import tg
from tg.ops.catalog import ELEMENTWISE
from tg.ops.elementwise import draws

if TYPE_CHECKING:
    from collections.abc import Callable

    from tg.ops.elementwise.record import ElementwiseFunction

ELEMENTS = 10_000
ROUNDS = 40
CALLS = 25  # of a function in a round
DTYPES = ("float64", "int64", "complex128", "uint64")
OWN = {"where": ("bool", "float64", "float64"), "conjugate": ("complex128",), "real": ("complex128",)}
OWN |= {"imag": ("complex128",)}
OWN |= {fn.name: (*["float64"] * (fn.arity - 1), "uint64") for fn in draws.FAMILY.elementwise}


class Timed(NamedTuple):
    """One function, compiled for many elements and for one."""

    name: str
    calls: tuple[Callable[[], Any], Callable[[], Any]]


def dtypes_of(fn: ElementwiseFunction) -> tuple[str, ...]:
    """The dtypes of operands that a function is measured with."""
    if fn.name in OWN:
        return OWN[fn.name]
    for dtype in DTYPES:
        dtypes = (dtype,) * fn.arity
        try:
            if fn.loop(dtypes)[0] == dtypes:
                return dtypes
        except tg.DtypeError:
            continue
    return ("bool",) * fn.arity


def operand(fn: ElementwiseFunction, dtype: str, n: int, k: int) -> np.ndarray[Any, Any]:
    """Operand k: numbers where the function is defined, none of them beyond 50."""
    rng = np.random.default_rng(k)
    if dtype == "uint64":  # bits
        return rng.integers(0, 1 << 64, n, dtype)
    low, high = fn.domain or ((0.5, 3.0) if k or fn.name == "power" else (-10.0, 10.0))
    values = rng.uniform(max(low, -50), min(high, 50), n)
    return (values > 0 if dtype == "bool" else np.abs(values) if dtype == "int64" else values).astype(dtype)


def timed(fn: ElementwiseFunction) -> Timed:
    """A function, compiled."""
    dtypes, calls = dtypes_of(fn), []
    for n in (ELEMENTS, 1):
        given = [tg.tensor(f"x{k}", dtype, (n,)) for k, dtype in enumerate(dtypes)]
        f = tg.function(given, fn(*given), backend=tg.backend("c", threads=1), mode="off")
        arrays = [operand(fn, dtype, n, k) for k, dtype in enumerate(dtypes)]
        calls.append(lambda f=f, arrays=arrays: f(*arrays))
    return Timed(fn.name, (calls[0], calls[1]))


def seconds(call: Callable[[], Any]) -> float:
    """What a call takes, the least of some."""
    least = 1.0
    for _ in range(CALLS):
        before = time.perf_counter()
        call()
        least = min(least, time.perf_counter() - before)
    return least


def main(names: list[str]) -> None:
    """Print the table."""
    every = [timed(ELEMENTWISE[name]) for name in dict.fromkeys(("add", *(names or ELEMENTWISE)))]
    best = {one.name: [1.0, 1.0] for one in every}
    for _ in range(ROUNDS):
        for one in every:
            best[one.name] = [min(b, seconds(call)) for b, call in zip(best[one.name], one.calls, strict=True)]
    taken = {name: 1e9 * (many - alone) / (ELEMENTS - 1) for name, (many, alone) in best.items()}
    print(f"{'':16} {'dtypes':24} {'ns':>8} {'additions':>10} {'record':>8}")
    for name, each in taken.items():
        fn = ELEMENTWISE[name]
        print(f"{name:16} {','.join(dtypes_of(fn)):24} {each:8.3f} {each / taken['add']:10.1f} {fn.cost:8g}")


if __name__ == "__main__":
    main(sys.argv[1:])
