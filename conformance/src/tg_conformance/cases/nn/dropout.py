"""Cases of `ops/nn/dropout`: masks bit for bit, channels in both layouts, keys that are missing."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

import tg
from tg.errors import InputError
from tg.ops.nn.dropout import FAMILY
from tg.plugin.case import Case, any_dtype, f64, fixed
from tg_conformance.cases.family import of_family
from tg_conformance.threefry import bits, number

KEY: Final = fixed([2718281828, 3141592653], "uint32")


def _mask(key: Any, shape: tuple[int, ...], p: float, dtype: Any = np.float64) -> Any:
    """A uniform number in the dtype is below 1 - p."""
    width, places = (64, 52) if dtype == np.float64 else (32, 23)
    whole = bits(number(key), shape, width) >> (width - places)
    return np.ldexp(whole.astype(np.float64), -places) < np.asarray(1 - p, dtype)


def _dropped(key: Any, x: Any, p: float, shape: tuple[int, ...] | None = None, dtype: Any = np.float64) -> Any:
    return np.where(_mask(key, shape or x.shape, p, dtype), x * (1 / (1 - p)), 0)


def _alpha(key: Any, x: Any, p: float) -> Any:
    least = -1.7580993408473766
    scale = ((1 - p) * (1 + p * least**2)) ** -0.5
    return np.where(_mask(key, x.shape, p), x, least) * scale - scale * least * p


WRITTEN: Final = (
    Case(
        lambda key, x: tg.nn.dropout(x, 0.3, key),
        [KEY, f64(7, "n")],
        name="dropout",
        gradient=True,
        oracle=lambda key, x: _dropped(key, x, 0.3),
    ),
    Case(
        lambda key, x: tg.nn.dropout(x, 0.3, key),
        [KEY, any_dtype(7, "n")],
        name="dropout of single precision and halves",
        dtypes=("float16", "bfloat16", "float32"),
        layouts=("C", "transposed"),
        oracle=lambda key, x: _dropped(key, x, 0.3, dtype=np.float32),
    ),
    Case(
        lambda key, x, p: tg.nn.dropout(x, p, key),
        [KEY, f64("n"), fixed(0.25)],
        name="dropout by a p of its own",
        oracle=lambda key, x, p: _dropped(key, x, 0.25),
    ),
    Case(
        lambda key, x: (tg.nn.dropout(x, 0.0, key), tg.nn.dropout(x, training=False), tg.nn.dropout(x, 1.0, key)),
        [KEY, fixed([1.0, np.inf, -2.0])],
        name="dropout of nothing and of all",
        oracle=lambda key, x: (x, x, np.zeros(3)),
    ),
    Case(
        lambda key, x: (
            tg.nn.dropout1d(x, 0.4, key),
            tg.nn.dropout1d(x[0], 0.4, key, layout="NWC"),
            tg.nn.dropout2d(x[:, :, None], 0.4, key),
            tg.nn.dropout2d(x, 0.4, key),
            tg.nn.dropout3d(x[:, :, None, None], 0.4, key, layout="NDHWC"),
        ),
        [KEY, f64(3, 4, 5)],
        name="dropout of channels",
        layouts=("C",),
        oracle=lambda key, x: (
            _dropped(key, x, 0.4, (3, 4, 1)),
            _dropped(key, x[0], 0.4, (1, 5)),
            _dropped(key, x, 0.4, (3, 4, 1))[:, :, None],
            _dropped(key, x, 0.4, (3, 1, 1)),
            _dropped(key, x[:, :, None, None], 0.4, (3, 1, 1, 1, 5)),
        ),
    ),
    Case(
        lambda key, x: tg.nn.alpha_dropout(x, 0.2, key),
        [KEY, f64("n")],
        name="alpha_dropout",
        gradient=True,
        condition=lambda key, x: 8,
        oracle=lambda key, x: _alpha(key, x, 0.2),
    ),
    Case(lambda x: tg.nn.dropout(x, 0.3), [f64(3)], name="dropout without a key", raises=InputError),
)

CASES: Final = of_family(FAMILY.path, WRITTEN)
