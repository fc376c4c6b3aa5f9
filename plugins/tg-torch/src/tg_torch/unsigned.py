"""uint16, uint32 and uint64, which PyTorch holds but hardly computes with: as signed integers of the same bits.

Sums, differences, products and whatever is made of them have the same bits in both; with the highest bit turned over,
signed integers have the order of unsigned ones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import torch

if TYPE_CHECKING:
    from collections.abc import Callable

SIGNED: Final = {torch.uint16: torch.int16, torch.uint32: torch.int32, torch.uint64: torch.int64}
HIGHEST: Final = {torch.uint16: -(1 << 15), torch.uint32: -(1 << 31), torch.uint64: -(1 << 63)}  # that bit alone


def signed(x: torch.Tensor) -> torch.Tensor:
    """The bits as signed integers; arrays of other dtypes as they are."""
    kind = SIGNED.get(x.dtype)
    return x if kind is None else x.view(kind)


def as_dtype(x: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Inverse of `signed`: integers of such bits in their own dtype; arrays that have it as they are."""
    return x if x.dtype == dtype else x.view(dtype)


def ordered(x: torch.Tensor) -> torch.Tensor:
    """Signed integers in the order of the unsigned ones; arrays of other dtypes as they are."""
    kind = SIGNED.get(x.dtype)
    return x if kind is None else x.view(kind) ^ HIGHEST[x.dtype]


def unordered(x: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Inverse of `ordered`; for other dtypes than the three, x as it is."""
    return (x ^ HIGHEST[dtype]).view(dtype) if dtype in SIGNED else x


def unary(f: Callable[..., torch.Tensor]) -> Callable[[torch.Tensor], torch.Tensor]:
    """`f`, on the bits of what it has no loops for."""

    def rule(x: torch.Tensor) -> torch.Tensor:
        kind = SIGNED.get(x.dtype)
        return f(x) if kind is None else f(x.view(kind)).view(x.dtype)

    return rule


def binary(f: Callable[..., torch.Tensor]) -> Callable[[torch.Tensor, torch.Tensor], torch.Tensor]:
    """`f`, on the bits of what it has no loops for."""

    def rule(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        kind = SIGNED.get(x.dtype)
        return f(x, y) if kind is None else f(x.view(kind), y.view(kind)).view(x.dtype)

    return rule


def below(x: Any, y: Any) -> torch.Tensor:
    """Whether x < y of the bits of two unsigned integers of 64 bits, given as int64."""
    lowest = HIGHEST[torch.uint64]
    return torch.lt(x ^ lowest, y ^ lowest)
