"""Matrix products: the BLAS of the process for floating and complex dtypes, plain loops for others and small ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tg.link.blas import blas
from tg.link.values import spread
from tg.ops import contraction as t
from tg_numba.machine import AS_IS, TRANSPOSED, gemm, greater, like
from tg_numba.native import compiled
from tg_numba.pointwise import in_float32

if TYPE_CHECKING:
    from tg.link.values import Value
    from tg.plugin.records import Rule
    from tg_numba.site import Site

LETTERS: Final = {"float64": "d", "float32": "s", "complex128": "z", "complex64": "c"}
SMALL: Final = 64  # products of fewer terms than this are not worth a call


@compiled
def flag_of(rows: Any, columns: Any, s: Any, r: Any) -> Any:
    """How BLAS is to read a matrix with strides s and r where it lies; 0 if it cannot."""
    if (r == 1 or columns == 1) and (s >= columns or rows == 1):
        return AS_IS
    if (s == 1 or rows == 1) and (r >= rows or columns == 1):
        return TRANSPOSED
    return 0


@compiled
def lead_of(flag: Any, rows: Any, columns: Any, s: Any, r: Any) -> Any:
    """The leading dimension of a matrix that BLAS reads so."""
    if flag == AS_IS:
        return greater(columns, 1) if rows == 1 else greater(s, greater(columns, 1))
    return greater(rows, 1) if columns == 1 else greater(r, greater(rows, 1))


@compiled
def product_plain(x: Any, xs: Any, xr: Any, y: Any, ys: Any, yr: Any, z: Any, m: Any, k: Any, n: Any) -> Any:
    """Rows of x times the matrix y, a row of z at a time; z is contiguous."""
    for i in range(m):
        for j in range(n):
            z[i * n + j] = like(z[0], 0)
        for l in range(k):
            factor = x[i * xs + l * xr]
            for j in range(n):
                z[i * n + j] = z[i * n + j] + factor * y[l * ys + j * yr]
    return 0


def product_boolean(x: Any, xs: Any, xr: Any, y: Any, ys: Any, yr: Any, z: Any, m: Any, k: Any, n: Any) -> Any:
    """Whether some pair of elements is true."""
    for i in range(m):
        for j in range(n):
            z[i * n + j] = 0
        for l in range(k):
            factor = x[i * xs + l * xr]
            for j in range(n):
                z[i * n + j] = z[i * n + j] | (factor & y[l * ys + j * yr])
    return 0


def product_by_blas(
    place: Any, x: Any, xs: Any, xr: Any, y: Any, ys: Any, yr: Any, z: Any, m: Any, k: Any, n: Any
) -> Any:
    """By the function of BLAS at an address, if there is one that can read the matrices where they lie."""
    x_flag, y_flag = flag_of(m, k, xs, xr), flag_of(k, n, ys, yr)
    if place == 0 or x_flag == 0 or y_flag == 0 or m * k * n < SMALL:
        return product_plain(x, xs, xr, y, ys, yr, z, m, k, n)
    if m == 1 or n == 1:  # some versions of OpenBLAS multiply what a vector held by 0, which keeps NaN
        for i in range(m * n):
            z[i] = like(z[0], 0)
    x_lead, y_lead = lead_of(x_flag, m, k, xs, xr), lead_of(y_flag, k, n, ys, yr)
    gemm(place, x_flag, y_flag, m, n, k, x, x_lead, y, y_lead, z, n)
    return 0


def matmul(op: t.MatMul, site: Site) -> Value:
    """A product for each index of the leading axes."""
    x, y = (site.memory(v) for v in site.inputs)
    z = site.allocate(0)
    site.same(x.shape[-1], y.shape[-2])
    m, k, n = x.shape[-2], x.shape[-1], y.shape[-1]
    x, y = (spread(v, (*z.shape[:-2], *v.shape[-2:])) for v in (x, y))
    nest = site.nest()
    indices = nest.loops(z.shape[:-2])
    arguments: list[str] = []
    function: Any = product_boolean if z.dtype == "bool" else product_plain
    for v in (x, y):
        arguments.append(nest.place(v.pointer, indices, v.strides[:-2]))
        arguments += [nest.length(s) for s in v.strides[-2:]]
    arguments.append(nest.place(z.pointer, indices, z.strides[:-2]))
    arguments += [nest.length(v) for v in (m, k, n)]
    if z.dtype in LETTERS:
        function = product_by_blas
        arguments.insert(0, _address(site, f"{LETTERS[z.dtype]}gemm"))
    nest.line(f"{site.compiled(function)}({', '.join(arguments)})")
    site.call(nest)
    return z


def _address(site: Site, name: str) -> str:
    """The address of a function of BLAS; 0 where it has another interface."""
    found = blas()
    return site.unit.address(f"blas_{name}", found.table.get(name, 0) if found.source == "numpy-openblas64" else 0)


RULES: Final[dict[object, Rule]] = {t.MatMul: in_float32(matmul)}
