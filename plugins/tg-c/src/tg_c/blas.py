"""The BLAS of the process (`tg_native.calls.blas`) for compiled units.

A unit that contracts includes `BLAS_DECLARATIONS` and calls `tg_dgemm` and its sisters. Their one convention is
CBLAS with 64-bit integers, whatever is behind them; the C text adapts Fortran's, and takes the plain loops where a
length exceeds 32 bits or a product has less than `SMALL` terms:

    void tg_dgemm(order, transA, transB, m, n, k, alpha, A, lda, B, ldb, beta, C, ldc)   C = alpha A B + beta C
    void tg_dgemv(order, transA, m, n, alpha, A, lda, x, incx, beta, y, incy)            y = alpha A x + beta y
    T    tg_ddot(n, x, incx, y, incy)                                                    the sum of x[i] y[i]

For complex matrices there is, in `COMPLEX_DECLARATIONS[dtype]`, rows one after another:

    void tg_zgemm(transA, transB, m, n, k, A, lda, B, ldb, C, ldc)                       C = A B

`order` is TG_ROW or TG_COLUMN, `trans…` TG_AS_IS or TG_TRANSPOSED; `m` and `n` of gemv are the lengths of A as stored.
A leading dimension is at least the length it spans, and of complex matrices at least 1; an increment is not 0, and a
negative one runs from the far end. Where beta is 0 the result is not read, so it may be uninitialised. Any length may
be 0.

The table that `tg_bind` gets: slot 0 is the convention (0 none, 1 CBLAS with 64-bit integers, 2 Fortran with 32-bit
integers) as an integer, slots 1.. are the functions in the order of `TABLE`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

from tg_c.routine import Routine
from tg_native.calls.blas import TABLE, THREADS
from tg_native.kernels.index import Index
from tg_native.kernels.lanes import Lanes
from tg_native.loops.blas import AS_IS, LETTERS, ROW_MAJOR, SMALL, TRANSPOSED, Blas
from tg_native.loops.lapack import Lapack, signature

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tg_c.program import Unit
    from tg_native.kernels.index import Pointer
    from tg_native.loops.kernel import Kernel

__all__ = ["BLAS_DECLARATIONS", "COMPLEX_DECLARATIONS", "THREADS_DECLARATION", "CBlas", "CLapack", "fortran"]

_COMMON = f"""\
#ifdef TG_NO_BLAS
#define TG_PLAIN static __attribute__((unused))
#else /* hardly ever called: compiled in no time, for its size */
#define TG_PLAIN static __attribute__((noinline, cold, unused))
#endif
#define TG_BLAS static __attribute__((unused))
typedef long long tg_i64;
enum {{ TG_ROW = 101, TG_COLUMN = 102, TG_AS_IS = 111, TG_TRANSPOSED = 112 }};
#ifndef TG_ALONE
TG_ONCE void *tg_blas[{len(TABLE) + 1}];
__attribute__((weak)) void tg_bind(void *const *table) {{
  for (int i = 0; i < {len(TABLE) + 1}; i++) tg_blas[i] = table[i];
}}
#elif defined TG_NO_BLAS
static void *const tg_blas[{len(TABLE) + 1}] = {{0}};
#else
extern void *const tg_blas[{len(TABLE) + 1}];
#endif
TG_BLAS int tg_blas_fits(tg_i64 a, tg_i64 b, tg_i64 c, tg_i64 d, tg_i64 e, tg_i64 f) {{
  return ((a | b | c | d | e | f) >> 31) == 0;
}}
"""

# @T is the type, @p its BLAS letter, @gemm, @gemv and @dot the slots.
_OF_TYPE = """\
TG_PLAIN void tg_@pgemm_plain(int order, int ta, int tb, tg_i64 m, tg_i64 n, tg_i64 k, @T alpha, const @T *a,
                              tg_i64 lda, const @T *b, tg_i64 ldb, @T beta, @T *c, tg_i64 ldc) {
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
TG_PLAIN void tg_@pclear(tg_i64 m, tg_i64 n, @T *c, tg_i64 ldc) { /* as for the y of gemv, which some make of it */
  for (tg_i64 i = 0; i < m; i++)
    for (tg_i64 j = 0; j < n; j++) c[i * ldc + j] = 0;
}
TG_BLAS void tg_@pgemm(int order, int ta, int tb, tg_i64 m, tg_i64 n, tg_i64 k, @T alpha, const @T *a, tg_i64 lda,
                      const @T *b, tg_i64 ldb, @T beta, @T *c, tg_i64 ldc) {
  typedef void cblas(int, int, int, tg_i64, tg_i64, tg_i64, @T, const @T *, tg_i64, const @T *, tg_i64, @T, @T *,
                     tg_i64);
  typedef void fortran(char *, char *, int *, int *, int *, @T *, const @T *, int *, const @T *, int *, @T *, @T *,
                       int *);
  if (m <= 0 || n <= 0) return;
  if (lda < 1) lda = 1;
  if (ldb < 1) ldb = 1;
  if (m < @few && n < @few && k < @few && m * n * k < @few) { /* which takes less than the call */
    tg_@pgemm_plain(order, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
    return;
  }
  if (beta == 0 && (m == 1 || n == 1)) tg_@pclear(order == TG_ROW ? m : n, order == TG_ROW ? n : m, c, ldc);
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
TG_PLAIN @T tg_@pdot_plain(tg_i64 n, const @T *x, tg_i64 incx, const @T *y, tg_i64 incy) {
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
TG_BLAS @T tg_@pdot(tg_i64 n, const @T *x, tg_i64 incx, const @T *y, tg_i64 incy) {
  typedef @T cblas(tg_i64, const @T *, tg_i64, const @T *, tg_i64);
  typedef @T fortran(int *, const @T *, int *, const @T *, int *);
  if (n <= 0) return 0;
  if (tg_blas[0] == (void *)1) return ((cblas *)tg_blas[@dot])(n, x, incx, y, incy);
  int in = (int)n, ix = (int)incx, iy = (int)incy;
  if (tg_blas[0] == (void *)2 && in == n && ix == incx && iy == incy)
    return ((fortran *)tg_blas[@dot])(&in, x, &ix, y, &iy);
  return tg_@pdot_plain(n, x, incx, y, incy);
}
TG_PLAIN void tg_@pgemv_plain(int by_rows, tg_i64 nx, tg_i64 ny, @T alpha, const @T *a, tg_i64 lda, const @T *x,
                              tg_i64 incx, @T beta, @T *first, tg_i64 incy) {
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
TG_BLAS void tg_@pgemv(int order, int ta, tg_i64 m, tg_i64 n, @T alpha, const @T *a, tg_i64 lda, const @T *x,
                      tg_i64 incx, @T beta, @T *y, tg_i64 incy) {
  typedef void cblas(int, int, tg_i64, tg_i64, @T, const @T *, tg_i64, const @T *, tg_i64, @T, @T *, tg_i64);
  typedef void fortran(char *, int *, int *, @T *, const @T *, int *, const @T *, int *, @T *, @T *, int *);
  int by_rows = (order == TG_ROW) == (ta == TG_AS_IS);
  tg_i64 ny = ta == TG_AS_IS ? m : n, nx = ta == TG_AS_IS ? n : m;
  if (ny <= 0) return;
  if (lda < 1) lda = 1;
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
  tg_@pgemv_plain(by_rows, nx, ny, alpha, a, lda, x, incx, beta, first, incy);
}
"""

_OF_COMPLEX = """\
TG_PLAIN void tg_@pgemm_plain(int ta, int tb, tg_i64 m, tg_i64 n, tg_i64 k, const @T *a, tg_i64 lda, const @T *b,
                            tg_i64 ldb, @T *c, tg_i64 ldc) {
  tg_i64 ai = ta == TG_AS_IS ? lda : 1, ak = ta == TG_AS_IS ? 1 : lda;
  tg_i64 bl = tb == TG_AS_IS ? ldb : 1, bj = tb == TG_AS_IS ? 1 : ldb;
  for (tg_i64 i = 0; i < m; i++) {
    @T *row = c + i * ldc;
    for (tg_i64 j = 0; j < n; j++) row[j] = 0;
    for (tg_i64 l = 0; l < k; l++) {
      const @T s = a[i * ai + l * ak];
      for (tg_i64 j = 0; j < n; j++) {
        const @T f = b[l * bl + j * bj];
        __real__ row[j] += __real__ s * __real__ f - __imag__ s * __imag__ f;
        __imag__ row[j] += __real__ s * __imag__ f + __imag__ s * __real__ f;
      }
    }
  }
}
TG_BLAS void tg_@pgemm(int ta, int tb, tg_i64 m, tg_i64 n, tg_i64 k, const @T *a, tg_i64 lda, const @T *b, tg_i64 ldb,
                      @T *c, tg_i64 ldc) {
  typedef void cblas(int, int, int, tg_i64, tg_i64, tg_i64, const @T *, const @T *, tg_i64, const @T *, tg_i64,
                     const @T *, @T *, tg_i64);
  typedef void fortran(char *, char *, int *, int *, int *, const @T *, const @T *, int *, const @T *, int *,
                       const @T *, @T *, int *);
  const @T one = 1, zero = 0;
  if (m <= 0 || n <= 0) return;
  if (k > 0 && tg_blas[0] == (void *)1) {
    ((cblas *)tg_blas[@gemm])(TG_ROW, ta, tb, m, n, k, &one, a, lda, b, ldb, &zero, c, ldc);
  } else if (k > 0 && tg_blas[0] == (void *)2 && tg_blas_fits(m, n, k, lda, ldb, ldc)) {
    int im = (int)m, in = (int)n, ik = (int)k, ia = (int)lda, ib = (int)ldb, ic = (int)ldc;
    char fa = ta == TG_AS_IS ? 'N' : 'T', fb = tb == TG_AS_IS ? 'N' : 'T';
    ((fortran *)tg_blas[@gemm])(&fb, &fa, &in, &im, &ik, &one, b, &ib, a, &ia, &zero, c, &ic);
  } else {
    tg_@pgemm_plain(ta, tb, m, n, k, a, lda, b, ldb, c, ldc);
  }
}
"""


def _of_type(ctype: str, letter: str, text: str = _OF_TYPE) -> str:
    text = text.replace("@T", ctype)
    for name in ("gemm", "gemv", "dot"):
        if f"[@{name}]" in text:
            text = text.replace(f"[@{name}]", f"[{TABLE.index(letter + name) + 1}]")
    return text.replace("@few", str(SMALL)).replace("@p", letter)


BLAS_DECLARATIONS = _COMMON + _of_type("double", "d") + _of_type("float", "s")
COMPLEX_DECLARATIONS = {
    "complex128": _of_type("double _Complex", "z", _OF_COMPLEX),
    "complex64": _of_type("float _Complex", "c", _OF_COMPLEX),
}
"""What a unit that contracts complex matrices includes after those."""

THREADS_DECLARATION = f"""\
static tg_i64 tg_blas_threads(void) {{ /* that share a product: very many where the library does not say */
  void *found = tg_blas[{TABLE.index(THREADS) + 1}];
  return tg_blas[0] == (void *)0 ? 1 : found ? ((int (*)(void))found)() : 1 << 20;
}}
"""

FLAGS: Final = {ROW_MAJOR: "TG_ROW", AS_IS: "TG_AS_IS", TRANSPOSED: "TG_TRANSPOSED"}


@final
class CBlas(Blas):
    """Calls of the functions for a dtype; those for complex numbers have no order, and no factors."""

    def __init__(self, unit: Unit, dtype: str) -> None:
        self.unit, self.dtype = unit, dtype

    def threads(self, kernel: Kernel) -> Index:
        body = kernel.body
        assert isinstance(body, Routine)
        self.unit.prelude.need("blas threads", THREADS_DECLARATION)
        with body.of(0):
            return Index(Lanes(body, "int64", body.local("const i64", "tg_blas_threads()")))

    @property
    def is_whole(self) -> bool:
        return self.has_vectors

    def flag(self, number: int) -> str:
        return FLAGS[number] if self.has_vectors or number != ROW_MAJOR else ""

    def number(self, number: Index) -> str:
        return str(number.value.text)

    def place(self, place: Pointer) -> str:
        return str(place.text)

    def factor(self, kernel: Kernel, value: int) -> str:
        return str(value) if self.has_vectors else ""

    def call(self, kernel: Kernel, name: str, arguments: Sequence[str], result: Pointer | None = None) -> None:
        body, target = kernel.body, f"{result.text}[0] = " if result is not None else ""
        assert isinstance(body, Routine)
        body.line(f"{target}tg_{LETTERS[self.dtype]}{name}({', '.join(arguments)});")


# --- LAPACK ----------------------------------------------------------------------------------------------------------


def fortran(name: str) -> str:
    """The text of `tg_NAME`, which calls a function by Fortran's interface in the convention of the table.

    Integers are of 64 bits, those of arrays too: an array that was filled with narrower ones is widened in its place,
    as many of them as rows or columns, whatever there is less of.
    """
    taken_by = signature(name)
    places = list(enumerate(taken_by))
    kinds = {"f": "char f", "n": "tg_i64 n", "p": "const void *p", "w": "void *w"}
    taken = ", ".join(f"{kinds[kind]}{k}" for k, kind in places if kind in kinds)
    ctype = {"d": "double", "s": "float", "z": "double _Complex", "c": "float _Complex"}[name[0]]
    shared = {"f": "&f{}", "p": "(void *)p{}", "w": "w{}", "1": "&one", "0": "(void *)0"}
    slot = f"tg_blas[{TABLE.index(name) + 1}]"

    def call(forms: Mapping[str, str], lengths: int) -> str:
        types = ", ".join(["void *"] * len(taken_by) + ["tg_i64"] * lengths)
        arguments = ", ".join([forms[kind].format(k) for k, kind in places] + ["1"] * lengths)
        return f"((void (*)({types})){slot})({arguments});"

    lines = [
        f"static tg_i64 tg_{name}({taken}) {{",
        "  tg_i64 info = 0;",
        *([f"  {ctype} one = 1;"] if "1" in taken_by else []),
        "  if (tg_blas[0] == (void *)1) {",
        f"    {call({**shared, 'n': '&n{}', 'i': '&info'}, taken_by.count('f'))}",
        "    return info;",
        "  }",
        f"  int {', '.join(f'i{k} = (int)n{k}' for k, kind in places if kind == 'n')}, narrow = 0;",
        f"  {call({**shared, 'n': '&i{}', 'i': '&narrow'}, 0)}",
    ]
    lines += [
        f"  for (tg_i64 k = n0 < n1 ? n0 : n1; k-- > 0;) ((tg_i64 *)w{k})[k] = ((int *)w{k})[k];"
        for k, kind in places
        if kind == "w"
    ]
    return "\n".join([*lines, "  return narrow;", "}", ""])


@final
class CLapack(Lapack):
    """Calls of the functions for a dtype."""

    def __init__(self, unit: Unit, dtype: str) -> None:
        self.unit, self.dtype = unit, dtype

    def call(self, kernel: Kernel, name: str, arguments: Sequence[str | Index | Pointer]) -> Index:
        body, name = kernel.body, LETTERS[self.dtype] + name
        assert isinstance(body, Routine)
        self.unit.lapack(name)
        texts = [self._text(x) for x in arguments]
        with body.of(0):
            return Index(Lanes(body, "int64", body.local("const i64", f"tg_{name}({', '.join(texts)})")))

    @staticmethod
    def _text(argument: str | Index | Pointer) -> str:
        if isinstance(argument, str):
            return f"'{argument}'"
        return str(argument.value.text if isinstance(argument, Index) else argument.text)
