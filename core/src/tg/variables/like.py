"""Operands, for type checkers: what functions of arrays take in the place of a variable."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from tg.graph.nodes import Variable
from tg.types.lengths import Length

__all__ = ["TensorLike"]


class HasArray(Protocol):
    """An array of another library, as NumPy converts it: of pandas, polars, xarray, JAX, PyTorch."""

    def __array__(self) -> Any: ...


class HasExchange(Protocol):
    """An array of another library that can be exchanged: of MLX and CuPy."""

    def __dlpack__(self) -> Any: ...


Other = HasArray | HasExchange
TensorLike = Variable | Length | np.ndarray[Any, Any] | np.generic | complex | list[Any] | tuple[Any, ...] | Other
"""A variable, a length, an array, a number, or numbers in lists and tuples. Text is none, though it is a sequence."""
