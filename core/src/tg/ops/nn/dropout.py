"""Dropout by a key: elements or whole channels become 0, and what is left is scaled so that the mean stays.

The mask is `jax.random.bernoulli(key, 1 - p, shape)`, bit for bit, with 1 - p in the dtype of x: in float32 for
float32 and halves, in float64 for float64. With it dropout is that of Flax and Equinox.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final, final

from tg.errors import InputError, ShapeError, message
from tg.graph.checks import Descriptor
from tg.graph.nodes import Constant
from tg.graph.op import Op
from tg.ops.assumptions import required
from tg.ops.elementwise.arithmetic import add, divide, multiply, subtract
from tg.ops.elementwise.cast import cast_variable, widened
from tg.ops.elementwise.comparison import equal, less, where
from tg.ops.family import Family
from tg.ops.nn.windows import LAYOUTS
from tg.ops.random.continuous import unit
from tg.ops.random.parameters import packed_key
from tg.ops.statistics import as_floating
from tg.types.dtypes import numpy_dtype
from tg.variables.conversion import as_variable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.graph.nodes import Variable
    from tg.types.choices import ImageLayout, SequenceLayout, VolumeLayout
    from tg.types.lengths import Length
    from tg.types.tensor_type import TensorType
    from tg.variables.like import KeyLike, TensorLike

SATURATION: Final = -1.7580993408473766  # of SELU for -inf: - scale alpha
KEY_HINT: Final = "tg.random.key(0) makes a key; tg.random.fold_in(key, step) one for each step"


@final
class DropoutMask(Op):
    """The operand: a mask of what dropout leaves, said for those who must not draw one; importing removes it.

    Shapes:
        x (...) -> y (...)
    """

    only_derives = True  # it stays in graphs that ops hold
    has_expansion = True
    of_training = "a mask of dropout"

    @property
    def named_identity(self) -> str | None:
        """No name: only an identity."""
        return ""

    def infer(self, x: TensorType) -> tuple[TensorType, ...]:
        """The operand's type."""
        return (x,)

    def expansion(self, *inputs: Variable) -> Variable:
        """The operand."""
        return inputs[0]


def dropout(x: TensorLike, p: TensorLike = 0.5, key: KeyLike | None = None, training: bool = True) -> Variable:
    """Elements become 0 with probability p, and all others are multiplied by 1 / (1 - p); x itself without `training`.

    Args:
        p: a number in [0, 1], or a scalar.
        key: decides which elements; none is needed without `training`.
    Dtypes:
        that of x, float64 for integers. Of halves all is computed in float32, and rounded once.
    Raises:
        DtypeError: a key of another dtype than uint32, or a complex p.
        InputError: there is no key; p is a number outside of [0, 1].
        ShapeError: p is no scalar.
    Source:
        torch.nn.functional.dropout, the draws of flax.linen.Dropout.
    Example:
        >>> import tg
        >>> tg.nn.dropout([1.0, 2.0, 3.0, 4.0], 0.5, tg.random.key(0)).eval().tolist()
        [2.0, 4.0, 0.0, 0.0]
    """
    x = as_floating(x)
    if is_needed("dropout", p, key, training=training):
        return dropped("dropout", x, p, key, x.shape)
    return undropped("dropout", x, key, training=training)


def dropped(what: str, x: Variable, p: Any, key: Any, shape: Sequence[int | Length]) -> Variable:
    """x, of which what a mask of a shape leaves out is 0."""
    wide = widened(x)
    keep = _kept_share(what, p, wide.type.dtype)
    kind = numpy_dtype(wide.type.dtype).type
    if isinstance(keep, Constant):
        scale: Variable = Constant(kind(1) / keep.data if keep.data else keep.data)
    else:
        scale = divide(kind(1), keep)
    y = where(_mask(what, key, keep, shape), multiply(wide, scale), kind(0))
    return cast_variable(y, x.type.dtype)


def is_needed(what: str, p: Any, key: Any, *, training: Any) -> bool:
    """Whether anything is drawn.

    Raises:
        InputError: it is and there is no key, or whether one trains is no bool.
    """
    if not isinstance(training, bool):
        hint = "a program for training and one for the rest are two functions"
        raise InputError(message(f"{what}: training: found {training!r}, needed True or False", hint=hint))
    is_number = isinstance(p, int | float)
    if is_number and not 0 <= p <= 1:
        raise InputError(message(f"{what}: p: found {p!r}, needed a probability in [0, 1]"))
    if not training or (is_number and p == 0):
        return False
    if key is None:
        raise InputError(message(f"{what}: key: found None, needed a key to draw by", hint=KEY_HINT))
    return True


def undropped(what: str, x: Variable, key: Any, *, training: Any) -> Variable:
    """x as it is; while training its key counts as used, so that a program whose p is 0 has the same inputs."""
    if not training or key is None:
        return x
    packed = packed_key(what, key)
    return required(x, equal(packed, packed), [], Descriptor("AssertionFailed", what))  # rewriting finds it true


def _kept_share(what: str, p: Any, dtype: str) -> Variable:
    """1 - p in a dtype; of a number it is computed in float64 and rounded once."""
    if isinstance(p, int | float):
        return Constant(numpy_dtype(dtype).type(1.0 - p))
    share = as_variable(p)
    if share.type.ndim:
        raise ShapeError(message(f"{what}: p: found {share.type}, needed a scalar"))
    return cast_variable(subtract(numpy_dtype(dtype).type(1), as_floating(share)), dtype)


def _mask(what: str, key: Any, keep: Variable, shape: Sequence[int | Length]) -> Variable:
    mask = less(unit(packed_key(what, key), tuple(shape), keep.type.dtype), keep)
    return DropoutMask()(mask)  # type: ignore[no-any-return]


def _of_channels(what: str, axes: int, x: Any, p: Any, key: Any, training: Any, layout: str | None) -> Variable:
    """Dropout of whole channels: the mask has 1 in place of the lengths of an image."""
    x, layouts = as_floating(x), LAYOUTS[axes]
    chosen = layouts[0] if layout is None else layout
    if chosen not in layouts:
        raise InputError(message(f"{what}: layout: found {layout!r}, needed {' or '.join(map(repr, layouts))}"))
    if x.type.ndim not in (axes + 1, axes + 2):
        raise ShapeError(message(f"{what}: x: found {x.type}, needed {axes + 2} axes, or {axes + 1} of one image"))
    place = -1 if chosen.endswith("C") else -axes - 1
    batch = 0 if x.type.ndim == axes + 2 else None
    stays = {place + x.type.ndim, batch}
    shape = [n if k in stays else 1 for k, n in enumerate(x.shape)]
    if is_needed(what, p, key, training=training):
        return dropped(what, x, p, key, shape)
    return undropped(what, x, key, training=training)


def dropout1d(
    x: TensorLike,
    p: TensorLike = 0.5,
    key: KeyLike | None = None,
    training: bool = True,
    *,
    layout: SequenceLayout | None = None,
) -> Variable:
    """Channels become 0 with probability p, all of one at once, and the others are multiplied by 1 / (1 - p).

    Args:
        p, key, training: as in `dropout`.
        layout: "NCW", or "NWC" for channels on the last axis.
    Shapes:
        x (n, c, w), or (c, w) -> the same
    Raises:
        DtypeError, InputError: as `dropout`; another layout.
        ShapeError: x has neither three axes nor two.
    Source:
        torch.nn.functional.dropout1d
    """
    return _of_channels("dropout1d", 1, x, p, key, training, layout)


def dropout2d(
    x: TensorLike,
    p: TensorLike = 0.5,
    key: KeyLike | None = None,
    training: bool = True,
    *,
    layout: ImageLayout | None = None,
) -> Variable:
    """Channels become 0 with probability p, all of one at once, and the others are multiplied by 1 / (1 - p).

    Args:
        p, key, training: as in `dropout`.
        layout: "NCHW", or "NHWC" for channels on the last axis.
    Shapes:
        x (n, c, h, w), or (c, h, w) -> the same
    Raises:
        DtypeError, InputError: as `dropout`; another layout.
        ShapeError: x has neither four axes nor three.
    Source:
        torch.nn.functional.dropout2d, which, with a warning, takes three axes for (n, c, w).
    """
    return _of_channels("dropout2d", 2, x, p, key, training, layout)


def dropout3d(
    x: TensorLike,
    p: TensorLike = 0.5,
    key: KeyLike | None = None,
    training: bool = True,
    *,
    layout: VolumeLayout | None = None,
) -> Variable:
    """Channels become 0 with probability p, all of one at once, and the others are multiplied by 1 / (1 - p).

    Args:
        p, key, training: as in `dropout`.
        layout: "NCDHW", or "NDHWC" for channels on the last axis.
    Shapes:
        x (n, c, d, h, w), or (c, d, h, w) -> the same
    Raises:
        DtypeError, InputError: as `dropout`; another layout.
        ShapeError: x has neither five axes nor four.
    Source:
        torch.nn.functional.dropout3d
    """
    return _of_channels("dropout3d", 3, x, p, key, training, layout)


def alpha_dropout(x: TensorLike, p: float = 0.5, key: KeyLike | None = None, training: bool = True) -> Variable:
    """Elements become SELU(-inf) with probability p, then all are moved so that a mean of 0 and variance of 1 stay.

    Args:
        p: a number in [0, 1].
        key, training: as in `dropout`.
    Dtypes:
        that of x, float64 for integers. Of halves all is computed in float32, and rounded once.
    Raises:
        DtypeError, InputError: as `dropout`.
    Source:
        torch.nn.functional.alpha_dropout; Klambauer et al., Self-Normalizing Neural Networks, 2017, section 3.
    """
    x = as_floating(x)
    if not isinstance(p, int | float):
        raise InputError(message(f"alpha_dropout: p: found {p!r}, needed a number"))
    if not is_needed("alpha_dropout", p, key, training=training):
        return undropped("alpha_dropout", x, key, training=training)
    wide = widened(x)
    kind = numpy_dtype(wide.type.dtype).type
    mask = _mask("alpha_dropout", key, _kept_share("alpha_dropout", p, wide.type.dtype), x.shape)
    scale = 1 / math.sqrt((1 - p) * (1 + p * SATURATION**2)) if p < 1 else 0.0
    shift = -scale * SATURATION * p
    y = where(mask, add(multiply(wide, kind(scale)), kind(shift)), kind(scale * SATURATION + shift))
    return cast_variable(y, x.type.dtype)


FAMILY = Family(
    "nn/dropout",
    ops=(DropoutMask,),
    functions=(dropout, dropout1d, dropout2d, dropout3d, alpha_dropout),
    module="nn",
)
