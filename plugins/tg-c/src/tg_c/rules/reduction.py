"""Reductions. Along a row, floating sums take several accumulators in blocks, and blocks are added pairwise.

float32 is summed in double precision, which costs no more than the memory that it waits for. Where the axis that lies
densest in memory stays, rows are added to one another in strips of columns, again pairwise. Halves are reduced in
float32 and rounded once. The parts of complex numbers are summed as a last axis of length 2.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tg.ops import reduction as t
from tg.ops.elementwise.comparison import greater, less
from tg.ops.reductions import REDUCTIONS
from tg.types.dtypes import is_complex, is_float
from tg.types.lengths import multiply as multiply_lengths
from tg_c.division import divide, most_parts
from tg_c.half import narrowed, widened
from tg_c.prelude import Element
from tg_c.text import literal
from tg_native.kernels.dtypes import PARTS, WORDS, is_half, working
from tg_native.loops.costs import time_of_reduction, time_to_move
from tg_native.plan.values import Array, Scalar, collapsed, is_one

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.plugin.records import Rule
    from tg.types.lengths import Length
    from tg_c.kernel import Kernel
    from tg_c.prelude import Prelude
    from tg_c.site import Site
    from tg_native.plan.values import Value

STRIP: Final = 256  # columns that are reduced together
ROWS: Final = ("sum", "product", "extreme")  # kinds of which there are functions of a row of floats

VECTORS: Final = """\
typedef @T tg_@Ts __attribute__((vector_size(8 * sizeof(@T)), aligned(sizeof(@T)), may_alias));"""

# Sums of up to 512 elements: 32 accumulators where they lie side by side, else 8.
SUM: Final = """\
static f64 tg_sum_block_@T(const @T *x, i64 n, i64 s) {
  i64 i = 0;
  f64 total = 0;
  if (s == 1) {
    tg_f64s a = {0}, b = {0}, c = {0}, d = {0};
    for (; i + 32 <= n; i += 32) {
      a += @WIDE(*(const tg_@Ts *)(x + i));
      b += @WIDE(*(const tg_@Ts *)(x + i + 8));
      c += @WIDE(*(const tg_@Ts *)(x + i + 16));
      d += @WIDE(*(const tg_@Ts *)(x + i + 24));
    }
    for (; i + 8 <= n; i += 8) a += @WIDE(*(const tg_@Ts *)(x + i));
    a = (a + b) + (c + d);
    total = ((a[0] + a[1]) + (a[2] + a[3])) + ((a[4] + a[5]) + (a[6] + a[7]));
  } else {
    f64 a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0;
    for (; i + 8 <= n; i += 8, x += 8 * s) {
      a += x[0], b += x[s], c += x[2 * s], d += x[3 * s];
      e += x[4 * s], f += x[5 * s], g += x[6 * s], h += x[7 * s];
    }
    total = ((a + b) + (c + d)) + ((e + f) + (g + h));
    x -= i * s;
  }
  for (; i < n; i++) total += x[i * s];
  return total;
}
static f64 tg_sum_@T(const @T *x, i64 n, i64 s) {
  if (n <= 512) return tg_sum_block_@T(x, n, s);
  const i64 half = n / 2 & ~31LL;
  return tg_sum_@T(x, half, s) + tg_sum_@T(x + half * s, n - half, s);
}"""

# Sums of n rows of w columns, w <= STRIP.
SUM_COLUMNS: Final = """\
static void tg_sum_columns_@T(const @T *restrict x, i64 n, i64 s, i64 w, f64 *restrict y) {
  if (n <= 16) {
    for (i64 j = 0; j < w; j++) y[j] = 0;
    for (i64 i = 0; i < n; i++)
      for (i64 j = 0; j < w; j++) y[j] += @LOAD(x[i * s + j]);
    return;
  }
  f64 other[@STRIP];
  tg_sum_columns_@T(x, n / 2, s, w, y);
  tg_sum_columns_@T(x + n / 2 * s, n - n / 2, s, w, other);
  for (i64 j = 0; j < w; j++) y[j] += other[j];
}"""

# Partial sums of a sequence whose length need not be known: as many equal blocks as a binary number has digits.
PAIRWISE: Final = """\
typedef struct { u64 count; f64 part[64]; } tg_pairwise;
static inline void tg_pairwise_add(tg_pairwise *sums, f64 x) {
  int k = 0;
  for (u64 c = sums->count++; c & 1; c >>= 1) x += sums->part[k++];
  sums->part[k] = x;
}
static f64 tg_pairwise_total(const tg_pairwise *sums) {
  f64 total = 0;
  int k = 0;
  for (u64 c = sums->count; c; c >>= 1, k++)
    if (c & 1) total += sums->part[k];
  return total;
}"""

# The largest or smallest element; NaN if there is one. Lanes that met a NaN are remembered beside the values.
EXTREME: Final = """\
static @T tg_@NAME_@T(const @T *x, i64 n, i64 s) {
  @T m = @START;
  i64 i = 0;
  if (s == 1 && n >= 16) {
    typedef @I lanes __attribute__((vector_size(8 * sizeof(@T))));
    tg_@Ts p = m - (tg_@Ts){0}, q = p;
    lanes bad = {0};
    for (; i + 16 <= n; i += 16) {
      const tg_@Ts v = *(const tg_@Ts *)(x + i), w = *(const tg_@Ts *)(x + i + 8);
      const lanes a = (lanes)(v @BETTER p), b = (lanes)(w @BETTER q);
      p = (tg_@Ts)(((lanes)v & a) | ((lanes)p & ~a));
      q = (tg_@Ts)(((lanes)w & b) | ((lanes)q & ~b));
      bad |= (lanes)(v != v) | (lanes)(w != w);
    }
    for (int k = 0; k < 8; k++) {
      if (bad[k]) return @NAN;
      if (p[k] @BETTER m) m = p[k];
      if (q[k] @BETTER m) m = q[k];
    }
  }
  for (; i < n; i++)
    if (x[i * s] @BETTER m || x[i * s] != x[i * s]) {
      m = x[i * s];
      if (m != m) return m;
    }
  return m;
}"""

PRODUCT: Final = """\
static @W tg_product_@T(const @T *x, i64 n, i64 s) {
  @W a = 1, b = 1, c = 1, d = 1;
  i64 i = 0;
  for (; i + 4 <= n; i += 4, x += 4 * s)
    a *= @LOAD(x[0]), b *= @LOAD(x[s]), c *= @LOAD(x[2 * s]), d *= @LOAD(x[3 * s]);
  for (; i < n; i++, x += s) a *= @LOAD(x[0]);
  return (a * b) * (c * d);
}"""

# Halves: blocks of up to 512 elements by 16 accumulators.
SUM_HALF: Final = """\
static f64 tg_sum_@T(const @T *x, i64 n, i64 s) {
  if (n > 512) {
    const i64 half = n / 2 & ~31LL;
    return tg_sum_@T(x, half, s) + tg_sum_@T(x + half * s, n - half, s);
  }
  f32 a[16] = {0};
  i64 i = 0;
  for (; i + 16 <= n; i += 16)
    for (int k = 0; k < 16; k++) a[k] += @LOAD(x[(i + k) * s]);
  for (; i < n; i++) a[i & 15] += @LOAD(x[i * s]);
  f64 total = 0;
  for (int k = 0; k < 16; k++) total += a[k];
  return total;
}"""

EXTREME_HALF: Final = """\
static f32 tg_@NAME_@T(const @T *x, i64 n, i64 s) {
  f32 m = @START;
  for (i64 i = 0; i < n; i++) {
    const f32 e = @LOAD(x[i * s]);
    if (e @BETTER m || e != e) m = e;
    if (m != m) return m;
  }
  return m;
}"""


def reduce(op: t.Reduce, site: Site) -> Value:
    """Rows where the densest axis goes, columns where it stays."""
    (value,) = site.inputs
    if not op.axes:
        return value
    x = site.memory(value)
    y = site.allocate(0) if site.types[0].shape else None
    result = _declared_result(site) if y is None else ""
    target = y or Array(x.dtype, f"&{result}", (), ())
    axes = [k + x.ndim for k in op.axes]
    if op.reduction.is_sum and is_complex(x.dtype):
        x, target = _parts(x, "const "), _parts(target, "")
    kept = [k for k in range(x.ndim) if k not in axes]
    lead = collapsed([x.shape[k] for k in kept], [[x.strides[k] for k in kept], target.strides])
    axes.sort(key=lambda k: is_one(x.strides[k]) and not is_one(x.shape[k]))  # the densest innermost
    body = collapsed([x.shape[k] for k in axes], [[x.strides[k] for k in axes]])
    kernel = site.kernel()
    source = kernel.read(x)
    nest = _Reduction(op.fn, site, kernel, x.dtype, source, lead.shape, lead.strides, body.shape, body.strides[0])
    nest.write(target)
    return y if y is not None else Scalar(value.dtype, result)


def _parts(x: Array, const: str) -> Array:
    """An array of complex numbers as one of their parts, which are one more axis."""
    dtype = PARTS[x.dtype]
    pointer = f"(({const}{WORDS[dtype]} *){x.pointer})"
    return Array(dtype, pointer, (*x.shape, 2), (*(multiply_lengths(2, s) for s in x.strides), 1), x.buffer)


def _declared_result(site: Site) -> str:
    """A local that the loop nest writes."""
    name = site.names[0]
    site.line(f"{WORDS[site.types[0].dtype]} {name};")
    return name


class _Reduction:
    """The loop nest of one reduction: `lead` axes stay, `body` axes go."""

    def __init__(
        self,
        fn: Any,
        site: Site,
        kernel: Kernel,
        dtype: str,
        source: str,
        lead: Sequence[int | Length],
        lead_strides: Sequence[Sequence[int | Length]],
        body: Sequence[int | Length],
        body_strides: Sequence[int | Length],
    ) -> None:
        self.fn, self.site, self.kernel, self.dtype = fn, site, kernel, dtype
        self.source = source
        self.lead, self.lead_strides, self.body, self.body_strides = lead, lead_strides, body, body_strides
        self.work = working(dtype)
        self.kind = WORDS[self.work]
        self.reduction = REDUCTIONS[fn]
        self.sums = self.reduction.is_sum and is_float(dtype)

    def write(self, target: Array) -> None:
        """Choose the form, write and call it."""
        dense = bool(self.lead) and is_one(self.lead_strides[0][-1])
        by_columns = bool(dense and self.body and not is_one(self.body_strides[-1]))
        self.divided = self._divided(by_columns=by_columns)
        if self.divided == "body":
            work = "float64" if self.sums else self.work
            parts = self.site.temporary(work, (most_parts(self.site),))
            self.place = self.kernel.write(parts)
        else:
            self.place = self.kernel.write(target)
        (self._by_columns if by_columns else self._by_rows)()
        self.site.call(self.kernel)
        if self.divided == "body":
            self.site.call(self._joined(parts, target))

    def _divided(self, *, by_columns: bool) -> str:
        """The axes of which threads share the first one: "lead" or "body", or "" for none."""
        in_row = len(self.lead) == 1 if by_columns else not self.lead and len(self.body) == 1
        each = time_to_move((self.dtype,)) + time_of_reduction(self.reduction, self.dtype)
        self.kernel.division = divide(self.site, (*self.lead, *self.body), each, in_row=in_row)
        if self.kernel.division is None:
            return ""
        return "lead" if self.lead else "body"

    def _joined(self, parts: Array, target: Array) -> Kernel:
        """The loop nest that stores the result, from what each part has met, in the order of the parts."""
        kernel, division = self.site.kernel(), self.kernel.division
        assert division is not None
        part, y, n = kernel.read(parts), kernel.write(target), kernel.value(Scalar("int64", division.parts))
        if self.sums:
            self.site.prelude.need("tg_pairwise", PAIRWISE)
            kernel.line("tg_pairwise sums;")
            kernel.line("sums.count = 0;")
            kernel.loop_to("k", n, f"tg_pairwise_add(&sums, {part}[k]);")
            kernel.line(f"{y}[0] = {self._stored('tg_pairwise_total(&sums)')};")
        else:
            kernel.line(f"{self.kind} r = {part}[0];")
            kernel.open(f"for (i64 k = 1; k < {n}; k++)")
            kernel.line(f"const {self.kind} e = {part}[k];")
            kernel.line(f"r = {self._combined('r', 'e')};")
            kernel.close()
            kernel.line(f"{y}[0] = {self._stored('r')};")
        return kernel

    def _by_rows(self) -> None:
        kernel, in_parts = self.kernel, self.divided == "body"
        indices = kernel.loops(self.lead, divided=self.divided == "lead")
        start = kernel.place(self.source, indices, self.lead_strides[0])
        target = f"{self.place}[part]" if in_parts else kernel.at(self.place, indices, self.lead_strides[1])
        row = self._row_function()
        if row is not None and len(self.body) <= 1:
            n, s = (self.body[0], self.body_strides[0]) if self.body else (1, 1)
            count = kernel.length(n)
            if in_parts:
                start, count = kernel.place(start, ["lo"], [s]), "hi - lo"
            kernel.line(f"{target} = {self._met(f'{row}({start}, {count}, {kernel.length(s)})')};")
        elif self.sums:
            self.site.prelude.need("tg_pairwise", PAIRWISE)
            kernel.line("tg_pairwise sums;")
            kernel.line("sums.count = 0;")
            outer = kernel.loops(self.body[:-1], "j", divided=in_parts)
            inner = kernel.place(start, outer, self.body_strides[:-1])
            last, step = kernel.length(self.body[-1]), kernel.length(self.body_strides[-1])
            kernel.line(f"tg_pairwise_add(&sums, {row}({inner}, {last}, {step}));")
            kernel.close(len(outer))
            kernel.line(f"{target} = {self._met('tg_pairwise_total(&sums)')};")
        else:
            self._one_by_one(start, target, row)
        kernel.close(len(indices))

    def _one_by_one(self, start: str, target: str, row: str | None) -> None:
        kernel = self.kernel
        kernel.line(f"{self.kind} r = {self._identity()};")
        if row is None:
            inner = kernel.loops(self.body, "j", divided=self.divided == "body")
            element = load(self.site.prelude, self.dtype, kernel.at(f"({start})", inner, self.body_strides))
        else:
            inner = kernel.loops(self.body[:-1], "j", divided=self.divided == "body")
            n, s = kernel.length(self.body[-1]), kernel.length(self.body_strides[-1])
            element = f"{row}({kernel.place(start, inner, self.body_strides[:-1])}, {n}, {s})"
        kernel.line(f"const {self.kind} e = {element};")
        kernel.line(f"r = {self._combined('r', 'e')};")
        kernel.close(len(inner))
        kernel.line(f"{target} = {self._met('r')};")

    def _by_columns(self) -> None:
        kernel, prelude = self.kernel, self.site.prelude
        outer = kernel.loops(self.lead[:-1], divided=self.divided == "lead")
        start = kernel.place(self.source, outer, self.lead_strides[0][:-1])
        target = kernel.place(self.place, outer, self.lead_strides[1][:-1])
        start_at, n = ("lo", "hi") if self.divided and not outer else ("0", kernel.length(self.lead[-1]))
        kernel.loop_between("j", start_at, n, STRIP)
        kernel.line(f"const i64 w = tg_length_min({STRIP}, {n} - j);")
        kind = "f64" if self.sums else self.kind
        kernel.line(f"{kind} r[{STRIP}];")
        kernel.loop_to("k", "w", f"r[k] = {self._identity()};")
        rows = len(self.body) - (1 if self.sums else 0)
        inner = kernel.loops(self.body[:rows], "l")
        here = f"{kernel.place(start, inner, self.body_strides[:rows])} + j"
        if self.sums:
            self._sum_strip(here)
        else:
            kernel.line(f"const {WORDS[self.dtype]} *restrict from = {here};")
            kernel.loop_to("k", "w", f"r[k] = {self._combined('r[k]', load(prelude, self.dtype, 'from[k]'))};")
        kernel.close(len(inner))
        kernel.loop_to("k", "w", f"({target})[j + k] = {self._stored('r[k]')};")
        kernel.close(1 + len(outer))

    def _sum_strip(self, here: str) -> None:
        kernel, prelude, kind = self.kernel, self.site.prelude, WORDS[self.dtype]
        text = loading(prelude, self.dtype, SUM_COLUMNS).replace("@STRIP", str(STRIP))
        prelude.need(f"tg_sum_columns_{kind}", text)
        n, s = kernel.length(self.body[-1]), kernel.length(self.body_strides[-1])
        kernel.line(f"f64 part[{STRIP}];")
        kernel.line(f"tg_sum_columns_{kind}({here}, {n}, {s}, w, part);")
        kernel.loop_to("k", "w", "r[k] += part[k];")

    def _identity(self) -> str:
        if self.sums:
            return "0"
        return literal(self.reduction.identity(self.dtype), self.work)

    def _met(self, text: str) -> str:
        """What has been met: a result, or that of a part, which is kept as it is."""
        return text if self.divided == "body" else self._stored(text)

    def _stored(self, text: str) -> str:
        """A result as it is stored."""
        if not is_half(self.dtype):
            return text
        return narrowed(self.site.prelude, self.dtype, text, "float64" if self.sums else "float32")

    def _combined(self, x: str, y: str) -> str:
        element = Element((x, y), (self.work, self.work), self.work, self.site.prelude)
        return self.site.element(self.fn.op, element)

    def _row_function(self) -> str | None:
        """The function that reduces a row, for floating dtypes."""
        return row_function(self.site.prelude, self.fn, self.dtype)


def load(prelude: Prelude, dtype: str, text: str) -> str:
    """An element as it is computed with."""
    return widened(prelude, dtype, text) if is_half(dtype) else text


def loading(prelude: Prelude, dtype: str, text: str) -> str:
    """A function's text for a dtype: @T is what is stored, @W what is computed with, @LOAD makes one of the other."""
    name = load(prelude, dtype, "").removesuffix("()")
    return text.replace("@T", WORDS[dtype]).replace("@W", WORDS[working(dtype)]).replace("@LOAD", name)


def row_function(prelude: Prelude, fn: Any, dtype: str) -> str | None:
    """The name of the function that reduces a row of floats, added to the prelude; None for other dtypes."""
    reduction = REDUCTIONS[fn]
    if not is_float(dtype) or reduction.kind not in ROWS:
        return None
    kind, name = WORDS[dtype], reduction.name
    if reduction.kind == "product":
        prelude.need(f"tg_product_{kind}", loading(prelude, dtype, PRODUCT))
        return f"tg_product_{kind}"
    better = ">" if reduction.sign > 0 else "<"
    if is_half(dtype):
        text = loading(prelude, dtype, SUM_HALF if reduction.is_sum else EXTREME_HALF)
        text = text.replace("@NAME", name).replace("@BETTER", better)
        prelude.need(f"tg_{name}_{kind}", text.replace("@START", literal(reduction.identity(dtype), "float32")))
        return f"tg_{name}_{kind}"
    for each in ("f64", kind):
        prelude.need(f"tg_{each}s", VECTORS.replace("@T", each))
    if reduction.is_sum:
        wide = "" if dtype == "float64" else "tg_widened"
        if wide:
            prelude.need(wide, "#define tg_widened(v) __builtin_convertvector(v, tg_f64s)")
        prelude.need(f"tg_sum_{kind}", SUM.replace("@T", kind).replace("@WIDE", wide))
        return f"tg_sum_{kind}"
    bits = "i64" if dtype == "float64" else "i32"
    nan = literal(float("nan"), dtype)
    text = EXTREME.replace("@T", kind).replace("@NAME", name).replace("@BETTER", better).replace("@I", bits)
    text = text.replace("@START", literal(reduction.identity(dtype), dtype)).replace("@NAN", nan)
    prelude.need(f"tg_{name}_{kind}", text)
    return f"tg_{name}_{kind}"


ARG: Final = """\
static i64 tg_arg@NAME_@T(const @T *x, i64 n, i64 s) {
  i64 best = 0;
  @W m = 0;
  for (i64 i = 0; i < n; i++) {
    const @W e = @LOAD(x[i * s]);
    if (e != e) return i;
    if (!i || @BETTER) m = e, best = i;
  }
  return best;
}"""
# The extreme by vectors, then the first block that has it, then its place in the block.
ARG_FLOATING: Final = """\
static i64 tg_arg@NAME_@T(const @T *x, i64 n, i64 s) {
  const @T m = tg_@NAME_@T(x, n, s);
  const int seek_nan = m != m;
  i64 i = 0;
  if (s == 1)
    for (; i + 64 <= n; i += 64) {
      int found = 0;
      for (int k = 0; k < 64; k++) found |= seek_nan ? x[i + k] != x[i + k] : x[i + k] == m;
      if (found) break;
    }
  while (i < n && (seek_nan ? x[i * s] == x[i * s] : x[i * s] != m)) i++;
  return i < n ? i : 0;
}"""


def arg_reduce(op: t.ArgReduce, site: Site) -> Value:
    """The extreme, then the first element that equals it."""
    x = site.memory(site.inputs[0])
    kind = WORDS[x.dtype]
    name = op.reduction.name
    if x.dtype in ("float32", "float64"):
        row_function(site.prelude, op.fn, x.dtype)
        text = ARG_FLOATING.replace("@T", kind)
    else:
        work = working(x.dtype)
        better = greater if op.reduction.sign > 0 else less
        element = Element(("e", "m"), (work, work), "bool", site.prelude)
        text = loading(site.prelude, x.dtype, ARG).replace("@BETTER", site.element(better.op, element))
    text = text.replace("@NAME", name)
    function = f"tg_arg{name}_{kind}"
    site.prelude.need(function, text)
    kept = [k for k in range(x.ndim) if k - x.ndim != op.axis]
    n, s = x.shape[op.axis], x.strides[op.axis]
    if not kept:
        return site.scalar(f"{function}({x.pointer}, {site.length(n)}, {site.length(s)})")
    y = site.allocate(0)
    lead = collapsed([x.shape[k] for k in kept], [[x.strides[k] for k in kept], y.strides])
    kernel = site.kernel()
    kernel.division = divide(site, (*lead.shape, n), time_to_move((x.dtype,)), in_row=False)
    source, place = kernel.read(x), kernel.write(y)
    indices = kernel.loops(lead.shape, divided=kernel.division is not None)
    start = kernel.place(source, indices, lead.strides[0])
    target = kernel.at(place, indices, lead.strides[1])
    kernel.line(f"{target} = {function}({start}, {kernel.length(n)}, {kernel.length(s)});")
    kernel.close(len(indices))
    site.call(kernel)
    return y


RULES: Final[dict[object, Rule]] = {t.Reduce: reduce, t.ArgReduce: arg_reduce}
