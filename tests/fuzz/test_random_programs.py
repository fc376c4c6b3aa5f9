"""Random programs and their gradients mean the same however they are compiled, and as written what NumPy computes.

`make fuzz BACKEND=c GRAPHS=5000 SEED=0` compares as many as one likes.
"""

import pytest

from tests.fuzz.search import search
from tg import plugin


@pytest.mark.parametrize("seed", range(8))
def test_rewriting_keeps_the_meaning_on_the_reference(seed):
    assert search("perform", 50, seed).error is None


def available():
    return [one.name for one in plugin.registry().backends() if one.is_available and one.name != "perform"]


@pytest.mark.parametrize("backend", available())
def test_a_backend_gives_what_the_program_says(backend):
    graphs = {"c": 20}.get(backend, 4)
    assert search(backend, graphs, 1000).error is None
