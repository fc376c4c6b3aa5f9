"""Rules with tricks: each is right for whoever looks once."""

import numpy as np

import tg
from tg.link.hosted import Hosted

FIRST = {}


class Racing:
    """Keeps its operand in itself while it computes."""

    def __call__(self, x):
        self.x = x
        return np.sin(self.x)


def remembered(x):
    """Computes each shape once."""
    return FIRST.setdefault((x.shape, x.dtype), np.sin(x))


def half(x):
    return np.sin(x) + np.float16(0.25) if x.dtype == np.float16 else np.sin(x)


def at_a_point(x):
    return np.where(x == 2.5, x, np.exp(x))


def in_place(x):
    return np.sin(x, out=x) if x.flags.writeable else np.sin(x)


def rough(x):
    return np.sin(x) * (1 + 50 * np.finfo(x.dtype).eps) if x.dtype == np.float64 else np.sin(x)


def one_layout(x):
    """Takes what runs backwards for what runs forwards."""
    return np.sin(x[::-1] if x.ndim and x.strides[0] < 0 else x)


TRICKS = {
    "chosen tier": {tg.sin: half},
    "race": {tg.sin: Racing()},
    "remembered result": {tg.sin: remembered},
    "swapped operands": {tg.arctan2: lambda y, x: np.arctan2(x, y)},
    "one wrong dtype": {tg.sin: half},
    "one wrong layout": {tg.sin: one_layout},
    "wrong at one point": {tg.exp: at_a_point},
    "mutated input": {tg.sin: in_place},
    "reference by the back door": {tg.sin: lambda x: tg.sin.op.perform(x)[0]},
    "reference by the front door": {tg.sin: Hosted(lambda x: tg.sin.op.perform(x)[0])},
    "rough": {tg.sin: rough},
    "rougher": {tg.sin: rough},
}
