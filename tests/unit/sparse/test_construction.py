"""Sparse matrices by their structure, and products of two; beside scipy.sparse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse

import tg
from tests.unit.sparse.test_selection import LAYOUTS, OTHER, SAMPLE, TWICE, check, inputs_like
from tg.errors import BoundsError, InputError, ShapeError

S = tg.sparse
SMALL = sparse.random_array((3, 5), density=0.4, format="csr", rng=np.random.default_rng(5))


@pytest.mark.parametrize(
    ("m", "n", "k"), [(3, None, 0), (3, 5, 1), (3, 5, -2), (4, 2, 1), (2, 2, 5), (2, 2, -5), (0, 3, 0)]
)
def test_ones_on_a_diagonal(m: int, n: int | None, k: int) -> None:
    result = S.to_scipy(S.eye(m, n, k, "float32"))
    np.testing.assert_array_equal(result.toarray(), np.eye(m, n, k))
    assert result.dtype == "float32"


def test_ones_of_an_unknown_length() -> None:
    x, n = tg.vector("x"), tg.scalar("n", "int64")
    f = tg.function([x, n], [S.eye(x.shape[0]) @ x, S.eye(n).todense()], backend="perform")
    product, whole = f([1.0, 2.0], 3)
    np.testing.assert_array_equal(product, [1, 2])
    np.testing.assert_array_equal(whole, np.eye(3))
    with pytest.raises(InputError, match="needed numbers beside k = 1"):
        S.eye(n, k=1)


@pytest.mark.parametrize("is_known", [True, False])
@pytest.mark.parametrize(
    ("lines", "offsets", "shape"),
    [
        ([[1.0, 2.0, 3.0]], [0], None),
        ([[1.0, 2.0, 3.0]], [-2], None),
        ([[1.0, 2.0], [3.0, 4.0, 5.0], [6.0, 7.0]], [1, 0, -1], (3, 3)),
        ([[1.0, 2.0], [3.0, 4.0, 5.0]], [-1, 2], (3, 5)),
        ([[1.0], [3.0, 4.0, 5.0]], [1, 0], (3, 6)),
    ],
)
def test_diagonals(lines: Any, offsets: Any, shape: Any, is_known: bool) -> None:
    wanted = sparse.diags_array(lines, offsets=offsets, shape=shape).toarray()
    vectors = [tg.vector(f"d{k}", shape=(len(v),) if is_known or len(v) == 1 else (None,)) for k, v in enumerate(lines)]
    a = S.diags(vectors, offsets, shape)
    assert (type(a) is S.CSR) == (is_known or shape is not None or offsets == [0])
    f = tg.function(vectors, [a.todense(), tg.grad(tg.sum(a.values**2), vectors[0])], backend="perform")
    value, slope = f(*lines)
    np.testing.assert_array_equal(value, wanted)
    count = np.count_nonzero(np.eye(*wanted.shape, offsets[0])) if len(lines[0]) == 1 else 1
    np.testing.assert_allclose(slope, 2 * np.array(lines[0]) * count)


def test_a_single_diagonal_and_scalars() -> None:
    np.testing.assert_array_equal(S.to_scipy(S.diags([1.0, 2.0])).toarray(), np.diag([1.0, 2.0]))
    np.testing.assert_array_equal(S.to_scipy(S.diags(np.array([1, 2]), 1)).toarray(), np.diag([1, 2], 1))
    np.testing.assert_array_equal(S.diags([2, -1.0], [0, 1], (2, 3)).todense().eval(), [[2, -1, 0], [0, 2, -1]])


@pytest.mark.parametrize("is_known", [True, False])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("other", LAYOUTS)
def test_blocks(layout: str, other: str, is_known: bool) -> None:
    a, b, c = SAMPLE.asformat(layout), OTHER.asformat(other), SMALL.asformat(other)
    check(lambda a, b: S.hstack([a, b, a]), lambda a, b: np.hstack([a, b, a]), a, b, is_known=is_known)
    check(lambda a, b: S.vstack([a, b, a]), lambda a, b: np.vstack([a, b, a]), a, c, is_known=is_known)
    check(lambda a, b: S.kron(a, b), np.kron, a, c, is_known=is_known)
    diagonal = lambda a, b: sparse.block_diag([a, b]).toarray()  # noqa: E731
    check(lambda a, b: S.block_diag([a, b]), diagonal, a, c, is_known=is_known)


@pytest.mark.parametrize("is_known", [True, False])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_triangles(layout: str, is_known: bool) -> None:
    for matrix in (SAMPLE, TWICE):
        for k in (-7, -1, 0, 2):
            for name in ("tril", "triu"):
                program = getattr(S, name), getattr(np, name)
                check(
                    lambda a, f=program[0], k=k: f(a, k),
                    lambda a, f=program[1], k=k: f(a, k),
                    matrix.asformat(layout),
                    is_known=is_known,
                )


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("other", LAYOUTS)
def test_products_of_two(layout: str, other: str) -> None:
    for a in (SAMPLE, TWICE, sparse.csr_array((6, 5))):
        for b in (OTHER.T, SMALL.T, TWICE.T):
            check(lambda a, b: a @ b, lambda a, b: a @ b, a.asformat(layout), b.asformat(other), is_known=True)


def product_of_inputs(a: Any, b: Any) -> Any:
    """A product as a function of both matrices and the pattern."""
    (left, *of_left), (right, *of_right) = inputs_like(a), inputs_like(b)
    fields = [tg.vector(name, "int32") for name in S.linalg.SymbolicProduct._fields]
    product = S.matmul(left, right, S.linalg.SymbolicProduct(*fields))
    f = tg.function([*of_left[0], *of_right[0], *fields], product.todense(), backend="perform")
    return lambda pattern: f(*of_left[1], *of_right[1], *pattern)


def test_the_pattern_of_a_product_is_an_input() -> None:
    for a, b in (
        (SAMPLE, OTHER.T.tocsr()),
        (SAMPLE, OTHER.T.tocsc()),
        (TWICE, SMALL.T.tocsr()),
        (SAMPLE, TWICE.T.tocoo()),
    ):
        f = product_of_inputs(a, b)
        pattern = S.linalg.symbolic_product(a, b)
        np.testing.assert_allclose(f(pattern), (a @ b).toarray(), rtol=1e-14)
        for change in (
            pattern._replace(left=np.roll(pattern.left, 1)),
            pattern._replace(right=np.roll(pattern.right, 1)),
            pattern._replace(indices=np.roll(pattern.indices, 1)),
            pattern._replace(left=pattern.left * 0 + pattern.left[0], right=pattern.right * 0 + pattern.right[0]),
            S.linalg.SymbolicProduct(pattern.left[:0], pattern.right[:0], pattern.pointers * 0, *pattern[3:]),
        ):
            with pytest.raises((InputError, BoundsError)):
                f(change)
    own, wrong = OTHER.T.tocsr(), S.linalg.symbolic_product(OTHER, SAMPLE.T.tocsr())
    with pytest.raises(InputError, match="elements at other places"):
        tg.function([], S.matmul(SAMPLE, own, wrong).data, backend="perform")()


def test_products_have_derivatives_of_both_and_of_second_order() -> None:
    a, b = SAMPLE, OTHER.T.tocsr()
    x, y = tg.vector("x"), tg.vector("y")
    left, right = S.csr(a).with_data(x), S.csr(b).with_data(y)
    slopes = tg.grad(tg.sum((left @ right).values ** 2), [x, y])
    f = tg.function([x, y], [*slopes, tg.jacobian(slopes[0], x), tg.jacobian(slopes[0], y)], backend="perform")

    def dense_slopes(x: Any, y: Any) -> tuple[Any, Any]:
        left, right = np.zeros(a.shape), np.zeros(b.shape)
        left[a.tocoo().coords], right[b.tocoo().coords] = x, y
        both = 2 * left @ right
        return (both @ right.T)[a.tocoo().coords], (left.T @ both)[b.tocoo().coords]

    of_x, of_y, of_xx, of_xy = f(a.data, b.data)
    for value, wanted in zip((of_x, of_y), dense_slopes(a.data, b.data), strict=True):
        np.testing.assert_allclose(value, wanted, rtol=1e-12)
    step = 1e-6
    for k in range(a.nnz):
        move = step * np.eye(a.nnz)[k]
        slope = dense_slopes(a.data + move, b.data)[0] - dense_slopes(a.data - move, b.data)[0]
        np.testing.assert_allclose(of_xx[:, k], slope / (2 * step), rtol=1e-7, atol=1e-7)
    for k in range(b.nnz):
        move = step * np.eye(b.nnz)[k]
        slope = dense_slopes(a.data, b.data + move)[0] - dense_slopes(a.data, b.data - move)[0]
        np.testing.assert_allclose(of_xy[:, k], slope / (2 * step), rtol=1e-7, atol=1e-7)


N = tg.scalar("n", "int64")


@pytest.mark.parametrize(
    ("build", "error", "text"),
    [
        (lambda a: S.eye(-1), ShapeError, "needed lengths of at least 0"),
        (lambda a: S.diags([[1.0], [2.0]], [0]), InputError, "found 2 diagonals for offsets"),
        (lambda a: S.diags([[1.0], [2.0]], [0, 0]), InputError, "found 2 diagonals for offsets"),
        (lambda a: S.diags([1.0, 2.0], 3, (2, 2)), ShapeError, "needed diagonals inside"),
        (lambda a: S.diags([1.0, 2.0, 3.0], 0, (2, 2)), ShapeError, "diagonal: axis 0: lengths differ: 3 and 2"),
        (lambda a: S.diags([np.ones((2, 2))]), ShapeError, "needed a vector or a scalar"),
        (lambda a: S.vstack([]), InputError, "vstack: found no matrices"),
        (lambda a: S.vstack([a, a.T]), ShapeError, "vstack: found 5 and 6 columns"),
        (lambda a: S.hstack([a, a.T]), ShapeError, "hstack: found 6 and 5 rows"),
        (lambda a: a @ a, ShapeError, "found 5 columns and 6 rows in @"),
        (lambda a: S.matmul(a, np.ones((5, 2))), InputError, "needed a sparse matrix"),
        (lambda a: a.astype(bool) @ a.T.astype(bool), tg.errors.DtypeError, "found bool in @"),
        (lambda a: inputs_like(SAMPLE)[0] @ a.T, InputError, "takes the pattern as an input"),
    ],
)
def test_mistakes_are_told(build: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        build(S.csr(SAMPLE))
