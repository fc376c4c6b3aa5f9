"""Many elements folded into one for each lane, and lanes into one.

Floating sums are done in double precision. At most `CHUNK` terms are added one after the other in a lane, and such sums
like the digits of a number that counts, pairwise: the error of n terms is at most (CHUNK + log2(n)) · eps · Σ|x|.
Halves are folded in float32 and rounded once.

A sum of complex numbers that follow one another is *interleaved*: one of twice as many real numbers, whose even lanes
have real parts and whose odd lanes imaginary ones. Until the end nothing parts them.
"""

from __future__ import annotations

import contextlib
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, cast, final

from tg.ops.reductions import REDUCTIONS
from tg.types.dtypes import is_complex, is_inexact
from tg_native.kernels.dtypes import PARTS, is_half
from tg_native.kernels.half import narrowed, widened
from tg_native.kernels.index import Index, index
from tg_native.kernels.lanes import Lanes, Pair, constant, constant_of, lane_of, parts, select
from tg_native.kernels.routine import Block
from tg_native.loops.costs import CHUNK, PARTIAL_SUMS
from tg_native.plan.values import is_one

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tg.plugin.records import Rule
    from tg.types.lengths import Length
    from tg_native.kernels.lanes import Elements
    from tg_native.kernels.routine import Operand, Routine, Variable
    from tg_native.loops.kernel import Kernel
    from tg_native.loops.sums import Sums

    Write = Callable[[Block], Sequence[Elements]]


def push(stack: Variable, count: Index, x: Lanes) -> None:
    """Add the sum of one more chunk to those of `count` before it, as the digits of a number that counts."""
    body = cast("Routine", x.body)
    place = (~count).trailing()
    (total,) = body.fold(0, place, 1, [x], lambda k, total: [stack.get(k) + total])
    stack.set(total, place)


def total(stack: Variable, count: Index, zero: Lanes) -> Lanes:
    """The sum of all chunks."""
    body = cast("Routine", zero.body)

    def add_digit(k: Index, so_far: Lanes) -> list[Lanes]:
        return body.either(((count >> k) & 1) != 0, lambda: [so_far + stack.get(k)], lambda: [so_far])

    return body.fold(0, count.length(), 1, [zero], add_digit)[0]


def is_floating_sum(fn: Any, dtype: str) -> bool:
    """Whether a reduction adds numbers that are rounded."""
    return REDUCTIONS[fn].is_sum and is_inexact(dtype)


def working_dtype(fn: Any, dtype: str) -> str:
    """Dtype in which elements of a dtype are reduced."""
    return REDUCTIONS[fn].working(dtype)


def wide(value: Elements, dtype: str, width: int) -> Elements:
    """Elements in the dtype that they are reduced in, in vectors of another width."""
    body = cast("Routine", value.body)
    if is_half(value.dtype):
        value = widened(value)  # type: ignore[arg-type]
    with body.of(width):
        elements = Pair(*map(body.regrouped, value)) if isinstance(value, Pair) else body.regrouped(value)
        return elements.to(dtype)


def narrow(value: Elements, dtype: str) -> Elements:
    """The result of a reduction, in the dtype of the elements."""
    return narrowed(value, dtype) if is_half(dtype) else value.to(dtype)  # type: ignore[arg-type]


def is_interleaved(fn: Any, dtype: str, stride: int | Length) -> bool:
    """Whether elements at a distance are folded as the real numbers that they are in memory."""
    return is_complex(dtype) and is_floating_sum(fn, dtype) and is_one(stride)


def combined(rule: Rule, fn: Any, x: Elements, y: Elements) -> Elements:
    """Elements of one dtype combined: of numbers too, of which truth is asked, the result is one of that dtype."""
    is_logical = REDUCTIONS[fn].kind == "logical"
    result: Any = rule(fn.op, (x, y), "bool" if is_logical else x.dtype)
    if is_logical and isinstance(x, Pair):
        return Pair(result.to(x.real.dtype), x.imag.like(0))
    return result.to(x.dtype) if is_logical else result  # type: ignore[no-any-return]


@final
class Fold:
    """Elements of a dtype folded by a function: `rounds` and `over` run along an axis, `result` is what is found."""

    def __init__(
        self, kernel: Kernel, fn: Any, rule: Rule, dtype: str, terms: int | None = None, *, interleaved: bool = False
    ) -> None:
        """Prepare the memory for what is found in between, for as many lanes as the body has.

        Args:
            terms: how many elements are folded into one lane, if it is known: few of them need no pairs.
            interleaved: what is folded are the parts of complex numbers, in neighbouring lanes.
        """
        self.kernel, self.fn, self.rule, self.dtype = kernel, fn, rule, dtype
        self.working = working_dtype(fn, dtype)
        self.each = 2 if interleaved else 1  # lanes of an element
        self._dtype_given, self._dtype_folded = (PARTS[d] if interleaved else d for d in (dtype, self.working))
        self.in_pairs = is_floating_sum(fn, dtype) and (terms is None or terms > CHUNK)
        body = self.body = kernel.body
        self.dtypes = [PARTS[self.working]] * 2 if is_complex(self._dtype_folded) else [self._dtype_folded]
        self.width = body.width_of(self.dtypes[0])  # of what has been found, whose elements may be the widest
        with body.of(self.width):
            self._found = [body.variable(d) for d in self.dtypes]  # by the last run of rounds, or by all
            self._stacks = [body.variable(d, PARTIAL_SUMS) for d in self.dtypes] if self.in_pairs else []
        kernel.sums += len(self._stacks)
        with body.of(0):
            self._runs = body.variable("int64") if self.in_pairs else None

    @property
    def none(self) -> Elements:
        """The fold's identity element."""
        return self._identity(self._dtype_folded)

    def _identity(self, dtype: str) -> Elements:
        return constant_of(self.body, REDUCTIONS[self.fn].identity(dtype), dtype)

    # --- before, in and after a run of rounds ------------------------------------------------------------------------

    def begin(self) -> None:
        """Start anew, once for each result."""
        if self._runs is not None:
            self._runs.set(index(self.body, 0).value)
        self.keep(parts([self.none]))

    def first(self) -> list[Lanes]:
        """The values that a run of rounds begins with."""
        if self._runs is None:
            return self.found()
        body = self.body
        runs = Index(self._runs.get())
        with body.when(runs > 0):
            before = runs - 1
            values = self.found()
            with body.of(self.width):
                for stack, last in zip(self._stacks, values, strict=True):
                    self._by_function("push", push, (stack, before, last))
        self._runs.set((runs + 1).value)
        with body.of(self.width):
            return [body.regrouped(value) for value in parts([self.none])]

    def _by_function(self, name: str, write: Callable[..., Lanes | None], operands: Sequence[Operand]) -> Lanes | None:
        """Add chunks by a function for all sums of the loop, where these are so many that it is worth one."""
        if self.kernel.sums < self.body.shares_from:
            return write(*operands)
        return self.body.subroutine(name, write, operands)

    def taken(self, last: Sequence[Lanes], value: Elements) -> list[Lanes]:
        """Values of a run after some more elements."""
        value = wide(value, self._dtype_folded, self.width)
        with self.body.of(self.width):
            return parts([combined(self.rule, self.fn, self._given(last), value)])

    def keep(self, values: Sequence[Lanes]) -> None:
        """Keep what a run of rounds has found."""
        for place, value in zip(self._found, values, strict=True):
            place.set(value)

    def found(self) -> list[Lanes]:
        """Values that were kept."""
        return [place.get() for place in self._found]

    def over(self, end: Index, load: Callable[[Index], Elements]) -> None:
        """Fold what `load` gives for each index before `end`."""
        body = self.body
        with _chunks(self.kernel, [self], index(body, 0), end, 1) as (first, last):
            self.keep(body.fold(first, last, 1, self.first(), lambda at, *so_far: self.taken(so_far, load(at))))

    def _given(self, values: Sequence[Lanes]) -> Elements:
        return Pair(*values) if is_complex(self._dtype_folded) else values[0]

    # --- results -----------------------------------------------------------------------------------------------------

    def total(self) -> Elements:
        """Total of each lane."""
        if self._runs is not None:
            body = self.body
            runs = Index(self._runs.get())
            with body.when(runs > 1), body.of(self.width):
                before, last = runs - 1, self._given(self.found())
                zero = constant(body, 0, self.dtypes[0])
                others = [self._by_function("total", total, (stack, before, zero)) for stack in self._stacks]
                self.keep(self.taken(parts([last]), self._given([x for x in others if x is not None])))
        return self._given(self.found())

    def whole(self) -> Elements:
        """Total of all lanes: a single element, of the dtype that is worked with."""
        with self.body.of(self.width):
            return across(self.rule, self.fn, self.total(), self.each)

    def result(self) -> Elements:
        """Total of all lanes: a single element, of the dtype of the elements."""
        total = self.whole()
        with self.body.of(0):
            return narrow(total, self.dtype)

    def inside(self, value: Elements, block: Block) -> Elements:
        """The elements of a block, and what changes nothing in the lanes outside."""
        nothing = self._identity(self._dtype_given)
        if block.whole is None:
            mask = block.mask
            return value if mask is None else select(mask, value, nothing)

        def chosen(x: Lanes, y: Lanes) -> Lanes:
            mask = block.mask  # here: whole blocks do without it
            assert mask is not None
            return select(mask, x, y)

        is_partial, body = ~block.whole, self.body
        pairs = zip(parts([value]), parts([nothing]), strict=True)
        elements = [body.replaced(is_partial, x, partial(chosen, x, y)) for x, y in pairs]
        return Pair(*elements) if len(elements) > 1 else elements[0]


def across(rule: Rule, fn: Any, value: Elements, each: int = 1) -> Elements:
    """All lanes folded into one element, two by two; `each` are its lanes: of a complex number two may be its parts."""
    body = value.body
    if body.lanes > each:
        low, high = halves(value)
        with body.of(body.lanes // 2):
            return across(rule, fn, combined(rule, fn, low, high), each)
    if isinstance(value, Lanes) and each > 1:
        return Pair(lane_of(value, 0), lane_of(value, 1))
    return lane_of(value, 0)


def halves(value: Elements) -> list[Elements]:
    """The first half of the lanes, and the second."""
    if isinstance(value, Pair):
        return [Pair(*both) for both in zip(*map(halves, value), strict=True)]
    return list(cast("Routine", value.body).halves(value))


# --- several at once -------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def _chunks(
    kernel: Kernel, folds: Sequence[Fold], start: Index, end: Index, step: int
) -> Iterator[tuple[Index, Index]]:
    """Runs of as many rounds as are added one after the other; gives where each begins and ends."""
    body = kernel.body
    if not any(fold.in_pairs for fold in folds):
        yield start, end
        return
    with body.loop(start, end, CHUNK * step) as chunk:
        yield chunk, (chunk + CHUNK * step).least(end)


class Span(NamedTuple):
    """Rounds that are alike: from and to before which index, the block at an index; whether there is one at most."""

    start: Index
    end: Index
    block: Callable[[Index], Block]
    once: bool = False

    @contextlib.contextmanager
    def rounds(self, body: Routine) -> Iterator[Index]:
        """Context whose statements are done in each round; gives the index."""
        if self.once:
            with body.when(self.start < self.end):
                yield self.start
        else:
            with body.loop(self.start, self.end, body.lanes) as at:
                yield at


def rounds(
    kernel: Kernel,
    folds: Sequence[Fold],
    length: int | Length,
    write: Write,
    *,
    twice: bool,
    calls: bool = False,
    sums: Sums | None = None,
    first: bool = False,
) -> None:
    """Run along an axis in blocks of lanes as `Kernel.blocks`; `write` also gives what each fold takes of a block.

    Where folds are interleaved, which all are or none, blocks are of the parts of elements.

    Args:
        calls: `write` calls functions, around which no vector stays in its register.
        sums: does full blocks in the place of `write`.
        first: the axis is the first one, which threads may share.
    """
    body, each = kernel.body, max((fold.each for fold in folds), default=1)
    low, n = (at * each for at in kernel.bounds(length, first=first))
    run, is_part = _in_memory if calls else _in_registers, first and kernel.share is not None
    with _chunks(kernel, folds, low, n, body.lanes) as (begin, end):
        start, spans, last = begin, list[Span](), [value for fold in folds for value in fold.first()]
        if sums is not None:
            start, last = sums.summed(begin, end, last)
        elif twice:
            start = begin + ((end - begin) & -body.lanes)
            spans.append(Span(begin, start, Block))
        if sums is not None or not twice or is_part or type(length) is not int or length * each % body.lanes:
            block = kernel.partial if twice or sums is not None else kernel.some
            spans.append(Span(start, end, lambda at: block(at, n), once=twice and sums is None))
        run(kernel, folds, spans, write, last)


def _in_registers(
    kernel: Kernel, folds: Sequence[Fold], spans: Sequence[Span], write: Write, last: Sequence[Lanes]
) -> None:
    """Rounds that hand on what has been found."""

    def taken(block: Block, so_far: Sequence[Lanes]) -> list[Lanes]:
        left, totals = iter(so_far), list[Lanes]()
        for fold, value in zip(folds, write(block), strict=True):
            totals += fold.taken([next(left) for _ in fold.dtypes], fold.inside(value, block))
        return totals

    body = kernel.body
    for span in spans:

        def write_round(at: Index, *so_far: Lanes, span: Span = span) -> list[Lanes]:
            return taken(span.block(at), so_far)

        if span.once:
            last = body.either(
                span.start < span.end, partial(write_round, span.start, *last), partial(list[Lanes], last)
            )
        else:
            last = body.fold(span.start, span.end, body.lanes, last, write_round)
    left = iter(last)
    for fold in folds:
        fold.keep([next(left) for _ in fold.dtypes])


def _in_memory(
    kernel: Kernel, folds: Sequence[Fold], spans: Sequence[Span], write: Write, last: Sequence[Lanes]
) -> None:
    """Rounds that read and write what has been found: once each, where registers would be saved and handed on."""
    left = iter(last)
    for fold in folds:
        fold.keep([next(left) for _ in fold.dtypes])
    for span in spans:
        with span.rounds(kernel.body) as at:
            block = span.block(at)
            for fold, value in zip(folds, write(block), strict=True):
                fold.keep(fold.taken(fold.found(), fold.inside(value, block)))
