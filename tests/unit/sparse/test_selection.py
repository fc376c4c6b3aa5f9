"""Parts, elements and combinations of sparse matrices, of places that are known and of others; beside scipy.sparse."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy import sparse

import tg
from tg.errors import BoundsError, InputError, ShapeError

if TYPE_CHECKING:
    from collections.abc import Callable

DRAWS = np.random.default_rng(1)
SAMPLE = sparse.random_array((6, 5), density=0.4, format="csr", rng=DRAWS)
SAMPLE.data[::3] *= -1
DENSE = SAMPLE.toarray()
OTHER = sparse.random_array((6, 5), density=0.4, format="csr", rng=DRAWS)
TWICE = sparse.coo_array(  # places that occur twice, in no order
    (np.arange(1.0, 6.0), ([4, 0, 4, 2, 0], [1, 3, 1, 0, 4])), shape=(6, 5)
)
LAYOUTS = ("csr", "csc", "coo")


def inputs_like(matrix: Any) -> Any:
    """A matrix of variables in the layout and the shape of one, and arrays for them."""
    names = ("data", "row", "col") if matrix.format == "coo" else ("data", "indices", "indptr")
    arrays = [getattr(matrix, name) for name in names]
    variables = [tg.vector(name, v.dtype.name) for name, v in zip(names, arrays, strict=True)]
    return getattr(tg.sparse, matrix.format)(*variables, matrix.shape), variables, arrays


def dense(result: Any) -> Any:
    """A result as expressions of dense arrays."""
    return tuple(v.todense() if isinstance(v, tg.sparse.SparseMatrix) else v for v in tg_tuple(result))


def tg_tuple(result: Any) -> tuple[Any, ...]:
    return result if type(result) is tuple else (result,)


def check(program: Callable[..., Any], wanted: Callable[..., Any], *matrices: Any, is_known: bool) -> None:
    """Hold a program of matrices against NumPy's of dense ones."""
    results = tg_tuple(wanted(*(m.toarray() for m in matrices)))
    if is_known:
        of_tg = [getattr(tg.sparse, m.format)(m) for m in matrices]
        values = tg.function([], list(dense(program(*of_tg))), backend="perform")()
    else:
        parts = [inputs_like(m) for m in matrices]
        variables, arrays = ([v for part in parts for v in part[k]] for k in (1, 2))
        f = tg.function(
            variables, list(dense(program(*(part[0] for part in parts)))), backend="perform", on_unused_input="ignore"
        )
        values = f(*arrays)
    for value, result in zip(values, results, strict=True):
        np.testing.assert_allclose(value, result, rtol=1e-13, atol=1e-15)


ANY_PLACES: dict[str, Callable[[Any], Any]] = {
    "an element": lambda a: a[2, 1],
    "an element from the end": lambda a: a[-2, -1],
    "pairs": lambda a: a[np.array([0, 5, 2, 0]), np.array([1, 4, 3, 1])],
    "pairs that are broadcast": lambda a: a[np.array([[0], [5], [-1]]), np.array([1, 4])],
    "a row": lambda a: a[4],
    "a row from the end": lambda a: a[-2],
    "part of a row": lambda a: a[4, 1:4],
    "a column": lambda a: a[:, 1],
    "part of a column": lambda a: a[1:5, -1],
    "rows": lambda a: a[1:4],
    "columns": lambda a: a[:, 1:4],
    "rows and columns": lambda a: a[2:, :3],
    "no columns": lambda a: a[:, 2:2],
    "a sum": lambda a: a.sum(0),
    "diagonals": lambda a: tuple(a.diagonal(k) for k in (-6, -1, 0, 2, 5)),
    "means": lambda a: (a.mean(), a.mean(0), a.mean(1)),
    "the largest": lambda a: (a.max(), a.max(0), a.max(1), a.max(-1)),
    "the smallest": lambda a: (a.min(), a.min(0), a.min(1)),
}
KNOWN_PLACES: dict[str, Callable[[Any], Any]] = {
    "every second row": lambda a: a[::2],
    "columns backwards": lambda a: a[1:, ::-1],
    "rows by number": lambda a: a[[4, 0, 0, -1]],
    "columns by number": lambda a: a[:, np.array([3, 1])],
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("is_known", [True, False])
@pytest.mark.parametrize("name", [*ANY_PLACES, *KNOWN_PLACES])
def test_parts(name: str, layout: str, is_known: bool) -> None:
    program = {**ANY_PLACES, **KNOWN_PLACES}[name]
    for matrix in (SAMPLE, TWICE, sparse.csr_array((6, 5))):
        if is_known or name in ANY_PLACES:
            check(program, program, matrix.asformat(layout), is_known=is_known)
        else:
            with pytest.raises(InputError, match="needed"):
                program(inputs_like(matrix.asformat(layout))[0])


def test_parts_keep_the_layout() -> None:
    a = tg.sparse.csc(SAMPLE)
    assert type(a[1:3, ::2]) is tg.sparse.CSC
    assert type(tg.sparse.csr(SAMPLE)[1:3, ::2]) is tg.sparse.CSR
    assert tg.sparse.to_scipy(a[1:3, ::2]).nnz == SAMPLE[1:3, ::2].nnz


@pytest.mark.parametrize("is_known", [True, False])
def test_indices_and_bounds_may_be_variables(is_known: bool) -> None:
    i, j = tg.scalar("i", "int64"), tg.vector("j", "int64")
    a, variables, arrays = inputs_like(SAMPLE)
    a = tg.sparse.csr(SAMPLE) if is_known else a
    results = [a[i], a[:, i], a[i, j], a[i:].todense()]
    f = tg.function([*variables, i, j], results, backend="perform", on_unused_input="ignore")
    for value, wanted in zip(f(*arrays, 2, [0, 3]), (DENSE[2], DENSE[:, 2], DENSE[2, [0, 3]], DENSE[2:]), strict=True):
        np.testing.assert_array_equal(value, wanted)
    with pytest.raises(BoundsError):
        f(*arrays, 5, [0, 3])
    with pytest.raises(BoundsError):
        f(*arrays, 2, [0, 5])


@pytest.mark.parametrize("is_known", [True, False])
def test_what_is_not_finite_stays_in_its_row(is_known: bool) -> None:
    matrix = SAMPLE.copy()
    matrix.data[0] = np.inf
    check(lambda a: (a[4], a[:, 3], a[5, 2]), lambda a: (a[4], a[:, 3], a[5, 2]), matrix, is_known=is_known)
    product = lambda a, b: a * b  # noqa: E731
    check(product, lambda a, b: np.where((a != 0) & (b != 0), a, 0) * b, matrix, OTHER, is_known=is_known)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("is_known", [True, False])
def test_elements_of_two_matrices(layout: str, is_known: bool) -> None:
    for a, b in ((SAMPLE, OTHER), (SAMPLE, TWICE), (TWICE, OTHER), (TWICE, TWICE)):
        for program in (lambda x, y: x * y, lambda x, y: x + y, lambda x, y: x - y):
            check(program, program, a.asformat(layout), b.asformat("csr"), is_known=is_known)
            check(program, program, a.asformat("csc"), b.asformat(layout), is_known=is_known)


def test_results_of_known_places_have_scipy_s() -> None:
    for layout in ("csr", "csc"):
        a, b = (getattr(tg.sparse, layout)(m) for m in (SAMPLE, OTHER))
        other = getattr(tg.sparse, layout)(OTHER.T)
        for result, wanted in ((a + b, SAMPLE + OTHER), (a * b, SAMPLE.multiply(OTHER)), (a @ other, SAMPLE @ OTHER.T)):
            assert type(result) is type(a)
            assert result.nnz == wanted.nnz
    assert tg.sparse.to_scipy(tg.sparse.coo(TWICE).sum_duplicates()).nnz == 4
    np.testing.assert_array_equal(tg.sparse.to_scipy(tg.sparse.csc(TWICE).sum_duplicates()).toarray(), TWICE.toarray())


@pytest.mark.parametrize("is_known", [True, False])
def test_find(is_known: bool) -> None:
    for matrix in (SAMPLE, TWICE):
        row, column = matrix.toarray().nonzero()
        wanted = (row, column, matrix.toarray()[row, column])
        check(tg.sparse.find, lambda a, wanted=wanted: wanted, matrix, is_known=is_known)
        longer = tuple(np.append(v, [0, 0]).astype(v.dtype) for v in wanted)
        size = len(row) + 2
        check(lambda a, n=size: tg.sparse.find(a, size=n), lambda a, w=longer: w, matrix, is_known=is_known)


@pytest.mark.parametrize("what", ["max", "min"])
def test_extremes_of_integers_and_of_full_rows(what: str) -> None:
    for matrix in (np.array([[-3, -1], [-2, 0], [5, 7]]), np.array([[-2.5]])):
        a = tg.sparse.csr(matrix)
        for axis in (None, 0, 1):
            result = getattr(a, what)(axis).eval()
            np.testing.assert_array_equal(result, getattr(matrix, what)(axis))
            assert result.dtype == matrix.dtype
    with pytest.raises(ShapeError, match="needed elements along the axis"):
        getattr(tg.sparse.csr(np.zeros((0, 3))), what)(0)


def test_slopes_by_values() -> None:
    data = tg.vector("data")
    a = tg.sparse.csr(SAMPLE).with_data(data)
    b = tg.sparse.csr(OTHER)
    wanted = {
        "a row": (a[2], np.where(SAMPLE.tocoo().row == 2, 1.0, 0.0)),
        "a part": (a[::2, 1:].values, ((SAMPLE.tocoo().row % 2 == 0) & (SAMPLE.tocoo().col > 0)).astype(float)),
        "in common": ((a * b).values, OTHER.toarray()[SAMPLE.tocoo().coords]),
        "a product": ((a @ b.T).values, OTHER.T.toarray().sum(1)[SAMPLE.tocoo().col]),
    }
    for value, slope in wanted.values():
        f = tg.function([data], tg.grad(tg.sum(value), data), backend="perform", on_unused_input="ignore")
        np.testing.assert_allclose(f(SAMPLE.data), slope, rtol=1e-13)


@pytest.mark.parametrize(
    ("build", "error", "text"),
    [
        (lambda a: a[1, 2, 3], InputError, "found 3 indices, needed at most 2"),
        (lambda a: a[None], InputError, "needed indices or slices"),
        (lambda a: a[1.5], InputError, "needed integers"),
        (lambda a: a[DENSE > 0], InputError, "needed integers"),
        (lambda a: a[6], BoundsError, "index 6 is out of bounds"),
        (lambda a: a[:, [0, 5]], BoundsError, "index 5 is out of bounds"),
        (lambda a: a[[[0]]], ShapeError, "needed a vector"),
        (lambda a: a.max(axis=2), ShapeError, "max: axis: found 2"),
        (lambda a: tg.sparse.find(DENSE), InputError, "needed a sparse matrix"),
        (lambda a: a * a.T, ShapeError, r"found shapes \(6, 5\) and \(5, 6\) in \*"),
        (lambda a: inputs_like(SAMPLE)[0].sum_duplicates(), InputError, "needed known ones"),
        (lambda a: inputs_like(SAMPLE)[0][::2], InputError, "needed a slice by steps of 1"),
    ],
)
def test_mistakes_are_told(build: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        build(tg.sparse.csr(SAMPLE))
