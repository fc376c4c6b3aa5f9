"""The vector mathematics of glibc on x86-64: how its functions are called.

Their results differ from the exact ones by at most 4 units in the last place; NaN, infinities and zeros are libm's.
"""

from __future__ import annotations

from typing import Final

from tg_native.kernels.dtypes import item_size

LIBMVEC: Final = "libmvec.so.1"
WIDTHS: Final = {16: "b", 32: "d", 64: "e"}  # how the x86-64 vector ABI names these bytes: SSE4, AVX2, AVX-512


def symbol_of(name: str, dtype: str, arity: int, lanes: int) -> str | None:
    """The function of so many lanes for a function of libm, which may not be there; None if there is none so wide."""
    width = WIDTHS.get(lanes * item_size(dtype))
    return f"_ZGV{width}N{lanes}{'v' * arity}_{name}{'f' if dtype == 'float32' else ''}" if width is not None else None
