"""Indexing by names: numbers, slices, positions along an axis, and positions that have names themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tg.dims.names import Dims, Operand, aligned, axis_of, ordered, shown
from tg.errors import InputError, message
from tg.graph.operators import NAMESPACE as F
from tg.variables.conversion import as_variable

if TYPE_CHECKING:
    from collections.abc import Mapping


def selected(x: Operand, indexers: Mapping[str, Any]) -> Operand:
    """Entries of an array: each axis that is named indexed by itself, or by positions with names, together.

    Args:
        indexers: by name an integer, a slice, a vector of integers or bools, or an `Operand` of positions.
    Raises:
        InputError: no axis has a name, or what indexes it has more axes; a condition has other axes than that one.
    """
    for name in indexers:
        axis_of("isel", name, x.dims)
    indexers = {name: _condition(name, index) for name, index in indexers.items()}
    x = _alone(x, {name: index for name, index in indexers.items() if not isinstance(index, Operand)})
    together = {name: index for name, index in indexers.items() if isinstance(index, Operand)}
    return _together(x, together) if together else x


def _condition(name: str, index: Any) -> Any:
    """A condition with the name of the axis that it indexes as a plain one; anything else as it is.

    Raises:
        InputError: a condition has other axes.
    """
    if not isinstance(index, Operand) or index.value.type.dtype != "bool":
        return index
    if index.dims != (name,):
        hint = "x.where(condition) has x's axes, and NaN where it does not hold"
        text = f"dims: isel: {name!r}: found a condition with the names {shown(index.dims)}, needed {name!r} alone"
        raise InputError(message(text, hint=hint))
    return index.value


def _alone(x: Operand, indexers: Mapping[str, Any]) -> Operand:
    """Numbers, slices and vectors, one axis after another."""
    value, dims = x
    for name, index in indexers.items():
        axis = dims.index(name)
        if isinstance(index, slice):
            value = value[(slice(None),) * axis + (index,)]
            continue
        i = as_variable(index)
        if i.type.ndim > 1:
            hint = "positions with names, tg.dims.Array(i, dims), may have any number of axes"
            raise InputError(message(f"dims: isel: {name!r}: found {i.type}, needed at most one axis", hint=hint))
        value = value[(slice(None),) * axis + (i,)]
        dims = dims if i.type.ndim else tuple(d for d in dims if d != name)
    return Operand(value, dims)


def _together(x: Operand, indexers: dict[str, Operand]) -> Operand:
    """Positions with names: their names stand where the first axis was that they index.

    An axis of x that has one of these names, and is not indexed, is gone along: entry i of it beside position i.
    """
    new = tuple(dict.fromkeys(name for index in indexers.values() for name in index.dims))
    for name in new:
        if name in x.dims and name not in indexers:
            indexers = indexers | {name: Operand(F.arange(x.value.shape[x.dims.index(name)]), (name,))}
    positions, new = aligned("isel", list(indexers.values()))
    rest = tuple(name for name in x.dims if name not in indexers)
    chosen = F.getitem(ordered(x, (*indexers, *rest)), tuple(positions))
    first = min(x.dims.index(name) for name in indexers)
    before = tuple(name for name in x.dims[:first] if name in rest)
    dims: Dims = (*before, *new, *(name for name in rest if name not in before))
    return Operand(ordered(Operand(chosen, (*new, *rest)), dims), dims)
