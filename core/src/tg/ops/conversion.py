"""Arrays of what is given: nested lists, arrays of other libraries, other dtypes; names of the array API standard."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tg.callers import is_direct
from tg.errors import DtypeError, InputError, ShapeError, message
from tg.graph.nodes import Variable
from tg.ops.creation import indices
from tg.ops.elementwise.cast import Cast, cast_variable
from tg.ops.family import Family
from tg.ops.shape import array
from tg.types.dtypes import WIDE, dtype_name, is_complex
from tg.variables.conversion import as_variable, constant
from tg.variables.dlpack import as_numpy
from tg.variables.kinds import need_no_device

if TYPE_CHECKING:
    from collections.abc import Callable

    from tg.variables.like import ShapeLike, TensorLike


def asarray(value: Any, dtype: object = None, *, device: None = None, copy: bool | None = None) -> Variable:
    """A variable as it is, or an array, a number or nested lists as a variable.

    Args:
        copy: True and None are the same, for variables are not written to; False refuses what has to be copied.
    Dtypes:
        that of the value, or `dtype`.
    Raises:
        InputError: the value is not numeric, or would have to be copied with `copy=False`; a device is named.
        ShapeError: the lists are ragged.
    Example:
        >>> import tg
        >>> tg.asarray([1, 2, 3], tg.float32).type
        float32[3]
    Source:
        numpy.asarray; the array API standard
    """
    need_no_device("asarray", device)
    if copy is False and not isinstance(value, Variable):
        hint = "a constant holds its own memory, so that nobody writes to it: copy=None"
        raise InputError(message("asarray: copy: found False for a value, needed a variable", hint=hint))
    return array(value, dtype)


def from_dlpack(x: TensorLike, /, *, device: None = None, copy: bool | None = None) -> Variable:
    """An array of another library, which has DLPack or NumPy's protocol, as a constant; a variable as it is.

    Raises:
        InputError: the value has neither, or has to be copied with `copy=False`; a device is named.
    Source:
        numpy.from_dlpack; the array API standard
    """
    need_no_device("from_dlpack", device)
    if isinstance(x, Variable):
        return x
    if not hasattr(x, "__dlpack__"):
        hint = "tg.asarray takes lists and numbers"
        raise InputError(message(f"from_dlpack: found {type(x).__name__}, needed an array with DLPack", hint=hint))
    if copy is False:
        raise InputError(
            message("from_dlpack: copy: found False, needed True or None: a constant holds its own memory")
        )
    return constant(as_numpy(x))


def astype(x: TensorLike, dtype: object, /, *, copy: bool = True, device: None = None) -> Variable:
    """The elements of x converted to a dtype, as by `tg.cast`.

    Args:
        copy: accepted as the standard has it; it changes nothing, for variables are not written to.
    Raises:
        DtypeError: there is no such dtype, or complex numbers would lose a part: `tg.real` takes it.
    Source:
        numpy.astype; the array API standard
    """
    need_no_device("astype", device)
    v, name = as_variable(x), dtype_name(dtype)
    if is_complex(v.type.dtype) and not is_complex(name) and name != "bool":
        hint = "tg.real(x) has the real part, tg.abs(x) the absolute value"
        raise DtypeError(message(f"astype: found {v.type.dtype}, needed real numbers for {name}", hint=hint))
    return Cast(name, "stated")(v) if name in WIDE and is_direct() else cast_variable(v, name)


def copy(x: TensorLike) -> Variable:
    """The array itself: variables are not written to.

    Source:
        numpy.copy
    """
    return as_variable(x)


def fromfunction(function: Callable[..., Any], shape: ShapeLike, *, dtype: object = "float64", **kwargs: Any) -> Any:
    """The value of a function of the position of each element, which gets an array for each axis.

    Args:
        dtype: that of the positions.
        kwargs: handed on to the function.
    Raises:
        ShapeError: the shape is no sequence of lengths.
    Example:
        >>> import tg
        >>> tg.fromfunction(lambda i, j: i + 10 * j, (2, 3)).eval()
        array([[ 0., 10., 20.],
               [ 1., 11., 21.]])
    Source:
        numpy.fromfunction
    """
    if not isinstance(shape, tuple | list):
        raise ShapeError(message(f"fromfunction: shape: found {shape!r}, needed a tuple of lengths"))
    positions = indices(shape, dtype, sparse=False) if shape else ()
    return function(*(positions[k] for k in range(len(shape))), **kwargs)


FAMILY = Family("conversion", functions=(asarray, from_dlpack, astype, copy, fromfunction))
