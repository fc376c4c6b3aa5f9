"""Rules that are kernels: what `tg_native` has for a function of single elements, printed in C where it is needed."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, final

from tg.backend import is_complex
from tg_c.abreast import Width
from tg_c.routine import Routine
from tg_native.kernels.dtypes import PARTS, WORDS
from tg_native.kernels.lanes import Lanes, Pair, parameter_names

if TYPE_CHECKING:
    from collections.abc import Callable

    from tg.backend import Op
    from tg_c.body import Body
    from tg_c.prelude import Element
    from tg_native.kernels.lanes import Elements

_OPERAND: Final = re.compile(r"\b([xyzw]|x\d+)\b")
"""What may be one of `parameter_names`."""


@final
class Printed:
    """A rule: a kernel, which loops call for lanes, written for one element, in place where it is one expression."""

    __slots__ = ("kernel",)
    __name__ = "Printed"  # in messages about rules

    def __init__(self, kernel: Callable[..., Any]) -> None:
        self.kernel = kernel

    def __call__(self, op: Op, element: Element) -> str:
        """The expression for one element."""
        key = (op, element.dtypes, element.result, 0)
        template = element.prelude.templates.get(key)
        if template is None:
            kinds = "_".join(WORDS[d] for d in (*element.dtypes, element.result))
            body = Routine(element.prelude, Width(0, 1))
            names = parameter_names(len(element.dtypes))
            operands = tuple(_one(body, d, x) for d, x in zip(element.dtypes, names, strict=True))
            template = self._template(op, body, operands, element.result, f"tg_{op.name}_{kinds}")
            if template is None:
                return NotImplemented  # type: ignore[no-any-return]
            element.prelude.templates[key] = template
        texts = dict(zip(parameter_names(len(element.operands)), element.operands, strict=True))
        return _OPERAND.sub(lambda m: texts.get(m[1], m[1]), template)

    def _template(self, op: Op, body: Body, operands: tuple[Elements, ...], result: str, name: str) -> str | None:
        """The expression, or a call of the function that the prelude gets; None if the kernel declines."""
        value = self.kernel(op, operands, result)
        if value is NotImplemented:
            return None
        if not body.lines:
            return text_of(value)
        if isinstance(value, Pair):
            value = value._replace(real=Lanes(body, value.real.dtype, body.apart(value.real)))
        text = text_of(value)
        if len(body.lines) == 1 and text == body.lines[0].split()[2]:  # const f64 v0 = x + y;
            return body.lines[0].partition(" = ")[2].removesuffix(";")
        kind = WORDS[result]
        names = parameter_names(len(operands))
        parameters = ", ".join(f"{WORDS[x.dtype]} {letter}" for x, letter in zip(operands, names, strict=True))
        lines = "\n".join((*body.lines, f"  return {text};"))
        body.prelude.need(name, f"static inline {kind} {name}({parameters}) {{\n{lines}\n}}")
        return f"{name}({', '.join(names)})"


def _one(body: Body, dtype: str, letter: str) -> Elements:
    """An operand that is a parameter."""
    if not is_complex(dtype):
        return Lanes(body, dtype, letter)
    return Pair(*(Lanes(body, PARTS[dtype], f"(__{part}__ {letter})") for part in ("real", "imag")))


def text_of(value: Elements) -> str:
    """A single element as C has it."""
    return f"__builtin_complex({value.real.text}, {value.imag.text})" if isinstance(value, Pair) else str(value.text)
