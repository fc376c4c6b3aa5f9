"""Random numbers: the oracle is JAX, with keys as tg has them."""

from __future__ import annotations

import pytest


@pytest.fixture
def jax():
    """JAX with 64 bits and the layout of counters that tg has."""
    import jax

    with jax.enable_x64(True), jax.threefry_partitionable(True):
        yield jax
