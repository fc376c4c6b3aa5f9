"""Calls of the BLAS of the process, by the addresses of functions whose interface is CBLAS with 64-bit integers."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast, final

from tg.backend import numpy_dtype
from tg_native.kernels.lanes import constant_of, parts
from tg_native.loops.blas import LETTERS, Blas, clear
from tg_numba.assembly import ITEMS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg_native.kernels.index import Index, Pointer
    from tg_native.loops import kernel as loops
    from tg_native.loops.blas import Matrix, Vector
    from tg_numba.kernel import Kernel
    from tg_numba.program import Unit


@final
class NumbaBlas(Blas):
    """Calls of the functions for a dtype."""

    def __init__(self, unit: Unit, dtype: str) -> None:
        self.unit, self.dtype = unit, dtype

    def flag(self, number: int) -> str:
        return f"i32 {number}"

    def number(self, number: Index) -> str:
        return f"i64 {number.value.text}"

    def place(self, place: Pointer) -> str:
        return f"ptr {place.text}"

    def factor(self, kernel: loops.Kernel, value: int) -> str:
        """A complex one is in memory."""
        body = cast("Kernel", kernel).body
        with body.of(0):
            numbers = parts([constant_of(body, numpy_dtype(self.dtype).type(value), self.dtype)])
            if len(numbers) == 1:
                return f"{ITEMS[self.dtype]} {numbers[0].text}"
            place = body.frame(numbers[0].kind, 2)
            for at, number in enumerate(numbers):
                body.do(f"store {number.kind} {number.text}, ptr {body.place(number.kind, place, str(at))}")
            return f"ptr {place}"

    def call(self, kernel: loops.Kernel, name: str, arguments: Sequence[str], result: Pointer | None = None) -> None:
        own = cast("Kernel", kernel)
        called = f"{own.outside(self.unit.blas(LETTERS[self.dtype] + name))}({', '.join(arguments)})"
        if result is None:
            own.body.do(f"call void {called}")
            return
        found = own.body.made(f"call {ITEMS[self.dtype]} {called}")
        own.body.do(f"store {ITEMS[self.dtype]} {found}, ptr {result.text}")

    def gemv(self, kernel: loops.Kernel, sizes: tuple[Index, Index], a: Matrix, v: Vector, z: Pointer) -> None:
        clear(kernel, z, sizes[0])
        super().gemv(kernel, sizes, a, v, z)
