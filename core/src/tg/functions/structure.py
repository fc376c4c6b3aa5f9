"""The outputs of a function: nested lists, tuples, dicts and dataclasses of variables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tg.graph.nodes import Variable
from tg.variables.conversion import as_variable
from tg.variables.structure import flatten as flatten_any

if TYPE_CHECKING:
    from tg.variables.structure import Structure


def flatten(structure: Any) -> tuple[list[Variable], Structure]:
    """The variables of a structure in order, and what puts results into the same structure."""
    leaves, build = flatten_any(structure)
    return [v if isinstance(v, Variable) else as_variable(v) for v in leaves], build
