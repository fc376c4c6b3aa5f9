"""Places where programs run: the device that the options name, or the devices of a mesh."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Final

import jax
from jax.sharding import NamedSharding

from tg import InputError, OptionError
from tg.backend import message, placements

if TYPE_CHECKING:
    from collections.abc import Callable

    from tg.backend import FrozenGraph, Mesh, Placement
    from tg_jax import Options


SPEC: Final[Any] = jax.P  # which has no types


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


@functools.cache
def find_mesh(mesh: Mesh, kind: str | None = None) -> jax.sharding.Mesh:
    """The devices of a mesh, of one kind.

    Raises:
        OptionError: there are too few, or the kind names one device.
    """
    if kind is not None and ":" in kind:
        text = f"backend 'jax': option device: found {kind!r} beside {mesh}, needed a kind of device: cpu, gpu or tpu"
        raise OptionError(message(text))
    devices = jax.devices() if kind is None else jax.devices(find_device(kind).platform)
    if len(devices) <= max(mesh.numbers):
        present = ", ".join(f"{d.platform}:{d.id}" for d in devices)
        text = f"backend 'jax': option mesh: found {mesh}, needed one of at most {len(devices)} devices: {present}"
        flag = f"XLA_FLAGS=--xla_force_host_platform_device_count={mesh.size}"
        is_processor = devices[0].platform == "cpu"
        hint = f"{flag}, set before JAX starts, makes {mesh.size} of the processor" if is_processor else None
        raise OptionError(message(text, hint=hint))
    kinds = (jax.sharding.AxisType.Auto,) * len(mesh.names)
    return jax.make_mesh(mesh.shape, mesh.names, kinds, devices=[devices[k] for k in mesh.numbers])


def sharding_of(op: Placement, ndim: int, options: Options, others: Any = None) -> NamedSharding:
    """The sharding of an array of so many axes, of which the last are split as an op says.

    Args:
        others: what is said of the axes before these.
    """
    assert options.mesh is not None
    spec = (*(others for _ in range(ndim - len(op.names))), *op.names)
    return NamedSharding(find_mesh(options.mesh, options.device), SPEC(*spec))


def lay_out(graph: FrozenGraph, options: Options) -> Callable[[Any, int | None], Any] | None:
    """A function that brings inputs and constants to the devices of a mesh, split as programs say; None without one.

    Raises:
        OptionError: there are too few devices.
    """
    if options.mesh is None:
        return None
    devices = find_mesh(options.mesh, options.device)
    members, whole = frozenset(devices.devices.flat), NamedSharding(devices, SPEC())
    ops = placements(graph)
    shardings = {k: sharding_of(op, graph.types[k].ndim, options) for k, op in ops.items()}

    def laid_out(value: Any, place: int | None) -> Any:
        op = None if place is None else ops.get(place)
        is_split = op is not None and op.divides(value.shape)
        target = shardings[place] if is_split and place is not None else whole
        if not isinstance(value, jax.Array):
            return jax.device_put(value, target) if is_split else value
        if isinstance(value, jax.core.Tracer):
            return value
        on = value.sharding.device_set
        if value.sharding.is_equivalent_to(target, value.ndim) or (not is_split and on == members):
            return value
        if len(on) > 1 and on != members:
            text = f"found an array on {len(on)} devices of another mesh, needed one on the {len(members)} of"
            raise InputError(message(f"backend 'jax': option mesh: {text} {options.mesh}"))
        return jax.device_put(value, target)

    return laid_out


def platform(options: Options) -> str:
    """The kind of device on which programs with these options run: "cpu" for instance."""
    if options.mesh is not None:
        return str(find_mesh(options.mesh, options.device).devices.flat[0].platform)
    device = jax.devices()[0] if options.device is None else find_device(options.device)
    return str(device.platform)
