"""The linker of the PyTorch backend: core's FuncifyLinker, as programs run as they are or as they are compiled.

Nothing of PyTorch's state is left changed: autocasting and inference mode are switched off for the calling thread and
for the duration of a call, as is the grad mode where a program is traced, so that results are ordinary tensors;
elsewhere inputs are taken without their gradients. The default dtype, the default device, the number of threads and the
deterministic flag are neither read nor set.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import sys
from typing import TYPE_CHECKING, Any, Final, final

import numpy as np
import torch

from tg import OptionError
from tg.backend import FuncifyLinker, Linker, indexing, message, refusal, takes_graphs
from tg_torch.compiled import Compiled, CompiledStep
from tg_torch.place import CPU, Place
from tg_torch.special import special
from tg_torch.special.elementwise import overwrite
from tg_torch.traced import embedded, is_dispatched, traceable, tracing
from tg_torch.values import VIEWS, to_native, to_numpy

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextlib import AbstractContextManager

    from tg.backend import Executable, FrozenGraph, Request, Stages, Traceable
    from tg_torch import Options

    Array = np.ndarray[Any, Any]


def scope(options: Options) -> AbstractContextManager[Any] | None:
    """A context for one trace or call; None where nothing is traced, for no input requires a gradient."""
    kind = "cpu" if options.device is None else find_device(options.device).type
    if kind == "cpu" and not (torch.is_inference_mode_enabled() or torch.is_autocast_enabled(kind)):
        return torch.set_grad_enabled(False) if options.compile else None
    contexts = contextlib.ExitStack()
    contexts.enter_context(torch.inference_mode(False))
    contexts.enter_context(torch.autocast(kind, enabled=False))
    contexts.enter_context(torch.no_grad())
    return contexts


@functools.cache
def find_device(name: str) -> torch.device:
    """The device that PyTorch calls `type` or `type:index`.

    Raises:
        OptionError: PyTorch has no such device here.
    """
    names = _devices()
    if name not in names:
        raise OptionError(message(f"backend 'torch': option device: found {name!r}, needed one of {', '.join(names)}"))
    return torch.device(name)


def _devices() -> list[str]:
    """The names of the devices here: the processor, then the others."""
    cuda = [f"cuda:{k}" for k in range(torch.cuda.device_count())]
    mps = ["mps"] if torch.backends.mps.is_available() else []
    return ["cpu", *(["cuda"] if cuda else []), *cuda, *mps]


def as_tensor(value: Any) -> torch.Tensor:
    """An input as a tensor, in the memory of the array if that can be."""
    if type(value) is not np.ndarray:
        return value.detach() if value.requires_grad else value
    if not value.flags.behaved:  # read-only, of which PyTorch warns, or not aligned
        return to_native(value)
    try:
        return torch.from_numpy(value)
    except (ValueError, TypeError):  # strides that run backwards, or bfloat16
        return to_native(value)


def as_compact(value: Any) -> torch.Tensor:
    """An input as a tensor in C order, for which programs are compiled."""
    return as_tensor(value).contiguous()


def owned(value: torch.Tensor) -> Array:
    """An output as an array that is writable: in its memory, or a copy where it is a window of more memory."""
    try:
        array: Array = value.numpy()
    except TypeError:  # on another device, or bfloat16
        return np.array(to_numpy(value))
    return array if value.untyped_storage().nbytes() == array.nbytes else array.copy()


def is_alone(value: Any) -> bool:
    """Whether a tensor is ordinary, and nothing of PyTorch refers to it or to its memory; no mode may be in force."""
    if type(value) is not torch.Tensor or value.requires_grad or value.is_inference() or not value.is_contiguous():
        return False
    if is_dispatched() or torch._C._len_torch_function_stack():
        return False
    return _references(value) == ALONE


def _references(value: torch.Tensor) -> tuple[int, int, int]:
    """The numbers of references to a tensor, other than Python's, and to its memory."""
    storage = value.untyped_storage()
    return value._use_count(), torch._C._storage_Use_Count(storage._cdata), sys.getrefcount(storage)


ALONE: Final = _references(torch.empty(1))


def ready(outputs: Sequence[torch.Tensor]) -> Sequence[torch.Tensor]:
    """The outputs as ordinary tensors in C order, rather than windows of others; a copy waits for other devices."""
    return [y if y.is_contiguous() else y.contiguous() for y in outputs]


@functools.cache
def funcify_linker(options: Options, *, steps: bool = False) -> FuncifyLinker:
    """The linker of programs with these options.

    With `steps` a program that is to be compiled has loops: `torch.compile` would unroll them. It is run node by node
    in Python, loops too, and what is compiled are the functions of their steps.
    """
    if options.mesh is not None:
        return mesh_linker(options)
    whole = options.compile and not steps
    argument = as_compact if whole else as_tensor
    native = to_native
    if options.device is not None and find_device(options.device).type != "cpu":
        native = functools.partial(_moved, to_native, find_device(options.device))
        argument = functools.partial(_moved, argument, find_device(options.device))
    return FuncifyLinker(
        to_native=native,
        to_numpy=to_numpy,
        copy=torch.clone,
        argument=argument,
        jit=Compiled if whole else None,
        inner=CompiledStep if options.compile else None,
        scope=scope,
        context=_place,
        ready=ready,
        owned=owned,
        overwrite=overwrite,
        is_alone=is_alone,
        special=special,
        views=VIEWS,
        tracing=functools.partial(tracing, None if options.device is None else find_device(options.device)),
    )


def mesh_linker(options: Options) -> FuncifyLinker:
    """The linker of programs on the processes of a mesh, in which rules take DTensors."""
    from tg_torch import spread

    place = _place(options)
    return FuncifyLinker(
        to_native=functools.partial(_moved, to_native, place.device),
        to_numpy=lambda value: to_numpy(spread.whole(value)),
        copy=torch.clone,
        argument=functools.partial(_moved, as_tensor, place.device),
        scope=lambda options: spread.entered(scope(options)),
        context=_place,
        ready=spread.ready,
        owned=lambda value: owned(spread.whole(value)),
        views=VIEWS,
        is_spread=spread.is_spread,
        lay_out=lambda graph, options: spread.lay_out(graph, place),
        tracing=functools.partial(tracing, place.device, mesh=options.mesh),
    )


def _place(options: Options) -> Place:
    """Arguments of the rules beside their operands."""
    device = CPU if options.device is None else find_device(options.device)
    is_spread = options.mesh is not None
    return Place(device, options.compile or is_spread, is_part=is_spread, mesh=options.mesh)


def _moved(convert: Any, device: torch.device, value: Any) -> torch.Tensor:
    return convert(value).to(device)


@final
class TorchLinker(Linker):
    """Core's linker, with the functions that the options ask for."""

    def compile(self, graph: FrozenGraph, request: Request) -> Executable:
        """The executable of a graph.

        Raises:
            NoRuleError: a program that is to be compiled has lengths that depend on values.
            OptionError: PyTorch does not have the device, or the mesh; a program for a mesh is not compiled.
        """
        if request.options.mesh is not None and request.options.compile:
            text = "backend 'torch': option compile: found True beside a mesh, needed False"
            raise OptionError(message(text, hint="torch.compile takes f.traceable()"))
        if request.options.device is not None:
            find_device(request.options.device)
        if request.options.mesh is not None:
            from tg_torch import spread

            request = dataclasses.replace(request, rule_for=functools.partial(spread.rule_for, request.rule_for))
        if request.options.compile:
            _refuse_lengths(graph)
        return funcify_linker(request.options, steps=takes_graphs(graph)).compile(graph, request)

    def traceable(self, function: Traceable) -> Callable[..., Sequence[Any]]:
        """The function for programs of PyTorch."""
        return traceable(function)

    def pipeline(self, stages: Stages) -> Callable[[Sequence[Array]], tuple[Any, Sequence[Any]]]:
        """The function of stages on processes."""
        from tg_torch.pipeline import pipeline

        return pipeline(stages, CPU if stages.options.device is None else find_device(stages.options.device))

    def embedded(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, which `torch.compile` calls."""
        return embedded(function)


def _refuse_lengths(graph: FrozenGraph) -> None:
    """Raise for the first length that depends on values, for which a program cannot be compiled."""
    for number, node in enumerate(graph.nodes):
        for inner in node.op.inner_graphs():
            _refuse_lengths(inner)
        if isinstance(node.op, indexing.Nonzero):
            text = "backend 'torch' does not compile nonzero: a compiled program has no lengths that depend on values"
            hint = "with size= there is room for a stated number; compile=False runs any length"
            raise refusal(text, graph, number, hint=hint)


LINKER: Final = TorchLinker()
