"""`Bug`: one bug that another system had, where it is put, and the cases that must catch it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

ORDINARY = "tg_conformance.loopback:LINKER"


class Bug(NamedTuple):
    """One bug, in a backend that is loopback otherwise, or in core.

    `core` lists attributes of core to replace while programs are built and run: the reference is then as wrong as the
    backend, and only an oracle that is not tg can tell.
    """

    name: str
    trap: str  # where the bug comes from: its number among the project's traps
    caught_by: str  # a pattern of the ids of quick items
    rules: Mapping[object, Callable[..., Any]] = {}  # in place of loopback's
    linker: str = ORDINARY
    rewrites: tuple[Any, ...] = ()
    core: tuple[tuple[Any, str, Any], ...] = ()
    in_worker: bool = False  # crashes, hangs, or imports all there is: not in the process of the tests

    @property
    def backend(self) -> str:
        """The backend that has the bug."""
        return "loopback" if self.core else f"bug-{self.name}"
