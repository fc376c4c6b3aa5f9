"""The solvers: roots and their derivatives, orbits, flights, and the memory of gradients."""

from __future__ import annotations

import sys

import numpy as np
import pytest
import solvers

import tg
from tg.errors import NotDifferentiable

ANOMALIES = np.linspace(0.1, 6.0, 13)


@pytest.mark.parametrize("backend", ["perform", pytest.param("c", marks=pytest.mark.long)])
def test_roots_of_keplers_equation_and_their_derivatives_have_a_closed_form(backend):
    mean, e = tg.vector("mean"), tg.vector("e")
    root = solvers.eccentric_anomaly(mean, mean, e)
    f = tg.function([mean, e], [root, *tg.grad(tg.sum(root), [mean, e])], backend=backend)
    eccentric = np.full(13, 0.6)
    found, by_mean, by_e = f(ANOMALIES - 0.6 * np.sin(ANOMALIES), eccentric)
    np.testing.assert_allclose(found, ANOMALIES, rtol=1e-13)
    np.testing.assert_allclose(by_mean, 1 / (1 - 0.6 * np.cos(ANOMALIES)), rtol=1e-12)
    np.testing.assert_allclose(by_e, np.sin(ANOMALIES) / (1 - 0.6 * np.cos(ANOMALIES)), rtol=1e-11, atol=1e-13)


def test_a_root_of_an_equation_of_ones_own():
    cube_root = solvers.root_of(lambda x, a: x**3 - a)
    a = tg.vector("a")
    root = cube_root(tg.ones_like(a), a)
    f = tg.function([a], [root, tg.grad(tg.sum(root), a)], backend="perform")
    value, slope = f([8.0, 27.0])
    np.testing.assert_allclose(value, [2.0, 3.0], rtol=1e-14)
    np.testing.assert_allclose(slope, [1 / 12, 1 / 27], rtol=1e-13)


def test_by_gradient_of_the_plain_loop_there_is_none():
    x = tg.scalar("x")
    root = tg.while_loop(lambda c: c * c > 2.0, lambda c: (c + 2.0 / c) / 2, x)
    with pytest.raises(NotDifferentiable):
        tg.grad(root, x)


def test_the_fitted_orbit_is_that_which_made_the_velocities():
    data = solvers.measured()
    found, peer = solvers.fit_orbit("c", data), solvers.fit_orbit_by_hand(data)
    assert np.all(np.abs(found.theta - solvers.TRUTH) < 4 * found.errors)
    assert np.all(np.abs(found.theta - peer.theta) < 0.01 * found.errors)
    np.testing.assert_allclose(found.at_start[0], peer.at_start[0], rtol=1e-12)
    slopes = []
    for move in 1e-6 * np.eye(4):
        high, low = (
            solvers.velocities(v, data.mean_anomaly, np, solvers.newton_by_hand)
            for v in (solvers.START + move, solvers.START - move)
        )
        slopes.append(np.sum((low - high) / 2e-6 * (data.velocity - (high + low) / 2)) / solvers.NOISE**2)
    np.testing.assert_allclose(found.at_start[1:], slopes, rtol=1e-6)
    assert found.calls < peer.calls


@pytest.mark.long
def test_a_flight_ends_where_keplers_equation_says():
    exact = solvers.exact_place()
    anomaly = np.arccos(exact[0] + 0.6)  # of the first half: the planet is past aphelion where sin E < 0
    anomaly = anomaly if np.isclose(anomaly - 0.6 * np.sin(anomaly), 5.0) else 2 * np.pi - anomaly
    np.testing.assert_allclose(anomaly - 0.6 * np.sin(anomaly), 5.0, rtol=1e-12)
    found = solvers.fly("c", calls=1)
    np.testing.assert_allclose(found.place, exact, rtol=1e-7)
    np.testing.assert_allclose(found.place[0], exact[0], rtol=1e-8)
    assert 100 < found.steps < 200
    np.testing.assert_allclose(solvers.fly_scipy().place, exact, rtol=1e-7)


@pytest.mark.parametrize("every", [pytest.param(None, marks=pytest.mark.long), 7])
def test_the_gradient_of_the_oscillators_has_a_closed_form(every):
    found = solvers.measure("c", 400, 20, every)
    assert found.difference < 1e-7
    assert found.mebibytes < 8


def test_the_closed_form_is_a_solution():
    from scipy.integrate import solve_ivp

    w = 1.7
    found = solve_ivp(
        lambda t, s: [s[1], -0.2 * s[1] - w * w * s[0]], (0, solvers.END), [1.0, 0.0], rtol=1e-11, atol=1e-13
    )
    np.testing.assert_allclose(solvers.exact_energy(w), 0.5 * found.y[0, -1] ** 2, rtol=1e-8)
    near = [solvers.exact_energy(w + h) for h in (1e-6, -1e-6)]
    np.testing.assert_allclose(solvers.exact_gradient(w), (near[0] - near[1]) / 2e-6, rtol=1e-6)


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a peak cannot begin anew after compiling")
@pytest.mark.long
@pytest.mark.parametrize("backend", ["c", "numba"])
def test_checkpoints_take_the_memory_of_the_states_away(backend):
    kept, few = (solvers.in_process(backend, every, 400, 5000) for every in (None, 20))
    states = 2 * 8 * 400 * 5000 / 2**20
    assert kept.mebibytes < 1.3 * states  # where oscillators go a few at a time, next to nothing
    assert few.mebibytes < states / 4  # 40 of 400 states, and what a step takes
    assert max(kept.difference, few.difference) < 1e-7


@pytest.mark.long
def test_a_process_tells_why_it_has_no_result():
    assert "nothing" in solvers.in_process("nothing", None, 10, 10).error
