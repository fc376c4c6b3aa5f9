"""LAPACK on arrays: what comes out is held against NumPy's and SciPy's own and against what factors multiply to."""

import ctypes
import functools
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.linalg

from tg import lapack
from tg.errors import BackendUnavailable, DtypeError
from tg.lapack import calls, library

pytestmark = pytest.mark.sampled(3)

DTYPES = ("float32", "float64", "complex64", "complex128")
BATCHES = ((), (2, 0), (2, 3))


LIBRARIES = {"numpy": library.numpy_lapack, "scipy": library.scipy_lapack}


def use(monkeypatch, name):
    """Let functions be called in one of the libraries."""
    found = LIBRARIES[name]()
    if found is None:
        pytest.skip("this LAPACK is not here")
    monkeypatch.setattr(library, "find_lapack", lambda: found)
    monkeypatch.setattr(calls, "_function", functools.cache(calls._function.__wrapped__))
    return found


@pytest.fixture(params=DTYPES)
def dtype(request):
    return np.dtype(request.param)


def draw(dtype, *shape, seed=0):
    """A random array, not contiguous, that nobody may write to."""
    rng = np.random.default_rng([seed, *shape])
    x = rng.standard_normal((*shape, 2))
    x = (x[..., 0] + 1j * x[..., 1] if dtype.kind == "c" else x[..., 0]).astype(dtype)
    wide = np.repeat(x, 2, axis=-1)[..., ::2] if x.ndim else x
    wide.flags.writeable = False
    return wide


def adjoint(x):
    return x.conj().swapaxes(-1, -2)


def positive(dtype, *batch, n):
    x = draw(dtype, *batch, n, n)
    return x @ adjoint(x) + n * np.eye(n, dtype=dtype)


def close(found, wanted, dtype, factor=1.0):
    assert found.dtype == np.asarray(wanted).dtype
    accuracy = factor * (1e-4 if dtype in ("float32", "complex64") else 1e-12)
    np.testing.assert_allclose(found, wanted, rtol=accuracy, atol=accuracy * max(1.0, np.abs(wanted).max(initial=0)))


def unit(x):
    """Whether columns are orthonormal."""
    return x, np.broadcast_to(np.eye(x.shape[-1], dtype=x.dtype), (*x.shape[:-2], x.shape[-1], x.shape[-1]))


@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize("n", [0, 1, 5, 40])
def test_a_cholesky_factor_multiplies_to_its_matrix(dtype, batch, n):
    a = positive(dtype, *batch, n=n)
    for lower in (True, False):
        half = np.tril(a) if lower else np.triu(a)
        factor, info = lapack.potrf(half, lower=lower)
        assert info.shape == batch
        assert info.dtype == np.int32
        assert not info.any()
        assert (np.triu(factor, 1) if lower else np.tril(factor, -1)).sum() == 0
        close(factor @ adjoint(factor) if lower else adjoint(factor) @ factor, a, dtype)


def test_the_minor_that_is_not_positive_is_told_for_each_matrix(dtype):
    a = np.stack([np.eye(4), np.diag([1, 2, -1, 1]), np.diag([0, 1, 1, 1]), np.eye(4)]).astype(dtype)
    assert lapack.potrf(a)[1].tolist() == [0, 3, 1, 0]


@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize(("n", "m"), [(0, 3), (3, 0), (1, 1), (5, 2), (40, 3)])
def test_triangular_equations_in_every_form(dtype, batch, n, m):
    a, b = draw(dtype, *batch, n, n) / 8 + np.eye(n, dtype=dtype), draw(dtype, n, m)
    for lower in (True, False):
        for transpose in "ntc":
            for unit_diagonal in (True, False):
                x, info = lapack.trtrs(a, b, lower=lower, transpose=transpose, unit_diagonal=unit_diagonal)
                whole = np.tril(a) if lower else np.triu(a)
                if unit_diagonal:
                    whole = whole - whole * np.eye(n, dtype=dtype) + np.eye(n, dtype=dtype)
                whole = {"n": whole, "t": whole.swapaxes(-1, -2), "c": adjoint(whole)}[transpose]
                assert x.shape == (*batch, n, m)
                assert not info.any()
                close(whole @ x, np.broadcast_to(b, x.shape), dtype, 100)


def test_a_zero_on_the_diagonal_is_told(dtype):
    a = np.triu(np.ones((3, 3))).astype(dtype)
    a[1, 1] = 0
    assert lapack.trtrs(a, np.ones((3, 1), dtype), lower=False)[1] == 2


@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize(("m", "n"), [(0, 3), (3, 0), (1, 1), (5, 3), (3, 5), (40, 40)])
def test_lu_is_scipys(dtype, batch, m, n):
    a = draw(dtype, *batch, m, n)
    lu, pivots, info = lapack.getrf(a)
    assert pivots.shape == (*batch, min(m, n))
    assert pivots.dtype == np.int32
    assert not info.any()
    for at in np.ndindex(*batch):
        if m and n:
            wanted, rows = scipy.linalg.lu_factor(a[at])
            close(lu[at], wanted, dtype)
            np.testing.assert_array_equal(pivots[at], rows)


@pytest.mark.parametrize("n", [0, 1, 4, 30])
def test_equations_and_inverses_by_lu(dtype, n):
    a, b = draw(dtype, 3, n, n) + 2 * np.eye(n, dtype=dtype), draw(dtype, 3, n, 2)
    lu, pivots, _ = lapack.getrf(a)
    for transpose, whole in (("n", a), ("t", a.swapaxes(-1, -2)), ("c", adjoint(a))):
        x, info = lapack.getrs(lu, pivots, b, transpose=transpose)
        close(x, np.linalg.solve(whole, b), dtype, 100)
        assert not info.any()
    inverse, info = lapack.getri(lu, pivots)
    close(inverse, np.linalg.inv(a), dtype, 100)
    assert not info.any()


@pytest.mark.parametrize(("below", "above"), [(1, 1), (0, 0), (2, 1), (0, 2)])
@pytest.mark.parametrize("n", [0, 1, 2, 9])
def test_systems_of_a_band(dtype, below, above, n):
    ab, b = draw(dtype, 3, below + above + 1, n).copy(), draw(dtype, 3, n, 2)
    ab[:, above] += 4
    x, info = lapack.gbsv(ab, b, below=below, above=above)
    assert not info.any()
    for k in range(3 if n else 0):
        close(x[k], scipy.linalg.solve_banded((below, above), ab[k], b[k]), dtype, 100)
    if below:
        return
    positive = np.concatenate([np.abs(ab[:, above:]).astype(dtype), draw(dtype, 3, above, n) / 2], 1)
    x, info = lapack.pbsv(positive, b)
    assert not info.any()
    for k in range(3 if n else 0):
        close(x[k], scipy.linalg.solveh_banded(positive[k], b[k], lower=True), dtype, 100)


def test_bands_that_have_no_solution_are_told(dtype):
    ab, b = np.array([[0, 1, 1], [1, 1, 1], [1, 0, 0]], dtype), np.ones((3, 1), dtype)
    assert lapack.gbsv(ab, b, below=1, above=1)[1] == 2
    assert lapack.pbsv(np.array([[1, 1, 1], [0, 2, 0]], dtype), b)[1] == 3


def test_an_exact_zero_pivot_is_told(dtype):
    a = np.array([[1, 2, 3], [0, 0, 0], [1, 3, 4]], dtype)
    lu, pivots, info = lapack.getrf(a)
    assert info == 3
    assert lapack.getri(lu, pivots)[1] == 3


@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize(("m", "n"), [(0, 3), (3, 0), (1, 1), (5, 3), (3, 5), (40, 30)])
def test_qr_multiplies_to_its_matrix(dtype, batch, m, n):
    a = draw(dtype, *batch, m, n)
    packed, factors, info = lapack.geqrf(a)
    q, more = lapack.orgqr(packed, factors)
    r = np.triu(packed)[..., : min(m, n), :]
    assert not info.any()
    assert not more.any()
    close(q @ r, a, dtype)
    close(adjoint(q) @ q, unit(q)[1], dtype)
    square, _ = lapack.orgqr(packed, factors, m)
    close(adjoint(square) @ square, unit(square)[1], dtype)
    close(square[..., : min(m, n)], q, dtype)


@pytest.mark.parametrize(("m", "n"), [(0, 3), (3, 0), (1, 1), (5, 3), (3, 5), (20, 20)])
def test_qr_of_columns_in_an_order(dtype, m, n):
    a = draw(dtype, 2, m, n)
    packed, factors, order, info = lapack.geqp3(a)
    q, _ = lapack.orgqr(packed, factors)
    assert not info.any()
    close(q @ np.triu(packed)[..., : min(m, n), :], np.take_along_axis(a, order[:, None], -1), dtype)
    size = np.abs(np.diagonal(packed, axis1=-2, axis2=-1))
    assert (np.diff(size, axis=-1) <= 1e-4).all()


@pytest.mark.parametrize("hermitian", [True, False])
@pytest.mark.parametrize("lower", [True, False])
def test_ldl_is_scipys(dtype, lower, hermitian):
    x = draw(dtype, 3, 6, 6)
    a = x + (adjoint(x) if hermitian else x.swapaxes(-1, -2))
    packed, _, info = lapack.sytrf(np.tril(a) if lower else np.triu(a), lower=lower, hermitian=hermitian)
    name = "hetrf" if hermitian and dtype.kind == "c" else "sytrf"
    reference = scipy.linalg.get_lapack_funcs(name, (a,))
    for k in range(3):
        assert info[k] == 0
        close(packed[k], reference(np.tril(a[k]) if lower else np.triu(a[k]), lower=lower)[0], dtype, 10)
    assert lapack.sytrf(np.zeros((0, 0), dtype))[0].shape == (0, 0)


@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize("n", [0, 1, 5, 30])
def test_eigenvalues_of_symmetric_matrices_are_numpys(dtype, batch, n):
    x = draw(dtype, *batch, n, n)
    a = x + adjoint(x)
    for lower in (True, False):
        half = np.tril(a) if lower else np.triu(a)
        values, vectors, info = lapack.syevd(half, lower=lower)
        alone, none, _ = lapack.syevd(half, lower=lower, vectors=False)
        assert not info.any()
        assert none.shape == (*batch, n, 0)
        close(values, np.linalg.eigvalsh(a), dtype, 10)
        close(alone, values, dtype, 10)
        close(a @ vectors, vectors * values[..., None, :].astype(dtype), dtype, 10)
        close(adjoint(vectors) @ vectors, unit(vectors)[1], dtype, 10)


@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize(("m", "n"), [(0, 3), (3, 0), (0, 0), (1, 1), (5, 3), (3, 5), (30, 20)])
def test_singular_values_are_numpys(dtype, batch, m, n):
    a = draw(dtype, *batch, m, n)
    wanted = np.linalg.svd(a, compute_uv=False)
    for full in (True, False):
        u, s, vh, info = lapack.gesdd(a, full_matrices=full)
        assert not info.any()
        assert (u.shape[-2:], vh.shape[-2:]) == (((m, m), (n, n)) if full else ((m, min(m, n)), (min(m, n), n)))
        close(s, wanted, dtype, 10)
        k = min(m, n)
        close((u[..., :k] * s[..., None, :].astype(dtype)) @ vh[..., :k, :], a, dtype, 10)
        close(adjoint(u) @ u, unit(u)[1], dtype, 10)
        close(vh @ adjoint(vh), unit(adjoint(vh))[1], dtype, 10)
    u, s, vh, _ = lapack.gesdd(a, vectors=False)
    assert (u.size, vh.size) == (0, 0)
    close(s, wanted, dtype, 10)


@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize("n", [0, 1, 2, 7, 20])
def test_eigenvalues_satisfy_their_equations(dtype, batch, n):
    a = draw(dtype, *batch, n, n)
    values, left, right, info = lapack.geev(a, left=True)
    wide = np.result_type(dtype, np.complex64)
    assert not info.any()
    assert values.dtype == left.dtype == right.dtype == wide
    close(a.astype(wide) @ right, right * values[..., None, :], dtype, 100)
    close(adjoint(left) @ a.astype(wide), values[..., None] * adjoint(left), dtype, 100)
    alone, *none, _ = lapack.geev(a, right=False)
    assert [x.shape for x in none] == [(*batch, n, 0)] * 2
    close(np.sort_complex(alone.round(2)), np.sort_complex(values.round(2)), dtype, 1e4)


@pytest.mark.parametrize("n", [0, 1, 2, 7, 20])
def test_schur_forms_multiply_to_their_matrix(dtype, n):
    a = draw(dtype, 3, n, n)
    t, values, z, info = lapack.gees(a)
    assert not info.any()
    close(z @ t @ adjoint(z), a, dtype, 10)
    close(adjoint(z) @ z, unit(z)[1], dtype, 10)
    assert not np.tril(t, -2).any()
    if dtype.kind == "c":
        close(values, np.diagonal(t, axis1=-2, axis2=-1), dtype)


@pytest.mark.parametrize(("m", "n", "k"), [(0, 3, 2), (3, 0, 2), (3, 2, 0), (6, 3, 2), (3, 6, 2), (30, 20, 1)])
def test_least_squares_are_numpys(dtype, m, n, k):
    a, b = draw(dtype, 2, m, n), draw(dtype, 2, m, k)
    x, values, ranks, info = lapack.gelsd(a, b)
    assert x.shape == (2, n, k)
    assert not info.any()
    for at in range(2):
        wanted = np.linalg.lstsq(a[at], b[at], rcond=None)
        close(x[at], wanted[0], dtype, 100)
        if k:
            assert ranks[at] == wanted[2]
            close(values[at], wanted[3], dtype, 10)


def test_a_rank_is_what_exceeds_the_limit(dtype):
    a = np.diag([8, 4, 1e-2]).astype(dtype)
    assert [int(lapack.gelsd(a, a, rcond)[2]) for rcond in (1e-3, 1e-2, 0.9)] == [3, 2, 1]


def test_tridiagonal_equations(dtype):
    n = 9
    below, diagonal, above = (draw(dtype, 2, k) for k in (n - 1, n, n - 1))
    b, diagonal = draw(dtype, n, 2), diagonal + 4
    x, info = lapack.gtsv(below, diagonal, above, b)
    assert x.shape == (2, n, 2)
    assert not info.any()
    for at in range(2):
        whole = np.diag(below[at], -1) + np.diag(diagonal[at]) + np.diag(above[at], 1)
        close(whole @ x[at], b, dtype)
    assert lapack.gtsv(*(np.zeros(k, dtype) for k in (2, 3, 2)), b[:3])[1] > 0


@pytest.mark.parametrize(("m", "n"), [(0, 2), (1, 1), (4, 6)])
def test_sylvesters_equation(dtype, m, n):
    a, b = (lapack.gees(draw(dtype, 2, k, k, seed=k) + s * np.eye(k, dtype=dtype))[0] for k, s in ((m, 3), (n, 4)))
    c = draw(dtype, m, n)
    x, scale, info = lapack.trsyl(a, b, c)
    assert not info.any()
    close(a @ x + x @ b, scale[:, None, None].astype(dtype) * c, dtype, 100)
    x, scale, _ = lapack.trsyl(a, b, c, transpose_a="c", sign=-1)
    close(adjoint(a) @ x - x @ b, scale[:, None, None].astype(dtype) * c, dtype, 1000)


@pytest.mark.parametrize("hostile", [np.nan, np.inf])
@pytest.mark.parametrize(
    "call",
    [
        *(lapack.potrf, lapack.getrf, lapack.geqrf, lapack.gesdd, lapack.syevd, lapack.geqp3, lapack.sytrf),
        lambda a: lapack.trtrs(a, a),
    ],
)
def test_hostile_values_end_and_leave_their_neighbours_alone(call, dtype, hostile):
    a = positive(dtype, 3, n=4)
    clean = call(a)
    a[1, 2, 1] = hostile
    for found, wanted in zip(call(a), clean, strict=True):
        np.testing.assert_array_equal(found[[0, 2]], wanted[[0, 2]])


def everything(dtype):
    """What every function gives, by numbers that do not depend on the order of sums."""
    a, b, square = positive(dtype, 2, n=5), draw(dtype, 2, 5, 3), draw(dtype, 2, 5, 5) + 2 * np.eye(5, dtype=dtype)
    lu, pivots, _ = lapack.getrf(square)
    packed, factors, _ = lapack.geqrf(b)
    t, values, _, _ = lapack.gees(square)
    yield from (lapack.potrf(a), lapack.trtrs(a, b), (lu, pivots), lapack.getrs(lu, pivots, b), (packed, factors))
    yield from (lapack.getri(lu, pivots), lapack.orgqr(packed, factors), lapack.geqp3(b), lapack.sytrf(a))
    yield lapack.sytrf(a, hermitian=True)
    yield from (lapack.syevd(a)[::2], lapack.gesdd(b)[1::2], lapack.gelsd(b, a), lapack.trsyl(t, t, a))
    yield from ((lapack.geev(square)[0].sum(-1),), (values.sum(-1),))
    yield lapack.gtsv(b[..., :4, 0], b[..., 1] + 4, b[..., :4, 2], b)


def test_both_libraries_give_the_same(dtype, monkeypatch):
    found = {}
    for name in LIBRARIES:
        use(monkeypatch, name)
        found[name] = [x for some in everything(dtype) for x in some]
    for one, other in zip(*found.values(), strict=True):
        close(one, other, dtype, 100)


def test_threads_do_not_meet(dtype):
    matrices = [positive(dtype, 20, n=12) + k for k in range(8)]
    wanted = [lapack.syevd(a)[0] for a in matrices]
    with ThreadPoolExecutor(8) as pool:
        for found, one in zip(pool.map(lambda a: lapack.syevd(a)[0], matrices * 4), wanted * 4, strict=True):
            np.testing.assert_array_equal(found, one)


def test_other_dtypes_are_refused():
    with pytest.raises(DtypeError, match="potrf: dtypes: int64, needed one of float32, float64"):
        lapack.potrf(np.eye(2, dtype=int))
    with pytest.raises(DtypeError, match="trtrs: dtypes: float64, float32, needed"):
        lapack.trtrs(np.eye(2), np.ones((2, 1), np.float32))


@pytest.mark.parametrize("name", LIBRARIES)
def test_an_address_is_of_a_function(monkeypatch, name):
    source = use(monkeypatch, name)
    assert source.address("dpotrf")
    assert source.int_width == (64 if source.source == "numpy-openblas64" else 32)
    with pytest.raises(BackendUnavailable, match="dnothing: not in this LAPACK"):
        source.address("dnothing")


@pytest.mark.parametrize("name", LIBRARIES)
def test_generated_code_calls_the_address_with_integers_of_that_width(monkeypatch, name):
    source = use(monkeypatch, name)
    a, info = np.array([[4.0, 0], [2, 5]], order="F"), np.zeros(1, f"int{source.int_width}")
    two = np.array([2], info.dtype)
    call = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 5, ctypes.c_size_t)(source.address("dpotrf"))
    letter = ctypes.create_string_buffer(b"L")
    call(ctypes.addressof(letter), *(x.ctypes.data for x in (two, a, two, info)), 1)
    np.testing.assert_array_equal(a, [[2, 0], [1, 2]])


def test_without_a_lapack_an_error_names_what_brings_one(monkeypatch):
    monkeypatch.setattr(library, "find_lapack", lambda: None)
    assert not lapack.has_lapack()
    with pytest.raises(BackendUnavailable, match=r"lapack: not found: .*\n.*tg-core\[blas\]"):
        lapack.lapack()


def test_without_scipy_there_is_no_lapack_of_scipys(monkeypatch):
    monkeypatch.setitem(sys.modules, "scipy.linalg.cython_lapack", None)
    assert library.scipy_lapack() is None


def test_numpys_comes_first_and_does_not_import_scipy():
    if library.numpy_lapack() is None:
        pytest.skip("NumPy has no OpenBLAS of its own here")
    script = "import sys, tg.lapack as l; print(l.lapack().source, 'scipy.linalg' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert found == "numpy-openblas64 False\n"
