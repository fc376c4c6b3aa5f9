"""Rules that are kernels: what `tg_native` has for a function of single elements, printed in C where it is needed."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, final

from tg.errors import NoRuleError
from tg.types.dtypes import is_complex
from tg_c.body import Body
from tg_c.prelude import Prelude
from tg_native.kernels.dtypes import PARTS, WORDS
from tg_native.kernels.lanes import Lanes, Pair

if TYPE_CHECKING:
    from collections.abc import Callable

    from tg.graph.op import Op
    from tg_c.lanes import LaneElement
    from tg_c.prelude import Element
    from tg_native.kernels.lanes import Elements

_OPERAND: Final = re.compile(r"\b([xyz])\b")


@final
class Printed:
    """A rule: a kernel, written for one element or for lanes, in place where it is one expression."""

    __slots__ = ("_sizes", "kernel")
    __name__ = "Printed"  # in messages about rules

    def __init__(self, kernel: Callable[..., Any]) -> None:
        self.kernel = kernel
        self._sizes: dict[Any, int | None] = {}

    def __call__(self, op: Op, element: Element) -> str:
        """The expression for one element."""
        key = (op, element.dtypes, element.result, 0)
        template = element.prelude.templates.get(key)
        if template is None:
            kinds = "_".join(WORDS[d] for d in (*element.dtypes, element.result))
            body = Body(element.prelude)
            operands = tuple(_one(body, d, x) for d, x in zip(element.dtypes, "xyz", strict=False))
            template = self._template(op, body, operands, element.result, f"tg_{op.name}_{kinds}")
            if template is None:
                return NotImplemented  # type: ignore[no-any-return]
            element.prelude.templates[key] = template
        return _OPERAND.sub(lambda m: element.operands["xyz".index(m[1])], template)

    def in_lanes(self, op: Op, element: LaneElement) -> str | None:
        """The expression for vectors, None if each lane must be computed by itself."""
        if any(is_complex(d) for d in (*element.dtypes, element.result)):
            return None
        vectors = element.vectors
        forms = tuple(element.kind_of(v) for v in element.operands)
        key = (op, element.dtypes, element.result, vectors.count, forms)
        template = vectors.prelude.templates.get(key)
        if template is None:
            body = Body(vectors.prelude, vectors.count, vectors.size)
            operands = tuple(
                Lanes(body, d, x, form if d == "bool" else "")
                for d, x, form in zip(element.dtypes, "xyz", forms, strict=False)
            )
            words = (form if d == "bool" else WORDS[d] for d, form in zip(element.dtypes, forms, strict=True))
            kinds = "_".join((*words, WORDS[element.result]))  # halves of both kinds have lanes of one type
            name = f"tg_{op.name}_{kinds}_{element.result_vector}"
            template = self._template(op, body, operands, element.result, name, element.result_kind)
            if template is None:
                return None
            if not body.has_counted or template.startswith(f"{name}("):
                vectors.prelude.templates[key] = template
        texts = element.texts()
        return _OPERAND.sub(lambda m: texts["xyz".index(m[1])], template)

    def lane_size(self, op: Op, dtypes: tuple[str, ...], result: str) -> int | None:
        """The bytes of the widest element that is computed with in lanes, None if there are none."""
        key = (op, dtypes, result)
        if key not in self._sizes:
            self._sizes[key] = self._size(op, dtypes, result)
        return self._sizes[key]

    def _size(self, op: Op, dtypes: tuple[str, ...], result: str) -> int | None:
        if any(is_complex(d) for d in (*dtypes, result)):
            return None
        body = Body(Prelude(_no_symbol), 2)
        operands = (Lanes(body, d, x, "i64" if d == "bool" else "") for d, x in zip(dtypes, "xyz", strict=False))
        try:
            self.kernel(op, tuple(operands), result)
        except NoRuleError:
            return None
        return max(body.widest, 1)

    def _template(
        self, op: Op, body: Body, operands: tuple[Elements, ...], result: str, name: str, form: str = ""
    ) -> str | None:
        """The expression, or a call of the function that the prelude gets; None if the kernel declines."""
        found = self.kernel(op, operands, result)
        if found is NotImplemented:
            return None
        text = _whole(body, found, form)
        if not body.lines:
            return text
        if len(body.lines) == 1 and text == body.lines[0].split()[2]:  # const f64 v0 = x + y;
            return body.lines[0].partition(" = ")[2].removesuffix(";")
        kind = body.vectors.type(form) if form else WORDS[result]
        parameters = ", ".join(f"{_kind(body, x)} {letter}" for x, letter in zip(operands, "xyz", strict=False))
        lines = "\n".join((*body.lines, f"  return {text};"))
        body.prelude.need(name, f"static inline {kind} {name}({parameters}) {{\n{lines}\n}}")
        return f"{name}({', '.join('xyz'[: len(operands)])})"


def _one(body: Body, dtype: str, letter: str) -> Elements:
    """An operand that is a parameter."""
    if not is_complex(dtype):
        return Lanes(body, dtype, letter)
    return Pair(*(Lanes(body, PARTS[dtype], f"(__{part}__ {letter})") for part in ("real", "imag")))


def _whole(body: Body, value: Elements, form: str) -> str:
    """A result as C has it."""
    if isinstance(value, Pair):
        return f"__builtin_complex({value.real.text}, {value.imag.text})"
    if value.dtype == "bool" and body.lanes:
        return body.mask(value, form)
    return body.vector(value)


def _kind(body: Body, operand: Elements) -> str:
    if isinstance(operand, Pair):
        return WORDS[operand.dtype]
    return body.vectors.type(operand.form) if operand.form else operand.kind


def _no_symbol(name: str, dtype: str, arity: int, count: int) -> None:
    """The symbols of a platform without vector mathematics."""
