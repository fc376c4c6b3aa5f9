"""Branches, loops and functions in LLVM's language."""

from __future__ import annotations

import abc
import contextlib
from typing import TYPE_CHECKING, Any, final

from tg_native.kernels.index import Condition, Index, Pointer, index
from tg_native.kernels.lanes import Lanes
from tg_native.kernels.routine import Routine, Variable
from tg_numba.assembly import ITEMS, Lines
from tg_numba.interrupts import interrupted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tg_native.kernels.routine import Operand

INT64 = "i64"


@final
class Slot(Variable):
    """Memory of the running function."""

    def __init__(self, body: Flow, dtype: str, text: str, lanes: int) -> None:
        self.body, self.dtype, self.text, self.lanes = body, dtype, text, lanes
        self._aligned = ", align 64" if lanes else ""

    def _place(self, at: Index | None) -> tuple[str, str]:
        with self.body.of(self.lanes):
            kind = self.body.kind(self.dtype)
        return kind, self.text if at is None else self.body.place(kind, self.text, str(at.value.text))

    def get(self, at: Index | None = None) -> Lanes:
        kind, place = self._place(at)
        return Lanes(self.body, self.dtype, self.body.made(f"load {kind}, ptr {place}{self._aligned}"))

    def set(self, value: Lanes, at: Index | None = None) -> None:
        kind, place = self._place(at)
        self.body.do(f"store {kind} {value.text}, ptr {place}{self._aligned}")


class Flow(Lines, Routine):
    """Control flow: what is repeated, what is left out, and what is called."""

    long_abreast = 2  # LLVM reads the constants of a long step anew in each round: 1.25 times as long for logsumexp

    @abc.abstractmethod
    def another(self) -> Flow:
        """A body for a function of the same module, of as many lanes."""

    # --- numbers that all lanes share ------------------------------------------------------------------------------

    def _index(self, expression: str) -> Index:
        return Index(Lanes(self, "int64", self.find(expression)))

    def extreme(self, x: Index, y: Index, *, largest: bool) -> Index:
        name = f"llvm.s{'max' if largest else 'min'}.i64"
        arguments = [(INT64, x.value.text), (INT64, y.value.text)]
        return Index(Lanes(self, "int64", self.called(name, INT64, arguments)))

    def bits_of(self, x: Index, *, trailing: bool) -> Index:
        name = "llvm.cttz.i64" if trailing else "llvm.ctlz.i64"
        self.module.declare(name, INT64, (INT64, "i1"))
        count = self._index(f"call i64 @{name}(i64 {x.value.text}, i1 {'true' if trailing else 'false'})")
        return count if trailing else index(self, 64) - count

    def first_lanes(self, count: Index) -> Lanes:
        lanes = self.lanes
        item = f"i{max(128 // lanes, 8)}"  # fills a register: else LLVM may keep lanes beyond the last over a call
        short = self.find(f"trunc i64 {count.value.text} to {item}") if item != INT64 else str(count.value.text)
        places = ", ".join(f"{item} {k}" for k in range(lanes))
        mask = self.find(f"icmp ult <{lanes} x {item}> <{places}>, {self.repeated(item, short)}")
        return Lanes(self, "bool", mask)

    def own_numbers(self) -> Lanes:
        return Lanes(self, "int64", f"<{', '.join(f'i64 {k}' for k in range(self.lanes))}>")

    # --- lanes -----------------------------------------------------------------------------------------------------

    def halves(self, value: Lanes) -> tuple[Lanes, Lanes]:
        kind, count = value.kind, self.lanes // 2
        every = (", ".join(f"i32 {start + k}" for k in range(count)) for start in (0, count))
        low, high = (
            self.find(f"shufflevector {kind} {value.text}, {kind} poison, <{count} x i32> <{places}>")
            for places in every
        )
        return Lanes(self, value.dtype, low), Lanes(self, value.dtype, high)

    def interleaved(self, x: Lanes, y: Lanes) -> tuple[Lanes, Lanes]:
        kind, half = x.kind, self.lanes // 2
        every = (", ".join(f"i32 {k}, i32 {self.lanes + k}" for k in range(first, first + half)) for first in (0, half))
        low, high = (
            self.find(f"shufflevector {kind} {x.text}, {kind} {y.text}, <{self.lanes} x i32> <{places}>")
            for places in every
        )
        return Lanes(self, x.dtype, low), Lanes(self, x.dtype, high)

    def anywhere(self, condition: Lanes) -> Condition:
        return self._over_lanes("or", condition)

    def everywhere(self, condition: Lanes) -> Condition:
        return self._over_lanes("and", condition)

    def _over_lanes(self, word: str, condition: Lanes) -> Condition:
        if not self.lanes:
            return Condition(condition)
        bit = self.called(f"llvm.vector.reduce.{word}.v{self.lanes}i1", "i1", [condition.operand])
        return Condition(Lanes(self, "bool", bit))

    def replaced(self, condition: Condition, value: Lanes, write: Callable[[], Lanes]) -> Lanes:
        return self.either(condition, lambda: [write()], lambda: [value])[0]

    # --- branches and loops ----------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def loop(self, start: Index | int, end: Index | int, step: int = 1) -> Iterator[Index]:
        first, last = (str(index(self, n).value.text) for n in (start, end))
        self.count += 1
        at = self.count
        self.do(f"%any{at} = icmp slt i64 {first}, {last}")
        before = self.label
        self.do(f"br i1 %any{at}, label %body{at}, label %done{at}")
        self.open(f"body{at}")
        self.do(f"%i{at} = phi i64 [{first}, %{before}], [%next{at}, %tail{at}]")
        place = len(self.lines)
        with self._scope():
            yield Index(Lanes(self, "int64", f"%i{at}"))
        self.do(f"br label %tail{at}")
        self.open(f"tail{at}")
        self.do(f"%next{at} = add i64 %i{at}, {step}")
        self.do(f"%more{at} = icmp slt i64 %next{at}, {last}")
        self.do(f"br i1 %more{at}, label %body{at}, label %done{at}")
        self.open(f"done{at}")
        self._last = place, before, f"tail{at}"

    @contextlib.contextmanager
    def _scope(self) -> Iterator[None]:
        self.known.append({})
        yield
        self.known.pop()

    def fold(
        self,
        start: Index | int,
        end: Index | int,
        step: int,
        first: Sequence[Lanes],
        write: Callable[..., Sequence[Lanes]],
    ) -> list[Lanes]:
        names = [self.fresh() for _ in first]
        with self.loop(start, end, step) as at:
            values = write(at, *(Lanes(self, x.dtype, name) for x, name in zip(first, names, strict=True)))
        place, before, last = self._last
        edges = [f"phi {x.kind} [{x.text}, %{before}], [{y.text}, %{last}]" for x, y in zip(first, values, strict=True)]
        self.lines[place:place] = [f"  {name} = {phi}" for name, phi in zip(names, edges, strict=True)]
        return [Lanes(self, x.dtype, self.made(phi)) for x, phi in zip(first, edges, strict=True)]

    def while_loop(
        self, first: Sequence[Lanes], holds: Callable[..., Condition], write: Callable[..., Sequence[Lanes]]
    ) -> list[Lanes]:
        self.count += 1
        at, before = self.count, self.label
        values = [Lanes(self, x.dtype, self.fresh()) for x in first]
        self.do(f"br label %test{at}")
        self.open(f"test{at}")
        place = len(self.lines)
        with self._scope():
            condition = holds(*values)
            self.do(f"br i1 {condition.value.text}, label %body{at}, label %done{at}")
            self.open(f"body{at}")
            results = write(*values)
            last = self.label
            self.do(f"br label %test{at}")
        self.lines[place:place] = [
            f"  {value.text} = phi {x.kind} [{x.text}, %{before}], [{y.text}, %{last}]"
            for value, x, y in zip(values, first, results, strict=True)
        ]
        self.open(f"done{at}")
        return values

    @contextlib.contextmanager
    def when(self, condition: Condition) -> Iterator[None]:
        self.count += 1
        at = self.count
        self.do(f"br i1 {condition.value.text}, label %then{at}, label %done{at}")
        self.open(f"then{at}")
        with self._scope():
            yield
        self.do(f"br label %done{at}")
        self.open(f"done{at}")

    def either(
        self, condition: Condition, then: Callable[[], Sequence[Lanes]], otherwise: Callable[[], Sequence[Lanes]]
    ) -> list[Lanes]:
        dtypes: list[str] = []

        def chosen() -> list[tuple[str, str]]:
            values = then()
            dtypes[:] = [x.dtype for x in values]
            return [x.operand for x in values]

        texts = self.branched(str(condition.value.text), chosen, lambda: [x.operand for x in otherwise()])
        return [Lanes(self, dtype, text) for dtype, text in zip(dtypes, texts, strict=True)]

    def branched(
        self,
        condition: str,
        then: Callable[[], Sequence[tuple[str, str]]],
        otherwise: Callable[[], Sequence[tuple[str, str]]],
    ) -> list[str]:
        """One of two pieces of code, by a condition; the values, of the types and operands that they give."""
        self.count += 1
        at = self.count
        ends: list[tuple[str, Sequence[tuple[str, str]]]] = []
        self.do(f"br i1 {condition}, label %then{at}, label %else{at}")
        for label, write in (("then", then), ("else", otherwise)):
            self.open(f"{label}{at}")
            with self._scope():
                values = write()
            ends.append((self.label, values))
            self.do(f"br label %both{at}")
        self.open(f"both{at}")
        (first, xs), (second, ys) = ends
        pairs = zip(xs, ys, strict=True)
        return [self.made(f"phi {kind} [{x}, %{first}], [{y}, %{second}]") for (kind, x), (_, y) in pairs]

    def interrupted(self, left: Pointer, second: Pointer) -> Condition:
        flag = self.made(f"sext i32 {interrupted(self, str(second.text))} to i64")
        both = self.made(f"or i64 {flag}, {self.made(f'load i64, ptr {left.text}')}")  # there is one thread
        self.do(f"store i64 {both}, ptr {left.text}")
        return Condition(Lanes(self, "bool", self.made(f"icmp ne i64 {both}, 0")))

    # --- functions -------------------------------------------------------------------------------------------------

    def subroutine(self, name: str, write: Callable[..., Lanes | None], operands: Sequence[Operand]) -> Lanes | None:
        pairs = [self._argument(x) for x in operands]
        symbol = f"tg.{name}.{self.lanes}"
        dtype = self.module.results.get(symbol)
        if dtype is None:
            body = self.another()
            result = write(*(self._received(body, x, f"%a{k}") for k, x in enumerate(operands)))
            body.do(f"ret {result.kind} {result.text}" if result is not None else "ret void")
            dtype = self.module.results[symbol] = result.dtype if result is not None else ""
            kind = result.kind if result is not None else "void"
            parameters = ", ".join(f"{kind} %a{k}" for k, (kind, _) in enumerate(pairs))
            text = f"define internal {kind} @{symbol}({parameters}) nounwind {{\n{body.text()}\n}}"
            self.module.define(symbol, text)
        arguments = ", ".join(f"{kind} {text}" for kind, text in pairs)
        if not dtype:
            self.do(f"call void @{symbol}({arguments})")
            return None
        return Lanes(self, dtype, self.made(f"call {self.kind(dtype)} @{symbol}({arguments})"))

    @staticmethod
    def _argument(x: Operand) -> tuple[str, str]:
        if isinstance(x, Slot | Pointer):
            return "ptr", str(x.text)
        if isinstance(x, Index):
            return INT64, str(x.value.text)
        assert isinstance(x, Lanes)
        return x.operand

    @staticmethod
    def _received(body: Flow, x: Operand, name: str) -> Any:
        if isinstance(x, Pointer):
            return Pointer(body, x.dtype, name, x.form)
        if isinstance(x, Slot):
            return Slot(body, x.dtype, name, x.lanes)
        if isinstance(x, Index):
            return Index(Lanes(body, "int64", name))
        assert isinstance(x, Lanes)
        return Lanes(body, x.dtype, name)

    # --- memory ----------------------------------------------------------------------------------------------------

    def variable(self, dtype: str, count: int = 1) -> Slot:
        return Slot(self, dtype, self.frame(self.type(ITEMS[dtype]), count), self.lanes)
