"""Matrix products of which an operand says that they need less work: one row, repeats, factors, diagonals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tg.graph.facts import holds
from tg.graph.nodes import Constant, as_size_variable
from tg.ops.contraction import MatMul
from tg.ops.creation import Arange, eye, zeros
from tg.ops.diagonal import diag, diagonal
from tg.ops.elementwise.arithmetic import add, multiply, negative
from tg.ops.elementwise.comparison import greater, where
from tg.ops.elementwise.record import Elementwise
from tg.ops.indexing import Scatter
from tg.ops.reduction import Reduce
from tg.ops.shape import BroadcastTo, ExpandDims, Squeeze, Transpose, broadcast_to, expand_dims_at, reshape
from tg.rewrite.pattern import is_made_by
from tg.rewrite.phases import CANONICALIZE, EXACT, NAN_UNSAFE, REASSOCIATES, SIGNED_ZERO, SPECIALIZE
from tg.rewrite.rule import node_rule, rule_of, rule_of_node
from tg.rules.elementwise.arithmetic import is_finite, is_scalar_constant
from tg.rules.elementwise.arithmetic.scalars import exact, is_in_range
from tg.rules.shape import made_by
from tg.rules.shape.moved import Moved, every
from tg.types.dtypes import BOOL, is_complex, is_inexact, numpy_dtype
from tg.types.lengths import product
from tg.types.requirements import broadcast, equal_here

if TYPE_CHECKING:
    from collections.abc import Callable

    from tg.graph.nodes import Apply, Variable
    from tg.types.lengths import Length

SWAP: Final = (-1, -2)


def matmul(x: Variable, y: Variable) -> Variable:
    """The product of two arrays of one rank."""
    return MatMul()(x, y)  # type: ignore[no-any-return]


def swapped(x: Variable) -> Variable:
    """The matrices transposed."""
    return Transpose(SWAP)(x)  # type: ignore[no-any-return]


def unless_empty(x: Variable, n: int | Length) -> Variable:
    """A value, or 0 where n, a number of summed elements, is 0: what is not finite would make a NaN of it."""
    if (isinstance(n, int) and n) or is_finite(x):
        return x
    return where(greater(as_size_variable(n), 0), x, numpy_dtype(x.type.dtype).type(0))


@rule_of(
    MatMul,
    phase=SPECIALIZE,
    kind=SIGNED_ZERO,
    example=lambda x, y: MatMul()(expand_dims_at(x, (-1,)), expand_dims_at(y, (-2,))),
)
def _matmul_over_one(op: Any, x: Variable, y: Variable) -> Variable | None:
    """A sum of one product is the product, which fuses with what surrounds it."""
    if is_complex(x.type.dtype) or 1 not in (x.type.shape[-1], y.type.shape[-2]):
        return None  # complex products round differently when they are summed
    return multiply(x, y)


@rule_of(MatMul, kind=REASSOCIATES, example=lambda x, y: MatMul()(expand_dims_at(x, (-2,)), expand_dims_at(y, (-1,))))
def _matmul_of_single_rows(op: Any, x: Variable, y: Variable) -> Variable | None:
    """Many products of a row and a column: sums of products over the last axis.

    Many products of a row and a column are one loop, which fuses with what surrounds it.
    """
    lead = x.type.shape[:-2]
    if x.type.dtype == BOOL or x.type.shape[-2] != 1 or y.type.shape[-1] != 1:
        return None
    if not any(m != 1 and n != 1 for m, n in zip(lead, y.type.shape[:-2], strict=True)):
        return None
    return expand_dims_at(Reduce(add, (-1,))(multiply(Squeeze((-2,))(x), Squeeze((-1,))(y))), (-2, -1))


@rule_of(
    MatMul,
    phase=SPECIALIZE,
    kind=REASSOCIATES,
    below=(ExpandDims,),
    example=lambda x, y: MatMul()(broadcast_to(x, (3, *x.shape)) + 0 * y, expand_dims_at(y, (-3,))),
)
def _matmul_of_one_matrix(op: Any, x: Variable, y: Variable) -> Variable | None:
    """Many matrices times a single one: all their rows at once. A single one times many vectors: likewise.

    One large product in place of many small ones.
    """
    lead = tuple(range(-x.type.ndim, -2))
    first, second = ([n == 1 for n in v.type.shape[:-2]] for v in (x, y))
    if all(second) and not all(first) and not Moved.of(x, Transpose).is_moved:
        rows = reshape(x, (product(x.shape[:-1]), x.shape[-1]))
        return reshape(matmul(rows, Squeeze(lead)(y)), (*x.shape[:-1], y.shape[-1]))
    if all(first) and not all(second) and y.type.shape[-1] == 1:
        rows = reshape(y, (product(y.shape[:-2]), y.shape[-2]))
        z = matmul(rows, swapped(Squeeze(lead)(x)))
        return expand_dims_at(reshape(z, (*y.shape[:-2], x.shape[-2])), (-1,))
    return None


@rule_of(
    MatMul, kind=REASSOCIATES, below=(BroadcastTo,), example=lambda x, y: MatMul()(broadcast_to(x[:1, :1], x.shape), y)
)
def _matmul_of_repeated(op: Any, x: Variable, y: Variable) -> Variable | None:
    """The product with an operand that repeats: computed once, or a multiple of a sum, and then repeated.

    Equal rows have equal products, and a row of one number sums what it multiplies.
    """
    if x.type.dtype == BOOL:
        return None
    if Moved.of(x, BroadcastTo).is_moved:
        return _repeated_left(x, y)
    return _repeated_right(x, y)


def _product_shape(x: Variable, y: Variable) -> tuple[int | Length, ...]:
    lead = (broadcast(m, n) for m, n in zip(x.shape[:-2], y.shape[:-2], strict=True))
    return (*lead, x.shape[-2], y.shape[-1])


def _repeated_left(x: Variable, y: Variable) -> Variable | None:
    one = Moved.of(x, BroadcastTo).unrepeated()
    if one.type.shape[-1] != 1 or x.type.shape[-1] == 1:
        return broadcast_to(matmul(one, y), _product_shape(x, y))
    total = expand_dims_at(Reduce(add, (-2,))(y), (-2,))
    value = multiply(unless_empty(one, y.shape[-2]), total)
    return broadcast_to(value, _product_shape(x, y))


def _repeated_right(x: Variable, y: Variable) -> Variable | None:
    one = Moved.of(y, BroadcastTo).unrepeated()
    if one.type.shape[-2] != 1 or y.type.shape[-2] == 1:
        return broadcast_to(matmul(x, one), _product_shape(x, y))
    total = expand_dims_at(Reduce(add, (-1,))(x), (-1,))
    value = multiply(total, unless_empty(one, x.shape[-1]))
    return broadcast_to(value, _product_shape(x, y))


@rule_of(MatMul, kind=EXACT, below=(negative,), example=lambda x, y: MatMul()(-x, -y))
def _matmul_of_negatives(op: Any, x: Variable, y: Variable) -> Variable | None:
    """The signs cancel."""
    if is_made_by(x, negative) and is_made_by(y, negative):
        return matmul(x.inputs[0], y.inputs[0])
    return None


@rule_of_node(MatMul, kind=REASSOCIATES, below=(multiply,), example=lambda x, y: MatMul()(x * 2, y * 3))
def _matmul_of_multiples(node: Apply, outputs: Any) -> Variable | None:
    """(x * a) @ (y * b) is (x @ y) * (a * b); a single factor leaves an array that is larger than the result.

    One factor in place of two, or on the smaller array.
    """
    parts = [_scaled(v) for v in node.inputs]
    x, y = (v if part is None else part[0] for v, part in zip(node.inputs, parts, strict=True))
    factors = [part[1] for part in parts if part is not None]
    if not factors or (len(factors) == 1 and not _is_worth_it(x if parts[0] else y, outputs[0])):
        return None
    if len(factors) == 1:
        return multiply(matmul(x, y), factors[0])
    both = _product_of(*factors)
    return None if both is None else multiply(matmul(x, y), both)


def _product_of(a: Constant, b: Constant) -> Constant | None:
    """The product of two factors, rounded once; None where it may not leave."""
    with np.errstate(all="ignore"):
        both = Constant(np.asarray(a.data * b.data))
    return both if _may_leave(both) else None


def _scaled(v: Variable) -> tuple[Variable, Constant] | None:
    if not is_made_by(v, multiply):
        return None
    x, c = v.inputs
    if is_scalar_constant(c) and x.type.ndim == v.type.ndim and _may_leave(c):
        return x, Constant(c.data.reshape(()))  # type: ignore[attr-defined]
    return None


def _may_leave(c: Variable) -> bool:
    """Whether a factor is finite, not 0 and not there to bring what is too large or too small into range."""
    if not is_inexact(c.type.dtype):
        return True
    size = Constant(np.abs(c.data))  # type: ignore[attr-defined]
    return is_in_range(exact(size) or 0, size.type.dtype)


def _is_worth_it(x: Variable, result: Variable) -> bool:
    """Whether an array is made for its factor alone, and is known to be larger than the product."""
    if x.apply is not None and isinstance(x.apply.op, Elementwise):
        return False
    before, after = product(x.shape), product(result.shape)
    return isinstance(before, int) and isinstance(after, int) and after < before


def _is_identity(v: Variable) -> bool:
    return holds(v, "diagonal") and holds(v, "unit_diagonal")


def _diagonal_of(v: Variable) -> Variable | None:
    """The diagonal of a matrix that has nothing else."""
    if v.type.ndim != 2:
        return None
    scatter: Any = made_by(v, Scatter)
    if scatter and scatter.axes == (-2, -1) and scatter.fn in (None, add) and is_all_zero(v.inputs[0]):
        base, d, rows, columns = v.inputs
        if rows is columns and made_by(rows, Arange) and all(equal_here(rows.shape[0], n) for n in base.shape):
            return d
    return diagonal(v) if holds(v, "diagonal") else None


def is_all_zero(v: Variable) -> bool:
    """Whether a value is zeros that are known."""
    return every(v, lambda u: isinstance(u, Constant) and not u.data.any())


def _of_zeros(node: Apply, x: Variable, y: Variable, *, left: bool) -> Variable | None:
    """The product of zeros is zeros."""
    if not is_all_zero(x):
        return None
    pair = (x, y) if left else (y, x)
    return zeros(_product_shape(*pair), dtype=x.type.dtype)


def _of_identity(node: Apply, x: Variable, y: Variable, *, left: bool) -> Variable | None:
    return y if _is_identity(x) else None


def _of_diagonal(node: Apply, x: Variable, y: Variable, *, left: bool) -> Variable | None:
    d = _diagonal_of(x)
    return None if d is None else multiply(expand_dims_at(d, (-1,) if left else (-2,)), y)


def _beside(change: Callable[..., Variable | None], *, safe: bool) -> Callable[[Apply, Any], Variable | None]:
    """A rule for what one operand is, where the other is known to be finite (`safe`) or not known to be."""

    def apply(node: Apply, outputs: Any) -> Variable | None:
        x, y = node.inputs
        for special, other, left in ((x, y, True), (y, x, False)):
            if is_finite(other) is safe:
                new = change(node, special, other, left=left)
                if new is not None:
                    return new
        return None

    return apply


def _both(name: str, change: Any, why: str, example: Callable[[Variable], Variable]) -> tuple[Any, ...]:
    """The rule for finite operands, and the one that hides what zeros times NaN and infinities would show."""

    def finite(x: Variable) -> Variable:
        kind = numpy_dtype(x.type.dtype).type
        return matmul(example(x), where(x > 0, kind(2), kind(-0.0)))

    def of_any(x: Variable) -> Variable:
        return matmul(example(x), x)

    return tuple(
        node_rule(
            name + suffix,
            keys=(MatMul,),
            apply=_beside(change, safe=kind is SIGNED_ZERO),
            phase=CANONICALIZE,
            kind=kind,
            why=why,
            example=case,
        )
        for suffix, kind, case in (("_of_known", SIGNED_ZERO, finite), ("", NAN_UNSAFE, of_any))
    )


RULES = (
    *_both(
        "matmul_of_zeros",
        _of_zeros,
        "The product of zeros and finite numbers is zeros.",
        lambda x: zeros(x.shape, dtype=x.type.dtype),
    ),
    *_both(
        "matmul_of_identity",
        _of_identity,
        "The identity changes nothing that is finite.",
        lambda x: eye(x.shape[0], dtype=x.type.dtype),
    ),
    *_both(
        "matmul_of_diagonal",
        _of_diagonal,
        "A diagonal scales rows or columns.",
        lambda x: diag(x[0] * 2),
    ),
    _matmul_over_one,
    _matmul_of_single_rows,
    _matmul_of_one_matrix,
    _matmul_of_negatives,
    _matmul_of_multiples,
    _matmul_of_repeated,
)
