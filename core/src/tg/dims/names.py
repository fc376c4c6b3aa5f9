"""Names of axes: the position of a name, errors about names, operands with their axes in one order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from tg.errors import InputError, ShapeError, message, nearest
from tg.graph.operators import NAMESPACE as F
from tg.types.lengths import same
from tg.variables.structure import short

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tg.graph.nodes import Variable
    from tg.types.lengths import Length

Dims = tuple[str, ...]


class Operand(NamedTuple):
    """A variable, and the names of its axes."""

    value: Variable
    dims: Dims


def shown(names: Iterable[Any]) -> str:
    """Names as an error lists them."""
    return ", ".join(map(repr, names)) or "none"


def unknown(what: str, name: Any, dims: Dims) -> InputError:
    """The error about a name that no axis has, with the nearest."""
    near = nearest(name, dims) if isinstance(name, str) else []
    needed = f"one of {shown(dims)}" if dims else "no name: it has no axes"
    hint = f"{near[0]!r} is one" if near else None
    return InputError(message(f"dims: {what}: found {name!r}, needed {needed}", hint=hint))


def axis_of(what: str, name: Any, dims: Dims) -> int:
    """The position of a name.

    Raises:
        InputError: no axis has it.
    """
    if not isinstance(name, str) or name not in dims:
        raise unknown(what, name, dims)
    return dims.index(name)


def names_of(what: str, dim: Any, dims: Dims) -> Dims:
    """The names that an argument says: one, several, or all where it is None or `...`.

    Raises:
        InputError: no axis has one of them, or one is said twice.
    """
    if dim is None or dim is ...:
        return dims
    names = tuple(dim) if isinstance(dim, list | tuple | set | frozenset) else (dim,)
    for name in names:
        axis_of(what, name, dims)
    return distinct(what, names)


def distinct(what: str, names: Iterable[Any]) -> Dims:
    """Names, of which none stands twice.

    Raises:
        InputError: one does, or is no string; they have no order.
    """
    if isinstance(names, set | frozenset) or not hasattr(names, "__iter__"):
        raise InputError(message(f"dims: {what}: found {short(names)}, needed names in an order"))
    names = tuple(names)
    for k, name in enumerate(names):
        if not isinstance(name, str):
            raise InputError(message(f"dims: {what}: found the name {name!r}, needed a string"))
        if name in names[:k]:
            raise InputError(message(f"dims: {what}: found {name!r} twice, needed names that differ"))
    return names


def in_order(what: str, names: Sequence[Any], dims: Dims) -> Dims:
    """All names in the order of some, where `...` stands for the others.

    Raises:
        InputError: names are missing, or unknown.
    """
    if names.count(...) > 1:
        raise InputError(message(f"dims: {what}: found '...' twice, needed it once"))
    stated = names_of(what, [name for name in names if name is not ...], dims)
    others = tuple(name for name in dims if name not in stated)
    if ... in names:
        k = names.index(...)
        return (*stated[:k], *others, *stated[k:])
    if others and names:
        hint = "... stands for the others"
        text = f"dims: {what}: found {shown(stated)}, needed all of {shown(dims)}"
        raise InputError(message(text, hint=hint))
    return stated or dims[::-1]


def agreeing(what: str, operands: Sequence[Operand]) -> list[Operand]:
    """Operands, of which it is made sure that axes of one name have one length.

    Raises:
        ShapeError: lengths that are known differ.
    """
    lengths: dict[str, int | Length] = {}
    results = []
    for value, dims in operands:
        wanted: list[Any] = [None] * len(dims)
        for k, (name, own) in enumerate(zip(dims, value.shape, strict=True)):
            length = lengths.setdefault(name, own)
            if isinstance(length, int) and isinstance(own, int) and length != own:
                text = f"dims: {what}: found {name!r} of length {length} and of {own}, needed one length"
                raise ShapeError(message(text))
            wanted[k] = None if same(length, own) else length
        stated = value if all(n is None for n in wanted) else F.specify_shape(value, tuple(wanted))
        results.append(Operand(stated, dims))
    return results


def aligned(what: str, operands: Sequence[Operand]) -> tuple[list[Variable], Dims]:
    """Variables whose axes stand in one order, of length 1 where one has none; and the names of that order.

    Raises:
        ShapeError: lengths that are known differ.
    """
    dims = tuple(dict.fromkeys(name for operand in operands for name in operand.dims))
    return [placed(operand, dims) for operand in agreeing(what, operands)], dims


def placed(operand: Operand, dims: Dims) -> Variable:
    """A variable with its axes in an order, and new ones of length 1 for names that it does not have."""
    value = ordered(operand, tuple(name for name in dims if name in operand.dims))
    missing = tuple(k for k, name in enumerate(dims) if name not in operand.dims)
    return F.expand_dims(value, missing) if missing and operand.dims else value


def ordered(operand: Operand, dims: Dims) -> Variable:
    """A variable with its axes in the order of its names."""
    if dims == operand.dims:
        return operand.value
    return F.transpose(operand.value, tuple(operand.dims.index(name) for name in dims))  # type: ignore[no-any-return]
