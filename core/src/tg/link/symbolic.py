"""Lengths that are symbols of a library which exports one program for all of them.

Where an array that is traced has such a length, sizes are computed with the library's symbols: sums and products, floor
division and remainder, least and greatest, and comparisons that it can decide. All else that is made of a length is
computed by the rules of scalar arithmetic when the program runs.
"""

from __future__ import annotations

import dataclasses
import operator
from typing import TYPE_CHECKING, Any, Final, final

import numpy as np

from tg.errors import InputError, message
from tg.ops.elementwise import arithmetic, comparison
from tg.ops.elementwise.cast import Cast

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tg.graph.checks import Descriptor
    from tg.graph.op import Op

    Array = np.ndarray[Any, Any]

HINT: Final = "a length that is a number decides; so may one symbol for lengths that agree, or a symbol with bounds"


@final
@dataclasses.dataclass(frozen=True)
class Symbols:
    """A library's arithmetic of lengths that are symbols.

    `value(length)` is an int64 scalar array of the library. `equal(a, b)`, as Python's comparisons of two lengths,
    gives a bool or raises one of `undecided`: the library has no way to know. It takes every symbol to be at least
    `least`, whatever the lengths of later calls are: comparisons with numbers up to that are made as the program runs.
    """

    value: Callable[[Any], Any]
    minimum: Callable[[Any, Any], Any]
    maximum: Callable[[Any, Any], Any]
    equal: Callable[[Any, Any], bool] = operator.eq
    undecided: tuple[type[Exception], ...] = ()
    least: int = 0

    def broadcast(self, a: Any, b: Any) -> Any:
        """The length of an axis of two operands."""
        return b if type(a) is int and a == 1 else a

    def table(self) -> dict[object, Callable[..., Any]]:
        """The functions of lengths, by the keys of rules."""
        t = comparison
        functions: dict[object, Callable[..., Any]] = {
            arithmetic.add: operator.add,
            arithmetic.subtract: operator.sub,
            arithmetic.multiply: operator.mul,
            arithmetic.floor_divide: operator.floordiv,
            arithmetic.remainder: operator.mod,
            arithmetic.negative: operator.neg,
            arithmetic.square: lambda a: a * a,
            arithmetic.minimum: self.minimum,
            arithmetic.maximum: self.maximum,
            t.where: lambda condition, a, b: a if condition else b,
            Cast: lambda a: a,
        }
        decided: dict[object, Callable[..., Any]] = {
            t.equal: self.equal,
            t.not_equal: lambda a, b: not self.equal(a, b),
            t.less: operator.lt,
            t.less_equal: operator.le,
            t.greater: operator.gt,
            t.greater_equal: operator.ge,
            t.logical_and: lambda a, b: a and b,
            t.logical_or: lambda a, b: a or b,
            t.logical_not: operator.not_,
        }
        return functions | {key: _to_bool(f) for key, f in decided.items()}


def _to_bool(f: Callable[..., Any]) -> Callable[..., bool]:
    return lambda *operands: bool(f(*operands))


def has_symbols(arrays: Sequence[Any]) -> bool:
    """Whether a length of an array is none that is known."""
    return any(not isinstance(n, int) for a in arrays for n in a.shape)


@final
class Undecided:
    """The value of what no library can know of its symbols."""


UNDECIDED: Final = Undecided()


def _plain(value: Any) -> Any:
    """A NumPy scalar as Python's, anything else as it is."""
    return value.item() if isinstance(value, np.ndarray | np.generic) else value


def host_function(op: Op, dtypes: Sequence[str], symbols: Symbols) -> Callable[..., tuple[Any, ...]]:
    """An op on scalars of which some are symbols; its results are `UNDECIDED` where the library cannot tell.

    Args:
        dtypes: of the operands and the result.
    """
    function = symbols.table().get(op.rule_key) if set(dtypes) <= {"int64", "bool"} else None

    def compute(*operands: Any) -> tuple[Any, ...]:
        if all(isinstance(v, int | np.ndarray | np.generic) for v in operands):
            arrays = [np.array(v, dtype) for v, dtype in zip(operands, dtypes, strict=False)]
            with np.errstate(all="ignore"):
                return op.perform(*arrays)
        if function is None or any(v is UNDECIDED for v in operands):
            return (UNDECIDED,)
        try:
            return (function(*map(_plain, operands)),)
        except symbols.undecided:
            return (UNDECIDED,)

    return compute


def traced_function(
    op: Op, dtypes: Sequence[str], symbols: Symbols, constant: Callable[[Array], Any]
) -> Callable[..., Any]:
    """As `host_function`, with what the library cannot tell computed by a rule, when the program runs.

    Its first operand is the rule, of arrays.
    """
    compute, compares = host_function(op, dtypes, symbols), dtypes[-1] == "bool"

    def is_assumed(operands: Sequence[Any]) -> bool:
        plain = [v for v in map(_plain, operands) if isinstance(v, int)]
        return compares and len(plain) < len(operands) and any(v <= symbols.least for v in plain)

    def run(rule: Callable[..., Any], *operands: Any) -> tuple[Any, ...]:
        if all(map(_is_known, operands)):
            results = (UNDECIDED,) if is_assumed(operands) else compute(*operands)
            if results[0] is not UNDECIDED:
                return results
        return (rule(*[native(v, t, symbols, constant) for v, t in zip(operands, dtypes, strict=False)]),)

    return run


def _is_known(value: Any) -> bool:
    """Whether a scalar is NumPy's, Python's or a symbol, rather than an array of the library."""
    return isinstance(value, int | np.ndarray | np.generic) or not hasattr(value, "dtype")


def native(value: Any, dtype: str, symbols: Symbols, constant: Callable[[Array], Any]) -> Any:
    """A scalar as an array of the library."""
    if isinstance(value, int | np.ndarray | np.generic):
        return constant(np.asarray(value, dtype))
    return value if hasattr(value, "dtype") else symbols.value(value)


def as_size(value: Any) -> Any:
    """A scalar as a length.

    Raises:
        InputError: it is known only when the program runs.
    """
    if isinstance(value, np.ndarray | np.generic):
        return int(value)
    if hasattr(value, "dtype"):
        text = "traceable: found a size that lengths decide which are symbols, needed one made of them by + - * // %"
        raise InputError(message(text, hint=HINT))
    return value


def chosen(condition: Any, first: Any, second: Any, choose: Callable[[Any], Any]) -> Any:
    """One of two arrays, by a condition; `choose` does it where that is known only when the program runs."""
    if not _is_known(condition):
        return choose(condition)
    return first if condition else second


def refuse(descriptor: Descriptor, condition: Any, values: Sequence[Any]) -> None:
    """Raise for a check of lengths that fails, or of which that is not known.

    Raises:
        Exception: the check's, if it fails.
        InputError: symbols decide whether it fails.
    """
    if condition is UNDECIDED:
        line = f"{descriptor.error}: {descriptor.text.format(*values)}"
        text = "traceable: found lengths that are symbols, of which it is not known whether this check holds"
        raise InputError(message(text, ("check", line), hint=HINT))
    if not condition:
        raise descriptor.build(values)


def operators(symbols: Symbols) -> dict[str, Callable[[Any, Any], Any]]:
    """Operations on lengths, by their names in texts."""
    return {
        "floor_divide": operator.floordiv,
        "remainder": operator.mod,
        "minimum": symbols.minimum,
        "maximum": symbols.maximum,
        "broadcast": symbols.broadcast,
    }
