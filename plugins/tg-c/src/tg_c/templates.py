"""The templates that elementwise rules are: C text for one element, and for a block of lanes at once.

A template is C text over the operands `x`, `y`, `z`, chosen by the kind of dtype. Words that begin with @ are replaced:
@T is the C type of the last operand, @R that of the result, @P that of an element of @T or of the parts of a complex
@T, @U and @I the unsigned and signed types of the width of @T, @MIN, @MAX, @INF and @NAN are limits of @P, and any
other, such as @exp or @cexp, is that function of libm for the dtype. Halves are float32 in a
template, and rounded after it; where a template for halves themselves is given, @widened and @narrowed convert.

In lanes, the types are GNU vectors, and what is bool is a mask (`tg_c.vectors`): x < y has all bits set where it
holds. A text that means the same on vectors serves there too, such as "x * @exp(y)"; for another, `lanes` has a text
of its own. In it, @select(mask, x, y) chooses, @number(mask) is 1 or 0, @all(number) repeats, @larger(x, y) and
@smaller(x, y) are the extremes, NaN if one is, @most(x, y) and @least(x, y) those of integers, and @PLACES is the
number of the last bit. Where there is none, each lane is computed by itself.
"""

from __future__ import annotations

import abc
import re
from typing import TYPE_CHECKING, Final, final

from tg import NoRuleError
from tg.backend import message
from tg_native.kernels.dtypes import WORDS, is_half, kind_of
from tg_native.kernels.lanes import parameter_names

if TYPE_CHECKING:
    from tg.backend import Op
    from tg_c.lanes import LaneElement
    from tg_c.prelude import Element

_OPERAND: Final = re.compile(r"\b([xyz])\b")
_FOR_ONE_ELEMENT: Final = re.compile(r"\?|&&|\|\||!(?!=)|\b(?:if|for|else|\w+\[|__\w+)\b|\{|\(@[TR]\)")
_COMPARES: Final = re.compile(r"[<>]=?|[!=]=")


def _texts(
    text: str | None = None,
    *,
    boolean: str | None = None,
    integer: str | None = None,
    signed: str | None = None,
    unsigned: str | None = None,
    floating: str | None = None,
    half: str | None = None,
    complex: str | None = None,
) -> dict[str, str | None]:
    """Text by the kind of dtype: `integer` serves signed and unsigned ones, the first argument all that have none."""
    return {
        "boolean": boolean or text,
        "signed": signed or integer or text,
        "unsigned": unsigned or integer or text,
        "floating": floating or text,
        "half": half,
        "complex": complex or text,
    }


def lanes(
    text: str | None = None,
    *,
    boolean: str | None = None,
    integer: str | None = None,
    signed: str | None = None,
    unsigned: str | None = None,
    floating: str | None = None,
) -> dict[str, str | None]:
    """The texts for lanes of the kinds that have one of their own."""
    return _texts(text, boolean=boolean, integer=integer, signed=signed, unsigned=unsigned, floating=floating)


class _Template(abc.ABC):
    """C text by the kind of dtype, as `_texts`.

    Halves go through float32 and `floating`; `half` is for what can be done with them as they are stored.
    """

    __slots__ = ("_in_lanes", "own", "texts")

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
        lanes: str | dict[str, str | None] | None = None,
    ) -> None:
        kinds = {"boolean": boolean, "integer": integer, "signed": signed, "unsigned": unsigned}
        self.texts = _texts(text, **kinds, floating=floating, half=half, complex=complex)
        self.own = _texts(lanes) if lanes is None or isinstance(lanes, str) else lanes
        self._in_lanes: dict[tuple[tuple[str, ...], str], str | None] = {}

    def __call__(self, op: Op, element: Element) -> str:
        """The expression for the operands, which are names or literals."""
        if is_half(element.dtype) and self.texts["half"] is not None:
            return self.written(op, element)
        return element.narrowed(self.written(op, element.widened()))

    @abc.abstractmethod
    def written(self, op: Op, element: Element) -> str:
        """The expression for operands of the dtypes that the text is for."""

    def template(self, op: Op, element: Element) -> str:
        """The text for the dtype.

        Raises:
            NoRuleError: there is none.
        """
        text = self.texts[kind_of(element.dtype)] if element.dtype in WORDS else None
        if text is None:
            raise NoRuleError(message(f"backend 'c' has no rule for {op.name} of {element.dtype}"))
        return text

    def lane_template(self, dtypes: tuple[str, ...], result: str) -> str | None:
        """The text for lanes of the dtypes, None if each lane must be computed by itself."""
        key = dtypes, result
        if key not in self._in_lanes:
            self._in_lanes[key] = self._find_in_lanes(dtypes, result)
        return self._in_lanes[key]

    def _find_in_lanes(self, dtypes: tuple[str, ...], result: str) -> str | None:
        kind = kind_of(dtypes[-1])
        if own := self.own[kind]:
            return own
        text = self.texts[kind]
        if text is None or len(set(dtypes)) > 1 or _FOR_ONE_ELEMENT.search(text) or not _OPERAND.search(text):
            return None
        compares = bool(_COMPARES.search(text))  # a mask is -1 where it holds, and so in another order than a bool
        return None if compares and (result != "bool" or dtypes[-1] == "bool") else text


@final
class Expression(_Template):
    """A rule: an expression, written where it is used."""

    __slots__ = ()

    def written(self, op: Op, element: Element) -> str:
        template = element.expand(self.template(op, element))
        return _OPERAND.sub(lambda m: element.operands["xyz".index(m[1])], template)

    def in_lanes(self, op: Op, element: LaneElement) -> str | None:
        """The expression for vectors, None if each lane must be computed by itself."""
        template = self.lane_template(element.dtypes, element.result)
        if template is None:
            return None
        operands = element.texts(mixed=_ARITHMETIC.fullmatch(template) is not None)
        return _OPERAND.sub(lambda m: operands["xyz".index(m[1])], element.expand(template))


_ARITHMETIC: Final = re.compile(r"[xyz ()*/+-]*")  # C takes a number beside a vector


@final
class Inline(_Template):
    """A rule: the body of an inline function of x, y and z, one for each dtype it is used with."""

    __slots__ = ()

    def written(self, op: Op, element: Element) -> str:
        """A call of the function, which the prelude gets."""
        name = f"tg_{op.name}_{WORDS.get(element.dtype, element.dtype)}"
        body = self.template(op, element)
        if not element.prelude.has(name):
            names = parameter_names(len(element.dtypes))
            parameters = ", ".join(f"{WORDS[dtype]} {x}" for x, dtype in zip(names, element.dtypes, strict=True))
            head = f"static inline {WORDS[element.result]} {name}({parameters})"
            text = f"{head} {{\n  {element.expand(body).strip()}\n}}"
            element.prelude.need(name, text)
        return f"{name}({', '.join(element.operands)})"

    def in_lanes(self, op: Op, element: LaneElement) -> str | None:
        """A call of the function of vectors, None if each lane must be computed by itself."""
        body = self.lane_template(element.dtypes, element.result)
        if body is None:
            return None
        kinds = "_".join(WORDS[d] for d in dict.fromkeys((*element.dtypes, element.result)))
        name = f"tg_{op.name}_{kinds}_{element.vector}"  # lanes of bools and of int8 are one type
        if not element.prelude.has(name):
            head = f"static inline {element.result_vector} {name}({element.parameters})"
            text = f"{head} {{\n  {element.expand(body).strip()}\n}}"
            element.prelude.need(name, text)
        return f"{name}({', '.join(element.texts())})"
