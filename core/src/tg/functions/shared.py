"""Shared variables: variables with a value of their own that functions read and update.

A value is replaced, never written into, so a reader that has a snapshot keeps it. Values stay on the backend that made
them until another asks.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Final, final

from tg.errors import InputError, ShapeError, message
from tg.functions.convert import to_array
from tg.graph.dims import named_type
from tg.graph.nodes import Variable
from tg.types.tensor_type import TensorType
from tg.variables.conversion import constant

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np

    from tg.link.linker import Executable
    from tg.types.lengths import Length

COMMIT: Final = threading.Lock()  # held, briefly, while values are read together or replaced together


@final
class Value:
    """One immutable value: as a NumPy array, as a backend's array, or both."""

    __slots__ = ("_natives", "_numpy", "_to_numpy", "shape")

    def __init__(
        self,
        numpy: np.ndarray[Any, Any] | None,
        backend: str = "",
        native: Any = None,
        to_numpy: Callable[[Any], np.ndarray[Any, Any]] | None = None,
    ) -> None:
        self._numpy = numpy
        self._natives: dict[str, Any] = {} if native is None else {backend: native}
        self._to_numpy = to_numpy
        self.shape: tuple[int, ...] = tuple(numpy.shape if numpy is not None else native.shape)

    @property
    def numpy(self) -> np.ndarray[Any, Any]:
        """The value as a NumPy array that nobody writes."""
        if self._numpy is None:
            assert self._to_numpy is not None
            found = self._to_numpy(next(iter(self._natives.values())))
            found.flags.writeable = False
            self._numpy = found
        return self._numpy

    def native(self, backend: str, executable: Executable) -> Any:
        """The value as the array of a backend."""
        found = self._natives.get(backend)
        if found is None:
            found = self._natives[backend] = executable.to_native(self.numpy)
        return found


@final
class Shared(Variable):
    """A variable with a value; make one with `tg.shared`."""

    __slots__ = ("_value", "lock")

    def __init__(self, type_: TensorType, value: Value, name: str | None) -> None:
        super().__init__(type_, name=name)
        self._value = value
        self.lock = threading.RLock()  # held by functions that update this variable, in order of `serial`

    def get_value(self) -> np.ndarray[Any, Any]:
        """A copy of the value."""
        return self._value.numpy.copy()

    def set_value(self, value: Any) -> None:
        """Replace the value by a copy of another; nothing changes if it does not fit.

        Raises:
            DtypeError: the cast to this dtype would lose values.
            ShapeError: another rank, or another length where one is fixed.
        """
        array = to_array(value, self.type, self.name or "shared variable").copy()
        array.flags.writeable = False
        with self.lock, COMMIT:
            self._value = Value(array)

    @property
    def snapshot(self) -> Value:
        """The value as it is now."""
        return self._value

    def commit(self, value: Value) -> None:
        """Replace the value; the caller holds `lock` and `COMMIT`."""
        self._value = value

    def __reduce__(self) -> tuple[object, ...]:
        return (_restored, (named_type(self), self.get_value(), self.name))

    def __repr__(self) -> str:
        return f"<shared{f' {self.name}' if self.name else ''} : {self.type}>"


def _restored(kind: TensorType, array: np.ndarray[Any, Any], name: str | None) -> Shared:
    array.flags.writeable = False
    return Shared(kind, Value(array), name)


def shared(
    value: Any, name: str | None = None, *, dtype: object = None, shape: Sequence[int | Length | None] | None = None
) -> Shared:
    """A variable with a value that functions read and update.

    Args:
        shape: the lengths that stay fixed, or have names; all may change unless given.
    Dtypes:
        that of the value, or `dtype`.
    Raises:
        InputError: the value is not an array of numbers.
    Example:
        >>> import tg
        >>> count = tg.shared(0, name="count")
        >>> step = tg.function([], count, updates={count: count + 1})
        >>> int(step()), int(step()), int(count.get_value())
        (0, 1, 2)
    """
    if name is not None and not isinstance(name, str):
        raise InputError(message(f"shared: name: found {name!r}, needed a string"))
    array = constant(value, dtype).data
    lengths = (None,) * array.ndim if shape is None else tuple(shape)
    kind = TensorType(array.dtype, lengths)
    fixed = [n if type(n) is int else m for n, m in zip(kind.shape, array.shape, strict=False)]
    if len(lengths) != array.ndim or fixed != list(array.shape):
        raise ShapeError(message(f"shared: found a value of shape {array.shape}, needed {kind}"))
    return Shared(kind, Value(array), name)
