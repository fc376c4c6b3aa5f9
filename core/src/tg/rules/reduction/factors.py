"""Signs, factors and logical complements that leave a reduction, and factors of outer products summed each alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tg.graph.nodes import Constant, as_size_variable
from tg.ops.elementwise.arithmetic import add, divide, gate, maximum, multiply, negative
from tg.ops.elementwise.cast import cast_variable
from tg.ops.elementwise.comparison import equal, greater, logical_and, logical_not, where
from tg.ops.reduction import ArgReduce, Reduce
from tg.ops.shape import Squeeze, expand_dims_at
from tg.rewrite.pattern import is_made_by
from tg.rewrite.phases import EXACT, NAN_UNSAFE, REASSOCIATES, SIGNED_ZERO
from tg.rewrite.rule import rule_of, rule_of_node
from tg.rules.elementwise.arithmetic.analysis import is_finite, is_finite_and_nonzero, is_scalar_constant
from tg.rules.elementwise.arithmetic.scalars import exact, is_in_range
from tg.types.dtypes import is_complex, is_float, is_plain_zeros, numpy_dtype
from tg.types.lengths import product, same

if TYPE_CHECKING:
    from tg.graph.nodes import Apply, Variable
    from tg.rules.reduction.axes import Axes


@rule_of(Reduce, kind=SIGNED_ZERO, below=(negative,), example=lambda x: Reduce(add, (-1,))(-x))
def _sum_of_negative(op: Any, x: Variable) -> Variable | None:
    """One change of sign in place of one for each element."""
    if op.fn is not add:
        return None
    return negative(Reduce(op.fn, op.axes, op.total)(x.inputs[0]))


@rule_of(Reduce, kind=EXACT, below=(negative,), example=lambda x: Reduce(maximum, (-1,), total=True)(-x))
def _extreme_of_negative(op: Any, x: Variable) -> Variable | None:
    """One change of sign in place of one for each element."""
    if not op.reduction.is_extreme or not is_float(x.type.dtype):
        return None
    return negative(Reduce(op.reduction.dual, op.axes, op.total)(x.inputs[0]))


@rule_of(ArgReduce, kind=EXACT, below=(negative,), example=lambda x: ArgReduce(maximum, -1)(-x))
def _position_of_negative(op: Any, x: Variable) -> Variable | None:
    """The largest of -x stands where the least of x does; integers have one that is its own opposite.

    The order of the opposites is the opposite order.
    """
    if not is_float(x.type.dtype):
        return None
    return ArgReduce(op.reduction.dual, op.axis)(x.inputs[0])  # type: ignore[no-any-return]


@rule_of(
    Reduce,
    kind=EXACT,
    below=(logical_not,),
    example=lambda x: Reduce(logical_and, (-1,))(logical_not(cast_variable(x, "bool"))),
)
def _reduce_of_complement(op: Any, x: Variable) -> Variable | None:
    """Not all are where any is not, and the other way round. One complement in place of one for each element."""
    if op.reduction.kind != "logical" or x.inputs[0].type.dtype != x.type.dtype:
        return None
    return logical_not(Reduce(op.reduction.dual, op.axes, op.total)(x.inputs[0]))


@rule_of(Reduce, kind=REASSOCIATES, below=(multiply, divide), example=lambda x: Reduce(add, (-1,))(x * 3))
def _sum_of_multiple(op: Any, y: Variable) -> Any:
    """sum(x * c) is sum(x) * c, and sum(x / c) is sum(x) / c, for a finite constant other than 0.

    One product in place of one for each element.
    """
    if op.fn is not add:
        return None
    x, c = y.inputs
    if not (is_scalar_constant(c) and x.type.ndim == y.type.ndim and _is_plain(c) and _is_safe(c, y)):
        return None
    scale = Constant(c.data.reshape(()))  # type: ignore[attr-defined]
    inner: Any = y.op
    return inner(Reduce(add, op.axes)(x), scale)


def _is_safe(c: Variable, y: Variable) -> bool:
    """Whether a sum of y without its factor c overflows only where one with it does, or the dtype has room to spare."""
    dtype = y.type.dtype
    if is_complex(dtype):
        return False  # an infinite product of complex numbers has parts of which nothing is known
    if not isinstance(c, Constant) or not is_float(dtype) or not c.data.size:
        return True
    divides, sizes = is_made_by(y, divide), np.abs(c.data)
    number = exact(Constant(np.asarray(sizes.max() if divides else sizes.min())))  # that makes the most of it smaller
    if number is None:
        return False
    grows = number <= 1 if divides else number >= 1
    return grows or (dtype != "float16" and is_in_range(number, dtype))


def _is_plain(c: Any) -> bool:
    """Whether a constant of one element is finite and not 0."""
    value = c.data.item()
    return bool(np.isfinite(value) and value != 0)


def _of_factor(node: Apply, *, safe: bool) -> Variable | None:
    """A factor leaves the sum over axes along which it does not vary; so do both, each the other's axes.

    What is summed over no elements is 0, whatever the factor is.

    Args:
        safe: whether the factors that leave are known to be finite and not 0. Infinite ones make NaN of numbers of both
            signs, which their sum hides; 0 makes NaN of a sum that overflows.
    """
    op: Any = node.op
    (z,) = node.inputs
    fn = next((fn for fn in (multiply, divide, gate) if is_made_by(z, fn)), None)
    if op.fn is not add or fn is None:
        return None
    x, y = z.inputs
    of_x, of_y = (tuple(k for k in op.axes if _is_one(other, k) and z.type.shape[k] not in (0, 1)) for other in (y, x))
    if fn is divide:
        of_y = ()
    if not (_pays(x, of_x, z, op.axes) or _pays(y, of_y, z, op.axes)):
        return None
    test = is_finite if fn is gate else is_finite_and_nonzero
    leaving = [v for v, axes in ((x, of_y), (y, of_x)) if axes]
    if all(map(test, leaving)) is not safe or not all(_is_safe(v, z) for v in leaving):
        return None
    left, right = _kept_sum(x, of_x), _kept_sum(y, of_y)
    if fn is divide:
        return Reduce(add, op.axes)(fn(left, _unless_empty(right, z, of_x, 1)))  # type: ignore[no-any-return]
    left, right = _unless_empty(left, z, of_y, 0), _unless_empty(right, z, of_x, 0)
    product = _product_with_zeros(left, right, of_x, of_y) if fn is multiply and not safe else fn(left, right)
    return Reduce(add, op.axes)(product)  # type: ignore[no-any-return]


def _product_with_zeros(left: Variable, right: Variable, of_x: Axes, of_y: Axes) -> Variable:
    """A product of sums that is 0 where a factor that left the other's sum is 0, though that sum may overflow."""
    if not of_x:
        return gate(left, right)
    product = gate(right, left)
    return where(equal(left, 0), left, product) if of_y else product


@rule_of(
    Reduce,
    kind=EXACT,
    below=(where,),
    example=lambda x, y: Reduce(add, (-1,))(where(expand_dims_at(Reduce(add, (-1,))(y), (-1,)) > 0, x, _zero(x))),
)
def _sum_of_masked(op: Any, z: Variable) -> Variable | None:
    """A condition that does not vary along the axes of a sum chooses between the sum and 0.

    One choice in place of one for each element.
    """
    c, x, zero = z.inputs
    if op.fn is not add or not isinstance(zero, Constant) or zero.data.ndim or not is_plain_zeros(zero.data):
        return None
    if not all(_is_one(c, k) and x.type.ndim and same(x.shape[k], z.shape[k]) for k in op.axes):
        return None
    condition = Squeeze(op.axes)(c) if c.type.ndim else c
    return where(condition, Reduce(add, op.axes, op.total)(x), zero)


def _is_one(v: Variable, axis: int) -> bool:
    return v.type.ndim == 0 or v.type.shape[axis] == 1


def _pays(x: Variable, own: tuple[int, ...], z: Variable, axes: tuple[int, ...]) -> bool:
    """Whether it is less work to sum an operand alone over some axes: it is smaller than the product, or all is done.

    A half has little room for the sum of numbers that a factor made small.
    """
    smaller = any(n == 1 and m != 1 for n, m in zip(x.type.shape, z.type.shape, strict=False))
    return bool(own) and (smaller or own == axes) and z.type.dtype != "float16"


@rule_of_node(
    Reduce,
    kind=REASSOCIATES,
    below=(multiply, divide, gate),
    example=lambda x, y: Reduce(add, (-1,))(expand_dims_at(_finite(x), (-1,)) * expand_dims_at(y, (-3,))),
)
def _sum_of_factor_of_known(node: Apply, outputs: Any) -> Variable | None:
    """One product in place of one for each element; of outer products no table is made."""
    return _of_factor(node, safe=True)


@rule_of_node(
    Reduce,
    kind=NAN_UNSAFE,
    below=(multiply, divide, gate),
    example=lambda x, y: Reduce(add, (-1,))(expand_dims_at(x, (-1,)) * expand_dims_at(y, (-3,))),
)
def _sum_of_factor(node: Apply, outputs: Any) -> Variable | None:
    """One product in place of one for each element; of outer products no table is made."""
    return _of_factor(node, safe=False)


def _kept_sum(x: Variable, axes: tuple[int, ...]) -> Variable:
    return expand_dims_at(Reduce(add, axes)(x), axes) if axes else x


def _unless_empty(x: Variable, z: Variable, axes: tuple[int, ...], nothing: int) -> Variable:
    """A factor or a divisor, `nothing` where the other is summed over no elements, so that what they make is 0.

    Args:
        axes: those over which the other is summed; a length of them that is known is not 0.
    """
    n = product(tuple(z.shape[k] for k in axes))
    if isinstance(n, int) or (is_finite_and_nonzero if nothing else is_finite)(x):
        return x
    return where(greater(as_size_variable(n), 0), x, numpy_dtype(x.type.dtype).type(nothing))


def _zero(x: Variable) -> Constant:
    return Constant(np.zeros((), numpy_dtype(x.type.dtype)))


def _finite(x: Variable) -> Variable:
    """Finite numbers made of any."""
    kind = numpy_dtype(x.type.dtype).type
    return where(x > 0, kind(2), kind(3))


RULES = (
    _sum_of_negative,
    _extreme_of_negative,
    _position_of_negative,
    _reduce_of_complement,
    _sum_of_multiple,
    _sum_of_masked,
    _sum_of_factor_of_known,
    _sum_of_factor,
)
