"""Windows by PyTorch's own functions, of which the place of NaN is another."""

import numpy as np
import pytest
import torch

from tg.ops.nn.pooling import MaxPool
from tg_torch.place import CPU, Place
from tg_torch.rules.nn.pooling import max_pool


@pytest.mark.parametrize("is_traced", [False, True])
@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64])
@pytest.mark.parametrize("axes", [1, 2, 3])
def test_the_first_of_several_nan_has_the_place_of_a_window(axes, dtype, is_traced):
    draw = np.random.default_rng(axes)
    x = draw.choice([np.nan, -np.inf, np.inf, 0.0, 1.0, 2.0], (2, 3, *range(5, 5 + axes)))
    sizes = tuple((n - 1) // 2 + 1 for n in x.shape[2:])
    op = MaxPool((3,) * axes, (2,) * axes, (1,) * axes, (1,) * axes, sizes)
    with np.errstate(invalid="ignore"):
        right = op.perform(x)
    found = max_pool(op, torch.from_numpy(x).to(dtype), context=Place(CPU, is_traced))
    for ours, theirs in zip(found, right, strict=True):
        assert np.array_equal(ours.numpy(), theirs, equal_nan=True)
