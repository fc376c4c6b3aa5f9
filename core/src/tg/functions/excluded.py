"""Names of the rules, passes and classes of rewriting that a function leaves out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tg import plugin
from tg.configuration import names_of
from tg.errors import OptionError, TgError, message, nearest
from tg.rewrite.driver import FOLD
from tg.rewrite.phases import KINDS

if TYPE_CHECKING:
    from collections.abc import Iterable


def excluded(value: Any, backend: str) -> frozenset[str]:
    """The names that an argument `exclude=` means.

    A rule of another backend than the one chosen is known too, so that one configuration serves all of them.

    Raises:
        OptionError: no collection of names, or a name that no rule, pass or class has; those that resemble it.
    """
    names = names_of(value, "exclude")
    unknown = [name for name in names if name not in _known([backend])]
    if unknown:
        all_names = _known([backend, *(one.name for one in plugin.registry().backends() if one.is_available)])
        for name in unknown:
            if name not in all_names:
                raise OptionError(_message(name, all_names))
    return frozenset(names)


def _known(backends: Iterable[str]) -> frozenset[str]:
    """The names of the classes, of constant folding, and of every rule and pass that backends have."""
    names = {*KINDS, FOLD}
    for name in backends:
        try:
            rewrites = plugin.registry().rewrites(name)
        except TgError:
            continue
        names.update(one.name for one in (*rewrites.rules, *rewrites.passes))  # type: ignore[attr-defined]
    return frozenset(names)


def _message(name: str, names: frozenset[str]) -> str:
    near = nearest(name, sorted(names), 3)
    hint = f"{', '.join(near)} exist{'s' if len(near) == 1 else ''}" if near else "tg.explain(f) names what is applied"
    return message(f"exclude: no rule, pass or class is named {name!r}", ("classes", ", ".join(KINDS)), hint=hint)
