"""Ops that ggml has and core writes as several: those that `tg_ggml.lower` puts in, and their rules.

Deviations of ggml: `relu` and the largest of a window take no notice of NaN; a window has nothing below the least
finite number.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final, final

import ggml as g
import numpy as np

from tg.backend import Op
from tg_ggml.tensors import Tensor, current

if TYPE_CHECKING:
    from collections.abc import Callable

    from tg.backend import Rule, TensorType

    Array = np.ndarray[Any, Any]

ROOT_OF_HALF: Final = 0.7071067811865476
AXES: Final = 2  # of windows that ggml pools
_ERFC: Final = np.vectorize(math.erfc, otypes=[float])


class Alike(Op):
    """The common part: one operand, and a result of its type."""

    def infer(self, x: TensorType) -> tuple[TensorType, ...]:
        """The type of x."""
        return (x,)


@final
class Standardized(Alike):
    """(x - mean) / sqrt(variance + eps) over the last axis.

    Shapes:
        x (..., n) -> y (..., n)
    """

    eps: float

    def perform(self, x: Array) -> tuple[Array, ...]:
        """By NumPy."""
        deviations = x - x.mean(-1, keepdims=True)
        spread = np.square(deviations).mean(-1, keepdims=True)
        return (deviations / np.sqrt(spread + x.dtype.type(self.eps)),)


@final
class RootMeanSquare(Alike):
    """x / sqrt(mean(x**2) + eps) over the last axis.

    Shapes:
        x (..., n) -> y (..., n)
    """

    eps: float

    def perform(self, x: Array) -> tuple[Array, ...]:
        """By NumPy."""
        return (x / np.sqrt(np.square(x).mean(-1, keepdims=True) + x.dtype.type(self.eps)),)


@final
class Relu(Alike):
    """x where it is above 0, else 0.

    Shapes:
        x (...) -> y (...)
    """

    def perform(self, x: Array) -> tuple[Array, ...]:
        """By NumPy; NaN stays NaN."""
        return (np.maximum(x, x.dtype.type(0)),)


@final
class Silu(Alike):
    """x times the logistic function of x.

    Shapes:
        x (...) -> y (...)
    """

    def perform(self, x: Array) -> tuple[Array, ...]:
        """By NumPy."""
        return (x / (1 + np.exp(-x)),)


@final
class Gelu(Alike):
    """x times the share of a standard normal distribution below x.

    Shapes:
        x (...) -> y (...)
    """

    def perform(self, x: Array) -> tuple[Array, ...]:
        """By the complementary error function."""
        return (np.asarray(x * (0.5 * _ERFC(-ROOT_OF_HALF * x.astype(float)))).astype(x.dtype),)


@final
class Largest(Op):
    """The largest element of each window along the last two axes; zeros around an array are none of its elements.

    Shapes:
        x (..., h, w) -> y (..., sizes)
    """

    window: tuple[int, int]
    strides: tuple[int, int]
    before: tuple[int, int]
    sizes: tuple[int, int]

    def infer(self, x: TensorType) -> tuple[TensorType, ...]:
        """The sizes in place of the last two lengths."""
        return (x.with_shape((*x.shape[:-AXES], *self.sizes)),)

    def perform(self, x: Array) -> tuple[Array, ...]:
        """By windows of the padded array."""
        pads = [(b, max(0, (m - 1) * s + k - b - n)) for b, m, s, k, n in zip(
            self.before, self.sizes, self.strides, self.window, x.shape[-AXES:], strict=True
        )]  # fmt: skip
        wide = np.pad(x, [(0, 0)] * (x.ndim - AXES) + pads, constant_values=-np.inf)
        windows = np.lib.stride_tricks.sliding_window_view(wide, self.window, (-2, -1))
        rows, columns = (slice(0, (m - 1) * s + 1, s) for m, s in zip(self.sizes, self.strides, strict=True))
        return (windows[..., rows, columns, :, :].max((-2, -1)),)


def normalizing(function: Callable[..., Any]) -> Rule:
    """The rule of a norm of rows."""

    def rule(op: Any, x: Tensor) -> Any:
        return Tensor(x.shape, node=function(current().ctx, x.rows(), op.eps)) if x.size else x

    return rule


def activation(function: Callable[..., Any]) -> Rule:
    """The rule of a function of elements."""

    def rule(op: Any, x: Tensor) -> Any:
        return Tensor(x.shape, node=function(current().ctx, x.rows())) if x.size else x

    return rule


def largest(op: Largest, x: Tensor) -> Any:
    """The windows of each plane; the axes in front are as many."""
    shape = (*x.shape[:-AXES], *op.sizes)
    if not math.prod(shape):
        return Tensor(shape)
    planes = x.dims((x.size // math.prod(x.shape[-AXES:]), *x.shape[-AXES:]))
    numbers = [*op.window[::-1], *op.strides[::-1], *op.before[::-1]]
    return Tensor(shape, node=g.ggml_pool_2d(current().ctx, planes, g.GGML_OP_POOL_MAX, *numbers))


RULES: Final[dict[object, Rule]] = {
    Standardized: normalizing(g.ggml_norm),
    RootMeanSquare: normalizing(g.ggml_rms_norm),
    Relu: activation(g.ggml_relu),
    Silu: activation(g.ggml_silu),
    Gelu: activation(g.ggml_gelu_erf),
    Largest: largest,
}
