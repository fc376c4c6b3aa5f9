"""`Border`: the arrays in which a backend computes, and NumPy's, and the way between them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, final

import numpy as np

from tg import plugin
from tg.errors import InputError, message
from tg.functions.make import function
from tg.graph.nodes import Variable
from tg.types.dtypes import DTYPES, dtype_name, numpy_dtype
from tg.types.tensor_type import TensorType
from tg.variables.dlpack import as_numpy

if TYPE_CHECKING:
    from collections.abc import Callable

    from tg.functions.backends import BackendChoice

REFERENCE: Final = "perform"


@final
class Border:
    """The arrays of one backend with options: which they are, and as NumPy's.

    A backend that writes machine code computes with NumPy's arrays; others keep what their library gives.
    """

    def __init__(self, choice: BackendChoice) -> None:
        backend = plugin.registry().backend(choice.name)
        self.name = choice.name
        self.dtypes: tuple[str, ...] = tuple(d for d in DTYPES if not backend.dtypes or d in backend.dtypes)
        self.is_numpy = backend.rules.kind != "array" or choice.name == REFERENCE
        self.devices: tuple[str, ...] = backend.devices
        self.device: str = getattr(choice.options, "device", None) or self.devices[0]
        self._dtypes: dict[Any, np.dtype[Any]] = {}  # by the library's own
        self._kinds: tuple[type, ...] = ()
        if not self.is_numpy:
            self._learn(choice)

    def _learn(self, choice: BackendChoice) -> None:
        """Find out how the library calls its arrays and dtypes."""
        x = Variable(TensorType(self.dtypes[-1], (None,)))
        executable = function([x], x, backend=choice).programs.main.executable
        self._to_native: Callable[[Any], Any] = executable.to_native
        self._to_numpy: Callable[[Any], Any] = executable.to_numpy
        kinds = set()
        for name in self.dtypes:
            sample = self._to_native(np.zeros(2, numpy_dtype(name)))
            kinds.add(type(sample))
            self._dtypes[sample.dtype] = numpy_dtype(name)
        self._kinds = tuple(kinds)

    def is_native(self, value: object) -> bool:
        """Whether a value is an array of the backend's own."""
        return type(value) is np.ndarray if self.is_numpy else isinstance(value, self._kinds)

    def dtype_of(self, value: Any) -> np.dtype[Any]:
        """The dtype of one of the backend's arrays, as NumPy has it."""
        return value.dtype if self.is_numpy else self._dtypes[value.dtype]

    def to_native(self, array: np.ndarray[Any, Any]) -> Any:
        """An array of NumPy as the backend's, in memory of its own where it is another.

        Raises:
            DtypeError: the backend has no such dtype.
        """
        if self.is_numpy:
            return array
        self.need(array.dtype)
        if not array.flags.writeable or not array.flags.c_contiguous:
            array = array.copy(order="C")
        return self._to_native(array)

    def to_numpy(self, value: Any) -> np.ndarray[Any, Any]:
        """One of the backend's arrays as NumPy's; the same object where the backend computes with these."""
        return value if self.is_numpy else self._to_numpy(value)  # type: ignore[no-any-return]

    def taken(self, value: Any) -> Any:
        """An array of any library as the backend's, in the same memory where both allow it.

        Raises:
            InputError: it is no array.
            DtypeError: the backend has no such dtype.
        """
        if self.is_native(value) and (not self.is_numpy or value.dtype.isnative):
            self.need(self.dtype_of(value))
            return value
        try:
            array = as_numpy(value)
        except (TypeError, ValueError, RuntimeError) as error:
            raise InputError(message(f"asarray: {error}")) from None
        if not array.dtype.isnative:
            array = array.astype(array.dtype.newbyteorder("="))
        self.need(array.dtype)
        return self.to_native(array)

    def need(self, dtype: object) -> str:
        """The name of a dtype that the backend has.

        Raises:
            DtypeError: it has no such dtype.
        """
        name = dtype_name(dtype)
        if name not in self.dtypes:
            from tg.errors import DtypeError

            text = f"backend {self.name!r}: found dtype {name}, needed one that it has"
            raise DtypeError(message(text, ("dtypes", ", ".join(self.dtypes))))
        return name

    def on(self, device: object) -> None:
        """Refuse a device on which the arrays of this namespace do not lie.

        Raises:
            InputError: another device.
        """
        if device is not None and str(device) != self.device:
            text = f"device: found {device!r}, needed {self.device!r}"
            hint = f"tg.eager({self.name!r}, device=…) has arrays elsewhere, x.to_device(…) moves them"
            raise InputError(message(text, hint=hint if len(self.devices) > 1 else None))
