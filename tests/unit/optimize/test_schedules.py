"""Schedules beside those of optax, at every step, and PyTorch's where it has them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import tg
from tg.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

STEPS = np.arange(60)

CASES: dict[str, tuple[Any, ...]] = {
    "constant_schedule": (0.3,),
    "linear_schedule": (0.1, 1.0, 20, 5),
    "polynomial_schedule": (1.0, 0.1, 3.0, 30, 7),
    "exponential_decay": (1.0, 10, 0.5, 3),
    "cosine_decay_schedule": (0.7, 40, 0.1, 2.0),
    "warmup_cosine_decay_schedule": (0.0, 1.0, 10, 50, 0.05, 1.5),
    "piecewise_constant_schedule": (1.0, {10: 0.5, 30: 0.1}),
    "cosine_onecycle_schedule": (50, 2.0, 0.2, 10.0, 100.0),
    "linear_onecycle_schedule": (50, 2.0, 0.2, 0.7, 10.0, 100.0),
}


def of_optax(make: Callable[[Any], Any]) -> Any:
    jax, optax = pytest.importorskip("jax"), pytest.importorskip("optax")
    with jax.enable_x64(True):
        schedule = make(optax)
        return np.array([float(schedule(jax.numpy.asarray(k))) for k in STEPS])


@pytest.mark.parametrize("name", CASES)
def test_each_step_is_that_of_optax(name: str) -> None:
    found = getattr(tg.optimize, name)(*CASES[name])(STEPS).eval()
    np.testing.assert_allclose(found, of_optax(lambda o: getattr(o, name)(*CASES[name])), rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("end", [0.2, None])
def test_staircases_and_ends_of_exponential_decay_are_those_of_optax(end: float | None) -> None:
    found = tg.optimize.exponential_decay(1.0, 10, 0.6, 4, staircase=True, end_value=end)(STEPS).eval()
    want = of_optax(lambda o: o.exponential_decay(1.0, 10, 0.6, 4, staircase=True, end_value=end))
    np.testing.assert_allclose(found, want, rtol=1e-6)


def test_what_grows_ends_above() -> None:
    found = tg.optimize.exponential_decay(1.0, 10, 2.0, end_value=4.0)(STEPS).eval()
    np.testing.assert_allclose(found, np.minimum(2.0 ** (STEPS / 10), 4.0), rtol=1e-12)


def test_schedules_that_are_joined_are_those_of_optax() -> None:
    def make(o: Any) -> Any:
        return o.join_schedules([o.linear_schedule(0.0, 1.0, 10), o.cosine_decay_schedule(1.0, 20)], [12])

    np.testing.assert_allclose(make(tg.optimize)(STEPS).eval(), of_optax(make), rtol=1e-6, atol=1e-12)


def test_schedules_of_torch() -> None:
    torch = pytest.importorskip("torch")
    cases = {
        "StepLR": ({"step_size": 7, "gamma": 0.5}, tg.optimize.exponential_decay(0.8, 7, 0.5, staircase=True)),
        "CosineAnnealingLR": ({"T_max": 60, "eta_min": 0.08}, tg.optimize.cosine_decay_schedule(0.8, 60, 0.1)),
        "MultiStepLR": (
            {"milestones": [9, 20], "gamma": 0.3},
            tg.optimize.piecewise_constant_schedule(0.8, {9: 0.3, 20: 0.3}),
        ),
    }
    for name, (options, schedule) in cases.items():
        optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.8)
        its = getattr(torch.optim.lr_scheduler, name)(optimizer, **options)
        want = []
        for _ in STEPS:
            want.append(optimizer.param_groups[0]["lr"])
            optimizer.step()
            its.step()
        np.testing.assert_allclose(schedule(STEPS).eval(), want, rtol=1e-9, atol=1e-15, err_msg=name)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda o: o.linear_schedule(0.0, 1.0, 0), "transition_steps: found 0"),
        (lambda o: o.linear_schedule(0.0, 1.0, 10, -1), "transition_begin: found -1"),
        (lambda o: o.cosine_decay_schedule(1.0, 2.5), "decay_steps: found 2.5"),
        (lambda o: o.warmup_cosine_decay_schedule(0.0, 1.0, 10, 10), "decay_steps: found 10"),
        (lambda o: o.piecewise_constant_schedule(1.0, {0: 0.5}), "found boundaries [0]"),
        (lambda o: o.piecewise_constant_schedule(1.0, [1, 2]), "boundaries_and_scales: found [1, 2], needed a dict"),
        (lambda o: o.cosine_decay_schedule("a", 10), "cosine_decay_schedule: init_value: found 'a', needed a number"),
        (lambda o: o.exponential_decay(0.1, 10, None), "decay_rate: found None"),
        (lambda o: o.join_schedules([0.1, 0.2], [3]), "join_schedules: found 0.1, needed a schedule"),
        (lambda o: o.join_schedules([o.constant_schedule(1.0)], [3]), "1 boundaries for 1 schedules"),
        (lambda o: o.cosine_onecycle_schedule(3, 1.0, 0.1), "found boundaries [0, 3]"),
    ],
)
def test_what_is_refused(make: Any, text: str) -> None:
    with pytest.raises(InputError) as refused:
        make(tg.optimize)
    assert text in str(refused.value)
