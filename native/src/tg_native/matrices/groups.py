"""Scalar products of rows of float32 and rows of weights that are packed by group, each group unpacked in registers.

As beside a vector (`tg_native.matrices.vectors`), rows of weights are read in several places at a time. Where there are
several rows of x, some share what is unpacked.

Milliseconds of c beside ggml 0.15's own (`ggml_mul_mat`), one thread each, of weights 1,024 x 1,024 and 4,096 x 4,096,
on a processor with AVX2 that others used as well, least of 1,000 and 100:

    rows      1              4              1 (4,096)
    q8_0      .068 / .054    .133 / .205    1.29 / 2.28
    q4_0      .076 / .089    .181 / .262    1.22 / 1.29

Sums are of float32, where ggml's are of x in 8 bits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple, final

from tg_native.kernels.functions import fma
from tg_native.kernels.half import widened
from tg_native.kernels.index import index
from tg_native.kernels.lanes import constant, in_all_lanes
from tg_native.kernels.routine import Block
from tg_native.loops.terms import Terms
from tg_native.plan.values import is_one

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tg_native.graphs.site import Site
    from tg_native.kernels.index import Index, Pointer
    from tg_native.kernels.lanes import Lanes
    from tg_native.loops.kernel import Kernel
    from tg_native.plan.values import Array

VALUES: Final = 32  # of a group
PLACES: Final = 4  # rows of weights that are read at a time beside one row of x
FEW: Final = 2  # beside some rows of x
TOGETHER: Final = 4  # rows of x that share unpacked weights: more sums than there are registers would go to memory


class Packing(NamedTuple):
    """A format of groups: bytes, what unpacks the numbers (in vectors, in order), and what is to be taken off each."""

    size: int
    numbers: Callable[[Pointer], list[Lanes]]
    offset: int


def _bytes(place: Pointer, start: int, count: int) -> list[Lanes]:
    return [_loaded(place.moved(start + k)) for k in range(0, count, place.body.lanes)]


def _loaded(place: Pointer) -> Lanes:
    """Elements of a real dtype, as many as there are lanes."""
    loaded: Any = place.body.load_row(place, Block(index(place.body, 0)))
    return loaded  # type: ignore[no-any-return]


def _of_q8_0(place: Pointer) -> list[Lanes]:
    return [v.seen_as("int8").to("float32") for v in _bytes(place, 2, VALUES)]


def _of_q4_0(place: Pointer) -> list[Lanes]:
    both = [v.to("int32") for v in _bytes(place, 2, VALUES // 2)]  # there are no shifts of vectors of bytes
    return [v.to("float32") for v in (*[v & 15 for v in both], *[v >> 4 for v in both])]


PACKED: Final = {"q8_0": Packing(34, _of_q8_0, 0), "q4_0": Packing(18, _of_q4_0, 8)}


@final
class PackedProduct:
    """The function of a product in the making: of x (..., m, k), and rows of weights (n, bytes)."""

    def __init__(self, site: Site, x: Array, q: Array, packing: Packing) -> None:
        self.site, self.x, self.q, self.packing = site, x, q, packing
        self.z = site.allocate(0)
        self.kernel: Kernel = site.kernel(["float32"], 1, VALUES // 2)
        if all(map(is_one, self.z.shape[:-1])):
            site.divide(self.kernel, (self.z.shape[-1], x.shape[-1]), (), ["float32"])
        self.body = self.kernel.body
        self.terms = Terms(site, self.body, "float32")

    def write(self) -> Array:
        """Write the whole function and call it; the result."""
        kernel, z = self.kernel, self.z
        pointers = kernel.read(self.x), kernel.read(self.q), kernel.write(z)
        rows, row = kernel.length(z.shape[-2]), kernel.length(self.q.shape[-1])
        groups = row // self.packing.size
        low, high = kernel.bounds(z.shape[-1], first=True)
        apart = kernel.length(self.x.strides[-2]), kernel.length(z.strides[-2])

        def some(first: Index, together: int) -> None:
            x, y = (p.moved(first * n) for p, n in zip((x0, z0), apart, strict=True))
            self._rows(together, x, pointers[1].moved(low * row), y.moved(low), high - low, row, groups, apart)

        with kernel.loops(z.shape[:-2]) as outer:
            x0 = kernel.moved(pointers[0], outer, self.x.strides[:-2])
            z0 = kernel.moved(pointers[2], outer, z.strides[:-2])
            most = z.shape[-2]
            whole = rows & -TOGETHER
            if not (type(most) is int and most < TOGETHER):
                with self.body.loop(0, whole, TOGETHER) as at:
                    some(at, TOGETHER)
            if not (type(most) is int and most % TOGETHER == 0):
                with self.body.loop(whole, rows) as at:
                    some(at, 1)
        self.site.run(kernel)
        return z

    def _rows(
        self,
        together: int,
        x: Pointer,
        q: Pointer,
        z: Pointer,
        count: Index,
        row: Index,
        groups: Index,
        apart: tuple[Index, Index],
    ) -> None:
        """All sums of some rows of x."""
        body, places = self.body, PLACES if together == 1 else FEW
        starts = [body.held(x.moved(apart[0] * k)) for k in range(together)]
        far = count // places

        def sums(numbers: Sequence[Index]) -> None:
            values = self._sums(starts, [body.held(q.moved(k * row)) for k in numbers], groups)
            for k, number in enumerate(numbers):
                for j in range(together):
                    total = self.terms.across(values[k * together + j])
                    with body.of(0):
                        body.store(total, z.moved(number).moved(apart[1] * j))

        with body.loop(0, far) as at:
            sums([at + far * k for k in range(places)])
        with body.loop(far * places, count) as at:
            sums([at])

    def _sums(self, xs: Sequence[Pointer], rows: Sequence[Pointer], groups: Index) -> list[Lanes]:
        """For each row of weights its products with each row of x, in lanes."""
        body, packing = self.body, self.packing

        def step(at: Index, *last: Lanes) -> list[Lanes]:
            vectors = [[_loaded(x.moved(at * VALUES + k)) for k in range(0, VALUES, body.lanes)] for x in xs]
            begins = [self._begin(v) for v in vectors]
            totals = []
            for k, row in enumerate(rows):
                place = row.moved(at * packing.size)
                scale, numbers = _scale(place), packing.numbers(place)
                for j, v in enumerate(vectors):
                    totals.append(fma(scale, _product(begins[j], numbers, v), last[k * len(xs) + j]))
            return totals

        zero = constant(body, 0.0, "float32")
        return body.fold(0, groups, 1, [zero] * (len(rows) * len(xs)), step)

    def _begin(self, vectors: Sequence[Lanes]) -> Lanes | None:
        """Sum to begin with, in lanes: the offset of all numbers, taken off; None where there is none."""
        if not self.packing.offset:
            return None
        total = vectors[0]
        for v in vectors[1:]:
            total = total + v
        return total * float(-self.packing.offset)


def _product(begin: Lanes | None, numbers: Sequence[Lanes], elements: Sequence[Lanes]) -> Lanes:
    """The sum of products, lane by lane, and of what is there to begin with."""
    rest = zip(numbers, elements, strict=True)
    if begin is None:
        number, element = next(rest)
        begin = number * element
    for number, element in rest:
        begin = fma(number, element, begin)
    return begin


def _scale(place: Pointer) -> Lanes:
    """The float16 that a group begins with, in all lanes: processors convert vectors of halves, not single ones."""
    body = place.body
    with body.of(0):
        low, high = (_single(place.moved(k)).to("uint16") for k in range(2))
        bits = low | high << 8
    return widened(in_all_lanes(bits).seen_as("float16"))


def _single(place: Pointer) -> Lanes:
    """An element of a real dtype."""
    loaded: Any = place.body.load(place)
    return loaded  # type: ignore[no-any-return]
