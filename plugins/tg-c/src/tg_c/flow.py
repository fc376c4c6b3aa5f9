"""Branches, loops and functions in C."""

from __future__ import annotations

import abc
import contextlib
import itertools
from typing import TYPE_CHECKING, final

from tg_c.abreast import CONST, Abreast
from tg_c.body import SHARED
from tg_c.interrupts import INTERRUPTED, LEFT
from tg_c.outlining import SHARES, kinds_in, outlined
from tg_c.text import integer
from tg_native.kernels import routine
from tg_native.kernels.dtypes import WORDS
from tg_native.kernels.index import Condition, Index, Pointer, index
from tg_native.kernels.lanes import Lanes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tg_c.abreast import Width
    from tg_c.prelude import Prelude
    from tg_native.kernels.routine import Operand


@final
class Local(routine.Variable):
    """Locals of the function: one for each vector that goes abreast, or an array of them."""

    def __init__(self, body: Flow, dtype: str, names: tuple[str, ...], lanes: int) -> None:
        self.body, self.dtype, self.names, self.lanes = body, dtype, names, lanes
        self._form = body.usual_mask if dtype == "bool" and lanes else ""

    def _places(self, at: Index | None) -> list[str]:
        return [name if at is None else f"{name}[{at.value.text}]" for name in self.names]

    def get(self, at: Index | None = None) -> Lanes:
        with self.body.of(self.lanes):
            kind = self.body.vector_type(self.dtype, self._form)
            texts = tuple(self.body.local(f"{CONST}{kind}", place) for place in self._places(at))
        return Lanes(self.body, self.dtype, texts if len(texts) > 1 else texts[0], self._form)

    def set(self, value: Lanes, at: Index | None = None) -> None:
        with self.body.of(self.lanes):
            for place, text in zip(self._places(at), self.body.texts(value, self._form), strict=True):
                self.body.line(f"{place} = {text};")


class Flow(Abreast):
    """The inside of a C function with branches, loops and calls of functions."""

    def __init__(self, prelude: Prelude, width: Width) -> None:
        """Begin one of so many lanes."""
        super().__init__(prelude, width)
        self.kinds = dict.fromkeys(SHARES, f"{CONST}i64 ")  # the types of parameters and locals, by name
        self._listed = 0  # how many lines have theirs among these

    @abc.abstractmethod
    def another(self) -> Flow:
        """A body for a function of the same prelude, of as many lanes."""

    # --- branches and loops ----------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def loop(self, start: Index | int, end: Index | int, step: int = 1) -> Iterator[Index]:
        first, last = (index(self, n).value.text for n in (start, end))
        name = f"k{self._count}"
        self._count += 1
        more = f"{name}++" if step == 1 else f"{name} += {integer(step)}"
        with self._block(f"for (i64 {name} = {first}; {name} < {last}; {more}) {{"):
            yield Index(Lanes(self, "int64", name))

    @contextlib.contextmanager
    def when(self, condition: Condition) -> Iterator[None]:
        with self._block(f"if ({condition.value.text}) {{"):
            yield

    def fold(
        self,
        start: Index | int,
        end: Index | int,
        step: int,
        first: Sequence[Lanes],
        write: Callable[..., Sequence[Lanes]],
    ) -> list[Lanes]:
        variables = [self._changing(x) for x in first]
        with self.loop(start, end, step) as at:
            self._change(variables, write(at, *variables))
        return variables

    def while_loop(
        self, first: Sequence[Lanes], holds: Callable[..., Condition], write: Callable[..., Sequence[Lanes]]
    ) -> list[Lanes]:
        variables = [self._changing(x) for x in first]
        with self._block("for (;;) {"):  # the condition is several statements
            self.line(f"if (!{holds(*variables).value.text}) break;")
            self._change(variables, write(*variables))
        return variables

    def replaced(self, condition: Condition, value: Lanes, write: Callable[[], Lanes]) -> Lanes:
        variable = self._changing(value)
        with self._block(f"if (__builtin_expect({condition.value.text}, 0)) {{"):
            self._change([variable], [write()])
        return variable

    def _changing(self, x: Lanes) -> Lanes:
        """A local that begins with a value, and may become another."""
        form = (self._width(x) if self.lanes else "") if x.dtype == "bool" else ""
        texts = self.texts(x, form)
        kind = self.vector_type(x.dtype, form, len(texts))
        names = tuple(self.local(kind, text) for text in texts)
        return Lanes(self, x.dtype, names if len(names) > 1 else names[0], form)

    def _change(self, targets: Sequence[Lanes], values: Sequence[Lanes]) -> None:
        """Give locals new values, which may be the old ones of others."""
        pairs = [
            (name, text, target)
            for target, value in zip(targets, values, strict=True)
            for name, text in self._pairs_of(target, value)
        ]
        changed = {name for name, _, _ in pairs}
        assignments = []
        for name, text, target in pairs:
            if text in changed and text != name:
                kind = self.vector_type(target.dtype, target.form, len(self._names(target)))
                text = self.local(f"{CONST}{kind}", text)  # noqa: PLW2901
            assignments.append((name, text))
        for name, text in assignments:
            if name != text:
                self.line(f"{name} = {text};")

    def _pairs_of(self, target: Lanes, value: Lanes) -> list[tuple[str, str]]:
        """The locals of a target, each with what it becomes."""
        names = self._names(target)
        return list(zip(names, self.texts(value, target.form, len(names)), strict=True))

    def either(
        self, condition: Condition, then: Callable[[], Sequence[Lanes]], otherwise: Callable[[], Sequence[Lanes]]
    ) -> list[Lanes]:
        place, indent = len(self.lines), "  " * len(self._known)
        declared: list[str] = []
        with self._block(f"if ({condition.value.text}) {{"):
            values = then()
            variables = [self._declared(x, declared) for x in values]
            self._change(variables, values)
        with self._block("else {"):
            self._change(variables, otherwise())
        self.lines[place:place] = [indent + text for text in declared]
        return variables

    def _declared(self, x: Lanes, declared: list[str]) -> Lanes:
        """A local for values of a type, without one."""
        form = (self._width(x) if self.lanes else "") if x.dtype == "bool" else ""
        count = self.abreast if x.form == SHARED else len(self._names(x))
        kind, names = self.vector_type(x.dtype, form, count), self._new_names(count)
        declared += [f"{kind} {name};" for name in names]
        return Lanes(self, x.dtype, names if len(names) > 1 else names[0], form)

    def interrupted(self, left: Pointer, second: Pointer) -> Condition:
        self.prelude.need("interrupted", INTERRUPTED)
        self.prelude.need("left", LEFT)
        with self.of(0):
            return Condition(Lanes(self, "bool", self.local(f"{CONST}b8", f"tg_left({left.text}, {second.text})")))

    # --- functions -------------------------------------------------------------------------------------------------

    def subroutine(self, name: str, write: Callable[..., Lanes | None], operands: Sequence[Operand]) -> Lanes | None:
        if not self.lanes:
            return write(*operands)
        symbol = f"tg_{name}_{self._kept(operands)}_{self.abreast}"
        dtype, forms = self.prelude.results.get(symbol, (None, ()))
        needed = _forms(operands, forms)
        if dtype is None or needed != forms:
            dtype = self._written_apart(symbol, write, operands, needed)
            self.prelude.results[symbol] = dtype, needed
        arguments = [text for x in operands for text in self._given(x)]
        if not dtype:
            self.line(f"{symbol}({', '.join(arguments)});")
            return None
        kind, names = self.vector_type(dtype), self._new_names(self.abreast)
        for variable in names:
            self.line(f"{kind} {variable};")
        self.line(f"{symbol}({', '.join((*arguments, *(f'&{variable}' for variable in names)))});")
        return Lanes(self, dtype, names if len(names) > 1 else names[0])

    def _written_apart(
        self,
        symbol: str,
        write: Callable[..., Lanes | None],
        operands: Sequence[Operand],
        forms: Sequence[str],
    ) -> str:
        """The dtype of what a function gives, which the prelude gets; "" if that is nothing.

        Args:
            forms: of the pointers among its operands.
        """
        body, parameters, form = self.another(), list[str](), iter(forms)
        operands = [Pointer(self, x.dtype, x.text, next(form)) if isinstance(x, Pointer) else x for x in operands]
        result = write(*(self._received(body, f"p{k}", x, parameters) for k, x in enumerate(operands)))
        if result is not None:
            for k, text in enumerate(body.texts(result)):
                body.line(f"*y{k} = {text};")
                parameters.append(f"{body.vector_type(result.dtype)} *y{k}")
        head = f"({', '.join(parameters)}) {{"
        self.prelude.add_function(symbol, "\n".join((head, *body.text(), "}")))
        return result.dtype if result is not None else ""

    @contextlib.contextmanager
    def outlined(self, name: str) -> Iterator[None]:
        first = len(self.lines)
        self.kinds.update(kinds_in(self.lines[self._listed :]))
        self._known.append({})
        yield
        self._known.pop()
        self._listed = len(self.lines)
        part = outlined(self.lines[first:], self.kinds) if self._listed > first else None
        if part is None:
            self._listed = first
            return
        del self.lines[first:]
        self._listed = first
        symbol = self.prelude.outlined.get(part.text)
        if symbol is None:
            symbol = self.prelude.outlined[part.text] = f"tg_{name}_{len(self.prelude.outlined)}"
            self.prelude.add_function(symbol, part.text)
        self.line(f"{symbol}({', '.join(part.arguments)});")

    def _kept(self, operands: Sequence[Operand]) -> str:
        """The vectors in memory that a function is given, or of the first value where it is given none; else lanes."""
        dtype = next((x.dtype for x in operands if isinstance(x, Local)), None)
        dtype = dtype or next((x.dtype for x in operands if isinstance(x, Lanes)), None)
        return self.vector_type(dtype) if dtype else f"x{self.lanes}"

    def _given(self, x: Operand) -> Sequence[str]:
        """Arguments of a function for an operand."""
        if isinstance(x, Index):
            return [str(x.value.text)]
        if isinstance(x, Pointer):
            return [str(x.text)]
        if isinstance(x, Local):
            return x.names
        assert isinstance(x, Lanes)
        return self.texts(x)

    def _received(self, body: Flow, name: str, x: Operand, parameters: list[str]) -> Local | Index | Lanes | Pointer:
        """An operand as a function has it; adds its parameters."""
        if isinstance(x, Index):
            parameters.append(f"i64 {name}")
            return Index(Lanes(body, "int64", name, SHARED))
        if isinstance(x, Pointer):
            parameters.append(f"{x.form}{WORDS[x.dtype]} *{name}")
            return Pointer(body, x.dtype, name, x.form)
        assert isinstance(x, Local | Lanes)
        names = tuple(f"{name}{k}" for k in range(self.abreast))
        star = "*" if isinstance(x, Local) else ""
        parameters.extend(f"{self.vector_type(x.dtype)} {star}{one}" for one in names)
        if isinstance(x, Local):
            return Local(body, x.dtype, names, x.lanes)
        return Lanes(body, x.dtype, names if len(names) > 1 else names[0])


def _forms(operands: Sequence[Operand], forms: Sequence[str]) -> tuple[str, ...]:
    """Forms of the pointers among operands: that to a constant where this or an earlier call (`forms`) has one.

    A convolution reads images that it holds, in memory of its own, and images as they lie by one function.
    """
    own = [x.form for x in operands if isinstance(x, Pointer)]
    return tuple(CONST if CONST in pair else pair[0] for pair in itertools.zip_longest(own, forms, fillvalue=""))
