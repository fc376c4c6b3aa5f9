"""`Library`: all that the files of a C library are written of."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg_c.export.errors import Text as ErrorText
    from tg_c.export.interface import Field, Interface
    from tg_c.export.units import Text
    from tg_c.export.weights import Blob


class Library(NamedTuple):
    """All that the text of a library depends on."""

    interface: Interface
    base: Text
    levels: Sequence[tuple[str, Text]]  # beyond the base
    checks: Sequence[ErrorText]
    own_checks: int
    blob: Blob | None  # of weights, of what the state begins as, and of constants
    is_inside: bool
    has_arena: bool
    origin: str  # who has written it

    @property
    def name(self) -> str:
        """The name that all symbols begin with."""
        name: str = self.interface.name
        return name

    @property
    def has_file(self) -> bool:
        """Whether there is a file of weights."""
        return self.blob is not None and not self.is_inside

    @property
    def moved(self) -> list[Field]:
        """The state that is not overwritten where it lies: the new one is copied there at the end of a call."""
        one, units = self.interface, (self.base, *(text for _, text in self.levels))
        pairs = {(len(one.outputs) + k, len(one.inputs) + k): f for k, f in enumerate(one.state)}
        return [f for pair, f in pairs.items() if not all(pair in unit.reuses for unit in units)]

    @property
    def parameters(self) -> list[str]:
        """The parameters of a run."""
        name, one = self.name, self.interface
        return [
            *([f"const {name}_lengths *lengths"] if one.is_free else []),
            *([f"const {name}_weights *weights"] if self.has_file else []),
            *([f"{name}_state *state"] if one.state else []),
            *([f"const {name}_inputs *inputs"] if one.inputs else []),
            *([f"const {name}_outputs *outputs"] if one.outputs else []),
            "void *arena",
            "int64_t arena_bytes",
            "int64_t *values",
        ]

    @property
    def lengths(self) -> str:
        """The parameters of what depends on lengths alone."""
        return f"const {self.name}_lengths *lengths" if self.interface.is_free else "void"

    def filled(self, text: str) -> str:
        """A template with the name in it."""
        return text.replace("@name", self.name).replace("@NAME", self.name.upper())
