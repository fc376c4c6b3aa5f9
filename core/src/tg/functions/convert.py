"""Checking and converting what a function is called with: cheap where it fits, precise where it does not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tg.errors import DtypeError, InputError, RangeError, ShapeError, message
from tg.graph.nodes import Variable
from tg.types.dtypes import DTYPES, can_cast_safely, is_inexact, numpy_dtype
from tg.types.lengths import LONGEST_GIVEN
from tg.variables.conversion import NO_ARRAY, is_masked
from tg.variables.dlpack import as_numpy
from tg.variables.foreign import MASKED, array_hint, number_hint

if TYPE_CHECKING:
    from tg.types.tensor_type import TensorType

WIDE: Final = 8  # bytes: integers that float64 may round


def fits(value: Any, kind: TensorType) -> bool:
    """Whether a value is a NumPy array of exactly this type, in native byte order."""
    return (
        type(value) is np.ndarray
        and value.dtype == kind.numpy_dtype
        and len(value.shape) == len(kind.shape)
        and all(n == m or (n is None and m <= LONGEST_GIVEN) for n, m in zip(kind.shape, value.shape, strict=True))
        and (kind.dtype != "bool" or are_bools(value))
    )


def are_bools(array: np.ndarray[Any, Any]) -> bool:
    """Whether the bytes of an array of bool are 0 or 1; those that another view has written may be others."""
    return not array.size or bool(array.view(np.uint8).max() <= 1)


def to_array(value: Any, kind: TensorType, what: str) -> np.ndarray[Any, Any]:
    """The value as an array of a type: itself if it fits, else converted; a cast that could lose values is refused.

    Raises:
        InputError: not numeric.
        DtypeError: an unsafe cast.
        RangeError: a Python integer that the dtype cannot hold.
        ShapeError: another rank or length.
    """
    if fits(value, kind):
        return value  # type: ignore[no-any-return]
    array = _numeric(value, kind, what)
    if array.dtype != kind.numpy_dtype:
        source = array.dtype.name
        weak = _is_weak(value, kind)
        if source not in DTYPES or not (weak or can_cast_safely(source, kind.dtype)):
            hint = f"value.astype({kind.dtype!r}) converts on purpose"
            raise DtypeError(message(f"{what}: found dtype {source}, needed {kind.dtype}", hint=hint))
        array = _cast(array, kind, what, weak=weak)
    _check_shape(array.shape, kind, what)
    return array if kind.dtype != "bool" or are_bools(array) else np.asarray(array != 0)


def to_traced(value: Any, kind: TensorType, what: str) -> Any:
    """As `to_array`, but an array of another library stays as it is: it may have no values yet, and is cast later.

    Raises:
        InputError, RangeError, ShapeError: as `to_array`.
        DtypeError: a cast that could lose values, integers of 64 bits among them, which are not there to be looked at.
    """
    dtype, shape = getattr(value, "dtype", None), getattr(value, "shape", None)
    if isinstance(value, np.ndarray | np.generic | Variable) or dtype is None or shape is None:
        return to_array(value, kind, what)
    source = _dtype_name(dtype)
    if source != kind.dtype and not _casts_unseen(source, kind.dtype, is_weak=getattr(value, "weak_type", False)):
        hint = f"value.astype({kind.dtype!r}) converts on purpose"
        raise DtypeError(message(f"{what}: found dtype {source}, needed {kind.dtype}", hint=hint))
    _check_shape(tuple(shape), kind, what)
    return value


def to_spread(value: Any, kind: TensorType, what: str) -> Any:
    """An array on several devices, as it is: no cast is made, which would bring it together.

    Raises:
        DtypeError: another dtype.
        ShapeError: another rank or length.
    """
    source = _dtype_name(value.dtype)
    if source != kind.dtype:
        hint = f"value.astype({kind.dtype!r}) stays where it is, np.asarray(value) brings it together"
        text = f"{what}: found an array of {source} on several devices, needed {kind.dtype}"
        raise DtypeError(message(text, hint=hint))
    _check_shape(tuple(value.shape), kind, what)
    return value


def _dtype_name(dtype: Any) -> str:
    """The name of a dtype, which some libraries write behind their own."""
    return getattr(dtype, "name", str(dtype)).rpartition(".")[2]


def _casts_unseen(source: str, target: str, *, is_weak: bool) -> bool:
    """Whether a cast is safe whatever the values are, or made by a library of a Python number that takes any dtype."""
    if source not in DTYPES:
        return False
    if is_weak:
        return target != "bool" and np.can_cast(numpy_dtype(source), numpy_dtype(target), "same_kind")
    is_wide = source in ("int64", "uint64") and is_inexact(target)
    return can_cast_safely(source, target) and not is_wide


def _check_shape(shape: tuple[int, ...], kind: TensorType, what: str) -> None:
    if len(shape) != len(kind.shape):
        axes = "1 axis" if len(shape) == 1 else f"{len(shape)} axes"
        text = f"{what}: found {axes} (shape {shape}), needed {kind.ndim} ({kind})"
        hint = "value[None] adds an axis" if len(shape) < kind.ndim else "value[0] or value.reshape(…) has fewer axes"
        raise ShapeError(message(text, hint=hint))
    for k, (n, m) in enumerate(zip(kind.shape, shape, strict=True)):
        if n is not None and n != m:
            hint = "an input made with shape=(None, …) takes any length"
            raise ShapeError(message(f"{what}: axis {k} has length {m}, needed {n} ({kind})", hint=hint))
        if isinstance(m, int) and m > LONGEST_GIVEN:  # in a trace a length may be a symbol
            text = f"{what}: axis {k} has length {m}, needed at most 2**48, which is more than memory holds"
            raise ShapeError(message(text))


def _numeric(value: Any, kind: TensorType, what: str) -> np.ndarray[Any, Any]:
    if isinstance(value, Variable):
        hint = "a compiled function takes values; expressions go into tg.function"
        raise InputError(message(f"{what}: found the variable {value!r}, needed a value", hint=hint))
    if is_masked(value):
        raise InputError(message(f"{what}: found a masked array", hint=MASKED))
    try:
        array = as_numpy(value)
    except NO_ARRAY as error:
        text = f"{what}: found {_short(value)}, needed an array of {kind}"
        raise InputError(message(text, hint=array_hint(value))) from error
    if array.dtype.kind == "O" and _is_weak(value, kind):  # integers that no dtype of NumPy holds
        array = _of_large_integers(array, kind, what)
    if array.dtype.kind in "OUSMmV" and array.dtype != kind.numpy_dtype and array.dtype.name not in DTYPES:
        raise InputError(message(f"{what}: found {_short(value)}, needed an array of {kind}", hint=number_hint(value)))
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    return array


def _of_large_integers(array: np.ndarray[Any, Any], kind: TensorType, what: str) -> np.ndarray[Any, Any]:
    try:
        return array.astype(kind.numpy_dtype)
    except OverflowError:
        worst = max(array.flat, key=abs)
        raise RangeError(message(f"{what}: found {worst}, needed what {kind.dtype} can hold")) from None


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _is_weak(value: Any, kind: TensorType) -> bool:
    """Whether the value is made of Python scalars that the dtype may take: ints for all, floats for floating ones."""
    if isinstance(value, list | tuple):
        return all(_is_weak(v, kind) for v in value)
    if isinstance(value, bool):
        return True
    if isinstance(value, int) and not isinstance(value, np.generic):
        return kind.dtype != "bool"
    return isinstance(value, float) and not isinstance(value, np.generic) and is_inexact(kind.dtype)


def _cast(array: np.ndarray[Any, Any], kind: TensorType, what: str, *, weak: bool) -> np.ndarray[Any, Any]:
    if array.dtype.kind in "iu" and kind.numpy_dtype.kind in "iu" and array.size:
        limits = np.iinfo(kind.numpy_dtype)
        low, high = int(array.min()), int(array.max())
        if low < limits.min or high > limits.max:
            worst = low if low < limits.min else high
            raise RangeError(message(f"{what}: found {worst}, needed an integer in [{limits.min}, {limits.max}]"))
    with np.errstate(all="ignore"):
        result = array.astype(kind.numpy_dtype)
    if array.dtype.itemsize == WIDE and array.dtype.kind in "iu" and is_inexact(kind.dtype) and not weak:
        _need_exact(array, result, kind, what)
    return result


def _need_exact(array: np.ndarray[Any, Any], result: np.ndarray[Any, Any], kind: TensorType, what: str) -> None:
    """Refuse 64-bit integers that the floating dtype rounds; arrays of small ones have just been read anyway."""
    with np.errstate(all="ignore"):
        real = result.real
        inside = real < float(np.iinfo(array.dtype).max)  # the next float above, which no integer of the dtype is
        rounded = array[~inside | (np.where(inside, real, 0).astype(array.dtype) != array)]
    if rounded.size:
        hint = f"value.astype({kind.dtype!r}) rounds on purpose"
        raise DtypeError(
            message(f"{what}: found {rounded.flat[0]}, needed integers that {kind.dtype} holds", hint=hint)
        )
