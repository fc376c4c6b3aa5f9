"""Gaps of backends: what one does not run itself, and the error of a program that has it all the same."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tg.errors import NoRuleError, message
from tg.graph.op import Op
from tg.link.linker import refusal
from tg.ops.shape import AxisLength

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

    from tg.graph.frozen import FrozenGraph
    from tg.link.declines import Declines
    from tg.plugin.records import Backend, Gap
    from tg.types.tensor_type import TensorType

REFERENCE_HINT: Final = 'backend="perform" has every op and dtype'


def support(
    backend: Backend,
    gaps: Sequence[Gap],
    rule_for: Callable[[object], Any],
    declines: Declines,
    hosted: Callable[[], frozenset[object]],
) -> Callable[[Op, tuple[TensorType, ...]], bool]:
    """Whether the backend, or the host for it, runs an op on operands of given types: else its expansion is inlined."""
    if backend.name == "perform":
        return lambda op, types: type(op).perform is not Op.perform

    def supported(op: Op, types: tuple[TensorType, ...]) -> bool:
        if rule_for(op.rule_key) is None or declines.has(op, types):
            return op.rule_key in hosted()
        return find_gap(refused, op, types) is None

    refused = refusals(gaps)
    return supported


def refusals(gaps: Iterable[Gap]) -> list[Gap]:
    """The gaps of what is not even tried."""
    return [gap for gap in gaps if gap.raises is not None]


def find_gap(gaps: Sequence[Gap], op: Op, types: Sequence[TensorType]) -> Gap | None:
    """The gap that covers an op on operands of given types."""
    for gap in gaps:
        if gap.op is not None and gap.op != op.rule_key:
            continue
        if gap.dtypes is not None and not any(t.dtype in gap.dtypes for t in types):
            continue
        if gap.when is None or gap.when(op, types):
            return gap
    return None


def refuse_gaps(frozen: FrozenGraph, backend: Backend, gaps: Sequence[Gap]) -> None:
    """Raise for the first node that the backend is known not to run.

    Raises:
        NoRuleError: a dtype the backend lacks, or a gap, with its reason and the user's line.
    """
    refused = refusals(gaps)
    numbers = sorted(range(len(frozen.nodes)), key=lambda k: isinstance(frozen.nodes[k].op, AxisLength))  # at last
    for number in numbers:
        node = frozen.nodes[number]
        types = [*(frozen.types[k] for k in (*node.inputs, *node.outputs)), *_inner_types(node.op)]
        missing = _missing_dtype(types, backend)
        gap = find_gap(refused, node.op, types)
        if missing is None and gap is None:
            for inner in node.op.inner_graphs():
                refuse_gaps(inner, backend, gaps)
            continue
        if missing is not None:
            text = f"backend {backend.name!r} has no dtype {missing}"
        else:
            text = f"backend {backend.name!r} does not run {node.op.spelled}: {gap.reason if gap is not None else ''}"
        raise refusal(text, frozen, number, hint=REFERENCE_HINT)
    unread = (*frozen.types[: frozen.arity], *frozen.output_types)  # inputs and constants that no node reads
    missing = _missing_dtype(unread, backend)
    if missing is not None:
        raise NoRuleError(message(f"backend {backend.name!r} has no dtype {missing}", hint=REFERENCE_HINT))


def _missing_dtype(types: Iterable[TensorType], backend: Backend) -> str | None:
    return next((t.dtype for t in types if backend.dtypes and t.dtype not in backend.dtypes), None)


def _inner_types(op: Op) -> Iterable[TensorType]:
    """The types within a loop nest."""
    return (t for program in op.element_programs for t in program.types)
