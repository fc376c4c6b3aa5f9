"""Many elements folded into one for each lane, and lanes into one.

Floating sums are pairwise: blocks of few terms are added one after the other, and their sums like the digits of a
number that counts, so that a sum of n terms has gone through about log n additions. They are done in double precision.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, final

from tg.ops.elementwise.arithmetic import add
from tg.ops.reduction import identity
from tg.types.dtypes import is_complex, is_inexact
from tg_numba.assembly import PARTS
from tg_numba.lanes import Lanes, Pair, constant_of, parts, select

if TYPE_CHECKING:
    from collections.abc import Callable

    from tg.plugin.records import Rule
    from tg_numba.kernel import Block, Kernel
    from tg_numba.lanes import Elements

CHUNK: Final = 16  # terms that are added one after the other
DEEP: Final = 48  # partial sums: more than a count of chunks has binary digits

PUSH: Final = """\
define internal i64 @tg.push.W(ptr %stack, i64 %count, V %x) nounwind {
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
  %next = add i64 %count, 1
  ret i64 %next
}"""
TOTAL: Final = """\
define internal V @tg.total.W(ptr %stack, i64 %count) nounwind {
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


@final
class Fold:
    """Elements of a dtype folded by a function: `over` runs along an axis, `total` is what has been found."""

    def __init__(self, kernel: Kernel, fn: Any, rule: Rule, dtype: str, terms: int | None = None) -> None:
        """Prepare the memory for what is found in between.

        Args:
            terms: how many elements are folded into one lane, if it is known: few of them need no pairs.
        """
        self.kernel, self.fn, self.rule, self.dtype = kernel, fn, rule, dtype
        self.sums = fn is add and is_inexact(dtype)
        self.working = ("complex128" if is_complex(dtype) else "float64") if self.sums else dtype
        self.in_pairs = self.sums and (terms is None or terms > CHUNK)
        body = kernel.body
        self.kinds = [body.kind(d) for d in ([PARTS[self.working]] * 2 if is_complex(dtype) else [self.working])]
        self._places = [body.frame(kind, DEEP if self.in_pairs else 1) for kind in self.kinds]
        self._count = body.frame("i64") if self.in_pairs else ""

    @property
    def none(self) -> Elements:
        """What nothing is folded into."""
        return constant_of(self.kernel.body, identity(self.fn, self.working), self.working)

    def begin(self) -> None:
        """Start anew, once for each result."""
        body = self.kernel.body
        if self.in_pairs:
            body.do(f"store i64 0, ptr {self._count}")
            return
        for place, part in zip(self._places, parts([self.none]), strict=True):
            body.do(f"store {part.kind} {part.text}, ptr {place}, align 64")

    def over(self, end: str, step: int, load: Callable[[str], Elements], start: str = "0") -> None:
        """Fold what `load` gives for each index from `start` to before `end`."""
        body = self.kernel.body
        if not self.in_pairs:
            first = [body.made(f"load {k}, ptr {p}, align 64") for k, p in zip(self.kinds, self._places, strict=True)]
            found = self._folded(start, end, step, first, load)
            for place, kind, text in zip(self._places, self.kinds, found, strict=True):
                body.do(f"store {kind} {text}, ptr {place}, align 64")
            return
        with body.loop(start, end, CHUNK * step) as chunk:
            far = body.find(f"add i64 {chunk}, {CHUNK * step}")
            near = body.called("llvm.smin.i64", "i64", [("i64", far), ("i64", end)])
            self._push(self._folded(chunk, near, step, [part.text for part in parts([self.none])], load))

    def _folded(self, start: str, end: str, step: int, first: list[str], load: Callable[[str], Elements]) -> list[str]:
        def write(index: str, *last: str) -> list[str]:
            found: Any = self.rule(self.fn.op, (self._given(last), self._wide(load(index))), self.working)
            return [part.text for part in parts([found])]

        return self.kernel.body.fold(start, end, step, self.kinds[0], first, write)

    def _wide(self, value: Elements) -> Elements:
        return value.to(self.working) if self.sums else value

    def _given(self, texts: tuple[str, ...] | list[str]) -> Elements:
        body = self.kernel.body
        if is_complex(self.working):
            return Pair(*(Lanes(body, PARTS[self.working], text) for text in texts))
        return Lanes(body, self.working, texts[0])

    def _push(self, texts: list[str]) -> None:
        body, kind = self.kernel.body, self.kinds[0]
        width = f"{body.lanes}"
        body.module.define(f"tg.push.{width}", PUSH.replace("W(", f"{width}(").replace("V", kind))
        count = body.made(f"load i64, ptr {self._count}")
        for place, text in zip(self._places, texts, strict=True):
            more = body.made(f"call i64 @tg.push.{width}(ptr {place}, i64 {count}, {kind} {text})")
        body.do(f"store i64 {more}, ptr {self._count}")

    def total(self) -> Elements:
        """What has been found, of the dtype of the elements, in each lane."""
        body, kind = self.kernel.body, self.kinds[0]
        if not self.in_pairs:
            return self._given([body.made(f"load {kind}, ptr {place}, align 64") for place in self._places])
        width = f"{body.lanes}"
        body.module.define(f"tg.total.{width}", TOTAL.replace("W(", f"{width}(").replace("V", kind))
        count = body.made(f"load i64, ptr {self._count}")
        found = [body.made(f"call {kind} @tg.total.{width}(ptr {place}, i64 {count})") for place in self._places]
        return self._given(found)

    def across(self) -> Elements:
        """What has been found in all lanes, in the first one."""
        value: Any = self.total()
        lanes = self.kernel.body.lanes
        while lanes > 1:
            lanes //= 2
            value = self.rule(self.fn.op, (value, _turned(value, lanes)), self.working)
        return value  # type: ignore[no-any-return]

    def inside(self, value: Elements, block: Block) -> Elements:
        """The elements of a block, and what changes nothing in the lanes outside."""
        if block.mask is None:
            return value
        mask = Lanes(self.kernel.body, "bool", block.mask)
        none = constant_of(self.kernel.body, identity(self.fn, self.dtype), self.dtype)
        return select(mask, value, none)


def _turned(value: Elements, by: int) -> Elements:
    """The lanes, each some places further on."""
    if isinstance(value, Pair):
        return Pair(*(_turned(part, by) for part in value))  # type: ignore[arg-type]
    body, kind = value.body, value.kind
    places = ", ".join(f"i32 {(k + by) % body.lanes}" for k in range(body.lanes))
    text = body.find(f"shufflevector {kind} {value.text}, {kind} {value.text}, <{body.lanes} x i32> <{places}>")
    return Lanes(body, value.dtype, text)
