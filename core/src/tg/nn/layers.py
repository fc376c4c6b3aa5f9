"""Layers: `Dense`, `Conv`, `Embedding`, `Dropout`, and norms. Weights have PyTorch's names, shapes and first values."""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tg.errors import InputError, OptionError, message
from tg.functions.updating import with_updates
from tg.nn.module import Module, parameter
from tg.ops.contraction import matmul
from tg.ops.nn import normalization
from tg.ops.nn.convolution import conv1d, conv2d, conv3d
from tg.ops.nn.dropout import dropout
from tg.ops.nn.encodings import embedding, row_of
from tg.ops.nn.initializers import normal, ones, zeros
from tg.ops.random.continuous import uniform
from tg.variables.structure import short

if TYPE_CHECKING:
    from tg.graph.nodes import Variable
    from tg.types.choices import ImageLayout, Layout


NEEDS_KEY: Final = "model(x, training=True, key=…): of an integer input k, tg.random.fold_in(tg.random.key(0), k)"


class Dense(Module):
    """x @ weight.T + bias.

    Args:
        inner, outer: how many numbers go in and come out.
    Shapes:
        x (..., inner), weight (outer, inner), bias (outer) -> y (..., outer)
    Raises:
        InputError: a size is no positive integer.
    Source:
        torch.nn.Linear, whose first values are uniform within 1 / sqrt(inner).
    Example:
        >>> import tg
        >>> layer = tg.nn.randomized(tg.nn.Dense(3, 2), tg.random.key(0))
        >>> layer(tg.matrix("x", "float32")).type
        float32[?, 2]
    """

    def __init__(self, inner: int, outer: int, *, bias: bool = True) -> None:
        sizes("Dense", inner=inner, outer=outer)
        self.weight = parameter((outer, inner), within(inner))
        self.bias = parameter((outer,), within(inner)) if bias else None

    def __call__(self, x: Any) -> Variable:
        y = matmul(x, self.weight.T)
        return y if self.bias is None else y + self.bias


class Conv(Module):
    """A convolution, or more exactly a correlation, over one to three axes.

    Args:
        inner, outer: channels.
        window: lengths of the kernel; one number is a square of two axes.
        stride, padding, dilation, groups, layout: as `tg.nn.conv2d` has them.
    Shapes:
        x (n, inner, ...), weight (outer, inner / groups, *window), bias (outer) -> y (n, outer, ...)
    Raises:
        InputError: a size is no positive integer; the window has other than one to three axes.
    Source:
        torch.nn.Conv1d, Conv2d, Conv3d, whose first values are uniform within 1 / sqrt(numbers a result is a sum of).
    Example:
        >>> import tg
        >>> layer = tg.nn.randomized(tg.nn.Conv(3, 8, 3, stride=2, padding=1), tg.random.key(0))
        >>> layer(tg.tensor("x", "float32", (None, 3, 32, 32))).type
        float32[?, 8, 16, 16]
    """

    def __init__(
        self,
        inner: int,
        outer: int,
        window: int | tuple[int, ...],
        *,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        bias: bool = True,
        layout: Layout = "NCHW",
    ) -> None:
        lengths = (window, window) if isinstance(window, int) else tuple(window)
        sizes("Conv", inner=inner, outer=outer, groups=groups, **{f"window[{k}]": n for k, n in enumerate(lengths)})
        if len(lengths) not in (1, 2, 3):
            raise InputError(message(f"Conv: window: found {window}, needed one to three lengths"))
        if inner % groups or outer % groups:
            raise InputError(message(f"Conv: found {inner} and {outer} channels in {groups} groups"))
        draw = within(inner // groups * math.prod(lengths))
        self.weight = parameter((outer, inner // groups, *lengths), draw)
        self.bias = parameter((outer,), draw) if bias else None
        self.stride, self.padding, self.dilation, self.groups = stride, padding, dilation, groups
        self.layout = layout

    def __call__(self, x: Any) -> Variable:
        convolve = (conv1d, conv2d, conv3d)[self.weight.type.ndim - 3]
        options: dict[str, Any] = {} if self.layout == "NCHW" else {"layout": self.layout}
        return convolve(x, self.weight, self.bias, self.stride, self.padding, self.dilation, self.groups, **options)


class Embedding(Module):
    """The rows of a table.

    Args:
        number: of rows.
        width: of each.
        padding_idx: the row of what pads, counted from the end if negative: it is drawn as zeros and training leaves
            it alone. None unless given.
    Shapes:
        indices (...) of integers, weight (number, width) -> y (..., width)
    Raises:
        BoundsError: there is no such row as `padding_idx`.
        InputError: a size is no positive integer.
    Source:
        torch.nn.Embedding, whose first values are standard normal.
    Example:
        >>> import tg
        >>> table = tg.nn.randomized(tg.nn.Embedding(1000, 16), tg.random.key(0))
        >>> table(tg.vector("tokens", "int64")).type
        float32[?, 16]
    """

    def __init__(self, number: int, width: int, *, padding_idx: int | None = None) -> None:
        sizes("Embedding", number=number, width=width)
        self.padding_idx = None if padding_idx is None else row_of("Embedding: padding_idx", padding_idx, number)
        self.weight = parameter((number, width), functools.partial(_rows, padding_idx=self.padding_idx))

    def __call__(self, indices: Any) -> Variable:
        return embedding(indices, self.weight, self.padding_idx)


class Dropout(Module):
    """Zeros for a part p of the numbers while training, the others divided by 1 - p.

    Args:
        p: the part, at least 0 and below 1.
    Shapes:
        x (...) -> y (...)
    Raises:
        InputError: p is outside its bounds; a call does not say whether it is training; training without a key.
    Source:
        torch.nn.Dropout; the numbers are those of `jax.random.bernoulli` for the key.
    Example:
        >>> import tg
        >>> layer, x = tg.nn.Dropout(0.5), tg.ones((4,), "float32")
        >>> layer(x, training=False).eval().tolist()
        [1.0, 1.0, 1.0, 1.0]
        >>> sorted(set(layer(x, training=True, key=tg.random.key(1)).eval().tolist()))
        [0.0, 2.0]
    """

    def __init__(self, p: float = 0.5) -> None:
        if not isinstance(p, int | float) or not 0 <= p < 1:
            raise InputError(message(f"Dropout: p: found {short(p)}, needed a number of at least 0 and below 1"))
        self.p = p

    def __call__(self, x: Any, *, training: bool | None = None, key: Any = None) -> Variable:
        if asked(self, training) and self.p and key is None:
            raise InputError(message(f"{self!r}: training without a key", hint=NEEDS_KEY))
        return dropout(x, self.p, key, asked(self, training))


class BatchNorm(Module, state=("running_mean", "running_var")):
    """Each channel less its mean, by the root of its variance; times weight, and bias added.

    While training mean and variance are those of the batch, and a function that has the result among what it computes
    also moves the running ones: running + momentum (found - running), the variance that of n - 1. Otherwise the running
    ones are taken.

    Args:
        channels: how many.
        momentum: what a batch counts in the running statistics.
        affine: whether there are weight and bias.
        layout: "NCHW": channels stand behind the first axis; "NHWC": last.
    Shapes:
        x (n, c, ...), the weights (c) -> y (n, c, ...)
    Raises:
        InputError: a call does not say whether it is training, or trains in a loop, or in `tg.vmap` with running
            statistics that are not mapped as well.
        ShapeError: while training, a channel has just one element.
    Source:
        torch.nn.BatchNorm1d, BatchNorm2d, BatchNorm3d; Ioffe and Szegedy 2015.
    Example:
        >>> import tg
        >>> norm, x = tg.nn.randomized(tg.nn.BatchNorm(2), tg.random.key(0)), tg.matrix("x", "float32")
        >>> f = tg.function([x], norm(x, training=True))
        >>> _ = f([[1.0, 2.0], [3.0, 8.0]])
        >>> norm.running_mean.get_value().tolist(), norm.running_var.get_value().round(2).tolist()
        ([0.20000000298023224, 0.5], [1.100000023841858, 2.700000047683716])
    """

    def __init__(
        self,
        channels: int,
        *,
        momentum: float = 0.1,
        eps: float = 1e-5,
        affine: bool = True,
        layout: ImageLayout = "NCHW",
    ) -> None:
        sizes("BatchNorm", channels=channels)
        if layout not in ("NCHW", "NHWC"):
            raise OptionError(message(f"BatchNorm: layout: found {layout!r}, needed 'NCHW' or 'NHWC'"))
        self.weight = parameter((channels,), ones) if affine else None
        self.bias = parameter((channels,), zeros) if affine else None
        self.running_mean = parameter((channels,), zeros)
        self.running_var = parameter((channels,), ones)
        self.momentum, self.eps, self.layout = momentum, eps, layout

    def __call__(self, x: Any, *, training: bool | None = None) -> Variable:
        axis = 1 if self.layout == "NCHW" else -1
        mean, var = self.running_mean, self.running_var
        if not asked(self, training):
            return normalization.batch_norm(x, mean, var, self.weight, self.bias, eps=self.eps, axis=axis)
        y, *moments = normalization.batch_norm_training(x, self.weight, self.bias, eps=self.eps, axis=axis)
        pairs = zip((mean, var), moments, strict=True)
        return with_updates(y, {v: v + self.momentum * (now.astype(v.type.dtype) - v) for v, now in pairs})


class LayerNorm(Module):
    """Numbers less their mean, by the root of their variance, over the last axes; times weight, and bias added.

    Args:
        shape: the lengths of these axes; one number is that of the last.
    Shapes:
        x (..., *shape), weight (*shape), bias (*shape) -> y (..., *shape)
    Raises:
        InputError: a length is no positive integer.
    Source:
        torch.nn.LayerNorm; Ba, Kiros and Hinton 2016.
    Example:
        >>> import tg
        >>> layer = tg.nn.randomized(tg.nn.LayerNorm(4), tg.random.key(0))
        >>> layer(tg.constant([[1.0, 2.0, 3.0, 4.0]], "float32")).eval().round(2)
        array([[-1.34, -0.45,  0.45,  1.34]], dtype=float32)
    """

    def __init__(self, shape: int | tuple[int, ...], *, eps: float = 1e-5, bias: bool = True) -> None:
        lengths = (shape,) if isinstance(shape, int) else tuple(shape)
        sizes("LayerNorm", **{f"shape[{k}]": n for k, n in enumerate(lengths)})
        self.weight = parameter(lengths, ones)
        self.bias = parameter(lengths, zeros) if bias else None
        self.eps = eps

    def __call__(self, x: Any) -> Variable:
        return normalization.layer_norm(x, weight=self.weight, bias=self.bias, eps=self.eps)


class GroupNorm(Module):
    """Numbers less the mean of their group of channels, by the root of its variance; times weight, and bias added.

    Args:
        groups, channels: how many; the groups are equal.
        layout: as `tg.nn.group_norm` has it.
    Shapes:
        x (n, c, ...), weight (c), bias (c) -> y (n, c, ...)
    Raises:
        InputError: a size is no positive integer, or channels are no multiple of groups.
    Source:
        torch.nn.GroupNorm; Wu and He 2018.
    Example:
        >>> import tg
        >>> layer = tg.nn.randomized(tg.nn.GroupNorm(2, 8), tg.random.key(0))
        >>> layer(tg.tensor("x", "float32", (None, 8, 4, 4))).type
        float32[?, 8, 4, 4]
    """

    def __init__(self, groups: int, channels: int, *, eps: float = 1e-5, layout: Layout = "NCHW") -> None:
        sizes("GroupNorm", groups=groups, channels=channels)
        if channels % groups:
            raise InputError(message(f"GroupNorm: found {channels} channels in {groups} groups"))
        self.weight = parameter((channels,), ones)
        self.bias = parameter((channels,), zeros)
        self.groups, self.eps, self.layout = groups, eps, layout

    def __call__(self, x: Any) -> Variable:
        return normalization.group_norm(
            x, self.groups, weight=self.weight, bias=self.bias, eps=self.eps, layout=self.layout
        )


def asked(module: Module, training: bool | None) -> bool:
    """Whether a call is training, which a layer for which that counts does not guess.

    Raises:
        InputError: the call does not say.
    """
    if not isinstance(training, bool):
        text = f"{type(module).__name__}: training: found {short(training)}, needed True or False"
        raise InputError(message(text, hint="model(x, training=True) trains, training=False predicts"))
    return training


def sizes(what: str, **numbers: int) -> None:
    """Refuse what is no positive integer.

    Raises:
        InputError: one is not.
    """
    for name, n in numbers.items():
        if not isinstance(n, int | np.integer) or isinstance(n, bool) or n < 1:
            raise InputError(message(f"{what}: {name}: found {short(n)}, needed a positive integer"))


def _rows(key: Any, shape: Any, dtype: str, *, padding_idx: int | None) -> Variable:
    """Standard normal rows, but for zeros in that of what pads."""
    drawn = normal(key, shape, dtype, stddev=1.0)
    return drawn if padding_idx is None else drawn.at[padding_idx].set(0)


def within(terms: int) -> Any:
    """A function that draws uniform numbers within 1 / sqrt(terms), PyTorch's first values of sums of so many terms."""
    return functools.partial(_uniform_within, bound=terms**-0.5)


def _uniform_within(key: Any, shape: Any, dtype: str, *, bound: float) -> Variable:
    return uniform(key, -bound, bound, shape=shape, dtype=dtype)
