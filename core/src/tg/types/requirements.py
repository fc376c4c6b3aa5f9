"""Requirements: equalities of lengths that shape rules need and cannot prove, and broadcasting, which makes them."""

from __future__ import annotations

import contextlib
import threading
from typing import TYPE_CHECKING, Any, Final, Self

from tg.errors import ShapeError, message
from tg.types.atoms import AxisLength, Derived, ScalarValue, broadcast_parts
from tg.types.lengths import OPERATIONS, Length, from_terms, is_large, is_natural, operation, same, subtract, terms_of
from tg.types.substitution import atoms, mentioned, substitute

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tg.types.atoms import Atom

RESOLVE_STEPS: Final = 8  # how deep equalities within equalities are followed
BROADCAST_HINT: Final = "lengths must agree where neither is 1; x[:, None] adds an axis of length 1, which broadcasts"


def is_not_one(length: int | Length) -> bool:
    """Whether a length counts as different from 1, so that it never broadcasts."""
    if type(length) is not Length:
        return length != 1
    return all(atom.not_one for m in length.terms for atom in m)


def broadcast(a: int | Length, b: int | Length, what: Callable[[], str] | None = None) -> int | Length:
    """The length that two lengths broadcast to: equal ones stay, 1 gives way.

    Where neither can be 1 they must be equal: the requirement is recorded with the `Requirements` in force. A length
    that these have found to be 1 gives way too. Without any (while a user builds an expression) nothing is known not to
    be 1: a specialisation may show that it is.

    Raises:
        ShapeError: two known lengths differ and neither is 1.
    """
    sink: Requirements | None = getattr(_LOCAL, "sink", None)
    if sink is not None and sink.equal and a is not b:
        a, b = sink.resolve(a), sink.resolve(b)
    if a is b or (type(a) is int and a == 1):
        return b
    if type(b) is int and b == 1:
        return a
    if same(a, b):
        return a
    if type(a) is int and type(b) is int:
        text = f"{what() if what else 'broadcast'}: lengths do not broadcast: {a} and {b}"
        raise ShapeError(message(text, hint=BROADCAST_HINT))
    if type(a) is int:
        _require(a, b, what)
        return a
    if type(b) is int:
        _require(b, a, what)
        return b
    if sink is not None and is_not_one(a) and is_not_one(b):
        return require_same(a, b, what, broadcasts=True)
    return _broadcast_of(a, b)


def _broadcast_of(a: int | Length, b: int | Length) -> int | Length:
    """Broadcast of two unknown lengths: a, and of b what is not in it, so that what is repeated stands once."""
    first, other = broadcast_parts(a), broadcast_parts(b)
    if other.keys() >= first.keys():
        return b
    for k, part in other.items():
        if k not in first:
            a = operation("broadcast", a, part)
    return a


def _require(number: int, unknown: int | Length, what: Callable[[], str] | None) -> None:
    if is_not_one(unknown):
        require_same(number, unknown, what, broadcasts=True)


def require_same(
    a: int | Length | None,
    b: int | Length | None,
    what: Callable[[], str] | None = None,
    *,
    broadcasts: bool = False,
) -> int | Length:
    """The common value of two lengths that must agree; the more precise one is returned.

    Args:
        broadcasts: one that is 1 would be another matter, which the hint says.
    Raises:
        ShapeError: both are known and differ.
    """
    if a is None or b is None:
        return b if a is None else a  # type: ignore[return-value]
    if same(a, b):
        return a
    difference = subtract(a, b)
    if type(difference) is int:
        text = f"{what() if what else 'shapes'}: lengths differ: {a} and {b}"
        raise ShapeError(message(text, hint=BROADCAST_HINT if broadcasts else None))
    sink = getattr(_LOCAL, "sink", None)
    if sink is not None:
        return sink.require(a, b, what, broadcasts)  # type: ignore[no-any-return]
    return a if type(a) is int else b


class Requirements:
    """Collects the equalities of lengths that a shape rule needs and that are not provable."""

    __slots__ = ("_outer", "answers", "equal", "found", "links", "ones")

    def __init__(self) -> None:
        self.ones = False  # whether one was found to be 1
        self.equal: dict[Atom, int | Length] = {}  # an atom found equal to something that was met earlier
        self.found: list[tuple[int | Length, int | Length, str, bool]] = []  # the last: 1 would broadcast
        self.links: dict[Atom, tuple[int | Length, str]] = {}  # as `equal`, but step by step, and what needed it
        self.answers: dict[object, tuple[Any, tuple[Any, ...]]] = {}  # of `remembered`
        self._outer: Requirements | None = None

    def __enter__(self) -> Self:
        self._outer = getattr(_LOCAL, "sink", None)
        _LOCAL.sink = self
        return self

    def __exit__(self, *exc: object) -> None:
        _LOCAL.sink = self._outer

    def require(
        self, a: int | Length, b: int | Length, what: Callable[[], str] | None, broadcasts: bool = False
    ) -> int | Length:
        """Record that a and b must be equal, once for each pair, and return the one to go on with."""
        a, b = self.resolve(a), self.resolve(b)
        if same(a, b):
            return a
        text = what() if what else "shapes"
        self.found.append((a, b, text, broadcasts))
        self.ones = self.ones or same(a, 1) or same(b, 1)
        first, other = (b, a) if type(b) is int or _is_earlier(b, a) else (a, b)
        atom = other.atom if type(other) is Length else None
        if atom is not None and _is_known_before(first, atom):
            self._equate(atom, first, text)
        elif type(first) is Length and first.atom is not None and _is_known_before(other, first.atom):
            self._equate(first.atom, other, text)
        elif (solved := _solved(subtract(first, other))) is not None:
            self._equate(*solved, text)
        return first

    def _equate(self, atom: Atom, length: int | Length, text: str) -> None:
        self.equal[atom] = length
        self.links[atom] = length, text

    def behind(self, length: int | Length) -> Iterator[tuple[Atom, str]]:
        """The atoms of a length that another stands for, and those of that one, each with what needed them equal."""
        stack, visited = list(atoms(length)) if self.links else [], set()
        while stack:
            atom = stack.pop()
            if atom in self.links and atom not in visited:
                visited.add(atom)
                other, text = self.links[atom]
                yield atom, text
                stack.extend(atoms(other))

    def resolve(self, length: int | Length) -> int | Length:
        """The length with atoms replaced by what they were found equal to."""
        for _ in range(RESOLVE_STEPS):
            if not self.equal or type(length) is not Length:
                return length
            for atom in (*atoms(length), *(a for m in length.terms for a in m)):
                self._shorten(atom)
            resolved = substitute(length, self.equal)
            if resolved is length or is_large(resolved):
                return length
            length = resolved
        return length

    def _shorten(self, atom: Atom) -> None:
        """Let all atoms on a chain of equal ones point at its end, so that no chain is too long to follow."""
        path: list[Atom] = []
        target = self.equal.get(atom)
        while type(target) is Length and target.atom in self.equal and len(path) < len(self.equal):
            path.append(atom)
            atom = target.atom
            target = self.equal[atom]
        for passed in path:
            self.equal[passed] = target  # type: ignore[assignment]


def _solved(difference: int | Length) -> tuple[Atom, int | Length] | None:
    """An atom, the last made if possible, and what it is where the difference of two lengths is 0."""
    terms = terms_of(difference)
    alone = [m[0] for m, c in terms.items() if len(m) == 1 and c in (1, -1)]
    for atom in sorted(alone, key=lambda atom: (_age(atom), atom.order), reverse=True):
        rest = from_terms({m: -c * terms[(atom,)] for m, c in terms.items() if m != (atom,)})
        if not mentioned(atom, rest) and not (atom.natural and is_natural(subtract(-1, rest))):
            return atom, rest
    return None


def _is_known_before(length: int | Length, atom: Atom) -> bool:
    """Whether a length may stand for an atom: no part of it can be computed from what has the atom as a length."""
    return not mentioned(atom, length) and all(_age(part) <= _age(atom) for part in atoms(length))


def _age(atom: Atom) -> int:
    """The number of the last value that an atom is made of, by the order in which values were made; a name has none."""
    if type(atom) is Derived:
        return max((_age(part) for side in (atom.lhs, atom.rhs) for part in atoms(side)), default=0)
    return atom.order[1] if type(atom) in (AxisLength, ScalarValue) else 0


def _is_earlier(a: int | Length, b: int | Length) -> bool:
    """Whether a is the length of a value made before that whose length b is: of an input before what is computed.

    What stands for both must not be known by the later one, which may be computed from the earlier.
    """
    first, other = (n.atom if type(n) is Length else None for n in (a, b))
    return first is not None and other is not None and first.order < other.order


_LOCAL = threading.local()


def remembered(key: object, find: Callable[..., Any], *arguments: Any) -> Any:
    """Result of `find` for these arguments, asked once for a key while requirements are in force.

    An answer stays when more requirements are found: it must be right without them. The arguments live as long as the
    answer, so that a key may be made of their ids.
    """
    sink: Requirements | None = getattr(_LOCAL, "sink", None)
    if sink is None:
        return find(*arguments)
    answer = sink.answers.get((find, key))
    if answer is None:
        answer = sink.answers[find, key] = (find(*arguments), arguments)
    return answer[0]


@contextlib.contextmanager
def unheard() -> Iterator[None]:
    """Record nowhere what shape rules require: for the trace of an inner graph, which is typed again by itself.

    A rule or an expansion may trace one while another graph records what *its* values require.
    """
    sink = getattr(_LOCAL, "sink", None)
    _LOCAL.sink = None
    try:
        yield
    finally:
        _LOCAL.sink = sink


def equal_here(a: int | Length, b: int | Length) -> bool:
    """Whether two lengths are known to be equal, also by the requirements in force."""
    if same(a, b):
        return True
    sink: Requirements | None = getattr(_LOCAL, "sink", None)
    return sink is not None and bool(sink.equal) and same(sink.resolve(a), sink.resolve(b))


OPERATIONS["broadcast"] = broadcast
