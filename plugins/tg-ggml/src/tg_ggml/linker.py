"""The linker of the ggml backend: core's FuncifyLinker, whose functions are traced to graphs of ggml.

Outside of a trace the backend's arrays are NumPy's, which ggml reads and writes by copies. A constant that nobody can
write is not copied: weights would be there twice, as they were given and as ggml stores them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tg.backend import FuncifyLinker
from tg_ggml.program import Native, Program, memory
from tg_ggml.tensors import Tensor, constant

if TYPE_CHECKING:
    Array = np.ndarray[Any, Any]


def to_native(array: Array) -> Array:
    """A copy that nobody writes; in the memory of the array where it owns that and is read-only."""
    native = (array if array.flags.owndata and not array.flags.writeable else np.array(array)).view(Native)
    native.flags.writeable = False
    return native


def argument(value: Any) -> Array:
    """An input as it is given, if it is the backend's; else as NumPy's."""
    return value if type(value) is Native else np.asarray(value)


def copy(value: Any) -> Any:
    """A copy, of a tensor while a program is traced: each output is read into memory of its own anyway."""
    if not isinstance(value, Tensor):
        return np.array(value)
    return Tensor(value.shape, value.dtype.name, node=None if value.data is not None else value.node, data=value.data)


LINKER: Final = FuncifyLinker(
    to_native=to_native,
    to_numpy=np.asarray,
    constant=constant,
    copy=copy,
    argument=argument,
    jit=Program,
    owned=np.asarray,
    memory=memory,
)
