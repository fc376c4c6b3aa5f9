"""`Reduction`: the record of a reduction, and the table that finds it by the function that combines two elements.

A reduction combines elements by a function that is associative and commutative but for rounding: `Reduce` along axes,
`Accumulate` from element to element, `Scatter` at positions that repeat. A record is one assignment, which makes it
known; called, it is what users call:

    logsumexp = Reduction("logsumexp", logaddexp, start=-np.inf, pullback=by_element(lambda x, y: exp(x - y)))
    logsumexp(x, axis=-1, keepdims=True)

What rules and backends want to know of a reduction stands here, so that none has to compare `fn` with functions to find
out. Where a function itself is meant, as in a rule about sums or in a backend's table, it is named there.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib
from typing import TYPE_CHECKING, Any, Final, Literal, final

import numpy as np

from tg.errors import DtypeError, InputError, message
from tg.graph.facts import NONE, elements_of, facts_of
from tg.ops.elementwise.arithmetic import add, divide, maximum, minimum, multiply
from tg.ops.elementwise.cast import cast_variable
from tg.ops.elementwise.comparison import equal, logical_and, logical_or, where
from tg.ops.shape import broadcast_to
from tg.ops.sized_ops import sum_facts
from tg.rewrite.phases import EXACT, REASSOCIATES, SIGNED_ZERO
from tg.types.dtypes import BOOL, dtype_name, in_float32, is_complex, is_float, is_inexact, numpy_dtype

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tg.graph.nodes import Variable
    from tg.ops.cumulative import Accumulate
    from tg.ops.elementwise.record import ElementwiseFunction
    from tg.ops.indexing import Scatter
    from tg.ops.reduction import Reduce

    Array = np.ndarray[Any, Any]
    Pullback = Callable[[Any, Reduce, Variable, Variable, Variable], Variable]  # tools, op, x, y, dy -> dx
    RunningPullback = Callable[[Accumulate, Variable, Variable, Variable], Variable]  # op, x, y, dy -> dx
    # tools, op, x, v, indices, y, dy -> dx, dv
    ScatterPullback = Callable[
        [Any, Scatter, Variable, Variable, Sequence[Variable], Variable, Variable],
        tuple[Variable | None, Variable | None],
    ]


def in_double(dtype: str) -> str:
    """Double precision for inexact dtypes, real or complex, else the dtype itself."""
    return "float64" if is_float(dtype) else "complex128" if is_complex(dtype) else dtype


def _nothing(x: Variable) -> frozenset[str]:
    return NONE


@final
@dataclasses.dataclass(frozen=True, slots=True, eq=False, repr=False)
class Reduction:
    """A reduction, as data: what elements are combined by, and what is true of that."""

    name: str  # that users know it by
    fn: ElementwiseFunction  # of two: associative and commutative but for rounding
    _: dataclasses.KW_ONLY
    start: float | Callable[[str], Any]  # the identity, or what gives it for a dtype
    pullback: Pullback | None  # None: it has no derivative
    kind: Literal["sum", "product", "extreme", "logical", "other"] = "other"  # one of the former for core's own alone
    sign: Literal[-1, 0, 1] = 0  # of an extreme: 1 if it is the largest element, -1 if it is the least
    dual: ElementwiseFunction | None = None  # of an extreme, of what is negated; of a logical one, of what is denied
    of_bool: Literal["any", "all"] | None = None  # what it is of truth values
    idempotent: bool = False  # x combined with x is x, so that more of the same changes nothing
    order: str = REASSOCIATES  # the class of rules that combine inexact numbers in another order
    nan: Literal["spreads", "true"] = "spreads"  # one NaN makes the result NaN, or counts as any number but 0
    widens: bool = False  # what users call accumulates bool and small integers in 64 bits
    needs_elements: bool = False  # no elements are an error, unless `Reduce.total`
    working: Callable[[str], str] = in_float32  # the dtype that elements of a dtype are combined in
    facts: Callable[[Variable], frozenset[str] | set[str]] = _nothing  # of the result, by the operand
    facts_of_none: frozenset[str] = NONE  # that the identity has too, where no elements are an error
    expansion: Callable[[Variable, tuple[int, ...]], Variable] | None = None  # of x over axes, where a rule declines
    running_pullback: RunningPullback | None = None  # None: no `Accumulate`
    scatter_pullback: ScatterPullback | None = None  # None: no `Scatter`

    def __post_init__(self) -> None:
        previous = REDUCTIONS.get(self.fn)
        if previous is not None and (previous.kind != "other" or previous.name != self.name):
            raise InputError(message(f"reduction: found {self.name} by {self.fn}, which {previous.name} is by already"))
        REDUCTIONS[self.fn] = self  # in the place of one that a module has made that is run again

    def __repr__(self) -> str:
        return f"Reduction({self.name!r}, {self.fn})"

    def __call__(
        self, x: Any, axis: Any = None, *, keepdims: bool = False, initial: Any = None, where: Any = None
    ) -> Variable:
        """The reduction over axes (all by default); `initial` is combined into it, `where` tells what takes part."""
        from tg.ops.reduction import reduced

        return reduced(self, x, axis, keepdims=keepdims, initial=initial, where=where)

    @property
    def is_sum(self) -> bool:
        return self.kind == "sum"

    @property
    def is_extreme(self) -> bool:
        return self.kind == "extreme"

    @property
    def cost(self) -> float:
        """Time that one element takes: see `ElementwiseFunction.cost`."""
        return self.fn.cost

    def identity(self, dtype: str) -> Any:
        """The identity element, from which it starts, as a scalar of the dtype."""
        return numpy_dtype(dtype).type(self.start(dtype) if callable(self.start) else self.start)

    def check(self, dtype: str) -> None:
        """Whether elements of a dtype can be combined: truth is asked of all, else the function has to keep the dtype.

        Raises:
            DtypeError: it gives another one.
        """
        if self.kind != "logical" and self.fn.loop((dtype, dtype)) != ((dtype, dtype), dtype):
            raise DtypeError(message(f"{self.name}: found {dtype}, needed a dtype that {self.fn} keeps"))

    def is_idempotent(self, dtype: str) -> bool:
        """Whether more of the same changes nothing: of bool, sums are "any" and products "all"."""
        return self.idempotent or (dtype == BOOL and self.of_bool is not None)

    @property
    def rounds(self) -> bool:
        """Whether inexact numbers are rounded where two are combined."""
        return self.order == REASSOCIATES

    def class_of(self, dtype: str) -> str:
        """The class of rules that change the order in which elements of a dtype are combined."""
        return self.order if is_inexact(dtype) else EXACT

    # --- the reference -----------------------------------------------------------------------------------------------

    def perform(self, x: Array, axes: tuple[int, ...]) -> Array:
        """The elements along axes combined: by NumPy's ufunc, or pair by pair; floating sums are always pairwise."""
        dtype = dtype_name(x.dtype)
        in_rows = self.kind == "other" or (self.is_sum and bool(axes) and is_inexact(dtype))
        if not in_rows:
            assert self.fn.numpy is not None
            return np.asarray(self.fn.numpy.reduce(x, axis=axes, initial=self.identity(dtype)))
        lead = [k for k in range(-x.ndim, 0) if k not in axes]
        rows = np.ascontiguousarray(np.transpose(x, (*lead, *axes)))
        flat = rows.reshape((*(x.shape[k] for k in lead), int(np.prod([x.shape[k] for k in axes]))))
        if not self.is_sum:
            return self._in_pairs(flat)
        # NumPy adds bfloat16 one after the other, and 66,000 times 0.5 to 128.
        return np.asarray(np.add.reduce(flat, axis=-1, dtype=in_float32(dtype)))

    def _in_pairs(self, x: Array) -> Array:
        """The elements along the last axis combined two by two."""
        start = np.full((*x.shape[:-1], 1), self.identity(dtype_name(x.dtype)), x.dtype)
        x = x if x.shape[-1] else start
        while (n := x.shape[-1]) > 1:
            pairs = self._both(x[..., : n // 2], x[..., n // 2 : n // 2 * 2])
            x = np.concatenate([pairs, x[..., n // 2 * 2 :]], axis=-1)
        return x[..., 0]

    def perform_running(self, x: Array, axis: int) -> Array:
        """The running result along an axis, in the dtype of x."""
        if self.fn.numpy is not None:
            return np.asarray(self.fn.numpy.accumulate(x, axis=axis, dtype=x.dtype))
        y = np.moveaxis(x, axis, 0).copy()
        for i in range(1, len(y)):
            y[i] = self._both(y[i - 1], y[i])
        return np.moveaxis(y, 0, axis)

    def perform_at(self, y: Array, places: tuple[Array, ...], v: Array) -> None:
        """Values combined into an array at positions, one after the other."""
        if self.fn.numpy is not None:
            self.fn.numpy.at(y, places, v)
            return
        for k in np.ndindex(places[0].shape):
            place = tuple(i[k] for i in places)
            y[place] = self._both(y[place], v[k])

    def _both(self, a: Array, b: Array) -> Array:
        return np.asarray(self.fn.reference(a, b)).astype(a.dtype)


REDUCTIONS: Final[dict[ElementwiseFunction, Reduction]] = {}
"""All records, by the function that combines."""


def by_element(d: Callable[[Variable, Variable], Variable | float]) -> Pullback:
    """The pullback of a reduction of which `d(x, y)` is the derivative of the result y by an element x."""

    def pullback(tools: Any, op: Reduce, x: Variable, y: Variable, dy: Variable) -> Variable:
        spread = broadcast_to(op.restore(dy), x.shape)
        return tools.times(spread, d(x, op.restore(y)))  # type: ignore[no-any-return]

    return pullback


def _later(module: str, name: str) -> Any:
    """A function of a module of ops that imports this one."""

    def call(*arguments: Any) -> Any:
        return getattr(importlib.import_module(f"tg.ops.{module}"), name)(*arguments)

    return call


# --- sums and products -----------------------------------------------------------------------------------------------


def product_facts(x: Variable) -> frozenset[str]:
    """The facts of products of elements of x, which underflow, and overflow to what a 0 makes NaN."""
    return facts_of(x) & {"nonnegative", "whole"} if is_float(x.type.dtype) else NONE


def _of_product(tools: Any, op: Reduce, x: Variable, y: Variable, dy: Variable) -> Variable:
    """Times the product of the others."""
    from tg.ops.reduction import product_of_others

    spread = broadcast_to(op.restore(dy), x.shape)
    return tools.times(spread, product_of_others(x, op.axes))  # type: ignore[no-any-return]


SUM: Final = Reduction(
    "sum", add, start=0, kind="sum", of_bool="any", widens=True, working=in_double, facts=sum_facts,
    pullback=by_element(lambda x, y: 1),
    running_pullback=_later("cumulative", "pullback_of_sums"), scatter_pullback=_later("scatter_pullback", "of_sum"),
)  # fmt: skip
PRODUCT: Final = Reduction(
    "prod", multiply, start=1, kind="product", of_bool="all", widens=True, facts=product_facts,
    pullback=_of_product,
    running_pullback=_later("cumulative", "pullback_of_products"),
    scatter_pullback=_later("scatter_pullback", "of_product"),
)  # fmt: skip

# --- extremes --------------------------------------------------------------------------------------------------------

EXTREME_OF_NONE: Final = frozenset(("not_nan", "whole", "no_negative_zero"))  # what the identities of extrema have


def _end(dtype: str, *, low: bool) -> Any:
    """The least or the largest value of a dtype."""
    if dtype == BOOL:
        return not low
    if is_inexact(dtype):
        end = -np.inf if low else np.inf
        return complex(end, end) if is_complex(dtype) else end  # where real parts are equal the imaginary ones decide
    return np.iinfo(dtype).min if low else np.iinfo(dtype).max


def _of_extreme(tools: Any, op: Reduce, x: Variable, y: Variable, dy: Variable) -> Variable:
    """Shared equally by the ties."""
    from tg.ops.reduction import reduce_sum

    spread = broadcast_to(op.restore(dy), x.shape)
    chosen = equal(x, op.restore(y))
    ties = op.restore(reduce_sum(cast_variable(chosen, x.type.dtype), op.axes))
    return where(chosen, divide(spread, ties), numpy_dtype(x.type.dtype).type(0))


_extreme = functools.partial(
    Reduction, kind="extreme", idempotent=True, order=SIGNED_ZERO, needs_elements=True,
    facts=elements_of, facts_of_none=EXTREME_OF_NONE,
    pullback=_of_extreme, running_pullback=_later("cumulative", "pullback_of_extremes"),
    scatter_pullback=_later("scatter_pullback", "of_extreme"),
)  # fmt: skip
LEAST: Final = _extreme("min", minimum, start=functools.partial(_end, low=False), sign=-1, dual=maximum, of_bool="all")
LARGEST: Final = _extreme("max", maximum, start=functools.partial(_end, low=True), sign=1, dual=minimum, of_bool="any")

# --- truth values ----------------------------------------------------------------------------------------------------

_logical = functools.partial(Reduction, kind="logical", idempotent=True, order=EXACT, nan="true", pullback=None)
ALL: Final = _logical("all", logical_and, start=1, dual=logical_or, of_bool="all")
ANY: Final = _logical("any", logical_or, start=0, dual=logical_and, of_bool="any")
