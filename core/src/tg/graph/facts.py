"""Facts: what is known of a value whatever the inputs are: from its dtype, its op, its data, or what was assumed of it.

Facts are true of the *computed* values: `exp` underflows to 0, so it gives `nonnegative` and not `positive`; integers
wrap, so their sums have no sign. Those that order are silent about NaN, which is neither below nor above anything: a
rule that must exclude NaN asks for `not_nan` too. Structure made of zeros and ones (`lower_triangular`, `tridiagonal`,
`unit_diagonal`) is exact; `symmetric`, `hermitian`, `positive_definite` and `orthogonal` hold up to rounding.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from tg.errors import DtypeError, InputError, ShapeError, message, nearest
from tg.graph.fact_values import DEFINITIONS, fact_holds
from tg.graph.nodes import Constant
from tg.graph.op import Op
from tg.types.dtypes import BOOL, is_complex, is_integer, is_unsigned, numpy_dtype

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tg.graph.nodes import Variable
    from tg.types.tensor_type import TensorType

__all__ = [
    "ELEMENT",
    "FACTS",
    "MATRIX",
    "NONE",
    "TRIANGULAR",
    "ZEROS",
    "Fact",
    "closure",
    "elements_of",
    "fact_holds",
    "facts_of",
    "forget",
    "holds",
    "possible",
]


class Fact(NamedTuple):
    """One thing that can be known of a value."""

    text: str
    implies: tuple[str, ...] = ()  # directly; `closure` follows them
    ordered: bool = False  # only for dtypes with an order: not for complex ones
    matrix: bool = False  # of the last two axes, which are square


FACTS: Final[dict[str, Fact]] = {
    "finite": Fact("No element is infinite or NaN, in neither part of a complex one.", ("not_nan",)),
    "not_nan": Fact("No element is NaN, in neither part of a complex one."),
    "nonnegative": Fact("No element is below 0; NaN and -0.0 may occur.", ordered=True),
    "positive": Fact("No element is 0 or below; NaN may occur.", ("nonnegative", "nonzero"), ordered=True),
    "nonpositive": Fact("No element is above 0; NaN may occur.", ordered=True),
    "negative": Fact("No element is 0 or above; NaN may occur.", ("nonpositive", "nonzero"), ordered=True),
    "nonzero": Fact("No element equals 0; NaN may occur.", ()),
    "whole": Fact("No element has a fraction, in neither part of a complex one; NaN and infinities may occur."),
    "no_negative_zero": Fact("No element is -0.0, in neither part of a complex one."),
    "symmetric": Fact("The matrix equals its transpose, up to rounding.", matrix=True),
    "hermitian": Fact("The matrix equals its conjugated transpose, up to rounding.", matrix=True),
    "positive_definite": Fact(
        "The matrix is Hermitian and its eigenvalues are above 0, up to rounding.", ("hermitian",), matrix=True
    ),
    "lower_triangular": Fact("The elements above the diagonal are 0.", ("lower_hessenberg",), matrix=True),
    "upper_triangular": Fact("The elements below the diagonal are 0.", ("upper_hessenberg",), matrix=True),
    "lower_hessenberg": Fact("The elements more than one place above the diagonal are 0.", matrix=True),
    "upper_hessenberg": Fact("The elements more than one place below the diagonal are 0.", matrix=True),
    "tridiagonal": Fact(
        "The elements more than one place off the diagonal are 0.",
        ("lower_hessenberg", "upper_hessenberg"),
        matrix=True,
    ),
    "diagonal": Fact(
        "The elements off the diagonal are 0.", ("lower_triangular", "upper_triangular", "symmetric"), matrix=True
    ),
    "unit_diagonal": Fact("The elements on the diagonal are 1.", ("nonzero_diagonal",), matrix=True),
    "nonzero_diagonal": Fact("No element on the diagonal is 0; NaN may occur.", matrix=True),
    "orthogonal": Fact(
        "The matrix times its conjugated transpose is the identity, up to rounding.", ("finite",), matrix=True
    ),
}
TOGETHER: Final = (  # what several facts imply
    (("nonnegative", "nonzero"), "positive"),
    (("nonpositive", "nonzero"), "negative"),
    (("lower_triangular", "upper_triangular"), "diagonal"),
    (("lower_hessenberg", "upper_hessenberg"), "tridiagonal"),
)
MATRIX: Final = frozenset(name for name, fact in FACTS.items() if fact.matrix)
ELEMENT: Final = frozenset(FACTS) - MATRIX  # of the elements, wherever they stand
TRIANGULAR: Final = frozenset(("lower_triangular", "upper_triangular"))
ZEROS: Final = TRIANGULAR | {"lower_hessenberg", "upper_hessenberg"}  # where there are none but zeros; others follow
NONE: Final[frozenset[str]] = frozenset()

WHOLE_NUMBERS: Final = frozenset(("finite", "not_nan", "whole", "no_negative_zero"))
NEGATIVES: Final = frozenset(("negative",))
NATURAL_NUMBERS: Final = WHOLE_NUMBERS | {"nonnegative"}
LARGEST_CONSTANT: Final = 1 << 16  # elements of a constant whose structure as a matrix is looked at
OF_CONSTANTS: Final = (  # the structure that is seen in a constant at little cost
    "symmetric",
    "hermitian",
    *sorted(ZEROS),
    "unit_diagonal",
)


@functools.cache
def of_dtype(dtype: str) -> frozenset[str]:
    """The facts of all values of a dtype."""
    if dtype == BOOL or is_unsigned(dtype):
        return NATURAL_NUMBERS
    return WHOLE_NUMBERS if is_integer(dtype) else NONE


def closure(names: Iterable[str], dtype: str) -> frozenset[str]:
    """The facts and what follows from them for values of a dtype."""
    return _closure(frozenset(names), dtype)


@functools.lru_cache(maxsize=4096)
def _closure(names: frozenset[str], dtype: str) -> frozenset[str]:
    facts = set(names) | of_dtype(dtype)
    if is_complex(dtype):
        facts = {name for name in facts if not FACTS[name].ordered}
    size = -1
    while size != len(facts):
        size = len(facts)
        for name in tuple(facts):
            facts.update(FACTS[name].implies)
        facts.update(name for needed, name in TOGETHER if facts.issuperset(needed) and _has(name, dtype))
        if "nonzero" in facts:
            facts.add("no_negative_zero" if not is_complex(dtype) else "nonzero")
        if not is_complex(dtype) and facts & {"symmetric", "hermitian"}:
            facts |= {"symmetric", "hermitian"}
    return frozenset(facts)


def _has(name: str, dtype: str) -> bool:
    return not (FACTS[name].ordered and is_complex(dtype))


def facts_of(v: Variable) -> frozenset[str]:
    """The names of all facts known of a value, computed once for each variable."""
    if v._facts is not None:
        return v._facts
    stack = [v]
    while stack:
        u = stack[-1]
        if u._facts is None:
            node, size = u.apply, len(stack)
            if node is not None and type(node.op).facts is not Op.facts:
                stack.extend([w for w in node.inputs if w._facts is None])
            if len(stack) > size:
                continue
            u._facts = _facts(u)
        stack.pop()
    return v._facts or NONE


def holds(v: Variable, name: str) -> bool:
    """Whether a fact is known of a value.

    Raises:
        KeyError: there is no fact of this name.
    """
    if name in of_dtype(v.type.dtype):
        return True
    if isinstance(v, Constant) and name in ELEMENT and v._facts is None:
        return v.told(name, _holds_of_data)
    assert name in FACTS, name
    return name in facts_of(v)


def _holds_of_data(name: str, c: Constant) -> bool:
    return (not FACTS[name].ordered or not is_complex(c.type.dtype)) and fact_holds(name, c.data)


def elements_of(*values: Variable) -> frozenset[str]:
    """The facts of elements, wherever they stand, that all of some values have."""
    facts = ELEMENT
    for v in values:
        facts = facts & facts_of(v)
    return facts


EXCLUDE: Final = (
    ("positive", "nonpositive"),
    ("negative", "nonnegative"),
)  # unless all elements are NaN, or none exist


def possible(names: Iterable[str], t: TensorType) -> frozenset[str]:
    """The names of facts, which a value of a type may have together.

    Raises:
        DtypeError: an order is claimed of complex numbers, or what no value of the dtype is.
        ShapeError: a fact of square matrices is claimed of another shape.
        InputError: there is no such fact, or two exclude one another.
    """
    facts = frozenset(names)
    for name in sorted(facts):
        fact = FACTS.get(name)
        if fact is None:
            close = nearest(name, FACTS)
            hint = f"{close[0]} is close" if close else None
            raise InputError(message(f"assume: found {name!r}, needed one of {', '.join(FACTS)}", hint=hint))
        if fact.ordered and is_complex(t.dtype):
            raise DtypeError(message(f"assume: {name}: found {t}, complex numbers have no order"))
        if name in NEGATIVES and (t.dtype == BOOL or is_unsigned(t.dtype)):
            raise DtypeError(message(f"assume: {name}: found {t}, whose values are not below 0"))
        lengths = t.shape[-2:]
        if fact.matrix and (len(lengths) < 2 or (None not in lengths and lengths[0] != lengths[1])):
            raise ShapeError(message(f"assume: {name}: found {t}, needed square matrices in the last two axes"))
    for a, b in EXCLUDE:
        if closure(facts, t.dtype) >= {a, b}:
            raise InputError(message(f"assume: found {', '.join(sorted(facts))}: {a} excludes {b}"))
    return facts


def forget(v: Variable) -> None:
    """Let the facts of a value be derived anew: something was assumed of it."""
    v._facts = None


def _facts(v: Variable) -> frozenset[str]:
    dtype = v.type.dtype
    if isinstance(v, Constant):
        return _of_data(v)
    assumed: frozenset[str] = getattr(v, "assumed", NONE)
    node = v.apply
    if node is None or type(node.op).facts is Op.facts:
        return closure(assumed, dtype)
    facts = node.op.facts(node.inputs)[v.index]
    return closure(assumed.union(facts) if assumed else facts, dtype)


def _of_data(c: Constant) -> frozenset[str]:
    dtype, data = c.type.dtype, c.data
    if data.shape in ((), (1,)):
        return _of_number(dtype, data.tobytes())
    names = [name for name in ELEMENT if _has(name, dtype)]
    if data.ndim >= 2 and data.shape[-1] == data.shape[-2] and data.size <= LARGEST_CONSTANT:
        names.extend(OF_CONSTANTS)
    return closure((name for name in names if fact_holds(name, data)), dtype)


@functools.lru_cache(maxsize=1024)
def _of_number(dtype: str, content: bytes) -> frozenset[str]:
    """The facts of a number by its bytes: programs have few."""
    data = np.frombuffer(content, numpy_dtype(dtype)).reshape(())
    return closure((name for name in ELEMENT if _has(name, dtype) and fact_holds(name, data)), dtype)


assert FACTS.keys() == DEFINITIONS.keys()
