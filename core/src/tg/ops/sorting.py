"""Orders along an axis. Every sort is stable and puts NaN last; ties keep their order, the first one first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, final

import numpy as np

from tg.errors import DomainError, DtypeError, InputError, ShapeError, message
from tg.graph.facts import elements_of
from tg.graph.nodes import Constant, as_size_variable
from tg.graph.op import Op
from tg.ops.creation import iota
from tg.ops.elementwise.arithmetic import add, subtract
from tg.ops.elementwise.cast import cast_variable
from tg.ops.elementwise.comparison import greater_equal, less, where
from tg.ops.family import Family
from tg.ops.indexing import Gather, Scatter, flip, slice_axis
from tg.ops.reduction import any as any_of
from tg.ops.shape import Concatenate, broadcast_to, expand_dims_at, moveaxis, ravel, reshape
from tg.types.lengths import product
from tg.types.tensor_type import TensorType
from tg.variables.conversion import as_variable, axis_from_end, need_axes, promoted

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tg.graph.nodes import Variable
    from tg.types.choices import Side
    from tg.variables.like import TensorLike

    Array = np.ndarray[Any, Any]

SIDES: Final[tuple[Side, Side]] = ("left", "right")
KINDS: Final = (None, "quicksort", "mergesort", "heapsort", "stable")


def along(x: Variable, positions: Variable) -> Variable:
    """The elements of x at positions along the last axis, row by row; positions are in range.

    Shapes:
        x (..., n), positions (..., m), with the same leading lengths -> y (..., m)
    """
    if x.type.ndim == 1:
        return Gather((-1,))(x, positions)  # type: ignore[no-any-return]
    rows = product(x.shape[:-1])
    table = reshape(x, (rows, x.shape[-1]))
    places = reshape(positions, (rows, positions.shape[-1]))
    row = broadcast_to(expand_dims_at(iota(rows), (-1,)), places.shape)
    return reshape(Gather((-2, -1))(table, row, places), positions.shape)


def _comparable(x: Array) -> Array:
    """The array in a dtype that NumPy sorts with NaN last."""
    return x.astype(np.float32) if x.dtype.name == "bfloat16" else x


@final
class ArgSort(Op):
    """The positions that sort x along `axis`: x[y[0]] <= x[y[1]] <= …; stable, NaN last.

    Complex numbers are ordered by real, then by imaginary part.

    Shapes:
        x (..., n, ...) -> y (..., n, ...), int64
    Raises:
        ShapeError: `axis` is not an axis of x.
    Source:
        numpy.argsort, kind="stable"
    """

    axis: int  # counted from the end: -1 is the last

    def infer(self, x: TensorType) -> tuple[TensorType, ...]:
        """int64 of the shape of x."""
        need_axes(self.name, (self.axis,), len(x.shape))
        return (TensorType("int64", x.shape),)

    def perform(self, x: Array) -> tuple[Array, ...]:
        """`np.argsort`, stable."""
        return (np.argsort(_comparable(x), axis=self.axis, kind="stable").astype(np.int64),)

    def facts(self, inputs: Sequence[Variable]) -> Sequence[Iterable[str]]:
        """A position is not below 0."""
        return (("nonnegative",),)

    def pullback(self, tools: Any, inputs: Any, outputs: Any, cotangents: Any) -> Sequence[Variable | None]:
        """None: positions have no derivative."""
        return (None,)


@final
class Sort(Op):
    """The elements of x in ascending order along `axis`; NaN last.

    Shapes:
        x (..., n, ...) -> y (..., n, ...)
    Raises:
        ShapeError: `axis` is not an axis of x.
    Source:
        numpy.sort. The derivative goes to the element that stands at a place; ties stand in their order.
    """

    axis: int
    has_expansion = True

    def infer(self, x: TensorType) -> tuple[TensorType, ...]:
        """The type of x."""
        need_axes(self.name, (self.axis,), len(x.shape))
        return (x,)

    def perform(self, x: Array) -> tuple[Array, ...]:
        """`np.sort`, stable."""
        return (np.sort(_comparable(x), axis=self.axis, kind="stable").astype(x.dtype),)

    def expansion(self, *inputs: Variable) -> Variable:
        """The elements at the positions that `ArgSort` gives."""
        last = moveaxis(inputs[0], self.axis, -1)
        return moveaxis(along(last, ArgSort(-1)(last)), -1, self.axis)

    def facts(self, inputs: Sequence[Variable]) -> Sequence[Iterable[str]]:
        """The elements stay."""
        return (elements_of(inputs[0]),)


@final
class SearchSorted(Op):
    """Insertion position of each element of v in the sorted vector a, before (`left`) or after its equals.

    Shapes:
        a (n), v (...) -> y (...), int64 in [0, n]
    Dtypes:
        both operands have one dtype.
    Raises:
        InputError: `side` is neither "left" nor "right".
        ShapeError: a is no vector.
    Source:
        numpy.searchsorted
    """

    side: str
    has_expansion = True

    def infer(self, a: TensorType, v: TensorType) -> tuple[TensorType, ...]:
        """int64 of the shape of v."""
        if self.side not in SIDES:
            raise InputError(message(f"searchsorted: side: found {self.side!r}, needed one of {', '.join(SIDES)}"))
        if len(a.shape) != 1:
            raise ShapeError(message(f"searchsorted: found {a}, needed a sorted vector"))
        if a.dtype != v.dtype:
            raise DtypeError(message(f"searchsorted: dtypes differ: found {a.dtype} and {v.dtype}"))
        return (TensorType("int64", v.shape),)

    def perform(self, a: Array, v: Array) -> tuple[Array, ...]:
        """`np.searchsorted`."""
        positions = np.searchsorted(_comparable(a), _comparable(v), side=self.side)  # type: ignore[call-overload]
        return (np.asarray(positions).astype(np.int64),)

    def expansion(self, *inputs: Variable) -> Variable:
        """Both sorted as one, stably: an element of v is preceded by as many of a as it has places before it."""
        a, v = inputs
        from tg.ops.cumulative import Accumulate

        flat, n = ravel(v), a.shape[0]
        pair = (flat, a) if self.side == "left" else (a, flat)
        order = ArgSort(-1)(Concatenate(-1)(*pair))
        first = 0 if self.side == "left" else n
        own = greater_equal(order, flat.shape[0]) if self.side == "left" else order < n
        before = Accumulate(add, -1)(cast_variable(own, "int64"))
        ranks = Scatter((-1,))(before, before, order)
        return reshape(slice_axis(ranks, -1, first, flat.shape[0]), v.shape)

    def facts(self, inputs: Sequence[Variable]) -> Sequence[Iterable[str]]:
        """A position is not below 0."""
        return (("nonnegative",),)

    def pullback(self, tools: Any, inputs: Any, outputs: Any, cotangents: Any) -> Sequence[Variable | None]:
        """None: positions have no derivative."""
        return (None, None)

    def batch(self, tools: Any, size: Any, inputs: Any, batched: Any) -> Sequence[Variable]:
        """Each element is searched for alone; if vectors differ along the batch each is sorted with what is sought."""
        if not batched[0]:
            return (self(*inputs),)
        return tools.batch_expansion(self, size, inputs, batched)  # type: ignore[no-any-return]


def argsort(
    x: TensorLike,
    axis: int | None = -1,
    kind: Any = None,
    order: Any = None,
    *,
    stable: Any = None,
    descending: bool = False,
) -> Variable:
    """The positions that sort x along an axis, or in C order if `axis` is None: stable, NaN last.

    Args:
        kind, stable: as NumPy has them; every sort is stable.
        descending: the largest first; ties still keep their order, and NaN stand first.
    Source:
        numpy.argsort
    """
    _need_plain("argsort", kind, order)
    x, k = _line(x, axis, "argsort")
    if not descending:
        return ArgSort(k)(x)  # type: ignore[no-any-return]
    return flip(subtract(as_size_variable(x.shape[k]) - 1, ArgSort(k)(flip(x, k))), k)


def sort(
    x: TensorLike,
    axis: int | None = -1,
    kind: Any = None,
    order: Any = None,
    *,
    stable: Any = None,
    descending: bool = False,
) -> Variable:
    """The elements in ascending order along an axis, or all in C order if `axis` is None: NaN last.

    Args:
        kind, stable: as NumPy has them; every sort is stable.
        descending: the largest first, and NaN before it.
    Source:
        numpy.sort
    """
    _need_plain("sort", kind, order)
    x, k = _line(x, axis, "sort")
    y: Variable = Sort(k)(x)
    return flip(y, k) if descending else y


def _need_plain(what: str, kind: Any, order: Any) -> None:
    if kind not in KINDS:
        raise InputError(message(f"{what}: kind: found {kind!r}, needed one of {', '.join(map(str, KINDS))}"))
    if order is not None:
        raise InputError(message(f"{what}: order: found {order!r}, needed None: tg has no fields"))


def _line(x: Any, axis: int | None, what: str) -> tuple[Variable, int]:
    """The array, or its elements in C order, and the axis counted from the end."""
    x = as_variable(x)
    if axis is None:
        return ravel(x), -1
    return x, axis_from_end(axis, x.type.ndim, what)


def partition(x: TensorLike, kth: Any, axis: int | None = -1) -> Variable:
    """An order in which the elements before place `kth` are not larger than it, those behind not smaller: the sort.

    Raises:
        ShapeError: `kth` is outside the axis (where both are known).
    Source:
        numpy.partition
    """
    _need_places("partition", x, kth, axis)
    return sort(x, axis)


def _need_places(what: str, x: Any, kth: Any, axis: int | None) -> None:
    """Places that are known lie within an axis whose length is."""
    line, k = _line(x, axis, what)
    n, places = line.type.shape[k], kth if isinstance(kth, tuple | list) else [kth]
    outside = [p for p in places if n is not None and isinstance(p, int | np.integer) and not -n <= p < n]
    if outside:
        raise ShapeError(message(f"{what}: kth: found {outside[0]}, needed a place on an axis of length {n}"))


def argpartition(x: TensorLike, kth: Any, axis: int | None = -1) -> Variable:
    """Positions that partition x at `kth`: those that sort it.

    Source:
        numpy.argpartition
    """
    _need_places("argpartition", x, kth, axis)
    return argsort(x, axis)


def topk(x: TensorLike, k: Any, axis: int = -1, *, largest: bool = True) -> tuple[Variable, Variable]:
    """The k largest (or least) elements along an axis, the best first, and their positions; ties keep their order.

    NaN counts as the largest.

    Args:
        k: an integer or a length, at most that of the axis.
    Shapes:
        x (..., n, ...) -> values (..., k, ...), positions (..., k, ...)
    Raises:
        ShapeError: k is larger than the axis is long.
    """
    x, axis = _line(x, axis, "topk")
    n = x.shape[axis]
    if isinstance(k, int) and isinstance(n, int) and not 0 <= k <= n:
        raise ShapeError(message(f"topk: k: found {k}, needed one in [0, {n}], the length of the axis"))
    positions = slice_axis(argsort(x, axis, descending=largest), axis, 0, k)
    last = moveaxis(x, axis, -1)
    return moveaxis(along(last, moveaxis(positions, axis, -1)), -1, axis), positions


def lexsort(keys: Any, axis: int = -1) -> Variable:
    """The positions that sort by the last key, ties by the one before it, and so on.

    Args:
        keys: arrays of one shape, or an array whose first axis counts them.
    Raises:
        ShapeError: there are none.
    Source:
        numpy.lexsort
    """
    arrays = [as_variable(key) for key in keys]
    if not arrays:
        raise ShapeError(message("lexsort: found no keys, needed at least one"))
    k = axis_from_end(axis, arrays[0].type.ndim, "lexsort")
    rows = [moveaxis(key, k, -1) for key in arrays]
    order: Variable = ArgSort(-1)(rows[0])
    for key in rows[1:]:
        order = along(order, ArgSort(-1)(along(key, order)))
    return moveaxis(order, -1, k)


def searchsorted(a: TensorLike, v: TensorLike, side: Side = "left", sorter: Any = None) -> Variable:
    """Insertion positions of elements in a sorted vector: before their equals (`left`) or after them (`right`).

    Args:
        sorter: positions that sort `a`, if it is not sorted.
    Shapes:
        a (n), v (...) -> (...), int64
    Source:
        numpy.searchsorted
    """
    (a, v), dtype = promoted([as_variable(a), as_variable(v)])
    a, v = cast_variable(a, dtype), cast_variable(v, dtype)
    if sorter is not None:
        from tg.ops.indexing import take

        a = take(a, sorter)
    return SearchSorted(side)(a, v)  # type: ignore[no-any-return]


def digitize(x: TensorLike, bins: Any, right: bool = False) -> Variable:
    """The number of the bin that each element falls into, for edges that ascend or descend.

    Of edges that ascend bins[i - 1] <= x < bins[i] gives i, and with `right` bins[i - 1] < x <= bins[i]; of edges
    that descend bins[i - 1] > x >= bins[i] and with `right` bins[i - 1] >= x > bins[i]. What edges in no order give
    is not defined, where they are known at run time only.

    Raises:
        DomainError: constant edges that neither ascend nor descend.
        ShapeError: the edges are no vector.
    Source:
        numpy.digitize
    """
    edges, side = as_variable(bins), SIDES[0 if right else 1]
    if edges.type.ndim != 1:
        raise ShapeError(message(f"digitize: bins: found {edges.type}, needed a vector"))
    if isinstance(edges, Constant):
        if not _is_monotonic(edges.data):
            raise DomainError(message("digitize: bins: found edges in no order, needed them to ascend or descend"))
        if not _descends(edges.data):
            return searchsorted(edges, x, side)
    turned = any_of(less(edges[-1:], edges[:1]))
    place = searchsorted(where(turned, flip(edges), edges), x, side)
    return where(turned, as_size_variable(edges.shape[0]) - place, place)


def _is_monotonic(edges: np.ndarray[Any, Any]) -> bool:
    return bool((edges[1:] >= edges[:-1]).all() or (edges[1:] <= edges[:-1]).all())


def _descends(edges: np.ndarray[Any, Any]) -> bool:
    return bool(len(edges) and edges[-1] < edges[0])


FAMILY = Family(
    "sorting",
    ops=(ArgSort, Sort, SearchSorted),
    functions=(argsort, sort, partition, argpartition, topk, lexsort, searchsorted, digitize),
)
