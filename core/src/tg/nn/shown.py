"""A module in a notebook: the modules in it, folded, with the types of their weights."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tg.display.html import Markup, element, fold, page
from tg.graph.nodes import Variable
from tg.nn.module import Initial, Module, inner
from tg.nn.weights import count

if TYPE_CHECKING:
    from collections.abc import Iterator


def module_html(module: Module) -> str:
    """The page of a module."""
    return page(_part("", module, is_open=True))


def _part(name: str, value: Any, *, is_open: bool = False) -> Markup:
    label: list[object] = [element("code", name), " "] if name else []
    if isinstance(value, Variable):
        return element("div", *label, element("small", value.type))
    if isinstance(value, Initial):
        return element("div", *label, element("small", f"{value.dtype or ''}{list(value.shape)}, without a value yet"))
    parts = [*_parts(value)]
    head: list[object]
    if isinstance(value, Module):
        head = [element("b", type(value).__name__), element("small", f"  {count(value):,} weights")]
    else:
        head = [type(value).__name__ if parts else repr(value)]
    return fold(element("span", *label, *head), *parts, is_open=is_open)


def _parts(value: Any) -> Iterator[Markup]:
    inside = value.parts if isinstance(value, Module) else inner(value)
    for name, part in inside.items():
        yield _part(str(name), part)
