"""The operations in PyTorch."""

import torch

from tg_sample.sample import LeakySum, squash


def leaky_sum(op, x):
    """Over distances that double: what is kept over a distance is squared each time."""
    step, keep = 1, op.keep
    while step < x.shape[-1]:
        x = torch.cat([x[..., :step], x[..., step:] + keep * x[..., :-step]], -1)
        step, keep = 2 * step, keep * keep
    return x


RULES = {squash: torch.nn.functional.softsign, LeakySum: leaky_sum}
