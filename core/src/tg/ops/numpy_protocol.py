"""NumPy functions called on variables build graphs: `np.exp(x)` is `tg.exp(x)`."""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any

from tg.errors import InputError, message

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


@functools.cache
def _by_ufunc() -> Mapping[Any, Callable[..., Any]]:
    from tg.ops import catalog

    return {fn.numpy: fn for family in catalog.FAMILIES for fn in family.elementwise if fn.numpy is not None}


def numpy_ufunc(ufunc: Any, method: str, inputs: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """What `Variable.__array_ufunc__` does: the op of the same name.

    Raises:
        InputError: tg has no such function, or it was called with `out=` or as a method such as `reduce`.
    """
    from tg.ops import catalog

    found = _by_ufunc().get(ufunc) or catalog.NAMES.get(ufunc.__name__)
    if method == "__call__" and found is not None and not kwargs:
        return found(*inputs)
    if method == "reduce" and ufunc.__name__ in ("add", "multiply", "maximum", "minimum") and set(kwargs) <= {"axis"}:
        names = {"add": "sum", "multiply": "prod", "maximum": "max", "minimum": "min"}
        return catalog.NAMES[names[ufunc.__name__]](*inputs, axis=kwargs.get("axis", 0))
    extra = "".join(f", {name}=" for name in kwargs)
    raise InputError(message(f"np.{ufunc.__name__}: {method}{extra} on a variable has no counterpart in tg"))


def numpy_function(function: Any, args: Any, kwargs: Any) -> Any:
    """What `Variable.__array_function__` does: the function of the same name.

    Raises:
        InputError: tg has no such function.
    """
    from tg.ops import catalog

    found = catalog.NAMES.get(function.__name__) or {"amax": catalog.NAMES["max"], "amin": catalog.NAMES["min"]}.get(
        function.__name__
    )
    if found is None:
        raise InputError(message(f"np.{function.__name__}: has no counterpart in tg for variables"))
    try:
        inspect.signature(found).bind(*args, **kwargs)
    except TypeError as error:
        raise InputError(message(f"np.{function.__name__}: on a variable: {error}")) from None
    return found(*args, **kwargs)
