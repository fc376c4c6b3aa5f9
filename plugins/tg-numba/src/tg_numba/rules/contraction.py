"""Matrix products: the BLAS of the process for floating and complex dtypes, plain loops for others and small ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, final

from tg.ops import contraction as t
from tg.ops.elementwise.arithmetic import multiply
from tg.types.dtypes import numpy_dtype
from tg_native.calls.blas import blas
from tg_native.kernels.dtypes import item_size
from tg_native.kernels.index import index
from tg_native.kernels.lanes import Pair, constant_of, parts
from tg_native.loops.pointwise import in_float32
from tg_native.plan.values import spread
from tg_numba.assembly import ITEMS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.plugin.records import Rule
    from tg_native.kernels.index import Index, Pointer
    from tg_native.kernels.lanes import Elements, Lanes
    from tg_native.kernels.routine import Block
    from tg_native.plan.values import Array, Value
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
                kernel.moved(p, outer, v.strides[:-2])
                for v, p in zip(self.arrays, pointers, strict=True)
            ]  # fmt: skip
            if self.gemm is None:
                self._plain(places)
            else:
                self._chosen(places, kernel.address(self.gemm))
        self.site.run(kernel)

    # --- plain loops -------------------------------------------------------------------------------------------------

    def _plain(self, places: Sequence[Pointer]) -> None:
        """Blocks of a row of z, each the sum of rows of y."""
        (x, y, z), (at_x, at_y, at_z) = self.arrays, places
        kernel, body = self.kernel, self.body
        with body.loop(0, self.m) as i:
            row = kernel.moved(at_x, [i], x.strides[-2:-1])
            target = kernel.moved(at_z, [i], z.strides[-2:-1])

            def write(block: Block) -> None:
                def step(at: Index, *last: Lanes) -> list[Lanes]:
                    factor = body.load(kernel.moved(row, [at], x.strides[-1:]))
                    element = kernel.load(kernel.moved(at_y, [at], y.strides[-2:-1]), y.strides[-1], block)
                    return parts([self._more(self._elements(last), factor, element)])

                zero = parts([constant_of(body, numpy_dtype(self.dtype).type(0), self.dtype)])
                total = body.fold(0, self.k, 1, zero, step)
                kernel.store(self._elements(total), target, 1, block)

            kernel.blocks(z.shape[-1], write, twice=True)

    @staticmethod
    def _elements(found: Sequence[Lanes]) -> Elements:
        return Pair(*found) if len(found) > 1 else found[0]

    def _more(self, total: Any, factor: Any, element: Any) -> Elements:
        """One more term; of bools, whether some term is true."""
        if self.dtype == "bool":
            found: Elements = total | (factor & element)
            return found
        if isinstance(total, Pair):
            product: Any = self.site.rule(multiply.op)(multiply.op, (factor, element), self.dtype)
            return total.plus(product)
        more: Elements = total + factor * element
        return more

    # --- BLAS --------------------------------------------------------------------------------------------------------

    def _chosen(self, places: Sequence[Pointer], gemm: str) -> None:
        """By BLAS, if it can read the matrices where they lie and the product is not small."""
        body, (m, k, n) = self.body, (self.m, self.k, self.n)
        flags = [self._flag(m, k, *self.strides[0]), self._flag(k, n, *self.strides[1])]
        fits = (flags[0] != 0) & (flags[1] != 0) & (m * k * n >= SMALL)
        with body.when(fits):
            self._by_blas(places, gemm, flags)
        with body.when(~fits):
            self._plain(places)

    @staticmethod
    def _flag(rows: Index, columns: Index, s: Index, r: Index) -> Index:
        """How BLAS is to read a matrix with strides s and r where it lies; 0 if it cannot."""
        one_row, one_column = rows == 1, columns == 1
        as_is = ((r == 1) | one_column) & ((s >= columns) | one_row)
        transposed = ((s == 1) | one_row) & ((r >= rows) | one_column)
        return as_is.choose(index(rows.body, AS_IS), transposed.choose(TRANSPOSED, 0))

    @staticmethod
    def _lead(flag: Index, rows: Index, columns: Index, s: Index, r: Index) -> Index:
        """The leading dimension of a matrix that BLAS reads so."""
        found = []
        for count, length, stride in ((rows, columns, s), (columns, rows, r)):
            least = length.most(1)
            found.append((count == 1).choose(least, stride.most(least)))
        return (flag == AS_IS).choose(*found)

    def _by_blas(self, places: Sequence[Pointer], gemm: str, flags: Sequence[Index]) -> None:
        """z = x y by a function whose interface is CBLAS with 64-bit integers."""
        body, (m, k, n) = self.body, (self.m, self.k, self.n)
        leads = [
            self._lead(flags[0], m, k, *self.strides[0]),
            self._lead(flags[1], k, n, *self.strides[1]),
        ]
        with body.when((m == 1) | (n == 1)):
            self._clear(places[2])
        x, y, z = (place.text for place in places)
        orders = [flag.single("int32").text for flag in flags]
        numbers = [number.value.text for number in (m, n, k, *leads)]
        given = [f"i32 {ROW_MAJOR}", *(f"i32 {order}" for order in orders), *(f"i64 {text}" for text in numbers[:3])]
        given += [self._number(1), f"ptr {x}, i64 {numbers[3]}, ptr {y}, i64 {numbers[4]}"]
        given += [self._number(0), f"ptr {z}, i64 {numbers[1]}"]
        body.do(f"call void {gemm}({', '.join(given)})")

    def _clear(self, place: Pointer) -> None:
        """Set z to 0: some versions of OpenBLAS multiply what a vector held by 0, which keeps NaN."""
        size = (self.m * self.n * item_size(self.dtype)).value.text
        self.body.module.declare("llvm.memset.p0.i64", "void", ("ptr", "i8", "i64", "i1"))
        self.body.do(f"call void @llvm.memset.p0.i64(ptr {place.text}, i8 0, i64 {size}, i1 false)")

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
