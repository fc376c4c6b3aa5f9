"""The engines that run a model: tg's backends, NumPy, raw JAX, raw torch, and PyTensor where it is installed.

Each takes a model and its arrays and gives a function of the arrays, NumPy in and NumPy out, that returns the
expression's value, followed by the gradients.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from models import Model

    Arrays = Sequence[np.ndarray[Any, Any]]
    Compiled = Callable[..., Any]


def tg_backend(backend: str, model: Model, arrays: Arrays) -> Compiled:
    """The model by tg, its lengths unknown."""
    import tg

    inputs = [tg.tensor(f"v{i}", a.dtype.name, (None,) * a.ndim) for i, a in enumerate(arrays)]
    value = model.loss(tg, *inputs)
    gradients = tg.grad(value, [inputs[i] for i in model.wrt]) if model.wrt else []
    return tg.function(inputs, [value, *gradients], backend=backend)  # type: ignore[no-any-return]


def numpy(model: Model, arrays: Arrays) -> Compiled:
    """The model by NumPy, without gradients."""
    if model.wrt:
        raise NotImplementedError
    return lambda *given: [np.asarray(model.loss(np, *given))]


def jax(model: Model, arrays: Arrays) -> Compiled:
    """The model by jax.jit and jax.value_and_grad, in 64 bits."""
    import jax as library
    import jax.numpy as jnp

    library.config.update("jax_enable_x64", True)

    def loss(*given: Any) -> Any:
        return model.loss(jnp, *given)

    if not model.wrt:
        plain = library.jit(loss)
        return lambda *given: [np.asarray(plain(*given))]
    both = library.jit(library.value_and_grad(loss, model.wrt))

    def call(*given: Any) -> Any:
        value, gradients = both(*given)
        return [np.asarray(value), *map(np.asarray, gradients)]

    return call


def torch(model: Model, arrays: Arrays) -> Compiled:
    """The model by torch, eager, with its autograd."""
    import torch as library

    class Namespace:
        """NumPy's names where torch has others."""

        exp, sin, log1p, log, tanh, dot = (
            getattr(library, n) for n in ("exp", "sin", "log1p", "log", "tanh", "matmul")
        )

        @staticmethod
        def sum(x: Any, axis: int | None = None) -> Any:
            return library.sum(x) if axis is None else library.sum(x, dim=axis)

        @staticmethod
        def max(x: Any, axis: int) -> Any:
            return library.amax(x, dim=axis)

        @staticmethod
        def maximum(x: Any, y: float) -> Any:
            return library.clamp(x, min=y)

    def call(*given: Any) -> Any:
        tensors = [library.from_numpy(np.asarray(a)) for a in given]
        for i in model.wrt:
            tensors[i].requires_grad_()
        value = model.loss(Namespace, *tensors)
        gradients = library.autograd.grad(value, [tensors[i] for i in model.wrt]) if model.wrt else []
        return [value.detach().numpy(), *(g.numpy() for g in gradients)]

    return call


def pytensor(mode: str, model: Model, arrays: Arrays) -> Compiled:
    """The model by PyTensor."""
    import pytensor as library
    import pytensor.tensor as pt

    kinds = [pt.TensorType(a.dtype.name, (None,) * a.ndim) for a in arrays]
    inputs = [kind(f"v{i}") for i, kind in enumerate(kinds)]
    value = model.loss(pt, *inputs)
    gradients = library.grad(value, [inputs[i] for i in model.wrt]) if model.wrt else []
    compiled = library.function(inputs, [value, *gradients], mode=mode)
    return lambda *given: [np.asarray(a) for a in compiled(*given)]


def compiled(engine: str, model: Model, arrays: Arrays) -> Compiled:
    """The model by the engine of this name: numpy, jax, torch, tg-BACKEND or pytensor-MODE."""
    family, _, rest = engine.partition("-")
    if family == "tg":
        return tg_backend(rest, model, arrays)
    if family == "pytensor":
        return pytensor(rest, model, arrays)
    return {"numpy": numpy, "jax": jax, "torch": torch}[family](model, arrays)
