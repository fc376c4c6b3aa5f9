"""The Numba backend of tg: a graph becomes one function of loops in LLVM's language."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tg.backend import DTYPES, Backend, RuleProtocol, hookimpl, option

if TYPE_CHECKING:
    from tg.backend import Rewrites, Rules
    from tg_numba.jitted import Jitted

__all__ = ["PROTOCOL", "Jitted", "Options"]
__version__ = "0.1.0"

PROTOCOL = RuleProtocol("numba", 3)
REFUSES = {
    "device": "its code runs on the processor; backends jax, torch and mlx run on others",
    "threads": "its loops are written for one thread; tg.backend('c', threads={value}) shares them out",
    "accuracy": "its mathematics is vectors'; tg.backend('c', accuracy='strict') has libm's own results",
    "optimize": "its loops are written as vectors, for which LLVM's passes gain nothing",
    "preallocate": "memory is the system's, taken by calls as they need it; memory= limits what a call may take",
    "compile_options": "its text goes to LLVM's code generator, which is told the processor and nothing else",
    "autotune": "how a loop is written follows from its operands and lengths; nothing is searched",
    "static_shapes": "lengths are arguments of one module; tg.matrix('x', shape=(3, 4)) makes them constants",
}


@dataclass(frozen=True, slots=True)
class Options:
    """The options of the Numba backend."""

    fast_math: bool = option(
        False, "a product and a sum may be rounded once, by a fused multiply-add; NaN, infinities and order stay"
    )


@hookimpl
def tg_backends() -> tuple[Backend, ...]:
    """The backend `numba`."""
    return (
        Backend(
            "numba",
            distribution="tg-numba",
            requires=("llvmlite>=0.47", "numba>=0.65", "tg-native"),
            rules=PROTOCOL,
            dtypes=frozenset(DTYPES),
            shapes="dynamic",
            raises=True,
            compiles="slowly",
            options=Options,
            refuses=REFUSES,
            linker="tg_numba.linker:LINKER",
            gaps="tg_numba.gaps:GAPS",
            facts="tg_numba.facts:facts",
            cache="tg_numba.cache:CACHE",
            priority=15,
        ),
    )


@hookimpl
def tg_rules(backend: str) -> Rules | None:
    """The rules of the backend `numba`."""
    if backend != "numba":
        return None
    from tg.backend import Rules
    from tg_numba.rules import RULES

    return Rules(PROTOCOL, RULES)


@hookimpl
def tg_rewrites(backend: str | None) -> Rewrites | None:
    """The fusion of elementwise ops, for the backend `numba`."""
    if backend != "numba":
        return None
    from tg_numba.lower import LOOPS

    return LOOPS.rewrites()


def __getattr__(name: str) -> Any:
    if name != "Jitted":
        raise AttributeError(f"module 'tg_numba' has no attribute {name!r}", name=name)
    member = globals()[name] = importlib.import_module("tg_numba.jitted").Jitted
    return member
