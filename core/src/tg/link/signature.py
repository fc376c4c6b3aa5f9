"""`Signature`: what a function tells an executable of which it wants an entry: the contract between the two."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

    from tg.variables.structure import Structure


class Signature(NamedTuple):
    """The facts about the function for an entry: what takes the calls it declines, and how results are nested.

    `free` are the inputs that it may overwrite, by their places.
    """

    general: Callable[..., Any]
    structure: Structure
    free: frozenset[int] = frozenset()
