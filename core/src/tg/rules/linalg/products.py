"""Rules of matrices of a pattern: Kronecker products, and blocks along a diagonal. The parts do the work."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, NamedTuple

from tg.graph.nodes import as_size_variable
from tg.ops.contraction import MatMul, kron
from tg.ops.elementwise.arithmetic import add, gate, multiply, power
from tg.ops.elementwise.cast import cast_variable
from tg.ops.elementwise.comparison import equal, where
from tg.ops.indexing import slice_axis
from tg.ops.joining import block_diag
from tg.ops.linalg.linear_systems import Inv, Solve
from tg.ops.linalg.solving import SlogDet
from tg.ops.shape import (
    Concatenate,
    ExpandDims,
    Reshape,
    Transpose,
    concatenate,
    matrix_transpose,
    reshape,
)
from tg.rewrite.phases import REASSOCIATES, STABILIZE
from tg.rewrite.rule import rule_of
from tg.rules.contraction.products import is_all_zero
from tg.rules.linalg.solving.structure import bounded, failed, has_nan, lower, spoilt, without_nan
from tg.rules.shape import made_by
from tg.rules.shape.moved import Moved
from tg.types.dtypes import is_complex
from tg.types.lengths import add as add_lengths
from tg.types.lengths import multiply as multiply_lengths
from tg.types.lengths import subtract as subtract_lengths
from tg.types.requirements import equal_here

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tg.graph.nodes import Variable

    Pair = tuple[Variable, Variable]


def kronecker_factors(v: Variable) -> Pair | None:
    """The two matrices of which one is the Kronecker product."""
    table = Moved.of(v, Reshape, most=1).in_order()
    if v.type.ndim != 2 or table is None or table.op is not multiply.op or table.type.ndim != 4:
        return None
    parts = table.inputs
    for wide, deep in (parts, parts[::-1]):
        a, b = Moved.of(wide, ExpandDims).with_axes((-3, -1)), Moved.of(deep, ExpandDims).with_axes((-4, -2))
        if a is not None and b is not None:
            lengths = [multiply_lengths(n, m) for n, m in zip(a.shape, b.shape, strict=True)]
            return (a, b) if all(map(equal_here, v.shape, lengths)) else None
    return None


def _squares(v: Variable) -> Pair | None:
    """The factors of a Kronecker product, where both are square."""
    parts = kronecker_factors(v)
    return parts if parts is not None and all(equal_here(*p.shape) for p in parts) else None


def _tables(b: Variable, n: Any, m: Any) -> Variable:
    """The columns of a matrix of n m rows, each as a table, side by side: n by m k."""
    return reshape(b, (n, multiply_lengths(m, b.shape[-1])))


def _turned(x: Variable, n: Any, m: Any, k: Any) -> Variable:
    """From the tables of n rows, side by side, to those of m rows: m by n k."""
    return reshape(Transpose((-2, -3, -1))(reshape(x, (n, m, k))), (m, multiply_lengths(n, k)))


def _each(
    f: Callable[[Variable], Variable], g: Callable[[Variable], Variable], b: Variable, n: Any, m: Any
) -> Variable:
    """f for the columns of the tables of b, n by m, then g for their rows; both map matrices of any width."""
    k = b.shape[-1]
    first = f(_tables(b, n, m))
    rows = first.shape[-2]
    then = g(_turned(first, rows, m, k))
    return reshape(_turned(then, then.shape[-2], rows, k), (multiply_lengths(rows, then.shape[-2]), k))


@rule_of(MatMul, kind=REASSOCIATES, below=(Reshape,), example=lambda x, y: MatMul()(_kron_of(x), _twice(y)))
def _matmul_of_kronecker(op: Any, x: Variable, y: Variable) -> Variable | None:
    """The product with a Kronecker product of n and m rows takes n + m multiplications an element, not n m."""
    left, right = kronecker_factors(x), kronecker_factors(y)
    if left is not None and right is not None and _meet(left, right):
        return kron(*(MatMul()(a, c) for a, c in zip(left, right, strict=True)))
    if left is not None:
        return _multiplied(*left, y)
    if right is not None:
        a, b = map(matrix_transpose, right)
        return matrix_transpose(_multiplied(a, b, matrix_transpose(x)))
    return None


def _meet(left: Pair, right: Pair) -> bool:
    """Whether the factors of two Kronecker products can be multiplied pair by pair."""
    return all(equal_here(a.shape[1], c.shape[0]) for a, c in zip(left, right, strict=True))


def _multiplied(a: Variable, b: Variable, y: Variable) -> Variable:
    return _each(lambda v: MatMul()(a, v), lambda v: MatMul()(b, v), y, a.shape[-1], b.shape[-1])


def _info(first: Variable, second: Variable, parts: Pair) -> Variable:
    """The pivot that is 0 in the Kronecker product of two matrices, of those of their factorisations."""
    rows = cast_variable(as_size_variable(parts[1].shape[0]), "int32")
    of_first = where(equal(first, 0), first, (first - 1) * rows + 1)
    return functools.reduce(without_nan, parts, where(equal(second, 0), of_first, second))


@rule_of(
    Solve, kind=REASSOCIATES, below=(Reshape,), example=lambda x, y: Solve("n", False, False)(_kron_of(x), _twice(y))[0]
)
def _solve_of_kronecker(op: Any, *operands: Variable) -> Pair | None:
    """The inverse of a Kronecker product is that of the inverses."""
    parts = _squares(operands[0])
    if parts is None or op.positive:
        return None
    solve, infos = Solve(op.transpose, False, raises=False), []

    def solved(a: Variable) -> Callable[[Variable], Variable]:
        def apply(b: Variable) -> Variable:
            x, info = solve(a, b)
            infos.append(info)
            return x  # type: ignore[no-any-return]

        return apply

    a, b = parts
    x = _each(solved(a), solved(b), operands[1], a.shape[0], b.shape[0])
    return x, _info(infos[0], infos[1], parts)


@rule_of(Inv, kind=REASSOCIATES, below=(Reshape,), example=lambda x: Inv(raises=False)(_kron_of(x))[0])
def _inv_of_kronecker(op: Any, *operands: Variable) -> Pair | None:
    """The inverse of a Kronecker product is that of the inverses."""
    parts = _squares(operands[0])
    if parts is None:
        return None
    (x, first), (y, second) = (Inv(raises=False)(p) for p in parts)
    return kron(x, y), _info(first, second, parts)


@rule_of(SlogDet, kind=REASSOCIATES, below=(Reshape,), example=lambda x: list(SlogDet()(_kron_of(x))))
def _slogdet_of_kronecker(op: Any, *operands: Variable) -> Pair | None:
    """Each determinant as often as the other matrix has rows; none of a matrix without rows.

    The determinant of a Kronecker product is a product of powers of theirs.
    """
    parts = _squares(operands[0])
    if parts is None or is_complex(operands[0].type.dtype):
        return None
    (s, x), (t, y) = (SlogDet()(p) for p in parts)
    n, m = (as_size_variable(p.shape[0]) for p in parts)
    sizes = [cast_variable(v, s.type.dtype) for v in (m, n)]
    signs = multiply(*map(power, (s, t), sizes))
    return signs, gate(sizes[0], x) + gate(sizes[1], y)


class Block(NamedTuple):
    """A square block on a diagonal, and how many rows are above it."""

    matrix: Variable
    start: Any


def diagonal_blocks(v: Variable) -> list[Block] | None:
    """The square blocks on the diagonal of a matrix that has nothing but zeros beside them."""
    op: Any = made_by(v, Concatenate)
    if not op or op.axis != -2:
        return None
    blocks: list[Block] = []
    start: Any = 0
    for row in v.inputs:
        block = _only_block(row, start)
        if block is None or not equal_here(block.shape[-2], block.shape[-1]):
            return None
        blocks.append(Block(block, start))
        start = add_lengths(start, block.shape[-2])
    return blocks


def _only_block(row: Variable, start: Any) -> Variable | None:
    """The only block of a row of blocks that is not of zeros, if it begins at a column."""
    op: Any = made_by(row, Concatenate)
    pieces = row.inputs if op and op.axis == -1 else (row,)
    others = [k for k, piece in enumerate(pieces) if not is_all_zero(piece)]
    if len(others) != 1:
        return None
    left: Any = 0
    for piece in pieces[: others[0]]:
        left = add_lengths(left, piece.shape[-1])
    return pieces[others[0]] if equal_here(left, start) else None


def _first_failing(infos: Sequence[Variable], blocks: Sequence[Block]) -> Variable:
    """The number of the first pivot that is 0, counted in the whole matrix."""
    number = infos[-1]
    for info, block, after in reversed(list(zip(infos, blocks, blocks[1:], strict=False))):
        rows = cast_variable(as_size_variable(subtract_lengths(after.start, block.start)), "int32")
        number = where(equal(info, 0), where(equal(number, 0), number, number + rows), info)
    return number


@rule_of(
    Solve,
    phase=STABILIZE,
    kind=REASSOCIATES,
    below=(Concatenate,),
    example=lambda x, y: Solve("n", False, False)(_blocks_of(x), _below(y))[0],
)
def _solve_of_blocks(op: Any, a: Variable, b: Variable) -> Pair | None:
    """Blocks on a diagonal are systems that have nothing to do with one another."""
    blocks = None if op.positive else diagonal_blocks(a)
    if blocks is None:
        return None
    solve = Solve(op.transpose, False, raises=False)
    sides = [slice_axis(b, -2, block.start, block.matrix.shape[-1]) for block in blocks]
    pairs = [solve(block.matrix, side) for block, side in zip(blocks, sides, strict=True)]
    info = _first_failing([pair[1] for pair in pairs], blocks)
    info = functools.reduce(without_nan, [block.matrix for block in blocks], info)
    x = Concatenate(-2)(*(pair[0] for pair in pairs))
    lost = [has_nan(block.matrix, (-2, -1)) for block in blocks]
    return spoilt(x, failed(info, op), has_nan(b, (-2,)), *lost), info


@rule_of(
    SlogDet, phase=STABILIZE, kind=REASSOCIATES, below=(Concatenate,), example=lambda x: list(SlogDet()(_blocks_of(x)))
)
def _slogdet_of_blocks(op: Any, *operands: Variable) -> Pair | None:
    """The determinant of blocks on a diagonal is the product of theirs."""
    blocks = diagonal_blocks(operands[0])
    if blocks is None or is_complex(operands[0].type.dtype):
        return None
    pairs = [SlogDet()(block.matrix) for block in blocks]
    return functools.reduce(multiply, [s for s, _ in pairs]), functools.reduce(add, [x for _, x in pairs])


def _kron_of(x: Variable) -> Variable:
    """A Kronecker product, for examples."""
    a = bounded(x[..., : x.shape[-2]])
    return kron(a, a[:2, :2] + lower(a[:2, :2]))


def _blocks_of(x: Variable) -> Variable:
    """Two blocks on a diagonal, for examples."""
    a = bounded(x[..., : x.shape[-2]])
    return block_diag(a, a[:2, :2])


def _twice(y: Variable) -> Variable:
    """A right side for `_kron_of` matrices, for examples."""
    b = bounded(y)
    n = kron(b[:, :1], b[:2, :1])
    return concatenate([n, n + 1], -1)


def _below(y: Variable) -> Variable:
    """A right side for `_blocks_of` matrices, for examples."""
    b = bounded(y)
    return concatenate([b, b[:2]], -2)


RULES = (
    _matmul_of_kronecker,
    _solve_of_kronecker,
    _inv_of_kronecker,
    _slogdet_of_kronecker,
    _solve_of_blocks,
    _slogdet_of_blocks,
)
