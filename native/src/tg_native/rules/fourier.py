"""Discrete Fourier transforms, by the loops of `numpy.fft` or by what a machine has in their place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tg.ops import fourier as t
from tg.types.dtypes import numpy_dtype
from tg.types.lengths import remainder
from tg_native.kernels.dtypes import PARTS
from tg_native.kernels.functions import sqrt
from tg_native.kernels.index import index
from tg_native.kernels.lanes import Lanes, constant_of
from tg_native.plan.values import is_zero

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.plugin.records import Rule
    from tg.types.lengths import Length
    from tg_native.graphs.site import Site
    from tg_native.kernels.index import Index, Pointer
    from tg_native.loops.kernel import Kernel
    from tg_native.plan.values import Array

SUMS: Final = {False: "backward", True: "forward"}
"""The norm that leaves sums as they are, by whether a transform is an inverse."""


def fourier(op: t.Fourier, site: Site) -> Any:
    """Complex rows."""
    return _rows(site, {None: "ifft" if op.inverse else "fft"}, op.norm, is_inverse=op.inverse)


def real_fourier(op: t.RealFourier, site: Site) -> Any:
    """Real rows: even and odd numbers of points have a loop each."""
    return _rows(site, {0: "rfft", 1: "rfft_odd"}, op.norm, is_inverse=False)


def inverse_real_fourier(op: t.InverseRealFourier, site: Site) -> Any:
    """Rows of half the frequencies."""
    return _rows(site, {None: "irfft"}, op.norm, is_inverse=True)


def _rows(site: Site, loops: dict[int | None, str], norm: str, *, is_inverse: bool) -> Any:
    """One call for each matrix; the loop depends on the number of points where there are two."""
    x = site.memory(site.inputs[0])
    transforms = site.transforms(PARTS.get(x.dtype, x.dtype))
    if transforms is None:
        return NotImplemented
    y = site.allocate(0)
    n = y.shape[-1] if is_inverse else x.shape[-1]
    is_real = transforms.dtype in (x.dtype, y.dtype)
    factor, room = site.temporary(transforms.dtype, (1,)), transforms.room(n, is_real=is_real)
    counts, steps = site.temporary("int64", (3,)), site.temporary("int64", (5,))
    kernel = site.kernel()
    source, target = kernel.read(x), kernel.write(y)
    at, counted, stepped = (kernel.write(array) for array in (factor, counts, steps))
    memory = None if is_zero(room) else kernel.write(site.temporary(transforms.dtype, (room,)))
    rows: int | Length = x.shape[-2] if x.ndim > 1 else 1
    with kernel.body.of(0):
        points = kernel.length(n)
        kernel.body.store(_factor(points, norm, transforms.dtype, is_inverse=is_inverse), at)
        _store(kernel, counted, counts, [rows, x.shape[-1], y.shape[-1]])
        beyond = [(x.strides[-2], y.strides[-2])] if x.ndim > 1 else [(0, 0)]
        (far, further), a, b = beyond[0], numpy_dtype(x.dtype).itemsize, numpy_dtype(y.dtype).itemsize
        distances = [(far, a), (0, 1), (further, b), (x.strides[-1], a), (y.strides[-1], b)]
        _store(kernel, stepped, steps, [kernel.length(step) * size for step, size in distances])
        if memory is not None:
            transforms.begin(kernel, points, memory, is_real=is_real)
        with kernel.loops(x.shape[:-2]) as outer:
            places = (kernel.moved(source, outer, x.strides[:-2]), at, kernel.moved(target, outer, y.strides[:-2]))
            if len(loops) == 1:
                transforms.call(kernel, loops[None], places, counted, stepped, memory)
            elif type(parity := remainder(n, 2)) is int:
                transforms.call(kernel, loops[parity], places, counted, stepped, memory)
            else:
                for number, name in loops.items():
                    assert number is not None
                    with kernel.body.when((points & 1) == number):
                        transforms.call(kernel, name, places, counted, stepped, memory)
    site.run(kernel)
    return y


def _factor(points: Index, norm: str, dtype: str, *, is_inverse: bool) -> Lanes:
    """1, 1 / n or 1 / sqrt(n), rounded as NumPy does."""
    body = points.value.body
    one = constant_of(body, numpy_dtype(dtype).type(1), dtype)
    assert isinstance(one, Lanes)
    if norm == SUMS[is_inverse]:
        return one
    count = points.value.to(dtype)
    return one / (sqrt(count) if norm == "ortho" else count)


def _store(kernel: Kernel, place: Pointer, array: Array, values: Sequence[Any]) -> None:
    for k, value in enumerate(values):
        number = value if not isinstance(value, int) and hasattr(value, "value") else kernel.length(value)
        kernel.body.store(number.value, kernel.moved(place, [index(kernel.body, k)], array.strides))


RULES: Final[dict[object, Rule]] = {
    t.Fourier: fourier,
    t.RealFourier: real_fourier,
    t.InverseRealFourier: inverse_real_fourier,
}
