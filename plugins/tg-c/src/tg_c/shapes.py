"""Lengths as C text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tg.link import shapes
from tg.link.shapes import LengthSyntax
from tg_c.text import integer

if TYPE_CHECKING:
    from collections.abc import Callable

    from tg.types.lengths import Atom, Length

FUNCTIONS = {"//": "tg_length_floor", "%": "tg_length_mod", "min": "tg_length_min", "max": "tg_length_max",
             "broadcast": "tg_length_broadcast"}  # fmt: skip

LENGTH_FUNCTIONS = """\
static inline i64 tg_length_min(i64 a, i64 b) { return a < b ? a : b; }
static inline i64 tg_length_max(i64 a, i64 b) { return a > b ? a : b; }
static inline i64 tg_length_broadcast(i64 a, i64 b) { return a == 1 ? b : a; }
static inline i64 tg_length_floor(i64 a, i64 b) {
  if (b == 0 || b == -1) return b ? -a : 0;
  return a / b - (a % b != 0 && (a < 0) != (b < 0));
}
static inline i64 tg_length_mod(i64 a, i64 b) { return b == 0 ? 0 : a - b * tg_length_floor(a, b); }
"""


SYNTAX: Final = LengthSyntax(FUNCTIONS, integer)


def length_text(length: int | Length, atom_text: Callable[[Atom], str]) -> str:
    """A length as C text; `atom_text` gives that of the basic atoms."""
    return shapes.length_text(length, atom_text, SYNTAX)
