"""`Length`: an immutable symbolic integer, the length of an axis that is not known until run time.

A length is an `int` or a `Length`. A `Length` is a polynomial with integer coefficients over *atoms*, kept in canonical
form, so that lengths that are equal as polynomials are equal: `(n + 1) - n` is 1. Atoms are the length of an axis of a
variable, the value of an integer scalar, and the operations that leave the polynomials (`//`, `%`, `min` and
`broadcast`; `max` is a sum less a `min`). Shape rules are written once over `int | Length` and so run on numbers and
symbols alike.
"""

from __future__ import annotations

import contextlib
import math
import threading
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self, final

from tg.errors import ShapeError, SymbolicError, message

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterator, Mapping

type_ = type  # the built-in, under a name that no field shadows

RESOLVE_STEPS: Final = 8  # how deep equalities within equalities are followed
KINDS: Final = ("//", "%", "min", "max", "broadcast", "*")
COMMUTATIVE: Final = ("min", "max", "broadcast", "*")
BROADCAST_HINT: Final = "lengths must agree where neither is 1; x[:, None] adds an axis of length 1, which broadcasts"
COMPARE_HINT: Final = "tg.equal(x.shape[0], n) compares when the program runs; a static shape makes it an int"
BOUNDS: Final = 24  # how many bounds are tried to find a sign
CHOICES: Final = 4  # of how many lengths one is written as the least
LARGE: Final = 32  # a polynomial of more terms is not kept: the value becomes an atom of its own
LONG: Final = 64  # nor one of more words, written out: what stands for both sides of a min in a min doubles them
DEPTH: Final = 4  # of operations in operations, deeper ones are not written into texts
LONGEST: Final = 2**62  # no length, and no number of elements, is above: what is computed of lengths fits into int64
LONGEST_GIVEN: Final = 2**48  # of an array that a program is called with: more than a processor has addresses


class Atom:
    """An indivisible symbolic integer: `not_one` if it counts as different from 1, `natural` if it is at least 0."""

    __slots__ = ("_hash", "natural", "not_one", "order")
    natural: bool
    not_one: bool
    order: tuple[int, ...]  # how atoms stand in a product: the same whatever was made before
    _hash: int

    def __hash__(self) -> int:
        return self._hash


def _order(atom: Atom) -> tuple[int, ...]:
    return atom.order


def _serial(owner: object) -> int:
    """A number that orders owners as they were made, so that products read alike in every process."""
    found = getattr(owner, "serial", None)
    return found if isinstance(found, int) else id(owner)


def _spread(key: object) -> object:
    """A key whose hash tells -1 from -2, which Python's does not: products are sorted by the hashes of their atoms."""
    return (key < 0, abs(key)) if isinstance(key, int) else key


def _youngest(length: int | Length) -> tuple[int, int]:
    """The number of the last value that a length is made of, and its axis."""
    if type(length) is not Length:
        return (-1, 0)
    atoms = (atom for monomial in length.terms for atom in monomial)
    return max(((-1, 0) if type(atom) is NamedLength else atom.order[1:3] for atom in atoms), default=(-1, 0))  # type: ignore[return-value]


def _form(length: int | Length) -> int:
    """A hash of a length, the values that it is made of left out."""
    if type(length) is not Length:
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

    Or a product, "*", that is not written as one, for it would have too many terms: see `times`.
    """

    __slots__ = ("kind", "lhs", "rhs", "sides", "words")
    sides: object  # what equal operations have in common

    def __init__(self, kind: str, lhs: int | Length, rhs: int | Length) -> None:
        self.kind, self.lhs, self.rhs = kind, lhs, rhs
        self.words = words(lhs) + words(rhs)
        natural_l, natural_r = is_natural(lhs), is_natural(rhs)
        self.natural = natural_l or natural_r if kind == "max" else natural_l and natural_r
        self.not_one = kind != "broadcast"
        sides = (_spread(key(lhs)), _spread(key(rhs)))
        parts: tuple[int | Length, ...] = (lhs, rhs)
        self.sides = frozenset(sides) if kind in COMMUTATIVE else sides
        if kind == "broadcast":  # of several, in whatever order
            found = {**_broadcast_parts(lhs), **_broadcast_parts(rhs)}
            self.sides, parts = frozenset(found), tuple(found.values())
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
        return _atom_text(self, DEPTH)


Monomial = tuple[Atom, ...]
Terms = dict[Monomial, int]
Bound = tuple["int | Length", int]  # a value, and by how much it has been multiplied


@final
class Length:
    """A symbolic integer. It behaves as a Python int that cannot be looked at until the program runs.

    Raises:
        SymbolicError: its value is asked for (`int(n)`, `if n == 3`, `range(n)`).
    """

    __slots__ = ("_exact", "_key", "_natural", "_words", "terms")
    terms: Terms

    def __init__(self, terms: Terms) -> None:
        self.terms = terms
        self._key: frozenset[tuple[Monomial, int]] | None = None
        self._natural: bool | None = None
        self._exact: bool | None = None
        self._words: int | None = None

    @property
    def key(self) -> frozenset[tuple[Monomial, int]]:
        """What equal lengths share: the canonical polynomial."""
        if self._key is None:
            self._key = frozenset(self.terms.items())
        return self._key

    @property
    def atom(self) -> Atom | None:
        """The atom, if this length is just one."""
        if len(self.terms) != 1:
            return None
        ((monomial, factor),) = self.terms.items()
        return monomial[0] if factor == 1 and len(monomial) == 1 else None

    arrays: ClassVar[Any] = None  # the namespace of op functions, bound once: for operands that are no lengths

    def __add__(self, other: Any) -> Any:
        return add(self, other) if _is_length(other) else _as_array("add", self, other)

    def __radd__(self, other: Any) -> Any:
        return add(other, self) if _is_length(other) else _as_array("add", other, self)

    def __sub__(self, other: Any) -> Any:
        return subtract(self, other) if _is_length(other) else _as_array("subtract", self, other)

    def __rsub__(self, other: Any) -> Any:
        return subtract(other, self) if _is_length(other) else _as_array("subtract", other, self)

    def __mul__(self, other: Any) -> Any:
        return multiply(self, other) if _is_length(other) else _as_array("multiply", self, other)

    def __rmul__(self, other: Any) -> Any:
        return multiply(other, self) if _is_length(other) else _as_array("multiply", other, self)

    def __floordiv__(self, other: Any) -> Any:
        return floor_divide(self, other) if _is_length(other) else _as_array("floor_divide", self, other)

    def __rfloordiv__(self, other: Any) -> Any:
        return floor_divide(other, self) if _is_length(other) else _as_array("floor_divide", other, self)

    def __mod__(self, other: Any) -> Any:
        return remainder(self, other) if _is_length(other) else _as_array("remainder", self, other)

    def __rmod__(self, other: Any) -> Any:
        return remainder(other, self) if _is_length(other) else _as_array("remainder", other, self)

    def __truediv__(self, other: Any) -> Any:
        return _as_array("divide", self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return _as_array("divide", other, self)

    def __pow__(self, other: Any) -> Any:
        if type(other) is int and 0 <= other <= LARGE:
            return product((self,) * other)
        return _as_array("power", self, other)

    def __rpow__(self, other: Any) -> Any:
        return _as_array("power", other, self)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return Length.arrays.numpy_ufunc(ufunc, method, inputs, kwargs)

    def __neg__(self) -> int | Length:
        return multiply(-1, self)

    def __pos__(self) -> Length:
        return self

    def __eq__(self, other: object) -> bool:
        if not _is_length(other):
            if isinstance(other, float):
                self._refuse(f"whether it equals {other}")
            return NotImplemented
        difference = add(self, multiply(-1, other))  # type: ignore[arg-type]
        if type(difference) is int:
            return difference == 0
        self._refuse(f"whether it equals {other}")
        raise AssertionError

    def __hash__(self) -> int:
        return hash(self.key)

    def _refuse(self, what: str, hint: str = COMPARE_HINT) -> None:
        raise SymbolicError(message(f"length {self}: {what} is not known until the program runs", hint=hint))

    def __index__(self) -> int:
        self._refuse("its value", "tg.arange and tg.zeros take it as it is; a static shape makes it an int")
        raise AssertionError

    __int__ = __float__ = __index__

    def __bool__(self) -> bool:
        self._refuse("whether it is 0")
        raise AssertionError

    def __lt__(self, other: object) -> bool:
        if not isinstance(other, Length | int | float):
            return NotImplemented
        self._refuse(f"how it compares with {other}")
        raise AssertionError

    __le__ = __gt__ = __ge__ = __lt__

    def __repr__(self) -> str:
        return _text(self, DEPTH)


def _text(length: int | Length, depth: int) -> str:
    """A length as one writes it; of operations in operations, so many."""
    if type(length) is not Length:
        return str(length)
    return " + ".join(_term_text(m, c, depth) for m, c in written(length).items()).replace("+ -", "- ")


def _term_text(monomial: Monomial, factor: int, depth: int) -> str:
    names = [_atom_text(atom, depth) for atom in monomial]
    if factor != 1 or not names:
        names.insert(0, str(factor))
    return "*".join(names)


def _atom_text(atom: Atom, depth: int) -> str:
    if type(atom) is not Derived:
        return repr(atom)
    if not depth:
        return "…"
    if atom.kind in ("//", "%", "*"):
        return f"({_operand(atom.lhs, depth - 1)} {atom.kind} {_operand(atom.rhs, depth - 1)})"
    return f"{atom.kind}({_text(atom.lhs, depth - 1)}, {_text(atom.rhs, depth - 1)})"


def _operand(length: int | Length, depth: int) -> str:
    """A length as an operand of `//` or `%`: sums and products in parentheses."""
    lone = [(len(monomial), c) for monomial, c in _terms(length).items()] == [(1, 1)]
    text = _text(length, depth)
    return text if isinstance(length, int) or lone else f"({text})"


def words(length: int | Length | None) -> int:
    """How many numbers and atoms that are no operations a length has, written out."""
    if type(length) is not Length:
        return 1
    if length._words is None:
        length._words = sum(max(1, sum(atom.words if type(atom) is Derived else 1 for atom in m)) for m in length.terms)
    return length._words


def is_large(length: int | Length | None) -> bool:
    """Whether a length is not kept, but the value that has it becomes an atom of its own."""
    return type(length) is Length and (len(length.terms) > LARGE or words(length) > LONG)


def label(owner: object) -> str:
    """What an atom's owner is called in texts."""
    name = getattr(owner, "name", None)
    return name if isinstance(name, str) else "_"


def _as_array(name: str, lhs: Any, rhs: Any) -> Any:
    """An operation of a length with a number or an array that is no length: on variables."""
    for value in (lhs, rhs):
        if not isinstance(value, Length | bool | int | float | complex) and not hasattr(value, "__array_ufunc__"):
            return NotImplemented
    return getattr(Length.arrays, name)(lhs, rhs)


def _is_length(value: object) -> bool:
    kind = type_(value)
    return kind is int or kind is Length or (isinstance(value, int) and kind is not bool)


def of_atom(atom: Atom) -> Length:
    """The length that is one atom."""
    return Length({(atom,): 1})


def key(length: int | Length | None) -> object:
    """A hashable value that equal lengths share."""
    return length.key if type(length) is Length else length


def same(a: int | Length | None, b: int | Length | None) -> bool:
    """Whether two lengths are known to be equal (None is equal to None only)."""
    if a is b:
        return True
    if type(a) is Length:
        return type(b) is Length and a.key == b.key
    return type(b) is not Length and a == b


def _terms(length: int | Length) -> Terms:
    if type(length) is Length:
        return length.terms
    return {(): int(length)} if length else {}


def _from_terms(terms: Terms) -> int | Length:
    if 0 in terms.values():
        terms = {m: c for m, c in terms.items() if c}
    if not terms:
        return 0
    if len(terms) == 1 and () in terms:
        return terms[()]
    if len(terms) > 1:
        for monomial in terms:
            if len(monomial) == 1 and type(monomial[0]) is Derived and monomial[0].kind == "%":
                return _with_remainders(terms)
    return Length(terms)


def _with_remainders(terms: Terms) -> int | Length:
    """A polynomial with b * (a // b) + a % b written as a, for known b."""
    for monomial, c in terms.items():
        atom = monomial[0] if len(monomial) == 1 else None
        if type(atom) is Derived and atom.kind == "%" and type(atom.rhs) is int and atom.rhs > 0:
            whole = floor_divide(atom.lhs, atom.rhs)
            if type(whole) is Length and all(terms.get(m) == atom.rhs * c * k for m, k in whole.terms.items() if m):
                rest = Length({m: k for m, k in terms.items() if m is not monomial})
                return add(subtract(rest, multiply(c * atom.rhs, whole)), multiply(c, atom.lhs))
    return Length(terms)


def add(a: int | Length, b: int | Length) -> int | Length:
    """The sum of two lengths."""
    if type(a) is int:
        if type(b) is int:
            return a + b
        if a == 0:
            return b
    elif type(b) is int and b == 0:
        return a
    total = dict(_terms(a))
    for monomial, factor in _terms(b).items():
        total[monomial] = total.get(monomial, 0) + factor
    return _from_terms(total)


def subtract(a: int | Length, b: int | Length) -> int | Length:
    """The difference of two lengths."""
    if type(b) is int:
        return add(a, -b)
    total = dict(_terms(a))
    for monomial, factor in _terms(b).items():
        total[monomial] = total.get(monomial, 0) - factor
    return _from_terms(total)


def multiply(a: int | Length, b: int | Length) -> int | Length:
    """The product of two lengths."""
    if type(a) is int:
        return a * b if type(b) is int else _scaled(b, a)
    if type(b) is int:
        return _scaled(a, b)
    total: Terms = {}
    for left, p in _terms(a).items():
        for right, q in _terms(b).items():
            monomial = tuple(sorted((*left, *right), key=_order))
            total[monomial] = total.get(monomial, 0) + p * q
    return _from_terms(total)


def times(a: int | Length, b: int | Length, most: int = LARGE) -> int | Length:
    """The product of two lengths as `multiply` makes it, or, if it might have more terms than `most`, as an atom.

    The product of n lengths of two terms has 2**n. What is kept as a product equals only what is made of equal factors,
    multiples apart: it is for what is written into code, not for types.
    """
    first, other = _terms(a), _terms(b)
    if type(a) is int or type(b) is int or len(first) * len(other) <= most:
        return multiply(a, b)
    p, q = math.gcd(*first.values()), math.gcd(*other.values())
    kept = Derived(
        "*", _from_terms({m: c // p for m, c in first.items()}), _from_terms({m: c // q for m, c in other.items()})
    )
    return _scaled(of_atom(kept), p * q)


def _scaled(length: int | Length, factor: int) -> int | Length:
    if factor == 1:
        return length
    return _from_terms({m: factor * c for m, c in _terms(length).items()}) if factor else 0


def floor_divide(a: int | Length, b: int | Length) -> int | Length:
    """`a // b`: multiples of b are divided exactly, so that what is left has coefficients from 0 to b - 1."""
    if type(a) is int and type(b) is int:
        return a // b if b else 0
    if type(b) is int and b > 0:
        terms = _terms(a)
        whole = _from_terms({m: c // b for m, c in terms.items()})
        return add(whole, _part_divided(_from_terms({m: c % b for m, c in terms.items()}), b))
    if type(a) is int and a == 0:
        return 0
    exact = _exact_quotient(a, b) if is_natural(subtract(b, 1)) else None
    return exact if exact is not None else of_atom(Derived("//", a, b))  # b may be 0, which gives 0 and no quotient


def whole_quotient(a: int | Length, b: int | Length) -> int | Length:
    """`a // b` for a b that is not 0, or of which it does not matter: q of a = q * b."""
    found = _exact_quotient(a, b)
    return found if found is not None else floor_divide(a, b)


def _part_divided(a: int | Length, b: int) -> int | Length:
    """`a // b` for coefficients from 0 to b - 1: (a // c) // b is a // (c * b), (a % b) // b is 0."""
    if type(a) is not Length:
        return a // b
    atom = a.atom
    if type(atom) is Derived and type(atom.rhs) is int and atom.rhs > 0:
        if atom.kind == "//":
            return floor_divide(atom.lhs, atom.rhs * b)
        if atom.kind == "%" and atom.rhs <= b:
            return 0
    return of_atom(Derived("//", a, b))


def _leading(length: int | Length) -> Monomial:
    """The monomial of the highest degree, of those the first in the order of their atoms."""
    return min(_terms(length), key=lambda m: (-len(m), tuple(map(_order, m))))


def _exact_quotient(a: int | Length, b: int | Length) -> int | Length | None:
    """The polynomial q with q * b = a, if there is one; b is taken to be positive, as lengths are."""
    if type(b) is not Length:
        return None
    divisor = _leading(b)
    factor = b.terms[divisor]
    quotient: int | Length = 0
    for _ in range(LARGE):
        if type(a) is int and a == 0:
            return quotient
        highest = _leading(a)
        c = _terms(a)[highest]
        rest = _without(highest, divisor)
        if rest is None or c % factor:
            return None
        part = _from_terms({rest: c // factor})
        quotient, a = add(quotient, part), subtract(a, multiply(part, b))
    return None


def _without(monomial: Monomial, divisor: Monomial) -> Monomial | None:
    """The monomial that a divisor leaves of one, None where it does not divide it."""
    rest = list(monomial)
    for atom in divisor:
        if atom not in rest:
            return None
        rest.remove(atom)
    return tuple(rest)


def remainder(a: int | Length, b: int | Length) -> int | Length:
    """`a % b`: multiples of b are left out."""
    if type(a) is int and type(b) is int:
        return a % b if b else 0
    if type(b) is int and b > 0:
        a = _from_terms({m: c % b for m, c in _unwrapped(a, b).items()})
        atom = a.atom if type(a) is Length else None
        if type(a) is int or (type(atom) is Derived and atom.kind == "%" and type(atom.rhs) is int and atom.rhs == b):
            return a
    elif _exact_quotient(a, b) is not None:
        return 0
    return of_atom(Derived("%", a, b))


def _unwrapped(a: int | Length, b: int) -> Terms:
    """The terms of a length with x % c written as x where b divides c: modulo b they are the same."""
    for monomial, c in _terms(a).items():
        atom = monomial[0] if len(monomial) == 1 else None
        if type(atom) is Derived and atom.kind == "%" and type(atom.rhs) is int and atom.rhs > b and atom.rhs % b == 0:
            rest = _from_terms({m: k for m, k in _terms(a).items() if m is not monomial})
            return _unwrapped(add(rest, multiply(c, atom.lhs)), b)
    return _terms(a)


def minimum(a: int | Length, b: int | Length) -> int | Length:
    """The smaller of two lengths; decided where the sign of their difference is known."""
    if type(a) is int and type(b) is int:
        return min(a, b)
    difference = subtract(b, a)
    if is_natural(difference):
        return a
    if is_natural(multiply(-1, difference)):
        return b
    return _least(a, difference)


def maximum(a: int | Length, b: int | Length) -> int | Length:
    """The larger of two lengths; decided where the sign of their difference is known."""
    if type(a) is int and type(b) is int:
        return max(a, b)
    difference = subtract(b, a)
    if is_natural(difference):
        return b
    if is_natural(multiply(-1, difference)):
        return a
    return subtract(add(a, b), _least(a, difference))


def _least(a: int | Length, difference: int | Length) -> int | Length:
    """The smaller of a and a + difference: what both have stands outside, and inside no coefficient is below 0.

    min(n + 1, m + 1) is min(n, m) + 1. The larger is the sum less the smaller, so max(n - 1, 0) is n - min(n, 1).
    """
    terms = _terms(difference)
    inside = _from_terms({m: -c for m, c in terms.items() if c < 0})
    other = _from_terms({m: c for m, c in terms.items() if c > 0})
    rest = subtract(a, inside)
    for one, another in ((inside, other), (other, inside)):
        if type(one) is int and one >= LONGEST:  # no length is above, and int64 does not hold all that are
            return add(rest, another)
    found = [*_choices(inside), *_choices(other)]
    if len(found) > 2:
        least = _undominated(found)
        if len(least) <= 2:
            return add(rest, minimum(least[0], least[-1]))
    return add(rest, of_atom(Derived("min", inside, other)))


def _undominated(lengths: list[int | Length]) -> list[int | Length]:
    """Those of several lengths that may be the least."""
    kept: list[int | Length] = []
    for x in lengths:
        if not any(is_natural(subtract(x, y)) for y in kept):
            kept = [y for y in kept if not is_natural(subtract(y, x))]
            kept.append(x)
    return kept


def _choices(length: int | Length) -> list[int | Length]:
    """Lengths of which a length without negative coefficients is the least: 2 * min(1, n) is that of 2 and 2 * n."""
    found = [length]
    for monomial, c in _terms(length).items():
        atom = monomial[0] if len(monomial) == 1 else None
        if type(atom) is Derived and atom.kind == "min" and len(found) < CHOICES:
            rest = [subtract(x, _from_terms({monomial: c})) for x in found]
            found = [add(x, multiply(c, side)) for x in rest for side in (atom.lhs, atom.rhs)]
    return found


def written(length: int | Length) -> Terms:
    """The terms of a length as one writes them: n - min(n, 1) is max(0, n - 1), and n + m - min(n, m) is max(n, m)."""
    terms = _terms(length)
    for monomial, c in terms.items():
        atom = monomial[0] if len(monomial) == 1 else None
        if type(atom) is not Derived or atom.kind != "min" or c >= 0:
            continue
        a, b = (atom.rhs, atom.lhs) if type(atom.lhs) is int else (atom.lhs, atom.rhs)
        for whole, largest in ((add(a, b), (a, b)), (a, (0, subtract(a, b))), (b, (0, subtract(b, a)))):
            taken = {m: -c * k for m, k in _terms(whole).items()}
            if taken and all(terms.get(m, 0) >= k for m, k in taken.items()):
                rest = {m: k - taken.get(m, 0) for m, k in terms.items() if m is not monomial}
                return {**written(_from_terms(rest)), (Derived("max", *largest),): -c}
    return terms


TRIED: Final = (0, 1_000_003)
"""Lengths for which what may be below 0 mostly is."""
MOST_BITS: Final = 256


def is_natural(length: int | Length) -> bool:
    """Whether a length is known to be at least 0."""
    if type(length) is not Length:
        return length >= 0
    if length._natural is None:
        length._natural = not _is_refuted(length) and _is_natural(length, [BOUNDS])
    return length._natural


def _is_refuted(length: Length) -> bool:
    """Whether a length is below 0 where all lengths that it is made of are one of `TRIED`: no bounds show more then.

    Each word is looked at once, where bounds are put in place of atoms one after another, and mostly show nothing: a
    chain of 400 times `concatenate([y, y[:2]])` is built in a tenth of the time.
    """
    return any((value := _value_at(length, point, {})) is not None and value < 0 for point in TRIED)


def _value_at(length: int | Length, point: int, values: dict[Atom, int | None]) -> int | None:
    """A length where all that it is made of are `point`; None where lengths do not broadcast, or numbers get long."""
    if type(length) is not Length:
        return length
    total = 0
    for monomial, c in length.terms.items():
        term = c
        for atom in monomial:
            if atom not in values:
                values[atom] = _atom_at(atom, point, values)
            factor = values[atom]
            if factor is None:
                return None
            term *= factor
            if term.bit_length() > MOST_BITS:  # squares of squares would have more digits than there is memory
                return None
        total += term
    return total


def _atom_at(atom: Atom, point: int, values: dict[Atom, int | None]) -> int | None:
    if type(atom) is not Derived:
        return point
    a, b = _value_at(atom.lhs, point, values), _value_at(atom.rhs, point, values)
    if a is None or b is None:
        return None
    if atom.kind == "broadcast":
        return a if b in (a, 1) else b if a == 1 else None
    if atom.kind in ("//", "%"):
        return 0 if b == 0 else a // b if atom.kind == "//" else a % b
    return a * b if atom.kind == "*" else min(a, b) if atom.kind == "min" else max(a, b)


def _is_natural(length: int | Length, budget: list[int]) -> bool:
    """As `is_natural`, by putting bounds in place of derived atoms; a number of them is tried, not more."""
    if type(length) is not Length:
        return length >= 0
    fine = True
    derived: dict[Derived, None] = {}
    for monomial, c in length.terms.items():
        fine = fine and c >= 0
        for atom in monomial:
            fine = fine and atom.natural
            if type(atom) is Derived:
                derived[atom] = None
    if fine:
        return True
    for atom in derived:
        where = {m: c for m, c in length.terms.items() if atom in m}
        signs = {c > 0 for c in where.values()}
        plain = all(m.count(atom) == 1 and all(other.natural for other in m if other != atom) for m in where)
        if not plain:
            continue
        every, bounds = _bounds(atom, signs)
        decide = all if every else any
        if bounds and decide(_is_natural_with(length, atom, bound, budget) for bound in bounds):
            return True
    return False


def _is_natural_with(length: Length, atom: Atom, bound: Bound, budget: list[int]) -> bool:
    budget[0] -= 1
    if budget[0] < 0:
        return False
    value, scale = bound
    total: int | Length = 0
    for monomial, c in length.terms.items():
        rest = _without(monomial, (atom,))
        if rest is None:
            total = add(total, _from_terms({monomial: scale * c}))
        else:
            total = add(total, multiply(_from_terms({rest: c}), value))
    return _is_natural(total, budget)


def _bounds(atom: Derived, signs: set[bool]) -> tuple[bool, list[Bound]]:
    """What bounds an atom where its coefficients have these signs (whether above 0), and whether all bounds are needed.

    A positive coefficient takes a bound from below, a negative one from above. Both hold for the values of which a min
    or max is one, if each of them is tried.
    """
    a, b = atom.lhs, atom.rhs
    if atom.kind in ("min", "max"):
        return signs != {atom.kind == "max"}, [(a, 1), (b, 1)]
    if len(signs) > 1 or atom.kind == "broadcast" or not is_natural(a) or not is_natural(b):
        return False, []
    if signs == {True}:
        return False, [(0, 1)]
    if atom.kind == "*":
        return False, []
    if atom.kind == "//":
        return False, [(a, b)] if type(b) is int and b > 0 else [(a, 1)]
    return False, [(a, 1), (b - 1 if type(b) is int and b > 0 else b, 1)]


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
    """What neither is known of: a, and of b what is not in it, so that what is repeated many times stands once."""
    first, other = _broadcast_parts(a), _broadcast_parts(b)
    if other.keys() >= first.keys():
        return b
    for k, part in other.items():
        if k not in first:
            a = of_atom(Derived("broadcast", a, part))
    return a


def _broadcast_parts(length: int | Length) -> dict[object, int | Length]:
    """The lengths that one is broadcast of, by their keys."""
    atom = length.atom if type(length) is Length else None
    if type(atom) is not Derived or atom.kind != "broadcast":
        return {key(length): length}
    return _broadcast_parts(atom.lhs) | _broadcast_parts(atom.rhs)


def _require(known: int, unknown: int | Length, what: Callable[[], str] | None) -> None:
    if is_not_one(unknown):
        require_same(known, unknown, what, broadcasts=True)


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
        stack, seen = list(atoms(length)) if self.links else [], set()
        while stack:
            atom = stack.pop()
            if atom in self.links and atom not in seen:
                seen.add(atom)
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
        found = self.equal.get(atom)
        while type(found) is Length and found.atom in self.equal and len(path) < len(self.equal):
            path.append(atom)
            atom = found.atom
            found = self.equal[atom]
        for passed in path:
            self.equal[passed] = found  # type: ignore[assignment]


def _solved(difference: int | Length) -> tuple[Atom, int | Length] | None:
    """An atom, the last made if possible, and what it is where the difference of two lengths is 0."""
    terms = _terms(difference)
    alone = [m[0] for m, c in terms.items() if len(m) == 1 and c in (1, -1)]
    for atom in sorted(alone, key=lambda atom: (_age(atom), atom.order), reverse=True):
        rest = _from_terms({m: -c * terms[(atom,)] for m, c in terms.items() if m != (atom,)})
        if not _mentioned(atom, rest) and not (atom.natural and is_natural(subtract(-1, rest))):
            return atom, rest
    return None


def _is_known_before(length: int | Length, atom: Atom) -> bool:
    """Whether a length may stand for an atom: no part of it can be computed from what has the atom as a length."""
    return not _mentioned(atom, length) and all(_age(part) <= _age(atom) for part in atoms(length))


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


def remembered(key: object, find: Callable[..., Any], *given: Any) -> Any:
    """What `find` gives for these arguments, asked once for a key while requirements are in force.

    An answer stays when more requirements are found: it must be right without them. The arguments live as long as the
    answer, so that a key may be made of their ids.
    """
    sink: Requirements | None = getattr(_LOCAL, "sink", None)
    if sink is None:
        return find(*given)
    found = sink.answers.get((find, key))
    if found is None:
        found = sink.answers[find, key] = (find(*given), given)
    return found[0]


@contextlib.contextmanager
def unheard() -> Iterator[None]:
    """What shape rules require is recorded by nobody: for the trace of an inner graph, which is typed again by itself.

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


def substitute(length: int | Length, values: Mapping[Atom, int | Length]) -> int | Length:
    """The length with atoms replaced."""
    return evaluate(length, values.get) if _mentions(length, values) else length


def _mentions(length: int | Length, values: Container[Atom]) -> bool:
    return any(atom in values for atom in _below(length))


def _mentioned(atom: Atom, length: int | Length) -> bool:
    return _mentions(length, (atom,))


OPERATIONS: Final[dict[str, Callable[..., Any]]] = {
    "//": floor_divide,
    "%": remainder,
    "min": minimum,
    "max": maximum,
    "broadcast": broadcast,
    "*": times,
}


def evaluate(length: int | Length, value_of: Callable[[Atom], int | Length | None]) -> int | Length:
    """The length with each basic atom replaced by `value_of(atom)` (None keeps it): numbers in, a number out."""
    return _evaluated(length, value_of, {})


def _evaluated(
    length: int | Length, value_of: Callable[[Atom], int | Length | None], known: dict[Derived, int | Length]
) -> int | Length:
    if type(length) is not Length:
        return length
    total: int | Length = 0
    for monomial, factor in length.terms.items():
        product: int | Length = factor
        for atom in monomial:
            product = multiply(product, _atom_value(atom, value_of, known))
        total = add(total, product)
    return total


def _atom_value(
    atom: Atom, value_of: Callable[[Atom], int | Length | None], known: dict[Derived, int | Length]
) -> int | Length:
    found = value_of(atom)
    if found is not None:
        return found
    if type(atom) is not Derived:
        return of_atom(atom)
    found = known.get(atom)
    if found is None:
        sides = (_evaluated(side, value_of, known) for side in (atom.lhs, atom.rhs))
        found = known[atom] = OPERATIONS[atom.kind](*sides)
    return found


def _below(length: int | Length | None) -> Iterator[Atom]:
    """The atoms of a length, and those in the operations among them, each operation once."""
    seen: set[Atom] = set()
    stack = [length]
    while stack:
        top = stack.pop()
        for monomial in top.terms if type(top) is Length else ():
            for atom in monomial:
                if type(atom) is Derived:
                    if atom in seen:
                        continue
                    seen.add(atom)
                    stack += (atom.rhs, atom.lhs)
                yield atom


def atoms(length: int | Length | None) -> Iterator[Atom]:
    """The basic atoms below a length."""
    return (atom for atom in _below(length) if type(atom) is not Derived)


def product(lengths: tuple[int | Length, ...]) -> int | Length:
    """The product of lengths: the size of an array of that shape."""
    total: int | Length = 1
    for length in lengths:
        total = multiply(total, length)
    return total


def magnitude(length: int | Length, of_scalars: float = math.inf) -> float:
    """A bound of the size of a length whose atoms are lengths of arrays; infinite where anything could be too large.

    One up to `LONGEST` says that arithmetic in int64 gives the length, in whatever order it is done.

    Args:
        of_scalars: what no scalar in it exceeds.
    """
    return _magnitude(length, of_scalars, {})


def _magnitude(length: int | Length, of_scalars: float, known: dict[Derived, float]) -> float:
    if type(length) is not Length:
        return abs(length)
    total = 0
    for monomial, factor in length.terms.items():
        size = abs(factor)
        if not _is_of_one_array(monomial):
            for atom in monomial:
                bound = _bound_of(atom, of_scalars, known)
                if bound > LONGEST:
                    return math.inf
                size *= int(bound)
        else:
            size *= LONGEST_GIVEN
        total += size
    return total


def _is_of_one_array(monomial: Monomial) -> bool:
    """Whether a product is one of different axes of one array: the number of elements of a part of it."""
    first = monomial[0] if monomial else None
    if type(first) is not AxisLength or not all(type(a) is AxisLength and a.owner is first.owner for a in monomial):
        return False
    return len({a.axis for a in monomial}) == len(monomial)  # type: ignore[attr-defined]


def _bound_of(atom: Atom, of_scalars: float, known: dict[Derived, float]) -> float:
    if type(atom) is not Derived:
        return of_scalars if type(atom) is ScalarValue else LONGEST_GIVEN
    found = known.get(atom)
    if found is None:
        lhs, rhs = (_magnitude(side, of_scalars, known) for side in (atom.lhs, atom.rhs))
        found = max(lhs, rhs)
        if found <= LONGEST:
            found = {"//": lhs, "%": rhs, "*": lhs * rhs}.get(atom.kind, found)
        known[atom] = found
    return found


def is_exact(length: int | Length) -> bool:
    """Whether arithmetic in int64 is known to give a length, which is at most `LONGEST`."""
    if type(length) is not Length:
        return abs(length) <= LONGEST
    if length._exact is None:
        length._exact = magnitude(length) <= LONGEST or _is_within_axis(length)
    return length._exact


def is_exact_inside(length: int | Length) -> bool:
    """Whether int64 holds an operand of `//`, `min` and the like: it may be any value of a scalar."""
    return (type(length) is Length and type(length.atom) is ScalarValue) or is_exact(length)


def _is_within_axis(length: int | Length) -> bool:
    """Whether a length is known to be from 0 to that of an axis which it mentions, and what is inside is exact."""
    if type(length) is not Length or not is_natural(length):
        return False
    derived = [a for m in length.terms for a in m if type(a) is Derived]
    if not all(is_exact_inside(side) for a in derived for side in (a.lhs, a.rhs)):
        return False
    axes = {m[0] for m in length.terms if len(m) == 1 and type(m[0]) is AxisLength}
    return any(is_natural(subtract(of_atom(n), length)) for n in axes)
