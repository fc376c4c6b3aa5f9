"""Cases of `ops/loops`: the ops themselves, with results that the functions of `ops/iteration` do not give."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

import tg
from tg.graph.function_graph import freeze
from tg.graph.nodes import Variable
from tg.ops.loops import FAMILY, Cond, Scan, While
from tg.plugin.case import Case, f64, fixed
from tg.types.tensor_type import TensorType
from tg_conformance.cases.family import of_family


def powers(x: Any) -> Any:
    """While with traces: the powers of x below 8, and how many there are."""
    c, w = Variable(TensorType("float64")), Variable(TensorType("float64"))
    op = While(freeze([c, w], [c < 8]), freeze([c, w], [c * w, c]), 1, 5)
    return op(tg.constant(1.0), x)


def powers_oracle(x: Any) -> Any:
    """The same with Python."""
    c, carries = np.float64(1), np.zeros(5)
    for t in range(5):
        if not c < 8:
            return c, np.int64(t), carries
        c, carries[t] = c * x, c
    return c, np.int64(5), carries


def swapped(x: Any, y: Any) -> Any:
    """Scan whose carries change places and are traced twice, with a length that is known."""
    a, b = (Variable(TensorType("float64", (None,))) for _ in range(2))
    return Scan(freeze([a, b], [b, a, a, a]), 2, 0, 3)(x, y)


def empty_carries(x: Any) -> Any:
    """Scan without a carry, a sequence or anything captured."""
    v = Variable(TensorType("float64", (None,)))
    return Scan(freeze([v], [v * 2, v]), 0, 1, 4, True)(x)


def of_three(k: Any, x: Any) -> Any:
    """Cond of three graphs, one of which gives an operand as it is, one the same twice."""
    v = Variable(TensorType("float64", (None,)))
    graphs = (freeze([v], [v, v * 2]), freeze([v], [v + 1, v + 1]), freeze([v], [-v, v]))
    return Cond(graphs)(k, x)


WRITTEN: Final = (
    Case(powers, [fixed(1.5)], name="while with traces", oracle=powers_oracle, accuracy=8),
    Case(powers, [fixed(0.5)], name="while with traces that its limit ends", oracle=powers_oracle),
    Case(powers, [fixed(9.0)], name="while with traces, one step", oracle=powers_oracle),
    Case(
        lambda x: tg.grad(tg.sum(powers(x)[2]), x),
        [fixed(1.5)],
        name="gradient of while with traces",
        oracle=lambda x: 1 + 2 * x + 3 * x**2 + 4 * x**3,
        accuracy=16,
    ),
    Case(
        lambda x, t: tg.jvp(tg.sum(powers(x)[2]) + powers(x)[0], x, t),
        [fixed(9.0), fixed(2.0)],
        name="tangents of while with traces",
        oracle=lambda x, t: t,
    ),
    Case(
        swapped,
        [f64("n"), f64("n")],
        name="scan with equal traces",
        oracle=lambda x, y: (y, x, np.stack([x, y, x]), np.stack([x, y, x])),
        gradient=True,
        traps=("T66",),
    ),
    Case(
        empty_carries,
        [f64(4, "m")],
        name="scan without carries",
        layouts=("C", "F", "strided", "reversed", "broadcast", "readonly", "empty"),
        oracle=lambda x: (x * 2, x),
        gradient=True,
    ),
    *(
        Case(
            of_three,
            [fixed(k, "int64"), f64("n")],
            name=f"cond of three at {k}",
            oracle=lambda k, x: ((x, x * 2), (x + 1, x + 1), (-x, x))[min(max(int(k), 0), 2)],
            gradient=True,
        )
        for k in (-1, 0, 1, 2, 9)
    ),
)

CASES: Final = of_family(FAMILY.path, WRITTEN)
