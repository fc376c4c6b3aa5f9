"""The rule at fault: errors of a program that name the rule, its plugin, the op and the user's line.

Nothing here runs while all is well. The generated code has one line for each call of a rule, so the line at which an
exception has left it tells the node; what stands in the frame's variables tells whether an earlier rule is to blame.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tg.errors import PluginError, blamed, message
from tg.link.linker import node_lines
from tg.types.dtypes import DTYPES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from types import TracebackType

    from tg.graph.frozen import FrozenGraph
    from tg.graph.op import Op
    from tg.link.linker import Request
    from tg.types.tensor_type import TensorType

    Rows = list[tuple[str, str]]

LOOKING: Final = frozenset({"tg.link.funcified", "tg.link.inspection", "tg.link.writing"})
LINES: Final = "__lines__"  # the name, in the scope of generated code, of its lines


class Line(NamedTuple):
    """A line of generated code, the user's line that it comes of, and the node whose rule it calls.

    `dying` are the operands, by position, that the rule was told it may overwrite.
    """

    text: str
    loc: Any = None
    node: tuple[FrozenGraph, int] | None = None
    dying: frozenset[int] = frozenset()

    @property
    def called(self) -> tuple[FrozenGraph, int]:
        """The node, of a line that calls a rule."""
        assert self.node is not None
        return self.node


def program_error(error: Exception, lines: Sequence[Line], request: Request) -> Exception:
    """The error to raise for one that has left generated code; the same where no rule was being called.

    Args:
        lines: of the code, which stand in its scope too, under `LINES`.
    """
    if getattr(error, "names_rule", False):
        return error
    entry = _last(error.__traceback__, lines)
    line = lines[entry.tb_lineno - 1] if entry is not None and entry.tb_lineno <= len(lines) else None
    if entry is None or line is None or line.node is None:
        return error
    graph, number = line.node
    earlier = wrong_values(graph, graph.nodes[number].inputs, entry.tb_frame.f_locals, request)
    if earlier is not None:
        earlier.__cause__ = error
        return earlier
    return rule_error(error, request, graph, number, in_call=_is_at_call(entry.tb_next))


def rule_error(error: Exception, request: Request, graph: FrozenGraph, number: int, *, in_call: bool) -> Exception:
    """The error to raise for one that the rule for a node has raised.

    Args:
        in_call: whether the rule was not even entered, or its result could not be taken apart.
    """
    if getattr(error, "names_rule", False):
        return error
    node = graph.nodes[number]
    rows, hint = rule_rows(request, graph, number, key := _called(error, request, node.op))
    if in_call:
        first = [] if node.op.pointwise and hasattr(node.op, "fn") else ["op"]
        sizes = node.op.size_operands(len(node.inputs))
        operands = ["int" if place in sizes else str(graph.types[k]) for place, k in enumerate(node.inputs)]
        rows.append(("called as", f"rule({', '.join([*first, *operands])})"))
    name = node.op.spelled if key is node.op.rule_key else getattr(key, "name", key)
    return blamed(error, f"{name}: its rule for backend {request.backend!r}", *rows, hint=hint)


def wrong_values(
    graph: FrozenGraph, numbers: Sequence[int], values: Mapping[str, Any], request: Request
) -> PluginError | None:
    """The error of the first of some values, by their names `v3`, that cannot be what its rule was to give."""
    makers = {k: n for n, node in enumerate(graph.nodes) for k in node.outputs}
    for k in numbers:
        if k in makers and f"v{k}" in values:
            fault = mistake(values[f"v{k}"], graph.types[k])
            if fault is not None:
                return result_error(f"{fault}, needed {graph.types[k]}", request, graph, makers[k])
    return None


def result_error(text: str, request: Request, graph: FrozenGraph, number: int) -> PluginError:
    """The error of a rule that gave something else than results of the declared types."""
    op = graph.nodes[number].op
    rows, hint = rule_rows(request, graph, number, op.rule_key)
    error = PluginError(
        message(f"{op.spelled}: its rule for backend {request.backend!r} gave {text}", *rows, hint=hint)
    )
    error.names_rule = True
    error.__dict__.pop("__notes__", None)  # where a rule is called from is no line of the user's
    return error


def rule_rows(request: Request, graph: FrozenGraph, number: int, key: object) -> tuple[Rows, str | None]:
    """The lines about a node and about the rule that a backend has for its key, and how to do without."""
    rows: Rows = node_lines(graph, number)
    rule, source = request.rule_for(key), request.source_of(key)
    if rule is not None:
        rows.append(("rule", described(rule)))
    if source is None:
        return rows, None
    rows.append(("plugin", source[0]))
    return rows, source[1]


def _called(error: Exception, request: Request, op: Op) -> object:
    """The key of the rule that has raised: of an op in a loop, where its rule was running, or of the node's own."""
    running = set()
    traceback = error.__traceback__
    while traceback is not None:
        running.add(traceback.tb_frame.f_code)
        traceback = traceback.tb_next
    for key in (node.op.rule_key for program in op.element_programs for node in program.nodes):
        if getattr(request.rule_for(key), "__code__", None) in running:
            return key
    return op.rule_key


def described(function: Callable[..., Any]) -> str:
    """A function for a message: its name, and where it is written."""
    inner = getattr(function, "__wrapped__", getattr(function, "func", function))
    name = getattr(inner, "__qualname__", None) or getattr(inner, "__name__", None) or repr(inner)
    module, code = getattr(inner, "__module__", None), getattr(inner, "__code__", None)
    place = f", {code.co_filename}:{code.co_firstlineno}" if code is not None else ""
    return f"{module}.{name}{place}" if module else f"{name}{place}"


def mistake(value: Any, needed: TensorType) -> str | None:
    """The description of a value that cannot be an array of a type; None where it can, or nothing is known of it.

    Arrays of any library are judged, and what stands for them while tracing: by `shape`, and the name of `dtype`.
    """
    if value is None or isinstance(value, tuple | list):
        return "None" if value is None else f"a {type(value).__name__} of {len(value)}"
    try:
        shape: tuple[Any, ...] = tuple(value.shape)
    except Exception:  # noqa: BLE001 (a stranger's object)
        return None
    dtype = dtype_of(value)
    fits = len(shape) == needed.ndim and all(
        n is None or type(m) is not int or m == n for m, n in zip(shape, needed.static.shape, strict=True)
    )
    if fits and dtype in (None, needed.dtype):
        return None
    return f"{dtype or needed.dtype}{list(shape)}"


def dtype_of(value: Any) -> str | None:
    """The dtype of an array of any library by its name; None where that says nothing."""
    dtype = getattr(value, "dtype", "")
    try:
        return _dtype_name(dtype)
    except TypeError:  # that no table can hold
        return None


@functools.lru_cache(256)
def _dtype_name(dtype: object) -> str | None:
    name = str(dtype).rpartition(".")[2].removesuffix("_")
    return name if name in DTYPES else None


def _is_at_call(below: TracebackType | None) -> bool:
    """Whether below a line of generated code no code has run but what looks at rules."""
    while below is not None and below.tb_frame.f_globals.get("__name__") in LOOKING:
        below = below.tb_next
    return below is None


def _last(traceback: TracebackType | None, lines: Sequence[Line]) -> TracebackType | None:
    """The innermost entry of a traceback for some generated code."""
    entry = None
    while traceback is not None:
        if traceback.tb_frame.f_globals.get(LINES) is lines:
            entry = traceback
        traceback = traceback.tb_next
    return entry
