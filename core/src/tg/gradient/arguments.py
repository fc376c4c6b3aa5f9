"""Arguments of the functions of differentiation, looked at, and gradients that are not connected."""

from __future__ import annotations

import functools
import reprlib
from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np

from tg.callers import warn
from tg.errors import GradientWarning, InputError, NotDifferentiable, OptionError, message
from tg.graph.nodes import Variable
from tg.ops.creation import zeros_like
from tg.ops.elementwise.cast import cast_variable
from tg.types.dtypes import is_complex, is_float, is_inexact
from tg.variables.conversion import as_variable
from tg.variables.lifted import Lifted
from tg.variables.structure import flatten, hint_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tg.variables.structure import Structure

F = TypeVar("F", bound="Callable[..., Any]")
DISCONNECTED: Final = ("raise", "zero", "warn")


def wanted(wrt: Any, what: str) -> tuple[list[Variable], Structure]:
    """The variables of `wrt`, and its structure.

    Raises:
        InputError: something in it is no variable.
        NotDifferentiable: a variable has no floating dtype.
    """
    leaves, structure = flatten(wrt)
    for v in leaves:
        if not isinstance(v, Variable):
            text = f"{what}: wrt: found {_brief(v)}, needed a variable, or lists, tuples and dicts of them"
            hint = hint_of(v, "x = tg.vector() is a variable; a function of it is called with values")
            raise InputError(message(text, hint=hint))
        if not is_inexact(v.type.dtype):
            hint = _hint_of_part(wrt, v) or (
                "derivatives are with respect to floats; a cast of one gives integers where they are needed"
            )
            raise NotDifferentiable(message(f"{what}: wrt: found {v!r}, needed a floating dtype", hint=hint))
    return leaves, structure


def _hint_of_part(wrt: Any, v: Variable) -> str | None:
    """The hint about a variable that is part of a masked array or the like; None of any other."""
    for one in flatten(wrt, whole=Lifted)[0]:
        if isinstance(one, Lifted) and any(part is v for part in flatten(one)[0]):
            return one.in_place_of_wrt or None
    return None


def _brief(value: Any) -> str:
    """A value that is no variable, in a line."""
    if isinstance(value, np.ndarray):
        return f"an array {value.dtype}{list(value.shape)}"
    return reprlib.repr(value).replace("\n", " ")


def of_expressions(differentiate: F) -> F:
    """A function that differentiates an expression, and says so to whoever gives it a Python function, as JAX has it.

    Raises:
        InputError: the first argument is a function.
    """
    what = differentiate.__name__

    @functools.wraps(differentiate)
    def called(*args: Any, **options: Any) -> Any:
        if args and callable(args[0]):
            name = str(getattr(args[0], "__name__", None) or getattr(args[0], "name", "f"))
            text = f"{what}: found the function {name}, needed an expression"
            name = name if name.isidentifier() else "f"
            raise InputError(message(text, hint=f"tg.{what}({name}(x), x), where x is a variable"))
        return differentiate(*args, **options)

    return called  # type: ignore[return-value]


def real_scalar(cost: Any, what: str) -> Variable:
    """The cost as a variable.

    Raises:
        NotDifferentiable: it is no real floating scalar.
    """
    v = as_variable(cost)
    if not is_float(v.type.dtype):
        hint = None
        if is_complex(v.type.dtype):
            hint = "tg.real(cost), or the sum of squared absolute values, is real"
        raise NotDifferentiable(message(f"{what}: found a cost {v.type}, needed a real floating scalar", hint=hint))
    if v.type.ndim != 0:
        hint = "tg.sum(cost) is a scalar; tg.jacobian differentiates arrays"
        raise NotDifferentiable(message(f"{what}: found a cost {v.type}, needed a scalar", hint=hint))
    return v


def beside(value: Any, v: Variable, what: str, kind: str) -> Variable:
    """A tangent or cotangent in the dtype of the variable that it belongs to.

    Raises:
        InputError: it has another rank, or a length that is known to differ.
    """
    dv = as_variable(value)
    pairs = zip(dv.type.shape, v.type.shape, strict=False)
    if dv.type.ndim != v.type.ndim or any(None not in (a, b) and a != b for a, b in pairs):
        raise InputError(message(f"{what}: found a {kind} {dv.type} for {v!r}, needed its shape"))
    if is_complex(dv.type.dtype) and not is_complex(v.type.dtype):
        raise InputError(message(f"{what}: found a {kind} {dv.type} for {v!r}, needed a real one"))
    return cast_variable(dv, v.type.dtype)


def need_choice(disconnected: str, what: str) -> None:
    """Refuse a word that `disconnected` does not know.

    Raises:
        OptionError: it is none of "raise", "zero" and "warn".
    """
    if disconnected not in DISCONNECTED:
        choices = ", ".join(DISCONNECTED)
        raise OptionError(message(f"{what}: disconnected: found {disconnected!r}, needed one of {choices}"))


def connected(
    slopes: Sequence[Variable | None], like: Sequence[Variable], disconnected: str, text: str
) -> list[Variable]:
    """The derivatives in `slopes`, with zeros in the shape of `like` where there is none.

    Args:
        disconnected: "raise", "zero" or "warn" (and zero).
        text: the fact, in which `{}` stands for the variable.
    Raises:
        InputError: something is missing, and `disconnected` is "raise".
    """
    need_choice(disconnected, text.partition(":")[0])
    values = []
    for g, v in zip(slopes, like, strict=True):
        if g is not None:
            values.append(g)
            continue
        fact = text.format(repr(v))
        if disconnected == "raise":
            where = (("created at", f"{v.loc}:  {v.loc.source}"),) if v.loc is not None else ()
            raise InputError(message(fact, *where, hint='disconnected="zero" gives zeros'))
        if disconnected == "warn":
            warn(fact, GradientWarning)
        values.append(zeros_like(v))
    return values
