"""The scale of a loss: torch's scaler beside it, steps that are left out, and what is kept."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tg
from tg.errors import InputError, NonFiniteError, NotDifferentiable

BACKENDS = [one.name for one in tg.plugin.registry().backends() if one.is_available]


def built(**options: Any) -> tuple[Any, Any, Any, Any]:
    """A step of a loss in halves, its weight, what moves, and the loss."""
    x, w = tg.scalar("x", "float16"), tg.shared(np.float32(1), "w")
    loss = (w.astype("float16") * x).astype("float32")
    updates = tg.optimize.loss_scaled(
        loss, w, lambda g: tg.optimize.adam(None, w, learning_rate=0.1, gradients=g), **options
    )
    return tg.function([x], loss, updates=updates), w, tg.optimize.state(updates), loss


def test_scales_and_parameters_are_those_of_torch_s_scaler():
    torch = pytest.importorskip("torch")
    options = {"init_scale": 2.0**14, "growth_factor": 4.0, "backoff_factor": 0.25, "growth_interval": 3}
    step, w, state, _ = built(**options)
    v = torch.tensor(1.0, requires_grad=True)
    optimizer = torch.optim.Adam([v], lr=0.1)
    scaler = torch.amp.GradScaler("cpu", **options)
    for value in (0.5, 8.0, 1.0, 0.25, 1.0, 1.0, 1e-7, 2.0, 30.0, 3.0, 0.5, 0.5, 0.5):
        step(np.float16(value))
        optimizer.zero_grad()
        scaler.scale((v.half() * torch.tensor(value, dtype=torch.float16)).float()).backward()
        scaler.step(optimizer)
        scaler.update()
        assert state["loss_scaled: scale"].get_value() == scaler.get_scale()
        np.testing.assert_allclose(w.get_value(), v.item(), rtol=1e-6)


def test_a_step_that_is_not_finite_leaves_all_but_the_scale_as_it_was():
    step, _, state, _ = built()
    step(np.float16(0.25))  # 65536 is no half
    before = {name: v.get_value() for name, v in state.items()}
    step(np.float16(np.inf))
    after = {name: v.get_value() for name, v in state.items()}
    assert before.pop("loss_scaled: scale") == 2 * after.pop("loss_scaled: scale")
    assert before == after


def test_the_scale_stays_between_1_and_what_is_finite():
    step, _, state, _ = built(init_scale=2.0)
    step(np.float16(np.nan))
    assert state["loss_scaled: scale"].get_value() == 1
    w = tg.shared(np.float32(1), "w")
    updates = tg.optimize.loss_scaled(w * 1e-30, w, lambda g: {}, init_scale=3e38, growth_interval=1)
    tg.function([], [], updates=updates)()
    assert tg.optimize.state(updates)["loss_scaled: scale"].get_value() == np.float32(3e38)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_gradient_that_is_not_finite_at_the_least_scale_is_an_error_that_shows_it(backend):
    x, w = tg.scalar("x", "float16"), tg.shared(np.float32(1), "w")
    loss = (w.astype("float16") * x).astype("float32")
    updates = tg.optimize.loss_scaled(
        loss, w, lambda g: tg.optimize.sgd(None, w, learning_rate=0.1, gradients=g), init_scale=2.0
    )
    step = tg.function([x], loss, updates=updates, backend=backend)
    step(np.float16(np.inf))
    before = {name: v.get_value() for name, v in tg.optimize.state(updates).items()}
    with pytest.raises(NonFiniteError, match="scale: found 1 and a gradient that is not finite"):
        step(np.float16(np.inf))
    assert before == {name: v.get_value() for name, v in tg.optimize.state(updates).items()}
    step(np.float16(1))
    np.testing.assert_allclose(w.get_value(), 0.9)


def test_a_small_gradient_of_a_half_is_not_lost():
    x, w = tg.scalar("x", "float16"), tg.shared(np.float32(1), "w")
    loss = (w.astype("float16") * x).astype("float32") * 1e-6
    plain = tg.grad(loss, w)
    assert plain.eval({x: np.float16(0.001)}) == 0
    kept = []
    updates = tg.optimize.loss_scaled(loss, w, lambda g: kept.append(g) or {})
    g = tg.function([x], kept[0], updates=updates)(np.float16(0.001))
    np.testing.assert_allclose(g, 1e-9, rtol=2e-2)


def test_what_the_loss_stores_itself_is_stored_in_every_step():
    stream = tg.random.RandomStream(3)
    w = tg.shared(np.float32(1), "w")
    loss = w * stream.uniform(size=()).astype("float32") * np.float32(np.inf)
    updates = tg.optimize.loss_scaled(
        loss, w, lambda g: tg.optimize.sgd(None, w, learning_rate=0.1, gradients=g), init_scale=4.0
    )
    step = tg.function([], [loss, w], updates=updates)
    step()
    (key,) = [v for v in updates if v.type.dtype == "uint32"]
    before = key.get_value()
    step()
    assert (before != key.get_value()).any()
    assert w.get_value() == 1


def test_mistakes_are_told():
    w = tg.shared(np.float32(1), "w")
    for options, text in (
        ({"growth_factor": 1.0}, "growth_factor: found 1.0, needed a number above 1"),
        ({"backoff_factor": 2}, "backoff_factor: found 2, needed a number between 0 and 1"),
        ({"init_scale": 0}, "init_scale: found 0, needed a positive finite number"),
        ({"growth_interval": 2.5}, "growth_interval: found 2.5, needed a positive integer"),
    ):
        with pytest.raises(InputError, match=text):
            tg.optimize.loss_scaled(w, w, lambda g: {}, **options)
    with pytest.raises(NotDifferentiable, match="loss_scaled"):
        tg.optimize.loss_scaled(tg.stack([w, w]), w, lambda g: {})


@pytest.mark.parametrize("backend", BACKENDS)
def test_every_backend_moves_scale_and_weights_alike(backend):
    x, w = tg.vector("x", "float16", shape=(4,)), tg.shared(np.ones(4, "float32"), "w")
    loss = tg.mean(tg.square(w.astype("float16") * x)).astype("float32")
    updates = tg.optimize.loss_scaled(
        loss, w, lambda g: tg.optimize.adam(None, w, learning_rate=0.1, gradients=g), growth_interval=2
    )
    step = tg.function([x], loss, updates=updates, backend=backend)
    scale, scales = tg.optimize.state(updates)["loss_scaled: scale"], []
    for value in (1, 60, 200, 1, 1, 1, 0.5):
        step(np.full(4, value, "float16"))
        scales.append(float(scale.get_value()))
    assert scales == [2.0**15, 2.0**14, 2.0**13, 2.0**13, 2.0**14, 2.0**14, 2.0**15]
    np.testing.assert_allclose(w.get_value(), 0.6146625, rtol=1e-3)  # four steps of Adam, in halves
