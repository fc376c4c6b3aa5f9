"""Factors of matrices by loops of the backend's own and by LAPACK, of lengths known or not, against NumPy's."""

import numpy as np
import pytest

import tg
from tg import lapack
from tg.ops.linalg.cholesky import Cholesky
from tg.ops.linalg.linear_systems import Inv, Solve
from tg.ops.linalg.lu import LU
from tg.ops.linalg.qr import QR
from tg.ops.linalg.schur import Eig, Schur
from tg.ops.linalg.solving import Det
from tg.ops.linalg.spectral import SVD, Eigh
from tg.ops.linalg.triangular import SolveTriangular
from tg.types.tensor_type import TensorType

DTYPES = ["float64", "float32", "complex64", "complex128"]
SHAPES = [(3, 3), (1, 1), (0, 0), (7, 4, 4), (2, 3, 2, 2), (2, 0, 3, 3), (19, 5, 5), (2, 16, 16), (17, 17), (2, 40, 40)]
SHAPES += [(64, 64), (2, 66, 66)]  # triangular systems and LU factors: the largest by loops, and by LAPACK
OBLONG = [(3, 5), (5, 3), (9, 2, 4), (9, 4, 2), (0, 3), (3, 0), (20, 33), (2, 33, 20)]
OBLONG += [(2, 70, 66), (66, 70), (200, 10), (10, 200), (64, 30), (100, 20)]


def draw(dtype, shape, seed=0):
    rng = np.random.default_rng([seed, *shape])
    x = rng.standard_normal(shape)
    return (x + 1j * rng.standard_normal(shape) if dtype.startswith("complex") else x).astype(dtype)


def positive(dtype, shape):
    x = draw(dtype, shape)
    return (x @ x.conj().swapaxes(-1, -2) + shape[-1] * np.eye(shape[-1])).astype(dtype)


def close(found, wanted, dtype):
    accuracy = 2e-4 if dtype in ("float32", "complex64") else 1e-12
    assert found.dtype == wanted.dtype
    np.testing.assert_allclose(found, wanted, rtol=accuracy, atol=accuracy * max(1, np.abs(wanted).max(initial=0)))


def adjoint(x):
    return x.conj().swapaxes(-1, -2)


def identity(x):
    """What the products of orthonormal columns are."""
    return np.broadcast_to(np.eye(x.shape[-1], dtype=x.dtype), (*x.shape[:-2], x.shape[-1], x.shape[-1]))


def run(backend, op, *arrays, known=True):
    """The results of an op, of operands whose lengths are known, or whose ranks alone are."""
    types = [TensorType(x.dtype.name, x.shape if known else (None,) * x.ndim) for x in arrays]
    variables = [tg.Variable(t) for t in types]
    made = op(*variables)
    outputs = list(made) if isinstance(made, tuple) else [made]
    return tg.function(variables, outputs, backend=backend)(*arrays)


@pytest.fixture(params=[True, False], ids=["known", "unknown"])
def known(request):
    return request.param


@pytest.mark.sampled(12)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_cholesky_factors(backend, dtype, shape, known):
    a = positive(dtype, shape)
    read = np.tril(a) + np.triu(np.full(shape, 99, dtype), 1)
    factor, info = run(backend, Cholesky(), read, known=known)
    close(factor, np.linalg.cholesky(a), dtype)
    assert info.dtype == np.int32
    np.testing.assert_array_equal(info, np.zeros(shape[:-2]))


@pytest.mark.sampled(12)
@pytest.mark.parametrize("n", [2, 4, 6, 20])
@pytest.mark.parametrize("dtype", DTYPES)
def test_matrices_without_a_cholesky_factor_are_told_and_leave_their_neighbours_alone(backend, dtype, n, known):
    a = positive(dtype, (23, n, n))
    a[2, -1, -1] = -1
    a[5, 0, 0] = 0
    a[8, 1, 0] = np.nan
    a[11, 0, 1] = np.nan  # not read
    a[12, 0, 0], a[12, -1, -1] = -1, np.nan
    a[22] = 0
    factor, info = run(backend, Cholesky(raises=False), a, known=known)
    assert info.tolist() == [{2: n, 5: 1, 22: 1}.get(k, 0) for k in range(23)]
    bad, lower = [2, 5, 8, 12, 22], np.tri(n, dtype=bool)
    assert np.isnan(factor[bad][:, lower]).all()
    assert (factor[bad][:, ~lower] == 0).all()
    good = [k for k in range(23) if k not in bad]
    a[11, 0, 1] = 0
    close(factor[good], np.linalg.cholesky(a[good]), dtype)


@pytest.mark.sampled(120)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("m", [0, 1, 3, 17])
@pytest.mark.parametrize("dtype", DTYPES)
def test_triangular_systems(backend, dtype, m, shape, known):
    a, b = draw(dtype, shape) / 8, draw(dtype, (*shape[:-1], m), 1)
    a += (np.eye(shape[-1]) * 2).astype(dtype)
    forms = [(lower, transpose, m == 3) for lower in (True, False) for transpose in "ntc"]
    every = run(backend, lambda *given: tuple(SolveTriangular(*form)(*given) for form in forms), a, b, known=known)
    for found, (lower, transpose, unit) in zip(every, forms, strict=True):
        close(found, lapack.trtrs(a, b, lower=lower, transpose=transpose, unit_diagonal=unit)[0], dtype)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("sizes", [(17, 8), (33, 9), (80, 80), (100, 100), (101, 100)])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_triangular_systems_of_middling_size(backend, dtype, sizes, known):
    """By products of blocks, of every form: beside the least and the largest, and batches of them."""
    n, m = sizes
    a, b = draw(dtype, (2, n, n)) / n, draw(dtype, (2, n, m), 1)
    a += (np.eye(n) * 2).astype(dtype)
    forms = [(lower, transpose, unit) for lower in (True, False) for transpose in "nt" for unit in (True, False)]
    every = run(backend, lambda *given: tuple(SolveTriangular(*form)(*given) for form in forms), a, b, known=known)
    for found, (lower, transpose, unit) in zip(every, forms, strict=True):
        close(found, lapack.trtrs(a, b, lower=lower, transpose=transpose, unit_diagonal=unit)[0], dtype)


@pytest.mark.parametrize(("n", "is_called"), [(16, False), (80, False), (120, True)])
def test_a_triangular_system_that_threads_gain_nothing_from_is_left_to_none(backend, n, is_called):
    """OpenBLAS lets them share any `trsm` of 8 right sides, and its products from 64 x 64 x 64 terms on."""
    a, b = (tg.tensor(name, "float64", (n, n)) for name in "ab")
    f = tg.function([a, b], SolveTriangular(True, "n", False)(a, b), backend=backend)
    assert ("trsm" in f.source(full=True)) is is_called


@pytest.mark.sampled(5)
@pytest.mark.parametrize("n", [2, 4, 20, 66])
@pytest.mark.parametrize("dtype", DTYPES)
def test_a_zero_on_a_diagonal_makes_the_solution_of_that_matrix_nan(backend, dtype, n, known):
    a, b = draw(dtype, (19, n, n)) + 2 * np.eye(n, dtype=dtype), draw(dtype, (19, n, 2))
    a[3, -1, -1] = a[18, 0, 0] = 0
    (found,) = run(backend, SolveTriangular(True, "n", False, raises=False), a, b, known=known)
    assert np.isnan(found[[3, 18]]).all()
    good = [k for k in range(19) if k not in (3, 18)]
    close(found[good], lapack.trtrs(a[good], b[good])[0], dtype)


@pytest.mark.sampled(40)
@pytest.mark.parametrize(
    "shape", [*SHAPES, (3, 5), (5, 3), (9, 2, 4), (9, 4, 2), (0, 3), (3, 0), (20, 33), (2, 33, 20)]
)
@pytest.mark.parametrize("dtype", DTYPES)
def test_lu_factors(backend, dtype, shape, known):
    a = draw(dtype, shape)
    factors, pivots, order = run(backend, LU(), a, known=known)
    wanted, exchanges, _ = lapack.getrf(a)
    close(factors, wanted, dtype)
    np.testing.assert_array_equal(pivots, exchanges)
    for at in np.ndindex(*shape[:-2]):
        rows = np.arange(shape[-2])
        for k, row in enumerate(exchanges[at]):
            rows[[k, row]] = rows[[row, k]]
        np.testing.assert_array_equal(order[at], rows)


@pytest.mark.sampled(16)
@pytest.mark.parametrize("n", [2, 3, 6, 20, 66])
@pytest.mark.parametrize("dtype", DTYPES)
def test_singular_matrices_have_zeros_as_pivots_and_leave_their_neighbours_alone(backend, dtype, n, known):
    a = draw(dtype, (19, n, n))
    a[3], a[7, 0], a[18, :, -1] = 0, 0, 0
    a[9, -1, -1] = np.nan
    factors, _, _ = run(backend, LU(), a, known=known)
    zeros = (np.diagonal(factors, axis1=-2, axis2=-1) == 0).any(-1)
    assert np.flatnonzero(zeros).tolist() == [3, 7, 18]
    assert np.isnan(factors[9, -1, -1])
    good = [k for k in range(19) if k not in (3, 7, 9, 18)]
    close(factors[good], lapack.getrf(a[good])[0], dtype)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("n", [4, 20, 66])
def test_matrices_of_any_layout(backend, n, known):
    a = tg.Variable(TensorType("float64", (5, n, n) if known else (None, None, None)))
    views = [a, a.mT, a[::-1], a[:, ::-1, ::-1]]
    outputs = [x for v in views for x in (Cholesky()(v)[0], SolveTriangular(True, "n")(v, v), LU()(v)[0])]
    given = positive("float64", (5, n, n))
    found = iter(tg.function([a], outputs, backend=backend)(given))
    for v in (given, given.swapaxes(-1, -2), given[::-1], given[:, ::-1, ::-1]):
        close(next(found), np.linalg.cholesky(v), "float64")
        close(next(found), lapack.trtrs(v, v)[0], "float64")
        close(next(found), lapack.getrf(v)[0], "float64")


@pytest.mark.sampled(20)
@pytest.mark.parametrize("shape", [(3, 3), (1, 1), (6, 6), (3, 2, 2), (9, 4, 4), (2, 5, 3, 3), (0, 2, 2)])
@pytest.mark.parametrize("dtype", DTYPES)
def test_determinants_inverses_and_solutions_of_small_matrices(backend, dtype, shape):
    a, b = draw(dtype, shape) + 2 * np.eye(shape[-1], dtype=dtype), draw(dtype, (*shape[:-1], 2), 1)
    p = positive(dtype, shape)
    made = run(
        backend,
        lambda a, b, p: (Det()(a), *Inv()(a), *Solve()(a, b), *Solve("t")(a, b), *Solve("n", positive=True)(p, b)),
        *(a, b, p),
    )
    wanted = [np.linalg.det(a), np.linalg.inv(a), *(np.linalg.solve(x, b) for x in (a, a.swapaxes(-1, -2), p))]
    for found, right in zip([made[0], *made[1::2]], wanted, strict=True):
        close(found, right, dtype)
    assert not any(info.any() for info in made[2::2])


@pytest.mark.sampled(4)
@pytest.mark.parametrize("dtype", DTYPES)
def test_singular_small_matrices_are_told_and_leave_their_neighbours_alone(backend, dtype):
    a, b = draw(dtype, (19, 3, 3)), draw(dtype, (19, 3, 1))
    a[3], a[7, 0], a[18, :, -1] = 0, 0, 0
    p = positive(dtype, (19, 3, 3))
    p[3, 1, 1], p[7, 2, 0] = -1, np.nan
    found = run(
        backend,
        lambda a, b, p: (
            Det()(a),
            *Inv(raises=False)(a),
            *Solve(raises=False)(a, b),
            *Solve("n", positive=True, raises=False)(p, b),
        ),
        *(a, b, p),
    )
    det, inverse, info, x, same, y, minors = found
    assert info.tolist() == same.tolist() == [{3: 1, 7: 3, 18: 3}.get(k, 0) for k in range(19)]
    assert minors.tolist() == [2 if k == 3 else 0 for k in range(19)]
    bad = [3, 7, 18]
    good = [k for k in range(19) if k not in bad]
    assert (det[bad] == 0).all()
    assert np.isnan(inverse[bad]).all()
    assert np.isnan(x[bad]).all()
    assert np.isnan(y[[3, 7]]).all()
    close(det[good], np.linalg.det(a[good]), dtype)
    close(x[good], np.linalg.solve(a[good], b[good]), dtype)
    fine = [k for k in range(19) if k not in (3, 7)]
    close(y[fine], np.linalg.solve(p[fine], b[fine]), dtype)


def test_a_singular_matrix_among_small_ones_is_named_at_the_users_line(backend):
    a = np.stack([np.eye(3)] * 5)
    a[2, 1] = 0
    variable = tg.Variable(TensorType("float64", (5, 3, 3)))
    f = tg.function([variable], tg.linalg.inv(variable), backend=backend)
    with pytest.raises(tg.errors.LinAlgError, match=r"inv: matrix \[2\] of the batch is singular") as error:
        f(a)
    assert __file__.rpartition("/")[2] in str(error.value) + "".join(error.value.__notes__)


@pytest.mark.sampled(24)
@pytest.mark.parametrize("shape", [(3, 3), (2, 5, 3), (2, 3, 5), (40, 30), (30, 40), (2, 0, 3), (3, 0), (0, 0)])
@pytest.mark.parametrize("dtype", DTYPES)
def test_orthogonal_factors_and_singular_values(backend, dtype, shape, known):
    a = draw(dtype, shape)
    made = run(
        backend, lambda a: (*QR()(a), *QR("complete")(a), *SVD()(a), *SVD(full_matrices=True)(a)), a, known=known
    )
    few = min(shape[-2:])
    for q, r in (made[:2], made[2:4]):
        close(q @ r, a, dtype)
        close(adjoint(q) @ q, identity(q), dtype)
        assert not np.tril(r, -1).any()
        assert (np.diagonal(r, axis1=-2, axis2=-1).real >= 0).all()
    for u, s, v, info in (made[4:8], made[8:]):
        assert not info.any()
        close(s, np.linalg.svd(a, compute_uv=False), dtype)
        close((u[..., :few] * s[..., None, :].astype(dtype)) @ v[..., :few, :], a, dtype)
        close(adjoint(u) @ u, identity(u), dtype)
        close(v @ adjoint(v), identity(adjoint(v)), dtype)


@pytest.mark.sampled(20)
@pytest.mark.parametrize("shape", [(3, 3), (2, 20, 20), (2, 1, 1), (0, 0), (2, 0, 3, 3)])
@pytest.mark.parametrize("dtype", DTYPES)
def test_eigenvalues_of_hermitian_matrices(backend, dtype, shape, known):
    x = draw(dtype, shape)
    a = x + adjoint(x)
    values, vectors, info = run(backend, Eigh(), np.tril(a) + np.triu(np.full(shape, 99, dtype), 1), known=known)
    assert not info.any()
    close(values, np.linalg.eigvalsh(a), dtype)
    close(a @ vectors, vectors * values[..., None, :].astype(dtype), dtype)
    close(adjoint(vectors) @ vectors, identity(vectors), dtype)


@pytest.mark.sampled(20)
@pytest.mark.parametrize("shape", [(3, 3), (2, 20, 20), (2, 1, 1), (0, 0), (5, 2, 2)])
@pytest.mark.parametrize("dtype", DTYPES)
def test_eigenvalues_and_schur_forms_of_any_square_matrix(backend, dtype, shape, known):
    a = draw(dtype, shape)
    values, vectors, info, form, unitary, same = run(backend, lambda a: (*Eig()(a), *Schur()(a)), a, known=known)
    assert not info.any()
    assert not same.any()
    close(a @ vectors, vectors * values[..., None, :], dtype)
    close(np.linalg.norm(vectors, axis=-2), np.ones(shape[:-1], values.real.dtype), dtype)
    close(unitary @ form @ adjoint(unitary), a, dtype)
    close(adjoint(unitary) @ unitary, identity(unitary), dtype)
    assert not np.tril(form, -1 if dtype.startswith("complex") else -2).any()


@pytest.mark.parametrize("hostile", [np.nan, np.inf])
def test_matrices_that_are_not_finite_have_nan_and_leave_their_neighbours_alone(backend, hostile):
    def every(a):
        return (*Eigh()(a), *SVD()(a), *Eig()(a), *Schur()(a))

    a = positive("float64", (3, 5, 5))
    clean = run(backend, every, a)
    a[1, 3, 2] = hostile
    found = run(backend, every, a)
    for one, wanted in zip(found, clean, strict=True):
        np.testing.assert_array_equal(one[[0, 2]], wanted[[0, 2]])
        assert one.dtype == np.int32 or np.isnan(one[1]).all()
    assert not found[2].any()
