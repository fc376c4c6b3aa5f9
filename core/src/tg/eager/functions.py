"""The names of a namespace: functions of the flat namespace, constants, dtypes, and functions that make arrays."""

from __future__ import annotations

import importlib
import inspect
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tg.eager.array import Array, array
from tg.eager.inspection import Information, default_dtypes, float_limits_of, integer_limits_of, is_dtype
from tg.errors import InputError, ShapeError, message
from tg.ops import catalog
from tg.types.dtypes import numpy_dtype
from tg.variables.conversion import constant, is_weak, promote

if TYPE_CHECKING:
    from collections.abc import Callable

    from tg.eager.border import Border
    from tg.eager.namespace import Namespace


def _words(*lines: str) -> frozenset[str]:
    return frozenset(word for line in lines for word in line.split())


CONSTANTS: Final = {"pi": np.pi, "e": np.e, "inf": np.inf, "nan": np.nan, "newaxis": None}
MODULES: Final = ("linalg", "fft")
OF_GRAPHS: Final = _words(
    "array assert_ associative_scan assume call cast checkpoint cond custom_jvp custom_vjp fori_loop map named",
    "recurrence reduce same_shape scan shape shard size ndim specify_shape stage until while_loop",
)
"""Functions of the flat namespace that say something of a graph, or take functions: not of arrays at once."""

CREATION: Final = _words(
    "zeros ones empty full arange linspace eye zeros_like ones_like empty_like full_like tri fftfreq rfftfreq"
)
"""Functions that take a device."""

OPERANDS: Final = {1: ("x",), 2: ("x1", "x2")}
"""Names of the operands of elementwise functions, by their number."""


def attribute(xp: Namespace, name: str) -> Any:
    """The value of a name of a namespace.

    Raises:
        AttributeError: there is none.
    """
    if name in CONSTANTS:
        return CONSTANTS[name]
    if name in xp._border.dtypes:
        return numpy_dtype(name)
    if name in MODULES:
        return _module(xp, name)
    own = OWN.get(name)
    if own is not None:
        return _bound(xp, own)
    fn = xp._functions.get(name)
    if fn is None or name in OF_GRAPHS or name in ("getitem", "setitem"):
        hint = "; it is of graphs: tg.jit compiles functions that use it" if name in OF_GRAPHS else ""
        raise AttributeError(f"{xp!r} has no attribute {name!r}{hint}", name=name, obj=None)
    return function_of(xp, name, fn)


def names(border: Border) -> list[str]:
    """All names of a namespace."""
    functions = [n for n in catalog.NAMES if n not in OF_GRAPHS]
    return sorted({*CONSTANTS, *border.dtypes, *MODULES, *OWN, *functions})


def _module(xp: Namespace, name: str) -> ModuleType:
    module = ModuleType(f"{xp.__name__}.{name}", f"The functions of `tg.{name}` for arrays of {xp!r}.")
    for short in catalog.MODULES[name]:
        setattr(module, short, function_of(xp, f"{name}.{short}", xp._functions[f"{name}.{short}"]))
    for short in importlib.import_module(f"tg.{name}").__all__:
        if not hasattr(module, short) and short in catalog.NAMES:
            setattr(module, short, function_of(xp, short, xp._functions[short]))
    return module


def _bound(xp: Namespace, own: Callable[..., Any]) -> Callable[..., Any]:
    """A function of this module for a namespace, with its signature and its text."""

    def call(*args: Any, **kwargs: Any) -> Any:
        return own(xp, *args, **kwargs)

    signature = inspect.signature(own)
    call.__signature__ = signature.replace(parameters=[*signature.parameters.values()][1:])  # type: ignore[attr-defined]
    call.__name__ = call.__qualname__ = own.__name__.removesuffix("_")
    call.__doc__ = own.__doc__
    return call


def function_of(xp: Namespace, name: str, fn: Any) -> Callable[..., Any]:
    """A function of the flat namespace, for arrays of a namespace."""
    takes_device = name.rpartition(".")[2] in CREATION
    is_elementwise = type(fn).__name__ == "ElementwiseFunction"

    def call(*args: Any, **kwargs: Any) -> Any:
        if takes_device and "device" in kwargs:
            xp._border.on(kwargs.pop("device"))
        if is_elementwise:
            return xp._elementwise(name, args, kwargs)
        return xp._call(name, args, kwargs)

    call.__name__ = call.__qualname__ = name.rpartition(".")[2]
    call.__doc__ = fn.__doc__
    call.__signature__ = _signature(fn, takes_device=takes_device)  # type: ignore[attr-defined]
    return call


def _signature(fn: Any, *, takes_device: bool) -> inspect.Signature:
    if type(fn).__name__ == "ElementwiseFunction":
        operands = OPERANDS.get(fn.arity) or ("condition", *(f"x{k}" for k in range(1, fn.arity)))
        kind = inspect.Parameter.POSITIONAL_ONLY
        return inspect.Signature([inspect.Parameter(name, kind) for name in operands])
    signature = inspect.signature(fn)
    if takes_device and "device" not in signature.parameters:
        device = inspect.Parameter("device", inspect.Parameter.KEYWORD_ONLY, default=None)
        parameters = list(signature.parameters.values())
        at = len(parameters) - (parameters[-1].kind is inspect.Parameter.VAR_KEYWORD)
        return signature.replace(parameters=[*parameters[:at], device, *parameters[at:]])
    return signature


def asarray(
    xp: Namespace, obj: Any, /, *, dtype: object = None, device: object = None, copy: bool | None = None
) -> Array:
    """An array of what may be one: numbers, nested sequences, arrays of any library.

    Args:
        copy: True: in memory of its own; None: in the same memory where it can be; False: only so.
    Dtypes:
        as it has it; of Python's numbers the default one.
    Raises:
        InputError: it is no array of numbers, or would have to be copied.
        DtypeError: the backend has no such dtype.
    """
    border = xp._border
    border.on(device)
    wanted = None if dtype is None else border.need(dtype)
    if type(obj) is Array and obj._xp is xp:
        return _copied(obj if wanted in (None, obj.dtype.name) else xp.astype(obj, wanted), obj, copy)
    if type(obj) is Array:
        obj = obj.native if border.is_native(obj.native) else obj._numpy()
    if border.is_native(obj) or hasattr(obj, "__dlpack__") or isinstance(obj, np.ndarray):
        if wanted is not None and isinstance(obj, np.ndarray) and obj.dtype.name not in border.dtypes:
            obj = obj.astype(wanted)
        source = array(border.taken(obj), xp)
        if copy is False and source._value is not obj and not border.is_numpy:
            raise InputError(message(f"asarray: {border.name} copies arrays of NumPy, found copy=False"))
        return _copied(source if wanted in (None, source.dtype.name) else xp.astype(source, wanted), source, copy)
    if copy is False:
        raise InputError(message(f"asarray: found {type(obj).__name__}, of which a copy is made, and copy=False"))
    data = constant(_plain(obj), wanted).data
    if wanted is None and data.dtype.name not in border.dtypes:
        kind = "complex floating" if data.dtype.kind == "c" else "real floating"
        data = data.astype(default_dtypes(border)[kind])
    return array(border.taken(data), xp)


def _plain(value: Any) -> Any:
    """Nested sequences with NumPy's arrays in the places of eager ones."""
    if type(value) is Array:
        return value._numpy()
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    return value


def _copied(result: Array, source: Array, copy: bool | None) -> Array:
    """The result, in memory of its own if that is asked for."""
    xp = result._xp
    if copy is False and result is not source:
        raise InputError(message("asarray: dtype: another needs a copy, found copy=False"))
    if copy and result is source:
        return array(xp._border.to_native(np.array(result._numpy())), xp)
    return result


def from_dlpack(xp: Namespace, x: Any, /, *, device: object = None, copy: bool | None = None) -> Array:
    """An array of another library's, in the same memory where both allow it.

    Raises:
        InputError: it cannot be read, or would have to be copied.
    """
    return asarray(xp, x, device=device, copy=copy)


def astype(xp: Namespace, x: Array, dtype: object, /, *, copy: bool = True, device: object = None) -> Array:
    """The elements in another dtype.

    Args:
        copy: False: the array itself where it has that dtype.
    Raises:
        DtypeError: the backend has no such dtype.
    """
    xp._border.on(device)
    name = xp._border.need(dtype)
    if x.dtype.name == name:
        return _copied(x, x, copy or None)
    return xp._call("astype", (x, name), {})  # type: ignore[no-any-return]


def isdtype(xp: Namespace, dtype: object, kind: Any) -> bool:
    """Whether a dtype is another, or of a kind, or one of several of these."""
    return is_dtype(dtype, kind)


def finfo(xp: Namespace, type: Any, /) -> Any:
    """The limits of a floating dtype, or of that of an array."""
    return float_limits_of(_dtype(type))


def iinfo(xp: Namespace, type: Any, /) -> Any:
    """The limits of an integer dtype, or of that of an array."""
    return integer_limits_of(_dtype(type))


def result_type(xp: Namespace, *arrays_and_dtypes: Any) -> np.dtype[Any]:
    """The dtype that arrays, dtypes and Python's numbers promote to.

    Raises:
        InputError: there are none, or numbers alone.
    """
    kinds: list[str | type] = [type(v) if is_weak(v) else xp._border.need(_dtype(v)) for v in arrays_and_dtypes]
    if all(isinstance(k, type) for k in kinds):
        raise InputError(message(f"result_type: found {arrays_and_dtypes!r}, needed an array or a dtype among them"))
    return numpy_dtype(promote(*kinds))


def can_cast(xp: Namespace, from_: Any, to: object, /) -> bool:
    """Whether promotion takes a dtype, or that of an array, to another."""
    return bool(np.can_cast(_dtype(from_), numpy_dtype(xp._border.need(to))))


def _dtype(value: Any) -> Any:
    return value.dtype if type(value) is Array or isinstance(value, np.ndarray | np.generic) else value


def shape_(xp: Namespace, x: Any, /) -> tuple[int, ...]:
    """The lengths of the axes of an array."""
    return asarray(xp, x).shape


def size_(xp: Namespace, x: Any, /) -> int:
    """The number of elements of an array."""
    return asarray(xp, x).size


def ndim_(xp: Namespace, x: Any, /) -> int:
    """The number of axes of an array."""
    return asarray(xp, x).ndim


def broadcast_shapes(xp: Namespace, *shapes: tuple[int, ...]) -> tuple[int, ...]:
    """The shape that shapes broadcast to.

    Raises:
        ShapeError: they do not.
    """
    try:
        return tuple(np.broadcast_shapes(*shapes))
    except ValueError:
        raise ShapeError(message(f"broadcast_shapes: found {shapes}, needed shapes that broadcast")) from None


def information(xp: Namespace) -> Information:
    """Abilities of the namespace: devices, dtypes, capabilities."""
    return Information(xp._border)


OWN: Final[dict[str, Any]] = {
    **{fn.__name__.removesuffix("_"): fn for fn in (asarray, from_dlpack, astype, isdtype, finfo, iinfo)},
    **{fn.__name__.removesuffix("_"): fn for fn in (result_type, can_cast, shape_, size_, ndim_, broadcast_shapes)},
    "array": asarray,
    "__array_namespace_info__": information,
}
