"""From a frozen graph to its text."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from tg.graph.frozen import FrozenGraph, Origin
from tg.graph.op import Op, exact_key
from tg.graph.text import literals

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import numpy as np

    from tg.graph.checks import Descriptor

VERSION: Final = 1
COMMENT_COLUMN: Final = 64  # comments are aligned as far as this column

_LITERALS: Final[dict[type, Callable[[Any], str]]] = {
    type(None): str,
    bool: str,
    int: literals.int_text,
    float: literals.float_text,
    complex: literals.complex_text,
    str: literals.quoted,
}
_ADDRESS: Final = re.compile(r" at 0x[0-9a-fA-F]+")


def to_text(graph: FrozenGraph, *, provenance: bool = False) -> str:
    """The program as text; constants of more than 64 elements appear as a digest only.

    Args:
        provenance: end the line of a node with a comment: the user's lines, and the rules that made it.
    """
    return to_text_with_constants(graph, provenance=provenance)[0]


def to_text_with_constants(
    graph: FrozenGraph, *, provenance: bool = False
) -> tuple[str, dict[str, np.ndarray[Any, Any]]]:
    """The program as text, and its large constants by digest: what `parse` needs to build it again."""
    printer = Printer(graph)
    lines = [f"tg {VERSION}"]
    for each, label in printer.labels.items():
        lines.extend(printer.graph_lines(each, label, provenance=provenance))
    return "\n".join(lines) + "\n", printer.constants


class Printer:
    """The names of a graph and of the graphs inside it, innermost first, and the large constants met while printing."""

    def __init__(self, graph: FrozenGraph) -> None:
        inner = inner_graphs(graph)
        self.labels = {each: f"@g{k}" for k, each in enumerate(inner)}
        self.labels[graph] = ""
        self.constants: dict[str, np.ndarray[Any, Any]] = {}
        self._checks: dict[tuple[Descriptor, ...], str] = {}
        for each in inner:
            self._checks.setdefault(tuple(c.descriptor for c in each.checks), self.labels[each])

    def graph_lines(self, graph: FrozenGraph, label: str, *, provenance: bool) -> Iterator[str]:
        """The lines of one graph."""
        inputs = ", ".join(f"{value_text(graph, k)}: {type_text(graph, k)}" for k in range(graph.arity))
        yield f"graph{label and ' '}{label}({inputs}) {{"
        for k in range(len(graph.constants)):
            number = graph.arity + k
            yield f"  {value_text(graph, number)} = const {graph.types[number]} {self.constant_text(graph, number)}"
        lines = [*self._node_lines(graph), *self._check_lines(graph)]
        yield from _aligned(lines) if provenance else (code for code, _ in lines)
        yield f"  return {_numbers(graph.outputs)}".rstrip()
        yield "}"

    def _node_lines(self, graph: FrozenGraph) -> Iterator[tuple[str, str]]:
        for k, node in enumerate(graph.nodes):
            results = ", ".join(value_text(graph, out) for out in node.outputs)
            types = ", ".join(type_text(graph, out) for out in node.outputs)
            code = f"  {results} = {self.op_text(node.op)}({_numbers(node.inputs)}) : {types}"
            yield code, origin_text(graph.origins.get(k, Origin()))

    def _check_lines(self, graph: FrozenGraph) -> Iterator[tuple[str, str]]:
        for check in graph.checks:
            shows = f" shows ({_numbers(check.values)})" if check.values else ""
            loc = getattr(check.descriptor, "loc", None)
            code = f"  check %{check.condition}{shows} {self._descriptor_text(check.descriptor)}"
            yield code, origin_text(Origin((loc,) if loc is not None else ()))

    def _descriptor_text(self, descriptor: Descriptor) -> str:
        text = f"{literals.name_text(descriptor.error)} {literals.quoted(descriptor.text)}"
        if descriptor.hint is not None:
            text += f" hint {literals.quoted(descriptor.hint)}"
        if descriptor.stated:
            text += " stated"
        if descriptor.told is not None:
            text += f" told {self.field_text(descriptor.told)}"
        if not descriptor.inner:
            return text
        label = self._checks.get(descriptor.inner)
        return f"{text} inner {label or '(' + ', '.join(map(self._descriptor_text, descriptor.inner)) + ')'}"

    def constant_text(self, graph: FrozenGraph, number: int) -> str:
        """The elements of a constant, or the digest under which `constants` then has it."""
        constant = graph.constant(number)
        assert constant is not None
        if constant.data.size <= literals.INLINE:
            return literals.array_text(constant.data)
        key = literals.digest(constant.data)
        self.constants[key] = constant.data
        return f"data {literals.quoted(key)}"

    def op_text(self, op: Op, *, braces: bool = False) -> str:
        """An op as a node shows it; as a field shows it with `braces`, which tell it from an elementwise function."""
        prefix = "opaque " if is_opaque(op) else ""
        if is_elementwise(op.rule_key):
            return f"{prefix}{op.name}{'{}' if braces else ''}"
        fields = ", ".join(f"{name}={self.field_text(value)}" for name, value in stated_fields(op))
        return f"{prefix}{type(op).__name__}" + (f"{{{fields}}}" if fields or braces else "")

    def field_text(self, value: object) -> str:
        """A field of an op."""
        literal = _LITERALS.get(type(value))
        if literal is not None:
            return literal(value)
        if type(value) is tuple:
            return f"({', '.join(map(self.field_text, value))}{',' if len(value) == 1 else ''})"
        if isinstance(value, FrozenGraph):
            return self.labels[value]
        if isinstance(value, Op):
            return self.op_text(value, braces=True)
        if is_elementwise(value):
            return str(value.name)  # type: ignore[attr-defined]
        return f"opaque {literals.quoted(_ADDRESS.sub('', repr(value)))}"


def is_elementwise(value: object) -> bool:
    """Whether a value is an elementwise function: a record that has an op and is its rule key."""
    op = getattr(value, "op", None)
    return isinstance(op, Op) and op.rule_key is value


def is_opaque(value: object) -> bool:
    """Whether text cannot hold a field's value: it is of another kind, or an op that says so or holds such a value."""
    if type(value) in _LITERALS or isinstance(value, FrozenGraph) or is_elementwise(value):
        return False
    if type(value) is tuple:
        return any(map(is_opaque, value))
    if not isinstance(value, Op):
        return True
    return value.opaque or (
        not is_elementwise(value.rule_key) and any(is_opaque(getattr(value, name)) for name in type(value).fields)
    )


def stated_fields(op: Op) -> list[tuple[str, object]]:
    """The fields of an op that are not equal to their defaults."""
    cls = type(op)
    fields = [(name, getattr(op, name)) for name in cls.fields]
    return [
        (name, value)
        for name, value in fields
        if name not in cls.defaults or exact_key(value) != exact_key(cls.defaults[name])
    ]


def inner_graphs(graph: FrozenGraph) -> list[FrozenGraph]:
    """The graphs inside a graph, each once, those that others hold before their holders."""
    finished: dict[FrozenGraph, None] = {}
    stack = [(graph, False)]
    while stack:
        top, expanded = stack.pop()
        if top in finished:
            continue
        if expanded:
            finished[top] = None
            continue
        stack.append((top, True))
        held = [g for node in top.nodes for g in held_by(node.op)]
        stack.extend((g, False) for g in reversed(held))
    del finished[graph]
    return list(finished)


def held_by(value: object) -> Iterator[FrozenGraph]:
    """The graphs that an op, or a field of one, holds itself."""
    if isinstance(value, FrozenGraph):
        yield value
    elif isinstance(value, Op):
        for name in type(value).fields:
            yield from held_by(getattr(value, name))
    elif type(value) is tuple:
        for each in value:
            yield from held_by(each)


def value_text(graph: FrozenGraph, number: int) -> str:
    """A value where it is defined: its number, and its name if it has one."""
    name = graph.names.get(number)
    return f"%{number}" if name is None else f"%{number} {literals.name_text(name)}"


def type_text(graph: FrozenGraph, number: int) -> str:
    """The type of a value, and in braces the facts that were assumed of it."""
    facts = graph.assumed.get(number)
    return f"{graph.types[number]}{' {' + ', '.join(sorted(facts)) + '}' if facts else ''}"


def _numbers(numbers: Sequence[int]) -> str:
    return ", ".join(f"%{k}" for k in numbers)


def origin_text(origin: Origin) -> str:
    """The user's lines and the rules that made a node, as one line."""
    parts = [str(loc) for loc in origin.locs]
    if origin.rules:
        parts.append("by " + ", ".join(origin.rules))
    return "".join(c if c.isprintable() else "?" for c in "; ".join(parts))


def _aligned(lines: Sequence[tuple[str, str]]) -> Iterator[str]:
    commented = [len(code) for code, comment in lines if comment and len(code) <= COMMENT_COLUMN]
    column = max(commented, default=0)
    return (f"{code:<{column}}  # {comment}" if comment else code for code, comment in lines)
