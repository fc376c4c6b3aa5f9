"""Cases of `ops/nn/recurrent`: the equations of each kind of network, layers, directions, orders of axes."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

import tg
from tg.errors import ShapeError
from tg.ops.nn.recurrent import FAMILY
from tg.plugin.case import Case, any_dtype, f64
from tg_conformance.cases.family import HALVES, of_family, rounded_once


def _sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def _rnn(a: Any, b: Any, h: Any) -> Any:
    return (np.tanh(a + b),)


def _gru(a: Any, b: Any, h: Any) -> Any:
    (a_r, a_z, a_n), (b_r, b_z, b_n) = np.split(a, 3, -1), np.split(b, 3, -1)
    z = _sigmoid(a_z + b_z)
    return ((1 - z) * np.tanh(a_n + _sigmoid(a_r + b_r) * b_n) + z * h[0],)


def _lstm(a: Any, b: Any, h: Any) -> Any:
    i, f, g, o = np.split(a + b, 4, -1)
    c = _sigmoid(f) * h[1] + _sigmoid(i) * np.tanh(g)
    return _sigmoid(o) * np.tanh(c), c


STEPS: Final = {"rnn": (_rnn, 1), "gru": (_gru, 1), "lstm": (_lstm, 2)}


def _layer(kind: str, x: Any, w: Any, u: Any, b: Any = 0.0, d: Any = 0.0, begin: Any = None, *, way: int = 1) -> Any:
    """The results of all steps along the first axis, and the last states."""
    step, count = STEPS[kind]
    h = [np.zeros((*x.shape[1:-1], u.shape[-1]), x.dtype)] * count if begin is None else begin
    outputs = []
    for slices in x[::way]:
        h = step(slices @ w.T + b, h[0] @ u.T + d, h)
        outputs.append(h[0])
    return np.stack(outputs[::way]), h


def _equations(kind: str, gates: int) -> Case:
    """One layer with biases; values, gradients and the last states."""
    states = STEPS[kind][1]

    def network(x: Any, w: Any, u: Any, b: Any, d: Any, *h: Any) -> Any:
        begin = h[0][None] if states == 1 else tuple(v[None] for v in h)
        y, last = getattr(tg.nn, kind)(x, w, u, b, d, begin)
        return (y, *([last] if states == 1 else last))

    def oracle(x: Any, w: Any, u: Any, b: Any, d: Any, *h: Any) -> Any:
        y, last = _layer(kind, x, w, u, b, d, h)
        return (y, *(v[None] for v in last))

    return Case(
        network,
        [f64(4, "n", 3), f64(gates * 2, 3), f64(gates * 2, 2), f64(gates * 2), f64(gates * 2)]
        + [f64("n", 2) for _ in range(states)],
        name=kind,
        gradient=True,
        layouts=("C",),
        condition=lambda *_: (2000,) * (1 + states),
        oracle=oracle,
    )


def _both(kind: str, x: Any, w: Any, u: Any, v: Any) -> Any:
    """Two layers in both directions, their weights cut out of three arrays, along the second axis of x."""
    y = np.swapaxes(x, 0, 1)
    for weights in (w, v):
        y = np.concatenate(
            [_layer(kind, y, weights[k], u[k] * (2 if weights is v else 1), way=1 - 2 * k)[0] for k in (0, 1)], -1
        )
    return np.swapaxes(y, 0, 1)


def _deep(kind: str) -> Case:
    gates = {"rnn": 1, "gru": 3, "lstm": 4}[kind]
    return Case(
        lambda x, w, u, v: getattr(tg.nn, kind)(
            x, [w[0], w[1], v[0], v[1]], [u[0], u[1], 2 * u[0], 2 * u[1]], axis=1, bidirectional=True
        )[0],
        [f64(2, "n", 3), f64(2, gates * 2, 3), f64(2, gates * 2, 2), f64(2, gates * 2, 4)],
        name=f"{kind} in two layers and both directions",
        layouts=("C",),
        condition=lambda *_: 4000,
        oracle=lambda x, w, u, v: _both(kind, x, w, u, v),
    )


def _padded(kind: str) -> Case:
    """Both directions of sequences of other lengths: each as if it stood alone."""
    gates, counts = {"rnn": 1, "gru": 3, "lstm": 4}[kind], (3, 0, 4)

    def oracle(x: Any, w: Any, u: Any) -> Any:
        y = np.zeros((*x.shape[:-1], 4))
        for k, n in enumerate(counts):
            if n:
                ways = [_layer(kind, x[:n, k : k + 1], w[j], u[j], way=1 - 2 * j)[0] for j in (0, 1)]
                y[:n, k] = np.concatenate(ways, -1)[:, 0]
        return y

    return Case(
        lambda x, w, u: getattr(tg.nn, kind)(
            x, [w[0], w[1]], [u[0], u[1]], lengths=np.array(counts), bidirectional=True
        )[0],
        [f64(4, 3, 3), f64(2, gates * 2, 3), f64(2, gates * 2, 2)],
        name=f"{kind} of padded sequences",
        layouts=("C",),
        condition=lambda *_: 2000,
        oracle=oracle,
    )


WRITTEN: Final = (
    _equations("rnn", 1),
    _equations("gru", 3),
    _equations("lstm", 4),
    *map(_deep, ("rnn", "gru", "lstm")),
    *map(_padded, ("rnn", "gru", "lstm")),
    Case(
        lambda x, w, u: tg.nn.gru(x, w, u)[0],
        [any_dtype(4, 3), any_dtype(6, 3), any_dtype(6, 2)],
        name="gru of halves",
        dtypes=HALVES,
        layouts=("C",),
        static=(False,),
        accuracy=1,
        condition=lambda *_: 1,
        oracle=rounded_once(lambda x, w, u: (_layer("gru", x, w, u)[0],)),
    ),
    Case(
        lambda x, w, u: tg.nn.lstm(x, w, u)[0],
        [f64(4, 3, static=True), f64(8, 2, static=True), f64(8, 2, static=True)],
        name="weights for other inputs",
        raises=ShapeError,
    ),
)

CASES: Final = of_family(FAMILY.path, WRITTEN)
