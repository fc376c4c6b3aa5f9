"""Core's own plugin: the reference backend, the general rewrites and the op families, through the same hooks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tg.plugin.hookspecs import hookimpl
from tg.plugin.records import ARRAY, Backend, Rewrites
from tg.types.dtypes import DTYPES

if TYPE_CHECKING:
    from tg.ops.family import Family


@hookimpl
def tg_backends() -> tuple[Backend, ...]:
    """The reference."""
    return (
        Backend(
            "perform",
            distribution="tg-core",
            rules=ARRAY,
            linker="tg.link.perform:LINKER",
            dtypes=frozenset(DTYPES),
            raises=True,
            aliases=("py",),
        ),
    )


@hookimpl
def tg_rewrites(backend: str | None) -> Rewrites | None:
    """The general rules and passes, and what pays on the reference."""
    if backend == "perform":
        from tg.rules.loops.dear import STEPS_AHEAD
        from tg.rules.loops.running import RUNNING_RESULTS

        return Rewrites((RUNNING_RESULTS,), (STEPS_AHEAD,))
    if backend is not None:
        return None
    from tg.rules.catalog import PASSES, RULES

    return Rewrites(RULES, PASSES)


@hookimpl
def tg_ops() -> tuple[Family, ...]:
    """Core's op families."""
    from tg.ops.catalog import FAMILIES

    return FAMILIES
