"""What JAX cannot do is refused when compiling, at the user's line, with the reason."""

from __future__ import annotations

import pytest

import tg


def test_a_data_dependent_length_is_refused_at_the_line_of_the_mask() -> None:
    x, m = tg.vector("x"), tg.vector("m", dtype="bool")
    with pytest.raises(tg.NoRuleError, match=r"(?s)no lengths that depend on values.*test_gaps.py"):
        tg.function([x, m], x[m] * 2, backend="jax")


def test_a_stated_size_and_a_value_at_a_mask_compile() -> None:
    x, m = tg.vector("x"), tg.vector("m", dtype="bool")
    f = tg.function([x, m], [tg.nonzero(m, size=3, fill_value=-1)[0], x.at[m].set(0.0)], backend="jax")
    found, y = f([1.0, 2.0, 3.0], [False, True, True])
    assert found.tolist() == [1, 2, -1]
    assert y.tolist() == [1.0, 0.0, 0.0]
