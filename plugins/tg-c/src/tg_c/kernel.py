"""A loop in the making: a C function, and how the function of a graph calls it."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from tg.types.dtypes import is_complex
from tg_c.body import SHARED
from tg_c.machine import vector_bytes
from tg_c.routine import CONST, Routine, Width
from tg_native.kernels.dtypes import PARTS, is_half, working
from tg_native.kernels.index import Index, Pointer, index
from tg_native.kernels.lanes import Lanes, Pair
from tg_native.loops import kernel as loops
from tg_native.loops.kernel import MOST, Share, lanes_for
from tg_native.plan.values import Scalar

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tg.types.lengths import Length
    from tg_c.division import Division
    from tg_c.function import GraphFunction
    from tg_c.nest import Nest
    from tg_native.kernels.lanes import Elements
    from tg_native.plan.values import Array


def width_for(dtypes: Iterable[str], vectors: int, length: int | Length) -> Width:
    """As many lanes as some vectors have for the widest dtype, and no more than a length that is known.

    Halves are computed with in float32: vectors of these go abreast.
    """
    every = list(dtypes)
    lanes = lanes_for(vector_bytes(), every, vectors, length)
    return Width(lanes, lanes_for(vector_bytes(), map(working, every), 1, lanes) if lanes else 1)


@final
class Kernel(loops.Kernel):
    """A function in the making."""

    body: Routine

    def __init__(
        self, function: GraphFunction, dtypes: Iterable[str] = (), vectors: int = 1, length: int | Length = MOST
    ) -> None:
        self.nest = function.nest()
        self.body = Routine(function.unit.prelude, width_for(dtypes, vectors, length))

    def lanes_for(self, dtypes: Iterable[str], vectors: int, length: int | Length) -> Width:
        return width_for(dtypes, vectors, length)

    def read(self, array: Array) -> Pointer:
        return Pointer(self.body, array.dtype, self.nest.read(array), CONST)

    def write(self, array: Array) -> Pointer:
        return Pointer(self.body, array.dtype, self.nest.write(array))

    def length(self, length: int | Length) -> Index:
        if type(length) is int:
            return index(self.body, length)
        return Index(Lanes(self.body, "int64", self.nest.length(length)))

    def scalar(self, scalar: Scalar) -> Elements:
        text = self.nest.value(scalar)
        if is_complex(scalar.dtype):
            part = PARTS[scalar.dtype]
            return Pair(*(Lanes(self.body, part, f"__{which}__ {text}", SHARED) for which in ("real", "imag")))
        if is_half(scalar.dtype) and self.body.lanes:
            text = f"{text}.bits"
        return Lanes(self.body, scalar.dtype, text, SHARED)

    def finish(self) -> Nest:
        """The function, as the unit takes it."""
        self.nest.lines[:] = self.body.text()
        return self.nest

    def divided(self, division: Division, most: int, threads: int) -> None:
        """Have a call run one part of the loop."""
        self.nest.division = division
        low, high, part, slot = (Index(Lanes(self.body, "int64", name)) for name in ("lo", "hi", "part", "slot"))
        self.share = Share(low, high, part, slot, Scalar("int64", division.parts), most, threads)
