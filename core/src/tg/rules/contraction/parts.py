"""Products of which only a part is read, its sums or its diagonal, and sums that are products of matrices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tg.ops.contraction import MatMul
from tg.ops.creation import Arange, iota
from tg.ops.elementwise.arithmetic import add, multiply
from tg.ops.indexing import Gather
from tg.ops.reduction import Reduce
from tg.ops.shape import ExpandDims, Squeeze, Transpose, expand_dims_at, reshape
from tg.rewrite.phases import CANONICALIZE, REASSOCIATES, SPECIALIZE
from tg.rewrite.rule import Pass, rule_of
from tg.rules.contraction.products import SWAP, matmul, swapped, unless_empty
from tg.rules.reduction.axes import without
from tg.rules.shape import made_by
from tg.rules.shape.moved import Moved, untransposed
from tg.types.dtypes import BOOL
from tg.types.lengths import product
from tg.types.requirements import equal_here

if TYPE_CHECKING:
    from collections.abc import Callable

    from tg.graph.nodes import Apply, Variable
    from tg.graph.view import View

    Axes = tuple[int, ...]


def _each(change: Callable[[Apply, View], Variable | None]) -> Callable[[View], dict[int, Variable]]:
    """A pass that changes applies of one result one by one."""

    def run(view: View) -> dict[int, Variable]:
        pairs = ((node, change(node, view)) for node in view.applies)
        return {id(view.results(node)[0]): new for node, new in pairs if new is not None}

    return run


def _is_read_once(v: Variable, view: View) -> bool:
    """Whether a value is a product that nothing else reads."""
    return bool(made_by(v, MatMul)) and v.type.dtype != BOOL and view.uses(v) == 1


def _sum_of_product(node: Apply, view: View) -> Variable | None:
    op: Any = node.op
    if type(op) is not Reduce or op.fn is not add or not _is_read_once(node.inputs[0], view):
        return None
    z = node.inputs[0]
    x, y = z.inputs
    n = product(tuple(z.shape[k] for k in op.axes))
    if -2 in op.axes:
        x = _rows_summed(x, view)
    if -1 in op.axes:
        y = _columns_summed(y, view)
    lead = tuple(k for k in op.axes if k < -2)
    both = tuple(k for k in lead if x.type.shape[k] != 1 and y.type.shape[k] != 1)
    if not both and not any(k >= -2 for k in op.axes):
        return None
    x, y = (_kept_sum(v, tuple(k for k in lead if k not in both and v.type.shape[k] != 1)) for v in (x, y))
    if both:
        x, y = swapped(_stacked(swapped(x), both)), _stacked(y, both)
    gone = tuple(without(k, both) for k in op.axes if k not in both)
    contraction = matmul(x, y)
    one: Variable = Squeeze(gone)(contraction) if gone else contraction
    return one if len(both) == len(op.axes) else unless_empty(one, n)


def _kept_sum(x: Variable, axes: Axes) -> Variable:
    return expand_dims_at(Reduce(add, axes)(x), axes) if axes else x


def _rows_summed(x: Variable, view: View) -> Variable:
    """The sum of the rows, taken of the first factor of a product of several."""
    right = []
    while _is_read_once(x, view):
        x, y = x.inputs
        right.append(y)
    x = _kept_sum(x, (-2,))
    for y in reversed(right):
        x = matmul(x, y)
    return x


def _columns_summed(y: Variable, view: View) -> Variable:
    """The sum of the columns, taken of the last factor of a product of several."""
    left = []
    while _is_read_once(y, view):
        x, y = y.inputs
        left.append(x)
    y = _kept_sum(y, (-1,))
    for x in reversed(left):
        y = matmul(x, y)
    return y


def _stacked(x: Variable, axes: Axes) -> Variable:
    """The matrices along leading axes one below the other."""
    rank = x.type.ndim
    lead = [k for k in range(-rank, -2) if k not in axes]
    order = (*lead, *axes, -2, -1)
    moved = x if order == tuple(range(-rank, 0)) else Transpose(order)(x)
    rows = product((*(x.shape[k] for k in axes), x.shape[-2]))
    return reshape(moved, (*(x.shape[k] for k in lead), rows, x.shape[-1]))


def _diagonal_of_product(node: Apply, view: View) -> Variable | None:
    """The elements (i, j) of a product are the sums of the products of row i and column j."""
    op: Any = node.op
    if type(op) is not Gather or op.axes != (-2, -1) or not _is_read_once(node.inputs[0], view):
        return None
    z, i, j = node.inputs
    if not (made_by(i, Arange) or made_by(j, Arange) or _are_few(i, z)):
        return None
    x, y = z.inputs
    return Reduce(add, (-1,))(multiply(_at(x, i, -2), _at(y, j, -1)))  # type: ignore[no-any-return]


def _are_few(i: Variable, z: Variable) -> bool:
    """Whether fewer elements are read than there are."""
    n, all_of_them = i.type.shape[0] if i.type.ndim == 1 else None, product(z.shape[-2:])
    return isinstance(n, int) and isinstance(all_of_them, int) and n < all_of_them


def _at(x: Variable, i: Variable, axis: int) -> Variable:
    """The vectors at positions along one of the last two axes, in front; the other one comes last."""
    if made_by(i, Arange) and equal_here(i.shape[0], x.shape[axis]):
        rank = x.type.ndim
        order = (axis, *(k for k in range(-rank, 0) if k != axis))
        return x if order == tuple(range(-rank, 0)) else Transpose(order)(x)
    return Gather((axis,))(x, i)  # type: ignore[no-any-return]


def _transpose_of_product(node: Apply, view: View) -> Variable | None:
    """The product of the transposed operands in reverse order, where one of them is transposed already."""
    z = untransposed(view.results(node)[0])
    if z is None or not made_by(z, MatMul) or view.uses(z) != 1 or not any(map(_is_swapped, z.inputs)):
        return None
    x, y = z.inputs
    return matmul(swapped(y), swapped(x))


def _is_swapped(v: Variable) -> bool:
    op: Any = Moved.of(v, ExpandDims, most=1).made_by(Transpose)
    return bool(op) and op.axes == SWAP


@rule_of(
    Reduce,
    phase=SPECIALIZE,
    kind=REASSOCIATES,
    below=(multiply,),
    example=lambda x, y: Reduce(add, (-2,))(expand_dims_at(x, (-1,)) * expand_dims_at(y, (-3,))),
)
def _matmul_of_tables(op: Any, z: Variable) -> Variable | None:
    """A sum over axes of products of two arrays, each with axes that the other has not, is a matrix product.

    The table of all products, larger than both operands and the result, is not made.
    """
    if op.fn is not add or z.type.dtype == BOOL:
        return None
    x, y = z.inputs
    if not x.type.ndim == y.type.ndim == z.type.ndim:
        return None
    axes = range(-z.type.ndim, 0)
    a, b = ([v.type.shape[k] != 1 for k in axes] for v in (x, y))
    if not all(a[k] and b[k] for k in op.axes):
        return None
    free = [k for k in axes if k not in op.axes]
    batch = [k for k in free if a[k] == b[k]]
    rows, columns = [k for k in free if a[k] and not b[k]], [k for k in free if b[k] and not a[k]]
    if not rows or not columns:
        return None
    left = _matrices(x, batch, rows, list(op.axes))
    right = _matrices(y, batch, list(op.axes), columns)
    shape = [z.shape[k] for k in (*batch, *rows, *columns)]
    products = reshape(matmul(left, right), shape)
    order = (*batch, *rows, *columns)
    places = tuple(order.index(k) - len(order) for k in free)
    return products if places == tuple(range(-len(order), 0)) else Transpose(places)(products)


def _matrices(x: Variable, batch: list[int], rows: list[int], columns: list[int]) -> Variable:
    """An array as matrices: batch axes, then all axes of the rows as one, then all of the columns."""
    named = [*batch, *rows, *columns]
    gone = tuple(k for k in range(-x.type.ndim, 0) if k not in named)
    left: Variable = Squeeze(gone)(x)
    order = tuple(without(k, gone) for k in named)
    moved = left if order == tuple(range(-len(order), 0)) else Transpose(order)(left)
    lengths = [[x.shape[k] for k in group] for group in (batch, rows, columns)]
    return reshape(moved, (*lengths[0], product(tuple(lengths[1])), product(tuple(lengths[2]))))


RULES = (_matmul_of_tables,)

PASSES = (
    Pass(
        "sum_of_matmul",
        phase=CANONICALIZE,
        keys=(MatMul,),
        kind=REASSOCIATES,
        why="The sum of a product is a product of sums: no matrix is made, or a smaller one.",
        run=_each(_sum_of_product),
        example=lambda x, y: Reduce(add, (-1,))(matmul(x, y)),
    ),
    Pass(
        "transpose_of_matmul",
        phase=CANONICALIZE,
        keys=(MatMul,),
        kind=REASSOCIATES,
        why="Operands are transposed at no cost, results are moved.",
        run=_each(_transpose_of_product),
        example=lambda x, y: swapped(matmul(swapped(x), y)),
    ),
    Pass(
        "diagonal_of_matmul",
        phase=CANONICALIZE,
        keys=(MatMul,),
        kind=REASSOCIATES,
        why="Only the elements that are read are computed.",
        run=_each(_diagonal_of_product),
        example=lambda x, y: Gather((-2, -1))(matmul(x, y), iota(x.shape[0]), iota(x.shape[0])),
    ),
)
