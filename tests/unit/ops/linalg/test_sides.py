"""Square matrices of which one side is a number and the other a length: ops that a backend expands keep the number."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import tg
from tg import plugin

if TYPE_CHECKING:
    from collections.abc import Callable

BACKENDS = tuple(one.name for one in plugin.registry().backends() if one.is_available)
OF_MATRICES: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "inv": (tg.linalg.inv, np.linalg.inv),
    "det": (tg.linalg.det, np.linalg.det),
    "solve": (lambda a: tg.linalg.solve(a, a), lambda a: np.eye(len(a))),
    "cholesky": (lambda a: tg.linalg.cholesky(a @ a.T), lambda a: np.linalg.cholesky(a @ a.T)),
    "eigvalsh": (lambda a: tg.linalg.eigvalsh(a + a.T), lambda a: np.linalg.eigvalsh(a + a.T)),
    "matrix_power": (lambda a: tg.linalg.matrix_power(a, -2), lambda a: np.linalg.matrix_power(a, -2)),
    "pinv": (tg.linalg.pinv, np.linalg.pinv),
    "expm": (lambda a: tg.linalg.expm(a - a), lambda a: np.eye(len(a))),
}


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", OF_MATRICES)
@pytest.mark.parametrize("wide", [False, True], ids=["rows", "columns"])
def test_a_side_that_is_a_number(name: str, backend: str, *, wide: bool) -> None:
    x, w = tg.tensor("x", "float64", (4, None)), tg.tensor("w", "float64", (2, None))
    products = tg.kron(x, w)
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(4, 4)) + 4 * np.eye(4), rng.normal(size=(2, 2)) + 2 * np.eye(2)
    fn, expected = OF_MATRICES[name]
    found = tg.function([x, w], fn(products.T if wide else products), backend=backend, on_unused_input="ignore")(a, b)
    known = np.kron(a, b)
    np.testing.assert_allclose(found, expected(known.T if wide else known), rtol=1e-9, atol=1e-12)
