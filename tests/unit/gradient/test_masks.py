"""Derivatives through linear maps between two choices, whose untaken branches have infinite slopes.

Conditions go with the derivatives through the map and back: cumulative and total disjunctions, updates, gathers. The
oracle has the map as a matrix, made of NumPy's results for unit vectors, and the two choices in closed form.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import tg
from tg import plugin

if TYPE_CHECKING:
    from collections.abc import Callable

    Map = Callable[[Any], Any]

BACKENDS = tuple(one.name for one in plugin.registry().backends() if one.is_available)
POINT = np.array([2.0, -1.0, 0.0, 3.0, 0.75, -2.0])
LENGTH = POINT.size
PLACES = np.array([4, 0, 0, 2, 4, 5])
ORDER = np.array([3, 5, 1, 0, 4, 2])
WEIGHTS = np.random.default_rng(7).uniform(0.5, 1.5, (LENGTH, LENGTH))


def numpy_scatter_add(y: np.ndarray) -> np.ndarray:
    z = np.zeros(LENGTH)
    np.add.at(z, PLACES, y)
    return z


def numpy_scatter_set(y: np.ndarray) -> np.ndarray:
    z = np.zeros(LENGTH + 2)
    z[ORDER] = y
    return z


def numpy_slice_set(y: np.ndarray) -> np.ndarray:
    z = np.concatenate([y, y])
    z[1:7] = 2 * y
    return z


def numpy_slice_add(y: np.ndarray) -> np.ndarray:
    z = np.concatenate([y, y])
    z[-1:-7:-1] += y
    return z


def numpy_decay(y: np.ndarray) -> np.ndarray:
    carry, carries = 0.0, []
    for element in y:
        carry = 0.5 * carry + element
        carries.append(carry)
    return np.array(carries)


def numpy_late_start(y: np.ndarray) -> np.ndarray:
    carry, carries = np.zeros(2), []
    for t, element in enumerate(y):
        carry = np.array([carry[1], (carry[0] if t > 2 else 0.0) + element])
        carries.append(carry)
    return np.array(carries)


def late_start(y: tg.Variable) -> tg.Variable:
    def step(carry: tg.Variable, slices: tuple[tg.Variable, tg.Variable]) -> tuple[tg.Variable, tg.Variable]:
        t, element = slices
        carry = tg.stack([carry[1], tg.where(t > 2, carry[0], 0.0) + element])
        return carry, carry

    return tg.scan(step, tg.zeros(2), (tg.arange(LENGTH), y))[1]


def decay(y: tg.Variable) -> tg.Variable:
    return tg.scan(lambda carry, element: (0.5 * carry + element,) * 2, tg.constant(0.0), y)[1]


MAPS: dict[str, tuple[Map, Map]] = {
    "cumulative sum": (tg.cumsum, np.cumsum),
    "cumulative sum from the end": (lambda y: tg.flip(tg.cumsum(tg.flip(y))), lambda y: np.cumsum(y[::-1])[::-1]),
    "cumulative sums of rows": (
        lambda y: tg.cumsum(tg.reshape(y, (2, 3)), axis=1),
        lambda y: np.cumsum(y.reshape(2, 3), axis=1),
    ),
    "scattered sum": (lambda y: tg.zeros(LENGTH).at[PLACES].add(y), numpy_scatter_add),
    "scattered values": (lambda y: tg.zeros(LENGTH + 2).at[ORDER].set(y), numpy_scatter_set),
    "written slice": (lambda y: tg.concatenate([y, y]).at[1:7].set(2 * y), numpy_slice_set),
    "added slice": (lambda y: tg.concatenate([y, y]).at[-1:-7:-1].add(y), numpy_slice_add),
    "sorted": (tg.sort, np.sort),
    "sorted rows": (lambda y: tg.sort(tg.reshape(y, (2, 3)), axis=-1), lambda y: np.sort(y.reshape(2, 3), axis=-1)),
    "joined": (lambda y: tg.concatenate([y[3:], 2 * y[:3], y]), lambda y: np.concatenate([y[3:], 2 * y[:3], y])),
    "stacked": (lambda y: tg.stack([y, y[::-1]], axis=1), lambda y: np.stack([y, y[::-1]], axis=1)),
    "slices": (lambda y: y[1:-1] + y[:-2] - y[::-1][2:], lambda y: y[1:-1] + y[:-2] - y[::-1][2:]),
    "steps": (lambda y: y[::2], lambda y: y[::2]),
    "gathered": (lambda y: y[PLACES], lambda y: y[PLACES]),
    "taken of rows": (
        lambda y: tg.take(tg.reshape(y, (2, 3)), np.array([2, 0, 2]), axis=1),
        lambda y: np.take(y.reshape(2, 3), [2, 0, 2], axis=1),
    ),
    "sum": (tg.sum, np.sum),
    "sums of rows": (lambda y: tg.sum(tg.reshape(y, (2, 3)), axis=1), lambda y: np.sum(y.reshape(2, 3), axis=1)),
    "mean of columns": (lambda y: tg.mean(tg.reshape(y, (3, 2)), axis=0), lambda y: np.mean(y.reshape(3, 2), axis=0)),
    "differences": (tg.diff, np.diff),
    "rolled": (lambda y: tg.roll(y, 2) + y, lambda y: np.roll(y, 2) + y),
    "repeated": (lambda y: tg.repeat(y, 3), lambda y: np.repeat(y, 3)),
    "padded": (lambda y: tg.pad(y, (2, 1)), lambda y: np.pad(y, (2, 1))),
    "transposed": (lambda y: tg.reshape(y, (2, 3)).T, lambda y: y.reshape(2, 3).T),
    "table": (lambda y: y[:, None] + y[None, :], lambda y: y[:, None] + y[None, :]),
    "triangle": (
        lambda y: tg.tril(tg.broadcast_to(y, (LENGTH, LENGTH))),
        lambda y: np.tril(np.broadcast_to(y, (LENGTH, LENGTH))),
    ),
    "product with a matrix": (lambda y: WEIGHTS @ y, lambda y: WEIGHTS @ y),
    "scan": (decay, numpy_decay),
    "scan of a pair": (late_start, numpy_late_start),
}


def choice(x: tg.Variable) -> tg.Variable:
    """The root of what is positive, whose slope is infinite or undefined elsewhere."""
    return tg.where(x > 0, tg.sqrt(x), 0.0)


def derivatives_of_choice(x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    taken = x > 0
    root = np.sqrt(np.where(taken, x, 1.0))
    return taken * root, taken * 0.5 / root, taken * -0.25 / root**3


def matrix_of(linear: Map) -> tuple[np.ndarray, np.ndarray]:
    """The matrix of a map at choice(x), and the product of both; a sort is the permutation that it is there."""
    y = derivatives_of_choice(POINT)[0]
    if linear in (MAPS["sorted"][1], MAPS["sorted rows"][1]):
        near = np.argsort(np.argsort(y, kind="stable"), kind="stable") + 1.0  # whole numbers in the same order
        matrix = np.stack([np.ravel(linear(near + 0.5 * e) - linear(near)) * 2 for e in np.eye(LENGTH)], axis=1)
    else:
        matrix = np.stack([np.ravel(linear(e)) for e in np.eye(LENGTH)], axis=1)
    return matrix, matrix @ y


def oracle(linear: Map) -> tuple[float, np.ndarray, np.ndarray]:
    """The cost sum(choice(A choice(x) - 0.8)), its gradient and its Hessian."""
    _, slope, curvature = derivatives_of_choice(POINT)
    matrix, z = matrix_of(linear)
    value, outer, bend = derivatives_of_choice(z - 0.8)
    gradient = matrix.T @ outer
    hessian = (matrix * slope).T @ (bend[:, None] * matrix * slope) + np.diag(curvature * gradient)
    return value.sum(), slope * gradient, hessian


@pytest.mark.sampled(24)
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", MAPS)
def test_derivatives_to_second_order_by_both_modes(name: str, backend: str) -> None:
    build, linear = MAPS[name]
    x, t = tg.vector("x"), tg.vector("t")
    cost = tg.sum(choice(build(choice(x)) - 0.8))
    gradient = tg.grad(cost, x)
    outputs = [cost, gradient, tg.jvp(cost, [x], [t]), tg.jacobian(gradient, x), tg.hvp(cost, [x], [t])]
    value, slopes, hessian = oracle(linear)
    direction = np.linspace(-1, 1, LENGTH)
    wanted = [value, slopes, slopes @ direction, hessian, hessian @ direction]
    results = tg.function([x, t], outputs, backend=backend)(POINT, direction)
    for result, expected in zip(results, wanted, strict=True):
        np.testing.assert_allclose(np.squeeze(result), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.sampled(24)
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", MAPS)
def test_zeros_of_a_cotangent_ask_for_nothing(name: str, backend: str) -> None:
    """The roots of 0 and of negative numbers have no slope; where none of them is asked for, the others have theirs."""
    build, linear = MAPS[name]
    x = tg.vector("x")
    y = tg.sqrt(build(choice(x)) - 0.8)
    matrix, z = matrix_of(linear)
    cotangent = np.reshape(np.where(z > 0.8, np.linspace(1, 2, z.size), 0), np.shape(linear(POINT)))
    dy = tg.tensor("dy", shape=cotangent.shape)
    slopes = np.ravel(cotangent) * derivatives_of_choice(z - 0.8)[1]
    results = tg.function([x, dy], tg.vjp(y, [x], dy), backend=backend)(POINT, cotangent)
    np.testing.assert_allclose(np.squeeze(results), derivatives_of_choice(POINT)[1] * (matrix.T @ slopes), rtol=1e-12)
