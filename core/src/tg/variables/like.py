"""Operands, for type checkers: what functions of arrays take in the place of a variable."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, SupportsIndex

import numpy as np

from tg.graph.nodes import Variable
from tg.types.choices import PaddingWord
from tg.types.lengths import Length

__all__ = ["Integers", "KeyLike", "PaddingLike", "ShapeLike", "SizeLike", "TensorLike"]


class HasArray(Protocol):
    """An array of another library, as NumPy converts it: of pandas, polars, xarray, JAX, PyTorch."""

    def __array__(self) -> Any: ...


class HasExchange(Protocol):
    """An array of another library that can be exchanged: of MLX and CuPy."""

    def __dlpack__(self) -> Any: ...


Other = HasArray | HasExchange
TensorLike = (
    Variable | Length | np.ndarray[Any, Any] | np.generic | int | float | complex | list[Any] | tuple[Any, ...] | Other
)
"""A variable, a length, an array, a number, or numbers in lists and tuples. Text is none, though it is a sequence."""

Integers = SupportsIndex | Sequence[SupportsIndex]
"""An integer, or several: axes, or a number for each axis of a window."""

PaddingLike = SupportsIndex | Sequence[SupportsIndex | Sequence[SupportsIndex]] | PaddingWord
"""Zeros around images: a number, one for each axis, a pair (before, after) for each, or a word."""

KeyLike = Variable | np.ndarray[Any, Any] | Other
"""The key of a draw: a variable, or the array that is its value. A number is none: `tg.random.key` makes one of it."""

SizeLike = SupportsIndex | Variable | Length
"""A number of elements: an integer, a length of a variable, or an integer scalar that says it when the program runs."""

ShapeLike = SizeLike | Sequence[SizeLike] | np.ndarray[Any, Any]
"""The lengths of an array: of each axis, a number for a vector, or a vector of integers."""
