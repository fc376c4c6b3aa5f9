"""The table of BLAS functions, and the one convention that units call them by."""

import itertools
import subprocess
import sys

import numpy as np
import pytest

from tg.cache import spare
from tg.lapack import library
from tg_c.blas import BLAS_DECLARATIONS, COMPLEX_DECLARATIONS, fortran
from tg_c.compiler import compile_unit
from tg_c.text import TYPEDEFS
from tg_c.unit import Unit
from tg_native.calls import blas as blas_module
from tg_native.calls.blas import NO_BLAS, TABLE, THREADS, blas, numpy_blas, scipy_blas

ENTRY = """
tg_i64 tg_plan(const void *const *in, const tg_i64 *dims, tg_i64 *out_dims, tg_i64 *status) { return 0; }
tg_i64 tg_run(const void *const *in, const tg_i64 *dims, void *const *out, tg_i64 *status) {
  const tg_i64 *p = in[0];
  CALL
  return 0;
}
"""
GEMM = "tg_@gemm(p[0], p[1], p[2], p[3], p[4], p[5], ALPHA, in[1], p[6], in[2], p[7], BETA, out[0], p[8]);"
GEMV = "tg_@gemv(p[0], p[1], p[2], p[3], ALPHA, in[1], p[4], in[2], p[5], BETA, out[0], p[6]);"
COMPLEX_GEMM = "tg_@gemm(p[0], p[1], p[2], p[3], p[4], in[1], p[5], in[2], p[6], out[0], p[7]);"
DOT = "*(T *)out[0] = tg_@dot(p[0], in[1], p[1], in[2], p[2]);"

ROW, COLUMN, AS_IS, TRANSPOSED = 101, 102, 111, 112
DTYPES = {"d": np.float64, "s": np.float32}
FOUND = {"numpy": numpy_blas, "scipy": scipy_blas, "none": lambda: NO_BLAS}


@pytest.fixture(scope="module", autouse=True)
def home(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TG_CACHE_DIR", str(tmp_path_factory.mktemp("home")))
        patch.setattr(spare, "_made", {})
        yield


@pytest.fixture(params=FOUND, scope="module")
def table(request):
    found = FOUND[request.param]()
    if found is None:
        pytest.skip(f"there is no BLAS of {request.param}")
    return found


@pytest.fixture(params=DTYPES, scope="module")
def letter(request):
    return request.param


def unit(table, letter, call, alpha=1.0, beta=0.0):
    """A unit that makes one call; its parameters are the int64 array inputs[0]."""
    text = call.replace("@", letter).replace("T ", "double " if letter == "d" else "float ")
    entry = ENTRY.replace("CALL", text.replace("ALPHA", str(alpha)).replace("BETA", str(beta)))
    source = TYPEDEFS + BLAS_DECLARATIONS + entry
    return Unit(compile_unit(f"/* {table.source} */\n{source}"), table)  # units of one file share its table


def draw(rng, letter, *shape):
    return rng.standard_normal(shape).astype(DTYPES[letter])


def product(a, b):
    """`a @ b` by NumPy's own loops, in long double: an oracle that no BLAS takes part in.

    NumPy's products by way of OpenBLAS also raise the processor's invalid flag now and then, beside a right result
    (some kernels for float32 read past the end of a row), and NumPy warns of it.
    """
    wide = np.clongdouble if np.iscomplexobj(a) else np.longdouble
    return (a.astype(wide) @ b.astype(wide)).astype(np.complex128 if np.iscomplexobj(a) else np.float64)


def close(found, wanted, letter):
    np.testing.assert_allclose(
        found, wanted, rtol=1e-13 if letter == "d" else 1e-5, atol=1e-13 if letter == "d" else 1e-5
    )


@pytest.mark.parametrize("beta", [0.0, 0.5])
def test_gemm_equals_numpy_in_every_order_and_transposition(table, letter, beta):
    gemm = unit(table, letter, GEMM, alpha=-1.5, beta=beta)
    rng = np.random.default_rng(7)
    sizes = [(1, 1, 1), (3, 4, 5), (1, 7, 3), (6, 1, 4), (2, 3, 1), (33, 17, 65), (3, 2, 0), (0, 2, 3), (2, 0, 3)]
    for (m, n, k), order, ta, tb in itertools.product(sizes, (ROW, COLUMN), (AS_IS, TRANSPOSED), (AS_IS, TRANSPOSED)):
        a, b, c = draw(rng, letter, m, k), draw(rng, letter, k, n), draw(rng, letter, m, n)
        wanted = -1.5 * product(a, b) + (beta * c if beta else 0)
        arrays = [a if ta == AS_IS else a.T, b if tb == AS_IS else b.T, c if beta else np.full_like(c, np.nan)]
        arrays = [np.ascontiguousarray(array if order == ROW else array.T) for array in arrays]
        leading = [max(1, array.shape[1]) for array in arrays]
        gemm.run([np.array([order, ta, tb, m, n, k, *leading]), *arrays[:2]], arrays[2:])
        close(arrays[2] if order == ROW else arrays[2].T, wanted, letter)


@pytest.mark.parametrize("dtype", COMPLEX_DECLARATIONS)
def test_complex_gemm_equals_numpy_in_every_transposition(table, dtype):
    call = COMPLEX_GEMM.replace("@", "z" if dtype == "complex128" else "c")
    source = TYPEDEFS + BLAS_DECLARATIONS + COMPLEX_DECLARATIONS[dtype] + ENTRY.replace("CALL", call)
    gemm = Unit(compile_unit(f"/* {table.source} */\n{source}"), table)
    rng = np.random.default_rng(11)
    sizes = [(1, 1, 1), (3, 4, 5), (1, 7, 3), (6, 1, 4), (2, 3, 1), (33, 17, 65), (3, 2, 0), (0, 2, 3), (2, 0, 3)]
    for (m, n, k), ta, tb in itertools.product(sizes, (AS_IS, TRANSPOSED), (AS_IS, TRANSPOSED)):
        a, b = ((rng.standard_normal(s) + 1j * rng.standard_normal(s)).astype(dtype) for s in ((m, k), (k, n)))
        arrays = [np.ascontiguousarray(v if t == AS_IS else v.T) for v, t in ((a, ta), (b, tb))]
        found = np.full((m, n), np.nan, dtype)
        leading = [max(1, v.shape[1]) for v in (*arrays, found)]
        gemm.run([np.array([ta, tb, m, n, k, *leading]), *arrays], [found])
        accuracy = 1e-13 if dtype == "complex128" else 1e-5
        np.testing.assert_allclose(found, product(a, b), rtol=accuracy, atol=accuracy)


def test_gemm_takes_a_part_of_a_larger_matrix(table, letter):
    rng = np.random.default_rng(8)
    a, b, c = draw(rng, letter, 4, 9), draw(rng, letter, 3, 8), np.zeros((4, 7), DTYPES[letter])
    gemm = unit(table, letter, GEMM)
    gemm.run([np.array([ROW, AS_IS, AS_IS, 4, 5, 3, 9, 8, 7]), a, b], [c])
    close(c[:, :5], product(a[:, :3], b[:, :5]), letter)
    assert (c[:, 5:] == 0).all()


@pytest.mark.parametrize("beta", [0.0, 0.5])
def test_gemv_equals_numpy_in_every_order_transposition_and_direction(table, letter, beta):
    gemv = unit(table, letter, GEMV, alpha=2.0, beta=beta)
    rng = np.random.default_rng(9)
    sizes = [(1, 1), (3, 5), (5, 3), (40, 70), (4, 0), (0, 4), (1, 6), (6, 1)]
    for (m, n), order, ta, sx, sy in itertools.product(
        sizes, (ROW, COLUMN), (AS_IS, TRANSPOSED), (1, 2, -1), (1, 3, -2)
    ):
        stored = draw(rng, letter, m, n)
        matrix = stored if ta == AS_IS else stored.T
        x, y = draw(rng, letter, matrix.shape[1]), draw(rng, letter, matrix.shape[0])
        wanted = 2 * product(matrix, x) + (beta * y if beta else 0)
        laid = np.ascontiguousarray(stored if order == ROW else stored.T)
        xs, ys = np.full(abs(sx) * x.size, np.nan, x.dtype), np.full(abs(sy) * y.size, np.nan, x.dtype)
        xs[:: abs(sx)] = x if sx > 0 else x[::-1]
        if beta:
            ys[:: abs(sy)] = y if sy > 0 else y[::-1]
        gemv.run([np.array([order, ta, m, n, max(1, laid.shape[1]), sx, sy]), laid, xs], [ys])
        found = ys[:: abs(sy)]
        close(found if sy > 0 else found[::-1], wanted, letter)


def test_dot_equals_numpy_in_every_direction(table, letter):
    dot = unit(table, letter, DOT)
    rng = np.random.default_rng(10)
    found = np.empty((), DTYPES[letter])
    for n, sx, sy in itertools.product((0, 1, 3, 4, 5, 100), (1, 2, -1), (1, -3)):
        x, y = draw(rng, letter, abs(sx) * n), draw(rng, letter, abs(sy) * n)
        dot.run([np.array([n, sx, sy]), x, y], [found])
        wanted = product(*(v[:: abs(s)] if s > 0 else v[:: abs(s)][::-1] for v, s in ((x, sx), (y, sy))))
        np.testing.assert_allclose(found, wanted, rtol=1e-12 if letter == "d" else 1e-4, atol=1e-4)


@pytest.mark.parametrize("kind", ["d", "s", "z", "c"])
def test_fortrans_functions_in_either_convention(table, kind):
    if table.source == "none":
        pytest.skip("what is written then calls none of them")
    dtype = {"d": np.float64, "s": np.float32, "z": np.complex128, "c": np.complex64}[kind]
    calls = {
        "potrf": "*(tg_i64 *)out[1] = tg_@potrf('U', p[0], out[0], p[0]);",
        "getrf": "*(tg_i64 *)out[2] = tg_@getrf(p[0], p[0], out[0], p[0], out[1]);",
        "trsm": "tg_@trsm('L', 'L', 'N', 'N', p[0], 1, in[1], p[0], out[0], p[0]);",
    }
    units = {
        name: Unit(
            compile_unit(
                f"/* {table.source} */\n{TYPEDEFS}{BLAS_DECLARATIONS}{fortran(kind + name)}"
                + ENTRY.replace("CALL", call.replace("@", kind))
            ),
            table,
        )
        for name, call in calls.items()
    }
    lower = np.array([[2, 0, 0], [1, 3, 0], [-1, 1, 1]], dtype)
    sizes, info = np.array([3]), np.full((), 7)
    made = lower @ lower.T  # symmetric: rows and columns are alike
    units["potrf"].run([sizes], [made, info])
    np.testing.assert_allclose(np.tril(made), lower, rtol=1e-5)
    assert info == 0
    made[1, 1] = -1
    units["potrf"].run([sizes], [made, info])
    assert info == 2
    columns, pivots = np.ascontiguousarray(np.array([[1, 2, 3], [4, 5, 6], [0, 0, 2]], dtype).T), np.full(3, -1)
    units["getrf"].run([sizes], [columns, pivots, info])
    assert (pivots.tolist(), int(info)) == ([2, 2, 3], 0)
    solution = np.array([2, 7, 3], dtype)
    units["trsm"].run([sizes, np.ascontiguousarray(lower.T)], [solution])
    np.testing.assert_allclose(solution, [1, 2, 2], rtol=1e-5)


def test_nan_and_infinity_go_through_gemm(table, letter):
    a = np.array([[np.inf, 1], [np.nan, 2]], DTYPES[letter])
    b = np.array([[1, -1], [1, 0]], DTYPES[letter])
    c = np.empty_like(a)
    unit(table, letter, GEMM).run([np.array([ROW, AS_IS, AS_IS, 2, 2, 2, 2, 2, 2]), a, b], [c])
    np.testing.assert_array_equal(c, [[np.inf, -np.inf], [np.nan, np.nan]])


def test_numpys_blas_comes_first_then_scipys_then_none(monkeypatch):
    asked = []
    monkeypatch.setattr(blas_module, "numpy_blas", lambda: asked.append("numpy"))
    monkeypatch.setattr(blas_module, "scipy_blas", lambda: asked.append("scipy"))
    assert blas.__wrapped__() is NO_BLAS
    assert asked == ["numpy", "scipy"]


def test_a_table_has_every_function_and_says_what_it_is(table):
    convention, *pointers = table.pointers()
    if table.source == "none":
        assert (table.int_width, table.pointers()) == (0, (0,) * (len(TABLE) + 1))
        return
    assert set(TABLE) - set(table.table) == ({THREADS} if table.source == "scipy" else set())
    assert pointers == [table.table.get(name, 0) for name in TABLE]
    assert all(pointers[: TABLE.index(THREADS)])
    assert (table.source, table.int_width, convention) in {("numpy-openblas64", 64, 1), ("scipy", 32, 2)}


def test_numpys_blas_says_its_kernels():
    found = numpy_blas()
    if found is None:
        pytest.skip("NumPy has no OpenBLAS of its own here")
    assert found.core


def test_numpys_blas_is_found_among_the_loaded_files_too(monkeypatch):
    if numpy_blas() is None:
        pytest.skip("NumPy has no OpenBLAS of its own here")
    monkeypatch.setattr(np, "__file__", "/nowhere/numpy/__init__.py")
    assert numpy_blas() is not None


def test_without_numpys_library_there_is_no_numpy_blas(monkeypatch):
    monkeypatch.setattr(library, "_openblas_files", lambda: iter(["/nowhere/libopenblas64_.so"]))
    assert numpy_blas() is None


def test_scipy_with_other_integers_is_not_used(monkeypatch):
    monkeypatch.setattr(blas_module, "capsule_address", lambda capsule: (_ for _ in ()).throw(ValueError("long")))
    assert scipy_blas() is None


def test_looking_for_a_blas_does_not_import_scipy_where_numpy_has_one():
    if numpy_blas() is None:
        pytest.skip("NumPy has no OpenBLAS of its own here")
    script = "import sys; from tg_native.calls.blas import blas; blas(); print('scipy' in sys.modules)"
    assert (
        subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout == "False\n"
    )
