"""The JAX backend of tg: a graph becomes one function for `jax.jit`, in 64 bits whatever the user's flag says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tg.backend import DTYPES, Backend, Mesh, RuleProtocol, Rules, hookimpl

if TYPE_CHECKING:
    from tg.backend import Rewrites

PROTOCOL = RuleProtocol("array", 2)


@dataclass(frozen=True, slots=True)
class Options:
    """The options of the JAX backend."""

    device: str | None = None  # "cpu", "gpu:0": where programs run; None: where JAX puts them
    mesh: Mesh | None = None  # the devices over which programs are spread, as `tg.shard` says; None: one device
    little_loops: bool = False  # whether a program of little loops is one function on a processor: see `tg_jax.little`


@hookimpl
def tg_backends() -> tuple[Backend, ...]:
    """The backend `jax`."""
    return (
        Backend(
            "jax",
            distribution="tg-jax",
            requires=("jax>=0.8", "jaxlib>=0.8"),
            rules=PROTOCOL,
            dtypes=frozenset(DTYPES),
            shapes="static",
            raises=False,
            compiles="slowly",
            options=Options,
            linker="tg_jax.linker:LINKER",
            gaps="tg_jax.gaps:GAPS",
            devices=("cpu", "gpu", "tpu"),
            priority=10,
        ),
    )


@hookimpl
def tg_rules(backend: str) -> Rules | None:
    """The rules of the backend `jax`."""
    if backend != "jax":
        return None
    from tg_jax.rules import RULES

    return Rules(PROTOCOL, RULES)


@hookimpl
def tg_rewrites(backend: str | None) -> Rewrites | None:
    """The lowering for the backend `jax`."""
    if backend != "jax":
        return None
    from tg_jax.lower import REWRITES

    return REWRITES
