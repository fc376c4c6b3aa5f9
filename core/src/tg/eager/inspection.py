"""Dtypes, their limits and kinds, and what a namespace can do: the array API's inspection."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, Final, final

import numpy as np

from tg.configuration import float_dtype
from tg.errors import DtypeError, message
from tg.types.dtypes import COMPLEX, DTYPES, FLOATS, SIGNED, UNSIGNED, dtype_name, float_limits, numpy_dtype

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tg.eager.border import Border

KINDS: Final[Mapping[str, tuple[str, ...]]] = {
    "bool": ("bool",),
    "signed integer": SIGNED,
    "unsigned integer": UNSIGNED,
    "integral": (*SIGNED, *UNSIGNED),
    "real floating": FLOATS,
    "complex floating": COMPLEX,
    "numeric": (*SIGNED, *UNSIGNED, *FLOATS, *COMPLEX),
}
"""The kinds of dtypes, as the array API names them."""


@final
@dataclasses.dataclass(frozen=True)
class FloatLimits:
    """The limits of a floating dtype; those of a complex one are its parts'."""

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: np.dtype[Any]


@final
@dataclasses.dataclass(frozen=True)
class IntegerLimits:
    """The limits of an integer dtype."""

    bits: int
    max: int
    min: int
    dtype: np.dtype[Any]


def is_dtype(dtype: object, kind: Any) -> bool:
    """Whether a dtype is another, or of a kind, or one of several of these.

    Raises:
        DtypeError: a kind that does not exist.
    """
    if isinstance(kind, tuple):
        return any(is_dtype(dtype, k) for k in kind)
    if not isinstance(kind, str):
        return dtype_name(dtype) == dtype_name(kind)
    if kind not in KINDS:
        raise DtypeError(message(f"isdtype: found the kind {kind!r}, needed a dtype or one of {', '.join(KINDS)}"))
    return dtype_name(dtype) in KINDS[kind]


def float_limits_of(dtype: object) -> FloatLimits:
    """The limits of a floating or complex dtype.

    Raises:
        DtypeError: another dtype.
    """
    name = dtype_name(dtype)
    if name in COMPLEX:
        name = "float32" if name == "complex64" else "float64"
    if name not in FLOATS:
        raise DtypeError(message(f"finfo: found {name}, needed a floating dtype"))
    info = float_limits(name)
    eps, most, least = float(info.eps), float(info.max), float(info.min)
    return FloatLimits(int(info.bits), eps, most, least, float(info.smallest_normal), numpy_dtype(name))


def integer_limits_of(dtype: object) -> IntegerLimits:
    """The limits of an integer dtype.

    Raises:
        DtypeError: another dtype.
    """
    name = dtype_name(dtype)
    if name not in KINDS["integral"]:
        raise DtypeError(message(f"iinfo: found {name}, needed an integer dtype"))
    info = np.iinfo(name)
    return IntegerLimits(int(info.bits), int(info.max), int(info.min), numpy_dtype(name))


def default_dtypes(border: Border) -> dict[str, str]:
    """The dtypes of arrays that are made of Python's numbers, by their kinds."""
    real = float_dtype()
    return {
        "real floating": real,
        "complex floating": "complex128" if real == "float64" and "complex128" in border.dtypes else "complex64",
        "integral": "int64",
        "indexing": "int64",
    }


@final
class Information:
    """Abilities of a namespace, as `__array_namespace_info__` of the array API tells them."""

    def __init__(self, border: Border) -> None:
        self._border = border

    def capabilities(self) -> dict[str, Any]:
        """Boolean masks and lengths that depend on values can be had; an array has up to 64 axes."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def default_device(self) -> str:
        """The device on which arrays are made."""
        return self._border.device

    def devices(self) -> tuple[str, ...]:
        """The devices of this namespace: one, since each has a namespace of its own."""
        return (self._border.device,)

    def default_dtypes(self, *, device: object = None) -> dict[str, np.dtype[Any]]:
        """The dtypes of arrays that are made of Python's numbers, by their kinds."""
        self._border.on(device)
        return {kind: numpy_dtype(name) for kind, name in default_dtypes(self._border).items()}

    def dtypes(self, *, device: object = None, kind: Any = None) -> dict[str, np.dtype[Any]]:
        """The array API's dtypes that the backend has, of a kind or of several."""
        self._border.on(device)
        names = [d for d in DTYPES if d in self._border.dtypes and d not in ("float16", "bfloat16")]
        return {d: numpy_dtype(d) for d in names if kind is None or is_dtype(d, kind)}
