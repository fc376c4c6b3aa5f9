"""Cases of `ops/random/keys`: keys, and bits of every width, word for word."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

import tg
from tg.errors import ShapeError
from tg.ops.random.keys import FAMILY
from tg.plugin.case import Case, fixed, u32
from tg_conformance.cases.family import of_family
from tg_conformance.threefry import bits, number, threefry, words

KEY: Final = fixed([2718281828, 3141592653], "uint32")
SEEDS: Final = [42, -1, 1 << 40, -(1 << 63)]


def _keys(key: Any, count: int) -> Any:
    return np.array([words(threefry(number(key), k)) for k in range(count)], np.uint32)


WRITTEN: Final = (
    Case(
        lambda seeds: tuple(tg.random.key(seeds[k]) for k in range(len(SEEDS))),
        [fixed(SEEDS, "int64")],
        name="key",
        oracle=lambda seeds: tuple(np.array(words(int(s) & (1 << 64) - 1), np.uint32) for s in seeds),
    ),
    Case(
        lambda key, step: (
            tg.random.split(key),
            tg.random.split(key, (3, 2)),
            tg.random.fold_in(key, 7),
            tg.random.fold_in(key, step),
        ),
        [KEY, fixed(9, "int64")],
        name="split and fold_in",
        oracle=lambda key, step: (
            _keys(key, 2),
            _keys(key, 6).reshape(3, 2, 2),
            _keys(key, 8)[7],
            _keys(key, 10)[9],
        ),
    ),
    Case(
        lambda key, n: tuple(tg.random.bits(key, (n, 3), f"uint{w}") for w in (8, 16, 32, 64)),
        [KEY, fixed(41, "int64")],
        name="bits",
        oracle=lambda key, n: tuple(bits(number(key), (int(n), 3), w) for w in (8, 16, 32, 64)),
    ),
    Case(
        lambda key: (tg.random.bits(key, (40, 30))[7:9, ::7], tg.random.bits(key), tg.random.bits(key, (0, 3))),
        [KEY],
        name="bits of a slice",
        oracle=lambda key: (
            bits(number(key), (40, 30), 64)[7:9, ::7],
            bits(number(key), (), 64),
            np.zeros((0, 3), np.uint64),
        ),
    ),
    Case(
        tg.vmap(lambda key: tg.random.bits(key, (5,), "uint32")),
        [fixed([[0, 1], [2, 3], [0xFFFFFFFF, 0]], "uint32")],
        name="bits of a batch of keys",
        oracle=lambda keys: np.array([bits(number(key), (5,), 32) for key in keys]),
    ),
    Case(lambda key: tg.random.bits(key, (2,)), [u32(3)], name="bits of a key of three words", raises=ShapeError),
)

CASES: Final = of_family(FAMILY.path, WRITTEN)
