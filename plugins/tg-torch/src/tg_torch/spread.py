"""Programs on the processes of a group of `torch.distributed`: what is split over their mesh is a DTensor.

Each process runs the same program with the same arguments, and DTensors bring together what an operation needs.
"""

from __future__ import annotations

import contextlib
import functools
from typing import TYPE_CHECKING, Any, Final

import torch
from torch import distributed
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.tensor import DTensor, Replicate, Shard
from torch.distributed.tensor.experimental import implicit_replication

from tg import InputError, OptionError
from tg.backend import ElementwiseFunction, Reduce, indexing, loops, message, placements, shape, sharding, split_names
from tg.backend import contraction as products
from tg_torch.apart import AXES, FORMULAS, in_own_parts
from tg_torch.fused import AddMultiple, Fence, Relu, ReluGradient

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextlib import AbstractContextManager

    from tg.backend import FrozenGraph, Mesh, Placement, Rule
    from tg_torch.apart import Letters
    from tg_torch.place import Place

Slice = indexing.Slice
DIRECT: Final[frozenset[object]] = frozenset({loops.Scan, loops.Cond, sharding.Placement})
IN_PARTS: Final[frozenset[object]] = frozenset(
    {
        AddMultiple,
        Fence,
        Reduce,
        Relu,
        ReluGradient,
        Slice,
        products.MatMul,
        shape.BroadcastTo,
        shape.Concatenate,
        shape.ExpandDims,
        shape.Reshape,
        shape.Squeeze,
        shape.Transpose,
    }
)
MESHES: dict[tuple[Mesh, str], tuple[object, DeviceMesh]] = {}
"""The processes of each mesh, and of which group they are."""


def find_mesh(mesh: Mesh, kind: str) -> DeviceMesh:
    """The processes of a mesh.

    Raises:
        OptionError: there is no group of processes, or one of another size.
    """
    if not (distributed.is_available() and distributed.is_initialized()):
        text = f"backend 'torch': option mesh: found {mesh} and no process group, needed one of {mesh.size} processes"
        hint = "torch.distributed.init_process_group first, in each process that torchrun starts"
        raise OptionError(message(text, hint=hint))
    group = distributed.group.WORLD
    size = distributed.get_world_size()
    if size != mesh.size:
        text = f"backend 'torch': option mesh: found {mesh}, needed one of {size} processes, which the group has"
        raise OptionError(message(text, hint=f"torchrun --nproc-per-node {mesh.size} starts as many"))
    owner, devices = MESHES.get((mesh, kind), (None, None))
    if devices is None or owner is not group:
        devices = init_device_mesh(kind, mesh.shape, mesh_dim_names=mesh.names)
        MESHES[mesh, kind] = group, devices
    return devices


def lay_out(graph: FrozenGraph, place: Place) -> Callable[[Any, int | None], Any] | None:
    """A function that splits inputs and constants as the program says of them; None without a mesh."""
    if place.mesh is None:
        return None
    devices, ops = find_mesh(place.mesh, place.device.type), placements(graph)

    def laid_out(value: torch.Tensor, number: int | None) -> torch.Tensor:
        op = None if number is None else ops.get(number)
        if isinstance(value, DTensor) and value.device_mesh != devices:
            text = f"backend 'torch': option mesh: found a DTensor on {value.device_mesh}, needed one on {devices}"
            raise InputError(message(text))
        if op is None or not op.divides(value.shape):
            return spread(value, devices)
        return split(value, op, devices)

    return laid_out


def spread(value: torch.Tensor, devices: DeviceMesh) -> DTensor:
    """The tensor on all processes; a DTensor as it lies."""
    if isinstance(value, DTensor):
        return value
    return DTensor.from_local(value, devices, [Replicate()] * devices.ndim, run_check=False)


def split(value: torch.Tensor, op: Placement, devices: DeviceMesh) -> DTensor:
    """The tensor with its last axes split as an op says; axes in front of these stay as they are."""
    x = spread(value, devices)
    front = x.ndim - len(op.names)
    axes = {name: front + k for k, entry in enumerate(op.names) for name in split_names(entry)}
    targets = []
    for name, present in zip(devices.mesh_dim_names or (), x.placements, strict=True):
        is_batch = isinstance(present, Shard) and present.dim < front
        whole = present if is_batch else Replicate()
        targets.append(Shard(axes[name]) if name in axes else whole)
    return x.redistribute(devices, targets)


def rule_for(table: Callable[[object], Rule | None], key: object) -> Rule | None:
    """The rule of an op for DTensors."""
    rule = table(key)
    if rule is None or key in DIRECT:
        return rule
    if key in FORMULAS:
        return _by_formula(rule, FORMULAS[key])
    if key in AXES:
        return _apart(rule, AXES[key])
    return _in_parts(rule) if key in IN_PARTS or isinstance(key, ElementwiseFunction) else _on_whole(rule)


@functools.cache
def _by_formula(rule: Rule, formula: Rule) -> Rule:
    on_whole = _on_whole(rule)

    def run(op: Any, x: Any, *others: Any) -> Any:
        if not isinstance(x, DTensor):
            return on_whole(op, x, *others)
        return formula(op, x, *(spread(v, x.device_mesh) for v in others))

    return run


@functools.cache
def _apart(rule: Rule, letters: Callable[..., Letters]) -> Rule:
    return in_own_parts(rule, _on_whole(rule), letters)


@functools.cache
def _on_whole(rule: Rule) -> Rule:
    """The rule on all of its operands, in each process: DTensor has no layout of the result, or a wrong one."""

    @functools.wraps(rule)
    def run(*operands: Any, **context: Any) -> Any:
        devices = next((x.device_mesh for x in operands if isinstance(x, DTensor)), None)
        if "graphs" in context:
            context["graphs"] = tuple(map(_giving_all, context["graphs"]))
        results: Any = rule(*map(whole, operands), **context)
        if devices is None or results is NotImplemented:
            return results
        if isinstance(results, torch.Tensor):
            return spread(results, devices)
        return tuple(spread(y, devices) for y in results)

    return run


def _giving_all(function: Callable[..., Sequence[Any]]) -> Callable[..., Sequence[Any]]:
    """The function of an inner graph with whole results, though its constants are DTensors."""
    return lambda *arrays: [*map(whole, function(*arrays))]


@functools.cache
def _in_parts(rule: Rule) -> Rule:
    """The rule on DTensors as they lie, where PyTorch knows of its functions how results do; else on all of them."""
    on_whole = _on_whole(rule)

    @functools.wraps(rule)
    def run(*operands: Any, **context: Any) -> Any:
        moving = operands[0] if isinstance(operands[0], Slice) else None
        if moving is not None and None in moving.starts:
            return on_whole(*operands, **context)
        try:
            result = rule(*operands, **context)
        except NotImplementedError:
            return on_whole(*operands, **context)
        return _summed(result) if isinstance(result, DTensor) and not result.ndim else result  # one value for a bool()

    return run


def with_whole_axis(x: torch.Tensor, axis: int) -> torch.Tensor:
    """The tensor, along an axis of which each process has all."""
    if not isinstance(x, DTensor):
        return x
    return x.redistribute(placements=[Replicate() if p.is_shard(axis) or p.is_partial() else p for p in x.placements])


def whole(value: Any) -> Any:
    """All of a DTensor, on each process; anything else as it is."""
    return value.full_tensor() if isinstance(value, DTensor) else value


def entered(scope: AbstractContextManager[Any] | None) -> AbstractContextManager[Any]:
    """A scope in which tensors beside DTensors are the same on all processes."""
    contexts = contextlib.ExitStack()
    if scope is not None:
        contexts.enter_context(scope)
    contexts.enter_context(implicit_replication())
    return contexts


def is_spread(value: object, options: Any) -> bool:
    """Whether an argument is a DTensor of a program that is for several processes."""
    return options.mesh is not None and isinstance(value, DTensor)


def ready(outputs: Sequence[torch.Tensor]) -> Sequence[torch.Tensor]:
    """The outputs with their parts brought together where each process has a term of a sum."""
    return [_summed(y) if isinstance(y, DTensor) else y.contiguous() for y in outputs]


def _summed(y: DTensor) -> DTensor:
    if not any(p.is_partial() for p in y.placements):
        return y
    return y.redistribute(placements=[Replicate() if p.is_partial() else p for p in y.placements])
