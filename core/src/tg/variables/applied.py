"""Functions of elements of tg, applied by a class that holds variables: `tg.masked.exp`, `tg.dims.exp`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

WRITTEN: Final = (  # functions of elements that are no records
    "angle", "cast", "clip", "deg2rad", "fma", "fmax", "fmin", "heaviside", "isclose", "log_sigmoid", "logit",
    "nan_to_num", "positive", "rad2deg", "relu", "round",
)  # fmt: skip


def elementwise(name: str, functions: Mapping[str, Any], apply: Callable[..., Any], module: str) -> Any:
    """The function of elements that tg has under a name, as one that `apply` calls; None if it has none.

    Args:
        functions: the functions of tg by name.
        apply: called with the function and its operands.
        module: the module that has it.
    """
    fn = functions.get(name)
    if fn is None or not (hasattr(fn, "loops") or name in WRITTEN):
        return None

    def applied(*operands: Any, **options: Any) -> Any:
        return apply(fn, *operands, **options)

    applied.__name__ = applied.__qualname__ = name
    applied.__module__ = module
    applied.__doc__ = f"As `tg.{name}`, of the elements of these arrays."
    return applied
