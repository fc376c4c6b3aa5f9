"""Many elements folded into one for each lane, and lanes into one.

Floating sums are done in double precision. At most `CHUNK` terms are added one after the other in a lane, and such sums
like the digits of a number that counts, pairwise: the error of n terms is at most (CHUNK + log2(n)) · eps · Σ|x|.
Halves are folded in float32 and rounded once.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, Final, NamedTuple, final

from tg.ops.elementwise.arithmetic import add
from tg.ops.reduction import identity
from tg.types.dtypes import is_complex, is_inexact
from tg_native.kernels.dtypes import PARTS, is_half, working
from tg_native.kernels.half import narrowed, widened
from tg_native.kernels.lanes import Lanes, Pair, constant_of, lane_of, parts, select
from tg_numba.body import body_of
from tg_numba.kernel import Block

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tg.plugin.records import Rule
    from tg.types.lengths import Length
    from tg_native.kernels.lanes import Elements
    from tg_numba.kernel import Kernel
    from tg_numba.sums import Sums

    Write = Callable[[Block], Sequence[Elements]]

CHUNK: Final = 64  # terms that are added one after the other
DEEP: Final = 48  # partial sums: more than a count of chunks has binary digits

PUSH: Final = """\
define internal void @NAME(ptr %stack, i64 %count, V %x) nounwind {
entry:
  br label %head
head:
  %k = phi i64 [0, %entry], [%k1, %body]
  %sum = phi V [%x, %entry], [%more, %body]
  %place = getelementptr V, ptr %stack, i64 %k
  %left = lshr i64 %count, %k
  %digit = trunc i64 %left to i1
  br i1 %digit, label %body, label %done
body:
  %old = load V, ptr %place, align 64
  %more = fadd V %old, %sum
  %k1 = add i64 %k, 1
  br label %head
done:
  store V %sum, ptr %place, align 64
  ret void
}"""
TOTAL: Final = """\
define internal V @NAME(ptr %stack, i64 %count) nounwind {
entry:
  br label %head
head:
  %k = phi i64 [0, %entry], [%k1, %tail]
  %sum = phi V [zeroinitializer, %entry], [%next, %tail]
  %left = lshr i64 %count, %k
  %go = icmp ne i64 %left, 0
  br i1 %go, label %body, label %done
body:
  %digit = trunc i64 %left to i1
  br i1 %digit, label %more, label %tail
more:
  %place = getelementptr V, ptr %stack, i64 %k
  %old = load V, ptr %place, align 64
  %added = fadd V %sum, %old
  br label %tail
tail:
  %next = phi V [%sum, %body], [%added, %more]
  %k1 = add i64 %k, 1
  br label %head
done:
  ret V %sum
}"""


def is_floating_sum(fn: Any, dtype: str) -> bool:
    """Whether a reduction adds numbers that are rounded."""
    return fn is add and is_inexact(dtype)


def working_dtype(fn: Any, dtype: str) -> str:
    """What elements of a dtype are reduced in."""
    if is_floating_sum(fn, dtype):
        return "complex128" if is_complex(dtype) else "float64"
    return working(dtype)


def wide(value: Elements, dtype: str) -> Elements:
    """Elements in the dtype that they are reduced in."""
    if is_half(value.dtype):
        value = widened(value)  # type: ignore[arg-type]
    return value.to(dtype)


def narrow(value: Elements, dtype: str) -> Elements:
    """What has been found, in the dtype of the elements."""
    return narrowed(value, dtype) if is_half(dtype) else value.to(dtype)  # type: ignore[arg-type]


@final
class Fold:
    """Elements of a dtype folded by a function: `rounds` and `over` run along an axis, `result` is what is found."""

    def __init__(self, kernel: Kernel, fn: Any, rule: Rule, dtype: str, terms: int | None = None) -> None:
        """Prepare the memory for what is found in between, for as many lanes as the body has.

        Args:
            terms: how many elements are folded into one lane, if it is known: few of them need no pairs.
        """
        self.kernel, self.fn, self.rule, self.dtype = kernel, fn, rule, dtype
        self.working = working_dtype(fn, dtype)
        self.in_pairs = is_floating_sum(fn, dtype) and (terms is None or terms > CHUNK)
        body = kernel.body
        self.kinds = [body.kind(d) for d in ([PARTS[self.working]] * 2 if is_complex(dtype) else [self.working])]
        self._found = [body.frame(kind) for kind in self.kinds]  # by the last run of rounds, or by all
        self._stacks = [body.frame(kind, DEEP) for kind in self.kinds] if self.in_pairs else []  # of the runs before
        self._runs = body.frame("i64") if self.in_pairs else ""

    @property
    def none(self) -> Elements:
        """What nothing is folded into."""
        return constant_of(self.kernel.body, identity(self.fn, self.working), self.working)

    # --- before, in and after a run of rounds ------------------------------------------------------------------------

    def begin(self) -> None:
        """Start anew, once for each result."""
        if self.in_pairs:
            self.kernel.body.do(f"store i64 0, ptr {self._runs}")
        self.keep([part.text for part in parts([self.none])])

    def first(self) -> list[tuple[str, str]]:
        """The types and values that a run of rounds begins with."""
        if not self.in_pairs:
            return list(zip(self.kinds, self.found(), strict=True))
        body = self.kernel.body
        runs = body.made(f"load i64, ptr {self._runs}")
        with body.when(body.find(f"icmp sgt i64 {runs}, 0")):
            before = body.find(f"sub i64 {runs}, 1")
            for stack, kind, text in zip(self._stacks, self.kinds, self.found(), strict=True):
                body.do(f"call void @{self._defined('push', PUSH)}(ptr {stack}, i64 {before}, {kind} {text})")
        body.do(f"store i64 {body.find(f'add i64 {runs}, 1')}, ptr {self._runs}")
        return [part.operand for part in parts([self.none])]

    def taken(self, last: Sequence[str], value: Elements) -> list[str]:
        """What the values of a run become by some elements."""
        found: Any = self.rule(self.fn.op, (self._given(last), wide(value, self.working)), self.working)
        return [part.text for part in parts([found])]

    def keep(self, found: Sequence[str]) -> None:
        """Keep what a run of rounds has found."""
        for place, kind, text in zip(self._found, self.kinds, found, strict=True):
            self.kernel.body.do(f"store {kind} {text}, ptr {place}, align 64")

    def found(self) -> list[str]:
        """What was kept."""
        pairs = zip(self._found, self.kinds, strict=True)
        return [self.kernel.body.made(f"load {kind}, ptr {place}, align 64") for place, kind in pairs]

    def _defined(self, name: str, text: str) -> str:
        """The function of that name for so many lanes."""
        body, kind = self.kernel.body, self.kinds[0]
        name = f"tg.{name}.{body.lanes}"
        body.module.define(name, text.replace("@NAME", f"@{name}").replace("V", kind))
        return name

    def over(self, end: str, load: Callable[[str], Elements]) -> None:
        """Fold what `load` gives for each index before `end`."""
        with _chunks(self.kernel, [self], end, 1) as (first, last):
            body = self.kernel.body
            self.keep(body.fold(first, last, 1, self.first(), lambda at, *texts: self.taken(texts, load(at))))

    def _given(self, texts: Sequence[str]) -> Elements:
        body = self.kernel.body
        if is_complex(self.working):
            return Pair(*(Lanes(body, PARTS[self.working], text) for text in texts))
        return Lanes(body, self.working, texts[0])

    # --- results -----------------------------------------------------------------------------------------------------

    def total(self) -> Elements:
        """What has been found in each lane."""
        if self.in_pairs:
            body = self.kernel.body
            runs = body.made(f"load i64, ptr {self._runs}")
            with body.when(body.find(f"icmp sgt i64 {runs}, 1")):
                before, name = body.find(f"sub i64 {runs}, 1"), self._defined("total", TOTAL)
                last, calls = self._given(self.found()), zip(self.kinds, self._stacks, strict=True)
                others = self._given([body.made(f"call {k} @{name}(ptr {s}, i64 {before})") for k, s in calls])
                self.keep(self.taken([part.text for part in parts([last])], others))
        return self._given(self.found())

    def result(self) -> Elements:
        """What has been found in all lanes: a single element, of the dtype of the elements."""
        found = across(self.rule, self.fn, self.total())
        with self.kernel.body.of(0):
            return narrow(found, self.dtype)

    def inside(self, value: Elements, block: Block) -> Elements:
        """The elements of a block, and what changes nothing in the lanes outside."""
        if block.mask is None:
            return value
        mask = Lanes(self.kernel.body, "bool", block.mask)
        none = constant_of(self.kernel.body, identity(self.fn, self.dtype), self.dtype)
        return select(mask, value, none)


def across(rule: Rule, fn: Any, value: Elements) -> Elements:
    """All lanes folded into one, two by two: a single element."""
    body = body_of(value)
    if body.lanes > 1:
        low, high = halves(value)
        with body.of(body.lanes // 2):
            both: Any = rule(fn.op, (low, high), value.dtype)
            return across(rule, fn, both)
    return lane_of(value, 0)


def halves(value: Elements) -> list[Elements]:
    """The first half of the lanes, and the second."""
    if isinstance(value, Pair):
        return [Pair(*both) for both in zip(*map(halves, value), strict=True)]
    body, count = body_of(value), value.body.lanes // 2
    found: list[Elements] = []
    for start in (0, count):
        places = ", ".join(f"i32 {start + k}" for k in range(count))
        text = f"shufflevector {value.kind} {value.text}, {value.kind} poison, <{count} x i32> <{places}>"
        found.append(Lanes(body, value.dtype, body.find(text)))
    return found


# --- several at once -------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def _chunks(kernel: Kernel, folds: Sequence[Fold], end: str, step: int) -> Iterator[tuple[str, str]]:
    """Runs of as many rounds as are added one after the other; gives where each begins and ends."""
    body = kernel.body
    if not any(fold.in_pairs for fold in folds):
        yield "0", end
        return
    with body.loop("0", end, CHUNK * step) as chunk:
        far = body.find(f"add i64 {chunk}, {CHUNK * step}")
        yield chunk, body.called("llvm.smin.i64", "i64", [("i64", far), ("i64", end)])


class Span(NamedTuple):
    """Rounds that are alike: from and to before which index, and the block at an index."""

    start: str
    end: str
    block: Callable[[str], Block]


def rounds(
    kernel: Kernel,
    folds: Sequence[Fold],
    length: int | Length,
    write: Write,
    *,
    twice: bool,
    calls: bool = False,
    sums: Sums | None = None,
) -> None:
    """Run along an axis in blocks of lanes as `Kernel.blocks`; `write` also gives what each fold takes of a block.

    Args:
        calls: `write` calls functions, around which no vector stays in its register.
        sums: does full blocks in the place of `write`.
    """
    body, n = kernel.body, kernel.length(length)
    run = _in_memory if calls else _in_registers
    with _chunks(kernel, folds, n, body.lanes) as (first, end):
        start, spans, last = first, list[Span](), [pair for fold in folds for pair in fold.first()]
        if sums is not None:
            start, last = sums.summed(first, end, last)
        elif twice:
            whole = body.find(f"and i64 {body.find(f'sub i64 {end}, {first}')}, {-body.lanes}")
            start = body.find(f"add i64 {first}, {whole}")
            spans.append(Span(first, start, Block))
        if sums is not None or not twice or type(length) is not int or length % body.lanes:
            spans.append(Span(start, end, lambda at: kernel.partial(at, n)))
        run(kernel, folds, spans, write, last)


def _in_registers(
    kernel: Kernel, folds: Sequence[Fold], spans: Sequence[Span], write: Write, last: Sequence[tuple[str, str]]
) -> None:
    """Rounds that hand on what has been found."""

    def taken(block: Block, texts: Sequence[str]) -> list[str]:
        left, found = iter(texts), list[str]()
        for fold, value in zip(folds, write(block), strict=True):
            found += fold.taken([next(left) for _ in fold.kinds], fold.inside(value, block))
        return found

    for span in spans:

        def write_round(at: str, *texts: str, span: Span = span) -> list[str]:
            return taken(span.block(at), texts)

        found = kernel.body.fold(span.start, span.end, kernel.body.lanes, last, write_round)
        last = [(kind, text) for (kind, _), text in zip(last, found, strict=True)]
    left = iter(last)
    for fold in folds:
        fold.keep([next(left)[1] for _ in fold.kinds])


def _in_memory(
    kernel: Kernel, folds: Sequence[Fold], spans: Sequence[Span], write: Write, last: Sequence[tuple[str, str]]
) -> None:
    """Rounds that read and write what has been found: once each, where registers would be saved and handed on."""
    left = iter(last)
    for fold in folds:
        fold.keep([next(left)[1] for _ in fold.kinds])
    for span in spans:
        with kernel.body.loop(span.start, span.end, kernel.body.lanes) as at:
            block = span.block(at)
            for fold, value in zip(folds, write(block), strict=True):
                fold.keep(fold.taken(fold.found(), fold.inside(value, block)))
