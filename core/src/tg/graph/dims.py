"""Named lengths of inputs: the length here that each name stands for, and the checks that all who have it agree.

The first input that has a length by its plain name gives it. Every other one, and every input that has a length made
of names, is checked; after that the two are one length.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tg.errors import InputError, ShapeError, message
from tg.graph.checks import Check, Descriptor
from tg.graph.nodes import as_size_variable
from tg.graph.operators import NAMESPACE
from tg.types.atoms import AxisLength, NamedLength
from tg.types.lengths import Length, same
from tg.types.substitution import atoms, evaluate

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tg.graph.function_graph import FunctionGraph
    from tg.graph.nodes import Variable
    from tg.types.atoms import Atom
    from tg.types.tensor_type import TensorType

    Place = tuple[int, int]  # an input, and an axis from the front


def is_named(length: int | Length | None) -> bool:
    """Whether a length is made of names alone."""
    return type(length) is Length and all(type(atom) is NamedLength for atom in atoms(length))


def named_type(v: Variable) -> TensorType:
    """The type of an input, with those of its lengths that have names."""
    return v.type.with_shape([a if is_named(a) else b for a, b in zip(v.lengths, v.type.shape, strict=True)])


def _places(inputs: Sequence[Variable]) -> Iterator[tuple[Place, Length, str]]:
    """The axes whose lengths have names, plain ones first, each with what messages call it."""
    places = [
        ((k, axis), n, f"{v.name or f'input {k}'} axis {axis}")
        for k, v in enumerate(inputs)
        for axis, n in enumerate(v.lengths)
        if type(n) is Length and is_named(n)
    ]
    yield from sorted(places, key=lambda place: type(place[1].atom) is not NamedLength)


def tied(inputs: Sequence[Variable]) -> dict[Place, tuple[Place, ...]]:
    """For each axis that has a plain name all axes that have it: where one is 1, all are."""
    groups: dict[Atom, list[Place]] = {}
    for place, n, _ in _places(inputs):
        if n.atom is not None:
            groups.setdefault(n.atom, []).append(place)
    return {place: tuple(group) for group in groups.values() for place in group}


class Dims:
    """Lengths that names stand for, as inputs are seen one after the other."""

    def __init__(self) -> None:
        self.lengths: dict[str, int | Length] = {}
        self._labels: dict[str, str] = {}

    def agreements(
        self, inputs: Sequence[Variable], shapes: Sequence[Sequence[int | Length | None]]
    ) -> Iterator[tuple[int | Length, int | Length, str]]:
        """Pairs of lengths that have to be equal, and the text about two that are not, `{0}` and `{1}`.

        Raises:
            InputError: a name is part of lengths only, and no input's alone.
        """
        for (k, axis), n, label in _places(inputs):
            here = shapes[k][axis]
            assert here is not None
            name = n.atom.name if type(n.atom) is NamedLength else None
            if name is None:
                wanted = evaluate(n, lambda atom: self.length(atom.name) if type(atom) is NamedLength else None)
                yield wanted, here, f"dim {n}: found {{1}} ({label}), needed {{0}}"
            elif name in self.lengths:
                yield self.lengths[name], here, f"dim {name}: found {{0}} ({self._labels[name]}) and {{1}} ({label})"
            else:
                self.lengths[name], self._labels[name] = here, label

    def length(self, name: str) -> int | Length:
        """The length that a name stands for.

        Raises:
            InputError: no input has a length of this name alone.
        """
        value = self.lengths.get(name)
        if value is None:
            text = f"dim {name}: found no input that has it, needed one whose length is {name} alone"
            raise InputError(message(text, hint=f'tg.vector("x", shape=({name},)) has it'))
        return value


def bind(graph: FunctionGraph, inputs: Sequence[Variable]) -> Dims:
    """Let the inputs of a graph agree in their named lengths, with checks of what is not known to agree.

    Raises:
        ShapeError: lengths of one name cannot agree in this specialisation.
        InputError: as `Dims` says.
    """
    dims = Dims()
    for a, b, text in dims.agreements(inputs, [v.lengths for v in graph.inputs]):
        if same(a, b):
            continue
        if not _may_agree(a, b):
            raise ShapeError(message(text.format(*(n if type(n) is int else "another length" for n in (a, b)))))
        first, other = as_size_variable(a), as_size_variable(b)
        graph.require_equal(a, b, Check(NAMESPACE.equal(first, other), (first, other), Descriptor("ShapeError", text)))
    return dims


def _may_agree(a: int | Length, b: int | Length) -> bool:
    """Whether two lengths can be equal: that of an axis of an input is not 1 where it is unknown."""
    if type(a) is int and type(b) is int:
        return a == b
    return not any(
        m == 1 and type(n.atom) is AxisLength for m, n in ((a, b), (b, a)) if type(n) is Length and type(m) is int
    )


def check(inputs: Sequence[Variable], shapes: Sequence[Sequence[int]]) -> None:
    """Refuse the shapes of a call in which named lengths differ.

    Raises:
        ShapeError: two lengths of one name differ.
    """
    for a, b, text in Dims().agreements(inputs, shapes):
        if a != b:
            raise ShapeError(message(text.format(a, b)))
