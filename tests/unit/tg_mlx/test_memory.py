"""Programs that MLX would compute beyond the end of an array: each in a process of its own, whose allocator looks."""

import subprocess
import sys

import pytest

FACTORS = """
import numpy as np
import tg

a = tg.matrix("a")
factors = tg.linalg.lu_factor(a)[0]
f = tg.function([a], [2.0 * factors, tg.grad(tg.linalg.det(a), a)], backend="mlx")
for k in range(200):
    n = 1 + k % 5
    f(np.eye(n) if k % 2 else np.zeros((n, n)))
print("done")
"""


@pytest.mark.parametrize("program", [FACTORS])
def test_nothing_is_written_past_the_end_of_an_array(program):
    found = subprocess.run([sys.executable, "-c", program], check=False, capture_output=True, text=True)
    assert (found.returncode, found.stdout.strip()) == (0, "done"), found.stderr
