"""The operations on every backend that has them."""

import subprocess
import sys

import numpy as np
import pytest

import tg
from tg_sample.sample import leaky_sum, squash

BACKENDS = [one.name for one in tg.backends() if one.is_available and one.name in ("perform", "jax", "torch")]


@pytest.mark.parametrize("backend", BACKENDS)
def test_values(backend):
    x = tg.vector("x")
    f = tg.function([x], [leaky_sum(x, 0.5), squash(x)], backend=backend)
    summed, between = f([2.0, 1.0, -1.0])
    np.testing.assert_allclose(summed, [2.0, 2.0, 0.0], atol=1e-12)
    np.testing.assert_allclose(between, [2 / 3, 0.5, -0.5])


def test_derivatives_agree_with_differences():
    tg.check_grad(lambda x: leaky_sum(squash(x)), [[0.3, -1.2, 2.5]])


def test_a_scalar_has_no_axis_to_sum_along():
    with pytest.raises(tg.ShapeError, match="found a scalar"):
        leaky_sum(tg.scalar("x"))


def test_the_cases_pass_or_have_no_rule_as_declared():
    chosen = [word for one in tg.backends() if one.is_available for word in ("--backend", one.name)]
    command = [sys.executable, "-m", "tg.cli", "conformance", *chosen, "-n", "0", "-k", "sample:"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-4000:]
