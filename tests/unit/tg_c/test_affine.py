"""Sums that share what is summed, by options that C alone has."""

import numpy as np
import pytest

import tg
from tests.unit.native_backends.test_shared_sums import agree, density, normal, of_rows, watch_shared


def test_strict_accuracy_sums_what_is_written(monkeypatch):
    shared = watch_shared(monkeypatch)
    inputs, outputs = density()
    for accuracy, leaves in (("fast", True), ("strict", False)):
        shared.clear()
        tg.function(inputs, outputs, backend=tg.backend("c", accuracy=accuracy))
        assert bool(shared) == leaves


@pytest.mark.sampled(2)
@pytest.mark.parametrize("threads", [1, 2])
def test_rows_and_threads(threads):
    functions = of_rows(tg.backend("c", threads=threads))
    for shape in ((40, 3000), (1, 400_000)):
        agree(functions, 3 + normal(*shape), np.array(1.4))
