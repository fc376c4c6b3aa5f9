"""The ways of a call that updates variables, each as something to interrupt and to look at afterwards.

Every way has variables that one call changes together: their values say how many calls have taken effect.
"""

from __future__ import annotations

import dataclasses
import threading
from typing import TYPE_CHECKING

import numpy as np

import tg
from tg import turns

if TYPE_CHECKING:
    from collections.abc import Callable

FEW, MANY = 5, 1 << 15  # elements; a value of so many is worth being overwritten


@dataclasses.dataclass
class Way:
    """One way: `call` takes effect once, `read` gives each variable as NumPy does."""

    call: Callable[[], object]
    read: Callable[[], list[np.ndarray]]  # of one moment
    steps: tuple[float, ...]  # what a call adds to each variable
    is_failing: bool = False  # every call raises a tg error, and changes nothing

    def effects(self) -> int:
        """How many calls have taken effect; an AssertionError where the variables do not agree on that."""
        values = self.read()
        counts = {float(x) / step for value, step in zip(values, self.steps, strict=True) for x in np.unique(value)}
        assert len(counts) == 1, f"torn: {[np.unique(v).tolist() for v in values]}"
        return int(counts.pop())

    def look(self, before: int) -> int:
        """See that no turn is left, and that a call has taken effect wholly or not at all; how many have now."""
        left = [turn for turn in turns.held() if turn.thread == threading.get_ident()]  # others are the pool's
        assert not left, "a turn is left"
        after = self.effects()
        assert after in ((before,) if self.is_failing else (before, before + 1)), (before, after)
        return after


def counter(backend):
    """One variable, a scalar."""
    n = tg.shared(0, "n")
    return Way(tg.function([], n, updates={n: n + 1}, backend=backend), lambda: [n.get_value()], (1,))


def pair(backend, length=FEW, **options):
    """Two variables, and an output that reads one."""
    a, b, x = tg.shared(np.zeros(length), "a"), tg.shared(np.zeros(length), "b"), tg.vector("x")
    f = tg.function([x], tg.sum(a), updates={a: a + x, b: b - 2.0 * x}, backend=backend, **options)
    given = np.ones(length)
    return Way(lambda: f(given), tg.function([], [a, b], backend=backend), (1, -2))


def keyword(backend):
    """The general way: arguments by name."""
    a, b, x = tg.shared(np.zeros(FEW), "a"), tg.shared(0, "b"), tg.vector("x")
    f = tg.function([x], [], updates={a: a + x, b: b + 3}, backend=backend)
    given = np.ones(FEW)
    return Way(lambda: f(x=given), tg.function([], [a, b], backend=backend), (1, 3))


def looping(backend, length=FEW):
    """Both variables are carries, one of a scan and one of a loop with a condition."""
    a, b, x = tg.shared(np.zeros(length), "a"), tg.shared(np.zeros(length), "b"), tg.vector("x")
    total, _ = tg.scan(lambda c, v: (c + v, None), a, x)
    _, left = tg.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] - 1.0), (0, b))
    f = tg.function([x], tg.sum(a), updates={a: total, b: left}, backend=backend)
    given = np.array([0.0, 2.0, 3.0])
    return Way(lambda: f(given), tg.function([], [a, b], backend=backend), (5, -3))


def failing_in_a_step(backend, length=MANY):
    """A check fails in the last step, with values lent."""
    a, b, x = tg.shared(np.zeros(length), "a"), tg.shared(np.zeros(length), "b"), tg.vector("x", "int64")
    c, _ = tg.scan(lambda c, k: ((c[0] + 1.0, c[1] + c[0][k]), None), (a, b), x)
    f = tg.function([x], [], updates={a: c[0], b: c[1]}, backend=backend)
    given = np.array([0, 1, length])

    def call():
        try:
            f(given)
        except tg.errors.BoundsError:
            return

    return Way(call, tg.function([], [a, b], backend=backend), (1, 1), is_failing=True)


def failing(backend, length=MANY):
    """A check fails when values are lent."""
    a, b, i = tg.shared(np.zeros(length), "a"), tg.shared(np.zeros(length), "b"), tg.scalar("i", dtype="int64")
    f = tg.function([i], [], updates={a: a + 1.0, b: b.at[i].add(a[i])}, backend=backend)

    def call():
        try:
            f(length)
        except tg.errors.BoundsError:
            return

    return Way(call, tg.function([], [a, b], backend=backend), (1, 1), is_failing=True)


def stored(backend):
    """`set_value`."""
    a = tg.shared(np.zeros(FEW), "a")
    return Way(lambda: a.set_value(a.get_value() + 1.0), lambda: [a.get_value()], (1,))


def patterns(backend, **options):
    """Each call needs a program that is not there yet."""
    a, b = tg.shared(np.zeros((FEW, FEW)), "a"), tg.shared(np.zeros(FEW), "b")

    def call():
        x = tg.matrix("x")
        f = tg.function([x], [], updates={a: a + x, b: b + tg.sum(x) / tg.size(x)}, backend=backend, **options)
        f.wait()
        f(np.ones((1, FEW)))

    return Way(call, tg.function([], [a, b], backend=backend), (1, 1))


def jitted(backend):
    """A function that compiles itself at the call, and one that updates with what it gives."""
    inner = pair(backend)

    def call():
        one = tg.jit(lambda x: x * x, backend=backend)(np.float64(1.0))
        assert one == 1.0
        inner.call()

    return dataclasses.replace(inner, call=call)


def lent(make, backend):
    """A way whose values are large enough to be overwritten, and are the backend's own."""
    way = make(backend, MANY)
    way.call()
    return way


QUICK = {
    "c, one scalar": lambda: counter("c"),
    "c, two vectors": lambda: pair("c"),
    "c, overwritten": lambda: lent(pair, "c"),
    "c, overwritten, failing": lambda: lent(failing, "c"),
    "c, general way": lambda: keyword("c"),
    "c, loops": lambda: looping("c"),
    "c, loops, overwritten": lambda: lent(looping, "c"),
    "c, a failing step": lambda: failing_in_a_step("c"),
    "numba, loops": lambda: looping("numba"),
    "numba, a failing step": lambda: failing_in_a_step("numba"),
    "torch, overwritten": lambda: lent(pair, "torch"),
    "perform, loops": lambda: looping("perform"),
    "numba, one scalar": lambda: counter("numba"),
    "numba, two vectors": lambda: pair("numba"),
    "perform, one scalar": lambda: counter("perform"),
    "perform, two vectors": lambda: pair("perform"),
    "perform, debug": lambda: pair("perform", mode="debug"),
    "set_value": lambda: stored("perform"),
}
SLOW = {
    "c, compiling": lambda: patterns("c"),
    "c, compiling in the background": lambda: patterns("c", compile="background"),
    "numba, compiling": lambda: patterns("numba"),
    "perform, compiling": lambda: patterns("perform"),
    "perform, jit": lambda: jitted("perform"),
    "c, jit": lambda: jitted("c"),
    "jax, two vectors": lambda: pair("jax"),
}
