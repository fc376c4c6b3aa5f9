"""The reduction of additions.toml beside NumPy: values and gradients on the backends that combine by any function."""

import numpy as np

import tg
from tg.ops import reductions

x = tg.matrix("x")
y = reductions.HYPOTENUSE(x, axis=1)  # type: ignore[attr-defined]  # of the scratch clone
a = np.arange(1.0, 13.0).reshape(3, 4)
norms = np.linalg.norm(a, axis=1)
for backend in ("perform", "c", "numba"):
    value, slope = tg.function([x], [y, tg.grad(tg.sum(y), x)], backend=backend)(a)
    np.testing.assert_allclose(value, norms, rtol=1e-15)
    np.testing.assert_allclose(slope, a / norms[:, None], rtol=1e-15)
