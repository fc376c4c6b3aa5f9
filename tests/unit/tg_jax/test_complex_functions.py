"""Derivatives of complex functions on the axes, where the cases of their text meet."""

from __future__ import annotations

import jax
import mpmath
import pytest

from tg.backend import arithmetic, exponential, trigonometric
from tg_jax.rules import RULES

FUNCTIONS = {
    "exp": (exponential.exp, mpmath.exp),
    "exp2": (exponential.exp2, lambda z: mpmath.mpf(2) ** z),
    "expm1": (exponential.expm1, mpmath.expm1),
    "log1p": (exponential.log1p, lambda z: mpmath.log(1 + z)),
    "sqrt": (arithmetic.sqrt, mpmath.sqrt),
    "reciprocal": (arithmetic.reciprocal, lambda z: 1 / z),
    "sinh": (trigonometric.sinh, mpmath.sinh),
    "cosh": (trigonometric.cosh, mpmath.cosh),
    "tanh": (trigonometric.tanh, mpmath.tanh),
    "sin": (trigonometric.sin, mpmath.sin),
    "cos": (trigonometric.cos, mpmath.cos),
    "tan": (trigonometric.tan, mpmath.tan),
    "arcsinh": (trigonometric.arcsinh, mpmath.asinh),
    "arccosh": (trigonometric.arccosh, mpmath.acosh),
    "arctanh": (trigonometric.arctanh, mpmath.atanh),
    "arcsin": (trigonometric.arcsin, mpmath.asin),
    "arccos": (trigonometric.arccos, mpmath.acos),
    "arctan": (trigonometric.arctan, mpmath.atan),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("z", [0.3, 0.3j, -0.6j, 0.4 - 0.7j])
def test_derivatives_are_those_of_mpmath(name, z) -> None:
    key, exact = FUNCTIONS[name]
    with jax.enable_x64(True):
        slope = complex(jax.jvp(RULES[key], (jax.numpy.asarray(z, complex),), (jax.numpy.asarray(1.0 + 0j),))[1])
    place = mpmath.mpc(z) + mpmath.mpc(0, 1e-30 if name == "arccosh" else 0)  # real z are on its cut: the upper side
    want = complex(mpmath.diff(exact, place))
    assert slope == pytest.approx(want, rel=1e-12)
