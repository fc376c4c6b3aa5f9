"""What a unit needs besides its own functions, and the templates that elementwise rules are.

A template is C text over the operands `x`, `y`, `z`, chosen by the kind of dtype. Words that begin with @ are replaced:
@T is the C type of the last operand, @R that of the result, @U the unsigned type of the width of @T, @MIN, @MAX, @INF
and @NAN are limits of @T, and any other, such as @exp, is that function of libm for the dtype.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple, final

import numpy as np

from tg.errors import NoRuleError, message
from tg.types.dtypes import is_float, numpy_dtype
from tg_c.text import C_TYPES, item_size, kind_of, literal

if TYPE_CHECKING:
    from tg.graph.op import Op

UNARY: Final = (
    "acos acosh asin asinh atan atanh cbrt ceil cos cosh erf erfc exp exp2 expm1 fabs floor lgamma log log10 log1p "
    "log2 rint round sin sinh sqrt tan tanh tgamma trunc"
)
BINARY: Final = "atan2 copysign fmod hypot nextafter pow"
ARITIES: Final = {**dict.fromkeys(UNARY.split(), 1), **dict.fromkeys(BINARY.split(), 2)}
"""The functions of libm that templates may use, with the number of their arguments."""

_WORD: Final = re.compile(r"@([A-Za-z_][A-Za-z_0-9]*)")
_OPERAND: Final = re.compile(r"\b([xyz])\b")


@final
class Prelude:
    """The declarations and inline functions of one unit, each once, in the order in which they were first needed."""

    def __init__(self) -> None:
        self._parts: dict[str, str] = {}

    def need(self, name: str, text: str) -> None:
        """Add a declaration or a function, unless one of this name is there."""
        self._parts.setdefault(name, text)

    def has(self, name: str) -> bool:
        """Whether something of this name is there."""
        return name in self._parts

    def text(self) -> str:
        """All parts."""
        return "\n".join(self._parts.values())

    def libm(self, name: str, dtype: str) -> str:
        """The name of a function of libm for a dtype, declared."""
        found = name + ("f" if dtype == "float32" else "")
        kind = "float" if dtype == "float32" else "double"
        self.need(found, f"{kind} {found}({', '.join([kind] * ARITIES[name])});")
        return found


class Element(NamedTuple):
    """What a rule for single elements is given: the C texts of the operands, and the dtypes."""

    operands: tuple[str, ...]
    dtypes: tuple[str, ...]
    result: str
    prelude: Prelude

    @property
    def dtype(self) -> str:
        """The dtype of the last operand: that of the loop."""
        return self.dtypes[-1]

    def expand(self, template: str) -> str:
        """A template with its @ words replaced."""
        return _WORD.sub(lambda m: self._word(m[1]), template)

    def _word(self, word: str) -> str:
        dtype = self.dtype
        if word in ARITIES:
            return self.prelude.libm(word, dtype)
        if word == "T":
            return C_TYPES[dtype]
        if word == "R":
            return C_TYPES[self.result]
        if word == "U":
            return f"u{8 * item_size(dtype)}"
        return literal(_limit(word, dtype), dtype)


def _limit(word: str, dtype: str) -> Any:
    if is_float(dtype):
        return numpy_dtype(dtype).type({"INF": np.inf, "NAN": np.nan}[word])
    limits = np.iinfo(dtype)
    return {"MIN": limits.min, "MAX": limits.max}[word]


class _Template:
    """C text by the kind of dtype: `integer` serves signed and unsigned ones, the first argument all that have none."""

    __slots__ = ("texts",)

    def __init__(
        self,
        text: str | None = None,
        *,
        boolean: str | None = None,
        integer: str | None = None,
        signed: str | None = None,
        unsigned: str | None = None,
        floating: str | None = None,
    ) -> None:
        self.texts = {
            "boolean": boolean or text,
            "signed": signed or integer or text,
            "unsigned": unsigned or integer or text,
            "floating": floating or text,
        }

    def template(self, op: Op, element: Element) -> str:
        """The text for the dtype.

        Raises:
            NoRuleError: there is none.
        """
        found = self.texts[kind_of(element.dtype)] if element.dtype in C_TYPES else None
        if found is None:
            raise NoRuleError(message(f"backend 'c' has no rule for {op.name} of {element.dtype}"))
        return found


@final
class Expression(_Template):
    """A rule: an expression, written where it is used."""

    __slots__ = ()

    def __call__(self, op: Op, element: Element) -> str:
        """The expression for the operands, which are names or literals."""
        template = element.expand(self.template(op, element))
        return _OPERAND.sub(lambda m: element.operands["xyz".index(m[1])], template)


@final
class Inline(_Template):
    """A rule: the body of an inline function of x, y and z, one for each dtype it is used with."""

    __slots__ = ()

    def __call__(self, op: Op, element: Element) -> str:
        """A call of the function, which the prelude gets."""
        name = f"tg_{op.name}_{C_TYPES.get(element.dtype, element.dtype)}"
        body = self.template(op, element)
        if not element.prelude.has(name):
            parameters = ", ".join(f"{C_TYPES[dtype]} {x}" for x, dtype in zip("xyz", element.dtypes, strict=False))
            head = f"static inline {C_TYPES[element.result]} {name}({parameters})"
            text = f"{head} {{\n  {element.expand(body).strip()}\n}}"
            element.prelude.need(name, text)
        return f"{name}({', '.join(element.operands)})"
