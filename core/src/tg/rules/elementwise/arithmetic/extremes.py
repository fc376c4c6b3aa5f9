"""Rules of maximum, minimum and clip. All give NaN for NaN; which of two equal zeros they give is left open."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from tg.graph.nodes import Constant
from tg.ops.elementwise.arithmetic import absolute, clip, maximum, minimum, negative
from tg.rewrite.phases import CANONICALIZE, EXACT, NAN_UNSAFE, SIGNED_ZERO
from tg.rewrite.rule import FLOATING, INTEGER, node_rule, rule
from tg.rules.elementwise.arithmetic.analysis import (
    REAL,
    SIGNED_INTEGER,
    is_nonnegative,
    is_scalar_constant,
    number_of,
)
from tg.types.dtypes import is_float, is_integer

if TYPE_CHECKING:
    from tg.graph.nodes import Apply, Variable
    from tg.rewrite.rule import Rule

EXTREMES: Final = (maximum, minimum, clip)
OTHER: Final = {maximum: minimum, minimum: maximum}


class Limits(NamedTuple):
    """The least and the largest that a value may be: constants, or None where there is no limit."""

    lower: Constant | None
    upper: Constant | None


def _limited(v: Variable) -> tuple[Variable, Limits] | None:
    """What a maximum, minimum or clip limits, and its limits, if these are numbers in order."""
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
        found = _limited(y)
        if found is None:
            return None
        x, (lower, upper) = found
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


def _with_nan(node: Apply, outputs: Any) -> Any:
    """NaN, where one of the operands is NaN everywhere."""
    found = any(isinstance(c, Constant) and is_float(c.type.dtype) and np.isnan(c.data).all() for c in node.inputs)
    return np.nan if found else None


def _alike(name: str, match: Any, replace: Any, why: str, *, integers: frozenset[str] = INTEGER) -> tuple[Rule, Rule]:
    """A rule that is exact for integers, and for floats up to the signs of zeros."""
    about = {"match": match, "replace": replace, "phase": CANONICALIZE, "why": why}
    return (
        rule(f"integer_{name}", kind=EXACT, dtypes=integers, **about),
        rule(name, kind=SIGNED_ZERO, dtypes=FLOATING, **about),
    )


def _itself(fn: Any) -> Any:
    return lambda x: fn(x, x)


def _nested(fn: Any) -> Any:
    return lambda x, y: fn(fn(x, y), x)


def _absorbed(fn: Any) -> Any:
    return lambda x, y: fn(OTHER[fn](x, y), x)


def _of_negatives(fn: Any) -> Any:
    return lambda x, y: fn(-x, -y)


def _negated(fn: Any) -> Any:
    return lambda x, y: negative(fn(x, y))


RULES = (
    *(
        rule(
            f"{fn.name}_with_itself",
            match=_itself(fn),
            replace=lambda x: x,
            phase=CANONICALIZE,
            kind=EXACT,
            dtypes=REAL,
            why="Of x and x either is x.",
        )
        for fn in (maximum, minimum)
    ),
    *(
        one
        for fn in (maximum, minimum)
        for one in _alike(f"{fn.name}_with_operand", _nested(fn), fn, "x has been looked at.")
    ),
    *(
        one
        for fn in (maximum, minimum)
        for one in (
            rule(
                f"integer_{fn.name}_absorbs",
                match=_absorbed(fn),
                replace=lambda x, y: x,
                phase=CANONICALIZE,
                kind=EXACT,
                dtypes=INTEGER,
                why="What is limited by x is beyond it on one side only.",
            ),
            rule(
                f"{fn.name}_absorbs",
                match=_absorbed(fn),
                replace=lambda x, y: x,
                phase=CANONICALIZE,
                kind=NAN_UNSAFE,
                why="What is limited by x is beyond it on one side only; NaN where y is NaN.",
            ),
            rule(
                f"{fn.name}_of_negatives",
                match=_of_negatives(fn),
                replace=_negated(OTHER[fn]),
                phase=CANONICALIZE,
                kind=SIGNED_ZERO,
                why="One change of sign in place of two.",
            ),
        )
    ),
    *_alike(
        "absolute_from_maximum",
        lambda x: maximum(x, -x),
        absolute,
        "One op in place of two.",
        integers=SIGNED_INTEGER,
    ),
    *_alike(
        "absolute_from_minimum",
        lambda x: minimum(x, -x),
        lambda x: -absolute(x),
        "Signs move outwards.",
        integers=frozenset(),
    )[1:],
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
    node_rule(
        "limits_that_are_nan",
        keys=EXTREMES,
        apply=_with_nan,
        phase=CANONICALIZE,
        kind=EXACT,
        why="NaN decides.",
        example=lambda x: maximum(x, np.array(np.nan, x.type.numpy_dtype)),
        below=(Constant,),
    ),
)


def _lowest(dtype: str) -> float:
    return _bounds(dtype)[0]
