"""Operands of functions of networks: common dtypes, channels, and parameters that stand along axes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tg.errors import DtypeError, InputError, ShapeError, message
from tg.graph.checks import Descriptor
from tg.graph.nodes import Constant, as_size_variable
from tg.ops.assumptions import required
from tg.ops.elementwise.arithmetic import maximum, minimum, remainder
from tg.ops.elementwise.cast import cast_variable, widened
from tg.ops.elementwise.comparison import (
    equal,
    greater_equal,
    less,
    less_equal,
    logical_and,
    logical_or,
    not_equal,
    where,
)
from tg.ops.nn.windows import LAYOUTS
from tg.ops.reduction import Reduce
from tg.ops.shape import axis_length, expand_dims_at, specify_shape
from tg.types.dtypes import is_complex, is_inexact, is_integer
from tg.variables.conversion import as_variable, promoted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.graph.nodes import Variable
    from tg.types.lengths import Length

CHANNELS: Final = {name: axis for pair in LAYOUTS.values() for name, axis in zip(pair, (1, -1), strict=True)}


def wide(what: str, *operands: Any) -> tuple[list[Variable], str]:
    """Operands in the dtype in which a function computes, float32 for halves, and the dtype of its result.

    Dtypes:
        the floating dtype that all promote to; float64 if none is floating.
    Raises:
        DtypeError: an operand is complex.
    """
    variables, dtype = promoted(operands)
    if is_complex(dtype):
        raise DtypeError(message(f"{what}: found {dtype}, needed a real dtype"))
    dtype = dtype if is_inexact(dtype) else "float64"
    return [widened(cast_variable(v, dtype)) for v in variables], dtype


def wide_if_any(what: str, x: Any, *others: Any) -> tuple[Variable, list[Variable | None], str]:
    """As `wide`, where all but the first may be None and stay so."""
    (x, *rest), dtype = wide(what, x, *(v for v in others if v is not None))
    left = iter(rest)
    return x, [None if v is None else next(left) for v in others], dtype


def channel_axis(what: str, x: Variable, layout: str) -> int:
    """The axis of channels in a layout, counted from the end.

    Raises:
        InputError: no such layout.
        ShapeError: x lacks the axis of samples or that of channels.
    """
    if layout not in CHANNELS:
        raise InputError(message(f"{what}: layout: found {layout!r}, needed one of {', '.join(CHANNELS)}"))
    if x.type.ndim < 2:
        raise ShapeError(message(f"{what}: found {x.type}, needed at least 2 axes, of samples and channels"))
    return CHANNELS[layout] - (x.type.ndim if CHANNELS[layout] > 0 else 0)


def along_axes(what: str, parameter: Variable, x: Variable, axes: Sequence[int]) -> Variable:
    """A parameter with an axis for each of some axes of x, so that it broadcasts with x.

    Args:
        what: the function and the parameter, for errors.
        axes: counted from the end, ascending.
    Raises:
        ShapeError: the parameter has another rank, or another length than x along an axis.
    """
    lengths = [x.shape[k] for k in axes]
    if parameter.type.ndim != len(axes):
        text = (
            f"{what}: found {parameter.type}, needed {len(axes)} axes, of the lengths of {x.type} along {tuple(axes)}"
        )
        raise ShapeError(message(text))
    fitting = specify_shape(parameter, lengths, what)
    return expand_dims_at(fitting, tuple(k for k in range(axes[0], 0) if k not in axes))


def multiple_of(what: str, x: Variable, axis: int, count: int) -> Variable:
    """x, of which it is made sure that the length of an axis is a multiple of a number.

    Raises:
        ShapeError: it is not; a check where the length is known at run time only.
    """
    n = x.type.shape[axis]
    kind = "an even one" if count == 2 else f"a multiple of {count}"
    if n is not None:
        if n % count:
            raise ShapeError(message(f"{what}: axis {axis}: found a length of {n}, needed {kind}"))
        return x
    length = axis_length(x, axis)
    failure = Descriptor("ShapeError", f"{what}: axis {axis}: found a length of {{0}}, needed {kind}")
    return required(x, equal(remainder(length, count), 0), [length], failure)


def need_lengths(what: str, lengths: Any, shape: Sequence[int | Length], n: int | Length) -> Variable:
    """The number of entries that count on an axis of n, int64 of a shape, made sure to lie in [0, n].

    Raises:
        DtypeError: lengths are no integers.
        DomainError: one lies outside; a check, also where they are known now.
        ShapeError: they have another shape.
    """
    v = as_variable(lengths)
    if not is_integer(v.type.dtype):
        hint = "tg.sum(mask, axis) counts what is true" if v.type.dtype == "bool" else None
        raise DtypeError(message(f"{what}: found {v.type}, needed integers", hint=hint))
    v = specify_shape(cast_variable(v, "int64"), list(shape), what)
    (low, high), limit = _extremes(v), as_size_variable(n)
    fine = logical_and(greater_equal(low, 0), less_equal(high, limit))
    fine = logical_or(fine, equal(as_size_variable(v.size), 0))
    failure = Descriptor("DomainError", f"{what}: found {{0}}, needed lengths in [0, {{1}}]")
    return required(v, fine, [where(less(low, 0), low, high), limit], failure)


def _extremes(v: Variable) -> tuple[Variable, Variable]:
    """The least and the largest element; numbers that mean nothing where there are none."""
    every = tuple(range(-v.type.ndim, 0))
    low, high = (Reduce(fn, every, total=True)(v) if every else v for fn in (minimum, maximum))
    return low, high


def need_labels(what: str, labels: Variable, n: int | Length, ignore_index: int | None = None) -> Variable:
    """Labels, of which it is made sure that those that count lie in [0, n); the others are 0.

    Raises:
        BoundsError: one does not; a check where labels are known at run time only.
    """
    refuse_labels(what, labels, n, ignore_index)
    labels = labels if ignore_index is None else where(not_equal(labels, ignore_index), labels, 0)
    (low, high), count = _extremes(labels), as_size_variable(n)
    fine = logical_and(greater_equal(low, 0), less(high, count))
    fine = logical_or(fine, equal(as_size_variable(labels.size), 0))
    return required(labels, fine, [where(less(low, 0), low, high), count], _no_class(what, ignore_index))


def refuse_labels(what: str, labels: Variable, n: int | Length, ignore_index: int | None = None) -> None:
    """Refuse labels that are known now if one that counts does not lie in [0, n).

    Raises:
        BoundsError: one does not.
    """
    if not (isinstance(labels, Constant) and isinstance(n, int)):
        return
    outside = labels.data[(labels.data < 0) | (labels.data >= n)]
    for label in outside.flat:
        if ignore_index is None or label != ignore_index:
            raise _no_class(what, ignore_index).build([int(label), n])


def _no_class(what: str, ignore_index: int | None) -> Descriptor:
    hint = None if ignore_index is None else f"samples with the label ignore_index={ignore_index} do not count"
    return Descriptor("BoundsError", f"{what}: labels: found {{0}}, needed one in [0, {{1}})", hint)
