"""Prelude of a unit, beside its own functions, and the arguments of a rule for single elements."""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple, final

import numpy as np

from tg.backend import is_float, numpy_dtype
from tg_c import half
from tg_c.body import name_of
from tg_c.libm import ARITIES, COMPLEX_ARITIES
from tg_c.machine import has_fused, vector_bytes
from tg_c.objects import Loop
from tg_c.text import literal
from tg_c.vectors import Vectors
from tg_native.kernels.body import Machine
from tg_native.kernels.dtypes import PARTS, WORDS, is_half, item_size, working

if TYPE_CHECKING:
    from tg_c.machine import Symbol

_WORD: Final = re.compile(r"@([A-Za-z_][A-Za-z_0-9]*)")


@final
class Prelude:
    """The declarations and inline functions of one unit, each once, in the order in which they were first needed.

    `symbol` names the functions of a vector library, and is None where libm's own results are wanted; `libraries` are
    those that must be linked; `is_one` where there is text of others, whose variables may not be there twice.
    """

    def __init__(self, symbol: Symbol | None = None) -> None:
        self.symbol = symbol
        self.libraries = {"m"}
        self.is_one = False
        self.results: dict[str, tuple[str, tuple[str, ...]]] = {}  # of functions: dtypes or "", forms of pointers
        self.outlined: dict[str, str] = {}  # the names of outlined functions, by parameters and block
        self.templates: dict[object, str] = {}  # what rules have written: the expressions by op, dtypes and lanes
        self.machine = Machine(vector_bytes(), has_fused())
        self._vectors: dict[tuple[int, int], Vectors] = {}
        self._parts: dict[str, str] = {}
        self._functions: dict[str, int] = {}  # of these those that loops call, and how long their heads are
        self._uses: dict[str, int] = {}

    def need(self, name: str, text: str) -> None:
        """Add a declaration or a function, unless one of this name is there."""
        self._parts.setdefault(name, text)

    def add_function(self, name: str, text: str) -> None:
        """Add a function that loops call: parameters and block.

        Vectors are written in it, and what is left, offsets and the last elements, gcc makes no vectors of: of a
        convolution's functions these would be most of its work.
        """
        text = f"TG_PART void {name}{text}"
        self._parts[name] = text
        self._functions[name] = text.index(" {")

    def has(self, name: str) -> bool:
        """Whether something of this name is there."""
        return name in self._parts

    def vectors(self, count: int, size: int) -> Vectors:
        """The vectors of a number of lanes, the widest of which has elements of `size` bytes."""
        entry = self._vectors.get((count, size))
        if entry is None:
            entry = self._vectors[count, size] = Vectors(self, count, size)
        return entry

    def uses(self, name: str, count: int) -> int:
        """Number of vectors of a function that are used: so many more than when this was last asked."""
        self._uses[name] = self._uses.get(name, 0) + count
        return self._uses[name]

    def text(self) -> str:
        """All parts."""
        return "\n".join(self._parts.values())

    def loops(self, start: int) -> list[Loop]:
        """Extents of the functions that loops call, in the text, which begins at a place."""
        ends = itertools.accumulate((len(text) + 1 for text in self._parts.values()), initial=start)
        places = zip(self._parts, itertools.pairwise(ends), strict=True)
        return [Loop(a, a + self._functions[name], b - 1) for name, (a, b) in places if name in self._functions]

    def libm(self, name: str, dtype: str) -> str:
        """The name of a function of libm for a dtype, declared."""
        single = dtype in ("float32", "complex64")
        symbol = name + ("f" if single else "")
        kind = "float" if single else "double"
        if name in COMPLEX_ARITIES:
            kind += " _Complex"
        arity = ARITIES.get(name) or COMPLEX_ARITIES[name]
        self.need(symbol, f"{kind} {symbol}({', '.join([kind] * arity)});")
        return symbol


class Element(NamedTuple):
    """Arguments of a rule for single elements: the C texts of the operands, and the dtypes."""

    operands: tuple[str, ...]
    dtypes: tuple[str, ...]
    result: str
    prelude: Prelude

    @property
    def dtype(self) -> str:
        """The dtype of the last operand: that of the loop."""
        return self.dtypes[-1]

    def widened(self) -> Element:
        """The same with float32 in the place of halves."""
        if not (is_half(self.result) or any(map(is_half, self.dtypes))):
            return self
        pairs = zip(self.operands, self.dtypes, strict=True)
        operands = tuple(half.widened(self.prelude, d, x) if is_half(d) else x for x, d in pairs)
        return Element(operands, tuple(map(working, self.dtypes)), working(self.result), self.prelude)

    def narrowed(self, expression: str) -> str:
        """An expression for the result, computed in float32 where that is a half, as it is stored."""
        return half.narrowed(self.prelude, self.result, expression) if is_half(self.result) else expression

    def expand(self, template: str) -> str:
        """A template with its @ words replaced."""
        return _WORD.sub(lambda m: self._word(m[1]), template)

    def _word(self, word: str) -> str:
        dtype = self.dtype
        part = PARTS.get(dtype, dtype)
        if word in ARITIES:
            return name_of(self.prelude, word, dtype)
        if word in COMPLEX_ARITIES:
            return self.prelude.libm(word, dtype)
        if word in ("widened", "narrowed"):
            return getattr(half, word)(self.prelude, dtype, "").removesuffix("()")  # type: ignore[no-any-return]
        if word == "T":
            return WORDS[dtype]
        if word == "P":
            return WORDS[part]
        if word == "R":
            return WORDS[self.result]
        if word in ("U", "I"):
            return f"{word.lower()}{8 * item_size(dtype)}"
        return literal(limit(word, part), part)


def limit(word: str, dtype: str) -> Any:
    """The largest and smallest integers of a dtype, MAX and MIN, or its INF and NAN."""
    if is_float(dtype):
        return numpy_dtype(dtype).type({"INF": np.inf, "NAN": np.nan}[word])
    limits = np.iinfo(dtype)
    return {"MIN": limits.min, "MAX": limits.max}[word]
