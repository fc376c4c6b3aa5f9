"""The ggml backend of tg: float32 programs as graphs of ggml, with weights quantised on request; and GGUF files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from tg import OptionError
from tg.backend import Backend, RuleProtocol, Rules, hookimpl, message, option

if TYPE_CHECKING:
    from tg.backend import Rewrites
    from tg_ggml.files import GGUF, read_gguf, write_gguf

__all__ = ["GGUF", "read_gguf", "write_gguf"]

PROTOCOL = RuleProtocol("array", 2)
FILES = frozenset(__all__)
REFUSES = {
    "device": "its programs run on the processor",
    "compile": "ggml has kernels and no compiler; graphs are built once for each combination of shapes",
    "fast_math": "its kernels are compiled already",
    "mesh": "ggml has no collective operations",
}
Quantize = Literal[
    "f16", "bf16", "int8", "q8_0", "q4_0", "q4_1", "q5_0", "q5_1", "q2_K", "q3_K", "q4_K", "q5_K", "q6_K"
]


@dataclass(frozen=True, slots=True)
class Options:
    """The options of the ggml backend."""

    threads: int = option(1, "threads that share each operation", observed="tg_ggml.program:settings")
    quantize: Quantize | None = option(
        None,
        "the type of constant factors of products, kernels and tables: int8 is q8_0; None: they stay float32",
        observed="tg_ggml.program:settings",
    )

    def __post_init__(self) -> None:
        """Refuse a number of threads that there cannot be."""
        if self.threads < 1:
            text = f"backend 'ggml': option threads: found {self.threads}, needed at least 1"
            raise OptionError(message(text))


def __getattr__(name: str) -> Any:
    if name not in FILES:
        raise AttributeError(f"module 'tg_ggml' has no attribute {name!r}", name=name)
    from tg_ggml import files

    return getattr(files, name)


@hookimpl
def tg_backends() -> tuple[Backend, ...]:
    """The backend `ggml`."""
    return (
        Backend(
            "ggml",
            distribution="tg-ggml",
            requires=("ggml-python>=0.0.45",),
            rules=PROTOCOL,
            dtypes=frozenset({"bool", "int64", "float32"}),
            shapes="static",
            raises=False,
            options=Options,
            refuses=REFUSES,
            linker="tg_ggml.linker:LINKER",
            gaps="tg_ggml.gaps:GAPS",
            priority=-1,
            compiles="slowly",
        ),
    )


@hookimpl
def tg_rules(backend: str) -> Rules | None:
    """The rules of the backend `ggml`."""
    if backend != "ggml":
        return None
    from tg_ggml.rules import RULES

    return Rules(PROTOCOL, RULES)


@hookimpl
def tg_rewrites(backend: str | None) -> Rewrites | None:
    """The lowering for the backend `ggml`."""
    if backend != "ggml":
        return None
    from tg_ggml.lower import REWRITES

    return REWRITES
