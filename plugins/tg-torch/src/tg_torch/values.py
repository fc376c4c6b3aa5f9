"""Tensors and NumPy arrays of the same values; and the rules of which results are views."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import torch

from tg.backend import cast, complex, indexing, shape
from tg_torch.fused import Fence

Array = np.ndarray[Any, Any]

VIEWS: Final = frozenset(
    {
        Fence,
        cast.Cast,
        complex.real,
        complex.imag,
        indexing.Slice,
        indexing.WrapIndex,
        shape.BroadcastTo,
        shape.ExpandDims,
        shape.Reshape,
        shape.Squeeze,
        shape.Transpose,
    }
)


def to_native(array: Array) -> torch.Tensor:
    """A copy of an array as a tensor on the processor."""
    copied = np.array(array, order="C")
    if copied.dtype.name == "bfloat16":  # of which NumPy and PyTorch share the bits, but no name
        return torch.from_numpy(copied.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(copied)


def to_numpy(value: Any) -> Array:
    """A tensor as an array, in its memory if it is on the processor."""
    if isinstance(value, np.ndarray):
        return value
    value = value.cpu()
    if value.dtype == torch.bfloat16:
        import ml_dtypes

        return value.view(torch.int16).numpy().view(ml_dtypes.bfloat16)  # type: ignore[no-any-return]
    return value.numpy()  # type: ignore[no-any-return]
