"""`Array`: an array that computes at once, through the backend of its namespace."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, Final, final

import numpy as np

from tg.errors import DtypeError, InputError, OptionError, ShapeError, message

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tg.eager.namespace import Namespace

VERSIONS: Final = ("2021.12", "2022.12", "2023.12", "2024.12", "2025.12")
"""Versions of the array API that the namespaces follow."""

_new: Final = object.__new__


@final
class Array:
    """An array of a namespace of `tg.eager`, in memory of its own.

    Items and in-place operators give it a new value; no other array changes with it. Of a block of ops that are
    computed together (`xp.fused`) it may have no value yet, which is computed when one asks for it.
    """

    __slots__ = ("__weakref__", "_value", "_xp")
    _value: Any
    _xp: Namespace
    __array_ufunc__ = None  # NumPy's operators leave arrays of this class to theirs
    __hash__ = None  # type: ignore[assignment]

    def __init__(self) -> None:
        raise InputError(message("Array: found a call of the class", hint="xp.asarray makes an array"))

    @property
    def native(self) -> Any:
        """The array of the backend itself: of NumPy, JAX, PyTorch or MLX. It is not to be written."""
        return self._xp._native(self)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of its elements, as NumPy names it."""
        return self._xp._dtype(self)

    @property
    def shape(self) -> tuple[int, ...]:
        """The lengths of its axes."""
        return self._xp._shape(self)

    @property
    def ndim(self) -> int:
        """The number of its axes."""
        return self._xp._ndim(self)

    @property
    def size(self) -> int:
        """The number of its elements."""
        size = 1
        for n in self.shape:
            size *= n
        return size

    @property
    def nbytes(self) -> int:
        """The number of bytes that its elements take."""
        return self.size * self.dtype.itemsize

    @property
    def device(self) -> str:
        """The device on which it lies."""
        return self._xp._border.device

    @property
    def mT(self) -> Array:
        """The array with its last two axes exchanged."""
        return self._xp.matrix_transpose(self)  # type: ignore[no-any-return]

    @property
    def T(self) -> Array:
        """The array with its axes in reverse order."""
        return self._xp.permute_dims(self, tuple(range(self.ndim))[::-1])  # type: ignore[no-any-return]

    def to_device(self, device: object, /, *, stream: object = None) -> Array:
        """The array on a device: itself where it lies there, else of the namespace of its backend for that device.

        Raises:
            InputError: the backend has no such device.
        """
        if stream is not None:
            raise InputError(message(f"to_device: stream: found {stream!r}, needed None"))
        return self._xp._on(self, str(device))

    def __array_namespace__(self, /, *, api_version: str | None = None) -> Namespace:
        """The namespace of its functions.

        Raises:
            OptionError: a version of the array API that it does not follow.
        """
        if api_version is not None and api_version not in VERSIONS:
            text = f"__array_namespace__: found the version {api_version!r}, needed one of {', '.join(VERSIONS)}"
            raise OptionError(message(text))
        return self._xp

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        """A NumPy array of its elements; it is not to be written unless it is a copy."""
        return np.array(self._numpy(), dtype=dtype, copy=copy)

    def __dlpack__(
        self,
        /,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[Any, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """A capsule of its memory, for the `from_dlpack` of another library.

        Raises:
            BufferError: the library of its backend does not give one so.
        """
        value = self.native
        if isinstance(value, np.ndarray) and not value.flags.writeable:
            value = value.copy()
        options = {"stream": stream, "max_version": max_version, "dl_device": dl_device, "copy": copy}
        options = {name: option for name, option in options.items() if option is not None}
        try:
            return value.__dlpack__(**options)
        except TypeError:  # an older protocol
            options = {name: option for name, option in options.items() if name == "stream"}
            return value.__dlpack__(**options)

    def __dlpack_device__(self, /) -> tuple[Any, int]:
        """The kind of its device, and its number, as DLPack counts them."""
        return self.native.__dlpack_device__()  # type: ignore[no-any-return]

    def __tg_jit__(self, jitted: Any, arguments: Any) -> Any:
        """The results of a call of a function of `tg.jit`, of which this array is an argument."""
        from tg.eager.jitted import called

        return called(self._xp, jitted, arguments)

    def _numpy(self) -> np.ndarray[Any, Any]:
        """Its value as an array of NumPy, which may be the array itself."""
        return self._xp._border.to_numpy(self.native)

    def _scalar(self, kind: str) -> np.ndarray[Any, Any]:
        value = self._numpy()
        if value.ndim:
            text = f"{kind}: found {value.dtype}{list(value.shape)}, needed an array without axes"
            raise ShapeError(message(text, hint="x[0, …] is one element"))
        return value

    def __bool__(self, /) -> bool:
        return bool(self._scalar("bool"))

    def __int__(self, /) -> int:
        value = self._scalar("int")
        if value.dtype.kind == "c":
            raise DtypeError(message(f"int: found {value.dtype}, needed real numbers"))
        return int(value)

    def __float__(self, /) -> float:
        value = self._scalar("float")
        if value.dtype.kind == "c":
            raise DtypeError(message(f"float: found {value.dtype}, needed real numbers"))
        return float(value)

    def __complex__(self, /) -> complex:
        return complex(self._scalar("complex"))

    def __index__(self, /) -> int:
        value = self._scalar("index")
        if value.dtype.kind not in "iu":
            raise DtypeError(message(f"index: found {value.dtype}, needed integers"))
        return operator.index(value[()])

    def __len__(self) -> int:
        if not self.shape:
            raise ShapeError(message("len: found an array without axes, needed one with an axis"))
        return self.shape[0]

    def __iter__(self) -> Iterator[Array]:
        return iter([self[k] for k in range(len(self))])

    def __contains__(self, value: object) -> bool:
        return bool(self._xp.any(self == value))

    def __repr__(self) -> str:
        return repr(self._numpy())

    def __str__(self) -> str:
        return str(self._numpy())

    def __format__(self, spec: str) -> str:
        return format(self._numpy()[()] if self.ndim == 0 else self._numpy(), spec)

    def __reduce__(self) -> tuple[object, ...]:
        return restored, (self._xp, self._numpy())

    def __copy__(self) -> Array:
        return array(self.native, self._xp)

    def __deepcopy__(self, memo: object) -> Array:
        return array(self.native, self._xp)

    def __getitem__(self, key: Any, /) -> Array:
        return self._xp._call("getitem", (self, _index(key)), {})  # type: ignore[no-any-return]

    def __setitem__(self, key: Any, value: Any, /) -> None:
        self._value = self._xp._with_items(self, _index(key), value)._value


def array(value: Any, xp: Namespace) -> Array:
    """An array that has a value of the namespace's backend."""
    result = _new(Array)
    result._value, result._xp = value, xp
    return result


def restored(xp: Namespace, value: np.ndarray[Any, Any]) -> Array:
    """The array that a pickle had."""
    return array(xp._border.to_native(value), xp)


def _index(key: Any) -> Any:
    """An index whose lists are arrays and whose NumPy integers are Python's."""
    if isinstance(key, tuple):
        return tuple([_index(k) for k in key])
    if isinstance(key, list):
        return np.asarray(key, dtype=np.int64 if not key else None)
    if isinstance(key, slice):
        return slice(*[_bound(v) for v in (key.start, key.stop, key.step)])
    return _bound(key) if isinstance(key, np.integer) else key


def _bound(value: Any) -> Any:
    return value if value is None or type(value) is int else operator.index(value)
