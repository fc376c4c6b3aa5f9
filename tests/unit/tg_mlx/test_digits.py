"""Digits of the functions that MLX itself computes too coarsely, against extended precision."""

from __future__ import annotations

import numpy as np
import pytest

import tg
from tg.ops.catalog import FAMILIES

FUNCTIONS = [fn for family in FAMILIES for fn in family.elementwise if fn.cost < 500]  # without those that are loops
WIDE = np.longdouble
EXACT = {  # in extended precision, and where to look
    "exp": (np.exp, -745, 709.5),
    "exp2": (np.exp2, -1070, 1023.5),
    "expm1": (np.expm1, -40, 709.5),
    "log": (np.log, 1e-300, 1e300),
    "log2": (np.log2, 1e-300, 1e300),
    "log10": (np.log10, 1e-300, 1e300),
    "log1p": (np.log1p, -0.999, 1e10),
    "sigmoid": (lambda x: 1 / (1 + np.exp(-x)), -700, 40),
    "softplus": (lambda x: np.log1p(np.exp(x)), -700, 700),
    "sin": (np.sin, -100, 100),
    "cos": (np.cos, -100, 100),
    "tan": (np.tan, -100, 100),
    "arcsin": (np.arcsin, -1, 1),
    "arccos": (np.arccos, -1, 1),
    "arctan": (np.arctan, -50, 50),
    "sinh": (np.sinh, -709, 709),
    "cosh": (np.cosh, -709, 709),
    "tanh": (np.tanh, -20, 20),
    "arcsinh": (np.arcsinh, -1e10, 1e10),
    "arccosh": (np.arccosh, 1, 1e10),
    "arctanh": (np.arctanh, -1, 1),
    "cbrt": (np.cbrt, -1e300, 1e300),
    "sqrt": (np.sqrt, 0, 1e300),
}


def spread(low, high, dtype):
    """Numbers between two limits, evenly and by their sizes, and those nearest to the multiples of pi/2."""
    rng = np.random.default_rng(7)
    sizes = 10.0 ** rng.uniform(-12, np.log10(max(-low, high)), 2000)
    angles = np.arange(-60, 61) * (np.pi / 2)
    x = np.concatenate([rng.uniform(low, high, 2000), sizes, -sizes, angles]).astype(dtype)
    return x[(low < x) & (x < high)]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", EXACT)
def test_all_digits_are_right(name, dtype) -> None:
    fn = next(fn for fn in FUNCTIONS if fn.name == name)
    oracle, low, high = EXACT[name]
    limits = np.finfo(dtype)
    x = spread(max(low, float(limits.min)), min(high, float(limits.max)), dtype)
    operand = tg.vector("x", dtype)
    found = tg.function([operand], fn(operand), backend="mlx")(x).astype(WIDE)
    with np.errstate(all="ignore"):
        want = oracle(x.astype(WIDE))
        regular = (abs(want) < limits.max * (1 - 8 * limits.eps)) & (abs(want) >= limits.tiny)
        ulps = abs(found - want) / (abs(want) * limits.eps)
    assert ulps[regular].max() <= fn.accuracy, x[regular][ulps[regular].argmax()]
    assert (abs(found[abs(want) < limits.tiny]) <= limits.tiny).all()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", ["logaddexp", "hypot", "power", "arctan2", "divide"])
def test_all_digits_of_functions_of_two_are_right(name, dtype) -> None:
    fn = next(fn for fn in FUNCTIONS if fn.name == name)
    rng = np.random.default_rng(8)
    x, y = ((rng.normal(size=3000) * 10.0 ** rng.uniform(-6, 1, 3000)).astype(dtype) for _ in range(2))
    if name == "power":
        x = abs(x)
    operands = [tg.vector(name, dtype) for name in "xy"]
    found = tg.function(operands, fn(*operands), backend="mlx")(x, y).astype(WIDE)
    want = getattr(np, name)(x.astype(WIDE), y.astype(WIDE))
    top = np.maximum(x, y)  # logaddexp is the sum of this and of a correction made of the rounded difference
    scale = np.maximum(abs(top), (want - top) * (1 + abs(x - y))) if name == "logaddexp" else abs(want)
    regular = (abs(want) < np.finfo(dtype).max) & (abs(want) > np.finfo(dtype).tiny)
    assert (abs(found - want) / (scale * np.finfo(dtype).eps))[regular].max() <= fn.accuracy
