"""NumPy functions called on variables build graphs: `np.exp(x)` is `tg.exp(x)`. PyTorch's are refused by name."""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any, Final, NoReturn

from tg.errors import DomainError, InputError, SymbolicError, message
from tg.graph.operators import NAMESPACE
from tg.variables import kinds
from tg.words import instead

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

METHODS: Final = {  # of ufuncs, and the functions that do the same
    "reduce": {
        "add": "sum",
        "multiply": "prod",
        "maximum": "max",
        "minimum": "min",
        "logical_and": "all",
        "logical_or": "any",
    },
    "accumulate": {"add": "cumsum", "multiply": "cumprod", "maximum": "cummax", "minimum": "cummin"},
}
MODULES: Final = ("linalg", "fft")  # of NumPy that tg has under the same names
TORCH_MODULES: Final = ("linalg", "fft", "special")  # of PyTorch, whose functions' names begin with theirs
WRAP_HINT: Final = "tg.wrap makes an op of a Python function of arrays"
OF_DTYPES: Final[dict[str, Callable[..., Any]]] = {
    f.__name__: f for f in (kinds.can_cast, kinds.iscomplexobj, kinds.isrealobj, kinds.result_type)
}
WRITING: Final = frozenset(("copyto", "place", "put", "putmask"))  # whose counterparts write nowhere
ABOVE: Final = frozenset(("apply_along_axis",))  # functions of layers above this one
VERSIONS: Final = ("2021.12", "2022.12", "2023.12", "2024.12")  # of the array API standard; each holds those before it
OPTIONS: Final = {
    "reduce": frozenset(("axis", "keepdims", "initial", "where")),
    "accumulate": frozenset(("axis",)),
}


@functools.cache
def _by_ufunc() -> Mapping[Any, Callable[..., Any]]:
    from tg.ops import catalog

    return {fn.numpy: fn for family in catalog.FAMILIES for fn in family.elementwise if fn.numpy is not None}


def numpy_ufunc(ufunc: Any, method: str, inputs: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """Call the op of the same name, for `Variable.__array_ufunc__`.

    Raises:
        InputError: tg has no such function, or it was called with `out=` or as a method such as `reduce`.
    """
    from tg.ops import catalog

    function = _by_ufunc().get(ufunc) or catalog.NAMES.get(ufunc.__name__)
    if method == "__call__" and function is not None and not kwargs:
        return function(*inputs)
    if method in METHODS and ufunc.__name__ in METHODS[method]:
        options = {"axis": 0, **{name: value for name, value in kwargs.items() if value is not None or name == "axis"}}
        if options.keys() <= OPTIONS[method]:
            return catalog.NAMES[METHODS[method][ufunc.__name__]](*inputs, **options)
    extra = "".join(f", {name}=" for name in kwargs)
    hint = (
        "variables are immutable: the result is a new one" if "out" in kwargs else instead(ufunc.__name__) or WRAP_HINT
    )
    text = f"np.{ufunc.__name__}: {method}{extra} on a variable has no counterpart in tg"
    raise InputError(message(text, hint=hint))


def numpy_function(function: Any, args: Any, kwargs: Any) -> Any:
    """Call the function of the same name, for `Variable.__array_function__`.

    Raises:
        InputError: tg has no such function.
    """
    from tg.ops import catalog

    if function.__name__ in WRITING:
        hint = f"tg.{function.__name__} gives a new variable with the change"
        raise InputError(message(f"np.{function.__name__}: variables are immutable", hint=hint))
    counterpart = catalog.NAMES.get(function.__name__) or OF_DTYPES.get(function.__name__)
    if function.__name__ in ABOVE:
        counterpart = getattr(NAMESPACE, function.__name__)
    place = function.__module__.removeprefix("numpy.")
    if place in MODULES:
        counterpart = catalog.MODULES[place].get(function.__name__, counterpart)
    if counterpart is None:
        name = f"{function.__module__}.{function.__name__}".replace("numpy.", "np.", 1)
        raise InputError(
            message(f"{name}: has no counterpart in tg for variables", hint=instead(function.__name__) or WRAP_HINT)
        )
    try:
        inspect.signature(counterpart).bind(*args, **kwargs)
    except TypeError as error:
        raise InputError(message(f"np.{function.__name__}: on a variable: {error}")) from None
    return counterpart(*args, **kwargs)


def refuse_torch(function: Any) -> NoReturn:
    """Refuse a call of a PyTorch function, for `Variable.__torch_function__`; tensors with operators are not refused.

    PyTorch takes a `TypeError` for a sign to ask the other operand.

    Raises:
        SymbolicError: always, with the function of tg of that name if there is one.
    """
    name = str(getattr(function, "__name__", function))
    place, _, rest = name.partition("_")  # torch.linalg.inv is linalg_inv there
    module = type(NAMESPACE)._module
    homes = [(getattr(module, place), f"tg.{place}", rest)] if place in TORCH_MODULES else []
    homes += [(module, "tg", name), (module.nn, "tg.nn", name)]
    own = next((f"{path}.{own} takes variables" for home, path, own in homes if own in dir(home)), None)
    hint = own or instead(name) or "tg's functions take variables; tg.wrap makes an op of any other"
    if name.startswith("__"):
        hint = "tg.constant(tensor) is a constant of tg: tg.constant(tensor)[x]"
    shown = f"{place}.{rest}" if place in TORCH_MODULES else name
    raise SymbolicError(message(f"torch.{shown}: a variable has no value until the function runs", hint=hint))


def standard_namespace(api_version: str | None) -> Any:
    """The module `tg`, for `Variable.__array_namespace__`.

    Raises:
        DomainError: a version of the array API standard that tg does not know.
    """
    if api_version is not None and api_version not in VERSIONS:
        raise DomainError(message(f"api_version: found {api_version!r}, needed one of {', '.join(VERSIONS)}"))
    return type(NAMESPACE)._module
