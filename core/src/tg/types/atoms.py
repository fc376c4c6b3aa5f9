"""Atoms: the indivisible symbolic integers, of which `Length`s are polynomials.

An atom is the length of an axis of a variable, a length that has a name, the value of an integer scalar, or an
operation on two lengths that leaves the polynomials. Atoms have an order and a hash that do not depend on what else was
made.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

if TYPE_CHECKING:
    from typing_extensions import TypeIs

    from tg.types.lengths import Length

KINDS: Final = ("//", "%", "min", "max", "broadcast", "*")
COMMUTATIVE: Final = ("min", "max", "broadcast", "*")


class Atom:
    """An indivisible symbolic integer: `not_one` if it counts as different from 1, `natural` if it is at least 0."""

    __slots__ = ("_hash", "natural", "not_one", "order")
    natural: bool
    not_one: bool
    order: tuple[int, ...]  # how atoms stand in a product: the same whatever was made before
    _hash: int

    def __hash__(self) -> int:
        return self._hash


def order_of(atom: Atom) -> tuple[int, ...]:
    """An atom's place among those of a product."""
    return atom.order


def is_symbolic(length: int | Length | None) -> TypeIs[Length]:
    """Whether a length is a polynomial, and no number."""
    return hasattr(length, "terms")


def _serial(owner: object) -> int:
    """A number that orders owners as they were made, so that products read alike in every process."""
    serial = getattr(owner, "serial", None)
    return serial if isinstance(serial, int) else id(owner)


def _spread(key: object) -> object:
    """A key whose hash tells -1 from -2, which Python's does not: products are sorted by the hashes of their atoms."""
    return (key < 0, abs(key)) if isinstance(key, int) else key


def _youngest(length: int | Length) -> tuple[int, int]:
    """The number of the last value that a length is made of, and its axis."""
    if not is_symbolic(length):
        return (-1, 0)
    atoms = (atom for monomial in length.terms for atom in monomial)
    return max(((-1, 0) if type(atom) is NamedLength else atom.order[1:3] for atom in atoms), default=(-1, 0))  # type: ignore[return-value]


def _form(length: int | Length) -> int:
    """A hash of a length, the values that it is made of left out."""
    if not is_symbolic(length):
        return hash(_spread(length))
    terms = ((*sorted(map(_form_of_atom, monomial)), _spread(c)) for monomial, c in length.terms.items())
    return hash(frozenset(terms))


def _form_of_atom(atom: Atom) -> int:
    if type(atom) is Derived:
        return atom.order[3]
    return atom._hash if type(atom) is NamedLength else hash(_spread(atom.order[2]))


@final
class AxisLength(Atom):
    """The length of one axis of a value; `owner` is compared by identity."""

    __slots__ = ("axis", "owner")

    def __init__(self, owner: object, axis: int, *, not_one: bool = False) -> None:
        self.owner, self.axis, self.natural, self.not_one = owner, axis, True, not_one
        self.order = (0, _serial(owner), axis)
        self._hash = hash((0, _serial(owner), _spread(axis)))

    def __eq__(self, other: object) -> bool:
        return type(other) is AxisLength and self.owner is other.owner and self.axis == other.axis

    __hash__ = Atom.__hash__

    def __repr__(self) -> str:
        return f"{label(self.owner)}.shape[{self.axis}]"


@final
class NamedLength(Atom):
    """A length that has a name: all inputs whose shapes have this name agree."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name, self.natural, self.not_one = name, True, False
        self.order = (-1, int.from_bytes(name.encode()), 0)
        self._hash = hash(self.order)

    def __eq__(self, other: object) -> bool:
        return type(other) is NamedLength and self.name == other.name

    __hash__ = Atom.__hash__

    def __reduce__(self) -> tuple[object, ...]:
        return (NamedLength, (self.name,))

    def __repr__(self) -> str:
        return self.name


@final
class ScalarValue(Atom):
    """The value of an integer scalar used as a size; `owner` is compared by identity."""

    __slots__ = ("owner",)

    def __init__(self, owner: object) -> None:
        self.owner, self.natural, self.not_one = owner, False, True
        self.order = (1, _serial(owner), 0)
        self._hash = hash((1, _serial(owner)))

    def __eq__(self, other: object) -> bool:
        return type(other) is ScalarValue and self.owner is other.owner

    __hash__ = Atom.__hash__

    def __repr__(self) -> str:
        return label(self.owner)


@final
class Derived(Atom):
    """An operation on two lengths that is no polynomial: `kind` is one of //, %, min, max, broadcast.

    Or a product, "*", that is not written as one, for it would have too many terms: see `tg.types.lengths.times`.
    """

    __slots__ = ("kind", "lhs", "rhs", "sides", "words")
    sides: object  # what equal operations have in common

    def __init__(self, kind: str, lhs: int | Length, rhs: int | Length, natural_l: bool, natural_r: bool) -> None:
        self.kind, self.lhs, self.rhs = kind, lhs, rhs
        self.words = words(lhs) + words(rhs)
        self.natural = natural_l or natural_r if kind == "max" else natural_l and natural_r
        self.not_one = kind != "broadcast"
        sides = (_spread(key(lhs)), _spread(key(rhs)))
        parts: tuple[int | Length, ...] = (lhs, rhs)
        self.sides = frozenset(sides) if kind in COMMUTATIVE else sides
        if kind == "broadcast":  # of several, in whatever order
            by_key = {**broadcast_parts(lhs), **broadcast_parts(rhs)}
            self.sides, parts = frozenset(by_key), tuple(by_key.values())
        number, forms = 2 + KINDS.index(kind), tuple(map(_form, parts))
        self._hash = hash((number, self.sides))
        form = hash((number, frozenset(forms) if isinstance(self.sides, frozenset) else forms))
        # hashes of numbers of variables say nothing of which was made first: they are asked last
        self.order = (number, *max(map(_youngest, parts)), form, self._hash)

    def __eq__(self, other: object) -> bool:
        return (
            type(other) is Derived
            and self.kind == other.kind
            and self._hash == other._hash
            and self.sides == other.sides
        )

    __hash__ = Atom.__hash__

    def __repr__(self) -> str:
        return f"({self.lhs} {self.kind} {self.rhs})"


Monomial = tuple[Atom, ...]
Terms = dict[Monomial, int]


def words(length: int | Length | None) -> int:
    """Count of the numbers, and of the atoms that are no operations, in a length as written out."""
    if not is_symbolic(length):
        return 1
    if length._words is None:
        length._words = sum(max(1, sum(atom.words if type(atom) is Derived else 1 for atom in m)) for m in length.terms)
    return length._words


def label(owner: object) -> str:
    """Name of an atom's owner in texts."""
    name = getattr(owner, "name", None)
    return name if isinstance(name, str) else "_"


def key(length: int | Length | None) -> object:
    """A hashable value that equal lengths share."""
    return length.key if is_symbolic(length) else length


def broadcast_parts(length: int | Length) -> dict[object, int | Length]:
    """The lengths that one is broadcast of, by their keys."""
    atom = length.atom if is_symbolic(length) else None
    if type(atom) is not Derived or atom.kind != "broadcast":
        return {key(length): length}
    return broadcast_parts(atom.lhs) | broadcast_parts(atom.rhs)
