"""Elementwise rules as functions of single elements that compiled Python calls: the same functions of lanes, of one."""

from __future__ import annotations

import functools
import hashlib
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, final

from tg.types.dtypes import is_complex
from tg_numba.assembly import ITEMS, PARTS, Body, Module
from tg_numba.lanes import Lanes, Pair, parts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.graph.op import Op
    from tg.plugin.records import Rule
    from tg_numba.lanes import Elements

NAME = "@element"  # of the function of an element, in its text


class Definition(NamedTuple):
    """A function of single elements in LLVM's language: its text, what it calls, and types of its arguments."""

    text: str
    module: Module
    items: tuple[str, ...]  # LLVM's types of the arguments: a complex number is two
    back: tuple[str, ...]  # LLVM's types of the result or its parts


@final
class Element:
    """What compiled Python calls for an op on single elements of some dtypes."""

    def __init__(self, name: str, definition: Definition, dtypes: tuple[str, ...], result: str) -> None:
        self.__name__, self.definition, self.dtypes, self.result = name, definition, dtypes, result
        text = definition.module.text() + definition.text
        self.key = hashlib.blake2b(f"{dtypes} {result} {text}".encode(), digest_size=16).hexdigest()
        self.symbol = f"tg.{name}.{self.key}"

    @cached_property
    def _numba_type_(self) -> Any:
        from tg_numba import calls

        return calls.element_type(self)

    def __call__(self, *arguments: Any) -> Any:
        """Elements are for compiled code alone."""
        raise NotImplementedError(f"{self.__name__} means nothing in Python")


@final
class LoopCall:
    """What compiled Python calls to run a loop: with its address, and arguments of these kinds.

    Args:
        words: of each argument "p" for a pointer, "n" for a length, else the word of a dtype.
    """

    def __init__(self, words: tuple[str, ...]) -> None:
        self.__name__ = self.key = "_".join(("run", *words))
        self.words = words

    @cached_property
    def _numba_type_(self) -> Any:
        from tg_numba import calls

        return calls.loop_type(self)


@functools.cache
def element_function(op: Op, rule: Rule, dtypes: tuple[str, ...], result: str) -> Element:
    """What compiled Python calls for an op on single elements of these dtypes.

    Raises:
        NoRuleError: the rule knows nothing for the dtypes.
    """
    body = Body(Module())
    given = [_parameter(body, dtype, k) for k, dtype in enumerate(dtypes)]
    found: Any = rule(op, given, result)
    return Element(op.name, _definition(body, parts(given), parts([found])), dtypes, result)


def _parameter(body: Body, dtype: str, k: int) -> Elements:
    if is_complex(dtype):
        return Pair(Lanes(body, PARTS[dtype], f"%x{k}.real"), Lanes(body, PARTS[dtype], f"%x{k}.imag"))
    return Lanes(body, dtype, f"%x{k}")


def _definition(body: Body, given: Sequence[Lanes], found: Sequence[Lanes]) -> Definition:
    kinds = tuple(ITEMS[x.dtype] for x in found)
    if len(found) == 1:
        whole, last = kinds[0], found[0].text
    else:
        whole, last = f"{{{', '.join(kinds)}}}", "poison"
        for k, x in enumerate(found):
            last = body.made(f"insertvalue {whole} {last}, {kinds[k]} {x.text}, {k}")
    heads = ", ".join(f"{x.kind} {x.text}" for x in given)
    body.do(f"ret {whole} {last}")
    text = f"define internal {whole} {NAME}({heads}) alwaysinline nounwind {{\n{body.text()}\n}}"
    return Definition(text, body.module, tuple(ITEMS[x.dtype] for x in given), kinds)


@functools.cache
def loop_call(words: tuple[str, ...]) -> LoopCall:
    """What compiled Python calls to run a loop whose arguments are of these kinds: one for equal kinds."""
    return LoopCall(words)
