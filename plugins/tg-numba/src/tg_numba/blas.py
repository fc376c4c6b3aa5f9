"""Calls of the BLAS of the process, by the addresses of functions whose interface is CBLAS with 64-bit integers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, cast, final

from tg.backend import is_complex, numpy_dtype
from tg_native.calls.blas import blas
from tg_native.kernels.lanes import constant_of, parts
from tg_native.loops.blas import clear
from tg_numba.assembly import ITEMS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tg_native.kernels.index import Index, Pointer
    from tg_native.loops import kernel as loops
    from tg_native.loops.blas import Matrix, Vector
    from tg_numba.kernel import Kernel
    from tg_numba.program import Unit

LETTERS: Final = {"float64": "d", "float32": "s", "complex128": "z", "complex64": "c"}
ROW_MAJOR: Final = 101
AS_IS: Final = 111
TRANSPOSED: Final = 112


def calls(unit: Unit, dtype: str) -> Calls | None:
    """How functions for a dtype are called; None where BLAS has none, or another interface."""
    has_any = dtype in LETTERS and blas().source == "numpy-openblas64"
    return Calls(unit, dtype) if has_any else None


@final
class Calls(NamedTuple):
    """Calls of the functions for a dtype: see `tg_native.loops.blas`."""

    unit: Unit
    dtype: str

    @property
    def has_vectors(self) -> bool:
        """Whether there are `gemv` and `dot`."""
        return not is_complex(self.dtype)

    def gemm(self, kernel: loops.Kernel, sizes: tuple[Index, Index, Index], x: Matrix, y: Matrix, z: Pointer) -> None:
        """z = x y of m, n and k."""
        order = [f"i32 {ROW_MAJOR}", _flag(x), _flag(y), *_numbers(sizes), self._factor(kernel, 1)]
        places = [text for v in (x, y) for text in (f"ptr {v.place.text}", *_numbers([v.lead]))]
        self._call(kernel, "gemm", [*order, *places, self._factor(kernel, 0), f"ptr {z.text}", *_numbers(sizes[1:2])])

    def gemv(self, kernel: loops.Kernel, sizes: tuple[Index, Index], a: Matrix, v: Vector, z: Pointer) -> None:
        """z = a v of m and k."""
        clear(kernel, z, sizes[0])
        stored = sizes[::-1] if a.is_transposed else sizes
        order = [f"i32 {ROW_MAJOR}", _flag(a), *_numbers(stored), self._factor(kernel, 1)]
        matrix, vector = ([f"ptr {x.place.text}", *_numbers([n])] for x, n in ((a, a.lead), (v, v.step)))
        self._call(kernel, "gemv", [*order, *matrix, *vector, self._factor(kernel, 0), f"ptr {z.text}", "i64 1"])

    def dot(self, kernel: loops.Kernel, n: Index, x: Vector, y: Vector, z: Pointer) -> None:
        """z = the sum of x[i] y[i]."""
        given = [*_numbers([n]), *(text for v in (x, y) for text in (f"ptr {v.place.text}", *_numbers([v.step])))]
        body = _own(kernel).body
        found = body.made(f"call {ITEMS[self.dtype]} {self._address(kernel, 'dot')}({', '.join(given)})")
        body.do(f"store {ITEMS[self.dtype]} {found}, ptr {z.text}")

    def _call(self, kernel: loops.Kernel, name: str, given: Sequence[str]) -> None:
        _own(kernel).body.do(f"call void {self._address(kernel, name)}({', '.join(given)})")

    def _address(self, kernel: loops.Kernel, name: str) -> str:
        return _own(kernel).address(self.unit.blas(LETTERS[self.dtype] + name))

    def _factor(self, kernel: loops.Kernel, value: int) -> str:
        """A factor as an argument: a complex one is in memory."""
        body = _own(kernel).body
        with body.of(0):
            numbers = parts([constant_of(body, numpy_dtype(self.dtype).type(value), self.dtype)])
            if len(numbers) == 1:
                return f"{ITEMS[self.dtype]} {numbers[0].text}"
            place = body.frame(numbers[0].kind, 2)
            for at, number in enumerate(numbers):
                body.do(f"store {number.kind} {number.text}, ptr {body.place(number.kind, place, str(at))}")
            return f"ptr {place}"


def _own(kernel: loops.Kernel) -> Kernel:
    return cast("Kernel", kernel)


def _flag(a: Matrix) -> str:
    return f"i32 {TRANSPOSED if a.is_transposed else AS_IS}"


def _numbers(found: Iterable[Index]) -> list[str]:
    return [f"i64 {number.value.text}" for number in found]
