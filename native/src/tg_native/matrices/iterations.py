"""Common parts of factorisations by iteration: memory for LAPACK, NaN where it fails, matrices it sees transposed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from tg.types.lengths import add
from tg_native.kernels.index import Index, index
from tg_native.matrices.elements import number

if TYPE_CHECKING:
    from collections.abc import Callable

    from tg.types.lengths import Length
    from tg_native.graphs.site import Site
    from tg_native.kernels.index import Pointer
    from tg_native.kernels.lanes import Elements
    from tg_native.loops.kernel import Kernel
    from tg_native.matrices.elements import Matrix

BLOCK: Final = 32  # rows that LAPACK takes at once, for which there is memory


def attempt(
    kernel: Kernel,
    is_fit: Index,
    call: Callable[[], Index],
    spoil: Callable[[], None],
    report: Pointer,
    size: Index | None = None,
) -> None:
    """Call LAPACK where it is fit; NaN where it is not, or where the call says that it has failed, which is told."""
    body = kernel.body
    (code,) = body.either(is_fit > 0, lambda: [call().value], lambda: [index(body, 0).value])
    failed = Index(code) != 0
    is_odd = is_fit == 0
    with body.when(failed | (is_odd if size is None else is_odd & (size > 0))):
        spoil()
    body.store(failed.number().single("int32"), report)


def work_memory(site: Site, kernel: Kernel, dtype: str, room: int | Length) -> tuple[Pointer, Index]:
    """Memory for LAPACK in this call, and how much."""
    return kernel.write(site.temporary(dtype, (room,))), kernel.length(room)


def total_of(*lengths: int | Length) -> int | Length:
    """The sum of lengths."""
    total: int | Length = 0
    for length in lengths:
        total = add(total, length)
    return total


def transpose(matrix: Matrix, n: Index, of: Callable[[Elements], Elements]) -> None:
    """The transpose of a square matrix in its memory, with a function of each element."""
    body = matrix.kernel.body
    with body.loop(0, n) as i:
        with body.loop(0, i) as j:
            x, y = matrix.load(i, j), matrix.load(j, i)
            matrix.store(of(y), i, j)
            matrix.store(of(x), j, i)
        matrix.store(of(matrix.load(i, i)), i, i)


def fill_row_nan(kernel: Kernel, dtype: str, place: Pointer, count: Index) -> None:
    """Set so many elements to NaN."""
    body = kernel.body
    with body.loop(0, count) as k:
        body.store(number(body, np.nan, dtype), place.moved(k))
