"""Child process: microseconds per call of small compiled functions beside the raw framework; prints JSON."""

from __future__ import annotations

import json
import sys
import sysconfig
import tempfile
import timeit
from importlib.util import module_from_spec, spec_from_file_location
from typing import TYPE_CHECKING, Any

import numpy as np
from native import built

if TYPE_CHECKING:
    from collections.abc import Callable

REPEATS = 200
SECONDS = 1e-3  # of one repeat: mostly shorter than what the system gives a process at a time


def cost(function: Callable[..., Any], arguments: tuple[Any, ...]) -> float:
    """The least over short repeats of the microseconds per call: whatever else the machine does only adds to it."""
    timer = timeit.Timer(lambda: function(*arguments))
    number, taken = timer.autorange()
    number = max(1, int(number * SECONDS / taken))
    return 1e6 * min(timer.repeat(REPEATS, number)) / number


ARGUMENTS: dict[str, tuple[Any, ...]] = {
    "scalar x+1": (np.array(2.0),),
    "3-vector sum(x**2)": (np.array([1.0, 2.0, 3.0]),),
    "5 in, 5 out": tuple(np.arange(3.0) + k for k in range(5)),
}


def with_tg(backend: str) -> dict[str, Callable[..., Any]]:
    """The three functions compiled by tg."""
    import tg

    a, v = tg.scalar("a"), tg.vector("v")
    five = [tg.vector(f"v{k}") for k in range(5)]
    return {
        "scalar x+1": tg.function([a], a + 1, backend=backend),
        "3-vector sum(x**2)": tg.function([v], tg.sum(v**2), backend=backend),
        "5 in, 5 out": tg.function(five, [u + 1 for u in five], backend=backend),
    }


def raw_jax() -> dict[str, Callable[..., Any]]:
    """The three functions by jax.jit, NumPy in and NumPy out, in 64 bits."""
    import jax

    jax.config.update("jax_enable_x64", True)
    one = jax.jit(lambda x: x + 1)
    squares = jax.jit(lambda x: (x**2).sum())
    five = jax.jit(lambda *xs: [x + 1 for x in xs])
    return {
        "scalar x+1": lambda x: np.asarray(one(x)),
        "3-vector sum(x**2)": lambda x: np.asarray(squares(x)),
        "5 in, 5 out": lambda *xs: [np.asarray(y) for y in five(*xs)],
    }


def raw_torch() -> dict[str, Callable[..., Any]]:
    """The three functions by eager torch, NumPy in and NumPy out."""
    import torch

    given = torch.from_numpy
    return {
        "scalar x+1": lambda x: (given(x) + 1).numpy(),
        "3-vector sum(x**2)": lambda x: (given(x) ** 2).sum().numpy(),
        "5 in, 5 out": lambda *xs: [(given(x) + 1).numpy() for x in xs],
    }


def raw_mlx() -> dict[str, Callable[..., Any]]:
    """The three functions by MLX on the processor, NumPy in and NumPy out."""
    import mlx.core as mx

    mx.set_default_device(mx.cpu)

    def given(x: Any) -> Any:
        return mx.array(x, dtype=mx.float64)

    return {
        "scalar x+1": lambda x: np.array(given(x) + 1),
        "3-vector sum(x**2)": lambda x: np.array((given(x) ** 2).sum()),
        "5 in, 5 out": lambda *xs: [np.array(given(x) + 1) for x in xs],
    }


def raw_numba() -> dict[str, Callable[..., Any]]:
    """The three functions by numba.njit."""
    import numba

    squares = numba.njit(lambda x: (x**2).sum())
    five = numba.njit(lambda a, b, c, d, e: (a + 1, b + 1, c + 1, d + 1, e + 1))
    return {"scalar x+1": numba.njit(lambda x: x + 1), "3-vector sum(x**2)": squares, "5 in, 5 out": five}


def raw_numpy() -> dict[str, Callable[..., Any]]:
    """The three functions written with NumPy."""
    return {
        "scalar x+1": lambda x: x + 1,
        "3-vector sum(x**2)": lambda x: (x**2).sum(),
        "5 in, 5 out": lambda *xs: [x + 1 for x in xs],
    }


def limit() -> dict[str, Callable[..., Any]]:
    """The three functions as an extension written by hand in C."""
    includes = [f"-I{sysconfig.get_path('include')}", f"-I{np.get_include()}"]
    with tempfile.TemporaryDirectory() as folder:
        spec = spec_from_file_location("calls", built("calls.c", folder, *includes))
        found = module_from_spec(spec)
    return {
        "scalar x+1": found.add_one,
        "3-vector sum(x**2)": found.sum_of_squares,
        "5 in, 5 out": found.add_one_to_five,
    }


def with_pytensor(choice: str) -> dict[str, Callable[..., Any]]:
    """The three functions by PyTensor: a mode, with "-trusted" for functions that do not check their arguments."""
    import pytensor
    import pytensor.tensor as pt

    a, v = pt.dscalar("a"), pt.dvector("v")
    five = [pt.dvector(f"v{k}") for k in range(5)]
    mode, _, trusted = choice.partition("-")
    found = {
        "scalar x+1": pytensor.function([a], a + 1, mode=mode),
        "3-vector sum(x**2)": pytensor.function([v], pt.sum(v**2), mode=mode),
        "5 in, 5 out": pytensor.function(five, [u + 1 for u in five], mode=mode),
    }
    for function in found.values():
        function.trust_input = bool(trusted)
    return found


RAW = {"jax": raw_jax, "torch": raw_torch, "mlx": raw_mlx, "numba": raw_numba, "numpy": raw_numpy}


def functions(engine: str) -> dict[str, Callable[..., Any]]:
    """The three functions by an engine: limit, raw-LIBRARY, tg-BACKEND or pytensor-MODE."""
    kind, _, rest = engine.partition("-")
    if kind == "raw":
        return RAW[rest]()
    return limit() if kind == "limit" else with_tg(rest) if kind == "tg" else with_pytensor(rest)


if __name__ == "__main__":
    print(json.dumps({label: cost(f, ARGUMENTS[label]) for label, f in functions(sys.argv[1]).items()}))
