"""Rules of maximum, minimum and clip. All give NaN for NaN; which of two equal zeros they give is left open."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from tg.graph.nodes import Constant
from tg.ops.elementwise.arithmetic import absolute, clip, maximum, minimum
from tg.rewrite.phases import CANONICALIZE, EXACT, SIGNED_ZERO
from tg.rewrite.rule import FLOATING, INTEGER, cases, node_rule, rule
from tg.rules.elementwise.arithmetic.analysis import (
    REAL,
    is_nonnegative,
    is_scalar_constant,
    number_of,
)
from tg.types.dtypes import is_float, is_integer

if TYPE_CHECKING:
    from tg.graph.nodes import Apply, Variable

EXTREMES: Final = (maximum, minimum, clip)


class Limits(NamedTuple):
    """The least and the largest that a value may be: constants, or None where there is no limit."""

    lower: Constant | None
    upper: Constant | None


def _limited(v: Variable) -> tuple[Variable, Limits] | None:
    """Operand that a maximum, minimum or clip limits, and its limits, if these are numbers in order."""
    node = v.apply
    fn = getattr(node.op, "fn", None) if node is not None else None
    if node is None or fn not in EXTREMES or not (is_float(v.type.dtype) or is_integer(v.type.dtype)):
        return None
    if fn is clip:
        x, lower, upper = node.inputs
        if not (_is_number(lower) and _is_number(upper)):
            return None
        return x, Limits(_least(lower, upper), upper)  # type: ignore[arg-type]
    x, c = node.inputs
    if not _is_number(c):
        return None
    return x, Limits(c, None) if fn is maximum else Limits(None, c)  # type: ignore[arg-type]


def _is_number(v: Variable) -> bool:
    return is_scalar_constant(v) and not np.isnan(v.data).any()  # type: ignore[attr-defined]


def _least(a: Any, b: Any) -> Any:
    return a if number_of(a) <= number_of(b) else b


def _most(a: Any, b: Any) -> Any:
    return a if number_of(a) >= number_of(b) else b


def _limited_twice(floats: bool) -> Any:
    """Limits within limits as one pair of them."""

    def apply(node: Apply, outputs: Any) -> Variable | None:
        (y,) = outputs
        outer = _limited(y) if is_float(y.type.dtype) is floats else None
        if outer is None:
            return None
        inner = _limited(outer[0])
        if inner is None:
            return None
        x, (low, high) = inner
        lower, upper = (_moved_into(c, outer[1]) for c in (low, high))
        if low is None:
            lower = outer[1].lower
        if high is None:
            upper = outer[1].upper
        return _with_limits(x, lower, upper)

    return apply


def _moved_into(c: Constant | None, limits: Limits) -> Constant | None:
    if c is not None and limits.lower is not None:
        c = _most(c, limits.lower)
    if c is not None and limits.upper is not None:
        c = _least(c, limits.upper)
    return c


def _with_limits(x: Variable, lower: Constant | None, upper: Constant | None) -> Variable:
    if lower is not None and upper is not None:
        return clip(x, _scalar(lower), _scalar(upper))
    if lower is not None:
        return maximum(x, _scalar(lower))
    assert upper is not None
    return minimum(x, _scalar(upper))


def _scalar(c: Constant) -> Constant:
    return Constant(c.data.reshape(()))


def _ineffective(dtype_limits: bool) -> Any:
    """The limits that no value passes left out: of the dtype, or 0 where nothing is below it."""

    def apply(node: Apply, outputs: Any) -> Any:
        (y,) = outputs
        match = _limited(y)
        if match is None:
            return None
        x, (lower, upper) = match
        low, high = _bounds(y.type.dtype)
        if not dtype_limits:
            low, high = (0, np.inf) if is_float(y.type.dtype) and is_nonnegative(x) else (-np.inf, np.inf)
        drops_lower = lower is not None and number_of(lower) <= low
        drops_upper = upper is not None and number_of(upper) >= high
        if dtype_limits and is_integer(y.type.dtype):
            if lower is not None and number_of(lower) >= high:
                return number_of(lower)
            if upper is not None and number_of(upper) <= low:
                return number_of(upper)
        if not drops_lower and not drops_upper:
            return None
        lower, upper = (None if drops_lower else lower), (None if drops_upper else upper)
        if dtype_limits and is_float(y.type.dtype) and any(c is not None and number_of(c) == 0 for c in (lower, upper)):
            return None  # of two zeros a clip gives the limit, and a maximum either
        return x if lower is None and upper is None else _with_limits(x, lower, upper)

    return apply


def _bounds(dtype: str) -> tuple[float, float]:
    if is_integer(dtype):
        return int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    return -np.inf, np.inf


RULES = (
    *(
        rule(
            f"{fn.name}_with_itself",
            match=match,
            replace=lambda x: x,
            phase=CANONICALIZE,
            kind=EXACT,
            dtypes=REAL,
            why="Of x and x either is x.",
        )
        for fn, match in ((maximum, lambda x: maximum(x, x)), (minimum, lambda x: minimum(x, x)))
    ),
    *cases(
        "maximum_with_operand",
        match=lambda x, y: maximum(maximum(x, y), x),
        replace=maximum,
        phase=CANONICALIZE,
        kind={INTEGER: EXACT, FLOATING: SIGNED_ZERO},
        why="x has been looked at.",
    ),
    rule(
        "absolute_from_maximum",
        match=lambda x: maximum(x, -x),
        replace=absolute,
        phase=CANONICALIZE,
        kind=SIGNED_ZERO,
        why="One op in place of two.",
    ),
    node_rule(
        "integer_limits_within_limits",
        keys=EXTREMES,
        apply=_limited_twice(floats=False),
        phase=CANONICALIZE,
        kind=EXACT,
        why="Two pairs of limits are one pair, and a maximum within a minimum is a clip.",
        example=lambda x: minimum(maximum(x, np.array(2, x.type.numpy_dtype)), np.array(5, x.type.numpy_dtype)),
        below=EXTREMES,
    ),
    node_rule(
        "limits_within_limits",
        keys=EXTREMES,
        apply=_limited_twice(floats=True),
        phase=CANONICALIZE,
        kind=SIGNED_ZERO,
        why="Two pairs of limits are one pair, and a maximum within a minimum is a clip.",
        example=lambda x: minimum(maximum(x, np.array(0, x.type.numpy_dtype)), np.array(5, x.type.numpy_dtype)),
        below=EXTREMES,
    ),
    node_rule(
        "limits_of_dtype",
        keys=EXTREMES,
        apply=_ineffective(dtype_limits=True),
        phase=CANONICALIZE,
        kind=EXACT,
        why="Nothing of the dtype is beyond them.",
        example=lambda x: maximum(x, np.array(_lowest(x.type.dtype), x.type.numpy_dtype)),
        below=(Constant,),
    ),
    node_rule(
        "limits_of_nonnegative",
        keys=EXTREMES,
        apply=_ineffective(dtype_limits=False),
        phase=CANONICALIZE,
        kind=SIGNED_ZERO,
        why="Nothing is below 0.",
        example=lambda x: maximum(absolute(x), np.array(-0.0, x.type.numpy_dtype)),
        below=(Constant,),
    ),
)


def _lowest(dtype: str) -> float:
    return _bounds(dtype)[0]
