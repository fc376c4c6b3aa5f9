"""Propagation of facts through functions of elements: what a record says in its `facts=`.

Each is a function of the operands that gives names of `tg.graph.facts`; what is always true of the dtype, and what
follows from other facts, need not be said. Floating numbers round, underflow and have signed zeros; integers wrap.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tg.graph.facts import ZEROS, closure, elements_of, facts_of
from tg.graph.nodes import Constant
from tg.ops.elementwise.positions import complement
from tg.types.dtypes import is_complex, is_float, is_integer, numpy_dtype
from tg.types.requirements import equal_here

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from tg.graph.nodes import Variable

    Facts = frozenset[str]
    Known = Callable[..., Iterable[str]]  # of the operands of one application
    Rule = tuple[tuple[str, ...], tuple[str, ...]]  # what an operand must be, and what the result is then

SIGNS: Final = ("nonnegative", "nonpositive")
NOTHING: Final = frozenset(("nonnegative", "nonpositive", "not_nan"))
STRICT_SIGNS: Final = (*SIGNS, "positive", "negative", "nonzero")
NO_SIGNED_ZERO: Final = frozenset(("nonnegative", "no_negative_zero"))  # +0 at the least
BELOW_ZERO: Final = frozenset(("nonpositive", "nonzero"))


def of_one(
    *always: str,
    keeps: tuple[str, ...] = (),
    rules: tuple[Rule, ...] = (),
    integers: tuple[str, ...] = (),
    complexes: tuple[str, ...] = (),
    zero: bool = False,
) -> Known:
    """The facts of a function of one operand.

    Args:
        always: true of every result for floating operands.
        keeps: true of the result where they are of the operand, for floating operands.
        rules: what the operand must be, and what the result is then, for floating operands.
        integers, complexes: what is kept for operands of these dtypes.
        zero: whether it is 0 at 0, so that it keeps the zeros of a matrix.
    """
    same, other = frozenset(keeps), {True: frozenset(complexes), False: frozenset(integers)}

    def facts(x: Variable) -> set[str]:
        own = facts_of(x)
        names = set(own & ZEROS) if zero else set()
        if not is_float(x.type.dtype):
            return names | (own & other[is_complex(x.type.dtype)])
        names.update(always, own & same)
        for needed, consequences in rules:
            if own.issuperset(needed):
                names.update(consequences)
        return names

    return facts


def is_sign(v: Variable, *, below: bool = False) -> bool:
    """Whether what divides or is raised has no -0 among values >= 0, or lies below 0: its sign bits agree."""
    return facts_of(v) >= (BELOW_ZERO if below else NO_SIGNED_ZERO)


def both(x: Variable, y: Variable, *names: str) -> bool:
    """Whether two values have all of some facts."""
    return facts_of(x).issuperset(names) and facts_of(y).issuperset(names)


def aligned(x: Variable, y: Variable) -> bool:
    """Whether two matrices meet element by element, neither repeated along one of its last two axes."""
    a, b = x.shape, y.shape
    return len(a) >= 2 and len(b) >= 2 and equal_here(a[-1], b[-1]) and equal_here(a[-2], b[-2])


def spans(x: Variable, y: Variable) -> bool:
    """Whether x is a matrix that is not repeated along its last two axes where it meets y."""
    a, b = x.shape, y.shape[-2:]
    return len(a) >= 2 and all(
        equal_here(n, 1) or equal_here(m, n) for m, n in zip(reversed(a), reversed(b), strict=False)
    )


def _of_sum(x: Variable, y: Variable, *, second: tuple[str, str] = SIGNS) -> set[str]:
    """Of x + y, or of x - y where `second` says by which sign of y the sum has a sign."""
    a, b = facts_of(x), facts_of(y)
    facts: set[str] = set()
    signs = [s for s, t in zip(SIGNS, second, strict=True) if s in a and t in b]
    if a & b & ZEROS and aligned(x, y):
        facts |= a & b & ZEROS
    if is_integer(x.type.dtype):
        return facts
    facts |= a & b & {"whole"}
    if "not_nan" in a & b and (signs or "finite" in a or "finite" in b):
        facts.add("not_nan")
    for sign in signs:
        facts.add(sign)
        if "nonzero" in a or "nonzero" in b:
            facts.add("nonzero")
    return facts


def of_add(x: Variable, y: Variable) -> set[str]:
    """Of x + y: -0 comes of two -0 only."""
    facts = _of_sum(x, y)
    a, b = facts_of(x), facts_of(y)
    facts |= (a | b) & {"no_negative_zero"}
    if "positive_definite" in a & b and aligned(x, y):
        facts.add("positive_definite")
    return facts


def of_subtract(x: Variable, y: Variable) -> set[str]:
    """Of x - y: -0 comes of -0 - 0 only."""
    facts = _of_sum(x, y, second=("nonpositive", "nonnegative"))
    return facts | (facts_of(x) & {"no_negative_zero"})


def of_multiply(x: Variable, y: Variable) -> set[str]:
    """Of x * y: 0 where it underflows, NaN for 0 times infinity."""
    if x is y:
        return set(of_square(x))
    a, b = facts_of(x), facts_of(y)
    facts: set[str] = set()
    for matrix, other, u, v in ((a, b, x, y), (b, a, y, x)):
        if matrix & ZEROS and spans(u, v):
            facts |= matrix & (ZEROS if "finite" in other else other & ZEROS)
    for matrix, v in ((a, y), (b, x)):
        if "positive_definite" in matrix and v.type.ndim == 0 and facts_of(v) >= {"positive", "finite"}:
            facts.add("positive_definite")
    if is_float(x.type.dtype):
        facts |= _of_product(a, b) | (a & b & {"whole"})
        if both(x, y, "whole", "nonzero"):
            facts.add("nonzero")
    return facts


def _of_product(a: Facts, b: Facts) -> set[str]:
    facts: set[str] = set()
    if "not_nan" in a & b and ("finite" in a or "nonzero" in b) and ("finite" in b or "nonzero" in a):
        facts.add("not_nan")
    alike = [s for s in SIGNS if s in a and s in b]
    if alike:
        facts.add("nonnegative")
    elif (SIGNS[0] in a and SIGNS[1] in b) or (SIGNS[1] in a and SIGNS[0] in b):
        facts.add("nonpositive")
    if (a >= NO_SIGNED_ZERO and b >= NO_SIGNED_ZERO) or (a >= BELOW_ZERO and b >= BELOW_ZERO):
        facts.add("no_negative_zero")
    return facts


def of_gate(dy: Variable, d: Variable) -> set[str]:
    """Of `gate`: as the product, but 0 where dy is 0."""
    a, b = facts_of(dy), facts_of(d)
    facts = set(a & ZEROS) if a & ZEROS and aligned(dy, d) else set()
    if not is_float(dy.type.dtype):
        return facts
    facts |= _of_product(a, b) | (a & b & {"whole"})
    if "not_nan" in a & b and ("finite" in a or "nonzero" in b):
        facts.add("not_nan")
    return facts


def of_masked_product(a: Variable, b: Variable, x: Variable, y: Variable) -> set[str]:
    """Of `masked_product`: what products and 0 share."""
    facts = closure(of_multiply(x, y), x.type.dtype)
    return set(facts & {"nonnegative", "nonpositive", "whole", "finite", "not_nan"})


def of_divide(x: Variable, y: Variable) -> set[str]:
    """Of x / y: a divisor of -0 turns the sign of an infinite quotient."""
    a, b = facts_of(x), facts_of(y)
    if not is_float(x.type.dtype):
        return set()
    facts: set[str] = set()
    if "not_nan" in a & b and ("nonzero" in a or "nonzero" in b) and ("finite" in a or "finite" in b):
        facts.add("not_nan")
    for sign, other in (SIGNS, SIGNS[::-1]):
        if sign in a and is_sign(y):
            facts.add(sign)
        if sign in a and is_sign(y, below=True):
            facts.add(other)
    if a >= NO_SIGNED_ZERO and is_sign(y):
        facts.add("no_negative_zero")
    if a & ZEROS and b >= {"nonzero", "not_nan"} and spans(x, y):
        facts |= a & ZEROS
    return facts


def of_floor_divide(x: Variable, y: Variable) -> set[str]:
    """Of x // y, whole unless it is NaN or infinite."""
    facts = {"whole"} if not is_complex(x.type.dtype) else set()
    if "nonnegative" in facts_of(x) and is_sign(y):
        facts.add("nonnegative")
    return facts


def of_remainder(x: Variable, y: Variable) -> set[str]:
    """Of x % y, which has the sign of y, or is 0."""
    a, b = facts_of(x), facts_of(y)
    facts = set(a & b & {"whole"})
    if "positive" in b or (is_integer(x.type.dtype) and "nonnegative" in b):
        facts.add("nonnegative")
    if is_float(x.type.dtype) and "finite" in a and b >= {"not_nan", "nonzero"}:
        facts.add("not_nan")
    return facts


def of_power(x: Variable, y: Variable) -> set[str]:
    """Of x ** y for floating x and y; a power of -0 may be -infinity."""
    a, b = facts_of(x), facts_of(y)
    if not is_float(x.type.dtype):
        return set()
    facts: set[str] = set()
    if a >= NO_SIGNED_ZERO:
        facts |= {"nonnegative", "no_negative_zero"}
    if "nonnegative" in a and "not_nan" in a & b:
        facts.add("not_nan")
    return facts


of_square: Known = of_one(
    "nonnegative", "no_negative_zero", keeps=("not_nan", "whole"), zero=True,
    rules=((("whole", "nonzero"), ("nonzero",)),),
)  # fmt: skip


def of_negative(x: Variable) -> set[str]:
    """Of -x: signs change places; the least integer is its own negative, and unsigned ones wrap."""
    a, dtype = facts_of(x), x.type.dtype
    facts = set(a & (ZEROS | {"finite", "not_nan", "nonzero", "whole"}))
    if is_float(dtype) or dtype.startswith("int"):
        facts |= {"nonpositive"} if "nonnegative" in a else set()
        facts |= {"nonnegative"} if "nonpositive" in a and is_float(dtype) else set()
    return facts


def of_maximum(x: Variable, y: Variable) -> set[str]:
    """Of the larger of x and y, which is one of them, or NaN."""
    a, b = facts_of(x), facts_of(y)
    facts = set(elements_of(x, y) | ((a | b) & {"nonnegative", "positive"}))
    return facts | (a & b & ZEROS) if a & b & ZEROS and aligned(x, y) else facts


def of_minimum(x: Variable, y: Variable) -> set[str]:
    """Of the smaller of x and y, which is one of them, or NaN."""
    a, b = facts_of(x), facts_of(y)
    facts = set(elements_of(x, y) | ((a | b) & {"nonpositive", "negative"}))
    return facts | (a & b & ZEROS) if a & b & ZEROS and aligned(x, y) else facts


def of_clip(x: Variable, lower: Variable, upper: Variable) -> set[str]:
    """Of the smaller of `upper` and the larger of x and `lower`."""
    a, low, high = facts_of(x), facts_of(lower), facts_of(upper)
    facts = set(elements_of(x, lower, upper))
    for name in ("nonnegative", "positive"):
        facts |= (a | low) & high & {name}
    for name in ("nonpositive", "negative"):
        facts |= (a & low | high) & {name}
    if "finite" in low & high and "not_nan" in a and not is_complex(x.type.dtype):
        facts.add("finite")
    return facts


def of_where(condition: Variable, x: Variable, y: Variable) -> set[str]:
    """Of x where a condition holds, else y: what both are; zeros where a mask takes them, or leaves them."""
    facts, a, b = set(elements_of(x, y)), facts_of(x), facts_of(y)
    if condition.type.ndim == 0:
        return facts | (a & b & ZEROS) if a & b & ZEROS and aligned(x, y) else facts
    fails, holds = facts_of(condition), complement(condition)
    shaped = ZEROS & (fails | holds | a | b)
    if not shaped or not all(aligned(condition, v) or (v.type.ndim == 0 and is_zero(v)) for v in (x, y)):
        return facts
    return facts | (shaped & (_zeros(x) | fails) & (_zeros(y) | holds))


def is_zero(v: Variable) -> bool:
    """Whether all elements of a value are known to be 0; of complex ones, which no order says it of, by their data."""
    if is_complex(v.type.dtype):
        return isinstance(v, Constant) and not v.data.any()
    return facts_of(v).issuperset(NOTHING)


def _zeros(v: Variable) -> frozenset[str]:
    return ZEROS if is_zero(v) else facts_of(v) & ZEROS


def of_copysign(x: Variable, y: Variable) -> set[str]:
    """Of |x| with the sign of y; a NaN has a sign too."""
    a, b = facts_of(x), facts_of(y)
    facts = set(a & {"finite", "not_nan", "nonzero", "whole"})
    if b >= {"nonnegative", "no_negative_zero", "not_nan"}:
        facts |= {"nonnegative", "no_negative_zero"}
    return facts


def of_hypot(x: Variable, y: Variable) -> set[str]:
    """Of a distance."""
    return {"nonnegative", "no_negative_zero"} | (elements_of(x, y) & {"not_nan"})


def of_logaddexp(x: Variable, y: Variable) -> set[str]:
    """Of log(exp(x) + exp(y)), which lies above both."""
    facts = set(elements_of(x, y) & {"finite", "not_nan"})
    return facts | ((facts_of(x) | facts_of(y)) & {"nonnegative"})


def of_arctan2(x: Variable, y: Variable) -> set[str]:
    """Of an angle: not below 0 in the upper half plane, of which a -0 is no part."""
    facts = {"finite"} if "not_nan" in elements_of(x, y) else set()
    return facts | {"nonnegative"} if is_sign(x) else facts


def of_reciprocal(x: Variable) -> set[str]:
    """Of 1 / x, which is infinite with the sign of a zero."""
    a = facts_of(x)
    if not is_float(x.type.dtype):
        return set(a & {"nonnegative"})
    facts = set(a & {"not_nan"})
    if is_sign(x):
        facts |= {"nonnegative", "no_negative_zero"}
    return facts | {"nonpositive"} if is_sign(x, below=True) else facts


def of_nextafter(x: Variable, y: Variable) -> set[str]:
    """Of a number between x and y."""
    return set(elements_of(x, y) & {"finite", "not_nan", *SIGNS})


def of_part(x: Variable) -> set[str]:
    """Of a part of a complex number."""
    return of_parts(x)


def of_conjugate(x: Variable) -> set[str]:
    """Of the conjugate of a complex matrix or number."""
    names = {"finite", "not_nan", "whole", "nonzero", "hermitian", "positive_definite", "orthogonal"}
    return set(facts_of(x) & (ZEROS | {"unit_diagonal", "nonzero_diagonal"} | names))


def of_parts(*parts: Variable) -> set[str]:
    """Of what has the operands for its parts, or is a part of the operand."""
    return set(elements_of(*parts) & {"finite", "not_nan", "whole", "no_negative_zero"})


def of_absolute(x: Variable) -> set[str]:
    """Of |x|: the least integer is its own absolute value, and that of a complex number may overflow."""
    a, dtype = facts_of(x), x.type.dtype
    facts = set(a & ZEROS)
    if is_integer(dtype):
        return facts | (a & {"nonnegative", "nonzero"})
    facts |= {"nonnegative", "no_negative_zero"}
    return facts | (a & ({"not_nan"} if is_complex(dtype) else {"finite", "not_nan", "nonzero", "whole"}))


def of_and(x: Variable, y: Variable) -> set[str]:
    """Of the bits that both have: no sign where one has none."""
    return set((facts_of(x) | facts_of(y)) & {"nonnegative"})


def of_or(x: Variable, y: Variable) -> set[str]:
    """Of the bits that one has: a sign where one has one."""
    return set(elements_of(x, y) & {"nonnegative"}) | ((facts_of(x) | facts_of(y)) & {"nonzero"})


def of_xor(x: Variable, y: Variable) -> set[str]:
    """Of the bits that one alone has."""
    return set(elements_of(x, y) & {"nonnegative"})


def of_right_shift(x: Variable, y: Variable) -> set[str]:
    """Of the bits moved down: the sign stays."""
    return set(facts_of(x) & {"nonnegative"})


def of_cast(x: Variable, dtype: str) -> set[str]:
    """Of the elements of x in another dtype, as `Cast` declares them."""
    a, source = facts_of(x), x.type.dtype
    facts = set(a & (ZEROS | {"symmetric"}))
    if dtype != "bool":
        facts |= a & {"unit_diagonal"}
    if is_complex(source):
        return facts | _of_complex_cast(a, source, dtype)
    if dtype == "bool":
        return facts | (a & {"nonzero"})
    if is_integer(dtype):
        return facts | (_of_wrapping(a, source, dtype) if not is_float(source) else _of_truncation(a))
    return facts | (_of_integer_cast(a, source, dtype) if not is_float(source) else _of_rounding(a, x, dtype))


def _of_complex_cast(a: Facts, source: str, dtype: str) -> set[str]:
    """From complex numbers: to others, or of their real parts."""
    if not (is_complex(dtype) or is_float(dtype)):
        return {"nonzero"} if dtype == "bool" and "nonzero" in a else set()
    facts = set(a & {"not_nan", "whole"})
    if numpy_dtype(dtype).itemsize * (1 + is_float(dtype)) >= numpy_dtype(source).itemsize:
        facts |= a & {"finite", "no_negative_zero"}
    return facts


def _of_wrapping(a: Facts, source: str, dtype: str) -> set[str]:
    """From integers to integers: what has room stays."""
    below_zero = source.startswith("int") and "nonnegative" not in a
    fits = _bits(source) <= _bits(dtype) and (dtype.startswith("int") or not below_zero)
    return set(a & frozenset(STRICT_SIGNS)) if fits else set()


def _bits(dtype: str) -> int:
    """The binary digits that an integer dtype has for values."""
    if dtype == "bool":
        return 1
    return numpy_dtype(dtype).itemsize * 8 - dtype.startswith("int")


def _of_truncation(a: Facts) -> set[str]:
    """From floats to integers: towards 0, NaN to 0, what is beyond to the limit."""
    facts = set(a & frozenset(SIGNS))
    if a >= {"whole", "not_nan", "nonnegative"}:
        facts |= a & {"nonzero"}
    return facts


def _of_integer_cast(a: Facts, source: str, dtype: str) -> set[str]:
    """From integers to floats: rounded, and infinite only in float16."""
    facts = set(a & frozenset(STRICT_SIGNS)) | {"whole", "not_nan", "no_negative_zero"}
    small = source in ("bool", "int8", "uint8", "int16")
    return facts | {"finite"} if small or dtype != "float16" else facts


def _of_rounding(a: Facts, x: Variable, dtype: str) -> set[str]:
    """From floats to floats: exact where the dtype is wider, else with overflow and underflow."""
    if numpy_dtype(dtype).itemsize > numpy_dtype(x.type.dtype).itemsize:
        return set(a)
    facts = set(a & {"not_nan", "whole", *SIGNS})
    if a >= {"nonnegative", "no_negative_zero"}:
        facts.add("no_negative_zero")
    return facts | (a & {"nonzero"} if "whole" in a else set())
