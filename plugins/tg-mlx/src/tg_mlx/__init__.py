"""The MLX backend of tg: a graph becomes one function of MLX arrays, evaluated lazily or compiled."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from tg.backend import DTYPES, Backend, Mesh, RuleProtocol, Rules, hookimpl, option

if TYPE_CHECKING:
    from tg.backend import Rewrites

PROTOCOL = RuleProtocol("array", 2)
REFUSES = {
    "threads": "MLX has a thread for each stream, and its matrix products those of their library; OPENBLAS_NUM_THREADS"
    " in the environment sets these",
    "fast_math": "its kernels are compiled already; compile=True fuses them, and keeps their arithmetic",
    "preallocate": "its allocator has one setting for the process; mx.set_wired_limit and mx.set_cache_limit set it",
    "compile_options": "mx.compile has none; compile=True is all there is",
    "autotune": "MLX searches for no kernels; compile=True fuses them",
    "static_shapes": "what it records or compiles is of one combination of shapes, always",
}


@dataclass(frozen=True, slots=True)
class Options:
    """The options of the MLX backend."""

    device: Literal["cpu", "gpu"] = option("cpu", "where programs run; only the processor has float64, tg's default")
    mesh: Mesh | None = option(
        None,
        "one axis of all processes, over which programs are spread; None: each by itself",
        trial=Mesh({"data": 4096}),
    )
    compile: bool = option(False, "fuse with mx.compile, which starts a C++ compiler for each new kernel on processors")


@hookimpl
def tg_backends() -> tuple[Backend, ...]:
    """The backend `mlx`."""
    return (
        Backend(
            "mlx",
            distribution="tg-mlx",
            requires=("mlx>=0.30",),
            rules=PROTOCOL,
            dtypes=frozenset(DTYPES) - {"complex128"},
            shapes="dynamic",
            raises=False,
            options=Options,
            refuses=REFUSES,
            linker="tg_mlx.linker:LINKER",
            gaps="tg_mlx.gaps:GAPS",
            devices=("cpu", "gpu"),
            priority=5,
        ),
    )


@hookimpl
def tg_rules(backend: str) -> Rules | None:
    """The rules of the backend `mlx`."""
    if backend != "mlx":
        return None
    from tg_mlx.rules import HOSTED, RULES

    return Rules(PROTOCOL, RULES, hosted=HOSTED)


@hookimpl
def tg_rewrites(backend: str | None) -> Rewrites | None:
    """The lowering for the backend `mlx`."""
    if backend != "mlx":
        return None
    from tg_mlx.lower import REWRITES

    return REWRITES
