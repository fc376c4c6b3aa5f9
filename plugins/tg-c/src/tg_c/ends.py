"""What becomes of the values of a stage besides being kept: sums and extremes of rows or of everything.

A reduction has an accumulator of as many lanes as a block. Floating sums take float64 lanes for at most `CHUNK` rounds,
then the lanes are added to partial sums of equal counts, pairwise: the error of n terms is at most
(CHUNK + log2(n)) · eps · Σ|x|.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

from tg.ops.reductions import REDUCTIONS
from tg.types.dtypes import is_float
from tg_c.lanes import Lane, LaneElement, as_vector, in_lanes
from tg_c.prelude import Element
from tg_c.text import literal
from tg_native.kernels.dtypes import WORDS
from tg_native.loops.costs import CHUNK, PARTIAL_SUMS
from tg_native.plan.values import Scalar

if TYPE_CHECKING:
    from tg.ops.elementwise.record import ElementwiseFunction
    from tg_c.block import Block
    from tg_c.kernel import Kernel
    from tg_c.site import Site
    from tg_native.fusion.loop import Result
    from tg_native.plan.values import Array

__all__ = ["CHUNK", "Accumulator", "is_sum", "tree", "work_dtype"]

OPERATORS: Final = {"sum": "+", "product": "*"}
OF_BOOL: Final[dict[str | None, str]] = {"any": "|", "all": "&"}

PARTS: Final = """\
typedef struct { u64 count; @V part[@LEVELS]; } tg_parts_@V;
static inline void tg_add_part_@V(tg_parts_@V *sums, @V x) {
  int k = 0;
  for (u64 c = sums->count++; c & 1; c >>= 1) x += sums->part[k++];
  sums->part[k] = x;
}
static inline @V tg_all_parts_@V(const tg_parts_@V *sums) {
  @V total = {0};
  int k = 0;
  for (u64 c = sums->count; c; c >>= 1, k++)
    if (c & 1) total += sums->part[k];
  return total;
}"""


def tree(texts: list[str], joined: str) -> str:
    """Texts joined two by two, so that sums are pairwise."""
    while len(texts) > 1:
        pairs = [f"({a} {joined} {b})" for a, b in zip(texts[::2], texts[1::2], strict=False)]
        texts = pairs + texts[len(pairs) * 2 :]
    return texts[0]


def is_sum(fn: ElementwiseFunction, dtype: str) -> bool:
    """Whether a reduction adds numbers that are rounded, so that it does in chunks and pairwise."""
    return REDUCTIONS[fn].is_sum and is_float(dtype)


def work_dtype(fn: ElementwiseFunction, dtype: str) -> str:
    """The dtype that values are reduced in."""
    return REDUCTIONS[fn].working(dtype)


@final
class Accumulator:
    """One reduction of a stage: what it is called in C, and the lines that begin, feed, join and end it."""

    def __init__(self, site: Site, kernel: Kernel, block: Block, name: str, result: Result, number: int) -> None:
        """The reduction of value `number` of the program; `name` ends all of its locals."""
        self.site, self.kernel, self.block = site, kernel, block
        assert result.fn is not None
        self.result, self.fn, self.number, self.name = result, result.fn, number, name
        self.reduction = REDUCTIONS[result.fn]
        self.dtype = block.dtypes[number]
        self.is_sum = is_sum(self.fn, self.dtype)
        self.work = work_dtype(self.fn, self.dtype)
        self.kind = WORDS[self.work]
        vectors = block.vectors
        if self.work == "bool" and vectors is not None:
            self.kind = f"i{8 * vectors.size}"
        self.type = vectors.type(self.kind) if vectors is not None else WORDS[self.work]

    # --- before, between and after the rounds ------------------------------------------------------------------------

    def begin(self) -> None:
        """Declare what lasts as long as the reduction."""
        if self.is_sum:
            self._need_sums(self.type)
            self.kernel.line(f"tg_parts_{self.type} sums{self.name};")
            self.kernel.line(f"sums{self.name}.count = 0;")
        else:
            self.declare("")

    def _need_sums(self, kind: str) -> None:
        self.site.prelude.need(f"parts {kind}", PARTS.replace("@V", kind).replace("@LEVELS", str(PARTIAL_SUMS)))

    def declare(self, copy: str) -> None:
        """An accumulator that has met nothing: a chunk's, or one of the copies of an unrolled loop."""
        self.kernel.line(f"{self.type} a{self.name}{copy} = {self._identity()};")

    def begin_chunk(self) -> None:
        """Begin a run of rounds."""
        if self.is_sum:
            self.declare("")

    def end_chunk(self) -> None:
        """End a run of rounds."""
        if self.is_sum:
            self.kernel.line(f"tg_add_part_{self.type}(&sums{self.name}, a{self.name});")

    def total(self) -> str:
        """The result, as an expression of the dtype."""
        return self.stored(self._whole())

    def total_of_part(self) -> str:
        """What one part of a divided loop has met, as an expression of the dtype that is worked with."""
        return f"{self._whole()} != 0" if self.work == "bool" else self._whole()

    def joined(self, parts: Array, count: str, target: Array) -> Kernel:
        """The loop nest that stores the result, from what each of `count` parts has met, in the order of the parts."""
        kernel, kind = self.site.kernel(), WORDS[self.work]
        part, y, n = kernel.read(parts), kernel.write(target), kernel.value(Scalar("int64", count))
        if self.is_sum:
            self._need_sums(kind)
            kernel.line(f"tg_parts_{kind} sums;")
            kernel.line("sums.count = 0;")
            kernel.loop_to("k", n, f"tg_add_part_{kind}(&sums, {part}[k]);")
            total = f"tg_all_parts_{kind}(&sums)"
        else:
            kernel.line(f"{kind} total = {part}[0];")
            total = "total"
            kernel.open(f"for (i64 k = 1; k < {n}; k++)")
            kernel.line(f"total = {self._scalars(total, f'{part}[k]')};")
            kernel.close()
        kernel.line(f"{y}[0] = {self.stored(total)};")
        return kernel

    def _whole(self) -> str:
        text = f"a{self.name}"
        if self.is_sum:
            text = f"total{self.name}"
            self.kernel.line(f"const {self.type} {text} = tg_all_parts_{self.type}(&sums{self.name});")
        if self.block.vectors is not None:
            text = self._of_lanes(text, self.block.vectors.count)
        return text

    def stored(self, text: str) -> str:
        """A total as it is stored."""
        if self.dtype == "bool":
            return f"{text} != 0"
        return f"({WORDS[self.dtype]})({text})" if self.kind != WORDS[self.dtype] else text

    def _of_lanes(self, text: str, count: int) -> str:
        lanes = [f"{text}[{k}]" for k in range(count)]
        if self._sign:
            return tree(lanes, self._sign)
        name = f"best{self.name}"
        self.kernel.line(f"{WORDS[self.work]} {name} = {lanes[0]};")
        self.kernel.line(f"#pragma GCC unroll {count}")
        self.kernel.line(f"for (int k = 1; k < {count}; k++) {name} = {self._scalars(name, f'{text}[k]')};")
        return name

    @property
    def _sign(self) -> str:
        """The operator that combines two values, "" where that takes more than an operator."""
        if self.dtype == "bool":
            return OF_BOOL.get(self.reduction.of_bool, "")
        return OPERATORS.get(self.reduction.kind, "")

    # --- rounds ------------------------------------------------------------------------------------------------------

    def feed(self, block: Block, copy: str) -> tuple[str, str]:
        """The line that takes in the values of a full block, and that for the last one of a row."""
        name, value = f"a{self.name}{copy}", block.values[self.number]
        if self.block.vectors is None:
            line = f"{name} = {self._scalars(name, self._widened(value.text))};"
            return line, line
        text = self._vector(value)
        whole = f"{name} = {self._vectors(name, text)};"
        if self.reduction.idempotent:
            return whole, whole  # lanes that are left over repeat an element
        if not block.rest:
            return whole, ""
        return whole, f"{name} = {self._vectors(name, self.first_lanes(block, value))};"

    def first_lanes(self, block: Block, value: Lane) -> str:
        """The lanes of a value that are elements of the last block of a row, with nothing in the others."""
        vectors = self.block.vectors
        assert vectors is not None
        first = vectors.function("first", vectors.mask(self.kind))
        chosen = f"{first}({block.rest}), {self._vector(value)}, {self._identity()}"
        return f"{vectors.function('select', self.kind)}({chosen})"

    def with_lanes(self, x: str, value: Lane) -> str:
        """What x, a vector, and a value are together."""
        return self._vectors(x, self._vector(value))

    def with_element(self, x: str, value: Lane) -> str:
        """What x and a value, both of one element, are together."""
        return self._scalars(x, value.text)

    def nothing(self) -> str:
        """What one element of a reduction that has met nothing is."""
        return literal(0 if self.is_sum else self.reduction.identity(self.dtype), self.work)

    def join(self, copies: list[str]) -> None:
        """Take in what copies of the accumulator have met."""
        for copy in copies:
            name = f"a{self.name}"
            self.kernel.line(f"{name} = {self._vectors(name, f'{name}{copy}')};")

    def take(self, other: Accumulator) -> None:
        """Take in what the lanes of another accumulator have met, where this one has a single element."""
        assert other.block.vectors is not None
        name = f"a{self.name}"
        met = other._of_lanes(f"a{other.name}", other.block.vectors.count)
        self.kernel.line(f"{name} = {self._scalars(name, met)};")

    def _vector(self, value: Lane) -> str:
        vectors = self.block.vectors
        assert vectors is not None
        if self.dtype == "bool":
            return as_vector(vectors, value, self.kind)
        kind = WORDS[self.dtype]
        text = as_vector(vectors, value, kind)
        return text if kind == self.kind else vectors.converted(text, kind, self.kind)

    def _vectors(self, x: str, y: str) -> str:
        vectors = self.block.vectors
        if vectors is None:
            return self._scalars(x, y)
        if self._sign:
            return f"{x} {self._sign} {y}"
        lanes = (Lane(x, self.work, self.kind), Lane(y, self.work, self.kind))
        op = self.fn.op
        return in_lanes(self.site.rule(op), op, LaneElement(lanes, self.work, vectors)).text

    def _scalars(self, x: str, y: str) -> str:
        return self.site.element(self.fn.op, Element((x, y), (self.work, self.work), self.work, self.site.prelude))

    def _widened(self, text: str) -> str:
        from tg_c.rules.reduction import load

        return load(self.site.prelude, self.dtype, text)

    def _identity(self) -> str:
        vectors = self.block.vectors
        if vectors is None:
            return self.nothing()
        if self.dtype == "bool":
            return f"{vectors.function('all', self.kind)}({-int(bool(self.reduction.identity(self.dtype)))})"
        return f"{vectors.function('all', self.kind)}({self.nothing()})"
