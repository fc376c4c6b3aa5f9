"""Turning Python and NumPy values into variables, and promotion, which follows NumPy 2.

A Python scalar is weak: it takes the dtype of what it meets. Weakness never enters the graph: the scalar becomes a 0-d
constant of the promoted dtype at construction.
"""

from __future__ import annotations

import functools
import numbers
import operator
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tg.callers import is_direct, warn
from tg.configuration import current, float_dtype
from tg.errors import AxisError, DtypeError, InputError, PromotionWarning, RangeError, ShapeError, message
from tg.graph import loc as locs
from tg.graph.nodes import Constant, Variable, as_size_variable, size_value
from tg.graph.operators import NAMESPACE
from tg.types.dtypes import WIDE, dtype_name, is_complex, is_inexact, is_integer, numpy_dtype
from tg.types.lengths import Length
from tg.variables.dlpack import as_numpy
from tg.variables.foreign import MASKED, array_hint, number_hint
from tg.variables.structure import short

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

WEAK = (bool, int, float, complex)
NARROW: Final = frozenset(("float16", "bfloat16", "float32", "complex64"))
NO_ARRAY: Final = (TypeError, ValueError, RuntimeError)  # what `np.asarray` raises of values that are no arrays


def constant(value: Any, dtype: object = None, name: str | None = None) -> Constant:
    """A constant holding a copy of an array or scalar.

    Dtypes:
        as `np.asarray` gives it, or `dtype`; of Python floats that of `tg.config(dtype=…)`.
    Raises:
        InputError: the value is not an array of numbers.
        DtypeError: tg has no such dtype.
        RangeError: an integer that the dtype cannot hold.
    Example:
        >>> import tg
        >>> tg.constant([1.0, 2.0]).type
        float64[2]
    """
    if isinstance(value, Variable):
        raise InputError(message(f"constant: found the variable {value!r}, needed a value"))
    if is_masked(value):
        raise InputError(message("constant: found a masked array", hint=MASKED))
    if dtype is None and is_direct():
        dtype = number_dtype(value)
    wanted = None if dtype is None else numpy_dtype(dtype_name(dtype))
    try:
        is_array = hasattr(value, "__array__") or hasattr(value, "__dlpack__")
        source = as_numpy(value) if is_array else value  # not every library's takes `copy=`
        array = np.array(source, dtype=wanted, order="C")
    except OverflowError as error:
        raise RangeError(message(f"constant: found {value!r}, needed integers that {wanted} can hold")) from error
    except NO_ARRAY as error:
        text = f"constant: found {short(value)}, needed an array of numbers"
        raise InputError(message(text, hint=array_hint(value))) from error
    if array.dtype.kind in "OUSMm":
        holds = isinstance(value, np.ndarray) and any(isinstance(v, Variable) for v in value.flat)
        hint = "tg.array builds an array of nested lists that hold variables" if holds else number_hint(value)
        raise InputError(message(f"constant: found {short(value)}, needed numbers", hint=hint))
    dtype_name(array.dtype)
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    return Constant(array, name)


def float_name(dtype: object, unset: str = "float64") -> str:
    """The name of a dtype; of None that which the configuration says, or `unset`.

    Raises:
        DtypeError: tg has no such dtype.
    """
    return float_dtype(unset) if dtype is None else dtype_name(dtype)


def weak_dtype(kind: type) -> str:
    """The dtype of Python numbers of a type by themselves, as the configuration says."""
    if kind is float:
        return float_dtype()
    return "complex64" if kind is complex and float_dtype() != "float64" else promote(kind)


def number_dtype(value: Any) -> str | None:
    """The dtype of an array of Python floats or complex numbers, as the configuration says; None of other values."""
    if float_dtype() == "float64":
        return None
    kinds = {type(v) for v in _elements(value)}
    return weak_dtype(max(kinds, key=WEAK.index)) if kinds <= {*WEAK} and not kinds <= {bool, int} else None


def _elements(value: Any) -> Iterator[Any]:
    """The elements of nested lists and tuples."""
    if isinstance(value, list | tuple):
        for part in value:
            yield from _elements(part)
    else:
        yield value


def as_variable(value: Any, dtype: str | None = None) -> Variable:
    """The value as a variable: variables as they are, lengths as int64 scalars, everything else as a constant.

    Raises:
        InputError: the value is not numeric.
    """
    if isinstance(value, Variable):
        return value
    if type(value) is Length:
        return as_size_variable(value)
    if isinstance(value, list | tuple) and holds_variable(value):
        return NAMESPACE.array(value, dtype)  # type: ignore[no-any-return]
    return constant(value, dtype)


def is_masked(value: Any) -> bool:
    """Whether a value is a masked array: only a subclass of arrays makes NumPy import their module, in 20 ms."""
    return isinstance(value, np.ndarray) and type(value) is not np.ndarray and isinstance(value, np.ma.MaskedArray)


def holds_variable(value: Any) -> bool:
    """Whether a value is, or nested lists hold, a variable or a symbolic length."""
    if isinstance(value, Variable | Length):
        return True
    return isinstance(value, list | tuple) and any(map(holds_variable, value))


def is_weak(value: object) -> bool:
    """Whether a value is a Python scalar or a length, which take the dtype of what they meet."""
    return type(value) in WEAK or type(value) is Length


def weak_kind(value: object) -> type | None:
    """bool, int, float or complex for a weak value, None for any other."""
    if type(value) is Length:
        return int
    return type(value) if type(value) in WEAK else None


def weak_constant(value: Any, dtype: str) -> Constant:
    """The 0-d constant of a Python scalar in the dtype that was promoted to.

    Raises:
        RangeError: an integer the dtype cannot hold.
    """
    if type(value) is complex:
        return _weak_constant("complex", (value.real.hex(), value.imag.hex()), dtype)
    return _weak_constant(type(value).__name__, value.hex() if type(value) is float else value, dtype)


@functools.lru_cache(maxsize=1024)
def _weak_constant(kind: str, bits: Any, dtype: str) -> Constant:
    """The constant of a scalar given by its type's name and its exact bits: -0.0 and 0.0 are two constants."""
    value: Any = bits
    if kind == "float":
        value = float.fromhex(bits)
    elif kind == "complex":
        value = complex(*map(float.fromhex, bits))
    if kind == "int" and is_integer(dtype):
        limits = np.iinfo(dtype)
        if not limits.min <= value <= limits.max:
            text = f"constant: found {value}, needed an integer in [{limits.min}, {limits.max}] for {dtype}"
            wide = np.promote_types(dtype, np.min_scalar_type(value))
            hint = f"x.astype({wide.name!r}) has room for it" if wide.kind in "iu" else None
            raise RangeError(message(text, hint=hint))
    with np.errstate(all="ignore"):
        return Constant(np.array(value).astype(numpy_dtype(dtype)) if kind != "int" else _integer(value, dtype))


def _integer(value: int, dtype: str) -> np.ndarray[Any, Any]:
    if dtype == "bfloat16":
        return np.array(float(value)).astype(numpy_dtype(dtype))
    return np.array(value, dtype=numpy_dtype(dtype))


@functools.cache
def promote(*kinds: str | type) -> str:
    """The dtype that dtypes (names) and weak Python types promote to, asked of NumPy."""
    strong = [k for k in kinds if isinstance(k, str)]
    weak = [k for k in kinds if not isinstance(k, str)]
    if not strong:
        return {bool: "bool", int: "int64", float: "float64", complex: "complex128"}[max(weak, key=WEAK.index)]
    result = functools.reduce(_promote_two, strong)
    for kind in weak:
        result = _promote_weak(result, kind)
    return result


def _promote_two(a: str, b: str) -> str:
    if "bfloat16" in (a, b) and a != b:
        return _promote_bfloat16(a if b == "bfloat16" else b)
    return np.promote_types(numpy_dtype(a), numpy_dtype(b)).name


def _promote_bfloat16(other: str) -> str:
    """bfloat16 with another dtype: small integers stay, others go to the float that holds both."""
    if other in ("bool", "int8", "uint8"):
        return "bfloat16"
    if other in ("float16", "int16", "uint16", "float32"):
        return "float32"
    return other if is_complex(other) else "float64"


def _promote_weak(dtype: str, kind: type) -> str:
    if kind is complex:
        return (
            dtype if is_complex(dtype) else "complex64" if dtype in ("float16", "bfloat16", "float32") else "complex128"
        )
    if kind is float:
        return dtype if is_inexact(dtype) else "float64"
    if kind is int:
        return dtype if dtype != "bool" else "int64"
    return dtype


def promoted(values: Sequence[Any]) -> tuple[list[Variable], str]:
    """The values as variables of their common dtype, without casting the variables, and that dtype."""
    operands = [v if is_weak(v) else as_variable(v) for v in values]
    strong = [v.type.dtype for v in operands if isinstance(v, Variable)]
    weak = [kind for kind in map(weak_kind, operands) if kind is not None]
    dtype = promote(*strong, *weak) if strong else weak_dtype(max(weak, key=WEAK.index))
    note_promotions("promotion", operands, [dtype] * len(operands))
    return [weak_variable(v, dtype) if is_weak(v) else v for v in operands], dtype


def note_promotions(what: str, values: Sequence[Any], dtypes: Sequence[str]) -> None:
    """Say that an op of a user's line takes an operand of less than 64 bits to float64, as the configuration asks.

    Args:
        values: variables and Python numbers.
        dtypes: those that they are cast to.
    Raises:
        DtypeError: there is such an operand, and the configuration is strict.
    """
    pairs = [(v.type.dtype, t) for v, t in zip(values, dtypes, strict=True) if t in WIDE and isinstance(v, Variable)]
    narrow = next((pair for pair in pairs if pair[0] in NARROW), None)
    if narrow is None or locs.is_muted():
        return
    policy, (least, most) = current().promotion, narrow
    if policy == "numpy":
        return
    shown = " and ".join(dict.fromkeys(dtype for dtype, _ in pairs))
    hint = f"x.astype({least!r}) or x.astype({most!r}) converts on purpose"
    text = message(f"{what}: found {shown}, which promote to {most}, needed one dtype", hint=hint)
    if policy == "strict":
        raise DtypeError(text)
    warn(text, PromotionWarning)


def weak_variable(value: Any, dtype: str) -> Variable:
    """A weak value as a variable of a dtype."""
    if type(value) is Length:
        return NAMESPACE.cast(as_size_variable(value), dtype)  # type: ignore[no-any-return]
    return weak_constant(value, dtype)


def known_integer(value: Any) -> Any:
    """The int that an integer scalar is, a variable of constants among them; any other value as it is."""
    if isinstance(value, Variable) and value.type.ndim == 0 and is_integer(value.type.dtype):
        number = size_value(value)
        return number if isinstance(number, int) else value
    return plain_integer(value)


def plain_integer(value: Any) -> Any:
    """The int that a value is by `__index__`; variables, lengths, truth values and all others as they are."""
    if isinstance(value, bool | Variable | Length) or not hasattr(value, "__index__"):
        return value
    try:
        return operator.index(value)
    except TypeError:  # an array of several, or of no integers
        return value


def weakly_cast(value: Any, dtype: str) -> Variable:
    """A value in a dtype, cast as NumPy casts it; a Python integer has to fit.

    Raises:
        RangeError: it does not.
    """
    if type(value) is int:
        return weak_variable(value, dtype)
    return NAMESPACE.cast(as_variable(value), dtype)  # type: ignore[no-any-return]


def axis_from_end(axis: Any, ndim: int, what: str, where: str = "the array") -> int:
    """An axis as tg stores it: negative, counted from the end.

    Raises:
        InputError: the axis is not an integer.
        AxisError: the array has no such axis.
    """
    axis = known_integer(axis)
    if isinstance(axis, bool) or not isinstance(axis, numbers.Integral):
        raise InputError(message(f"{what}: axis: found {axis!r}, needed an integer"))
    k = int(axis)
    if not -ndim <= k < ndim:
        hint = f"axes are 0 to {ndim - 1}, or -1 to {-ndim} from the end" if ndim else "a scalar has no axes"
        raise AxisError(message(f"{what}: axis {k} is out of range: {where} has {ndim} axes", hint=hint), k, ndim)
    return k if k < 0 else k - ndim


def axes_from_end(axis: Any, ndim: int, what: str, where: str = "the array") -> tuple[int, ...]:
    """Axes given as None (all), one integer or several, as tg stores them: negative, ascending, without repeats."""
    if axis is None:
        return tuple(range(-ndim, 0))
    entries = axis if isinstance(axis, tuple | list) else (axis,)
    axes = [axis_from_end(a, ndim, what, where) for a in entries]
    if len(set(axes)) != len(axes):
        raise ShapeError(message(f"{what}: axis {axis} repeats an axis"))
    return tuple(sorted(axes))


def need_axes(what: str, axes: Sequence[int], ndim: int, where: str = "the array") -> None:
    """Refuse axes in a field of an op that are not those of its operand: counted from the end, each at most once.

    Raises:
        ShapeError: there is no such axis, it is counted from the front, or it is there twice.
    """
    for k in axes:
        if k < -ndim:
            raise AxisError(message(f"{what}: axis {k} is out of range: {where} has {ndim} axes"), k, ndim)
        if k >= 0:
            raise ShapeError(message(f"{what}: axis {k}: found one from the front, needed one counted from the end"))
    if len(set(axes)) != len(axes):
        raise ShapeError(message(f"{what}: axes {tuple(axes)} repeat an axis"))
