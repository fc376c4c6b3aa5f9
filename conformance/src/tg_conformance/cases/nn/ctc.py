"""Cases of `ops/nn/ctc`: the sum over all paths, by writing them out; repetitions, short inputs, what is refused."""

from __future__ import annotations

import itertools
from typing import Any, Final

import numpy as np

import tg
from tg.errors import BoundsError, DomainError
from tg.ops.nn.ctc import FAMILY
from tg.plugin.case import Case, f64, fixed
from tg_conformance.cases.family import of_family

TARGETS: Final = [[1, 1], [2, 1], [2, 0], [1, 2]]
STEPS: Final = [4, 3, 4, 1]
LENGTHS: Final = [2, 2, 1, 2]


def becomes(path: tuple[int, ...]) -> list[int]:
    """The labels of a path: repetitions merged, then blanks dropped."""
    return [label for label, _ in itertools.groupby(path) if label != 0]


def losses(x: Any) -> Any:
    """-log of the probability of each sample's target, from all paths."""
    values = []
    for k, (target, steps, length) in enumerate(zip(TARGETS, STEPS, LENGTHS, strict=True)):
        paths = [p for p in itertools.product(range(3), repeat=steps) if becomes(p) == target[:length]]
        likely = sum((np.exp(sum(x[t, k, c] for t, c in enumerate(p))) for p in paths), start=x[0, 0, 0] * 0)
        values.append(-np.log(likely) if paths else likely)
    return np.array(values)


CASES: Final = of_family(
    FAMILY.path,
    Case(
        lambda x: tg.nn.ctc_loss(x, TARGETS, STEPS, LENGTHS, reduction="none", zero_infinity=True),
        [f64(4, 4, 3)],
        name="ctc_loss",
        layouts=("C", "transposed"),
        gradient=True,
        oracle=losses,
        condition=lambda x: np.full(4, 64.0),
    ),
    Case(
        lambda x, y, steps, lengths: (
            tg.nn.ctc_loss(x, y, steps, lengths, reduction="none"),
            tg.nn.ctc_loss(x, y, steps, lengths, zero_infinity=True),
        ),
        [f64(4, 4, 3), fixed(TARGETS, "int64"), fixed(STEPS, "int64"), fixed(LENGTHS, "int64")],
        name="ctc_loss of targets given at run time",
        layouts=("C",),
        oracle=lambda x, y, steps, lengths: (
            np.where(np.arange(4) < 3, losses(x), np.inf),
            np.mean(losses(x) / LENGTHS),
        ),
        condition=lambda x, y, steps, lengths: (np.full(4, 64.0), 64.0),
    ),
    Case(
        lambda x, y: tg.nn.ctc_loss(x, y, [3], [2]),
        [f64(3, 1, 3), fixed([[1, 3]], "int64")],
        name="ctc_loss of a label that is no class",
        layouts=("C",),
        raises=BoundsError,
    ),
    Case(
        lambda x, y: tg.nn.ctc_loss(x, y, [3], [2]),
        [f64(3, 1, 3), fixed([[1, 0]], "int64")],
        name="ctc_loss of a blank",
        layouts=("C",),
        raises=DomainError,
    ),
)
