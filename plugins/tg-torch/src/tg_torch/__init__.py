"""The PyTorch backend of tg: a graph runs operation by operation, or compiled by `torch.compile` on request."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from tg import OptionError
from tg.backend import DTYPES, Backend, Exporter, Mesh, RuleProtocol, Rules, Settings, hookimpl, message, option, pairs

if TYPE_CHECKING:
    from tg.backend import Rewrites

PROTOCOL = RuleProtocol("array", 2)
OBSERVED = "tg_torch.compiled:settings"
REFUSES = {
    "threads": "PyTorch has one setting for the process; torch.set_num_threads({value}) sets it",
    "fast_math": "its kernels are compiled already; compile=True fuses them, and keeps their arithmetic",
    "preallocate": "its allocator has one setting for the process; PYTORCH_CUDA_ALLOC_CONF in the environment sets it",
    "autotune": "torch.backends.cudnn.benchmark is one for the process; mode='max-autotune-no-cudagraphs' with"
    " compile=True searches for kernels",
    "static_shapes": "what it compiles is of one combination of shapes, always; compile=False takes any",
}


@dataclass(frozen=True, slots=True)
class Options:
    """The options of the PyTorch backend."""

    compile: bool = option(False, "by torch.compile, once for each combination of shapes: seconds each, faster calls")
    mode: Literal["default", "max-autotune-no-cudagraphs"] = option(
        "default", "how torch.compile goes about it", beside={"compile": True}, observed=OBSERVED
    )
    compile_options: Settings = option(
        (),
        "Inductor's own for this program, as torch.compile(options=…) takes them",
        trial=(("max_fusion_size", 1),),
        beside={"compile": True},
        observed=OBSERVED,
    )
    device: str | None = option(None, "'cpu', 'cuda:0', 'mps': where programs run; None: the processor", trial="cpu:99")
    mesh: Mesh | None = option(
        None, "processes over which programs are spread, as tg.shard says; None: this one", trial=Mesh({"data": 4096})
    )

    def __post_init__(self) -> None:
        """Keep Inductor's options as pairs; refuse some of a compiler that is not to run, or that has a mode."""
        object.__setattr__(self, "compile_options", pairs(self.compile_options))
        if self.compile_options and self.mode != "default":
            text = (
                f"backend 'torch': option compile_options: found mode={self.mode!r} beside them, needed one of the two"
            )
            raise OptionError(message(text, hint='a mode is some of them: torch._inductor.list_mode_options("…")'))
        if not self.compile and (self.compile_options or self.mode != "default"):
            name = "compile_options" if self.compile_options else "mode"
            text = f"backend 'torch': option {name}: found {getattr(self, name)!r}, needed compile=True beside it"
            raise OptionError(message(text))


@hookimpl
def tg_backends() -> tuple[Backend, ...]:
    """The backend `torch`."""
    return (
        Backend(
            "torch",
            distribution="tg-torch",
            requires=("torch>=2.6",),
            rules=PROTOCOL,
            dtypes=frozenset(DTYPES),
            shapes="dynamic",
            raises=False,
            options=Options,
            refuses=REFUSES,
            linker="tg_torch.linker:LINKER",
            gaps="tg_torch.gaps:GAPS",
            devices=("cpu", "cuda", "mps"),
            priority=5,
        ),
    )


@hookimpl
def tg_rules(backend: str) -> Rules | None:
    """The rules of the backend `torch`."""
    if backend != "torch":
        return None
    from tg_torch.rules import HOSTED, RULES

    return Rules(PROTOCOL, RULES, hosted=HOSTED)


@hookimpl
def tg_rewrites(backend: str | None) -> Rewrites | None:
    """The lowering for the backend `torch`."""
    if backend != "torch":
        return None
    from tg_torch.lower import REWRITES

    return REWRITES


@dataclass(frozen=True, slots=True)
class ExportOptions:
    """The keywords of `tg.export` for this format."""

    on_error: Literal["raise", "nan"] = option(
        "raise", "'nan': results are NaN where a check fails that values decide; 'raise': such are refused"
    )
    package: bool = option(False, "a library that AOTInductor compiles for this machine, in place of a program")


@hookimpl
def tg_exports(format: str) -> Exporter | None:
    """The writer of programs of torch.export."""
    if format != "torch":
        return None
    return Exporter("torch", distribution="tg-torch", writer="tg_torch.export:write", options=ExportOptions)
