"""Reductions of losses, and operands of losses that have one shape."""

from __future__ import annotations

import numbers
from typing import TYPE_CHECKING, Any, Final

from tg.errors import DomainError, InputError, ShapeError, message
from tg.graph.nodes import Variable
from tg.ops.elementwise.cast import cast_variable
from tg.ops.reduction import sum
from tg.ops.shape import specify_shape
from tg.ops.statistics import mean

if TYPE_CHECKING:
    from collections.abc import Sequence

REDUCTIONS: Final = ("mean", "sum", "none")


def need_reduction(what: str, reduction: str, names: Sequence[str] = REDUCTIONS) -> None:
    """Refuse a reduction that there is not.

    Raises:
        InputError: its name is none of `names`.
    """
    if reduction not in names:
        text = f"{what}: reduction: found {reduction!r}, needed one of {', '.join(names)}"
        raise InputError(message(text))


def reduced(what: str, losses: Variable, reduction: str, dtype: str) -> Variable:
    """The mean or the sum of losses, or all of them, in a dtype.

    Raises:
        InputError: no such reduction.
    """
    need_reduction(what, reduction)
    value = mean(losses) if reduction == "mean" else sum(losses) if reduction == "sum" else losses
    return cast_variable(value, dtype)


def alike(what: str, x: Variable, *others: Variable) -> list[Variable]:
    """Operands that have the shape of the first, or are scalars: a loss of a column beside a row is a mistake.

    Raises:
        ShapeError: another shape.
    """
    operands = [x]
    for v in others:
        if v.type.ndim and v.type.ndim != x.type.ndim:
            text = f"{what}: shapes differ: found {x.type} and {v.type}, needed one shape"
            raise ShapeError(message(text))
        operands.append(specify_shape(v, x.shape, what) if v.type.ndim else v)
    return operands


def need_number(what: str, value: Any, low: float, high: float, needed: str) -> None:
    """Refuse what is no number, and a Python number outside [low, high]; a variable is not looked at.

    Raises:
        InputError: it is no number.
        DomainError: it is outside.
    """
    if isinstance(value, Variable):
        return
    if not isinstance(value, numbers.Real):
        raise InputError(message(f"{what}: found {value!r}, needed {needed}"))
    if not low <= float(value) <= high:
        raise DomainError(message(f"{what}: found {value}, needed {needed}"))
