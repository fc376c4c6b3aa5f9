"""The outputs of a function: nested lists, tuples, dicts and dataclasses of variables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tg.errors import InputError, message
from tg.graph.nodes import Variable
from tg.variables.conversion import as_variable
from tg.variables.structure import flatten as flatten_any

if TYPE_CHECKING:
    from tg.variables.structure import Structure


def flatten(structure: Any) -> tuple[list[Variable], Structure]:
    """The variables of a structure in order, and what puts results into the same structure."""
    leaves, build = flatten_any(structure)
    return [v if isinstance(v, Variable) else as_variable(v) for v in leaves], build


def need_variables(what: str, structure: Any) -> None:
    """Refuse what has no variable anywhere in it: a number, an array, some other object.

    Raises:
        InputError: it has none.
    """
    if not any(isinstance(v, Variable) for v in flatten_any(structure)[0]):
        text = f"{what}: found {structure!r}, needed a compiled function, a variable, or several"
        raise InputError(message(text, hint="tg.constant makes a variable of a number or an array"))
