"""What a unit needs besides its own functions, and the templates that elementwise rules are.

A template is C text over the operands `x`, `y`, `z`, chosen by the kind of dtype. Words that begin with @ are replaced:
@T is the C type of the last operand, @R that of the result, @P that of the parts of a complex @T, @U the unsigned type
of the width of @T, @MIN, @MAX, @INF and @NAN are limits of @T or of its parts, and any other, such as @exp or @cexp, is
that function of libm for the dtype, or one of `tg_c.complex`. Halves are float32 in a template, and rounded after it;
where a template for halves themselves is given, @widened and @narrowed convert.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple, final

import numpy as np

from tg.errors import NoRuleError, message
from tg.types.dtypes import is_float, numpy_dtype
from tg_c import half
from tg_c.complex import FUNCTIONS
from tg_c.text import C_TYPES, PARTS, is_half, item_size, kind_of, literal, working

if TYPE_CHECKING:
    from tg.graph.op import Op

UNARY: Final = (
    "acos acosh asin asinh atan atanh cbrt ceil cos cosh erf erfc exp exp2 expm1 fabs floor lgamma log log10 log1p "
    "log2 rint round sin sinh sqrt tan tanh tgamma trunc"
)
BINARY: Final = "atan2 copysign fmod hypot nextafter pow"
COMPLEX: Final = "cacos cacosh casin casinh catan catanh ccos ccosh cexp clog csin csinh csqrt ctan ctanh"
ARITIES: Final = {**dict.fromkeys(UNARY.split(), 1), **dict.fromkeys(BINARY.split(), 2)}
"""The real functions of libm that templates may use, with the number of their arguments."""
COMPLEX_ARITIES: Final = {**dict.fromkeys(COMPLEX.split(), 1), "cpow": 2}
"""The complex ones."""

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
        single = dtype in ("float32", "complex64")
        found = name + ("f" if single else "")
        kind = "float" if single else "double"
        if name in COMPLEX_ARITIES:
            kind += " _Complex"
        arity = ARITIES.get(name) or COMPLEX_ARITIES[name]
        self.need(found, f"{kind} {found}({', '.join([kind] * arity)});")
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
        if word in ARITIES or word in COMPLEX_ARITIES:
            return self.prelude.libm(word, dtype)
        if word in FUNCTIONS:
            return self.function(word)
        if word in ("widened", "narrowed"):
            return getattr(half, word)(self.prelude, dtype, "").removesuffix("()")  # type: ignore[no-any-return]
        if word == "T":
            return C_TYPES[dtype]
        if word == "P":
            return C_TYPES[part]
        if word == "R":
            return C_TYPES[self.result]
        if word == "U":
            return f"u{8 * item_size(dtype)}"
        return literal(_limit(word, part), part)

    def function(self, word: str) -> str:
        """The name of a function of `tg_c.complex` for the dtype, which the prelude gets."""
        name = f"tg_complex_{word}_{C_TYPES[self.dtype]}"
        if not self.prelude.has(name):
            self.prelude.need(name, self.expand(FUNCTIONS[word].replace("@NAME", name)))
        return name


def _limit(word: str, dtype: str) -> Any:
    if is_float(dtype):
        return numpy_dtype(dtype).type({"INF": np.inf, "NAN": np.nan}[word])
    limits = np.iinfo(dtype)
    return {"MIN": limits.min, "MAX": limits.max}[word]


class _Template:
    """C text by the kind of dtype: `integer` serves signed and unsigned ones, the first argument all that have none.

    Halves go through float32 and `floating`; `half` is for what can be done with them as they are stored.
    """

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
        half: str | None = None,
        complex: str | None = None,
    ) -> None:
        self.texts = {
            "boolean": boolean or text,
            "signed": signed or integer or text,
            "unsigned": unsigned or integer or text,
            "floating": floating or text,
            "half": half,
            "complex": complex or text,
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
        if is_half(element.dtype) and self.texts["half"] is not None:
            return self._written(op, element)
        return element.narrowed(self._written(op, element.widened()))

    def _written(self, op: Op, element: Element) -> str:
        template = element.expand(self.template(op, element))
        return _OPERAND.sub(lambda m: element.operands["xyz".index(m[1])], template)


@final
class Inline(_Template):
    """A rule: the body of an inline function of x, y and z, one for each dtype it is used with."""

    __slots__ = ()

    def __call__(self, op: Op, element: Element) -> str:
        """A call of the function, which the prelude gets."""
        if is_half(element.dtype) and self.texts["half"] is not None:
            return self._called(op, element)
        return element.narrowed(self._called(op, element.widened()))

    def _called(self, op: Op, element: Element) -> str:
        name = f"tg_{op.name}_{C_TYPES.get(element.dtype, element.dtype)}"
        body = self.template(op, element)
        if not element.prelude.has(name):
            parameters = ", ".join(f"{C_TYPES[dtype]} {x}" for x, dtype in zip("xyz", element.dtypes, strict=False))
            head = f"static inline {C_TYPES[element.result]} {name}({parameters})"
            text = f"{head} {{\n  {element.expand(body).strip()}\n}}"
            element.prelude.need(name, text)
        return f"{name}({', '.join(element.operands)})"
