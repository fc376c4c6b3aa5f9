"""Choosing a backend: by name, with options, or the fastest that is installed."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, Final

from tg import plugin
from tg.errors import InputError, message

if TYPE_CHECKING:
    from tg.plugin.records import BackendStatus


@dataclasses.dataclass(frozen=True)
class BackendChoice:
    """A backend and its validated options; make one with `tg.backend`."""

    name: str
    options: Any


def backend(name: str, **options: Any) -> BackendChoice:
    """A backend with options, to be given to `tg.function`.

    Raises:
        BackendUnavailable: not known, not installed, or broken.
        OptionError: an option the backend does not have, or a value it cannot have.
    Example:
        >>> import tg
        >>> tg.backend("perform").name
        'perform'
    """
    if name == "auto":
        name, _ = plugin.registry().default_backend()
    found = plugin.registry().backend(name)
    return BackendChoice(found.name, plugin.validate_options(found, options))


def choose(given: object, default: str) -> BackendChoice:
    """The choice that an argument `backend=` means; None is the configured default.

    Raises:
        InputError: neither a name nor a choice.
    """
    if given is None:
        given = default
    if isinstance(given, BackendChoice):
        return given
    if isinstance(given, str):
        return backend(given)
    raise InputError(message(f"backend: found {given!r}, needed a name or tg.backend(name, …)"))


MODES: Final = {  # of PyTensor
    "FAST_RUN": 'mode="default"',
    "FAST_COMPILE": 'mode="off"',
    "DEBUG_MODE": 'mode="debug"',
    "DebugMode": 'mode="debug"',
    "NanGuardMode": "nan_guard=True",
}


def mode_hint(mode: object) -> str | None:
    """What somebody means who gives as a mode the name of a backend, or of one of PyTensor's modes."""
    if not isinstance(mode, str):
        return None
    names = {name for one in plugin.registry().backends() for name in (one.name, *one.aliases)}
    name = {"pytorch": "torch", "cvm": "c", "vm": "c"}.get(mode.lower(), mode.lower())
    return MODES.get(mode) or (f'backend="{name}" is an option of its own' if name in names else None)


def release_memory() -> int:
    """Give the system the memory that backends keep between calls for results to come; how many bytes it was.

    Memory of arrays that are alive is not touched, and what is compiled stays: the next calls take new memory.

    Example:
        >>> import tg
        >>> tg.release_memory() >= 0
        True
    Source:
        torch.cuda.empty_cache
    """
    return sum(linker.release_memory() for linker in plugin.registry().linkers() if hasattr(linker, "release_memory"))


def backends() -> tuple[BackendStatus, ...]:
    """Every backend known here: name, distribution, version, state, and what would mend one that is not available."""
    return plugin.registry().backends()


def is_double(status: BackendStatus) -> bool:
    """Whether a backend only stands for one in tests."""
    return status.is_available and plugin.registry().backend(status.name).is_double
