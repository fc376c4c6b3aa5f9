"""`TensorType`: the dtype and the shape of a value, the only type that flows along an edge."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, Final, final

from tg.errors import ShapeError, message
from tg.types.dtypes import dtype_name, numpy_dtype
from tg.types.lengths import Length, same

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np


ITSELF: Final = "itself"  # what is kept of a static type: a reference would be a cycle


@final
class TensorType:
    """The type of a value: a dtype and a shape whose lengths are known, symbolic or unknown.

    `shape` is a tuple of `int` (known), `Length` (a symbolic integer; only while types are inferred) and
    `None` (unknown until the value exists). `variable.type` has ints and Nones only.

    Raises:
        DtypeError: tg has no such dtype.
        ShapeError: a length is below 0.
    """

    __slots__ = ("__weakref__", "_hash", "_static", "dtype", "shape")
    _hash: int | None
    _static: TensorType | str | None
    dtype: str
    shape: tuple[int | Length | None, ...]

    def __init__(self, dtype: object, shape: Sequence[int | Length | None] = ()) -> None:
        lengths = tuple(shape)
        for n in lengths:
            if type(n) is not int and n is not None and type(n) is not Length:
                lengths = tuple(n if n is None or type(n) is Length else operator.index(n) for n in lengths)
                break
        for n in lengths:
            if type(n) is int and n < 0:
                raise ShapeError(message(f"TensorType: found the length {n}, needed one of at least 0"))
        _set_dtype(self, dtype_name(dtype))
        _set_shape(self, lengths)
        _set_hash(self, None)
        _set_static(self, None)

    def __setattr__(self, name: str, value: object) -> None:
        text = f"TensorType: {name} cannot be set, types are immutable"
        raise AttributeError(text)

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def numpy_dtype(self) -> np.dtype[Any]:
        """The NumPy dtype."""
        return numpy_dtype(self.dtype)

    @property
    def static(self) -> TensorType:
        """This type with every length that is not a known int unknown (None)."""
        plain = self._static
        if plain is None:
            plain = ITSELF
            for length in self.shape:
                if length is not None and type(length) is not int:
                    plain = TensorType(self.dtype, tuple([n if type(n) is int else None for n in self.shape]))
                    break
            _set_static(self, plain)
        return self if plain is ITSELF else plain  # type: ignore[return-value]

    def with_shape(self, shape: Sequence[int | Length | None]) -> TensorType:
        """The same dtype with another shape."""
        return TensorType(self.dtype, shape)

    def with_dtype(self, dtype: str) -> TensorType:
        """The same shape with another dtype."""
        return TensorType(dtype, self.shape)

    def refines(self, other: TensorType) -> bool:
        """Whether this static type is equal to or more precise than another."""
        return (
            self.dtype == other.dtype
            and len(self.shape) == len(other.shape)
            and all(b is None or a == b for a, b in zip(self.static.shape, other.static.shape, strict=True))
        )

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if type(other) is not TensorType:
            return NotImplemented
        if self.dtype != other.dtype or len(self.shape) != len(other.shape):
            return False
        return all(same(a, b) for a, b in zip(self.shape, other.shape, strict=True))

    def __hash__(self) -> int:
        number = self._hash
        if number is None:
            number = hash((self.dtype, self.static.shape))
            _set_hash(self, number)
        return number

    def __repr__(self) -> str:
        return f"{self.dtype}[{', '.join('?' if n is None else str(n) for n in self.shape)}]"

    def __reduce__(self) -> tuple[object, ...]:
        return (TensorType, (self.dtype, self.shape))


def _setter(name: str) -> Callable[[TensorType, Any], None]:
    """Setter of a slot past `__setattr__`, without looking it up by name each time."""
    return TensorType.__dict__[name].__set__  # type: ignore[no-any-return]


_set_dtype, _set_shape, _set_hash, _set_static = map(_setter, ("dtype", "shape", "_hash", "_static"))
