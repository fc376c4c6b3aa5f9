"""Modes of PyTensor that run on tg: "TG" and one for every backend. Importing this module registers them."""

from __future__ import annotations

from typing import Any, Final

from pytensor.compile.mode import Mode, predefined_linkers, predefined_modes, register_linker, register_mode
from pytensor.graph.rewriting.db import RewriteDatabaseQuery

import tg
from tg.backend import message
from tg_pytensor.linker import TgLinker

BACKENDS: Final = {
    "TG": "auto", "TG_C": "c", "TG_NUMBA": "numba", "TG_JAX": "jax", "TG_TORCH": "torch", "TG_MLX": "mlx",
    "TG_PERFORM": "perform",
}  # fmt: skip
FALLBACKS: Final = ("pytensor", "raise")


def mode(backend: str = "auto", fallback: str = "pytensor") -> Any:
    """A mode of PyTensor whose functions run on tg, after PyTensor's own rewriting.

    Args:
        backend: as `tg.function` takes it; "auto" is the fastest that is installed and can run the graph.
        fallback: "pytensor" leaves with PyTensor what does not convert; "raise" refuses it.
    Raises:
        BackendUnavailable: the backend is not known, not installed or broken.
        OptionError: another fallback.
    Example:
        >>> f = pytensor.function([x], y, mode=tg_pytensor.mode("c", fallback="raise"))
    """
    tg.backend(backend)
    if fallback not in FALLBACKS:
        text = f"mode: fallback: found {fallback!r}, needed one of {', '.join(map(repr, FALLBACKS))}"
        raise tg.OptionError(message(text))
    return unchecked_mode(backend, fallback)


def unchecked_mode(backend: str, fallback: str = "pytensor") -> Any:
    """A mode of a backend that may not be installed: linking a function says so."""
    return Mode(TgLinker(backend, fallback), RewriteDatabaseQuery(include=["fast_run"]))


for _name, _backend in BACKENDS.items():
    if _name not in predefined_modes:
        register_mode(_name, unchecked_mode(_backend))
    if _name.lower() not in predefined_linkers:
        register_linker(_name.lower(), TgLinker(_backend))
