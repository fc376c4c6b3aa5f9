"""`odeint` on every backend: the same steps, states and derivatives."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import tg
from tg import plugin

R = tg.scalar("r", "float32")
TIMES = np.array([0.0, 0.5, 2.0])


@pytest.mark.parametrize("backend", [one.name for one in plugin.registry().backends() if one.is_available])
def test_backends_agree(backend):
    y0 = np.array([0.1, 0.3, 0.6], "float32")
    y, steps = tg.integrate.odeint(
        lambda t, y: R * y * (1 - y), y0, TIMES, method="RK23", rtol=1e-4, atol=1e-4, max_steps=64, full_output=True
    )
    f = tg.function([R], [y, tg.grad(tg.sum(y[-1]), R), *steps], backend=backend)
    states, slope, tried, accepted, reached = f(np.float32(1.5))
    grown = np.exp(1.5 * TIMES)[:, None]
    exact = y0 * grown / (1 - y0 + y0 * grown)
    np.testing.assert_allclose(states, exact, rtol=1e-3)
    np.testing.assert_allclose(slope, np.sum(2 * exact[-1] * (1 - exact[-1])), rtol=1e-3)
    other = solve_ivp(lambda t, y: 1.5 * y * (1 - y), (0, 2), y0, method="RK23", rtol=1e-4, atol=1e-4)
    assert int(tried) == int(accepted) == len(other.t) - 1
    assert reached
