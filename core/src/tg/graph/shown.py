"""A variable in a notebook: its type, the user's line, and the nearest ops that make it, folded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tg.display.html import Markup, element, fold, page

if TYPE_CHECKING:
    from tg.graph.nodes import Variable

DEPTH: Final = 6  # levels of ops that are shown
SHOWN: Final = 60  # ops in all


def variable_html(v: Variable, *parts: Markup) -> str:
    """The page of a variable; `parts` stand between its type and the ops."""
    budget = [SHOWN]
    return page(_node(v, DEPTH, budget, is_open=False), *parts)


def _node(v: Variable, depth: int, budget: list[int], *, is_open: bool) -> Markup:
    budget[0] -= 1
    name = element("b", v.name) if v.name else v.op.name if v.op is not None else _leaf(v)
    origin = f" = {v.op.name}" if v.name and v.op is not None else ""
    place = f"  {v.loc}:  {v.loc.source}".rstrip(": ") if v.loc is not None else ""
    head = element("span", name, origin, " : ", element("code", v.type), element("small", place))
    if not v.inputs:
        return element("div", head)
    if not depth:
        return element("div", head, element("small", "  of more"))
    below: list[Markup] = []
    for operand in v.inputs:
        if budget[0] <= 0:
            below.append(element("div", element("small", "…")))
            break
        below.append(_node(operand, depth - 1, budget, is_open=True))
    return fold(head, *below, is_open=is_open)


def _leaf(v: Variable) -> str:
    data = getattr(v, "data", None)
    if data is None:
        return "input"
    return f"constant {data!r}" if data.size == 1 else "constant"
