"""Forms of rules of matrix products: leading axes, single rows and columns, repeats, and what is read of products."""

from __future__ import annotations

import functools
import itertools
import operator
import random
import types

import numpy as np

import tg
from tg.graph.nodes import Constant
from tg.ops.contraction import MatMul
from tg.ops.creation import iota
from tg.ops.indexing import Gather, Scatter
from tg.ops.reduction import Reduce
from tg.ops.shape import ExpandDims, Transpose, broadcast_to


def of(*inputs):
    """A form whose operands have shapes of their own, and dtypes where these are named."""

    def marked(form):
        form = types.FunctionType(form.__code__, form.__globals__, None, form.__defaults__, form.__closure__)
        form.inputs = tuple(i if i and isinstance(i[0], str) else (None, i) for i in inputs)
        return form

    return marked


def matmul(x, y):
    return MatMul()(x, y)


def flipped(x):
    return Transpose((-1, -2))(x)


LEADS = (((), ()), ((None,), (None,)), ((3,), (1,)), ((1,), (3,)), ((2, 3), (1, 1)), ((2, 1), (2, 3)), ((1,), (1,)))
INNER = ((None, None, None), (1, 4, 1), (3, 1, 4), (1, None, None), (None, None, 1), (3, 5, 2), (3, 0, 2), (3, 1, 1))
SHAPES = tuple(((*a, n, k), (*b, k, m)) for a, b in LEADS for n, k, m in INNER)
PLAIN = (
    *(of(*shapes)(matmul) for shapes in SHAPES),
    *(of(("bool", a), ("bool", b))(matmul) for a, b in SHAPES[::3]),
    *(of(("complex128", a), ("complex128", b))(matmul) for a, b in SHAPES[1::3]),
)

OF_ROWS = (
    *PLAIN,
    *(of((*a, 1, k), (*b, k, 1))(matmul) for a, b in (*LEADS[1:2], *LEADS[4:6], ((3,), (3,))) for k in (None, 5, 1, 0)),
    of((2, 3, 4), (2, 3, 4))(lambda x, y: matmul(ExpandDims((-2,))(x), ExpandDims((-1,))(y))),
)


def expanded(x, rank):
    return ExpandDims(tuple(range(-rank, -x.type.ndim)))(x)


def with_one(single, stack):
    """One matrix and a stack of them, on both sides."""
    rank = len(stack)
    yield of(stack, single)(lambda x, y: matmul(x, expanded(y, rank)))
    yield of(single, stack)(lambda x, y: matmul(expanded(x, rank), y))


OF_ONE = (
    *with_one((4, 4), (3, 4, 4)),
    *with_one((4, 4), (2, 3, 4, 4)),
    *with_one((None, None), (None, None, None)),
    *with_one((4, 4), (1, 4, 4)),
    *with_one((2, 4), (3, 4, 1)),
    *with_one((None, None), (None, None, 1)),
    *with_one((None, None), (2, None, None, 1)),
    *with_one((4, 1), (3, 4, 4)),
    *with_one((4, 4), (2, 1, 4, 4)),
    *with_one((4, 1), (2, 1, 1, 4)),
    *with_one((2, 4), (1, 4, 1)),
    *with_one((2, 4), (1, 3, 4, 1)),
    of((3, 4, 2), (4, 5))(lambda x, y: matmul(flipped(x), expanded(y, 3))),
    of((3, 2, 4), (4, 5))(lambda x, y: matmul(flipped(flipped(x)) * 2, expanded(y, 3))),
    of((3, 4), (4,))(lambda x, y: matmul(x, ExpandDims((-1,))(y))),
    of((4, 1), (4, 1))(lambda x, y: matmul(ExpandDims((-3,))(x), expanded(flipped(y), 3))),
    of(("bool", (3, 4, 4)), ("bool", (4, 4)))(lambda x, y: matmul(x, expanded(y, 3))),
)


def repeated(x, axes):
    """The first elements of axes, repeated as often as there are others."""
    small = x
    for k in axes:
        small = small[(..., slice(0, 1), *(slice(None),) * (-k - 1))]
    return broadcast_to(small, x.shape)


def matmul_of(first, second, *shapes):
    return of(*shapes)(lambda x, y: matmul(first(x), second(y)))


def same(x):
    return x


REPEATS = tuple(functools.partial(repeated, axes=axes) for axes in ((-1,), (-2,), (-2, -1)))
OF_MATRICES = (((None, None), (None, None)), ((3, 4), (4, 2)), ((3, 1), (1, 2)), ((1, 4), (4, 1)))
OF_STACKS = (((2, 3, 4), (2, 4, 3)), ((2, 3, 4), (1, 4, 3)), ((None, 3, None), (None, None, 2)))
OF_REPEATED = (
    *(matmul_of(r, same, *shapes) for r in REPEATS for shapes in (*OF_MATRICES, *OF_STACKS)),
    *(matmul_of(same, r, *shapes) for r in REPEATS for shapes in (*OF_MATRICES, *OF_STACKS)),
    *(matmul_of(r, r, *shapes) for r in REPEATS for shapes in (*OF_MATRICES[:2], *OF_STACKS[:1])),
    matmul_of(lambda x: broadcast_to(x, (2, *x.shape)), same, (3, 4), (2, 4, 5)),
    matmul_of(lambda x: broadcast_to(x, (2, *x.shape)), same, (3, 1), (2, 1, 5)),
    matmul_of(same, lambda x: broadcast_to(x, (2, *x.shape)), (2, 3, 4), (4, 5)),
    matmul_of(lambda x: broadcast_to(x, (3, 4)), same, (), (4, 2)),
    matmul_of(same, lambda x: broadcast_to(x, (4, 2)), (3, 4), ()),
    matmul_of(same, lambda x: broadcast_to(x, (x.shape[0], 2)), (3, None), (None, 1)),
    of((3, None), (1, 2))(lambda x, y: matmul(x, broadcast_to(y, (x.shape[1], 2)))),
    of((3, 1), (None, 2))(lambda x, y: matmul(broadcast_to(x, (3, y.shape[0])), y)),
    matmul_of(
        lambda x: broadcast_to(x[:, :1], (x.shape[0], x.shape[1])), lambda y: tg.where(y > 0, 2.0, 3.0), *SHAPES[0]
    ),
    of(("bool", (3, 4)), ("bool", (4, 2)))(lambda x, y: matmul(repeated(x, (-1,)), y)),
)


def zeros_like(x):
    return tg.zeros(x.shape, dtype=x.dtype)


def finite(x):
    return tg.where(x > 0, np.asarray(2, x.type.numpy_dtype), np.asarray(3, x.type.numpy_dtype))


def beside(special, shapes):
    """A special operand on either side of one that is finite, or may not be."""
    for one, other in shapes:
        for safe in (finite, same):
            yield of(one, other)(lambda x, y, safe=safe: matmul(special(x), safe(y)))
            yield of(other[:-2] + other[:-3:-1], one[:-2] + one[:-3:-1])(
                lambda y, x, safe=safe: matmul(safe(y), special(x))
            )
    yield of(("bool", (3, 3)), ("bool", (3, 4)))(lambda x, y: matmul(tg.cast(special(x), "bool"), y))


def at_diagonal(d, n, fn=None, base=0.0):
    values = broadcast_to(Constant(np.asarray(base, d.type.numpy_dtype)), (n, n))
    rows = iota(d.shape[0])
    return Scatter((-2, -1), fn)(values, d, rows, rows)


SQUARE = (((4, 4), (4, 3)), ((None, None), (None, None)), ((3, 5), (5, 2)), ((4, 4), (4, 1)))
RECTANGLES = (((3, 5), (5, 2)), ((5, 3), (3, 2)), ((1, 5), (5, 2)))
OF_DIAGONAL = (
    *beside(lambda x: tg.diag(x[0] * 2), SQUARE[:2]),
    *beside(lambda x: at_diagonal(x[0], x.shape[1]), SQUARE[:2]),
    *beside(lambda x: at_diagonal(x[0], x.shape[1], tg.add), SQUARE[:1]),
    *beside(lambda x: at_diagonal(x[0], x.shape[1], tg.maximum), SQUARE[:1]),
    *beside(lambda x: at_diagonal(x[0], x.shape[1], None, 1.0), SQUARE[:1]),
    *beside(lambda x: at_diagonal(x[0, :3], 4), SQUARE[:1]),
    *beside(lambda x: tg.assume(tg.diag(x[0]) + 0 * x, diagonal=True), SQUARE[:2]),
    *beside(lambda x: tg.eye(*x.type.shape, dtype=x.dtype) * 2, RECTANGLES),
    *beside(lambda x: tg.zeros_like(x).at[(k := iota(min(x.type.shape))), k].set(tg.diagonal(x)), RECTANGLES),
    of((4,), (2, 4, 3))(lambda d, y: matmul(broadcast_to(tg.diag(d), (2, 4, 4)), finite(y))),
)
OF_IDENTITY = (
    *beside(lambda x: tg.eye(x.shape[1], dtype=x.dtype), SQUARE),
    *beside(lambda x: tg.eye(x.shape[0], x.shape[1], dtype=x.dtype), SQUARE[2:]),
    *beside(lambda x: tg.eye(4, k=1, dtype=x.dtype), SQUARE[:1]),
    *beside(lambda x: tg.eye(4, dtype=x.dtype) * 2, SQUARE[:1]),
    *beside(lambda x: tg.assume(x * 0 + tg.eye(4, dtype=x.dtype), diagonal=True, unit_diagonal=True), SQUARE[:1]),
    *beside(lambda x: tg.assume(x * 0 + tg.eye(4, dtype=x.dtype), diagonal=True), SQUARE[:1]),
    *beside(lambda x: tg.assume(tg.tril(x, -1) + tg.eye(4, dtype=x.dtype), unit_diagonal=True), SQUARE[:1]),
)
OF_ZEROS = (
    *beside(zeros_like, (*SQUARE, ((2, 3, 4), (1, 4, 2)), ((1, 3, 4), (2, 4, 2)))),
    *beside(lambda x: Constant(np.zeros((4, 4), x.type.numpy_dtype)), SQUARE[:1]),
    *beside(lambda x: Constant(np.eye(4, dtype=x.type.numpy_dtype)), SQUARE[:1]),
)

FACTORS = (2.0, -3.0, 1e-300, 1e300, 1e-310, 0.0, np.inf, 1.0)
OF_MULTIPLES = (
    *(
        of(("float64", (3, 40)), ("float64", (40, 2)))(lambda x, y, a=a, b=b: matmul(x * a, y * b))
        for a, b in itertools.product(FACTORS, repeat=2)
    ),
    *(of(("float64", (3, 40)), ("float64", (40, 1)))(lambda x, y, a=a: matmul(x * a, y)) for a in FACTORS),
    *(of(("float64", (1, 40)), ("float64", (40, 3)))(lambda x, y, a=a: matmul(x, a * y)) for a in FACTORS),
    *(of(("float64", (40, 3)), ("float64", (3, 40)))(lambda x, y, a=a: matmul(x * a, y)) for a in FACTORS[:2]),
    *(of((None, 3), (3, None))(lambda x, y, a=a: matmul(x * a, y)) for a in FACTORS[:1]),
    of((2, 2), (2, 2))(lambda x, y: matmul(x * 2, y)),
    of((3, 40), (40, 1))(lambda x, y: matmul(tg.exp(x) * 2, y)),
    of((40,), (40, 1))(lambda x, y: matmul(x * np.full((1, 1), 2.0), y)),
    of((3, 40), (40, 2))(lambda x, y: matmul(x * np.full((1, 1), 2.0), y * 3)),
    of((3, 40), (40, 2))(lambda x, y: matmul(x * tg.cast(2, x.dtype), 3 * y)),
    of(("int64", (3, 4)), ("int64", (4, 2)))(lambda x, y: matmul(x * 2**40, y * 2**40)),
    of(("bool", (3, 4)), ("bool", (4, 1)))(lambda x, y: matmul(x * np.True_, y)),
    of(("complex128", (3, 4)), ("complex128", (4, 2)))(lambda x, y: matmul(x * 2j, y * (1 + 1j))),
    of(("complex128", (3, 4)), ("complex128", (4, 2)))(lambda x, y: matmul(x * 1e300j, y * 1e300)),
    of(("float16", (3, 4)), ("float16", (4, 2)))(lambda x, y: matmul(x * 300, y * 300)),
)
OF_NEGATIVES = (
    lambda x, y: matmul(-x, y),
    lambda x, y: matmul(x, -y),
    lambda x, y: matmul(-x, -y) + matmul(-x, x),
    of(("bool", (3, 4)), ("bool", (4, 2)))(lambda x, y: matmul(tg.logical_not(x), tg.logical_not(y))),
)

# what is read of products


def axes_of(rank):
    return [axes for n in range(1, rank + 1) for axes in itertools.combinations(range(-rank, 0), n)]


def summed(axes, *shapes, made=matmul):
    return of(*shapes)(lambda *v: Reduce(tg.add, axes)(made(*v)))


OF_SUMS = (
    *(summed(axes, *shapes) for axes in axes_of(2) for shapes in (((3, 4), (4, 2)), ((None, None), (None, None)))),
    *(summed(axes, *shapes) for axes in axes_of(3) for shapes in (OF_STACKS[0], OF_STACKS[1], ((1, 3, 4), (2, 4, 3)))),
    *(summed(axes, (None, 3, 4), (None, 4, 2)) for axes in axes_of(3)),
    *(summed(axes, (2, 3, 2, 4), (2, 3, 4, 2)) for axes in axes_of(4)),
    *(summed(axes, (2, 1, 2, 4), (1, 3, 4, 2)) for axes in axes_of(4)),
    *(summed(axes, (3, 4), (4, 2), (2, 5), made=lambda x, y, z: (x @ y) @ z) for axes in axes_of(2)),
    *(summed(axes, (3, 4), (4, 2), (2, 5), made=lambda x, y, z: x @ (y @ z)) for axes in axes_of(2)),
    *(summed(axes, (3, 4), (4, 2), (2, 5), (5, 2), made=lambda x, y, z, w: ((x @ y) @ z) @ w) for axes in axes_of(2)),
    *(summed(axes, (3, 4), (4, 2), (2, 5), (5, 2), made=lambda x, y, z, w: x @ (y @ (z @ w))) for axes in axes_of(2)),
    *(summed(axes, (3, 0), (0, 2)) for axes in axes_of(2)),
    *(summed(axes, (0, 3), (3, 2)) for axes in axes_of(2)),
    *(summed(axes, (3, 4), (4, 2), made=lambda x, y: finite(x) @ finite(y)) for axes in axes_of(2)),
    summed((-1,), ("bool", (3, 4)), ("bool", (4, 2)), made=lambda x, y: tg.cast(x @ y, "int64")),
    of((3, 4), (4, 2))(lambda x, y: [tg.sum(x @ y, -1), x @ y]),
    of((3, 4), (4, 2))(lambda x, y: tg.max(x @ y, -1)),
)
PLACES = (
    lambda n: iota(n),
    lambda n: iota(2) + 1,
    lambda n: Constant(np.array([2, 0])),
    lambda n: Constant(np.array([2, 0] * 8)),
)


def at(first, second):
    return lambda x, y: Gather((-2, -1))(matmul(x, y), first(x.shape[-2]), second(x.shape[-2]))


OF_ELEMENTS = (
    *(of((4, 3), (3, 4))(at(a, b)) for k, a in enumerate(PLACES) for j, b in enumerate(PLACES) if k == j or k + j == 1),
    of((4, 3), (3, 4))(lambda x, y: Gather((-2, -1))(x @ y, iota(2), iota(2) + 1)),
    of((4, 3), (3, 4))(lambda x, y: Gather((-2, -1))(x @ y, Constant(np.array([1, 0])), iota(2))),
    of((2, 4, 3), (2, 3, 4))(at(PLACES[0], PLACES[0])),
    of((4, 3), (3, 4))(lambda x, y: Gather((-2,))(x @ y, iota(2))),
    of((4, 3), (3, 4))(lambda x, y: [tg.diagonal(x @ y), x @ y]),
    of((4, 3), (3, 4), ("int64", (100,)))(lambda x, y, i: Gather((-2, -1))(x @ y, i % 4 + i % 1, i % 4 + i % 1)),
    of((4, 3), (3, 4), ("int64", (None,)))(lambda x, y, i: Gather((-2, -1))(x @ y, i % 4, i % 4)),
    of((4, 3), (3, 4), ("int64", (3, 3)))(lambda x, y, i: Gather((-2, -1))(x @ y, i % 4, i % 4)),
    of((None, 3), (3, None))(lambda x, y: Gather((-2, -1))(x @ y, iota(y.shape[1]), iota(y.shape[1]))),
)


OF_TRANSPOSED = (
    of((3, 4), (4, 2))(lambda x, y: flipped(matmul(x, y))),
    of((4, 3), (4, 2))(lambda x, y: flipped(matmul(flipped(x), y))),
    of((3, 4), (2, 4))(lambda x, y: flipped(matmul(x, flipped(y)))),
    of((4, 3), (4, 2))(lambda x, y: [flipped(matmul(flipped(x), y)), matmul(flipped(x), y)]),
    of((4, 3), (5, 4, 2))(lambda x, y: flipped(matmul(ExpandDims((-3,))(flipped(x)), y))),
    of((3,), (1, 4))(lambda x, y: flipped(matmul(ExpandDims((-1,))(x), y))),
    of((4, 3), (3, 4, 2))(lambda x, y: flipped(matmul(ExpandDims((-2,))(flipped(x)), y))),
    of((2, 4, 3), (2, 4, 5))(lambda x, y: Transpose((-2, -3, -1))(matmul(flipped(x), y))),
    of((2, 3, 4), (2, 4, 5))(lambda x, y: flipped(matmul(Transpose((-2, -3, -1))(tg.swapaxes(x, 0, 1)), y))),
)


def table(rng, rank):
    """Two operands of which each axis belongs to both, the first or the second, and axes that are summed."""
    owners = [rng.choice(("both", "both", "first", "second")) for _ in range(rank)]
    sizes = [rng.choice((2, 3, 4, None)) for _ in range(rank)]
    shapes = [
        tuple(1 if o == other else n for o, n in zip(owners, sizes, strict=True)) for other in ("second", "first")
    ]
    shared = [k - rank for k, o in enumerate(owners) if o == "both"]
    axes = tuple(sorted(rng.sample(shared, rng.randint(1, len(shared))))) if shared else (-1,)
    return of(*shapes)(lambda x, y: Reduce(tg.add, axes)(x * y))


OF_TABLES = (
    *(table(random.Random(k), 3 + k % 3) for k in range(70)),
    of((3, 4, 1), (1, 4, 2))(lambda x, y: Reduce(tg.maximum, (-2,))(x * y)),
    of((3, 4, 1), (1, 4, 2))(lambda x, y: Reduce(tg.add, (-2,))(x + y)),
    of((3, 4, 1), (4, 2))(lambda x, y: Reduce(tg.add, (-2,))(x * y)),
    of(("bool", (3, 4, 1)), ("bool", (1, 4, 2)))(lambda x, y: Reduce(tg.add, (-2,))(tg.cast(x * y, "int64"))),
)


def multiplied(rng):
    """Several matrices, multiplied in any order."""
    count = rng.randint(3, 5)
    known = rng.random() < 0.6
    sizes = [rng.choice((1, 2, 3, 5) if known else (1, None, None)) for _ in range(count + 1)]

    def form(*matrices):
        left = list(matrices)
        order = random.Random(str(sizes))
        while len(left) > 1:
            k = order.randrange(len(left) - 1)
            left[k : k + 2] = [matmul(left[k], left[k + 1])]
        return left[0]

    names = [f"m{k}" for k in range(count)]
    call = eval(f"lambda {', '.join(names)}: form({', '.join(names)})", {"form": form})
    return of(*itertools.pairwise(sizes))(call)


OF_CHAINS = (
    *(multiplied(random.Random(k)) for k in range(60)),
    of((3, 4), (4, 2), (2, 1))(lambda x, y, z: functools.reduce(operator.add, [(x @ y) @ z, tg.sum(x @ y)])),
    of(("bool", (3, 4)), ("bool", (4, 4)), ("bool", (4, 1)))(lambda x, y, z: (x @ y) @ z),
    of((2, 3, 4), (2, 4, 4), (2, 4, 1))(lambda x, y, z: (x @ y) @ z),
    of((2, 1, 4), (1, 4, 4), (2, 4, 4))(lambda x, y, z: (x @ y) @ z),
)

FORMS_OF_MATRICES = {
    "matmul_over_one": PLAIN,
    "matmul_of_single_rows": OF_ROWS,
    "matmul_of_one_matrix": OF_ONE,
    "matmul_of_repeated": OF_REPEATED,
    "matmul_of_diagonal_of_known": OF_DIAGONAL,
    "matmul_of_diagonal": OF_DIAGONAL,
    "matmul_of_identity_of_known": OF_IDENTITY,
    "matmul_of_identity": OF_IDENTITY,
    "matmul_of_zeros_of_known": OF_ZEROS,
    "matmul_of_zeros": OF_ZEROS,
    "matmul_of_multiples": OF_MULTIPLES,
    "matmul_of_negatives": OF_NEGATIVES,
    "sum_of_matmul": OF_SUMS,
    "diagonal_of_matmul": OF_ELEMENTS,
    "transpose_of_matmul": OF_TRANSPOSED,
    "matmul_of_tables": OF_TABLES,
    "matmul_in_order": OF_CHAINS,
}
