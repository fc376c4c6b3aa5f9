"""Functions of `tg.jit` that are called with eager arrays: compiled for their backend, with eager results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tg.eager.array import Array, array
from tg.eager.programs import run_natives
from tg.types.tensor_type import TensorType
from tg.variables.structure import flatten

if TYPE_CHECKING:
    from tg.eager.namespace import Namespace
    from tg.functions.jit import Jitted


def called(xp: Namespace, jitted: Jitted, arguments: Any) -> Any:
    """The results of a call, in arrays of the namespace whose arrays are among the arguments.

    The backend of the namespace compiles the function, unless it was given one of its own.
    """
    border = xp._border
    values = [xp._array(v)._xp._native(v) if type(v) is Array else border.taken(v) for v in arguments.leaves]
    types = [TensorType(border.dtype_of(v), (None,) * v.ndim) for v in values]
    function = jitted.on(xp._whole).compiled(arguments, types)
    if border.is_numpy:
        leaves, structure = flatten(function(*values))
    else:
        leaves, structure = run_natives(function, values), function.request.structure
    return structure(iter([array(border.taken(v), xp) for v in leaves]))
