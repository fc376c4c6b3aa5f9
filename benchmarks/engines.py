"""The engines that run a model: tg's backends, NumPy, raw JAX, torch and MLX, what is written by hand, PyTensor.

Each takes a model and its arrays and gives a function of the arrays, NumPy in and NumPy out, that returns the
expression's value, followed by the gradients.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from models import Model

    Arrays = Sequence[np.ndarray[Any, Any]]
    Compiled = Callable[..., Any]


def tg_backend(choice: str, model: Model, arrays: Arrays) -> Compiled:
    """The model by tg, lengths of data unknown; the choice is a backend's name and options, as in "c threads=2"."""
    import tg

    name, *options = choice.split()
    pairs = (option.split("=") for option in options)
    backend = tg.backend(name, **{key: value == "True" or int(value) for key, value in pairs})

    shapes = [(None,) * (a.ndim - model.known) + a.shape[a.ndim - model.known :] for a in arrays]
    inputs = [tg.tensor(f"v{i}", a.dtype.name, shape) for i, (a, shape) in enumerate(zip(arrays, shapes, strict=True))]

    def outputs(*given: Any) -> list[Any]:
        value = model.loss(tg, *given)
        return [value, *(tg.grad(value, [given[i] for i in model.wrt]) if model.wrt else [])]

    program = tg.vmap(outputs, model.axes(len(inputs))) if model.batched else outputs
    return tg.function(inputs, program(*inputs), backend=backend)  # type: ignore[no-any-return]


def numpy(model: Model, arrays: Arrays) -> Compiled:
    """The model by NumPy, without gradients."""
    if model.wrt:
        raise NotImplementedError("NumPy has no gradients")
    if model.batched:
        raise NotImplementedError("NumPy has no vmap")
    return lambda *given: [np.asarray(model.loss(np, *given))]


def jax(model: Model, arrays: Arrays) -> Compiled:
    """The model by jax.jit and jax.value_and_grad, in 64 bits."""
    import jax as library
    import jax.numpy as jnp

    library.config.update("jax_enable_x64", True)

    def loss(*given: Any) -> Any:
        return model.loss(jnp, *given)

    def of_all(f: Any) -> Any:
        return library.vmap(f, model.axes(len(arrays))) if model.batched else f

    if not model.wrt:
        plain = library.jit(of_all(loss))
        return lambda *given: [np.asarray(plain(*given))]
    both = library.jit(of_all(library.value_and_grad(loss, model.wrt)))

    def call(*given: Any) -> Any:
        value, gradients = both(*given)
        return [np.asarray(value), *map(np.asarray, gradients)]

    return call


def torch_namespace() -> Any:
    """What models are given of torch."""
    import torch as library

    class Torch:
        """NumPy's names where torch has others."""

        exp, sin, log1p, log, tanh, dot, diagonal = (
            getattr(library, n) for n in ("exp", "sin", "log1p", "log", "tanh", "matmul", "diagonal")
        )
        linalg = library.linalg

        @staticmethod
        def solve_lower(factor: Any, b: Any) -> Any:
            columns = b if b.ndim > 1 else b[:, None]
            return library.linalg.solve_triangular(factor, columns, upper=False).reshape(b.shape)

        @staticmethod
        def sum(x: Any, axis: int | None = None) -> Any:
            return library.sum(x) if axis is None else library.sum(x, dim=axis)

        @staticmethod
        def max(x: Any, axis: int) -> Any:
            return library.amax(x, dim=axis)

        @staticmethod
        def maximum(x: Any, y: float) -> Any:
            return library.clamp(x, min=y)

    return Torch


def torch(model: Model, arrays: Arrays) -> Compiled:
    """The model by torch, eager, with its autograd."""
    import torch as library

    xp = torch_namespace()

    def call(*given: Any) -> Any:
        tensors = [library.from_numpy(np.asarray(a)) for a in given]
        for i in model.wrt:
            tensors[i].requires_grad_()
        value = model.loss(xp, *tensors)
        gradients = library.autograd.grad(value, [tensors[i] for i in model.wrt]) if model.wrt else []
        return [value.detach().numpy(), *(g.numpy() for g in gradients)]

    return call


def torch_compile(model: Model, arrays: Arrays) -> Compiled:
    """The model and its gradients by torch.compile, for the lengths it is called with."""
    import torch as library

    xp = torch_namespace()

    def loss(*given: Any) -> Any:
        return model.loss(xp, *given)

    def program(*given: Any) -> Any:
        if not model.wrt:
            return (loss(*given),)
        gradients, value = library.func.grad_and_value(loss, model.wrt)(*given)
        return value, *gradients

    program.__code__ = program.__code__.replace()  # torch keeps few programs of one code
    fast = library.compile(program, dynamic=False)
    return lambda *given: [a.numpy() for a in fast(*(library.from_numpy(np.asarray(a)) for a in given))]


def pytensor(mode: str, model: Model, arrays: Arrays) -> Compiled:
    """The model by PyTensor."""
    if model.batched:
        raise NotImplementedError("no batch of loops")
    import pytensor as library
    import pytensor.tensor as pt

    kinds = [pt.TensorType(a.dtype.name, (None,) * a.ndim) for a in arrays]
    inputs = [kind(f"v{i}") for i, kind in enumerate(kinds)]
    value = model.loss(pt, *inputs)
    gradients = library.grad(value, [inputs[i] for i in model.wrt]) if model.wrt else []
    compiled = library.function(inputs, [value, *gradients], mode=mode)
    return lambda *given: [np.asarray(a) for a in compiled(*given)]


def mlx(model: Model, arrays: Arrays, *, fuses: bool = False) -> Compiled:
    """The model by MLX and mx.value_and_grad, on the processor, and by mx.compile if it `fuses`.

    Its float64 has float32's accuracy in places.
    """
    import mlx.core as mx

    mx.set_default_device(mx.cpu)
    kinds = [getattr(mx, a.dtype.name) for a in arrays]

    class Namespace:
        """NumPy's names where MLX has others."""

        exp, sin, log1p, log, tanh, dot, sum, max, maximum = (
            staticmethod(getattr(mx, n))
            for n in ("exp", "sin", "log1p", "log", "tanh", "matmul", "sum", "max", "maximum")
        )

    loss = partial(model.loss, Namespace)
    program = mx.value_and_grad(loss, model.wrt) if model.wrt else loss
    fast = mx.compile(program) if fuses else program

    def call(*given: Any) -> Any:
        found = fast(*(mx.array(a, dtype=kind) for a, kind in zip(given, kinds, strict=True)))
        if not model.wrt:
            return [np.array(found)]
        value, gradients = found
        return [np.array(value), *map(np.array, gradients if len(model.wrt) > 1 else [gradients])]

    return call


def limit(model: Model, arrays: Arrays, threads: int = 1) -> Compiled:
    """The model by hand in C."""
    import hand_c

    return hand_c.compiled(model, arrays, threads)


def numba(model: Model, arrays: Arrays) -> Compiled:
    """The model by hand in Numba."""
    import hand_numba

    return hand_numba.compiled(model)


RAW = {
    "numpy": numpy,
    "jax": jax,
    "torch": torch,
    "torch.compile": torch_compile,
    "mlx": mlx,
    "mlx.compile": partial(mlx, fuses=True),
    "limit": limit,
    "limit threads=2": partial(limit, threads=2),
    "numba": numba,
}


def compiled(engine: str, model: Model, arrays: Arrays) -> Compiled:
    """The model by the engine of this name: one of RAW, tg-BACKEND (with options), or pytensor-MODE."""
    family, _, rest = engine.partition("-")
    if family == "tg":
        return tg_backend(rest, model, arrays)
    if family == "pytensor":
        return pytensor(rest, model, arrays)
    return RAW[engine](model, arrays)
