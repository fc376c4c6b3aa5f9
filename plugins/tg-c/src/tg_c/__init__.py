"""The C backend of tg: one C unit for a whole graph, compiled by the system's compiler."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from tg import OptionError
from tg.backend import DTYPES, Backend, Exporter, RuleProtocol, hookimpl, message, option

if TYPE_CHECKING:
    from tg.backend import Rewrites, Rules
    from tg_c.foreign import CFunction
    from tg_c.printed import Printed
    from tg_c.templates import Expression, Inline

__all__ = ["PROTOCOL", "CFunction", "ExportOptions", "Expression", "Inline", "Options", "Printed"]

_HOMES = {"CFunction": "foreign", "Expression": "templates", "Inline": "templates", "Printed": "printed"}
"""What authors of rules import, loaded at first use."""
PROTOCOL = RuleProtocol("source", 1)
LEVELS = ("x86-64-v2", "x86-64-v3", "x86-64-v4")
REFUSES = {
    "device": "units of C run on the processor; backends jax, torch and mlx run on others",
    "preallocate": "memory is the system's, taken by calls as they need it; memory= limits what a call may take",
    "compile_options": "the compiler's command has them; CC='gcc -fno-inline' in the environment, for instance",
    "autotune": "how a loop is written follows from its operands and lengths; nothing is searched",
    "static_shapes": "lengths are arguments of one unit; tg.matrix('x', shape=(3, 4)) makes them constants",
}


@dataclass(frozen=True, slots=True)
class Options:
    """The options of the C backend."""

    optimize: int | None = option(
        None,
        "the compiler's level, 0 to 3; None chooses by the size of the unit",
        trial=3,
        observed="tg_c.linker:flags",
    )
    keep_source: bool = option(False, "also keep the C text as a file in the cache")
    accuracy: Literal["fast", "strict"] = option(
        "fast", "mathematics by vectors; 'strict': libm's own results, of each element by itself"
    )
    threads: int = option(1, "threads that share a loop with enough to do")
    fast_math: bool = option(
        False, "a product and a sum may be rounded once, by a fused multiply-add; NaN, infinities and order stay"
    )

    def __post_init__(self) -> None:
        """Refuse a number of threads that no loop can be shared by, and a level that compilers do not have."""
        if self.optimize is not None and not 0 <= self.optimize <= 3:
            raise OptionError(message(f"backend 'c': option optimize: found {self.optimize}, needed 0 to 3"))
        if self.threads < 1:
            raise OptionError(message(f"backend 'c': option threads: found {self.threads}, needed at least 1"))


@dataclass(frozen=True, slots=True)
class ExportOptions:
    """The options of `tg.export(…, format="c")`."""

    levels: tuple[str, ...] = option(
        ("x86-64-v2",), 'levels of instructions besides the base\'s, chosen at run time: "x86-64-v3", "x86-64-v4"'
    )
    weights: Literal["auto", "inside", "file"] = option(
        "auto", "where arrays are that the function holds: in the library, or in a file; 'auto': by their size"
    )
    blas: Literal["none", "openblas", "mkl", "accelerate"] = option(
        "none", "the library of products and decompositions; 'none': loops of the library's own"
    )
    memory: Literal["arena", "malloc"] = option("arena", "the memory of a call: the caller's, or the system's")
    accuracy: Literal["fast", "strict"] = option("fast", "mathematics by vectors; 'strict': libm's own results")

    def __post_init__(self) -> None:
        """Refuse levels that there are not."""
        unknown = [level for level in self.levels if level not in LEVELS]
        if unknown:
            text = f"format 'c': levels: found {unknown[0]!r}, needed some of {', '.join(LEVELS)}"
            raise OptionError(message(text))


@hookimpl
def tg_backends() -> tuple[Backend, ...]:
    """The backend `c`."""
    return (
        Backend(
            "c",
            distribution="tg-c",
            requires=("cffi>=1.17", "tg-native"),
            rules=PROTOCOL,
            dtypes=frozenset(DTYPES),
            shapes="dynamic",
            raises=True,
            compiles="slowly",
            options=Options,
            refuses=REFUSES,
            linker="tg_c.linker:LINKER",
            gaps="tg_c.gaps:GAPS",
            facts="tg_c.facts:facts",
            cache="tg_c.cache:CACHE",
            priority=20,
        ),
    )


@hookimpl
def tg_rules(backend: str) -> Rules | None:
    """The rules of the backend `c`."""
    if backend != "c":
        return None
    from tg.backend import Rules
    from tg_c.rules import RULES

    return Rules(PROTOCOL, RULES)


@hookimpl
def tg_rewrites(backend: str | None) -> Rewrites | None:
    """The fusion of elementwise ops, for the backend `c`."""
    if backend != "c":
        return None
    from tg_c.lower import LOOPS

    return LOOPS.rewrites()


@hookimpl
def tg_exports(format: str) -> Exporter | None:
    """The writer of C libraries."""
    if format != "c":
        return None
    return Exporter(
        "c", distribution="tg-c", writer="tg_c.export:write", options=ExportOptions, requires=("tg-native",)
    )


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'tg_c' has no attribute {name!r}", name=name)
    member = globals()[name] = getattr(importlib.import_module(f"tg_c.{home}"), name)
    return member
