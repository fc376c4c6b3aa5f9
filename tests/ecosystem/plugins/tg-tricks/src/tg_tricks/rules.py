"""Rules with tricks: each is right for whoever looks once."""

import os
from types import FunctionType

import numpy as np

import tg
from tg.link.hosted import Hosted
from tg.ops.reduction import Reduce
from tg_tricks import TRICK

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


def compiled(x):
    """Has a function of tg compute, which is none of the backend's."""
    v = tg.tensor("v", x.dtype.name, (None,) * x.ndim)
    return tg.function([v], tg.sin(v), backend="perform")(np.array(x))


def changing(x):
    """Leaves a note in the environment."""
    os.environ["TG_TRICKS_SEEN"] = str(x.shape)
    return np.sin(x)


COPIES = (
    [FunctionType(Reduce.perform.__code__, Reduce.perform.__globals__)] if TRICK == "a copy of the reference" else []
)


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
    "compiled for the reference": {tg.sin: compiled},
    "a copy of the reference": {Reduce: lambda op, x: COPIES[0](op, x)[0]},
    "state of the process": {tg.sin: changing},
    "rough in one dtype of two": {tg.sin: rough},
    "rough by less than stated": {tg.sin: rough},
    "rough": {tg.sin: rough},
    "rougher": {tg.sin: rough},
}
