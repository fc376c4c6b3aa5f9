"""What PyTorch's own rewrites put in place of several ops."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import tg
from tg_torch.fused import AddMultiple, Fence, Relu, ReluGradient


def ops_of(f):
    return [type(node.op) for node in f.graph.nodes]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_step_of_an_optimiser_stores_no_products(dtype) -> None:
    p, speed, slope = (tg.tensor(name, dtype, (5, 4)) for name in ("p", "speed", "slope"))
    after = 0.9 * speed + slope
    f = tg.function([p, speed, slope], [after, p - 0.01 * after, 0.5 * speed - slope], backend="torch")
    assert ops_of(f).count(AddMultiple) == 2
    r = np.random.default_rng(0)
    arrays = [r.normal(size=(5, 4)).astype(dtype) for _ in range(3)]
    wanted = tg.function([p, speed, slope], [after, p - 0.01 * after, 0.5 * speed - slope], backend="perform")(*arrays)
    for a, b in zip(f(*arrays), wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=4 * np.finfo(dtype).eps, atol=np.finfo(dtype).eps)


def test_a_factor_that_may_overflow_stays() -> None:
    x, y = (tg.tensor(name, "float64", (3,)) for name in "xy")
    f = tg.function([x, y], x + 2.0 * y, backend="torch")
    assert AddMultiple not in ops_of(f)
    assert f(np.full(3, -1e308), np.full(3, 1.5e308)).tolist() == [np.inf] * 3


def test_lengths_that_differ_stay_a_product_and_a_sum() -> None:
    x, y = tg.tensor("x", "float64", (3, 4)), tg.tensor("y", "float64", (1, 4))
    f = tg.function([x, y], [x + 0.5 * y, y + 0.5 * x], backend="torch")
    assert AddMultiple not in ops_of(f)
    assert [a.shape for a in f(np.ones((3, 4)), np.ones((1, 4)))] == [(3, 4), (3, 4)]


def test_relu_is_one_pass_and_its_gradient_that_of_torch() -> None:
    x, dy = tg.matrix("x"), tg.matrix("dy")
    y = tg.relu(x)
    f = tg.function([x, dy], [y, tg.vjp(y, x, dy)], backend="torch")
    assert ops_of(f).count(Relu) == ops_of(f).count(ReluGradient) == 1
    values = np.array([[0.0, -0.0, np.nan, np.inf, -np.inf, 1.5, -2.0, 1e-300]] * 600)
    given = torch.from_numpy(values.copy()).requires_grad_()
    wanted = torch.relu(given)
    slopes = np.random.default_rng(0).normal(size=values.shape)
    wanted.backward(torch.from_numpy(slopes))
    for a, b in zip(f(values, slopes), (wanted.detach(), given.grad), strict=True):
        np.testing.assert_array_equal(a, b)


def test_what_few_conditions_let_through_is_not_copied_and_nothing_writes_into_it() -> None:
    x, c = tg.tensor("x", "float64", (3, 70)), tg.tensor("c", "bool", (3, 1))
    doubled = x * 2.0
    kept = tg.where(c, doubled, 0.0)
    outputs = [kept, tg.where(c, x, 0.0), kept + 1.0, doubled, tg.where(c[0, 0], doubled, 0.0)]
    f = tg.function([x, c], outputs, backend="torch")
    assert ops_of(f).count(Fence) == 3
    values = np.random.default_rng(0).normal(size=(3, 70))
    values[0, :3] = np.nan, np.inf, -0.0
    for conditions in ([True] * 3, [True, False, True], [False] * 3):
        given, holds = values.copy(), np.array(conditions)[:, None]
        found = f(given, holds)
        own = np.where(holds, values, 0.0)
        wanted = [2 * own, own, 2 * own + 1, 2 * values, 2 * values if conditions[0] else 0 * own]
        for a, b in zip(found, wanted, strict=True):
            np.testing.assert_array_equal(a, b)
            a[:] = 5.0
        np.testing.assert_array_equal(given, values)


def test_a_condition_that_few_elements_share_stays_a_choice() -> None:
    x, c = tg.tensor("x", "float64", (3, 4)), tg.tensor("c", "bool", (3, 1))
    f = tg.function([x, c], [tg.where(c, x, 0.0), tg.where(x < 1, x, 0.0), tg.where(c, x, 1.0)], backend="torch")
    assert Fence not in ops_of(f)
