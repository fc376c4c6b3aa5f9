"""Calls of the loops of `numpy.fft`, by their addresses."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast, final

from tg_native.calls.transforms import LETTERS
from tg_native.loops.transforms import Transforms

if TYPE_CHECKING:
    from tg_native.kernels.index import Pointer
    from tg_native.loops import kernel as loops
    from tg_numba.kernel import Kernel
    from tg_numba.program import Unit


@final
class NumbaTransforms(Transforms):
    """Calls of the loops for a real dtype; the places of arrays are in memory of the loop's function."""

    def __init__(self, unit: Unit, dtype: str) -> None:
        self.unit, self.dtype = unit, dtype

    def call(
        self,
        kernel: loops.Kernel,
        name: str,
        places: tuple[Pointer, Pointer, Pointer],
        counts: Pointer,
        steps: Pointer,
        memory: Pointer | None,
    ) -> None:
        own = cast("Kernel", kernel)
        body, name = own.body, LETTERS[self.dtype] + name
        array = body.frame("ptr", len(places))
        for k, place in enumerate(places):
            at = body.made(f"getelementptr ptr, ptr {array}, i64 {k}")
            body.do(f"store ptr {place.text}, ptr {at}")
        loop, data = (own.outside(self.unit.blas(one)) for one in (name, f"{name}_data"))
        body.do(f"call void {loop}(ptr {array}, ptr {counts.text}, ptr {steps.text}, ptr {data})")
