"""Matrix products: the BLAS of the process for floating and complex dtypes, plain loops for others and small ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, final

from tg.ops import contraction as t
from tg.ops.elementwise.arithmetic import multiply
from tg.types.dtypes import numpy_dtype
from tg_native.calls.blas import blas
from tg_native.kernels.dtypes import item_size
from tg_native.kernels.lanes import Pair, constant_of, of_parts, parts
from tg_native.plan.values import spread
from tg_numba.assembly import ITEMS
from tg_numba.blocks import load, load_one, store
from tg_numba.lengths import derived
from tg_numba.pointwise import in_float32

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.plugin.records import Rule
    from tg_native.kernels.lanes import Elements
    from tg_native.plan.values import Array, Value
    from tg_numba.kernel import Block
    from tg_numba.site import Site

LETTERS: Final = {"float64": "d", "float32": "s", "complex128": "z", "complex64": "c"}
SMALL: Final = 64  # products of fewer terms than this are not worth a call
ROW_MAJOR: Final = 101
AS_IS: Final = 111
TRANSPOSED: Final = 112


def matmul(op: t.MatMul, site: Site) -> Value:
    """A product for each index of the leading axes."""
    x, y = (site.memory(v) for v in site.inputs)
    z = site.allocate(0)
    site.same(x.shape[-1], y.shape[-2])
    x, y = (spread(v, (*z.shape[:-2], *v.shape[-2:])) for v in (x, y))
    _Products(site, x, y, z).write()
    return z


@final
class _Products:
    """The function of a product in the making: of x (m, k) and y (k, n), at each index of the leading axes."""

    def __init__(self, site: Site, x: Array, y: Array, z: Array) -> None:
        self.site, self.arrays, self.dtype = site, (x, y, z), z.dtype
        self.kernel = site.kernel([z.dtype], length=z.shape[-1])
        self.body = self.kernel.body
        self.m, self.k, self.n = (self.kernel.length(n) for n in (x.shape[-2], x.shape[-1], y.shape[-1]))
        self.strides = [[self.kernel.length(s) for s in v.strides[-2:]] for v in (x, y)]
        self.gemm = _address(site, self.dtype)

    def write(self) -> None:
        """Write the whole function and call it."""
        kernel, (x, y, z) = self.kernel, self.arrays
        pointers = (kernel.read(x), kernel.read(y), kernel.write(z))
        with kernel.loops(z.shape[:-2]) as outer:
            places = [
                kernel.moved((v.dtype, p), outer, v.strides[:-2])
                for v, p in zip(self.arrays, pointers, strict=True)
            ]  # fmt: skip
            if self.gemm is None:
                self._plain(places)
            else:
                self._chosen(places, kernel.address(self.gemm))
        self.site.run(kernel)

    # --- plain loops -------------------------------------------------------------------------------------------------

    def _plain(self, places: Sequence[str]) -> None:
        """Blocks of a row of z, each the sum of rows of y."""
        (x, y, z), (at_x, at_y, at_z) = self.arrays, places
        kernel, body = self.kernel, self.body
        with body.loop("0", self.m) as i:
            row = kernel.moved((x.dtype, at_x), [i], x.strides[-2:-1])
            target = kernel.moved((z.dtype, at_z), [i], z.strides[-2:-1])

            def write(block: Block) -> None:
                def step(at: str, *texts: str) -> list[str]:
                    factor = load_one(kernel, x.dtype, kernel.moved((x.dtype, row), [at], x.strides[-1:]))
                    start = kernel.moved((y.dtype, at_y), [at], y.strides[-2:-1])
                    element = load(kernel, y.dtype, start, y.strides[-1], block)
                    return [part.text for part in parts([self._more(self._elements(texts), factor, element)])]

                zero = parts([constant_of(body, numpy_dtype(self.dtype).type(0), self.dtype)])
                total = body.fold("0", self.k, 1, [part.operand for part in zero], step)
                store(kernel, self._elements(total), target, 1, block)

            kernel.blocks(z.shape[-1], write, twice=True)

    def _elements(self, texts: Sequence[str]) -> Elements:
        return of_parts(self.body, self.dtype, texts)

    def _more(self, total: Any, factor: Any, element: Any) -> Elements:
        """One more term; of bools, whether some term is true."""
        if self.dtype == "bool":
            found: Elements = total | (factor & element)
            return found
        if isinstance(total, Pair):
            product: Any = self.site.unit.rule(multiply.op)(multiply.op, (factor, element), self.dtype)
            return total.plus(product)
        more: Elements = total + factor * element
        return more

    # --- BLAS --------------------------------------------------------------------------------------------------------

    def _chosen(self, places: Sequence[str], gemm: str) -> None:
        """By BLAS, if it can read the matrices where they lie and the product is not small."""
        body, (m, k, n) = self.body, (self.m, self.k, self.n)
        flags = [self._flag(m, k, *self.strides[0]), self._flag(k, n, *self.strides[1])]
        terms = body.product(body.product(m, k), n)
        fits = self._both(self._test("ne", flags[0], "0"), self._test("ne", flags[1], "0"))
        fits = self._both(fits, self._test("sge", terms, str(SMALL)))
        with body.when(fits):
            self._by_blas(places, gemm, flags)
        with body.when(body.find(f"xor i1 {fits}, true")):
            self._plain(places)

    def _test(self, order: str, a: str, b: str) -> str:
        return self.body.find(f"icmp {order} i64 {a}, {b}")

    def _both(self, a: str, b: str) -> str:
        return self.body.find(f"and i1 {a}, {b}")

    def _either(self, a: str, b: str) -> str:
        return self.body.find(f"or i1 {a}, {b}")

    def _flag(self, rows: str, columns: str, s: str, r: str) -> str:
        """How BLAS is to read a matrix with strides s and r where it lies; 0 if it cannot."""
        one_row, one_column = (self._test("eq", n, "1") for n in (rows, columns))
        as_is = self._both(
            self._either(self._test("eq", r, "1"), one_column), self._either(self._test("sge", s, columns), one_row)
        )
        transposed = self._both(
            self._either(self._test("eq", s, "1"), one_row), self._either(self._test("sge", r, rows), one_column)
        )
        other = self.body.find(f"select i1 {transposed}, i64 {TRANSPOSED}, i64 0")
        return self.body.find(f"select i1 {as_is}, i64 {AS_IS}, i64 {other}")

    def _lead(self, flag: str, rows: str, columns: str, s: str, r: str) -> str:
        """The leading dimension of a matrix that BLAS reads so."""
        body, found = self.body, []
        for count, length, stride in ((rows, columns, s), (columns, rows, r)):
            least = derived(body, "max", length, "1")
            is_one = self._test("eq", count, "1")
            found.append(body.find(f"select i1 {is_one}, i64 {least}, i64 {derived(body, 'max', stride, least)}"))
        return body.find(f"select i1 {self._test('eq', flag, str(AS_IS))}, i64 {found[0]}, i64 {found[1]}")

    def _by_blas(self, places: Sequence[str], gemm: str, flags: Sequence[str]) -> None:
        """z = x y by a function whose interface is CBLAS with 64-bit integers."""
        body, (m, k, n) = self.body, (self.m, self.k, self.n)
        leads = [
            self._lead(flags[0], m, k, *self.strides[0]),
            self._lead(flags[1], k, n, *self.strides[1]),
        ]
        with body.when(self._either(self._test("eq", m, "1"), self._test("eq", n, "1"))):
            self._clear(places[2])
        x, y, z = places
        orders = (body.find(f"trunc i64 {flag} to i32") for flag in flags)
        given = [f"i32 {ROW_MAJOR}", *(f"i32 {order}" for order in orders), f"i64 {m}", f"i64 {n}", f"i64 {k}"]
        given += [self._number(1), f"ptr {x}, i64 {leads[0]}, ptr {y}, i64 {leads[1]}"]
        given += [self._number(0), f"ptr {z}, i64 {n}"]
        body.do(f"call void {gemm}({', '.join(given)})")

    def _clear(self, place: str) -> None:
        """Set z to 0: some versions of OpenBLAS multiply what a vector held by 0, which keeps NaN."""
        size = self.body.product(self.body.product(self.m, self.n), str(item_size(self.dtype)))
        self.kernel.module.declare("llvm.memset.p0.i64", "void", ("ptr", "i8", "i64", "i1"))
        self.body.do(f"call void @llvm.memset.p0.i64(ptr {place}, i8 0, i64 {size}, i1 false)")

    def _number(self, value: int) -> str:
        """A factor as an argument: a complex one is in memory."""
        body = self.body
        with body.of(0):
            numbers = parts([constant_of(body, numpy_dtype(self.dtype).type(value), self.dtype)])
            if len(numbers) == 1:
                return f"{ITEMS[self.dtype]} {numbers[0].text}"
            place = body.frame(numbers[0].kind, 2)
            for at, number in enumerate(numbers):
                body.do(f"store {number.kind} {number.text}, ptr {body.place(number.kind, place, str(at))}")
            return f"ptr {place}"


def _address(site: Site, dtype: str) -> str | None:
    """The address of a function of BLAS; None where it has none for the dtype, or another interface."""
    found = blas()
    if dtype not in LETTERS or found.source != "numpy-openblas64":
        return None
    name = f"{LETTERS[dtype]}gemm"
    return site.unit.blas(name) if name in found.table else None


RULES: Final[dict[object, Rule]] = {t.MatMul: in_float32(matmul)}
