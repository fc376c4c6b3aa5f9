"""Orders along an axis: merge sorts of a row at a time, in memory of this call; runs of 16 are sorted by insertion.

NaN goes last; a complex number with one behind all that have none, then by which of its parts it is. Halves are
compared as float32.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple, final

from tg.ops import sorting as t
from tg.types.dtypes import is_float
from tg.types.lengths import add, multiply
from tg_native.kernels.index import Condition, Index, index
from tg_native.kernels.lanes import Pair, constant_of, select
from tg_native.loops.costs import SORTED_RUN
from tg_native.loops.pointwise import in_float32

if TYPE_CHECKING:
    from collections.abc import Callable

    from tg.plugin.records import Rule
    from tg_native.graphs.site import Site
    from tg_native.kernels.index import Pointer
    from tg_native.kernels.lanes import Elements, Lanes
    from tg_native.kernels.routine import Routine
    from tg_native.plan.values import Value


def goes_before(x: Elements, y: Elements) -> Condition:
    """Whether x goes before y."""
    if isinstance(x, Pair):
        assert isinstance(y, Pair)
        return Condition(_complex_goes_before(x, y))
    assert not isinstance(y, Pair)
    return Condition(~(x >= y) & ~x.is_nan() if is_float(x.dtype) else x < y)


def _complex_goes_before(x: Pair, y: Pair) -> Lanes:
    """By what is NaN, then by the real part, then by the imaginary one; a comparison with NaN does not hold."""
    (a, b), (c, d) = x, y
    nans, others = (2 * v.real.is_nan().to("int8") + v.imag.is_nan().to("int8") for v in (x, y))
    return select(nans != others, nans < others, select((a < c) | (a > c), a < c, b < d))


@final
class _Row(NamedTuple):
    """The keys of a row and what goes with each, in memory for twice as many.

    In front of the first key and behind the last there is another one, which is read and never matters.
    """

    body: Routine
    keys: Pointer
    beside: Pointer | None
    has_nan: bool
    """Whether NaN is kept apart, so that one instruction compares the others."""

    def take(self, n: Index, load: Callable[[Index], Elements]) -> Index:
        """Read a row; how many are to be sorted: NaN is put at the end of all memory, the first one last."""

        def put(i: Index, count: Lanes) -> list[Lanes]:
            key, to, taken = load(i), Index(count), Index(count) + 1
            if self.has_nan:
                is_nan = Condition(key.is_nan())
                to, taken = is_nan.choose(n + n - 1 - (i - to), to), taken - is_nan.number()
            self.put(key, i.value, to)
            return [taken.value]

        return Index(self.body.fold(0, n, 1, [index(self.body, 0).value], put)[0])

    def before(self, x: Any, y: Any) -> Condition:
        """Whether x goes before y, neither of which is NaN if that is kept apart."""
        return Condition(x < y) if self.has_nan else goes_before(x, y)

    def sort(self, n: Index) -> Index:
        """Sort the first n; where the sorted ones begin, at 0 or at n."""
        self._sort_runs(n)
        body = self.body

        def merge(width: Lanes, source: Lanes) -> list[Lanes]:
            one, both, begin, end = Index(width), Index(width) + Index(width), Index(source), n - Index(source)
            pairs = n // both
            with body.loop(0, pairs) as pair:
                self._merge_equal(begin + pair * both, end + pair * both, one)
            low = pairs * both
            self._merge_last(begin + low, begin + (low + one).least(n), begin + n, end + low)
            return [both.value, end.value]

        first = [index(body, number).value for number in (SORTED_RUN, 0)]
        return Index(body.while_loop(first, lambda width, _: Index(width) < n, merge)[1])

    def _sort_runs(self, n: Index) -> None:
        """By insertion: an element moves to the front until the one there is not behind it."""
        body = self.body
        with body.loop(0, n, SORTED_RUN) as low, body.loop(low + 1, (low + SORTED_RUN).least(n)) as i:
            key, mate = self.key(i), self.mate(i)
            last: list[Elements] = []

            def holds(at: Lanes) -> Condition:
                last[:] = [self.key(Index(at) - 1)]
                return (Index(at) > low) & self.before(key, last[0])

            def move(at: Lanes) -> list[Lanes]:
                to = Index(at) - 1
                self.put(last[0], self.mate(to), Index(at))
                return [to.value]

            (at,) = body.while_loop([i.value], holds, move)
            self.put(key, mate, Index(at))

    def _merge_equal(self, low: Index, to: Index, width: Index) -> None:
        """Merge two sorted runs that follow one another, of a width each, to another place.

        From both ends at once, for neither waits for the other; and neither comes to an end of a run before all are
        written, of which no branch has to be guessed.
        """
        body, middle, high = self.body, low + width, low + width + width
        in_order = self._are_in_order(middle)
        self._copy(low, in_order.choose(high, low), to)
        last = to + width + width - 1

        def take(at: Index, *places: Lanes) -> list[Lanes]:
            a, b, c, d = map(Index, places)  # the first elements of both runs that are left, and the last ones
            first = self.before(self.key(b), self.key(a)).number()
            self._move(self._one(a, b, first), to + at)
            other = self.before(self.key(d), self.key(c)).number()
            self._move(self._one(d, c, other), last - at)
            return [x.value for x in (a + 1 - first, b + first, c - other, d - 1 + other)]

        begin = [x.value for x in (low, middle, middle - 1, high - 1)]
        body.fold(0, in_order.choose(0, width), 1, begin, take)

    def _merge_last(self, low: Index, middle: Index, high: Index, to: Index) -> None:
        """Merge two sorted runs of which the second may be shorter, or none."""
        body = self.body
        begin = ((middle == high) | self._are_in_order(middle)).choose(middle, low)
        self._copy(low, begin, to)

        def holds(a: Lanes, b: Lanes) -> Condition:
            return (Index(a) < middle) & (Index(b) < high)

        def take(a: Lanes, b: Lanes) -> list[Lanes]:
            first, second = Index(a), Index(b)
            taken = self.before(self.key(second), self.key(first)).number()
            self._move(self._one(first, second, taken), to + (first - low) + (second - middle))
            return [(first + 1 - taken).value, (second + taken).value]

        a, b = map(Index, body.while_loop([begin.value, middle.value], holds, take))
        self._copy(a, middle, to + (a - low) + (b - middle))
        self._copy(b, high, to + (b - low))

    def _are_in_order(self, middle: Index) -> Condition:
        """Whether runs are one after the other already, as in a row that was sorted."""
        return ~self.before(self.key(middle), self.key(middle - 1))

    @staticmethod
    def _one(x: Index, y: Index, is_second: Index) -> Index:
        """One of two numbers, by arithmetic: of a choice LLVM makes a branch."""
        return x + (y - x) * is_second

    def _copy(self, low: Index, high: Index, to: Index) -> None:
        with self.body.loop(low, high) as at:
            self._move(at, to + (at - low))

    def _move(self, source: Index, to: Index) -> None:
        self.put(self.key(source), self.mate(source), to)

    def found(self, at: Index) -> Elements:
        """Wanted part of an element: what goes with the key, or the key."""
        return self.body.load((self.beside or self.keys).moved(at))

    def key(self, at: Index) -> Elements:
        """The key at a place."""
        return self.body.load(self.keys.moved(at))

    def mate(self, at: Index) -> Elements | None:
        """Companion of an element, if it has one."""
        return self.body.load(self.beside.moved(at)) if self.beside is not None else None

    def put(self, key: Elements, mate: Elements | None, at: Index) -> None:
        """Write an element."""
        self.body.store(key, self.keys.moved(at))
        if self.beside is not None and mate is not None:
            self.body.store(mate, self.beside.moved(at))


def argsort(op: t.ArgSort, site: Site) -> Value:
    """A row's keys and positions, sorted beside the row."""
    return _by_rows(op.axis, site, has_places=True)


def sort(op: t.Sort, site: Site) -> Value:
    """A row's keys, sorted beside the row."""
    return _by_rows(op.axis, site, has_places=False)


def _by_rows(axis: int, site: Site, *, has_places: bool) -> Value:
    """Copy each row, sort it, and write the keys or the positions."""
    x, y = site.memory(site.inputs[0]), site.allocate(0)
    rest, twice = [k for k in range(x.ndim) if k - x.ndim != axis], multiply(2, x.shape[axis])
    keys = site.temporary(x.dtype, (add(twice, 2),))
    places = site.temporary("int64", (twice,)) if has_places else None
    kernel = site.kernel()
    source, target, first = kernel.read(x), kernel.write(y), kernel.write(keys)
    beside = kernel.write(places) if places is not None else None
    body, n = kernel.body, kernel.length(x.shape[axis])
    for at in (index(body, 0), n + n + 1):
        body.store(constant_of(body, 0, x.dtype), first.moved(at))
    row = _Row(body, first.moved(1), beside, is_float(x.dtype))
    with kernel.loops([x.shape[k] for k in rest]) as outer:
        start, end = (kernel.moved(p, outer, [v.strides[k] for k in rest]) for p, v in ((source, x), (target, y)))
        count = row.take(n, lambda i: body.load(kernel.moved(start, [i], [x.strides[axis]])))
        offset = row.sort(count)
        with body.loop(0, count) as i:
            body.store(row.found(offset + i), kernel.moved(end, [i], [y.strides[axis]]))
        if row.has_nan:
            with body.loop(count, n) as i:
                body.store(row.found(n + n - 1 - (i - count)), kernel.moved(end, [i], [y.strides[axis]]))
    site.run(kernel)
    return y


def searchsorted(op: t.SearchSorted, site: Site) -> Value:
    """A binary search for each element."""
    a, v = (site.memory(value) for value in site.inputs)
    y = site.allocate(0) if v.shape else site.temporary("int64", ())
    kernel = site.kernel()
    edges, source, target = kernel.read(a), kernel.read(v), kernel.write(y)
    body, n = kernel.body, kernel.length(a.shape[0])
    with kernel.loops(v.shape) as at:
        x = body.load(kernel.moved(source, at, v.strides))

        def halve(low: Lanes, left: Lanes) -> list[Lanes]:
            """As many rounds for each element, and no branch that is guessed: what is left may be one too many."""
            rest = Index(left) >> 1
            half = Index(left) - rest
            edge = body.load(kernel.moved(edges, [Index(low) + half - 1], a.strides))
            is_behind = goes_before(edge, x) if op.side == "left" else ~goes_before(x, edge)
            return [is_behind.choose(Index(low) + half, Index(low)).value, rest.value]

        position = body.while_loop([index(body, 0).value, n.value], lambda _, left: Index(left) > 0, halve)[0]
        body.store(position, kernel.moved(target, at, y.strides))
    site.run(kernel)
    return y if v.shape else site.scalar(site.first(y))


RULES: Final[dict[object, Rule]] = {
    t.ArgSort: in_float32(argsort),
    t.Sort: in_float32(sort),
    t.SearchSorted: in_float32(searchsorted),
}
