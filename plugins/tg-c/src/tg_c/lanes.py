"""Rules that are C text for single elements, in lanes: by text that vectors have as well, or lane by lane."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tg.backend import TensorType, is_complex, taken
from tg_c.body import SHARED, name_of
from tg_c.libm import ARITIES
from tg_c.prelude import Element, limit
from tg_c.printed import text_of
from tg_c.routine import Routine
from tg_c.text import lane_kind, literal
from tg_c.vectors import size_of
from tg_native.kernels.dtypes import PARTS, WORDS, is_half
from tg_native.kernels.lanes import Lanes, Pair, in_all_lanes, lane_of, parameter_names

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tg.backend import Op, Rule
    from tg_c.prelude import Prelude
    from tg_c.vectors import Vectors
    from tg_native.kernels.lanes import Elements

_WORD: Final = re.compile(r"@([A-Za-z_][A-Za-z_0-9]*)")


class Lane(NamedTuple):
    """A value in a block: a vector whose elements have the C type `kind`, or a scalar that all lanes share."""

    text: str
    dtype: str
    kind: str = ""


class LaneElement(NamedTuple):
    """Arguments of a rule for single elements that works on lanes: operands, of which one is a vector, and dtypes."""

    operands: tuple[Lane, ...]
    result: str
    vectors: Vectors

    @property
    def dtypes(self) -> tuple[str, ...]:
        """The dtypes of the operands."""
        return tuple(v.dtype for v in self.operands)

    @property
    def dtype(self) -> str:
        """The dtype of the last operand: that of the loop."""
        return self.operands[-1].dtype

    @property
    def prelude(self) -> Prelude:
        """The declarations of the unit."""
        return self.vectors.prelude

    @property
    def kind(self) -> str:
        """The C type of an element of the last operand; masks are as wide as the first one."""
        if self.dtype != "bool":
            return lane_kind(self.dtype)
        return next(v.kind for v in self.operands if v.kind and v.dtype == "bool")

    @property
    def result_kind(self) -> str:
        """The C type of an element of the result."""
        return self.vectors.mask(self.kind) if self.result == "bool" else lane_kind(self.result)

    @property
    def vector(self) -> str:
        """The vector type of the last operand."""
        return self.vectors.type(self.kind)

    @property
    def result_vector(self) -> str:
        """The vector type of the result."""
        return self.vectors.type(self.result_kind)

    @property
    def parameters(self) -> str:
        """The operands as the parameters x, y, z and so on of a function."""
        names = parameter_names(len(self.operands))
        return ", ".join(f"{self.vectors.type(self.kind_of(v))} {x}" for x, v in zip(names, self.operands, strict=True))

    def texts(self, *, mixed: bool = False) -> tuple[str, ...]:
        """The operands as vectors; if `mixed`, those that all lanes share as they are."""
        return tuple(v.text if mixed and not v.kind else self._vector(v) for v in self.operands)

    def kind_of(self, operand: Lane) -> str:
        """The C type of an element of an operand; masks are as wide as the last operand."""
        return self.vectors.mask(self.kind) if operand.dtype == "bool" else lane_kind(operand.dtype)

    def _vector(self, operand: Lane) -> str:
        return as_vector(self.vectors, operand, self.kind_of(operand))

    def expand(self, template: str) -> str:
        """A template with its @ words replaced."""
        return _WORD.sub(lambda m: self._word(m[1]), template)

    def _word(self, word: str) -> str:
        if word in ARITIES:
            return name_of(self.prelude, word, self.dtype, self.vectors.count, self.vectors.size)
        if word in ("all", "larger", "least", "most", "number", "select", "smaller"):
            return self.vectors.function(word, self.kind)
        if word in ("T", "R"):
            return self.vector if word == "T" else self.result_vector
        if word in ("U", "I"):
            return self.vectors.type(word.lower() + self.vectors.mask(self.kind)[1:])
        if word == "PLACES":
            return str(8 * size_of(self.kind) - 1)
        return self.kind if word == "P" else literal(limit(word, self.dtype), self.dtype)


def as_vector(vectors: Vectors, value: Lane, kind: str) -> str:
    """A value as a vector, a mask as one of `kind`."""
    if value.kind:
        return vectors.resized(value.text, value.kind, kind) if value.dtype == "bool" else value.text
    text = f"-{value.text}" if value.dtype == "bool" else f"({value.text}).bits" if is_half(value.dtype) else value.text
    return f"{vectors.function('all', kind)}({text})"


def in_lanes(rule: Rule, op: Op, element: LaneElement) -> Lane:
    """The result of an op: by the rule's text for vectors, else lane by lane by its text for one element."""
    write = getattr(rule, "in_lanes", None)
    expression = write(op, element) if write is not None else None
    return Lane(expression or _by_lanes(rule, op, element), element.result, element.result_kind)


def _by_lanes(rule: Rule, op: Op, element: LaneElement) -> str:
    names = "xyz"[: len(element.operands)]
    kinds = "_".join(WORDS[d] for d in (*element.dtypes, element.result))
    name = f"tg_each_{op.name}_{kinds}_{element.result_vector}"
    if not element.prelude.has(name):
        lanes = tuple(map(_lane, names, element.dtypes))
        result = rule(op, Element(lanes, element.dtypes, element.result, element.prelude))
        expression = str(taken(result, op, [*map(TensorType, element.dtypes)]))
        value = f"-({expression})" if element.result == "bool" else expression
        value = f"({expression}).bits" if is_half(element.result) else value
        head = f"static {element.result_vector} {name}({element.parameters})"
        element.prelude.need(name, element.vectors.lane_loop(head, element.result_vector, value))
    return f"{name}({', '.join(element.texts())})"


def _lane(name: str, dtype: str) -> str:
    """Lane k of a vector, as one element has it."""
    if dtype == "bool":
        return f"({name}[k] & 1)"
    return f"(({WORDS[dtype]}){{{name}[k]}})" if is_half(dtype) else f"{name}[k]"


def by_text(rule: Rule) -> Callable[[Op, Sequence[Elements], str], Elements]:
    """A rule that writes text for single elements, as loops call rules: with operands in lanes."""

    def on_lanes(op: Op, operands: Sequence[Elements], result: str) -> Elements:
        body = operands[0].body
        assert isinstance(body, Routine)
        shared = all(isinstance(v, Lanes) and v.form == SHARED for v in operands)
        if not body.lanes or shared:
            each = [lane_of(v, 0) for v in operands]
            with body.of(0):
                value = _single(rule, op, body, each, result)
            return value if not body.lanes or value is NotImplemented else in_all_lanes(value)
        if any(map(is_complex, (*(v.dtype for v in operands), result))):
            return _lane_by_lane(rule, op, body, operands, result)
        lanes: Any = operands
        return body.each(lambda *each: _in_vectors(rule, op, body, each, result), *lanes)

    return on_lanes


def _single(rule: Rule, op: Op, body: Routine, operands: Sequence[Elements], result: str) -> Elements:
    value: Any = rule(op, Element((*map(text_of, operands),), tuple(v.dtype for v in operands), result, body.prelude))
    if value is NotImplemented:
        return value  # type: ignore[no-any-return]
    if not is_complex(result):
        return body.find(result, str(value))
    whole = body.local(f"const {WORDS[result]}", str(value))
    return Pair(*(body.find(PARTS[result], f"__{which}__ {whole}") for which in ("real", "imag")))


def _lane_by_lane(rule: Rule, op: Op, body: Routine, operands: Sequence[Elements], result: str) -> Elements:
    values: list[Any] = []
    for k in range(body.lanes):
        each = [lane_of(v, k) for v in operands]
        with body.of(0):
            values.append(_single(rule, op, body, each, result))
    if values[0] is NotImplemented:
        return NotImplemented  # type: ignore[no-any-return]
    if not is_complex(result):
        return body.of_elements(result, values)
    return Pair(*(body.of_elements(PARTS[result], [v[k] for v in values]) for k in (0, 1)))


def _in_vectors(rule: Rule, op: Op, body: Routine, operands: Sequence[Lanes], result: str) -> Lanes:
    lanes = [Lane(str(v.text), v.dtype, "" if v.form == SHARED else v.form or lane_kind(v.dtype)) for v in operands]
    value = in_lanes(rule, op, LaneElement(tuple(lanes), result, body.vectors))
    return body.find(result, value.text, value.kind if result == "bool" else "")
