"""The arguments of a call taken apart: operands of a program, and the key of the program that computes it.

Arrays are operands. So are the integers of which results have their lengths or places, so that another shape or index
is the same program: `DYNAMIC` says of which functions. Everything else is part of the key.
"""

from __future__ import annotations

import types
from typing import TYPE_CHECKING, Any, Final, final

import numpy as np

from tg.eager.array import Array
from tg.errors import InputError, message
from tg.graph.nodes import Variable
from tg.types.lengths import Length

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

SHAPE: Final = frozenset((-1, 1))  # integers of shapes that a program has to know
NONE: Final = frozenset[int]()

DYNAMIC: Final[Mapping[str, tuple[frozenset[int | str], frozenset[int]]]] = {
    name: (frozenset(places), constants)
    for names, places, constants in (
        ("reshape broadcast_to tile", (1, "shape", "reps"), SHAPE),
        ("zeros ones empty full", (0, "shape"), SHAPE),
        ("eye tri", (0, 1, "n", "m", "n_rows", "n_cols"), SHAPE),
        ("arange", (0, 1, 2, "start", "stop", "step"), frozenset((-1, 0, 1))),
        ("linspace", (2, "num"), SHAPE),
        ("roll", (1, "shift"), NONE),
        ("repeat", (1, "repeats"), SHAPE),
        ("getitem setitem", (1,), NONE),
    )
    for name in names.split()
}
"""By the name of a function, the arguments (by place and by name) whose integers are operands, but for those known."""


class SymbolicCall(Exception):  # noqa: N818 (of control: it is always caught)
    """An argument is a variable: the call builds a graph."""


@final
class Arguments:
    """A call taken apart: operands, and keys of the programs that compute it.

    `key` is the part of the key of its program that does not depend on the types of operands.
    """

    __slots__ = ("_constants", "_parts", "key", "leaves")

    def __init__(
        self,
        name: str,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> None:
        self.leaves: list[Any] = []
        self._parts = args, kwargs
        dynamic, constants = DYNAMIC.get(name, (NONE, NONE))
        parts = [self._key(v, constants if k in dynamic else None) for k, v in enumerate(args)]
        named = [(k, self._key(v, constants if k in dynamic else None)) for k, v in kwargs.items()]
        self._constants = [constants if k in dynamic else None for k in (*range(len(args)), *kwargs)]
        self.key = (name, *parts, *named)

    def forget(self) -> None:
        """Hold the arrays no longer; only other leaves can be put in their places now."""
        args, kwargs = self.rebuilt(iter([leaf if type(leaf) is int else Hole() for leaf in self.leaves]), dynamic=True)
        self._parts, self.leaves = (tuple(args), kwargs), []

    def _key(self, value: Any, constants: frozenset[int] | None) -> Any:
        """The part of the key for a value; its arrays, and integers that need not be known, become leaves."""
        kind = type(value)
        if is_array(value):
            self.leaves.append(value)
            return None
        if kind is int:
            if constants is None or value in constants:
                return value, kind
            self.leaves.append(value)
            return kind
        if kind is tuple or kind is list:
            return (kind, *[self._key(v, constants) for v in value])
        if kind is slice:
            return (kind, *[self._key(v, constants) for v in (value.start, value.stop, value.step)])
        if kind is float or kind is complex:
            return repr(value), kind
        if value is None or kind is bool or kind is str or isinstance(value, np.dtype | type | types.EllipsisType):
            return value, kind
        return self._key_of_other(value, constants)

    def _key_of_other(self, value: Any, constants: frozenset[int] | None) -> Any:
        if isinstance(value, Variable | Length):
            raise SymbolicCall
        if isinstance(value, dict):
            return (dict, *[(k, self._key(v, constants)) for k, v in value.items()])
        if isinstance(value, tuple | list):
            return (type(value), *[self._key(v, constants) for v in value])
        try:
            hash(value)
        except TypeError as error:
            raise InputError(message(f"found {value!r}: {error}", hint="xp.asarray makes an array of it")) from None
        return value, type(value)

    def rebuilt(self, leaves: Iterator[Any], *, dynamic: bool) -> tuple[list[Any], dict[str, Any]]:
        """The arguments with other values in the places of the leaves.

        Args:
            dynamic: whether integers are among the leaves, as they are in `leaves`; else they stay as they are.
        """
        args, kwargs = self._parts
        places = iter(self._constants)

        def again(value: Any, fixed: frozenset[int] | None) -> Any:
            if is_array(value):
                return next(leaves)
            kind = type(value)
            if kind is int:
                return value if not dynamic or fixed is None or value in fixed else next(leaves)
            if kind is slice:
                return slice(*[again(v, fixed) for v in (value.start, value.stop, value.step)])
            if isinstance(value, dict):
                return {k: again(v, fixed) for k, v in value.items()}
            if isinstance(value, tuple | list):
                parts = [again(v, fixed) for v in value]
                return kind(*parts) if hasattr(kind, "_fields") else kind(parts)
            return value

        positional = [again(v, next(places)) for v in args]
        return positional, {k: again(v, next(places)) for k, v in kwargs.items()}


@final
class Hole:
    """The place of an array among arguments that do not hold it."""


def is_array(value: object) -> bool:
    """Whether a value is an operand by itself: an array of this module, or one of NumPy."""
    return type(value) is Array or type(value) is Hole or isinstance(value, np.ndarray | np.generic)


def pattern(shape: Sequence[int | Length | None]) -> tuple[int | None, ...]:
    """The lengths of a shape that a program knows: those that are 1."""
    return tuple([1 if n == 1 else None for n in shape])
