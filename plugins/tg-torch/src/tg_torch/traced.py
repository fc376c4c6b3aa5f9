"""Compiled functions for the user's own programs of PyTorch: `f.traceable()`.

Run with ordinary tensors, a program is what a call runs. Where there is more to a tensor than its values (one of
`torch.compile`, of `torch.export`, of `torch.func.vmap`, a DTensor) the rules are called, and what they do becomes part
of the user's program. The derivative is tg's, in both modes and of any order: each is such a function again.
"""

from __future__ import annotations

import contextlib
import functools
import sys
from typing import TYPE_CHECKING, Any, Final

import torch
from torch.utils._python_dispatch import _disable_current_modes

from tg.backend import FuncifyLinker, Symbols, Unit, is_inexact
from tg_torch.place import Place
from tg_torch.rules.elementwise.cast import DTYPES
from tg_torch.values import VIEWS, to_native, to_numpy

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tg.backend import Mesh, Traceable

PLAIN: Final = (torch.Tensor, torch.nn.Parameter)
BATCHED: Final = torch._C._dispatch_key_parse("Batched")


def traceable(function: Traceable) -> Callable[..., Sequence[torch.Tensor]]:
    """A function of arrays, by which PyTorch differentiates."""
    dtypes = [DTYPES[t.dtype] for t in function.inputs]

    def call(*arrays: Any) -> Sequence[torch.Tensor]:
        device = next((x.device for x in arrays if isinstance(x, torch.Tensor)), None)
        tensors = [
            _cast(x, dtype) if isinstance(x, torch.Tensor) else torch.as_tensor(x, dtype=dtype, device=device)
            for x, dtype in zip(arrays, dtypes, strict=True)
        ]
        return differentiable(function, tensors)

    return call


def _cast(x: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    return x if x.dtype == dtype else x.to(dtype)  # which a trace would write down


def embedded(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function as one of which `torch.compile` reads no Python: it calls it, and keeps what it does to tensors."""
    import torch._dynamo

    form: Callable[..., Any] = torch._dynamo.nonstrict_trace(function)
    return form


def differentiable(function: Traceable, arrays: Sequence[torch.Tensor]) -> Sequence[torch.Tensor]:
    """The results, as differentiable as the function is."""
    if not any(is_inexact(t.dtype) for t in function.inputs) or not any(is_inexact(t.dtype) for t in function.outputs):
        return _run(function, arrays)
    asks = torch.is_grad_enabled() and any(x.requires_grad for x in arrays)
    if function.is_scalar and asks and not _is_transformed():
        return Valued.apply(function, *arrays)[:1]  # type: ignore[no-any-return]
    return Derived.apply(function, *arrays)  # type: ignore[no-any-return]


class Derived(torch.autograd.Function):  # type: ignore[misc]
    """A function whose derivatives are functions of its arguments and of cotangents, or tangents."""

    generate_vmap_rule = True

    @staticmethod
    def forward(function: Traceable, *arrays: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """The results."""
        return _run(function, arrays)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[torch.Tensor, ...]) -> None:
        """Keep the arguments."""
        ctx.function, *arrays = inputs
        kinds = zip(output, ctx.function.outputs, strict=True)
        ctx.mark_non_differentiable(*[y for y, t in kinds if not is_inexact(t.dtype)])
        ctx.save_for_backward(*arrays)
        ctx.save_for_forward(*arrays)

    @staticmethod
    def backward(ctx: Any, *cotangents: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        """The cotangents of the arguments."""
        function = ctx.function
        if function.is_scalar:
            _, *slopes = differentiable(function.gradient(), ctx.saved_tensors)
            return None, *_in_places(function, [cotangents[0] * slope for slope in slopes])
        wanted = [dy for dy, t in zip(cotangents, function.outputs, strict=True) if is_inexact(t.dtype)]
        return None, *_in_places(function, differentiable(function.gradient(), [*ctx.saved_tensors, *wanted]))

    @staticmethod
    def jvp(ctx: Any, _: None, *tangents: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        """The tangents of the results."""
        function = ctx.function
        directions = [dx for dx, t in zip(tangents, function.inputs, strict=True) if is_inexact(t.dtype)]
        results = iter(differentiable(function.tangent(), [*ctx.saved_tensors, *directions]))
        return tuple(next(results) if is_inexact(t.dtype) else None for t in function.outputs)


class Valued(torch.autograd.Function):  # type: ignore[misc]
    """A real number with its gradient, which is computed beside it."""

    @staticmethod
    def forward(function: Traceable, *arrays: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """The number and its gradient."""
        return _run(function.gradient(), arrays)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[torch.Tensor, ...]) -> None:
        """Keep the gradient, and the arguments for its own derivative."""
        ctx.function, *arrays = inputs
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(*arrays, *output)

    @staticmethod
    def backward(ctx: Any, *cotangents: torch.Tensor | None) -> tuple[torch.Tensor | None, ...]:
        """The cotangents of the arguments, by the number and by its gradient."""
        function, count = ctx.function, len(ctx.function.inputs)
        arrays, outputs = ctx.saved_tensors[:count], ctx.saved_tensors[count:]
        dy, *curvatures = cotangents
        if all(d is None for d in cotangents):
            return (None,) * (count + 1)
        if all(d is None for d in curvatures):
            return None, *_in_places(function, [dy * slope for slope in outputs[1:]])
        wanted = [torch.zeros_like(y) if d is None else d for d, y in zip(cotangents, outputs, strict=True)]
        return None, *_in_places(function, differentiable(function.gradient().gradient(), [*arrays, *wanted]))


def _in_places(function: Traceable, gradients: Sequence[torch.Tensor]) -> list[torch.Tensor | None]:
    """The gradients of the inexact arguments, None for the others."""
    values = iter(gradients)
    return [next(values) if is_inexact(t.dtype) else None for t in function.inputs]


def _run(function: Traceable, arrays: Sequence[torch.Tensor]) -> tuple[torch.Tensor, ...]:
    """The results, in the dtypes of the program whatever the region casts to."""
    with contextlib.ExitStack() as contexts:
        kind = arrays[0].device.type if arrays else "cpu"
        if torch.is_autocast_enabled(kind):
            contexts.enter_context(torch.autocast(kind, enabled=False))
        if any(map(_is_spread, arrays)):
            from torch.distributed.tensor.experimental import implicit_replication

            contexts.enter_context(implicit_replication())
        return tuple(function.run(*arrays))


def _is_spread(x: torch.Tensor) -> bool:
    """Whether a tensor is a DTensor; there is none before the module is imported, which takes sympy and 0.5 s."""
    module = sys.modules.get("torch.distributed.tensor")
    return module is not None and isinstance(x, module.DTensor)


def tracing(
    device: torch.device | None, arrays: Sequence[torch.Tensor], mesh: Mesh | None = None
) -> FuncifyLinker | None:
    """The linker of programs of these arrays; None for ordinary tensors of a device, which a call takes too."""
    own = torch.device("cpu") if device is None else device
    if all(_is_plain(x) and x.device == own for x in arrays) and not (_is_transformed() or is_dispatched()):
        return None
    return tracing_linker(arrays[0].device if arrays else own, mesh)


@functools.cache
def tracing_linker(device: torch.device, mesh: Mesh | None) -> FuncifyLinker:
    """The linker of programs that are traced: rules look at no values, and write into nothing that is not their own."""

    def native(array: Any) -> torch.Tensor:
        with _disable_current_modes():  # or it were none but for this trace
            return to_native(array).to(device)

    return FuncifyLinker(
        to_native=native,
        to_numpy=to_numpy,
        constant=lambda array: lifted(native(array)),
        copy=torch.clone,
        jit=_as_it_is,
        context=lambda options: Place(device, is_traced=True, is_part=True, mesh=mesh),
        views=VIEWS,
        lifted=lifted,
        symbols=SYMBOLS,
    )


def _value(length: Any) -> torch.Tensor:
    return torch.full((), length, dtype=torch.int64)


SYMBOLS: Final = Symbols(value=_value, minimum=torch.sym_min, maximum=torch.sym_max, least=2)
"""The lengths of `torch.export` and of `torch.compile`, which decide every comparison and keep it as a guard."""


def lifted(constant: torch.Tensor) -> torch.Tensor:
    """A constant as the modes in force take it."""
    return torch.ops.aten.lift_fresh(constant)


def _as_it_is(function: Callable[..., Any], unit: Unit) -> Callable[..., Any]:
    """The function: whoever traces compiles it."""
    return function


def _is_plain(x: torch.Tensor) -> bool:
    """Whether there is nothing to a tensor but its values; gradients in batches have a key of their own."""
    return type(x) in PLAIN and not torch._C._dispatch_keys(x).has(BATCHED)


def _is_transformed() -> bool:
    """Whether a transformation of `torch.func` is under way."""
    return torch._C._functorch.maybe_current_level() is not None


def is_dispatched() -> bool:
    """Whether what is done to tensors is being written down."""
    return bool(
        torch._C._len_torch_dispatch_stack()
        or torch._ops._len_torch_dispatch_stack_pre_dispatch()
        or torch._C._get_tracing_state()
    )
