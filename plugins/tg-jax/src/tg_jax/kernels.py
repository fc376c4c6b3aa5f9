"""Convolutions of kernels with channels behind: as XLA wants them, so a kernel that is fixed is laid out once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, final

import numpy as np

from tg.backend import Op
from tg.backend import convolution as t

if TYPE_CHECKING:
    from tg.backend import Apply, TensorType, Variable

    Array = np.ndarray[Any, Any]

FIELDS: Final = ("strides", "dilations", "spread", "before", "sizes")


@final
class ChannelsBehind(Op):
    """A kernel laid out anew: windows, then channels, then groups and what comes out of each.

    Shapes:
        w (g, o, c, k...) -> y (k..., c, g, o)
    """

    def infer(self, w: TensorType) -> tuple[TensorType, ...]:
        """The lengths in another order."""
        groups, outer, channels, *kernel = w.shape
        return (w.with_shape((*kernel, channels, groups, outer)),)

    def perform(self, w: Array) -> tuple[Array, ...]:
        """A copy in memory."""
        return (np.ascontiguousarray(w.transpose(behind(w.ndim))),)


@final
class ConvolutionBehind(Op):
    """`Convolution`, of a kernel with `ChannelsBehind`.

    Shapes:
        x (n, g, c, l...), w (k..., c, g, o) -> y (n, g, o, sizes...)
    """

    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    spread: tuple[int, ...]
    before: tuple[int | None, ...]
    sizes: tuple[int | None, ...]

    @property
    def plain(self) -> t.Convolution:
        """The op of a kernel as it was."""
        return t.Convolution(*(getattr(self, name) for name in FIELDS))

    def size_operands(self, count: int) -> range:
        """As `Convolution`."""
        return range(2, count)

    def infer(self, x: TensorType, w: TensorType, *rest: Any) -> tuple[TensorType, ...]:
        """As `Convolution`."""
        *kernel, channels, groups, outer = w.shape
        return self.plain.infer(x, w.with_shape((groups, outer, channels, *kernel)), *rest)

    def perform(self, x: Array, w: Array, *rest: Array) -> tuple[Array, ...]:
        """As `Convolution`."""
        return self.plain.perform(x, w.transpose(np.argsort(behind(w.ndim))), *rest)


def behind(rank: int) -> tuple[int, ...]:
    """The order of axes of a kernel with channels behind."""
    return (*range(t.LEAD, rank), 2, 0, 1)


def with_channels_behind(node: Apply, outputs: Any) -> Variable:
    """The same convolution of a kernel that is laid out before."""
    op: Any = node.op
    x, w, *rest = node.inputs
    y: Variable = ConvolutionBehind(*(getattr(op, name) for name in FIELDS))(x, ChannelsBehind()(w), *rest)
    return y
