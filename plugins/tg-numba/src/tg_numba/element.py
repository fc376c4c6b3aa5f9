"""What elementwise rules are: expressions, or Python functions that Numba compiles.

An expression is Python text over the operands `x`, `y`, `z`, chosen by the kind of dtype. Words that begin with @ are
replaced: @T converts to the dtype of the last operand, @R to that of the result, @0 and @1 are these numbers, @MIN
and @MAX limits of the last operand's dtype, @INF and @NAN numbers in that of its parts.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple, final

import numpy as np

from tg.errors import NoRuleError, message
from tg.types.dtypes import is_integer, numpy_dtype
from tg_numba.text import WORDS, kind_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from tg.graph.op import Op
    from tg_numba.program import Unit

_WORD: Final = re.compile(r"@([A-Za-z_0-9]+)")
_OPERAND: Final = re.compile(r"\b([xyz])\b")
_INTEGER: Final = re.compile(r"\(?-?\d+\)?")
_NUMBERS: Final = {
    "INF": float("inf"),
    "NAN": float("nan"),
}
_PARTS: Final = {"complex64": "float32", "complex128": "float64"}


class Element(NamedTuple):
    """What a rule for single elements is given: the texts of the operands, the dtypes, and the unit."""

    operands: tuple[str, ...]
    dtypes: tuple[str, ...]
    result: str
    unit: Unit

    @property
    def dtype(self) -> str:
        """The dtype of the last operand: that of the loop."""
        return self.dtypes[-1]

    def expand(self, template: str) -> str:
        """A template with its @ words and its operands replaced."""
        text = _OPERAND.sub(lambda m: self.operands["xyz".index(m[1])], template)
        return _WORD.sub(lambda m: self._word(m[1]), text)

    def _word(self, word: str) -> str:
        if word == "T":
            return WORDS[self.dtype]
        if word == "R":
            return WORDS[self.result]
        if word in _NUMBERS:
            part = _PARTS.get(self.dtype, self.dtype)
            return self.unit.literal(numpy_dtype(part).type(_NUMBERS[word]), part)
        return self.unit.literal(_whole(word, self.dtype), self.dtype)

    def call(self, function: Callable[..., Any]) -> str:
        """A call of a Python function with the operands, which Numba compiles, once for all whole numbers."""
        operands = (f"i64({text})" if _INTEGER.fullmatch(text) else text for text in self.operands)
        return f"{self.unit.function_of(function)}({', '.join(operands)})"

    def exactly(self, expression: str) -> str:
        """An expression made to have the result's dtype: Numba computes with small integers in 64 bits."""
        if is_integer(self.result) and self.result != "int64":
            return f"{WORDS[self.result]}({expression})"
        return expression


def _whole(word: str, dtype: str) -> Any:
    kind = numpy_dtype(dtype).type
    if word in ("0", "1"):
        return kind(int(word))
    limits = np.iinfo(dtype)
    return kind(limits.min if word == "MIN" else limits.max)


class _ByKind:
    """A rule by the kind of dtype: `integer` serves signed and unsigned ones, the first argument all that have none."""

    __slots__ = ("choices",)

    def __init__(
        self,
        every: Any = None,
        *,
        boolean: Any = None,
        integer: Any = None,
        signed: Any = None,
        unsigned: Any = None,
        floating: Any = None,
        complex: Any = None,
    ) -> None:
        self.choices = {
            "boolean": boolean or every,
            "signed": signed or integer or every,
            "unsigned": unsigned or integer or every,
            "floating": floating or every,
            "complex": complex or every,
        }


@final
class Expression(_ByKind):
    """A rule: for each kind of dtype the text of an expression, or a function that is called."""

    __slots__ = ()

    def __call__(self, op: Op, element: Element) -> str:
        """The expression for the operands, which are names or literals.

        Raises:
            NoRuleError: there is none for the dtype.
        """
        found = self.choices[kind_of(element.dtype)] if element.dtype in WORDS else None
        if found is None:
            raise NoRuleError(message(f"backend 'numba' has no rule for {op.name} of {element.dtype}"))
        text = element.expand(found) if isinstance(found, str) else element.call(found)
        return element.exactly(text)
