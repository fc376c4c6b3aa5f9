"""Operands of elementwise functions in calls: their names, the signatures, and keywords, of which there is none."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, Final

from tg.errors import InputError, message
from tg.keywords import without_counterpart

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tg.ops.elementwise.record import ElementwiseFunction

NAMES: Final = "xyz"
PLAIN: Final = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


class Signature:
    """The signature that `inspect.signature` and editors show of an elementwise function."""

    def __get__(self, fn: ElementwiseFunction | None, owner: type) -> inspect.Signature:
        if fn is None:
            raise AttributeError("__signature__")
        kind = inspect.Parameter.POSITIONAL_ONLY
        parameters = [inspect.Parameter(name, kind, annotation=Any) for name in operand_names(fn)]
        return inspect.Signature(parameters, return_annotation="Variable")


class OperandAnnotations(dict[str, Any]):
    """The annotations of an elementwise function, as those of Python's functions; the class itself has none."""

    def __get__(self, fn: ElementwiseFunction | None, owner: type) -> dict[str, Any]:
        if fn is None:
            return self
        from tg.graph.nodes import Variable
        from tg.variables.like import TensorLike

        return {**dict.fromkeys(operand_names(fn), TensorLike), "return": Variable}


def operand_names(fn: ElementwiseFunction) -> list[str]:
    """The names of the operands: those that the functions of the record have for them."""
    if fn.arity == 1:
        return ["x"]
    for function, others in ((fn.reference, 0), (fn.expansion, 0), *((d, 1) for d in fn.d or ())):
        names = _plain_names(function)
        if len(names) == fn.arity + others and not any(name.startswith("_") for name in names):
            return names[: fn.arity]
    return list(NAMES[: fn.arity]) if fn.arity <= len(NAMES) else [f"x{k + 1}" for k in range(fn.arity)]


def _plain_names(function: object) -> list[str]:
    """The parameters of a Python function that has nothing but positional ones; none of any other."""
    if not inspect.isfunction(function):
        return []
    parameters = inspect.signature(function).parameters.values()
    return [p.name for p in parameters] if all(p.kind in PLAIN for p in parameters) else []


def no_keyword(fn: ElementwiseFunction, keywords: Iterable[str]) -> InputError:
    """The exception for a call with keywords: operands go by position."""
    name = next(iter(keywords))
    names = operand_names(fn)
    if name in (*names, "x1", "x2"):
        hint: str | None = f"operands go by position: tg.{fn.name}({', '.join(names)})"
    else:
        hint = without_counterpart(fn.name, name)
    return InputError(message(f"{fn.name}: found the keyword {name}, needed {', '.join(names)} by position", hint=hint))
