"""Calls of the BLAS of the process, by the addresses of functions whose interface is CBLAS with 64-bit integers."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast, final

from tg.backend import numpy_dtype
from tg_native.calls.blas import THREADS
from tg_native.kernels.index import Index, Pointer
from tg_native.kernels.lanes import Lanes, constant_of, parts
from tg_native.loops.blas import LETTERS, Blas, clear
from tg_native.loops.lapack import Lapack, signature
from tg_numba.assembly import ITEMS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg_native.loops import kernel as loops
    from tg_native.loops.blas import Matrix, Vector
    from tg_numba.flow import Flow
    from tg_numba.kernel import Kernel
    from tg_numba.program import Unit


@final
class NumbaBlas(Blas):
    """Calls of the functions for a dtype."""

    def __init__(self, unit: Unit, dtype: str) -> None:
        self.unit, self.dtype = unit, dtype

    def threads(self, kernel: loops.Kernel) -> Index:
        own = cast("Kernel", kernel)
        number = own.body.made(f"call i32 {own.outside(self.unit.blas(THREADS))}()")
        with own.body.of(0):
            return Index(Lanes(own.body, "int64", own.body.made(f"sext i32 {number} to i64")))

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
        value = own.body.made(f"call {ITEMS[self.dtype]} {called}")
        own.body.do(f"store {ITEMS[self.dtype]} {value}, ptr {result.text}")

    def gemv(self, kernel: loops.Kernel, sizes: tuple[Index, Index], a: Matrix, v: Vector, z: Pointer) -> None:
        clear(kernel, z, sizes[0])
        super().gemv(kernel, sizes, a, v, z)


@final
class NumbaLapack(Lapack):
    """Calls of the functions for a dtype: arguments are in memory of the loop's function."""

    def __init__(self, unit: Unit, dtype: str) -> None:
        self.unit, self.dtype = unit, dtype

    def call(self, kernel: loops.Kernel, name: str, arguments: Sequence[str | Index | Pointer]) -> Index:
        own = cast("Kernel", kernel)
        body, operands, lengths = own.body, list(arguments), []
        info = body.cell("int64").text
        texts: list[str] = []
        for kind in signature(LETTERS[self.dtype] + name):
            if kind == "i":
                texts.append(info)
            elif kind == "0":
                texts.append("null")
            elif kind == "1":
                texts.append(self._one(body))
            else:
                argument = operands.pop(0)
                texts.append(self._place(body, argument))
                lengths += ["i64 1"] if isinstance(argument, str) else []
        called = own.outside(self.unit.blas(LETTERS[self.dtype] + name))
        body.do(f"call void {called}({', '.join([*(f'ptr {text}' for text in texts), *lengths])})")
        return Index(Lanes(body, "int64", body.made(f"load i64, ptr {info}")))

    def _one(self, body: Flow) -> str:
        place = body.cell(self.dtype)
        with body.of(0):
            body.store(constant_of(body, numpy_dtype(self.dtype).type(1), self.dtype), place)
        return str(place.text)

    @staticmethod
    def _place(body: Flow, argument: str | Index | Pointer) -> str:
        if isinstance(argument, str):
            place = body.frame("i8")
            body.do(f"store i8 {ord(argument)}, ptr {place}")
            return place
        if isinstance(argument, Pointer):
            return str(argument.text)
        place = body.frame("i64")
        body.do(f"store i64 {argument.value.text}, ptr {place}")
        return place
