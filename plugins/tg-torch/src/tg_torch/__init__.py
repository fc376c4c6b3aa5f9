"""The PyTorch backend of tg: a graph runs operation by operation, or compiled by `torch.compile` on request."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from tg.backend import DTYPES, Backend, RuleProtocol, Rules, hookimpl

if TYPE_CHECKING:
    from tg.backend import Rewrites

PROTOCOL = RuleProtocol("array", 2)


@dataclass(frozen=True, slots=True)
class Options:
    """The options of the PyTorch backend."""

    compile: bool = False  # by torch.compile, once for each combination of shapes: seconds each, faster calls
    mode: Literal["default", "max-autotune-no-cudagraphs"] = "default"  # how torch.compile goes about it
    device: str | None = None  # "cpu", "cuda:0", "mps": where programs run; None: the processor


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
