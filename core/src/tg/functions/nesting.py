"""Inputs in structures: lists, tuples, dicts and dataclasses of variables, which a call gives in the same nesting."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from tg.errors import InputError, message
from tg.variables.structure import LEAF, flatten, paths, short

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tg.variables.structure import Structure


class Nesting(NamedTuple):
    """The structures of a function's arguments, whose leaves are its inputs."""

    structures: tuple[Structure, ...]

    def leaves(self, name: str, args: Sequence[Any]) -> list[Any]:
        """The arguments of a call by position, leaf by leaf; the inputs of those that are missing come after.

        Raises:
            InputError: there are too many, or one is nested in another way.
        """
        if len(args) > len(self.structures):
            lines = ("arguments", f"({', '.join(map(repr, self.structures))})")
            raise InputError(message(f"{name}: found {len(args)} arguments, needed {len(self.structures)}", lines))
        leaves: list[Any] = []
        for k, (structure, value) in enumerate(zip(self.structures, args, strict=False)):
            leaves += structure.leaves_of(value, f"{name}: argument {k}")
        return leaves

    @property
    def places(self) -> list[str]:
        """The position of each input: the number of its argument, and the way there as Python writes it."""
        return [f"{k}{path}" for k, structure in enumerate(self.structures) for path in paths(structure)]

    def together(self, leaves: Iterable[Any]) -> list[Any]:
        """Values of the inputs in the structures of the arguments."""
        rest = iter(leaves)
        return [structure(rest) for structure in self.structures]


def nested(inputs: Any) -> tuple[list[Any], list[str], Nesting | None]:
    """The leaves of a list of inputs, what each is called, and the nesting: None where each input is a leaf itself.

    Raises:
        InputError: the inputs are one dict, or nothing to go over.
    """
    try:
        entries = [] if inputs is None else list(inputs)
    except TypeError:
        raise InputError(message(f"function: inputs: found {short(inputs)}, needed a list of variables")) from None
    if isinstance(inputs, dict):
        hint = "tg.function([{…}], outputs) is called with one dict"
        raise InputError(message(f"function: inputs: found {short(inputs)}, needed a list", hint=hint))
    flat = [flatten(entry) for entry in entries]
    nesting = Nesting(tuple(structure for _, structure in flat))
    is_flat = all(structure.key == LEAF for structure in nesting.structures)
    return [v for leaves, _ in flat for v in leaves], nesting.places, None if is_flat else nesting
