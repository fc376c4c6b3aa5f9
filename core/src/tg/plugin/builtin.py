"""Core's own plugin: the reference backend, the general rewrites and the op families, through the same hooks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tg.plugin.hookspecs import hookimpl
from tg.plugin.records import ARRAY, Backend, Rewrites
from tg.types.dtypes import DTYPES

if TYPE_CHECKING:
    from tg.ops.family import Family

REFUSES: Final = {
    "device": "NumPy runs on the processor; backends jax, torch and mlx run on other devices",
    "threads": "it runs node by node, in one thread; OPENBLAS_NUM_THREADS in the environment sets those of products",
    "fast_math": "it is what others are compared with; backends c and numba have it",
    "preallocate": "memory is the system's, taken by nodes as they need it; memory= limits what a call may take",
    "compile_options": "nothing is compiled; every other backend compiles",
    "autotune": "nothing is compiled; every other backend compiles",
    "static_shapes": "nothing is compiled; tg.matrix('x', shape=(3, 4)) states lengths to the rewrites",
}


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
            refuses=REFUSES,
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
