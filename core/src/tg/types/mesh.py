"""`Mesh`: the devices of one machine, or the processes of one program, arranged along axes that have names."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final, final

from tg.errors import InputError, message

HINT: Final = 'tg.Mesh({"data": 4, "model": 2}) has two axes'

Names = str | tuple[str, ...] | None
"""The axes of a mesh over which one axis of an array is split, the slowest first; None for an axis that is whole."""


@final
class Mesh:
    """Devices arranged along named axes; a value, which names no device.

    A backend fills it with its devices in their order, the last axis fastest.

    Args:
        axes: the number of devices along each axis, by the axis's name.
    Raises:
        InputError: no axes, a name that is no identifier, or a number that is no int of at least 1.
    Example:
        >>> import tg
        >>> mesh = tg.Mesh({"data": 4, "model": 2})
        >>> mesh.size, mesh.names, mesh == tg.Mesh({"data": 4, "model": 2})
        (8, ('data', 'model'), True)
    """

    __slots__ = ("_axes", "_numbers")

    def __init__(self, axes: Mapping[str, int]) -> None:
        if not isinstance(axes, Mapping) or not axes:
            raise InputError(message(f"Mesh: found {axes!r}, needed a number of devices for each name", hint=HINT))
        for name, length in axes.items():
            if not isinstance(name, str) or not name.isidentifier():
                raise InputError(message(f"Mesh: found the axis {name!r}, needed an identifier", hint=HINT))
            if type(length) is not int or length < 1:
                raise InputError(message(f"Mesh: axis {name!r}: found {length!r}, needed an int of at least 1"))
        self._axes = dict(axes)
        self._numbers: tuple[int, ...] | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the axes."""
        return tuple(self._axes)

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of devices along each axis."""
        return tuple(self._axes.values())

    @property
    def size(self) -> int:
        """The number of devices."""
        return math.prod(self.shape)

    @property
    def numbers(self) -> tuple[int, ...]:
        """The places of its devices among those that a backend has, in the order of the axes."""
        return tuple(range(self.size)) if self._numbers is None else self._numbers

    def slice(self, name: str, place: int) -> Mesh:
        """The devices at one place along an axis, which has the length 1 then.

        Raises:
            KeyError: the mesh has no such axis.
        """
        behind = math.prod(length for k, length in enumerate(self.shape) if k > self.names.index(name))
        length = self._axes[name]
        part = Mesh({**self._axes, name: 1})
        part._numbers = tuple(n for k, n in enumerate(self.numbers) if k // behind % length == place)
        return part

    def parts(self, names: Names) -> int:
        """The number of parts of an array's axis that is split over axes of the mesh.

        Raises:
            KeyError: the mesh has no such axis.
        """
        return math.prod(self._axes[name] for name in split_names(names))

    def __eq__(self, other: object) -> bool:
        return type(other) is Mesh and self._items == other._items

    def __hash__(self) -> int:
        return hash(self._items)

    @property
    def _items(self) -> tuple[object, ...]:
        return (*self._axes.items(), self._numbers)

    def __repr__(self) -> str:
        return f"Mesh({self._axes!r})"

    def __reduce__(self) -> tuple[object, ...]:
        return _restored, (self._axes, self._numbers)


def _restored(axes: Mapping[str, int], numbers: tuple[int, ...] | None) -> Mesh:
    mesh = Mesh(axes)
    mesh._numbers = numbers
    return mesh


def split_names(names: Names) -> tuple[str, ...]:
    """The axes of a mesh that an entry names: none, one or several."""
    if names is None:
        return ()
    return (names,) if isinstance(names, str) else names
