"""The BLAS that this process has already loaded, as a table of pointers for compiled units.

NumPy's wheels bring an OpenBLAS with 64-bit integers, found in 1 ms. Where NumPy has another BLAS (conda, Linux
distributions, Accelerate), SciPy's `cython_blas` offers that one with 32-bit integers, through pointers to its Fortran
interface. Where neither is there, a unit's own plain loops do the work.

A unit that contracts includes `BLAS_DECLARATIONS` and calls `tg_dgemm` and its sisters. Their one convention is
CBLAS with 64-bit integers, whatever is behind them; the C text adapts Fortran's, and takes the plain loops where a
length exceeds 32 bits:

    void tg_dgemm(order, transA, transB, m, n, k, alpha, A, lda, B, ldb, beta, C, ldc)   C = alpha A B + beta C
    void tg_dgemv(order, transA, m, n, alpha, A, lda, x, incx, beta, y, incy)            y = alpha A x + beta y
    T    tg_ddot(n, x, incx, y, incy)                                                    the sum of x[i] y[i]

`order` is TG_ROW or TG_COLUMN, `trans…` TG_AS_IS or TG_TRANSPOSED; `m` and `n` of gemv are the lengths of A as stored.
A leading dimension is at least 1 and at least the length it spans; an increment is not 0, and a negative one runs
from the far end. Where beta is 0 the result is not read, so it may be uninitialised. Any length may be 0.

The table that `tg_bind` gets: slot 0 is the convention (0 none, 1 CBLAS with 64-bit integers, 2 Fortran with 32-bit
integers) as an integer, slots 1.. are the functions in the order of `TABLE`.
"""

from __future__ import annotations

import ctypes
import functools
import importlib
import os
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

__all__ = ["BLAS_DECLARATIONS", "NO_BLAS", "TABLE", "Blas", "blas", "numpy_blas", "scipy_blas"]

Source = Literal["numpy-openblas64", "scipy", "none"]

TABLE = ("dgemm", "sgemm", "dgemv", "sgemv", "ddot", "sdot")
CONVENTIONS: dict[Source, int] = {"none": 0, "numpy-openblas64": 1, "scipy": 2}


@dataclass(frozen=True, slots=True)
class Blas:
    """A BLAS: where it is from, its kernels' name where known, the address of each function of `TABLE`."""

    source: Source
    core: str | None
    table: Mapping[str, int]
    int_width: Literal[0, 32, 64]

    def pointers(self) -> tuple[int, ...]:
        """The table as `tg_bind` gets it: the convention, then the addresses."""
        return (CONVENTIONS[self.source], *(self.table.get(name, 0) for name in TABLE))


NO_BLAS = Blas("none", None, MappingProxyType({}), 0)


@functools.cache
def blas() -> Blas:
    """The best BLAS there is, looked for once."""
    return numpy_blas() or scipy_blas() or NO_BLAS


def numpy_blas() -> Blas | None:
    """The OpenBLAS of NumPy's wheels, or None."""
    for path in _openblas_files():
        library = _loaded(path)
        if library is None:
            continue
        table = {name: _address(library, f"scipy_cblas_{name}64_") for name in TABLE}
        if all(table.values()):
            found = MappingProxyType({name: address for name, address in table.items() if address})
            return Blas("numpy-openblas64", _core_name(library), found, 64)
    return None


def scipy_blas() -> Blas | None:
    """The BLAS that SciPy was built with, or None; importing it takes about 0.1 s."""
    try:
        module = importlib.import_module("scipy.linalg.cython_blas")
        table = {name: _capsule_address(module.__pyx_capi__[name]) for name in TABLE}
    except (ImportError, AttributeError, KeyError, ValueError):
        return None
    return Blas("scipy", None, MappingProxyType(table), 32)


def _openblas_files() -> Iterator[str]:
    """Beside NumPy as its wheels have it, else wherever a repackaging put what is loaded."""
    package = Path(np.__file__).parent
    for folder in (package.parent / "numpy.libs", package / ".dylibs"):
        yield from map(os.fspath, sorted(folder.glob("*openblas64*")))
    yield from _mapped("openblas64")


def _mapped(part: str) -> Iterable[str]:
    try:
        with Path("/proc/self/maps").open(encoding="utf-8", errors="replace") as lines:
            paths = {line.split(maxsplit=5)[-1].rstrip("\n") for line in lines if part in line}
    except OSError:  # not Linux
        return ()
    return sorted(paths)


def _loaded(path: str) -> ctypes.CDLL | None:
    """The library at `path` if this process has loaded it; never loads one."""
    try:
        return ctypes.CDLL(path, mode=os.RTLD_NOLOAD | os.RTLD_LAZY)
    except OSError:
        return None


def _address(library: ctypes.CDLL, symbol: str) -> int | None:
    try:
        function = getattr(library, symbol)
    except AttributeError:
        return None
    return ctypes.cast(function, ctypes.c_void_p).value


def _core_name(library: ctypes.CDLL) -> str | None:
    """The kernels that OpenBLAS chose for this processor, or that OPENBLAS_CORETYPE chose for it."""
    try:
        ask = library.scipy_openblas_get_corename64_
    except AttributeError:
        return None
    ask.argtypes, ask.restype = (), ctypes.c_char_p
    answer = ask()
    return answer.decode() if isinstance(answer, bytes) else None


def _capsule_address(capsule: object) -> int:
    api = ctypes.pythonapi
    name_of = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(("PyCapsule_GetName", api))
    pointer_of = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(("PyCapsule_GetPointer", api))
    signature = name_of(capsule)
    if b"int *" not in signature or b"long" in signature:
        msg = f"cython_blas: integers are not 32 bits wide: {signature.decode()}"
        raise ValueError(msg)
    address = pointer_of(capsule, signature)
    assert isinstance(address, int), "a capsule's pointer is never null"
    return address


_COMMON = """\
typedef long long tg_i64;
enum { TG_ROW = 101, TG_COLUMN = 102, TG_AS_IS = 111, TG_TRANSPOSED = 112 };
static void *tg_blas[7];
void tg_bind(void *const *table) { for (int i = 0; i < 7; i++) tg_blas[i] = table[i]; }
static int tg_blas_fits(tg_i64 a, tg_i64 b, tg_i64 c, tg_i64 d, tg_i64 e, tg_i64 f) {
  return ((a | b | c | d | e | f) >> 31) == 0;
}
"""

# @T is the type, @p its BLAS letter, @gemm, @gemv and @dot the slots.
_OF_TYPE = """\
static void tg_@pgemm_plain(int order, int ta, int tb, tg_i64 m, tg_i64 n, tg_i64 k, @T alpha, const @T *a, tg_i64 lda,
                            const @T *b, tg_i64 ldb, @T beta, @T *c, tg_i64 ldc) {
  if (order == TG_COLUMN) {
    tg_@pgemm_plain(TG_ROW, tb, ta, n, m, k, alpha, b, ldb, a, lda, beta, c, ldc);
    return;
  }
  tg_i64 ai = ta == TG_AS_IS ? lda : 1, ak = ta == TG_AS_IS ? 1 : lda;
  for (tg_i64 i = 0; i < m; i++) {
    @T *row = c + i * ldc;
    for (tg_i64 j = 0; j < n; j++) row[j] = beta == 0 ? 0 : beta * row[j];
    if (tb == TG_AS_IS)
      for (tg_i64 l = 0; l < k; l++) {
        @T s = alpha * a[i * ai + l * ak];
        for (tg_i64 j = 0; j < n; j++) row[j] += s * b[l * ldb + j];
      }
    else
      for (tg_i64 j = 0; j < n; j++) {
        @T s = 0;
        for (tg_i64 l = 0; l < k; l++) s += a[i * ai + l * ak] * b[j * ldb + l];
        row[j] += alpha * s;
      }
  }
}
static void tg_@pgemm(int order, int ta, int tb, tg_i64 m, tg_i64 n, tg_i64 k, @T alpha, const @T *a, tg_i64 lda,
                      const @T *b, tg_i64 ldb, @T beta, @T *c, tg_i64 ldc) {
  typedef void cblas(int, int, int, tg_i64, tg_i64, tg_i64, @T, const @T *, tg_i64, const @T *, tg_i64, @T, @T *,
                     tg_i64);
  typedef void fortran(char *, char *, int *, int *, int *, @T *, const @T *, int *, const @T *, int *, @T *, @T *,
                       int *);
  if (m <= 0 || n <= 0) return;
  if (k > 0 && tg_blas[0] == (void *)1) {
    ((cblas *)tg_blas[@gemm])(order, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
  } else if (k > 0 && tg_blas[0] == (void *)2 && tg_blas_fits(m, n, k, lda, ldb, ldc)) {
    int im = (int)m, in = (int)n, ik = (int)k, ia = (int)lda, ib = (int)ldb, ic = (int)ldc;
    char fa = ta == TG_AS_IS ? 'N' : 'T', fb = tb == TG_AS_IS ? 'N' : 'T';
    if (order == TG_ROW)
      ((fortran *)tg_blas[@gemm])(&fb, &fa, &in, &im, &ik, &alpha, b, &ib, a, &ia, &beta, c, &ic);
    else
      ((fortran *)tg_blas[@gemm])(&fa, &fb, &im, &in, &ik, &alpha, a, &ia, b, &ib, &beta, c, &ic);
  } else {
    tg_@pgemm_plain(order, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
  }
}
static @T tg_@pdot_plain(tg_i64 n, const @T *x, tg_i64 incx, const @T *y, tg_i64 incy) {
  @T s0 = 0, s1 = 0, s2 = 0, s3 = 0;
  tg_i64 i = 0;
  if (incx < 0) x -= (n - 1) * incx;
  if (incy < 0) y -= (n - 1) * incy;
  for (; i + 4 <= n; i += 4, x += 4 * incx, y += 4 * incy) {
    s0 += x[0] * y[0];
    s1 += x[incx] * y[incy];
    s2 += x[2 * incx] * y[2 * incy];
    s3 += x[3 * incx] * y[3 * incy];
  }
  for (; i < n; i++, x += incx, y += incy) s0 += x[0] * y[0];
  return (s0 + s1) + (s2 + s3);
}
static @T tg_@pdot(tg_i64 n, const @T *x, tg_i64 incx, const @T *y, tg_i64 incy) {
  typedef @T cblas(tg_i64, const @T *, tg_i64, const @T *, tg_i64);
  typedef @T fortran(int *, const @T *, int *, const @T *, int *);
  if (n <= 0) return 0;
  if (tg_blas[0] == (void *)1) return ((cblas *)tg_blas[@dot])(n, x, incx, y, incy);
  int in = (int)n, ix = (int)incx, iy = (int)incy;
  if (tg_blas[0] == (void *)2 && in == n && ix == incx && iy == incy)
    return ((fortran *)tg_blas[@dot])(&in, x, &ix, y, &iy);
  return tg_@pdot_plain(n, x, incx, y, incy);
}
static void tg_@pgemv(int order, int ta, tg_i64 m, tg_i64 n, @T alpha, const @T *a, tg_i64 lda, const @T *x,
                      tg_i64 incx, @T beta, @T *y, tg_i64 incy) {
  typedef void cblas(int, int, tg_i64, tg_i64, @T, const @T *, tg_i64, const @T *, tg_i64, @T, @T *, tg_i64);
  typedef void fortran(char *, int *, int *, @T *, const @T *, int *, const @T *, int *, @T *, @T *, int *);
  int by_rows = (order == TG_ROW) == (ta == TG_AS_IS);
  tg_i64 ny = ta == TG_AS_IS ? m : n, nx = ta == TG_AS_IS ? n : m;
  if (ny <= 0) return;
  @T *first = incy < 0 ? y - (ny - 1) * incy : y;
  if (beta == 0) /* some versions of OpenBLAS multiply the old y by 0, which keeps NaN */
    for (tg_i64 i = 0; i < ny; i++) first[i * incy] = 0;
  if (nx > 0 && tg_blas[0] == (void *)1) {
    ((cblas *)tg_blas[@gemv])(order, ta, m, n, alpha, a, lda, x, incx, beta, y, incy);
    return;
  }
  int im = (int)m, in = (int)n, ia = (int)lda, ix = (int)incx, iy = (int)incy;
  if (nx > 0 && tg_blas[0] == (void *)2 && im == m && in == n && ia == lda && ix == incx && iy == incy) {
    char fa = by_rows ? 'T' : 'N';
    int *rows = order == TG_ROW ? &in : &im, *columns = order == TG_ROW ? &im : &in;
    ((fortran *)tg_blas[@gemv])(&fa, rows, columns, &alpha, a, &ia, x, &ix, &beta, y, &iy);
    return;
  }
  if (beta != 0)
    for (tg_i64 i = 0; i < ny; i++) first[i * incy] *= beta;
  if (by_rows)
    for (tg_i64 i = 0; i < ny; i++) first[i * incy] += alpha * tg_@pdot_plain(nx, a + i * lda, 1, x, incx);
  else
    for (tg_i64 l = 0; l < nx; l++) {
      @T s = alpha * (incx < 0 ? x[(l - nx + 1) * incx] : x[l * incx]);
      for (tg_i64 i = 0; i < ny; i++) first[i * incy] += s * a[l * lda + i];
    }
}
"""


def _of_type(ctype: str, letter: str) -> str:
    text = _OF_TYPE.replace("@T", ctype)
    for name in ("gemm", "gemv", "dot"):
        text = text.replace(f"[@{name}]", f"[{TABLE.index(letter + name) + 1}]")
    return text.replace("@p", letter)


BLAS_DECLARATIONS = _COMMON + _of_type("double", "d") + _of_type("float", "s")
