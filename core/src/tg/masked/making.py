"""Masked arrays of values, conditions and ragged batches; several joined to one."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np

from tg.errors import DtypeError, InputError, RangeError, ShapeError, message
from tg.graph.nodes import Variable, as_size_variable
from tg.graph.operators import NAMESPACE as F
from tg.masked.arrays import MaskedArray, of_numpy
from tg.types.dtypes import is_integer
from tg.types.lengths import maximum, subtract
from tg.variables.constructors import tensor as variable
from tg.variables.conversion import as_variable, axis_from_end
from tg.variables.structure import short

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.types.lengths import Length


def array(values: Any, valid: Any = None) -> MaskedArray:
    """An array with a condition for each element: whether it counts.

    Args:
        values: an array, or one of `numpy.ma`, whose mask says the opposite.
        valid: bool, of a shape that broadcasts to that of values; None for all.
    Shapes:
        values (...), valid (...)
    Raises:
        InputError: an array that has a mask is given another.
        ShapeError: the condition has more axes.
    Source:
        numpy.ma.masked_array
    Example:
        >>> import tg
        >>> tg.masked.array([1.0, 2.0, 3.0], [True, False, True]).sum().filled().eval()
        array(4.)
    """
    if isinstance(values, MaskedArray | np.ma.MaskedArray):
        if valid is not None:
            hint = "tg.masked.where(valid, x, x) masks more of x"
            raise InputError(message("masked: array: found an array that has a mask, and another", hint=hint))
        return values if isinstance(values, MaskedArray) else of_numpy(values)
    x = as_variable(values)
    if valid is None:
        return MaskedArray(x, F.ones_like(x, dtype="bool"))
    mask = F.cast(as_variable(valid), "bool")
    if mask.type.ndim > x.type.ndim:
        text = f"masked: array: found {mask.type} beside {x.type}, needed at most {x.type.ndim} axes"
        raise ShapeError(message(text))
    return MaskedArray(x, F.broadcast_to(mask, x.shape))


def tensor(name: str | None = None, dtype: object = None, shape: Any = ()) -> MaskedArray:
    """An input of values and of the condition of each; `shape` as for `tg.tensor`.

    Example:
        >>> import numpy as np, tg
        >>> x = tg.masked.tensor("x", shape=(None, None))
        >>> f = tg.function([x], x.mean(axis=1))
        >>> f(np.ma.masked_less([[1.0, -1.0], [2.0, 4.0]], 0.0)).to_numpy().tolist()
        [1.0, 3.0]
    """
    valid = None if name is None else f"{name}.valid"
    return MaskedArray(variable(name, dtype, shape), variable(valid, "bool", shape))


def masked_where(condition: Any, x: Any) -> MaskedArray:
    """x without the elements at which a condition holds, and without those whose condition is masked itself.

    Shapes:
        condition broadcasts to x (...)
    Raises:
        ShapeError: the condition has more axes than x.
    Source:
        numpy.ma.masked_where
    Example:
        >>> import tg
        >>> tg.masked.masked_where([True, False], [1.0, 2.0]).filled(9.0).eval()
        array([9., 2.])
    """
    masked, choice = array(x), array(condition)
    stays = array(masked.values, F.logical_and(choice.valid, F.logical_not(choice.values)))
    return MaskedArray(masked.values, F.logical_and(masked.valid, stays.valid))


def masked_invalid(x: Any) -> MaskedArray:
    """x without NaN and infinities.

    Source:
        numpy.ma.masked_invalid
    Example:
        >>> import numpy as np, tg
        >>> tg.masked.masked_invalid([1.0, np.nan, 3.0]).mean().filled().eval()
        array(2.)
    """
    masked = array(x)
    return masked_where(F.logical_not(F.isfinite(masked.values)), masked)


def where(condition: Any, x: Any, y: Any) -> MaskedArray:
    """Elements of x where a condition holds, of y elsewhere; each counts if it does where it comes from.

    Args:
        condition: bool; where it is masked itself, nothing counts.
    Source:
        numpy.ma.where
    Example:
        >>> import tg
        >>> x = tg.masked.array([1.0, 2.0], [True, False])
        >>> tg.masked.where([True, False], x, 5.0).filled().eval()
        array([1., 5.])
    """
    choice, a, b = array(condition), array(x), array(y)
    values = F.where(choice.filled(False), a.values, b.values)
    valid = F.where(choice.filled(False), a.valid, b.valid)
    return MaskedArray(values, F.logical_and(valid, choice.valid))


def concatenate(arrays: Sequence[Any], axis: int | None = 0) -> MaskedArray:
    """Arrays one behind another along an axis, masked or not.

    Source:
        numpy.ma.concatenate
    Example:
        >>> import tg
        >>> x = tg.masked.array([1.0, 2.0], [True, False])
        >>> tg.masked.concatenate([x, [3.0]]).compressed().eval()
        array([1., 3.])
    """
    parts = [array(x) for x in arrays]
    return MaskedArray(
        F.concatenate([p.values for p in parts], axis=axis), F.concatenate([p.valid for p in parts], axis=axis)
    )


def stack(arrays: Sequence[Any], axis: int = 0) -> MaskedArray:
    """Arrays of one shape beside one another along a new axis, masked or not.

    Source:
        numpy.ma.stack
    Example:
        >>> import tg
        >>> x = tg.masked.array([1.0, 2.0], [True, False])
        >>> tg.masked.stack([x, [3.0, 4.0]]).count(axis=1).eval()
        array([1, 2])
    """
    parts = [array(x) for x in arrays]
    return MaskedArray(F.stack([p.values for p in parts], axis), F.stack([p.valid for p in parts], axis))


def from_lengths(values: Any, lengths: Any, axis: int = 1) -> MaskedArray:
    """A padded batch: along an axis as many elements count as the length of their entry says.

    Shapes:
        values (batch, n, ...), lengths (batch)
    Raises:
        ShapeError: lengths are no vector or as many as another batch has, or the axis is the first, or none.
        DtypeError: lengths are no integers.
    Example:
        >>> import tg
        >>> x = tg.masked.from_lengths([[1.0, 2.0], [3.0, 9.0]], [2, 1])
        >>> x.sum(axis=1).filled().eval()
        array([3., 3.])
    """
    x, n = as_variable(values), as_variable(lengths)
    place = x.type.ndim + axis_from_end(axis, x.type.ndim, "masked: from_lengths")
    if n.type.ndim != 1 or not place:
        text = f"masked: from_lengths: found {n.type} for axis {axis} of {x.type}, needed a vector and an axis behind"
        raise ShapeError(message(text))
    if not is_integer(n.type.dtype):
        raise DtypeError(message(f"masked: from_lengths: lengths: found {n.type}, needed integers"))
    batch = x.shape[0]
    if isinstance(n.shape[0], int) and isinstance(batch, int) and n.shape[0] != batch:
        raise ShapeError(message(f"masked: from_lengths: found {n.shape[0]} lengths for {x.type}, needed {batch}"))
    inside = F.arange(as_size_variable(x.shape[place])) < F.specify_shape(n, (batch,))[:, None]
    before, behind = (1,) * (place - 1), (1,) * (x.type.ndim - place - 1)
    return array(x, F.reshape(inside, (batch, *before, x.shape[place], *behind)))


def from_ragged(entries: Sequence[Any], length: int | None = None, fill_value: Any = 0) -> MaskedArray:
    """A batch of arrays whose first axes have several lengths, padded to the longest.

    Of arrays of numbers it has arrays of NumPy, which a compiled function takes; of variables it is an expression.

    Args:
        entries: arrays; what is masked in one of `numpy.ma` does not count.
        length: the length that all have then, at least the longest; batches of one length compile once where a backend
            compiles for shapes.
        fill_value: the values behind the end, which do not count.
    Shapes:
        n arrays (length i, ...) -> (n, length, ...)
    Raises:
        InputError: there is no array.
        ShapeError: an entry is longer than `length`, or other axes differ.
        RangeError: the dtype of the arrays cannot hold `fill_value`.
    Example:
        >>> import numpy as np, tg
        >>> batch = tg.masked.from_ragged([np.array([1.0, 2.0]), np.array([3.0])])
        >>> batch.mean(axis=1).filled().eval()
        array([1.5, 3. ])
        >>> [row.tolist() for row in batch.to_ragged()]
        [[1.0, 2.0], [3.0]]
    """
    entries = list(entries)
    if not entries:
        raise InputError(message("masked: from_ragged: found no array, needed at least one"))
    if any(isinstance(entry, Variable) for entry in entries):
        return _of_variables([as_variable(entry) for entry in entries], length, fill_value)
    rows = [np.ma.asarray(entry) for entry in entries]
    for k, row in enumerate(rows):
        if row.ndim == 0 or row.shape[1:] != rows[0].shape[1:]:
            text = f"masked: from_ragged: entry {k}: found shape {row.shape}, needed (length, *{rows[0].shape[1:]})"
            raise ShapeError(message(text))
    longest = max(len(row) for row in rows)
    n = longest if length is None else length
    if not isinstance(n, int | np.integer) or n < longest:
        raise ShapeError(message(f"masked: from_ragged: length: found {n!r}, needed an integer of at least {longest}"))
    dtype = np.result_type(*(row.dtype for row in rows))
    values = np.full((len(rows), n, *rows[0].shape[1:]), _filling(fill_value, dtype), dtype)
    valid = np.zeros(values.shape, bool)
    for k, row in enumerate(rows):
        values[k, : len(row)], valid[k, : len(row)] = row.data, ~np.ma.getmaskarray(row)
    return MaskedArray(values, valid)


def _filling(value: Any, dtype: np.dtype[Any]) -> Any:
    """A value in a dtype.

    Raises:
        RangeError: it is another one there.
    """
    with np.errstate(invalid="ignore", over="ignore"):
        own = np.asarray(value).astype(dtype)
    if dtype.kind in "biu" and own != value:
        raise RangeError(message(f"masked: from_ragged: fill_value: found {value!r}, needed one that {dtype} can hold"))
    return value


def _of_variables(rows: list[Variable], length: int | None, fill_value: Any) -> MaskedArray:
    if any(row.type.ndim != rows[0].type.ndim or not row.type.ndim for row in rows):
        kinds = ", ".join(str(row.type) for row in rows)
        raise ShapeError(message(f"masked: from_ragged: found {short(kinds)}, needed arrays of one number of axes"))
    lengths = [row.shape[0] for row in rows]
    n = functools.reduce(maximum, lengths) if length is None else length
    padded = [F.concatenate([row, _end(row, subtract(n, row.shape[0]), fill_value)]) for row in rows]
    return from_lengths(F.stack(padded), F.stack([as_size_variable(size) for size in lengths]))


def _end(row: Variable, length: int | Length, fill_value: Any) -> Variable:
    """The entries that follow a row."""
    return F.full((length, *row.shape[1:]), fill_value, dtype=row.type.dtype)  # type: ignore[no-any-return]
