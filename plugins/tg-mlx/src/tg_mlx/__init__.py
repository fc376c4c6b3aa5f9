"""The MLX backend of tg: a graph becomes one function of MLX arrays, evaluated lazily or compiled."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from tg.backend import DTYPES, Backend, RuleProtocol, Rules, hookimpl

if TYPE_CHECKING:
    from tg.backend import Rewrites

PROTOCOL = RuleProtocol("array", 2)


@dataclass(frozen=True, slots=True)
class Options:
    """The options of the MLX backend."""

    device: Literal["cpu", "gpu"] = "cpu"  # where programs run; only the processor has float64, tg's default
    compile: bool = False  # fuse with `mx.compile`, which starts a C++ compiler for each new kernel on processors


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
