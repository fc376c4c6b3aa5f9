"""Functions of vectors beside libmvec and SLEEF: `python benchmarks/mathematics.py [c|numba ...] [NAME ...]`.

Each runs over 16,384 elements, which the second cache holds, in the widest vectors of the machine. What a call takes
with hardly any elements is subtracted, calls of all take turns, and the least of each counts. The libraries' functions
are called by a loop of C (`limits/each.c`), which is all that an own one could save. SLEEF's come from torch, of an
error of at most 1 unit in the last place or 3.5, whichever takes less. The last columns are what backends take in units
of which the better library takes one.
"""

from __future__ import annotations

import ctypes
import importlib.util
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from native import built
from rich.console import Console
from rich.table import Table

import tg
from tg_native.calls.libmvec import LIBMVEC, symbol_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Array = np.ndarray[Any, Any]
    Call = Callable[[], object]

ELEMENTS: Final = 16_384
FEW: Final = 16  # a vector of the widest
ROUNDS: Final = 150
CALLS: Final = 8  # of a function in a round
SLEEF_WIDTHS: Final = {16: "sse4", 32: "avx2", 64: "avx512f"}
NAMES: Final = {"power": "pow", **{f"arc{name}": f"a{name}" for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh")}}


class Row(NamedTuple):
    """A function of tg, and the ends between which its operand is drawn."""

    name: str
    low: float
    high: float

    @property
    def libm(self) -> str:
        """The name of libm."""
        return NAMES.get(self.name, self.name)

    def operands(self, dtype: str) -> list[Array]:
        """As many numbers as a call takes."""
        rng = np.random.default_rng(0)
        found = [rng.uniform(self.low, self.high, ELEMENTS).astype(dtype)]
        return [*found, rng.uniform(-3, 3, ELEMENTS).astype(dtype)] if self.name == "power" else found


ROWS: Final = (
    *(Row(name, -10, 10) for name in ("exp", "exp2", "sin", "cos", "tan", "arctan", "arcsinh", "cbrt", "sigmoid")),
    *(Row(name, 1e-3, 100) for name in ("log", "log2", "log10")),
    *(Row(name, -5, 5) for name in ("tanh", "sinh", "cosh", "expm1", "erf", "erfc")),
    *(Row(name, -1, 1) for name in ("arcsin", "arccos", "arctanh")),
    Row("log1p", -0.9, 10),
    Row("arccosh", 1, 10),
    Row("power", 0.01, 20),
)


class Each:
    """The loops of C over vectors as wide as the machine has them."""

    def __init__(self, folder: str) -> None:
        self.library = ctypes.CDLL(built("each.c", folder, "-lmvec", "-lm"))
        self.bytes = int(self.library.bytes())

    def calls(self, symbol: int, arrays: list[Array]) -> tuple[Call, Call]:
        """Calls of a function of vectors for all elements, and for few."""
        kind = "double" if arrays[0].dtype == np.float64 else "float"
        loop = getattr(self.library, f"each_{'pair_' * (len(arrays) > 1)}{kind}")
        out = np.empty_like(arrays[0])
        given = [ctypes.c_void_p(symbol), *(ctypes.c_void_p(a.ctypes.data) for a in (*arrays, out))]
        many, few = ctypes.c_long(ELEMENTS), ctypes.c_long(FEW)
        return lambda: (loop(*given, many), arrays, out)[0], lambda: loop(*given, few)


def address(library: ctypes.CDLL | None, symbol: str | None) -> int | None:
    """Where a function is, if a library has it."""
    if library is None or symbol is None or not hasattr(library, symbol):
        return None
    return ctypes.cast(getattr(library, symbol), ctypes.c_void_p).value


def opened(path: str | Path) -> ctypes.CDLL | None:
    """A library, if it is there."""
    try:
        return ctypes.CDLL(str(path))
    except OSError:
        return None


def libraries(row: Row, dtype: str, width: int) -> Iterator[int]:
    """The functions of libmvec and of SLEEF for a row, in vectors of so many bytes."""
    arity, size = len(row.operands(dtype)), np.dtype(dtype).itemsize
    yield from filter(None, [address(opened(LIBMVEC), symbol_of(row.libm, dtype, arity, width // size))])
    torch = importlib.util.find_spec("torch")
    if torch is not None and torch.origin is not None and width in SLEEF_WIDTHS:
        sleef = opened(Path(torch.origin).parent / "lib" / "libtorch_cpu.so")
        lanes = f"{'d' if size == 8 else 'f'}{width // size}"
        names = (f"Sleef_{row.libm}{lanes}_u{error}{SLEEF_WIDTHS[width]}" for error in ("10", "15", "35"))
        yield from filter(None, (address(sleef, name) for name in names))


def own(row: Row, dtype: str, backend: str, arrays: list[Array]) -> tuple[Call, Call]:
    """Calls of the compiled function for all elements, and for few."""
    given = [tg.tensor(f"x{k}", dtype, (None,)) for k in range(len(arrays))]
    f = tg.function(given, getattr(tg, row.name)(*given), backend=backend)
    few = [a[:FEW].copy() for a in arrays]
    f(*arrays)
    return lambda: f(*arrays), lambda: f(*few)


def nanoseconds(pairs: list[tuple[Call, Call]]) -> list[float]:
    """What each takes for an element, less what a call takes."""
    calls = [call for pair in pairs for call in pair]
    least = [float("inf")] * len(calls)
    for _ in range(ROUNDS):
        for k, call in enumerate(calls):
            for _ in range(CALLS):
                before = time.perf_counter_ns()
                call()
                least[k] = min(least[k], time.perf_counter_ns() - before)
    return [(many - few) / (ELEMENTS - FEW) for many, few in zip(least[::2], least[1::2], strict=True)]


def main(words: list[str]) -> None:
    """Print a table."""
    backends = [w for w in words if w in ("c", "numba")] or ["c", "numba"]
    names = set(words) - {"c", "numba"} or {row.name for row in ROWS}
    table = Table(
        "function", "dtype", "library, ns", *(f"{b}, ns" for b in backends), *(f"{b}, ratio" for b in backends)
    )
    with tempfile.TemporaryDirectory() as folder:
        each = Each(folder)
        for row in (row for row in ROWS if row.name in names):
            for dtype in ("float64", "float32"):
                arrays = row.operands(dtype)
                theirs = [each.calls(symbol, arrays) for symbol in libraries(row, dtype, each.bytes)]
                taken = nanoseconds([*theirs, *(own(row, dtype, backend, arrays) for backend in backends)])
                best, ours = min(taken[: len(theirs)], default=float("nan")), taken[len(theirs) :]
                ratios = (f"{one / best:.2f}" for one in ours)
                table.add_row(row.name, dtype, f"{best:.3f}", *(f"{one:.3f}" for one in ours), *ratios)
    Console(width=100).print(table)


if __name__ == "__main__":
    main(sys.argv[1:])
