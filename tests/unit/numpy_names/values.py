"""Arguments of the calls in `calls.py`, and how a call is made of a namespace."""

from __future__ import annotations

import warnings
from typing import Any, Final

import numpy as np

import tg

NAN, INF = float("nan"), float("inf")

VALUES: Final[dict[str, Any]] = {
    "x": np.array([0.5, -1.25, 3.0, 2.0, -0.75, 1.5]),
    "y": np.array([1.0, 2.5, -0.5, 2.0, 4.0, -3.0]),
    "p": np.array([2.0, -3.0, 0.5, 1.0]),
    "q": np.array([1.0, 0.25, -2.0]),
    "u": np.array([0.1, 0.4, 0.9, 1.6, 2.5, 3.6]),  # ascending
    "w": np.array([1.0, 2.0, 0.5, 3.0, 1.0, 0.0]),  # weights
    "h": np.array([[1.0, NAN, 2.5, -3.0], [0.25, NAN, 0.5, 4.0], [2.0, -1.0, NAN, 7.0]]),
    "g": np.array([NAN, -0.0, 0.0, 1e-310, 5e-324, 1e300, -INF, INF, -2.5, 1.7976931348623157e308, 0.1]),
    "m": np.array([[1.0, 2.0, -3.0, 0.5], [4.0, -1.5, 2.0, 2.0], [0.0, 3.5, 1.0, -2.0]]),
    "s": np.array([[4.0, 1.0, 0.5], [1.0, 3.0, -1.0], [0.5, -1.0, 2.0]]),
    "t": np.arange(24.0).reshape(2, 3, 4) % 7,
    "f": np.array([0.5, -1.25, 3.0, 2.0], np.float32),
    "i": np.array([3, -7, 0, 12, 5, -8]),
    "j": np.array([2, 3, 5, -4, 0, 6]),
    "k": np.array([[5, 2, 9], [1, 7, 3]]),
    "n": np.array([-128, -7, 0, 1, 2, 127], np.int8),
    "b": np.array([0, 1, 2, 128, 200, 255], np.uint8),
    "z": np.array([1 + 2j, -0.5 + 0j, 3 - 1j, 0 + 0j]),
    "a": np.array([True, False, True, True, False, True]),
    "c": np.array([[True, False, True, False], [False, False, True, True], [True, True, True, False]]),
    "d": np.array([0.2, 3.1, 6.0, -1.0, 2.5, 9.0]),  # angles
}


def called(call: str, module: Any, values: Any) -> Any:
    """The value of a call, written with `np` for the module."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return eval(call, {"np": module, **values})


def flat(value: Any) -> list[Any]:
    """The arrays of a result, in order."""
    if isinstance(value, tuple | list):
        return [v for part in value for v in flat(part)]
    return [value]


def of_variables(call: str, backend: str) -> list[Any]:
    """What tg gives for variables of no known length."""
    inputs = {name: tg.tensor(name, v.dtype.name, (None,) * v.ndim) for name, v in VALUES.items()}
    return computed(call, inputs, backend)


def of_constants(call: str, backend: str) -> list[Any]:
    """What tg gives for variables whose lengths are known."""
    inputs = {name: tg.tensor(name, v.dtype.name, v.shape) for name, v in VALUES.items()}
    return computed(call, inputs, backend)


def computed(call: str, inputs: Any, backend: str) -> list[Any]:
    results = flat(called(call, tg, inputs))
    used = [inputs[name] for name in inputs if name in names_of(call)]
    places = [k for k, v in enumerate(results) if isinstance(v, tg.Variable)]
    if places:
        f = tg.function(used, [results[k] for k in places], backend=backend, mode="off")
        values = f(*(VALUES[v.name] for v in used))
        for k, value in zip(places, values, strict=True):
            results[k] = value
    return results


def names_of(call: str) -> set[str]:
    """The names that an expression reads."""
    return {name for name in compile(call, "call", "eval").co_names if name in VALUES} | {
        name
        for const in compile(call, "call", "eval").co_consts
        if hasattr(const, "co_names")
        for name in const.co_names
    }
