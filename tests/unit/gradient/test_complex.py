"""Gradients of real costs with respect to complex variables: d cost / d real(z) + i * d cost / d imag(z)."""

from __future__ import annotations

import numpy as np
import pytest

import tg

POINT = np.array([0.4 + 0.9j, -1.2 + 0.3j, 0.7 - 0.6j, -0.5 - 1.1j])
MATRIX = np.array([[1 + 2j, 0.5j, -1.0, 2.0], [0.3, 1 - 1j, 2j, -0.7j]])
STEP = 1e-6

FUNCTIONS = {
    "exp": tg.exp,
    "log": tg.log,
    "sqrt": tg.sqrt,
    "tanh": tg.tanh,
    "arcsin": tg.arcsin,
    "arccosh": tg.arccosh,
    "conj": tg.conj,
    "real": tg.real,
    "imag": tg.imag,
    "abs": tg.abs,
    "angle": tg.angle,
    "sign": tg.sign,
    "quotient": lambda z: (1 + 2j) / z,
    "power": lambda z: z ** (1.5 + 0.5j),
    "exponent": lambda z: (1.3 - 0.4j) ** z,
    "with its conjugate": lambda z: z * tg.conj(z) * z,
    "chosen": lambda z: tg.where(tg.real(z) > 0, z * z, tg.exp(z)),
    "composed": lambda z: tg.complex(tg.real(z) ** 2, tg.imag(z) * tg.real(z)),
    "to real and back": lambda z: tg.cast(tg.cast(z, "float64") ** 3, "complex128") * z,
    "matmul": lambda z: tg.matmul(tg.constant(MATRIX), z),
    "dot": lambda z: tg.dot(z, z),
    "outer": lambda z: tg.outer(z, tg.conj(z) + z),
    "prod": tg.prod,
    "cumsum": lambda z: tg.cumsum(z * z),
    "mean": lambda z: tg.mean(z) * z,
    "reversed": lambda z: z[::-1] * z,
    "called": lambda z: tg.call(lambda v: tg.exp(v) * v, z),
}


def differences(cost, point):
    """Central differences in both parts."""
    found = np.zeros_like(point)
    for k in range(len(point)):
        for direction in (1, 1j):
            step = np.zeros_like(point)
            step[k] = STEP * direction
            found[k] += direction * (cost(point + step) - cost(point - step)) / (2 * STEP)
    return found


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_gradient_of_squared_sizes_agrees_with_differences(name):
    z = tg.tensor("z", "complex128", (4,))
    y = FUNCTIONS[name](z)
    cost = tg.sum(tg.abs(y) ** 2) + tg.real(tg.sum(y * (0.3 - 0.7j)))
    gradient = tg.grad(cost, z).eval({z: POINT})
    f = tg.function([z], cost, backend="perform")
    assert gradient.dtype == np.complex128
    np.testing.assert_allclose(gradient, differences(f, POINT), rtol=1e-6, atol=1e-7)


def test_descending_against_the_gradient_lowers_the_cost():
    z = tg.scalar("z", "complex128")
    cost = tg.abs(z - (2 - 1j)) ** 2
    assert tg.grad(cost, z).eval({z: 0j}) == pytest.approx(2 * (0 - (2 - 1j)))


def test_a_real_variable_has_a_real_gradient_through_complex_values():
    x = tg.vector("x")
    gradient = tg.grad(tg.sum(tg.real(tg.exp(1j * x))), x)
    assert gradient.type.dtype == "float64"
    np.testing.assert_allclose(gradient.eval({x: POINT.real}), -np.sin(POINT.real))


@pytest.mark.parametrize("function", [tg.abs, tg.angle, tg.sign])
def test_the_derivative_at_zero_is_zero(function):
    z = tg.vector("z", "complex128")
    cost = tg.sum(tg.real(function(z)))
    np.testing.assert_array_equal(tg.grad(cost, z).eval({z: [0j]}), [0])


def test_vjp_takes_and_gives_gradients():
    z, g = tg.vector("z", "complex128"), tg.vector("g", "complex128")
    found = tg.vjp(tg.exp(z), z, g).eval({z: POINT, g: POINT[::-1]})
    np.testing.assert_allclose(found, POINT[::-1] * np.conj(np.exp(POINT)))


def test_steps_have_the_gradient_zero():
    x = tg.vector("x")
    for function in (tg.floor, tg.ceil, tg.trunc, tg.rint, tg.sign):
        np.testing.assert_array_equal(tg.grad(tg.sum(function(x)), x).eval({x: [0.3, -1.7]}), [0.0, 0.0])


def test_what_no_derivative_reaches_is_still_disconnected():
    x = tg.vector("x")
    for cost in (tg.sum(tg.stop_gradient(x)), tg.sum(tg.cast(x > 0, "float64"))):
        with pytest.raises(tg.InputError, match="does not depend"):
            tg.grad(cost, x)
