"""The phases of rewriting in their order, the classes of rules, and which of both a mode lets run.

Phases: *canonicalize* brings equal things to one form; *stabilize* replaces formulas that lose digits or overflow;
*specialize* picks cheaper ops; *expand* inlines what the backend has no rule for; *backend* is the backend's own.
*differentiate* is none of a program's: its rules give the forms of which derivatives are taken (`rules.stable`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tg.errors import OptionError, message

if TYPE_CHECKING:
    from collections.abc import Mapping

DIFFERENTIATE: Final = "differentiate"
CANONICALIZE: Final = "canonicalize"
STABILIZE: Final = "stabilize"
SPECIALIZE: Final = "specialize"
EXPAND: Final = "expand"
BACKEND: Final = "backend"
PHASES: Final = (CANONICALIZE, STABILIZE, SPECIALIZE, EXPAND, BACKEND)

SWEEPS: Final[Mapping[str, tuple[str, ...]]] = {
    # Whose rules the sweep of a phase applies: new nodes are made canonical at once. Expansions of stable forms must
    # not be recognised as the unstable formulas they resemble, and a backend's lowering must not be undone.
    CANONICALIZE: (CANONICALIZE,),
    STABILIZE: (STABILIZE, CANONICALIZE),
    SPECIALIZE: (CANONICALIZE, SPECIALIZE),
    EXPAND: (CANONICALIZE, SPECIALIZE, EXPAND),
    BACKEND: (BACKEND,),
}

EXACT: Final = "exact"  # the same value for every operand, bit for bit; all NaNs are one value, whose sign and other
# bits no class keeps: what signbit and copysign make of them may differ
SIGNED_ZERO: Final = "signed_zero"  # may differ in the sign of a zero, and in what comes of it
REASSOCIATES: Final = "reassociates"  # the same in exact arithmetic: other roundings, overflow moved, removed or new; a
# NaN of finite operands is never hidden, and one comes newly only where an operand, what was written, or a sum or
# product on the way is infinite; a stable form may have its limit where what was written has a NaN of an infinite
# operand
NAN_UNSAFE: Final = "nan_unsafe"  # hides a NaN: of an operand, of an infinite one, or of one outside the domain
DROPS_ERROR: Final = "drops_error"  # an error that the original would raise is not raised
KINDS: Final = (EXACT, SIGNED_ZERO, REASSOCIATES, NAN_UNSAFE, DROPS_ERROR)

MODES: Final[Mapping[str, frozenset[str]]] = {
    "default": frozenset(KINDS) - {NAN_UNSAFE},
    "strict": frozenset({EXACT}),
    "finite": frozenset(KINDS),
    "off": frozenset(),
}


def allowed_kinds(mode: str) -> frozenset[str]:
    """The classes of rules that a mode applies.

    Raises:
        OptionError: there is no such mode.
    """
    kinds = MODES.get(mode)
    if kinds is None:
        raise OptionError(message(f"rewrite: mode: found {mode!r}, needed one of {', '.join(MODES)}"))
    return kinds
