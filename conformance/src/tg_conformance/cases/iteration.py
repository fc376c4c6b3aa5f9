"""Cases of `ops/iteration`: loops and branches against Python's own, of every kind of carry, nested, empty, failing."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Final

import numpy as np

import tg
from tg.errors import BoundsError, ShapeError
from tg.ops.iteration import FAMILY
from tg.plugin.case import Case, any_dtype, f32, f64, fixed, i64
from tg_conformance.cases.family import of_family

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

LENGTHS: Final = (0, 1, 2, 7)
KINDS: Final = ("bool", "int8", "uint8", "int64", "float32", "float64", "complex128")
STATIC: Final = ("C", "F", "strided", "reversed", "readonly", "one", "empty")


def steps(f: Callable[..., Any], carry: Any, xs: Any = None, length: Any = None, *, reverse: bool = False) -> Any:
    """The carry and a list of the results of `carry, y = f(carry, x)` for the slices of `xs`, in a loop of Python's."""
    count, ys = len(xs) if xs is not None else int(length), []
    for t in reversed(range(count)) if reverse else range(count):
        carry, y = f(carry, None if xs is None else xs[t])
        ys.append(y)
    return carry, ys[::-1] if reverse else ys


def stacked(results: list[Any], shape: tuple[int, ...], dtype: Any) -> Any:
    """Results of steps as one array, also where there are none."""
    return np.array(results, dtype).reshape(len(results), *shape)


# --- steps that cases share: they read alike in tg and NumPy ---------------------------------------------------------


def leaky(c: Any, v: Any) -> Any:
    """A carry that forgets, and its square."""
    after = c * 0.5 + v
    return after, after * after


def leaky_oracle(x: Any, *, reverse: bool = False) -> Any:
    """The same with NumPy, from 0.25."""
    c, ys = steps(leaky, x.dtype.type(0.25), x, reverse=reverse)
    return c, stacked(ys, (), x.dtype)


def two_carries(c: Any, v: Any) -> Any:
    """Carries that change places."""
    return {"a": c["b"] + v, "b": c["a"]}, (c["a"], v)


def two_oracle(x: Any) -> Any:
    """The same with NumPy."""
    one = x.dtype.type(1)
    c, ys = steps(two_carries, {"a": one, "b": x.dtype.type(0)}, x)
    return c["a"], c["b"], stacked([y[0] for y in ys], (), x.dtype), x


def two_with_tg(x: Any) -> Any:
    """A dict as carry, a pair as result."""
    c, ys = tg.scan(two_carries, {"a": tg.constant(1.0), "b": tg.constant(0.0)}, x)
    return c["a"], c["b"], *ys


def logistic(x: Any) -> Any:
    """An array as carry, with a reduction and a captured array in the step."""
    return tg.scan(lambda c, v: (tg.tanh(c + v * tg.sum(c)), tg.sum(c * v)), x[0] * 0 + 0.5, x)


def logistic_oracle(x: Any) -> Any:
    """The same with NumPy."""
    c, ys = steps(lambda c, v: (np.tanh(c + v * np.sum(c)), np.sum(c * v)), x[0] * 0 + 0.5, x)
    return c, stacked(ys, (), x.dtype)


def recurrent(w: Any, h: Any, x: Any) -> Any:
    """A recurrent network."""
    return tg.scan(lambda c, v: (tg.tanh(w @ c + v), tg.sum(c)), h, x, reverse=True)


def recurrent_oracle(w: Any, h: Any, x: Any) -> Any:
    """The same with NumPy."""
    c, ys = steps(lambda c, v: (np.tanh(w @ c + v), np.sum(c)), h, x, reverse=True)
    return c, stacked(ys, (), x.dtype)


def newton_oracle(x: Any, most: int = 60) -> Any:
    """The root of x by Newton's steps."""
    c = x * 0 + 1
    for _ in range(most):
        if not abs(c * c - x) > 1e-9:
            break
        c = 0.5 * (c + x / c)
    return c


# --- nested ----------------------------------------------------------------------------------------------------------


def three_deep(x: Any) -> Any:
    """Sums of products of three elements, the first two loops' carries being captured by the third."""

    def third(a: Any, b: Any) -> Any:
        return tg.reduce(lambda c, w: c + tg.sin(a * b + w), x, 0.0)

    def second(a: Any) -> Any:
        return tg.reduce(lambda c, v: c + third(a, v), x, 0.0)

    return tg.reduce(lambda c, u: c + second(u), x, 0.0)


def three_deep_oracle(x: Any) -> Any:
    """The same with NumPy."""
    return np.sum(np.sin(x[:, None, None] * x[:, None] + x), dtype=x.dtype)


def scan_in_cond_in_while(x: Any, k: Any) -> Any:
    """A loop until a limit whose steps go one of two ways, each a loop over x."""

    def body(c: Any) -> Any:
        total = tg.cond(
            c[1] % 2 == 0,
            lambda u: tg.scan(lambda a, v: (tg.tanh(a + v), None), u, x)[0],
            lambda u: tg.scan(lambda a, v: (a * 0.5 - v, None), u, x, reverse=True)[0],
            c[0],
        )
        return total, c[1] + 1

    return tg.while_loop(lambda c: c[1] < k, body, (0.5, 0), max_steps=8)


def scan_in_cond_in_while_oracle(x: Any, k: Any) -> Any:
    """The same with Python."""
    a, n = x.dtype.type(0.5), np.int64(0)
    while n < min(k, 8):
        for v in x if n % 2 == 0 else x[::-1]:
            a = np.tanh(a + v) if n % 2 == 0 else a * 0.5 - v
        n += 1
    return a, n


# --- what there are several of ---------------------------------------------------------------------------------------


def kinds() -> Iterator[Case]:
    """Carries of each dtype, which change places with what is read."""
    for reverse in (False, True):
        yield Case(
            lambda x, r=reverse: tg.scan(
                lambda c, v: (c ^ v if c.type.dtype == "bool" else c + v, c), x[0], x, reverse=r
            ),
            [any_dtype("n")],
            name=f"scan of each dtype{' reversed' if reverse else ''}",
            dtypes=KINDS,
            layouts=("C", "strided", "reversed", "readonly", "one"),
            oracle=functools.partial(running, reverse=reverse),
            condition=lambda x: (np.sum(abs(x)) * len(x),) * 2,
        )
    for n in LENGTHS:
        yield Case(
            lambda x: tg.scan(leaky, 0.25, x),
            [f64(n)],
            name=f"scan of {n} steps",
            oracle=leaky_oracle,
            gradient=True,
            accuracy=16,
            traps=("T62",),
        )
        yield Case(
            lambda x, k, n=n: tg.scan(lambda c, _: (c * x, c + x), 1.0, None, k),
            [f64(low=0.5, high=1.5), fixed(n, "int64")],
            name=f"scan of a run-time number of steps, {n}",
            oracle=lambda x, k: (x ** int(k), np.array([x**t + x for t in range(int(k))])),
            gradient=True,
            accuracy=64,
            traps=("T62", "T65"),
        )
        yield Case(
            lambda k: (tg.fori_loop(2, k, lambda i, c: c * 3 + i, 1), tg.fori_loop(k, 2, lambda i, c: c * 3 + i, 1)),
            [fixed(n, "int64")],
            name=f"fori_loop to and from {n}",
            oracle=lambda k: (counted(2, k), counted(k, 2)),
        )
    for k in (-2, 0, 1, 2, 3):
        yield Case(
            lambda x, k: tg.switch(k, [tg.sum, lambda v: v[0] * v[-1], lambda v: tg.sum(v * v)], x),
            [f64(3), fixed(k, "int64")],
            name=f"switch at {k}",
            oracle=lambda x, k: [np.sum(x), x[0] * x[-1], np.sum(x * x)][min(max(int(k), 0), 2)],
            gradient=True,
            accuracy=16,
            condition=lambda x, k: np.sum(abs(x)) * 3 + np.sum(x * x),
        )


def running(x: Any, *, reverse: bool) -> Any:
    """Sums, or parities, from the first element on, and the carries before each step."""
    c, ys = steps(lambda c, v: ((c ^ v if x.dtype == bool else c + v).astype(x.dtype), c), x[0], x, reverse=reverse)
    return c, stacked(ys, (), x.dtype)


def counted(low: Any, high: Any) -> Any:
    """The result of `fori_loop` of `c * 3 + i`."""
    c = np.int64(1)
    for i in range(int(low), int(high)):
        c = c * 3 + i
    return c


def failing() -> Iterator[Case]:
    """Checks that fail in a step, in a condition, in a branch; and those that must not, since nothing runs there."""
    gathered: Any = lambda x, i: tg.scan(lambda c, k: (c + x[k], None), 0.0, i)[0]  # noqa: E731
    for name, values in (("first", [4, 1, 2]), ("last", [0, 1, -5])):
        yield Case(
            gathered,
            [f64(4), fixed(values, "int64")],
            name=f"scan with a check that fails in the {name} step",
            raises=BoundsError,
            static=(False,),
        )
    yield Case(
        gathered,
        [f64("n"), fixed(np.zeros(0, np.int64), "int64")],
        name="scan without steps and a check",
        oracle=lambda x, i: np.float64(0),
        layouts=("C", "empty"),
    )
    yield Case(
        lambda x: tg.scan(lambda c, _: (c + 1, x[c]), 0, None, 3),
        [f64(3)],
        name="an index that a carry is",
        oracle=lambda x: (np.int64(3), x),
        gradient=True,
    )
    yield Case(
        lambda x: tg.scan(lambda c, _: (c + 1, x[c]), 0, None, 4),
        [f64(3)],
        name="an index that a carry is, out of bounds in the last step",
        raises=BoundsError,
        static=(False,),
    )
    yield Case(
        lambda x: tg.while_loop(lambda c: x[c] > -9, lambda c: c + 1, 0),
        [f64(3)],
        name="a condition with a check that fails",
        raises=BoundsError,
        static=(False,),
    )
    yield Case(
        lambda x: tg.while_loop(lambda c: c[0] < 5, lambda c: (c[0] + 1, c[1] + x[c[0]]), (0, 0.0)),
        [f64(3)],
        name="while with a check that fails",
        raises=BoundsError,
        static=(False,),
    )
    looked: Any = lambda x, p: tg.cond(p, lambda v: v[7], lambda v: v[1] * v[1], x)  # noqa: E731
    yield Case(
        looked,
        [f64(3), fixed(True, "bool")],
        name="cond with a check that fails where it goes",
        raises=BoundsError,
        static=(False,),
    )
    yield Case(
        looked,
        [f64(3), fixed(False, "bool")],
        name="cond with a check that would fail where it does not go",
        oracle=lambda x, p: x[1] * x[1],
        gradient=True,
        static=(False,),
    )
    yield Case(
        lambda x, i: tg.map(lambda k: tg.cond(k < 3, lambda: x[k], lambda: x[0] * 0.5), i),
        [f64(3), fixed([0, 3, 2, 9], "int64")],
        name="a branch guards an index of each step",
        oracle=lambda x, i: np.array([x[k] if k < 3 else x[0] * 0.5 for k in i]),
        gradient=True,
        static=(False,),
    )
    yield Case(
        lambda x, y: tg.scan(lambda c, v: (c + v[0] * v[1], None), 0.0, (x, y))[0],
        [f64("n"), f64("m")],
        name="sequences of two lengths",
        raises=ShapeError,
        static=(False,),
    )
    yield Case(
        lambda x, k: tg.scan(lambda c, v: (c + v, None), 0.0, x, k)[0],
        [f64(3), fixed(4, "int64")],
        name="a length that is not the sequence's",
        raises=ShapeError,
        static=(False,),
    )
    yield Case(
        lambda x, k: tg.scan(lambda c, _: (c + x, c), 0.0, None, k)[1],
        [f64(), fixed(-1, "int64")],
        name="a negative number of steps",
        raises=ShapeError,
    )


WRITTEN: Final = (
    Case(
        lambda x: tg.scan(leaky, 0.25, x, reverse=True),
        [any_dtype("n")],
        name="scan in reverse",
        dtypes=("float32", "float64"),
        layouts=STATIC,
        oracle=functools.partial(leaky_oracle, reverse=True),
        condition=lambda x: (np.sum(abs(x)) + 1, (np.sum(abs(x)) + 1) ** 2),
        gradient=True,
    ),
    Case(two_with_tg, [f64("n")], name="scan of a dict that gives a pair", oracle=two_oracle, gradient=True),
    Case(
        logistic,
        [any_dtype("n", "m")],
        name="scan with an array as carry",
        dtypes=("float32", "float64"),
        layouts=("C", "F", "strided", "reversed", "one"),
        oracle=logistic_oracle,
        condition=lambda x: (np.full(x.shape[1:], 64.0 * x.size), np.full(len(x), 64.0 * x.size)),
        gradient=True,
    ),
    Case(
        recurrent,
        [f64("m", "m"), f64("m"), f64("n", "m")],
        name="a recurrent network",
        oracle=recurrent_oracle,
        condition=lambda w, h, x: (np.full(h.shape, 1e3), np.full(len(x), 1e3)),
        gradient=True,
    ),
    Case(
        lambda x, t: tg.hvp(tg.sum(tg.scan(lambda c, v: (c * v, None), 1.0, x)[0]), x, t),
        [fixed([0.5, -1.5, 2.0]), fixed([1.0, 0.25, -1.0])],
        name="product with the hessian of a product",
        accuracy=16,
        oracle=lambda x, t: np.array([[0, x[2], x[1]], [x[2], 0, x[0]], [x[1], x[0], 0]]) @ t,
        condition=lambda x, t: np.full(3, 4.0),
    ),
    Case(
        lambda x, y: tg.jacobian(tg.scan(lambda c, v: (c * y + v, c * y + v), 0.0, x)[1], x),
        [f64(4), f64()],
        name="jacobian of a recurrence",
        accuracy=16,
        oracle=lambda x, y: np.tril(y ** np.maximum(np.arange(4)[:, None] - np.arange(4), 0)),
    ),
    Case(
        lambda x, y, t: tg.jvp(tg.scan(lambda c, v: (c * y + v, c), 0.0, x)[0], [x, y], [t, y]),
        [f64("n"), f64(low=-1, high=1), f64("n")],
        name="tangents of a recurrence",
        accuracy=64,
        oracle=lambda x, y, t: (
            sum((t[k] + (len(x) - 1 - k) * x[k]) * y ** (len(x) - 1 - k) for k in range(len(x))) + np.float64(0)
        ),
        condition=lambda x, y, t: np.sum(abs(t)) + len(x) * np.sum(abs(x)),
    ),
    Case(
        lambda x, k: tg.scan(lambda c, v: (c + tg.sum(x[:k]) * v, None), 0.0, x)[0],
        [f64(6), fixed(4, "int64")],
        name="a length that is captured",
        oracle=lambda x, k: np.sum(x[: int(k)]) * np.sum(x),
        condition=lambda x, k: np.sum(abs(x)) ** 2,
        accuracy=16,
        gradient=True,
        static=(False,),
    ),
    Case(
        lambda x: tg.scan(lambda c, v: (c + v, v.shape[0] + c[0]), tg.zeros(x.shape[1]), x),
        [f64("n", 3)],
        name="a length of a slice",
        oracle=lambda x: (np.sum(x, 0), np.concatenate([np.zeros((1, 3)), np.cumsum(x, 0)])[:-1, 0] + 3),
        condition=lambda x: (np.sum(abs(x), 0) * len(x), np.full(len(x), 3.0 + np.sum(abs(x)) * len(x))),
        gradient=True,
    ),
    Case(
        lambda x, y: tg.scan(lambda c, v: (c, c * v), y, x),
        [f64("n"), f64()],
        name="a carry that stays as it is",
        oracle=lambda x, y: (y, x * y),
        gradient=True,
        traps=("T63",),
    ),
    Case(
        lambda x: tg.scan(lambda c, v: ((c[0] + v, c[1] * v), (c[1], c[0])), (0.0, 1.0), x)[1][1],
        [f64("n")],
        name="a carry and a result that nobody reads",
        oracle=lambda x: np.concatenate([[0.0], np.cumsum(x)])[:-1],
        condition=lambda x: np.full(len(x), len(x) * np.sum(abs(x))),
        gradient=True,
    ),
    Case(
        lambda x: (tg.scan(leaky, 0.25, x)[0], tg.scan(leaky, 1.0, x)[0]),
        [f64("n")],
        name="equal loops from other starts",
        oracle=lambda x: (steps(leaky, 0.25, x)[0], steps(leaky, 1.0, x)[0]),
        condition=lambda x: (np.sum(abs(x)) + 1,) * 2,
        gradient=True,
        traps=("T63",),
    ),
    Case(
        lambda x: tg.scan(lambda c, v: (c + v * 1j, c), 0.0, x),
        [f64("n")],
        name="a Python scalar that becomes complex",
        oracle=lambda x: (1j * np.sum(x), np.concatenate([[0], np.cumsum(x)])[:-1] * 1j),
        condition=lambda x: (len(x) * np.sum(abs(x)), np.full(len(x), len(x) * np.sum(abs(x)))),
    ),
    Case(
        lambda x: tg.scan(lambda c, v: (c + v, None), 0, x)[0],
        [f32("n")],
        name="a Python scalar that becomes float32",
        oracle=lambda x: np.sum(x, dtype=np.float32),
        condition=lambda x: len(x) * np.sum(abs(x)),
    ),
    Case(
        lambda x: tg.map(lambda v: (tg.sum(v), v[::-1]), x),
        [f64("n", "m")],
        name="map",
        layouts=("C", "F", "strided", "reversed", "broadcast", "empty", "one"),
        oracle=lambda x: (np.sum(x, 1), x[:, ::-1]),
        condition=lambda x: (np.sum(abs(x), 1), abs(x)),
        gradient=True,
    ),
    Case(
        lambda x: tg.reduce(tg.maximum, x, -1.0),
        [f64("n")],
        name="reduce",
        oracle=lambda x: np.max(x, initial=-1.0),
    ),
    Case(
        lambda x, y: tg.reduce(lambda c, m: m @ c, x, y),
        [f64("n", 3, 3, low=-1, high=1), f64(3)],
        name="reduce of products",
        oracle=lambda x, y: functools.reduce(lambda c, m: m @ c, x, y),
        condition=lambda x, y: functools.reduce(lambda c, m: abs(m) @ c, x, abs(y)),
        accuracy=64,
        gradient=True,
    ),
    Case(
        lambda x: tg.while_loop(
            lambda c: tg.absolute(c * c - x) > 1e-9, lambda c: 0.5 * (c + x / c), 1.0, max_steps=60
        ),
        [f64(low=0.5, high=3)],
        name="while to a root",
        oracle=newton_oracle,
        accuracy=64,
    ),
    Case(
        lambda x: tg.grad(
            tg.while_loop(lambda c: tg.absolute(c * c - x) > 1e-12, lambda c: 0.5 * (c + x / c), 1.0, max_steps=60), x
        ),
        [f64(low=0.5, high=3)],
        name="gradient of while to a root",
        oracle=lambda x: 0.5 / np.sqrt(x),
        accuracy=1e4,
    ),
    Case(
        lambda x, n: tg.while_loop(
            lambda c: c[0] < n, lambda c: (c[0] + 1, tg.tanh(c[1] * 1.5 + x)), (0, x), max_steps=9
        ),
        [f64("n", low=-0.25, high=0.25), fixed(4, "int64")],
        name="while with an array as carry",
        oracle=lambda x, n: (np.int64(4), functools.reduce(lambda c, _: np.tanh(c * 1.5 + x), range(4), x)),
        condition=lambda x, n: (1, np.full(x.shape, 8.0)),
        accuracy=16,
        gradient=True,
    ),
    Case(
        lambda x: tg.while_loop(lambda c: c[0] > 100, lambda c: (c[0] * 2, c[1] * 2), (0.0, x)),
        [f64("n")],
        name="while that makes no step",
        oracle=lambda x: (np.float64(0), x),
    ),
    Case(
        lambda k: tg.while_loop(
            lambda c: c[0] != 1, lambda c: (tg.where(c[0] % 2 == 0, c[0] // 2, 3 * c[0] + 1), c[1] + 1), (k, 0)
        ),
        [fixed(27, "int64")],
        name="the steps of Collatz",
        oracle=lambda k: (np.int64(1), np.int64(111)),
    ),
    Case(
        lambda x, p: tg.cond(p, lambda v: tg.sin(v) * v, lambda v: v * 0.5, x),
        [f64("n"), fixed(True, "bool")],
        name="cond of arrays",
        layouts=STATIC,
        oracle=lambda x, p: np.sin(x) * x,
        gradient=True,
    ),
    Case(
        lambda x, y: tg.cond(x > y, lambda: {"big": x, "diff": x - y}, lambda: {"big": y, "diff": y - x})["diff"],
        [f64(), f64()],
        name="cond of a dict, of what is captured",
        oracle=lambda x, y: abs(x - y),
        gradient=True,
    ),
    Case(
        lambda x: tg.map(lambda v: tg.cond(v > 0, lambda: v * v, lambda: -v), x),
        [f64("n")],
        name="cond in map",
        oracle=lambda x: np.where(x > 0, x * x, -x),
        gradient=True,
    ),
    Case(
        three_deep,
        [f64("n")],
        name="three loops deep",
        oracle=three_deep_oracle,
        gradient=True,
        accuracy=256,
        condition=lambda x: np.float64(len(x) ** 3),
    ),
    Case(
        scan_in_cond_in_while,
        [f64("n", low=-1, high=1), fixed(3, "int64")],
        name="scan in cond in while",
        oracle=scan_in_cond_in_while_oracle,
        condition=lambda x, k: (8.0 * (1 + np.sum(abs(x))), 1),
        accuracy=16,
        gradient=True,
    ),
    Case(
        lambda x: tg.scan(lambda c, v: (tg.sin(c) + v, tg.sum(c * c)), tg.zeros(20000) + x[0], x)[0][::4999],
        [f64(5)],
        name="a step with large arrays",
        oracle=lambda x: steps(lambda c, v: (np.sin(c) + v, None), np.full(5, x[0]), x)[0][:5],
        accuracy=16,
    ),
    Case(
        lambda x: tg.fori_loop(0, 100000, lambda i, c: c * 0.99 + x, 0.0),
        [f64()],
        name="a hundred thousand steps",
        oracle=lambda x: steps(lambda c, _: (c * 0.99 + x, None), np.float64(0), None, 100000)[0],
        accuracy=512,
    ),
    Case(
        lambda x, j: tg.scan(lambda c, v: (c.at[v].add(x), c[v]), tg.zeros(4), j),
        [f64(), i64("n", values=lambda rng, dtype, shape: rng.integers(0, 4, shape))],
        name="an array that each step changes at a place",
        oracle=lambda x, j: (
            np.bincount(j, minlength=4) * x,
            np.array([np.sum(j[:t] == k) for t, k in enumerate(j)]) * x,
        ),
        accuracy=64,
        gradient=True,
    ),
)

CASES: Final = of_family(FAMILY.path, kinds(), failing(), WRITTEN)
