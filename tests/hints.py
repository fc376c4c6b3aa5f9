"""The code that hints say, as programs: the names that they use, what those stand for, and how one is run."""

from __future__ import annotations

import ast
import math
import pickle
import re
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import scipy

import tg
from tg.functions.shared import Shared

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

CODE: Final = re.compile(r"`([^`]+)`")
SAYS: Final = re.compile("cast|float64")  # code that says a dtype
WIDE: Final = ("float64", "complex128")


def codes(text: str) -> list[str]:
    """The code that a hint says."""
    return list(dict.fromkeys(CODE.findall(text)))


def setting(code: str, dtype: str, path: Path) -> tuple[dict[str, Any], dict[Any, Any]]:
    """The names that the code of a hint may use, and the values of those that are inputs."""
    x, y, s, m = tg.vector("x", dtype), tg.vector("y", dtype), tg.scalar("s", dtype), tg.matrix("m", dtype)
    w, u = tg.vector("w", dtype, shape=(3,)), tg.vector("u", dtype, shape=(3,))
    i, k, mask = tg.vector("i", "int64"), tg.scalar("k", "int64"), tg.vector("mask", "bool")
    values = {x: [1.0, 2.0], y: [0.5, 3.0], s: 0.5, m: [[2.0, 1.0], [1.0, 3.0]], w: [1.0, 2.0, 3.0], u: [3.0, 1.0, 2.0]}
    values |= {i: [1, 0], k: 0, mask: [True, False]}
    names = {v.name: v for v in values} | {
        "tg": tg,
        "np": np,
        "math": math,
        "scipy": scipy,
        "pickle": pickle,
        "path": path / "file",
    }
    words = set(re.findall(r"[a-z]+", code))
    if words & {"cost", "state", "loss"}:
        names["state"] = tg.shared(np.array(0.5, dtype), "state")
        names |= {"cost": tg.sum((x - 1) ** 2), "loss": tg.sum(x * names["state"])}
    return names | {name: make(x, dtype) for name, make in OBJECTS.items() if name in words}, values


OBJECTS: Final[dict[str, Callable[[tg.Variable, str], Any]]] = {
    "f": lambda x, _: tg.function([x], x * 2, backend="perform"),
    "j": lambda *_: tg.jit(tg.exp, backend="perform"),
    "rng": lambda *_: np.random.default_rng(0),
    "model": lambda _, dtype: tg.nn.randomized(tg.nn.Dense(3, 2), tg.random.key(0), dtype),
    "stream": lambda *_: tg.random.RandomStream(0),
}


def run(code: str, dtype: str, path: Path) -> None:
    """Run the code of a hint, and what it makes of inputs of a dtype, which results keep.

    A code that names a dtype says what results are.
    """
    names, values = setting(code, dtype, path)
    try:
        ast.parse(code, mode="eval")
    except SyntaxError:
        exec(code, names)
        return
    result = eval(code, names)
    for v in result if isinstance(result, tuple) else (result,):
        if not isinstance(v, tg.Variable):
            continue
        needed = set(inputs_of(v))
        if needed <= values.keys():
            tg.evaluate(v, {x: values[x] for x in needed})
        if dtype != "float64" and not SAYS.search(code) and any(x.dtype == dtype for x in needed):
            assert v.dtype not in WIDE, f"`{code}` is {v.dtype} of {dtype}"


def inputs_of(v: Any) -> Iterator[Any]:
    """The inputs of an expression."""
    if v.op is None and not isinstance(v, tg.Constant | Shared):
        yield v
    for operand in v.inputs:
        yield from inputs_of(operand)
