"""Functions of dtypes, under the names that NumPy and the array API standard have for them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tg.errors import DtypeError, InputError, message
from tg.graph.nodes import Variable
from tg.types.dtypes import BOOL, COMPLEX, DTYPES, FLOATS, INTEGERS, SIGNED, UNSIGNED, dtype_name, numpy_dtype
from tg.types.dtypes import is_complex as holds_complex
from tg.variables.conversion import WEAK, as_variable, is_weak, promote, weak_dtype, weak_kind

if TYPE_CHECKING:
    from tg.types.choices import Casting

KINDS: Final = {
    "bool": (BOOL,),
    "signed integer": SIGNED,
    "unsigned integer": UNSIGNED,
    "integral": INTEGERS,
    "real floating": FLOATS,
    "complex floating": COMPLEX,
    "numeric": (*INTEGERS, *FLOATS, *COMPLEX),
}


def _dtype_of(value: Any) -> str:
    """The dtype that a value has, or is."""
    if isinstance(value, Variable):
        return value.type.dtype
    if isinstance(value, str | np.dtype | type):
        return dtype_name(value)
    return as_variable(value).type.dtype


def isdtype(dtype: Any, kind: Any) -> bool:
    """Whether a dtype is another, or of a kind, or of one of several.

    Args:
        kind: a dtype, one of "bool", "signed integer", "unsigned integer", "integral", "real floating",
            "complex floating" and "numeric", or a tuple of such.
    Raises:
        DtypeError: there is no such dtype or kind.
    Example:
        >>> import tg
        >>> tg.isdtype(tg.float32, ("integral", "real floating"))
        True
    Source:
        numpy.isdtype; the array API standard
    """
    name = dtype_name(dtype)
    kinds = kind if isinstance(kind, tuple) else (kind,)
    return any(name in _members(one) for one in kinds)


def _members(kind: Any) -> tuple[str, ...]:
    if isinstance(kind, str) and kind in KINDS:
        return KINDS[kind]
    try:
        return (dtype_name(kind),)
    except DtypeError as error:
        kinds = ", ".join(map(repr, KINDS))
        raise DtypeError(message(f"isdtype: kind: found {kind!r}, needed a dtype, or one of {kinds}")) from error


def result_type(*arrays_and_dtypes: Any) -> str:
    """The dtype that arrays, dtypes and Python numbers promote to; a Python number takes that of what it meets.

    Raises:
        InputError: there is nothing to promote.
    Example:
        >>> import tg
        >>> tg.result_type(tg.vector("x", tg.float32), 1.0, tg.int8)
        'float32'
    Source:
        numpy.result_type; the array API standard
    """
    if not arrays_and_dtypes:
        raise InputError(message("result_type: found nothing, needed arrays or dtypes"))
    kinds = [weak_kind(v) or _dtype_of(v) for v in arrays_and_dtypes]
    weak = [kind for kind in kinds if isinstance(kind, type)]
    return weak_dtype(max(weak, key=WEAK.index)) if len(weak) == len(kinds) else promote(*kinds)


def promote_types(type1: Any, type2: Any) -> str:
    """The dtype that two dtypes promote to.

    Source:
        numpy.promote_types
    """
    return promote(dtype_name(type1), dtype_name(type2))


def can_cast(from_: Any, to: Any, casting: Casting = "safe") -> bool:
    """Whether a dtype, or that of an array, can be cast to another as `casting` allows it: by default without loss.

    Args:
        casting: "no", "equiv", "safe", "same_kind" or "unsafe".
    Raises:
        InputError: another rule, or a Python number in place of an array.
    Example:
        >>> import tg
        >>> tg.can_cast(tg.int16, tg.float32), tg.can_cast(tg.int32, tg.float32)
        (True, False)
    Source:
        numpy.can_cast; the array API standard
    """
    rules = ("no", "equiv", "safe", "same_kind", "unsafe")
    if casting not in rules:
        raise InputError(message(f"can_cast: casting: found {casting!r}, needed one of {', '.join(rules)}"))
    if is_weak(from_):
        raise InputError(message(f"can_cast: found {from_!r}, needed a dtype or an array"))
    return bool(np.can_cast(numpy_dtype(_dtype_of(from_)), numpy_dtype(dtype_name(to)), casting=casting))


@dataclass(frozen=True, slots=True)
class FloatInfo:
    """Limits of a floating dtype: those of the parts for a complex one."""

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    tiny: float
    smallest_subnormal: float
    resolution: float
    precision: int
    dtype: str


@dataclass(frozen=True, slots=True)
class IntegerInfo:
    """Limits of an integer dtype."""

    bits: int
    max: int
    min: int
    dtype: str


def finfo(type: Any, /) -> FloatInfo:
    """The limits of a floating or complex dtype, or of that of an array: bits, eps, max, min, smallest_normal, dtype.

    Raises:
        DtypeError: it is bool or an integer one.
    Example:
        >>> import tg
        >>> tg.finfo(tg.float32).eps
        1.1920928955078125e-07
    Source:
        numpy.finfo; the array API standard
    """
    name = _dtype_of(type)
    if name == "bfloat16":
        import ml_dtypes

        limits: Any = ml_dtypes.finfo(numpy_dtype(name))  # type: ignore[no-untyped-call]
    elif name in FLOATS or holds_complex(name):
        limits = np.finfo(numpy_dtype(name))
    else:
        raise DtypeError(message(f"finfo: found {name}, needed a floating or complex dtype"))
    numbers = ("eps", "max", "min", "smallest_normal", "tiny", "smallest_subnormal", "resolution")
    values = {key: float(getattr(limits, key)) for key in numbers}
    parts = {"complex64": "float32", "complex128": "float64"}.get(name, name)
    return FloatInfo(bits=int(limits.bits), precision=int(limits.precision), dtype=parts, **values)


def iinfo(type: Any, /) -> IntegerInfo:
    """The limits of an integer dtype, or of that of an array: bits, max, min, dtype.

    Raises:
        DtypeError: it is another dtype.
    Example:
        >>> import tg
        >>> tg.iinfo(tg.int8).max
        127
    Source:
        numpy.iinfo; the array API standard
    """
    name = _dtype_of(type)
    if name not in INTEGERS:
        raise DtypeError(message(f"iinfo: found {name}, needed an integer dtype"))
    limits = np.iinfo(name)
    return IntegerInfo(bits=int(limits.bits), max=int(limits.max), min=int(limits.min), dtype=name)


def iscomplexobj(x: Any) -> bool:
    """Whether the dtype of an array is complex, whatever its elements are.

    Source:
        numpy.iscomplexobj
    """
    return holds_complex(_dtype_of(x))


def isrealobj(x: Any) -> bool:
    """Whether the dtype of an array is not complex.

    Source:
        numpy.isrealobj
    """
    return not iscomplexobj(x)


def need_no_device(what: str, device: Any) -> None:
    """Refuse a device for what has none until it runs.

    Raises:
        InputError: a device is named.
    """
    if device is not None:
        hint = f'a program runs where its backend does: tg.backend("jax", device={device!r})'
        raise InputError(message(f"{what}: device: found {device!r}, needed None", hint=hint))


class ArrayNamespaceInfo:
    """Answers about the namespace `tg`, as the array API standard asks for them.

    A variable has no device of its own: None is the one there is.
    """

    def capabilities(self) -> dict[str, Any]:
        """Results may have lengths that depend on values; the number of axes has NumPy's limit."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def default_device(self) -> None:
        """None: a program runs where its backend does."""

    def devices(self) -> list[None]:
        """None alone."""
        return [None]

    def default_dtypes(self, *, device: Any = None) -> dict[str, str]:
        """The dtypes of arrays made of Python numbers, as the configuration says, and of positions."""
        need_no_device("default_dtypes", device)
        return {
            "real floating": weak_dtype(float),
            "complex floating": weak_dtype(complex),
            "integral": weak_dtype(int),
            "indexing": "int64",
        }

    def dtypes(self, *, device: Any = None, kind: Any = None) -> dict[str, str]:
        """The dtypes of the standard, or those of a kind, by their names.

        Args:
            kind: as in `tg.isdtype`.
        """
        need_no_device("dtypes", device)
        names = [name for name in DTYPES if name not in ("float16", "bfloat16")]
        return {name: name for name in names if kind is None or isdtype(name, kind)}
