"""Orders along an axis: merge sorts of a row at a time, in memory of this call; runs of 16 are sorted by insertion."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tg.ops import sorting as t
from tg.types.dtypes import is_complex
from tg.types.lengths import multiply
from tg_native.loops.costs import SORTED_RUN
from tg_native.loops.pointwise import in_float32
from tg_numba.machine import imag, lesser, real
from tg_numba.native import compiled

if TYPE_CHECKING:
    from collections.abc import Callable

    from tg.plugin.records import Rule
    from tg_native.plan.values import Value
    from tg_numba.site import Site


@compiled
def goes_before(x: Any, y: Any) -> Any:
    """Whether x goes before y: NaN goes last."""
    return (x < y) | ((y != y) & (x == x))


@compiled
def goes_before_complex(x: Any, y: Any) -> Any:
    """Whether x goes before y, by the real parts first: numbers, then such with a NaN, by their parts."""
    a, b, c, d = real(x), imag(x), real(y), imag(y)
    if a < c:
        return (b == b) | (d != d)
    if a > c:
        return (d != d) & (b == b)
    if a == c or (a != a and c != c):
        return (b < d) | ((d != d) & (b == b))
    return c != c


def _argsort(before: Any) -> Callable[..., Any]:
    def argsort_row(keys: Any, places: Any, n: Any) -> Any:
        """Sort n keys and the positions beside them, in memory for 2 n of each; where the sorted positions start."""
        for low in range(0, n, SORTED_RUN):
            for i in range(low + 1, lesser(low + SORTED_RUN, n)):
                key, place = keys[i], places[i]
                j = i
                while j > low and before(key, keys[j - 1]):
                    keys[j], places[j] = keys[j - 1], places[j - 1]
                    j -= 1
                keys[j], places[j] = key, place
        source, target = 0, n
        width = SORTED_RUN
        while width < n:
            for low in range(0, n, 2 * width):
                middle, high = lesser(low + width, n), lesser(low + 2 * width, n)
                a, b = low, middle
                for k in range(low, high):
                    second = a >= middle or (b < high and before(keys[source + b], keys[source + a]))
                    chosen = b if second else a
                    keys[target + k], places[target + k] = keys[source + chosen], places[source + chosen]
                    if second:
                        b += 1
                    else:
                        a += 1
            source, target = target, source
            width *= 2
        return source

    return argsort_row


argsort_row = _argsort(goes_before)
argsort_row_complex = _argsort(goes_before_complex)
argsort_row_complex.__name__ = "argsort_row_complex"


def argsort(op: t.ArgSort, site: Site) -> Value:
    """A row's keys and positions, sorted beside the row."""
    return _by_rows(op.axis, site, keep_keys=False)


def sort(op: t.Sort, site: Site) -> Value:
    """A row's keys, sorted beside the row."""
    return _by_rows(op.axis, site, keep_keys=True)


def _by_rows(axis: int, site: Site, *, keep_keys: bool) -> Value:
    """Copy each row, sort it, and write the keys or the positions."""
    x, y = site.memory(site.inputs[0]), site.allocate(0)
    n = x.shape[axis]
    keys, places = (site.temporary(d, (multiply(2, n),)) for d in (x.dtype, "int64"))
    function = site.compiled(argsort_row_complex if is_complex(x.dtype) else argsort_row)
    nest = site.nest()
    kept = [k for k in range(x.ndim) if k - x.ndim != axis]
    indices = nest.loops([x.shape[k] for k in kept])
    source = nest.place(nest.pointer(x), indices, [x.strides[k] for k in kept])
    target = nest.place(nest.pointer(y), indices, [y.strides[k] for k in kept])
    key, place = nest.pointer(keys), nest.pointer(places)
    i = nest.loop(n)
    nest.line(f"{key}[{i}] = {source}[{nest.step(i, x.strides[axis])}]")
    nest.line(f"{place}[{i}] = {i}")
    nest.close()
    start = nest.local(f"{function}({key}, {place}, {nest.length(n)})")
    i = nest.loop(n)
    nest.line(f"{target}[{nest.step(i, y.strides[axis])}] = {key if keep_keys else place}[{start} + {i}]")
    site.call(nest)
    return y


def _search(before: Any, name: str, *, behind: bool) -> Any:
    def search(a: Any, n: Any, s: Any, x: Any) -> Any:
        """The first place whose element does not go before x, or, where x is to go `behind`, goes behind x."""
        low = 0
        while n > 0:
            half = n // 2
            element = a[(low + half) * s]
            if (not before(x, element)) if behind else before(element, x):
                low += half + 1
                n -= half + 1
            else:
                n = half
        return low

    search.__name__ = name
    return compiled(search)


SEARCH: Final = {  # by the side, and by whether elements are complex
    ("left", False): _search(goes_before, "search_left", behind=False),
    ("right", False): _search(goes_before, "search_right", behind=True),
    ("left", True): _search(goes_before_complex, "search_left_complex", behind=False),
    ("right", True): _search(goes_before_complex, "search_right_complex", behind=True),
}


def searchsorted(op: t.SearchSorted, site: Site) -> Value:
    """A binary search for each element."""
    a, v = (site.memory(value) for value in site.inputs)
    function = site.compiled(SEARCH[op.side, is_complex(a.dtype)])
    nest = site.nest()
    edges = f"{nest.pointer(a)}, {nest.length(a.shape[0])}, {nest.length(a.strides[0])}"
    if not v.shape:
        return site.scalar(site.call(nest, f"{function}({edges}, {nest.pointer(v)}[0])"))
    y = site.allocate(0)
    indices = nest.loops(v.shape)
    element = f"{nest.pointer(v)}[{nest.offset(indices, v.strides)}]"
    nest.line(f"{nest.pointer(y)}[{nest.offset(indices, y.strides)}] = {function}({edges}, {element})")
    site.call(nest)
    return y


RULES: Final[dict[object, Rule]] = {
    t.ArgSort: in_float32(argsort),
    t.Sort: in_float32(sort),
    t.SearchSorted: in_float32(searchsorted),
}
