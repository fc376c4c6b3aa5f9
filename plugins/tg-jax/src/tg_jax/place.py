"""Place where programs run: the device that the options name."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import jax

from tg import OptionError
from tg.backend import message

if TYPE_CHECKING:
    from tg_jax import Options


@functools.cache
def find_device(name: str) -> Any:
    """The device that JAX calls `platform` or `platform:index`.

    Raises:
        OptionError: JAX has no such device here.
    """
    platform, colon, index = name.partition(":")
    try:
        matches = [d for d in jax.devices(platform) if not colon or str(d.id) == index]
    except RuntimeError:
        matches = []
    if not matches:
        devices = ", ".join(f"{d.platform}:{d.id}" for d in _devices())
        raise OptionError(message(f"backend 'jax': option device: found {name!r}, needed one of {devices}"))
    return matches[0]


def _devices() -> list[Any]:
    """The devices of the default platform, then those of the processor."""
    return list(dict.fromkeys([*jax.devices(), *jax.devices("cpu")]))


def platform(options: Options) -> str:
    """The kind of device on which programs with these options run: "cpu" for instance."""
    device = jax.devices()[0] if options.device is None else find_device(options.device)
    return str(device.platform)
