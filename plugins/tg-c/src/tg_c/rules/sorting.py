"""Orders along an axis: merge sorts of a row at a time, in memory of this call; runs of 16 are sorted by insertion."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tg.ops import sorting as t
from tg.ops.elementwise.comparison import less, not_equal
from tg.types.dtypes import is_inexact
from tg.types.lengths import multiply
from tg_c.prelude import Element
from tg_native.kernels.dtypes import PARTS, WORDS
from tg_native.loops.costs import SORTED_RUN

if TYPE_CHECKING:
    from tg.plugin.records import Rule
    from tg_c.nest import Nest
    from tg_c.site import Site
    from tg_native.plan.values import Array, Value


# Whether x goes before y: NaN goes last.
BEFORE: Final = """\
static inline int tg_before_@T(@T x, @T y) {
  return @LESS;
}"""

# Complex numbers by what is NaN of them, then by the real part, then by the imaginary one.
BEFORE_COMPLEX: Final = """\
static inline int tg_before_@T(@T x, @T y) {
  const @P a = __real__ x, b = __imag__ x, c = __real__ y, d = __imag__ y;
  const int p = 2 * (a != a) + (b != b), q = 2 * (c != c) + (d != d);
  if (p != q) return p < q;
  if (a < c || a > c) return a < c;
  return b < d;
}"""

# Sorts keys[0 .. n); keys has room for 2 n. Where the sorted row ends up is returned.
SORT: Final = """\
static const @T *tg_sort_@T(@T *keys, i64 n) {
  for (i64 low = 0; low < n; low += @RUN) {
    const i64 high = low + @RUN < n ? low + @RUN : n;
    for (i64 i = low + 1; i < high; i++) {
      const @T key = keys[i];
      i64 j = i;
      for (; j > low && tg_before_@T(key, keys[j - 1]); j--) keys[j] = keys[j - 1];
      keys[j] = key;
    }
  }
  @T *from = keys, *to = keys + n;
  for (i64 width = @RUN; width < n; width *= 2) {
    for (i64 low = 0; low < n; low += 2 * width) {
      const i64 middle = low + width < n ? low + width : n, high = low + 2 * width < n ? low + 2 * width : n;
      i64 a = low, b = middle, k = low;
      while (a < middle && b < high) {
        const @T x = from[a], y = from[b];
        const int second = tg_before_@T(y, x);
        to[k++] = second ? y : x;
        a += !second;
        b += second;
      }
      while (a < middle) to[k++] = from[a++];
      while (b < high) to[k++] = from[b++];
    }
    @T *other = from;
    from = to;
    to = other;
  }
  return from;
}"""

# The same with a position beside each key.
ARGSORT: Final = """\
static const i64 *tg_argsort_@T(@T *keys, i64 *at, i64 n) {
  for (i64 low = 0; low < n; low += @RUN) {
    const i64 high = low + @RUN < n ? low + @RUN : n;
    for (i64 i = low + 1; i < high; i++) {
      const @T key = keys[i];
      const i64 place = at[i];
      i64 j = i;
      for (; j > low && tg_before_@T(key, keys[j - 1]); j--) keys[j] = keys[j - 1], at[j] = at[j - 1];
      keys[j] = key;
      at[j] = place;
    }
  }
  @T *from = keys, *to = keys + n;
  i64 *from_at = at, *to_at = at + n;
  for (i64 width = @RUN; width < n; width *= 2) {
    for (i64 low = 0; low < n; low += 2 * width) {
      const i64 middle = low + width < n ? low + width : n, high = low + 2 * width < n ? low + 2 * width : n;
      i64 a = low, b = middle, k = low;
      while (a < middle && b < high) {
        const @T x = from[a], y = from[b];
        const int second = tg_before_@T(y, x);
        to[k] = second ? y : x;
        to_at[k++] = from_at[second ? b : a];
        a += !second;
        b += second;
      }
      for (; a < middle; a++, k++) to[k] = from[a], to_at[k] = from_at[a];
      for (; b < high; b++, k++) to[k] = from[b], to_at[k] = from_at[b];
    }
    @T *other = from;
    from = to;
    to = other;
    i64 *other_at = from_at;
    from_at = to_at;
    to_at = other_at;
  }
  return from_at;
}"""

# The first place whose element does not go before x (left), or goes after it (right).
SEARCH: Final = """\
static i64 tg_search_@SIDE_@T(const @T *a, i64 n, i64 s, @T x) {
  i64 low = 0;
  while (n > 0) {
    const i64 half = n / 2;
    const int go = @GO;
    low = go ? low + half + 1 : low;
    n = go ? n - half - 1 : half;
  }
  return low;
}"""


def _need(site: Site, name: str, text: str, dtype: str) -> str:
    """A function of the prelude for a dtype, with the comparison it works with."""
    kind = WORDS[dtype]
    _need_before(site, dtype)
    site.prelude.need(f"{name}_{kind}", text.replace("@T", kind).replace("@RUN", str(SORTED_RUN)))
    return f"{name}_{kind}"


def _need_before(site: Site, dtype: str) -> None:
    def compared(fn: object, x: str, y: str) -> str:
        return site.element(fn.op, Element((x, y), (dtype, dtype), "bool", site.prelude))  # type: ignore[attr-defined]

    kind = WORDS[dtype]
    if dtype in PARTS:
        text = BEFORE_COMPLEX.replace("@T", kind).replace("@P", WORDS[PARTS[dtype]])
        site.prelude.need(f"tg_before_{kind}", text)
        return
    text = compared(less, "x", "y")
    if is_inexact(dtype):
        text = f"{text} || ({compared(not_equal, 'y', 'y')} && !({compared(not_equal, 'x', 'x')}))"
    site.prelude.need(f"tg_before_{kind}", BEFORE.replace("@T", kind).replace("@LESS", text))


def argsort(op: t.ArgSort, site: Site) -> Value:
    """A row's keys and positions, sorted beside the row."""
    x = site.memory(site.inputs[0])
    function = _need(site, "tg_argsort", ARGSORT, x.dtype)
    y = site.allocate(0)
    n = x.shape[op.axis]
    keys, places = site.temporary(x.dtype, (multiply(2, n),)), site.temporary("int64", (multiply(2, n),))
    kernel = site.nest()
    row, at = kernel.write(keys), kernel.write(places)
    return _by_rows(op.axis, site, kernel, x, y, row, f"{at}[i] = i;", f"i64 *found = {function}({row}, {at}, @N);")


def sort(op: t.Sort, site: Site) -> Value:
    """A row's keys, sorted beside the row."""
    x = site.memory(site.inputs[0])
    function = _need(site, "tg_sort", SORT, x.dtype)
    y = site.allocate(0)
    keys = site.temporary(x.dtype, (multiply(2, x.shape[op.axis]),))
    kernel = site.nest()
    row = kernel.write(keys)
    return _by_rows(op.axis, site, kernel, x, y, row, "", f"{WORDS[x.dtype]} *found = {function}({row}, @N);")


def _by_rows(axis: int, site: Site, kernel: Nest, x: Array, y: Array, row: str, beside: str, statement: str) -> Value:
    """The loop nest that copies each row, sorts it by a statement and writes what was `found`."""
    source, target = kernel.read(x), kernel.write(y)
    k = x.ndim + axis
    kept = [j for j in range(x.ndim) if j != k]
    indices = kernel.loops([x.shape[j] for j in kept], "j")
    read = kernel.place(source, indices, [x.strides[j] for j in kept])
    write = kernel.place(target, indices, [y.strides[j] for j in kept])
    n = kernel.length(x.shape[k])
    kernel.loop("i", x.shape[k])
    kernel.line(f"{row}[i] = ({read})[{kernel.step('i', x.strides[k])}];")
    if beside:
        kernel.line(beside)
    kernel.close()
    kernel.line(f"const {statement.replace('@N', n)}")
    kernel.loop("i", x.shape[k])
    kernel.line(f"({write})[{kernel.step('i', y.strides[k])}] = found[i];")
    kernel.close(1 + len(indices))
    site.call(kernel)
    return y


def searchsorted(op: t.SearchSorted, site: Site) -> Value:
    """A binary search for each element."""
    a, v = (site.memory(value) for value in site.inputs)
    kind = WORDS[a.dtype]
    _need_before(site, a.dtype)
    here = "a[(low + half) * s]"
    go = f"tg_before_{kind}({here}, x)" if op.side == "left" else f"!tg_before_{kind}(x, {here})"
    name = f"tg_search_{op.side}_{kind}"
    site.prelude.need(name, SEARCH.replace("@SIDE", op.side).replace("@T", kind).replace("@GO", go))
    n, s = a.shape[0], a.strides[0]
    if not v.shape:
        return site.scalar(f"{name}({a.pointer}, {site.length(n)}, {site.length(s)}, *{v.pointer})")
    y = site.allocate(0)
    kernel = site.nest()
    edges, source, target = kernel.read(a), kernel.read(v), kernel.write(y)
    indices = kernel.loops(v.shape)
    element = kernel.at(source, indices, v.strides)
    found = f"{name}({edges}, {kernel.length(n)}, {kernel.length(s)}, {element})"
    kernel.line(f"{kernel.at(target, indices, y.strides)} = {found};")
    kernel.close(len(indices))
    site.call(kernel)
    return y


RULES: Final[dict[object, Rule]] = {t.ArgSort: argsort, t.Sort: sort, t.SearchSorted: searchsorted}
