"""The models of the page `draws`: random numbers of a key, by the library's own functions."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from models import Model

if TYPE_CHECKING:
    from collections.abc import Callable

SEED = 3
LARGE, SMALL = 10_000_000, 1_000_000
STREAM = np.random.default_rng(SEED)  # NumPy's draws have no key
PLAIN = {"uniform": "random", "normal": "standard_normal", "exponential": "standard_exponential"}  # without parameters
NUMPY_ALONE = ("numpy", "torch")  # draw other numbers than tg does
JAX_TOO = (*NUMPY_ALONE, "jax")


def draw(xp: Any, key: Any, name: str, size: int, parameters: tuple[float, ...]) -> Any:
    """So many numbers of a distribution, by its name in `tg.random`; of a permutation, 0, 1, ... in another order."""
    kind = xp.__name__
    if kind == "jax.numpy":
        return _by_jax(key, name, size, parameters)
    if kind == "Torch":
        return _by_torch()[name](size, *parameters)
    if kind not in ("tg", "numpy"):
        raise NotImplementedError("without draws in float64")
    if name == "permutation":
        return xp.random.permutation(key, size) if kind == "tg" else STREAM.permutation(size)
    if kind == "tg":
        return getattr(xp.random, name)(key, *parameters, shape=(size,))
    return getattr(STREAM, PLAIN.get(name, name))(*parameters, size=size)


def _by_jax(key: Any, name: str, size: int, parameters: tuple[float, ...]) -> Any:
    from jax import random

    key = random.wrap_key_data(key)
    if name == "permutation":
        return random.permutation(key, size)
    if name == "integers":
        return random.randint(key, (size,), *parameters, "int64")
    return getattr(random, name)(key, *parameters, shape=(size,))


def _by_torch() -> dict[str, Callable[..., Any]]:
    import torch

    wide = torch.float64

    def full(size: int, value: float) -> Any:
        return torch.full((size,), value, dtype=wide)

    return {
        "uniform": lambda size: torch.rand(size, dtype=wide),
        "normal": lambda size: torch.randn(size, dtype=wide),
        "exponential": lambda size: torch.empty(size, dtype=wide).exponential_(),
        "gamma": lambda size, a: torch.distributions.Gamma(full(size, a), 1.0).sample(),
        "poisson": lambda size, lam: torch.poisson(full(size, lam)),
        "binomial": lambda size, n, p: torch.binomial(full(size, n), full(size, p)),
        "integers": lambda size, low, high: torch.randint(low, high, (size,)),
        "permutation": torch.randperm,
    }


def _row(name: str, size: int, *parameters: float, others: tuple[str, ...] = NUMPY_ALONE) -> Model:
    loss = partial(draw, name=name, size=size, parameters=parameters)
    return Model(loss, lambda: [np.array([0, SEED], np.uint32)], known=1, others=others)


DRAWS: dict[str, Model] = {
    "uniform 1e7": _row("uniform", LARGE),
    "normal 1e7": _row("normal", LARGE),
    "exponential 1e7": _row("exponential", LARGE),
    "gamma(2.5) 1e6": _row("gamma", SMALL, 2.5, others=JAX_TOO),
    "poisson(4) 1e6": _row("poisson", SMALL, 4.0, others=JAX_TOO),
    "binomial(20, 0.3) 1e6": _row("binomial", SMALL, 20, 0.3, others=JAX_TOO),
    "hypergeometric(15, 20, 10) 1e6": _row("hypergeometric", SMALL, 15, 20, 10),
    "integers(0, 1000) 1e6": _row("integers", SMALL, 0, 1000),
    "permutation 1e6": _row("permutation", SMALL),
}
