"""Functions of elements of tg, applied by a class that holds variables: `tg.masked.exp`, `tg.dims.exp`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tg.words import unknown_in

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

WRITTEN: Final = (  # functions of elements that are no records
    "angle", "cast", "clip", "deg2rad", "fma", "fmax", "fmin", "heaviside", "isclose", "log_sigmoid", "logit",
    "nan_to_num", "positive", "rad2deg", "relu", "round",
)  # fmt: skip


def member(
    module: dict[str, Any], name: str, functions: Mapping[str, Any], apply: Callable[..., Any], known: Collection[str]
) -> Any:
    """The function of elements that tg has under a name, as one that `apply` calls; it becomes the module's.

    Args:
        module: the globals of the module that has it.
        functions: the functions of tg by name.
        apply: called with the function and its operands.
        known: names of tg, which a text for a name that is missing guesses from.
    Raises:
        AttributeError: tg has none.
    """
    fn = functions.get(name)
    if fn is None or not (hasattr(fn, "loops") or name in WRITTEN):
        text = name if name.startswith("__") else unknown_in(module["__name__"], module["__all__"], name, known)
        raise AttributeError(text, name=name)

    def applied(*operands: Any, **options: Any) -> Any:
        return apply(fn, *operands, **options)

    applied.__name__ = applied.__qualname__ = name
    applied.__module__ = module["__name__"]
    applied.__doc__ = f"As `tg.{name}`, of the elements of these arrays."
    module[name] = applied
    return applied
