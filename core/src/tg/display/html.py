"""HTML for notebooks: elements of escaped text, folded parts, and one style that follows light and dark themes.

A page is self-contained: it loads nothing, runs no script, and its style says nothing of what is outside of it.
"""

from __future__ import annotations

import functools
from typing import final


@final
class Markup(str):
    """Text that is HTML already: the functions of this module give it, and take it without escaping it."""

    __slots__ = ()


def escaped(value: object) -> Markup:
    """HTML that shows a text as it is; markup stays markup."""
    import html

    return value if isinstance(value, Markup) else Markup(html.escape(str(value)))


def element(tag: str, *children: object, **attributes: object) -> Markup:
    """One element; `class_` is the attribute `class`, True an attribute without a value, None or False none.

    Example:
        >>> from tg.display.html import element
        >>> print(element("b", "a < b", class_="r"))
        <b class="r">a &lt; b</b>
    """
    said = {name.rstrip("_"): value for name, value in attributes.items() if value is not None and value is not False}
    pairs = (f" {name}" if value is True else f' {name}="{escaped(value)}"' for name, value in said.items())
    return Markup(f"<{tag}{''.join(pairs)}>{joined(children)}</{tag}>")


def joined(parts: object) -> Markup:
    """Parts one after another."""
    return Markup("".join(map(escaped, parts)))  # type: ignore[call-overload]


def fold(summary: object, *parts: object, is_open: bool = False) -> Markup:
    """Parts behind a summary, shown when somebody opens it; the summary alone where there are none."""
    if not any(parts):
        return element("div", summary)
    return element("details", element("summary", summary), *parts, open=is_open)


def bar(share: float) -> Markup:
    """A bar for a share of a whole, 0 to 1."""
    width = round(100 * min(max(share, 0.0), 1.0))
    return element("span", class_="bar", style=f"width:{width}px", title=f"{100 * share:.1f} %")


@functools.cache
def style() -> Markup:
    """The style of all pages."""
    from importlib.resources import files

    text = files("tg.display").joinpath("notebook.css").read_text(encoding="utf-8")
    return Markup(" ".join(line.strip() for line in text.splitlines()))


def page(*parts: object) -> str:
    """The parts under the style: the value of a `_repr_html_`."""
    return f'<div class="tg"><style>{style()}</style>{joined(parts)}</div>'


def shown_html(title: str, *parts: Markup) -> str:
    """The page of a report: its title, then its parts."""
    return page(element("b", title), *parts)
