"""Cases of one family: written without its path, which is added here."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from tg.plugin.case import Case


def of_family(path: str, *cases: Case | Iterable[Case]) -> tuple[Case, ...]:
    """The cases with the path of their family."""
    flat = [one for given in cases for one in ([given] if dataclasses.is_dataclass(given) else given)]
    return tuple(dataclasses.replace(case, family=path) for case in flat)


def titled(name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give a function the name under which its case appears."""

    def rename(function: Callable[..., Any]) -> Callable[..., Any]:
        function.__name__ = name
        return function

    return rename
