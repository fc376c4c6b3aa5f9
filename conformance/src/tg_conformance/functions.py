"""Cases of compiled functions: shared variables and updates, specialisation, donors of memory, calls in a row."""

from __future__ import annotations

import threading
from typing import Any, Final

import numpy as np

import tg
from tg.errors import BoundsError
from tg.plugin.case import Case, f32, f64, i64
from tg_conformance.cases.family import of_family


def counter(compile: Any) -> Any:
    """A shared counter: a call returns the old value and stores the new."""
    count = tg.shared(np.int64(0), name="count")
    step = compile([], count * 10, updates={count: count + 1})
    return step(), step(), step(), count.get_value()


def swapped(compile: Any, x: Any, y: Any) -> Any:
    """Two shared variables swapped in one call, and one updated with itself."""
    a, b, c = tg.shared(x), tg.shared(y), tg.shared(x + y)
    swap = compile([], a - b, updates={a: b, b: a, c: c})
    return swap(), swap(), a.get_value(), b.get_value(), c.get_value()


def not_committed(compile: Any, x: Any) -> Any:
    """An update is not stored when the call fails."""
    total, i = tg.shared(np.zeros(3)), tg.tensor("i", "int64", (None,))
    v = tg.constant(np.arange(3.0))
    step = compile([i], v[i], updates={total: total + 1})
    step(np.array([0, 1]))
    try:
        step(np.array([7]))
    except BoundsError:
        return total.get_value(), step(np.array([2])), total.get_value()
    return ()


def own_memory(compile: Any, x: Any) -> Any:
    """A returned shared value may be written without changing the variable, and a new value's source likewise."""
    mine = x.copy()
    state = tg.shared(mine)
    mine[:] = -1
    read = compile([], state)
    first = read()
    first[:] = 99
    step = compile([], state * 2, updates={state: state + 1})
    second = step()
    second[:] = 77
    return read(), state.get_value(), step()


def lengths_in_a_row(compile: Any, x: Any, y: Any) -> Any:
    """One function for lengths that are 1 or not, in any order."""
    a, b = tg.matrix("a"), tg.matrix("b")
    g = tg.grad(tg.sum(a * b), [a, b])
    f = compile([a, b], (a * b, *g))
    calls = [f(x, y), f(x[:1], y), f(x, y[:, :1]), f(x[:1], y[:, :1]), f(x[:1, :1], y[:1]), f(x, y)]
    return tuple(one for results in calls for one in results)


def lengths_in_a_row_oracle(x: Any, y: Any) -> Any:
    """The same with NumPy."""
    results: list[Any] = []
    for a, b in ((x, y), (x[:1], y), (x, y[:, :1]), (x[:1], y[:, :1]), (x[:1, :1], y[:1]), (x, y)):
        z = np.ones(np.broadcast_shapes(a.shape, b.shape))
        results += [a * b, reduced(z * b, a.shape), reduced(z * a, b.shape)]
    return tuple(results)


def reduced(x: Any, shape: tuple[int, ...]) -> Any:
    """The sum over the axes along which an array of a shape was repeated."""
    return np.sum(x, tuple(k for k, n in enumerate(shape) if n == 1 and x.shape[k] != 1), keepdims=True).reshape(shape)


def many_threads(compile: Any, x: Any) -> Any:
    """Eight threads call one function with inputs of their own."""
    v = tg.vector("v")
    f = compile([v], tg.cumsum(tg.exp(-v) * v) + tg.sum(v))
    wrong: list[int] = []

    def work(k: int) -> None:
        mine = x * k
        want = np.cumsum(np.exp(-mine) * mine) + np.sum(mine)
        wrong.extend(k for _ in range(25) if not np.allclose(f(mine), want, rtol=1e-9, atol=1e-9))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return np.array(len(wrong))


def same_result_again(compile: Any, x: Any) -> Any:
    """Results of earlier calls stay as they were."""
    v = tg.tensor("v", "float32", (None, None))
    f = compile([v], (v * 2, tg.sum(v, 0), v[::-1]))
    first = f(x)
    second = f(x + 1)
    third = f(x[:2])
    return (*first, *second, *third)


def all_at_once(compile: Any, x: Any, i: Any) -> Any:
    """Outputs, an update and a gather of a shared table in one function."""
    table, k, v = tg.shared(x), tg.tensor("k", "int64", (None,)), tg.vector("v")
    step = compile([k, v], {"rows": table[k], "total": tg.sum(table)}, updates={table: table.at[k].add(v)})
    before = step(i, np.ones(len(i)))
    after = step(i, np.zeros(len(i)))
    return before["rows"], before["total"], after["rows"], after["total"], table.get_value()


def all_at_once_oracle(x: Any, i: Any) -> Any:
    """The same with NumPy."""
    y = x.copy()
    np.add.at(y, i, 1.0)
    return x[i], np.sum(x), y[i], np.sum(y), y


POSITIONS: Final = i64(values=lambda rng, dtype, shape: np.array([0, 2, -1, 2]))

WRITTEN: Final = (
    Case(counter, [], name="updates", script=True, oracle=lambda: (0, 10, 20, 3)),
    Case(
        swapped,
        [f64("n"), f64("n")],
        name="shared variables swapped",
        script=True,
        traps=("T47",),
        oracle=lambda x, y: (x - y, y - x, x, y, x + y),
    ),
    Case(
        not_committed,
        [f64("n")],
        name="nothing is stored after an error",
        script=True,
        oracle=lambda x: (np.ones(3), np.array([2.0]), np.full(3, 2.0)),
    ),
    Case(
        own_memory,
        [f64("n")],
        name="shared values are nobody's to write",
        script=True,
        traps=("T43",),
        oracle=lambda x: (x + 1, x + 1, 2 * x + 2),
    ),
    Case(
        lengths_in_a_row,
        [f64("n", "m"), f64("n", "m")],
        name="lengths of 1 in a row",
        script=True,
        traps=("T37",),
        accuracy=64,
        oracle=lengths_in_a_row_oracle,
    ),
    Case(many_threads, [f64("n")], name="eight threads", script=True, traps=("T81",), oracle=lambda x: 0),
    Case(
        same_result_again,
        [f32("n", "m", low=0.5)],
        name="results of earlier calls",
        script=True,
        traps=("T43",),
        accuracy=16,
        oracle=lambda x: (
            2 * x,
            x.sum(0),
            x[::-1],
            2 * (x + 1),
            (x + 1).sum(0),
            x[::-1] + 1,
            2 * x[:2],
            x[:2].sum(0),
            x[1::-1],
        ),
    ),
    Case(
        all_at_once,
        [f64("n"), POSITIONS],
        name="an update by positions",
        script=True,
        accuracy=64,
        oracle=all_at_once_oracle,
    ),
)

CASES: Final = of_family("functions", WRITTEN)
