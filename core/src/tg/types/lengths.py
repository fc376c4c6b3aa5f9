"""`Length`: an immutable symbolic integer, the length of an axis that is not known until run time.

A length is an `int` or a `Length`. A `Length` is a polynomial with integer coefficients over *atoms*, kept in canonical
form, so that lengths that are equal as polynomials are equal: `(n + 1) - n` is 1. Atoms are the length of an axis of a
variable, the value of an integer scalar, and the operations that leave the polynomials (`//`, `%`, `min` and
`broadcast`; `max` is a sum less a `min`). Shape rules are written once over `int | Length` and so run on numbers and
symbols alike.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar, Final, final

from tg.errors import InputError, LengthError, message
from tg.types.atoms import Derived, Monomial, Terms, order_of, words

if TYPE_CHECKING:
    from collections.abc import Callable

    from tg.types.atoms import Atom

type_ = type  # the built-in, under a name that no field shadows

COMPARE_HINT: Final = "tg.equal(x.shape[0], n) compares when the program runs; a static shape makes it an int"
CHOICES: Final = 4  # of how many lengths one is written as the least
LARGE: Final = 32  # a polynomial of more terms is not kept: the value becomes an atom of its own
LONG: Final = 64  # nor one of more words, written out: what stands for both sides of a min in a min doubles them
LONGEST: Final = 2**62  # no length, and no number of elements, is above: what is computed of lengths fits into int64
LONGEST_GIVEN: Final = 2**48  # of an array that a program is called with: more than a processor has addresses


@final
class Length:
    """A symbolic integer. It behaves as a Python int that cannot be looked at until the program runs.

    Raises:
        LengthError: its value is asked for (`int(n)`, `if n == 3`, `range(n)`).
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
        """Key that equal lengths share: the canonical polynomial."""
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
    decide: ClassVar[Callable[[Length], bool]]  # bound by `tg.types.signs`: whether a length is at least 0
    text: ClassVar[Callable[[Length], str]]  # bound by `tg.types.text`

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
        raise LengthError(message(f"length {self}: {what} is not known until the program runs", hint=hint))

    def __index__(self) -> int:
        self._refuse(
            "its value", "tg.arange, tg.zeros and tg.fori_loop take it as it is; a static shape makes it an int"
        )
        raise AssertionError

    __int__ = __float__ = __index__

    if not TYPE_CHECKING:  # a type checker says that a length is not called

        def __call__(self, *args: Any) -> None:
            """PyTorch's x.size(0) asks it of the number of elements."""
            hint = "x.shape[0] is the length that PyTorch's x.size(0) is, x.shape its x.size()"
            raise InputError(message(f"length {self}: found a call, needed none", hint=hint))

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
        return Length.text(self)


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


def operation(kind: str, lhs: int | Length, rhs: int | Length) -> Length:
    """An operation on two lengths that is no polynomial, as an atom."""
    return of_atom(Derived(kind, lhs, rhs, *map(is_natural, (lhs, rhs))))


def same(a: int | Length | None, b: int | Length | None) -> bool:
    """Whether two lengths are known to be equal (None is equal to None only)."""
    if a is b:
        return True
    if type(a) is Length:
        return type(b) is Length and a.key == b.key
    return type(b) is not Length and a == b


def is_large(length: int | Length | None) -> bool:
    """Whether a length is not kept, but the value that has it becomes an atom of its own."""
    return type(length) is Length and (len(length.terms) > LARGE or words(length) > LONG)


def is_natural(length: int | Length) -> bool:
    """Whether a length is known to be at least 0."""
    if type(length) is not Length:
        return length >= 0
    if length._natural is None:
        length._natural = Length.decide(length)
    return length._natural


def terms_of(length: int | Length) -> Terms:
    """The coefficient of each monomial of a length."""
    if type(length) is Length:
        return length.terms
    return {(): int(length)} if length else {}


def from_terms(terms: Terms) -> int | Length:
    """The length with these coefficients, in canonical form."""
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
    total = dict(terms_of(a))
    for monomial, factor in terms_of(b).items():
        total[monomial] = total.get(monomial, 0) + factor
    return from_terms(total)


def subtract(a: int | Length, b: int | Length) -> int | Length:
    """The difference of two lengths."""
    if type(b) is int:
        return add(a, -b)
    total = dict(terms_of(a))
    for monomial, factor in terms_of(b).items():
        total[monomial] = total.get(monomial, 0) - factor
    return from_terms(total)


def multiply(a: int | Length, b: int | Length) -> int | Length:
    """The product of two lengths."""
    if type(a) is int:
        return a * b if type(b) is int else _scaled(b, a)
    if type(b) is int:
        return _scaled(a, b)
    total: Terms = {}
    for left, p in terms_of(a).items():
        for right, q in terms_of(b).items():
            monomial = tuple(sorted((*left, *right), key=order_of))
            total[monomial] = total.get(monomial, 0) + p * q
    return from_terms(total)


def times(a: int | Length, b: int | Length, most: int = LARGE) -> int | Length:
    """The product of two lengths as `multiply` makes it, or, if it might have more terms than `most`, as an atom.

    The product of n lengths of two terms has 2**n. What is kept as a product equals only what is made of equal factors,
    multiples apart: it is for what is written into code, not for types.
    """
    first, other = terms_of(a), terms_of(b)
    if type(a) is int or type(b) is int or len(first) * len(other) <= most:
        return multiply(a, b)
    p, q = math.gcd(*first.values()), math.gcd(*other.values())
    atom = operation(
        "*", from_terms({m: c // p for m, c in first.items()}), from_terms({m: c // q for m, c in other.items()})
    )
    return _scaled(atom, p * q)


def product(lengths: tuple[int | Length, ...]) -> int | Length:
    """The product of lengths: the size of an array of that shape."""
    total: int | Length = 1
    for length in lengths:
        total = multiply(total, length)
    return total


def _scaled(length: int | Length, factor: int) -> int | Length:
    if factor == 1:
        return length
    return from_terms({m: factor * c for m, c in terms_of(length).items()}) if factor else 0


def floor_divide(a: int | Length, b: int | Length) -> int | Length:
    """`a // b`: multiples of b are divided exactly, so that what is left has coefficients from 0 to b - 1."""
    if type(a) is int and type(b) is int:
        return a // b if b else 0
    if type(b) is int and b > 0:
        terms = terms_of(a)
        whole = from_terms({m: c // b for m, c in terms.items()})
        return add(whole, _part_divided(from_terms({m: c % b for m, c in terms.items()}), b))
    if type(a) is int and a == 0:
        return 0
    exact = _exact_quotient(a, b) if is_natural(subtract(b, 1)) else None
    return exact if exact is not None else operation("//", a, b)  # b may be 0, which gives 0 and no quotient


def whole_quotient(a: int | Length, b: int | Length) -> int | Length:
    """`a // b` for a b that is not 0, or of which it does not matter: q of a = q * b."""
    quotient = _exact_quotient(a, b)
    return quotient if quotient is not None else floor_divide(a, b)


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
    return operation("//", a, b)


def _leading(length: int | Length) -> Monomial:
    """The monomial of the highest degree, of those the first in the order of their atoms."""
    return min(terms_of(length), key=lambda m: (-len(m), tuple(map(order_of, m))))


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
        c = terms_of(a)[highest]
        rest = without(highest, divisor)
        if rest is None or c % factor:
            return None
        part = from_terms({rest: c // factor})
        quotient, a = add(quotient, part), subtract(a, multiply(part, b))
    return None


def without(monomial: Monomial, divisor: Monomial) -> Monomial | None:
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
        a = from_terms({m: c % b for m, c in _unwrapped(a, b).items()})
        atom = a.atom if type(a) is Length else None
        if type(a) is int or (type(atom) is Derived and atom.kind == "%" and type(atom.rhs) is int and atom.rhs == b):
            return a
    elif _exact_quotient(a, b) is not None:
        return 0
    return operation("%", a, b)


def _unwrapped(a: int | Length, b: int) -> Terms:
    """The terms of a length with x % c written as x where b divides c: modulo b they are the same."""
    for monomial, c in terms_of(a).items():
        atom = monomial[0] if len(monomial) == 1 else None
        if type(atom) is Derived and atom.kind == "%" and type(atom.rhs) is int and atom.rhs > b and atom.rhs % b == 0:
            rest = from_terms({m: k for m, k in terms_of(a).items() if m is not monomial})
            return _unwrapped(add(rest, multiply(c, atom.lhs)), b)
    return terms_of(a)


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
    terms = terms_of(difference)
    inside = from_terms({m: -c for m, c in terms.items() if c < 0})
    other = from_terms({m: c for m, c in terms.items() if c > 0})
    rest = subtract(a, inside)
    for one, another in ((inside, other), (other, inside)):
        if type(one) is int and one >= LONGEST:  # no length is above, and int64 does not hold all that are
            return add(rest, another)
    candidates = [*_choices(inside), *_choices(other)]
    if len(candidates) > 2:
        least = _undominated(candidates)
        if len(least) <= 2:
            return add(rest, minimum(least[0], least[-1]))
    return add(rest, operation("min", inside, other))


def _undominated(lengths: list[int | Length]) -> list[int | Length]:
    """Candidates, among several lengths, for the least."""
    candidates: list[int | Length] = []
    for x in lengths:
        if not any(is_natural(subtract(x, y)) for y in candidates):
            candidates = [y for y in candidates if not is_natural(subtract(y, x))]
            candidates.append(x)
    return candidates


def _choices(length: int | Length) -> list[int | Length]:
    """Lengths of which a length without negative coefficients is the least: 2 * min(1, n) is that of 2 and 2 * n."""
    choices = [length]
    for monomial, c in terms_of(length).items():
        atom = monomial[0] if len(monomial) == 1 else None
        if type(atom) is Derived and atom.kind == "min" and len(choices) < CHOICES:
            rest = [subtract(x, from_terms({monomial: c})) for x in choices]
            choices = [add(x, multiply(c, side)) for x in rest for side in (atom.lhs, atom.rhs)]
    return choices


OPERATIONS: Final[dict[str, Callable[..., Any]]] = {  # by kind; `tg.types.requirements` adds "broadcast"
    "//": floor_divide,
    "%": remainder,
    "min": minimum,
    "max": maximum,
    "*": times,
}
