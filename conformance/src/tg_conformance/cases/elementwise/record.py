"""Cases generated from the records of elementwise functions: every loop's dtype, values in the domain and hostile ones.

What a family's file adds is an oracle for each function: NumPy in extended precision for floating dtypes, Python's
exact integers for the others. One that it says nothing of is compared with its record's own reference.
"""

from __future__ import annotations

import functools
import itertools
import math
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

import tg
from tg.errors import DtypeError
from tg.plugin.case import OTHER_SHAPE, SAME_SHAPE, Case, Input, Layout
from tg.types.dtypes import DTYPES, is_complex, is_float
from tg_conformance import draw

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from tg.ops.elementwise.record import ElementwiseFunction
    from tg.ops.family import Family

Array = np.ndarray[Any, Any]

HOSTILE_LIMIT: Final = 400  # how many combinations of special values one case has


class Oracle(NamedTuple):
    """A function written without tg: on arrays in extended precision, and on single Python integers."""

    floating: Callable[..., Any] | None = None
    integer: Callable[..., Any] | None = None

    def __call__(self, *arrays: Array) -> Array | None:
        """The right result, None where nothing is known; integers wrap to the dtype of the last operand."""
        last = arrays[-1]
        if last.dtype.kind in "fc":
            return None if self.floating is None else np.asarray(self.floating(*arrays))
        if self.integer is None:
            return None
        values = np.frompyfunc(self.integer, len(arrays), 1)(*[x.astype(object) for x in arrays])
        flat = [wrapped(v, last.dtype) for v in np.ravel(np.asarray(values, object))]
        kind = bool if last.dtype.kind == "b" or any(type(v) is bool for v in flat) else last.dtype
        return np.array(flat, kind).reshape(np.broadcast_shapes(*(x.shape for x in arrays)))


def wrapped(value: Any, dtype: np.dtype[Any]) -> Any:
    """A Python integer as a dtype that wraps holds it."""
    if type(value) is bool or dtype.kind == "b":
        return bool(value)
    limits = np.iinfo(dtype)
    return (value - int(limits.min)) % (1 << limits.bits) + int(limits.min)


class Facts(NamedTuple):
    """A family's facts of a function beside its oracle."""

    oracle: Oracle
    domains: Sequence[tuple[float, float]] | None = None  # of each operand; the record's unless given
    gradient: Sequence[tuple[float, float]] | None = None  # domains in which the gradient is taken
    analytic: bool = False
    signed_zero: bool = False
    condition: Callable[..., Any] | None = None
    hostile: bool = True
    hostile_oracle: bool = True
    derivative: bool = True  # whether differences of the oracle are a derivative
    traps: tuple[str, ...] = ()


def generated(family: Family, facts: Mapping[Any, Facts]) -> Iterator[Case]:
    """The cases of all functions of a family; one that the family's file says nothing of has its record's reference."""
    for fn in family.elementwise:
        yield from cases_of(fn, facts.get(fn) or Facts(Oracle(fn.numpy or fn.reference)))


def cases_of(fn: ElementwiseFunction, facts: Facts) -> Iterator[Case]:
    """The cases of one function: random values, hostile values, gradients, ranks that broadcast.

    Random values have two axes, those of derivatives three, hostile ones four: 65 to 1,040 elements, some of which fill
    vectors of any width and some do not.
    """
    dtypes = loop_dtypes(fn)
    shared: dict[str, Any] = {
        "signed_zero": facts.signed_zero,
        "condition": facts.condition,
        "traps": facts.traps,
        "oracle": facts.oracle,
    }
    yield Case(fn, _inputs(fn, facts.domains), dtypes=dtypes, layouts=(*SAME_SHAPE, *OTHER_SHAPE), **shared)
    hostile = tuple(d for d in dtypes if not is_complex(d) and (is_float(d) or d == "bool" or facts.hostile))
    if hostile:
        options = {**shared, "oracle": Once(facts.oracle) if facts.hostile_oracle else None}
        inputs = [_operand(fn, k, draw.RANK_4, values=functools.partial(_combination, fn, k)) for k in range(fn.arity)]
        layouts: tuple[Layout, ...] = ("C", "strided", "reversed")
        yield Case(fn, inputs, name=f"{fn.name} hostile", dtypes=hostile, layouts=layouts, static=(False,), **options)
    real = tuple(d for d in dtypes if d in ("float32", "float64") and is_float(fn.loop((d,) * fn.arity)[1]))
    if real and facts.derivative and _has_slope(fn):
        domains = facts.gradient or facts.domains
        yield Case(
            fn,
            _inputs(fn, domains, draw.RANK_3),
            name=f"{fn.name} derivative",
            dtypes=real,
            layouts=("C", "broadcast"),
            gradient=True,
            analytic=facts.analytic,
            **shared,
        )
    elif fn.arity == 1:
        inputs = _inputs(fn, facts.domains, draw.RANK_3)
        yield Case(
            fn, inputs, name=f"{fn.name} of three axes", dtypes=dtypes[-1:], layouts=("C", "transposed"), **shared
        )
    if fn.arity == 1:
        inputs = _inputs(fn, facts.domains, draw.RANK_2[1:])
        yield Case(fn, inputs, name=f"{fn.name} of a vector", dtypes=dtypes[-1:], layouts=("C", "reversed"), **shared)
    whole = tuple(d for d in dtypes if is_complex(d))
    if whole and facts.derivative and _has_slope(fn) and facts.oracle.floating is not None:
        yield _complex_derivative(fn, facts)
    if fn.arity > 1:
        yield from _broadcasting(fn, facts, dtypes, shared)


def _has_slope(fn: ElementwiseFunction) -> bool:
    return fn.d is not None and any(d is not None for d in fn.d)


def _complex_derivative(fn: ElementwiseFunction, facts: Facts) -> Case:
    """The gradient of both parts of a result for both parts of each operand, by differences as of any real function."""

    def subject(*parts: Any) -> Any:
        y = fn(*map(tg.complex, parts[::2], parts[1::2]))
        return (tg.real(y), tg.imag(y)) if is_complex(y.type.dtype) else y

    def oracle(*parts: Array) -> Any:
        y = facts.oracle(*(re + 1j * im for re, im in zip(parts[::2], parts[1::2], strict=True)))
        return (y.real, y.imag) if y is not None and np.iscomplexobj(y) else y

    def size(*parts: Array) -> Any:
        y = oracle(*parts)
        return (np.hypot(*y),) * 2 if isinstance(y, tuple) else np.abs(y)

    inputs = [Input(None, ("n", "m"), low=low, high=high) for low, high in ((0.2, 0.7), (0.3, 0.9)) * fn.arity]
    name = f"{fn.name} complex derivative"
    dtypes, accuracy = ("float32", "float64"), max(16, 4 * fn.accuracy)
    layouts: tuple[Layout, ...] = ("C", "broadcast")
    facts_of_case: dict[str, Any] = {"oracle": oracle, "condition": size, "accuracy": accuracy, "gradient": True}
    return Case(subject, inputs, name=name, dtypes=dtypes, layouts=layouts, **facts_of_case)


def _broadcasting(
    fn: ElementwiseFunction, facts: Facts, dtypes: tuple[str, ...], shared: dict[str, Any]
) -> Iterator[Case]:
    """Operands of different ranks, of length 1, and a scalar."""
    few = tuple(d for d in ("bool", "int32", "uint8", "float32", "float64") if d in dtypes)[-2:] or dtypes[-1:]
    inputs = _inputs(fn, facts.domains)
    shapes: tuple[tuple[tuple[int | str, ...], ...], ...] = (
        (draw.RANK_3, draw.RANK_3[1:], draw.RANK_3, draw.RANK_3[2:]),
        (("n", 1), (1, "m"), (), ("n", 1)),
        ((), ("n", "m"), ("m",), ()),
    )
    for name, chosen in zip(("row", "outer", "scalar"), shapes, strict=True):
        operands = [
            Input(i.dtype, s, values=i.values, low=i.low, high=i.high, static=1 in s)
            for i, s in zip(inputs, chosen, strict=False)
        ]
        yield Case(fn, operands, name=f"{fn.name} broadcast {name}", dtypes=few, layouts=("C", "strided"), **shared)


def loop_dtypes(fn: ElementwiseFunction) -> tuple[str, ...]:
    """The dtypes for which all operands, apart from a condition, have the dtype in some loop."""
    return tuple(d for d in DTYPES if _has_loop(fn, d))


def _has_loop(fn: ElementwiseFunction, dtype: str) -> bool:
    kinds = ("bool",) * _conditions(fn) + (dtype,) * (fn.arity - _conditions(fn))
    try:
        return fn.loop(kinds)[0] == kinds
    except DtypeError:
        return False


def _operand(fn: ElementwiseFunction, k: int, shape: tuple[str, ...], **facts: Any) -> Input:
    return Input("bool" if k < _conditions(fn) else None, shape, **facts)


def _conditions(fn: ElementwiseFunction) -> int:
    """The number of leading operands that are conditions, where others are not."""
    if fn.arity == 1:
        return 0
    try:
        kinds, _ = fn.loop(("float64",) * fn.arity)
    except DtypeError:
        return 0
    return next((k for k, kind in enumerate(kinds) if kind != "bool"), 0)


def _inputs(
    fn: ElementwiseFunction, domains: Sequence[tuple[float, float]] | None, shape: tuple[str, ...] = draw.RANK_2
) -> list[Input]:
    intervals = domains or [fn.domain or (-3.0, 3.0)] * fn.arity
    return [_operand(fn, k, shape, low=low, high=high) for k, (low, high) in enumerate(intervals)]


def _combination(fn: ElementwiseFunction, k: int, rng: Any, dtype: str, shape: Any) -> Array:
    """Operand k of the combinations of special values, each operand having its own dtype's; all, then some again."""
    common = dtype if not (fn.name == "where" and k == 0) else None
    pool = _combinations(fn.name == "where", fn.arity, common)
    values = np.array(pool)[:, k] if common is not None else np.resize([True, False, False], HOSTILE_LIMIT)
    return values[_again(len(values), math.prod(shape))].reshape(shape)


@functools.cache
def _again(count: int, size: int) -> Array:
    """The number of the combination at each of many places, in no order: the first ones have each combination once."""
    rng = draw.generator("again", count, size)
    return np.concatenate([rng.permutation(count), rng.integers(0, count, max(0, size - count))])[:size]


class Once:
    """An oracle of single elements that is asked once for each combination of them, as digits are dear."""

    def __init__(self, oracle: Oracle) -> None:
        self.oracle = oracle

    def __call__(self, *arrays: Array) -> Array | None:
        """The oracle's values for arrays of one shape."""
        size = arrays[0].size
        rows = [np.ascontiguousarray(x).view(np.uint8).reshape(size, x.itemsize) for x in arrays]
        _, first, back = np.unique(np.concatenate(rows, axis=1), axis=0, return_index=True, return_inverse=True)
        values = self.oracle(*(np.ravel(x)[first] for x in arrays))
        return None if values is None else values[np.ravel(back)].reshape(arrays[0].shape)


@functools.cache
def _combinations(has_condition: bool, arity: int, dtype: str | None) -> Array:
    """All combinations of special values as rows, or a fixed choice of them where they are many."""
    specials = draw.specials(dtype or "bool")
    indices = np.array(list(itertools.product(range(len(specials)), repeat=arity)))
    if len(indices) > HOSTILE_LIMIT or has_condition:
        rng = draw.generator("combinations", arity, dtype)
        indices = indices[rng.integers(0, len(indices), HOSTILE_LIMIT)]
    return np.asarray(specials[indices])


def floats_only(function: Callable[..., Any], **facts: Any) -> Facts:
    """The facts of a function that has floating loops only."""
    return Facts(Oracle(function), **facts)
