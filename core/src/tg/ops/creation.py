"""Arrays made of nothing but numbers and lengths."""

from __future__ import annotations

import builtins
import math
from typing import TYPE_CHECKING, Any, Final, final

import numpy as np

from tg.errors import InputError, RangeError, ShapeError, message
from tg.graph.nodes import Variable, as_size_variable, size_value
from tg.graph.op import Op
from tg.keywords import explained
from tg.ops.elementwise.arithmetic import add, divide, multiply, negative, power, subtract
from tg.ops.elementwise.arithmetic import floor_divide as floor_divide_elements
from tg.ops.elementwise.arithmetic import maximum as largest
from tg.ops.elementwise.cast import cast_variable
from tg.ops.elementwise.comparison import equal, less, where
from tg.ops.elementwise.exponential import log10
from tg.ops.family import Family
from tg.ops.length_checks import size_checks
from tg.ops.shape import broadcast_to, expand_dims_at, merge_sizes, moveaxis, split_sizes, stack
from tg.types.dtypes import dtype_name, is_inexact, is_integer
from tg.types.lengths import Length, floor_divide, maximum
from tg.types.lengths import add as add_lengths
from tg.types.lengths import multiply as multiply_lengths
from tg.types.lengths import subtract as subtract_lengths
from tg.types.tensor_type import TensorType
from tg.variables.conversion import as_variable, float_name, promote, promoted, weak_dtype, weak_kind
from tg.variables.kinds import need_no_device

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tg.graph.checks import Check
    from tg.variables.like import ShapeLike, SizeLike, TensorLike

LIMIT: Final = 1 << 63  # int64 holds the integers below it, down to its negative
MOST: Final = 1 << 62  # values in an array
COUNTABLE: Final = 1 << 53  # lengths up to this `np.arange` has exactly: it counts in float64


@final
class Arange(Op):
    """The integers 0, 1, ..., n - 1 as int64; n is the field, or the one operand where the field is None.

    Shapes:
        n () -> y (n)
    """

    length: int | None

    def size_operands(self, count: int) -> range:
        """The length, where it is an operand."""
        return range(count)

    def infer(self, *sizes: int | Length) -> tuple[TensorType, ...]:
        """int64 of that length."""
        return (TensorType("int64", merge_sizes((self.length,), sizes)),)

    def perform(self, *sizes: np.ndarray[Any, Any]) -> tuple[np.ndarray[Any, Any], ...]:
        """`np.arange`."""
        n = int(sizes[0]) if self.length is None else self.length
        if n > COUNTABLE:
            np.empty(n, np.int64)  # raises MemoryError
        return (np.arange(n, dtype=np.int64),)

    def checks(self, inputs: Sequence[Variable], outputs: Sequence[Variable]) -> tuple[Check, ...]:
        """The size is a length."""
        return size_checks(inputs)

    def facts(self, inputs: Sequence[Variable]) -> Sequence[Iterable[str]]:
        """Positions are not below 0."""
        return (("nonnegative",),)

    def pullback(self, tools: Any, inputs: Any, outputs: Any, cotangents: Any) -> Sequence[Variable | None]:
        """None: a length has no derivative."""
        return (None,) * len(inputs)


def iota(length: Any) -> Variable:
    """0, 1, ..., length - 1 as int64."""
    (field,), sizes = split_sizes([length])
    return Arange(field)(*sizes)  # type: ignore[no-any-return]


def arange(
    start: TensorLike, stop: TensorLike | None = None, step: Any = 1, *, dtype: object = None, device: None = None
) -> Variable:
    """Evenly spaced values from start (0 if one argument is given) up to, not including, stop.

    Args:
        start, stop, step: numbers, lengths or scalar variables. Their number is ceil((stop - start) / step), also where
            that is known at run time only.
    Dtypes:
        int64 for integers, the floating dtype that they promote to for others; or `dtype`.
    Raises:
        InputError: step is the number 0.
        RangeError: one of the values, if these are known, is beyond int64.
        ShapeError: an argument is not a scalar.
    Source:
        numpy.arange
    """
    need_no_device("arange", device)
    if stop is None:
        start, stop = 0, start
    ends = [as_scalar("arange", v) for v in (start, stop, step)]
    if isinstance(ends[2], int | float) and ends[2] == 0:
        raise InputError(message(f"arange: step: found {step!r}, needed a number other than 0"))
    if any(isinstance(v, float) and math.isnan(v) for v in ends):
        raise InputError(message(f"arange: found {start!r}, {stop!r} and {step!r}, needed no NaN"))
    if all(isinstance(v, int | float) for v in ends) and any(isinstance(v, float) for v in ends):
        return as_variable(np.arange(*ends), float_name(dtype))
    if any(isinstance(v, float) or (isinstance(v, Variable) and is_inexact(v.type.dtype)) for v in ends):
        values = _floating_range(*ends)
    else:
        few = _few_at_the_limits(ends)
        lengths = (size_value(v) if isinstance(v, Variable) else v for v in ends)
        values = _integer_range(*lengths) if few is None else few
    return values if dtype is None else cast_variable(values, dtype_name(dtype))


def as_scalar(what: str, value: Any) -> Any:
    """A scalar variable, a length or a Python number."""
    if isinstance(value, Variable):
        if value.type.ndim:
            raise ShapeError(message(f"{what}: found {value.type}, needed a scalar"))
        return value
    if type(value) is Length or type(value) is int:
        return value
    array = np.asarray(value)
    if array.ndim or array.dtype.kind not in "biuf":
        raise ShapeError(message(f"{what}: found {value!r}, needed a real scalar"))
    return array.item()


def _few_at_the_limits(ends: Sequence[Any]) -> Variable | None:
    """The values where int64 does not hold the known start or step, or what has the other sign: two at most."""
    if not all(isinstance(v, int) for v in ends):
        return None
    first, _, step = ends
    taken = range(*ends)
    if taken[MOST:]:
        return None  # whose length is refused
    for v in taken[:1], taken[-1:]:
        if v and not -LIMIT <= v[0] < LIMIT:
            raise RangeError(message(f"arange: found {v[0]}, needed values that int64 can hold"))
    if taken[2:] or (abs(first) < LIMIT and abs(step) < LIMIT):
        return None
    return as_variable(np.array(list(taken), np.int64))


def _integer_range(first: Any, last: Any, step: Any) -> Variable:
    if isinstance(step, int) and step < 0:
        first, last, step = multiply_lengths(-1, first), multiply_lengths(-1, last), -step
        return negative(_integer_range(first, last, step))
    if isinstance(step, int):
        count = floor_divide(add_lengths(subtract_lengths(last, first), step - 1), step)
    else:
        count = multiply_lengths(-1, floor_divide(subtract_lengths(first, last), step))
    values = iota(maximum(0, count))
    if not (isinstance(step, int) and step == 1):
        values = multiply(values, as_variable(step))
    if not (isinstance(first, int) and first == 0):
        values = add(values, as_variable(first))
    return values


def _floating_range(start: Any, stop: Any, step: Any) -> Variable:
    (first, last, by), dtype = promoted([start, stop, step])
    first, last, by = (cast_variable(v, dtype) for v in (first, last, by))
    spans = cast_variable(divide(subtract(last, first), by), "float64")
    whole = floor_divide_elements(spans, 1.0)
    count = cast_variable(add(whole, cast_variable(less(whole, spans), "float64")), "int64")
    places = cast_variable(iota(largest(count, 0)), dtype)
    return add(first, multiply(places, subtract(add(first, by), first)))


def linspace(
    start: TensorLike,
    stop: TensorLike,
    num: SizeLike = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: object = None,
    axis: int = 0,
    *,
    device: None = None,
) -> Any:
    """`num` evenly spaced values from start to stop, along a new axis.

    Args:
        start, stop: numbers, or arrays that broadcast.
        num: an integer, a length or an integer scalar variable.
        endpoint: whether stop is the last value.
        retstep: whether the step between values comes too.
    Dtypes:
        the floating dtype that start and stop promote to; or `dtype`, an integer one rounding down. The step stays
        floating.
    Source:
        numpy.linspace
    """
    need_no_device("linspace", device)
    (first, last), common = promoted([float(v) if type(v) is int else v for v in (start, stop)])
    kind = common if is_inexact(common) else float_name(None)
    first, last = (cast_variable(v, kind) for v in (first, last))
    rank = builtins.max(first.type.ndim, last.type.ndim)
    count: Any = size_value(num) if isinstance(num, Variable) else num
    n = as_size_variable(count)
    spans = cast_variable(n - 1 if endpoint else n, kind)
    step = divide(subtract(last, first), spans)
    place = iota(count)
    column = expand_dims_at(place, tuple(range(-rank, 0))) if rank else place
    values = add(multiply(cast_variable(column, kind), where(equal(spans, 0), zeros_like(step), step)), first)
    if endpoint:
        at_end = equal(column, largest(n - 1, 1))
        values = where(at_end, last, values)
    if dtype is not None:
        wanted = dtype_name(dtype)
        values = cast_variable(floor_divide_elements(values, 1) if is_integer(wanted) else values, wanted)
    values = moveaxis(values, 0, axis)
    return (values, step) if retstep else values


def logspace(
    start: TensorLike,
    stop: TensorLike,
    num: SizeLike = 50,
    endpoint: bool = True,
    base: Any = 10.0,
    dtype: object = None,
    axis: int = 0,
) -> Variable:
    """`num` values from base**start to base**stop whose logarithms are evenly spaced, along a new axis.

    Source:
        numpy.logspace
    """
    values = power(base, linspace(start, stop, num, endpoint, axis=axis))
    return values if dtype is None else cast_variable(values, dtype_name(dtype))


def geomspace(
    start: TensorLike, stop: TensorLike, num: SizeLike = 50, endpoint: bool = True, dtype: object = None, axis: int = 0
) -> Variable:
    """`num` values from start to stop, each the same multiple of the one before, along a new axis.

    Start and stop have one sign, and are not 0: else the values are NaN.

    Source:
        numpy.geomspace
    """
    (first, last), common = promoted([start, stop])
    kind = common if is_inexact(common) else float_name(None)
    first, last = (cast_variable(v, kind) for v in (first, last))
    exponent = log10(divide(last, first))
    share = linspace(zeros_like(exponent), ones_like(exponent), num, endpoint)
    between = multiply(first, power(10, multiply(share, exponent)))
    values = where(equal(share, 1), last, where(equal(share, 0), first, between))
    values = moveaxis(values, 0, axis)
    return values if dtype is None else cast_variable(values, dtype_name(dtype))


def full(shape: ShapeLike, fill_value: TensorLike, dtype: object = None, *, device: None = None) -> Variable:
    """An array of one repeated value.

    Dtypes:
        that of the value, or `dtype`.
    Source:
        numpy.full
    """
    need_no_device("full", device)
    kind = weak_kind(fill_value)
    wanted = dtype_name(dtype) if dtype is not None else weak_dtype(kind) if kind else None
    x = as_variable(fill_value, wanted)
    return broadcast_to(cast_variable(x, wanted) if wanted else x, shape)


def zeros(shape: ShapeLike, dtype: object = None, *, device: None = None) -> Variable:
    """An array of zeros.

    Source:
        numpy.zeros
    """
    need_no_device("zeros", device)
    return full(shape, 0, dtype=float_name(dtype))


def ones(shape: ShapeLike, dtype: object = None, *, device: None = None) -> Variable:
    """An array of ones.

    Source:
        numpy.ones
    """
    need_no_device("ones", device)
    return full(shape, 1, dtype=float_name(dtype))


def full_like(x: TensorLike, fill_value: TensorLike, dtype: object = None, *, device: None = None) -> Variable:
    """An array of one repeated value with the shape of x, and its dtype unless given.

    Source:
        numpy.full_like
    """
    need_no_device("full_like", device)
    x = as_variable(x)
    return full(x.shape, fill_value, dtype=dtype if dtype is not None else x.type.dtype)


def zeros_like(x: TensorLike, dtype: object = None, *, device: None = None) -> Variable:
    """Zeros with the shape of x, and its dtype unless given.

    Source:
        numpy.zeros_like
    """
    need_no_device("zeros_like", device)
    return full_like(x, 0, dtype=dtype)


def ones_like(x: TensorLike, dtype: object = None, *, device: None = None) -> Variable:
    """Ones with the shape of x, and its dtype unless given.

    Source:
        numpy.ones_like
    """
    need_no_device("ones_like", device)
    return full_like(x, 1, dtype=dtype)


def empty(shape: ShapeLike, dtype: object = None, *, device: None = None) -> Variable:
    """An array whose values do not matter: zeros.

    Source:
        numpy.empty
    """
    need_no_device("empty", device)
    return zeros(shape, dtype=dtype)


def empty_like(x: TensorLike, dtype: object = None, *, device: None = None) -> Variable:
    """An array with the shape of x whose values do not matter: zeros.

    Source:
        numpy.empty_like
    """
    need_no_device("empty_like", device)
    return zeros_like(x, dtype=dtype)


def eye(n: SizeLike, m: TensorLike | None = None, k: int = 0, *, dtype: object = None, device: None = None) -> Variable:
    """Ones on the k-th diagonal of an n by m array, zeros elsewhere; m is n unless given.

    Source:
        numpy.eye
    """
    need_no_device("eye", device)
    rows, columns = iota(n), iota(n if m is None else m)
    on = equal(expand_dims_at(rows, (-1,)) + k, expand_dims_at(columns, (-2,)))
    return cast_variable(on, float_name(dtype))


@explained
def one_hot(x: TensorLike, n: SizeLike, *, dtype: object = None) -> Variable:
    """For each position a row of n zeros with a one at that position; only zeros for one outside [0, n).

    Shapes:
        x (...), integers -> (..., n)
    """
    x = as_variable(x)
    return cast_variable(equal(expand_dims_at(x, (-1,)), iota(n)), float_name(dtype))


def indices(dimensions: Sequence[Any], dtype: object = "int64", sparse: bool = False) -> Any:
    """The position of each element of an array of a shape, along each axis.

    Args:
        sparse: whether to give a tuple of arrays that broadcast rather than one array.
    Shapes:
        (k, n1, ..., nk); sparse: (n1, 1, ...), (1, n2, ...), ...
    Source:
        numpy.indices
    """
    rank = len(dimensions)
    wanted = dtype_name(dtype)
    grids = []
    for k, n in enumerate(dimensions):
        others = tuple(j - rank for j in range(rank) if j != k)
        place = cast_variable(iota(n), wanted)
        grids.append(expand_dims_at(place, others) if others else place)
    if sparse:
        return tuple(grids)
    return stack([broadcast_to(v, tuple(dimensions)) for v in grids])


def vander(x: TensorLike, N: Any = None, increasing: bool = False) -> Variable:
    """The powers of the elements of a vector, one row for each, from the highest down or from x**0 up.

    Shapes:
        x (n) -> (n, N); N is n unless given
    Dtypes:
        what x and int64 promote to
    Raises:
        ShapeError: x is no vector.
    Source:
        numpy.vander
    """
    x = as_variable(x)
    if x.type.ndim != 1:
        raise ShapeError(message(f"vander: found {x.type}, needed a vector"))
    count = x.shape[0] if N is None else N
    exponents = iota(count)
    if not increasing:
        exponents = subtract(as_size_variable(count) - 1, exponents)
    kind = promote(x.type.dtype, "int64")
    return power(cast_variable(expand_dims_at(x, (-1,)), kind), cast_variable(exponents, kind))


FAMILY = Family(
    "creation",
    ops=(Arange,),
    functions=(
        arange, linspace, logspace, geomspace, full, zeros, ones, empty, full_like, zeros_like, ones_like, empty_like,
        eye, one_hot, indices, vander,
    ),
)  # fmt: skip
