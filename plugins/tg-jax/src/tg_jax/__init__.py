"""The JAX backend of tg: a graph becomes one function for `jax.jit`, in 64 bits whatever the user's flag says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from tg import OptionError
from tg.backend import DTYPES, Backend, Exporter, Mesh, RuleProtocol, Rules, Settings, hookimpl, message, option, pairs

if TYPE_CHECKING:
    from tg.backend import Rewrites

PROTOCOL = RuleProtocol("array", 2)
REFUSES = {
    "threads": "XLA has one pool of threads for the process; taskset, or its affinity, says how many there are",
    "fast_math": "XLA's own may lose NaN and order; compile_options={'xla_cpu_enable_fast_math': {value}} asks for it",
    "static_shapes": "its programs are compiled for one combination of shapes each, always",
}


@dataclass(frozen=True, slots=True)
class Options:
    """The options of the JAX backend."""

    device: str | None = option(None, "'cpu', 'gpu:0': where programs run; None: where JAX puts them", trial="cpu:99")
    mesh: Mesh | None = option(
        None,
        "devices over which programs are spread, as tg.shard says; None: one device",
        trial=Mesh({"data": 4096}),
    )
    compile: bool = option(True, "by jax.jit, once for each combination of shapes; False: operation by operation")
    compile_options: Settings = option(
        (), "XLA's own for this program, as jax.jit(compiler_options=…) takes them", trial=(("no_flag_of_xla", True),)
    )
    autotune: int | None = option(
        None, "level of XLA's search for the fastest kernels on GPUs, 0 to 4; None: XLA's own"
    )
    preallocate: bool | None = option(
        None, "whether JAX takes most of a GPU's memory at once: refused where the process is set otherwise"
    )
    little_loops: bool = option(
        False,
        "a program of little loops is one function on a processor: see tg_jax.little",
        observed="tg_jax.settings:told",
    )

    def __post_init__(self) -> None:
        """Keep the options of XLA as pairs; refuse some of a compiler that is not to run."""
        object.__setattr__(self, "compile_options", pairs(self.compile_options))
        if not self.compile:
            for name, value in (("compile_options", self.compile_options or None), ("autotune", self.autotune)):
                if value is not None:
                    text = f"backend 'jax': option {name}: found {value!r} and compile=False, needed one of the two"
                    raise OptionError(message(text))


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
            refuses=REFUSES,
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


@dataclass(frozen=True, slots=True)
class ExportOptions:
    """The keywords of `tg.export` for this format."""

    on_error: Literal["raise", "nan"] = option(
        "raise", "'nan': results are NaN where a check fails that values decide; 'raise': such are refused"
    )
    platforms: tuple[str, ...] = option(
        (), "'cpu', 'cuda', 'rocm', 'tpu': where the program runs; (): on devices of this process", trial=("cpu",)
    )


@hookimpl
def tg_exports(format: str) -> Exporter | None:
    """The writer of programs of StableHLO."""
    if format != "stablehlo":
        return None
    return Exporter("stablehlo", distribution="tg-jax", writer="tg_jax.export:write", options=ExportOptions)
