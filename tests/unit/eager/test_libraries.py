"""SciPy and scikit-learn, none of which knows tg, compute with eager arrays what they do with NumPy's."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import at_once
import pytest

ROOT = Path(__file__).parents[3]
BACKENDS = ["c", "perform", "numba", "jax", "torch", "mlx"]


@pytest.mark.long
@pytest.mark.parametrize("backend", BACKENDS)
def test_functions_and_estimators_have_the_results_of_numpys_arrays(backend) -> None:
    command = [sys.executable, "-W", "ignore", "-m", "tests.unit.eager.libraries", backend]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr[-3000:]
    *found, count = run.stdout.splitlines()
    assert found == []
    assert int(count) >= 90


@pytest.mark.long
@pytest.mark.parametrize("backend", BACKENDS)
def test_the_example_gives_what_numpy_does(backend) -> None:
    run = subprocess.run([sys.executable, at_once.__file__, backend], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr[-3000:]
    kind, components, regression, apart = run.stdout.splitlines()
    assert kind == f"Array of tg.eager({backend!r})"
    assert "73.8%" in components
    assert "51.3%" in regression
    assert float(apart.split()[-1]) < 1e-11
