"""Settings of XLA for one program, and those of the process that options only compare with."""

from __future__ import annotations

import functools
import os
from typing import TYPE_CHECKING, Any, Final

import jax
from jaxlib.version import __version_info__ as jaxlib_version

from tg import OptionError
from tg.backend import message
from tg_jax.little import is_known
from tg_jax.place import platform

if TYPE_CHECKING:
    from tg_jax import Options

DISABLED: Final = "xla_disable_hlo_passes"
# XLA's algebra, which is not tg's: (x * a) / b becomes x * (a / b), 0 where a / b vanishes; x / y / y is x / (y * y);
# x / c is x * (1 / c), though 1 / c may be subnormal, and so 0. What is worth rewriting has been rewritten before, with
# care for range and NaN, and according to the mode.
#
# Of products XLA's library for processors computes each by itself: it ends the process (jaxlib 0.10, a segmentation
# fault in `ynn_optimize_subgraph`) where it also takes the transposes and sums around some of them. Sums it computes in
# programs without products (`tg_jax.sums`).
LIBRARY: Final = "xla_cpu_experimental_ynn_fusion_type"
HAS_LIBRARY: Final = jaxlib_version >= (0, 10)
ALONE: Final = "LIBRARY_FUSION_TYPE_INDIVIDUAL_DOT"
AS_WRITTEN: Final = {DISABLED: "algsimp", **({LIBRARY: ALONE} if HAS_LIBRARY else {})}
WITH_SUMS: Final = {**AS_WRITTEN, LIBRARY: f"{ALONE},LIBRARY_FUSION_TYPE_REDUCE"}
IN_LOOPS: Final = {DISABLED: "algsimp,dot-library-rewriter"}  # one function cannot call the library
BARRIERS: Final = "cse_barrier_expander"  # takes barriers away before equal expressions are merged
LITTLE: Final = "small-while-loop-hoisting"  # a little loop becomes one function, where a barrier ends the process
PREALLOCATE: Final = "XLA_PYTHON_CLIENT_PREALLOCATE"
OFF: Final = ("0", "false", "False")  # as JAX reads the variable


def compiler_options(
    options: Options, *, has_loops: bool, has_calls: bool = False, has_sums: bool = False
) -> dict[str, Any]:
    """The options of XLA for a program: on a processor it is compiled as it is written, elsewhere as XLA has it."""
    here = IN_LOOPS if has_loops else WITH_SUMS if has_sums else AS_WRITTEN
    usual = here if platform(options) == "cpu" else {}
    if usual and has_calls:
        usual = {**usual, DISABLED: ",".join([usual[DISABLED], BARRIERS, *([LITTLE] if has_loops else [])])}
    searched = {} if options.autotune is None else {"xla_gpu_autotune_level": options.autotune}
    return {**usual, **searched, **dict(options.compile_options)}


def is_one(options: Options, *, has_loops: bool) -> bool:
    """Whether a program is tried as one function of machine code."""
    return has_loops and options.little_loops and platform(options) == "cpu" and is_known()


def takes_sums(options: Options) -> bool:
    """Whether there is the library that computes sums."""
    return HAS_LIBRARY and platform(options) == "cpu"


def told(options: Options) -> tuple[object, ...]:
    """Settings of JAX for a program with loops."""
    return compiler_options(options, has_loops=True), is_one(options, has_loops=True)


def check(options: Options) -> None:
    """Refuse options that this process, its device or its XLA cannot honour.

    Raises:
        OptionError: a flag that XLA does not have, what is set for the process otherwise, or is for GPUs alone.
    """
    kind = platform(options)
    if options.autotune is not None and kind not in ("gpu", "cuda", "rocm"):
        raise _refusal("autotune", f"found {options.autotune} and device {kind}, needed a GPU", None)
    if options.preallocate is not None:
        _check_preallocation(options.preallocate, kind)
    if options.compile_options:
        _check_flags(options.device, options.compile_options)


def _check_preallocation(wanted: bool, kind: str) -> None:
    """Whether memory of a GPU is taken at once stands in the environment when JAX starts; processors take none."""
    if kind == "cpu" and wanted:
        raise _refusal("preallocate", "found True and device cpu, needed a GPU", None)
    has = kind != "cpu" and os.environ.get(PREALLOCATE, "true") not in OFF
    if has != wanted:
        value = str(wanted).lower()
        fact = f"JAX has one setting for the process: found {wanted}, needed {has}"
        raise _refusal("preallocate", fact, f"{PREALLOCATE}={value} in the environment, before JAX starts, sets it")


@functools.cache
def _check_flags(device: str | None, flags: tuple[tuple[str, Any], ...]) -> None:
    """Compile next to nothing with these flags: XLA knows its own."""
    where = None if device is None else device.partition(":")[0]
    try:
        jax.jit(lambda: 0, backend=where, compiler_options=dict(flags)).lower().compile()
    except Exception as error:
        told = str(error).partition("\n")[0]
        raise _refusal("compile_options", f"{told}: found {dict(flags)}, needed flags of XLA", None) from error


def _refusal(name: str, fact: str, hint: str | None) -> OptionError:
    return OptionError(message(f"backend 'jax': option {name}: {fact}", hint=hint))
