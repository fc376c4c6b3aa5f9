"""Sums that share what is summed: one product is added in a round."""

import tg
from tests.unit.native_backends.test_shared_sums import density


def fused_sums(inputs, outputs):
    """How many products are added to sums in a full round."""
    source = tg.function(inputs, outputs, backend="numba").source()
    return source.count("@llvm.fma.") - source.count("declare")


def test_sums_that_differ_by_factors_and_terms_are_one():
    x, c = tg.vector("x"), tg.scalar("c")
    inputs, outputs = density()
    assert fused_sums(inputs, outputs) == fused_sums([x], [tg.sum(x * x)]) == 1
    assert fused_sums([x, c], [tg.sum(x * x - c)]) == 0
    assert fused_sums([x, c], [tg.sum(x - c), tg.sum(x)]) == 0
    assert fused_sums([x, c], [tg.sum(x * x - c), tg.sum(x * x)]) == 1
