"""Cases of `ops/sharding`: identities, whose derivatives are too; backends without a mesh have nothing to split."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

import tg
from tg.ops.sharding import FAMILY, Placement
from tg.plugin.case import Case, any_dtype, f64
from tg_conformance.cases.family import of_family

ALL: Final = ("bool", "int8", "uint8", "int64", "float16", "float32", "float64", "complex128")


def in_a_loop(x: Any) -> Any:
    """A value that is split in each step."""
    total, _ = tg.scan(lambda c, v: (tg.shard(c + v, "data"), None), tg.shard(x[0], "data"), x)
    return total


CASES: Final = of_family(
    FAMILY.path,
    Case(
        lambda x: tg.shard(x, "data", None),
        [any_dtype("n", "m")],
        name="shard",
        dtypes=ALL,
        oracle=lambda x: x,
    ),
    Case(
        lambda x: tg.sum(tg.shard(tg.shard(x, None, ("data", "model")) ** 2, "data", None), axis=-1),
        [f64("n", "m")],
        name="shard twice",
        oracle=lambda x: (x**2).sum(-1),
        gradient=True,
    ),
    Case(Placement((None, "data"), (1, 1)), [any_dtype("n", "m")], dtypes=ALL, oracle=lambda x: x),
    Case(
        Placement(("data",), (2,)),
        [f64("n", 4)],
        name="placement of a batch",
        oracle=lambda x: x,
        gradient=True,
    ),
    Case(
        lambda x: tg.stage(1, tg.exp(x)) * 2.0,
        [f64("n", "m")],
        name="stage",
        oracle=lambda x: 2.0 * np.exp(x),
        gradient=True,
    ),
    Case(in_a_loop, [f64("n", "m")], name="shard in a loop", oracle=lambda x: x[0] + x.sum(0)),
)
