"""More kinds of loops and steps than `loop_programs` has, each of which calls what tg has for it.

Carries and results of any structure and of narrow dtypes, keys and draws, updates of places, matrices, running and
associative results, recurrences with taps that end early, derivatives of users' own, gradients inside of steps, batches
inside of steps, and values that nothing is differentiated through.
"""

from __future__ import annotations

import dataclasses

import numpy as np

import tg
from tests.enumerate.loop_programs import DTYPES, Drawn, Plain, Tg, typed
from tg_conformance.threefry import MASK, bits, number, threefry, words


@dataclasses.dataclass(frozen=True)
class Pair:
    """A structure of a user's own."""

    first: object
    rest: object


def mapped(f, *trees):
    """What f makes of the leaves at one place, in the structure of the trees."""
    one = trees[0]
    if one is None:
        return None
    if isinstance(one, dict):
        return {k: mapped(f, *(t[k] for t in trees)) for k in one}
    if isinstance(one, tuple | list):
        return type(one)(mapped(f, *each) for each in zip(*trees, strict=True))
    if isinstance(one, Pair):
        return Pair(mapped(f, *(t.first for t in trees)), mapped(f, *(t.rest for t in trees)))
    return f(*trees)


def leaves(tree):
    """The leaves of a structure."""
    found = []
    mapped(found.append, tree)
    return found


class Held:
    """What nothing is differentiated through: values of a first run, which later ones are given at the same places."""

    def __init__(self):
        self.values, self.at = [], None

    def again(self):
        """The next run begins, and finds what the first one had."""
        self.at = 0

    def __call__(self, value):
        """The value, or that of the first run."""
        if self.at is None:
            self.values.append(value)
            return value
        self.at += 1
        if self.at > len(self.values):
            return value * np.nan  # a run of other steps: there is no derivative here
        return self.values[self.at - 1]


class PlainWide(Plain):
    """The functions of tg that these programs call besides, over NumPy."""

    def __init__(self, held=None):
        self.held = held if held is not None else Held()

    concatenate, cumsum, sort, matmul = map(staticmethod, (np.concatenate, np.cumsum, np.sort, np.matmul))
    start = staticmethod(typed)

    def stopped(self, value):
        return self.held(value)

    @staticmethod
    def loop(f, init, xs, length, reverse, empty):
        """A scan over structures; `empty` makes what it traces without a step."""
        count = int(length) if xs is None else len(leaves(xs)[0])
        carry, found = init, []
        for t in reversed(range(count)) if reverse else range(count):
            carry, y = f(carry, None if xs is None else mapped(lambda a, t=t: a[t], xs))
            found.append(y)
        if not found:
            return carry, empty()
        return carry, mapped(lambda *rows: np.stack(rows), *(found[::-1] if reverse else found))

    @staticmethod
    def reduce(f, xs, init):
        for x in xs:
            init = f(init, x)
        return init

    @staticmethod
    def associated(f, xs, reverse):
        rows = list(zip(*xs, strict=True))[:: -1 if reverse else 1]
        found = [rows[0]]
        for row in rows[1:]:
            found.append(f(found[-1], row))
        return [np.stack(column) for column in zip(*found[:: -1 if reverse else 1], strict=True)]

    def recurrence(self, f, sequences, outputs, steps, most, ends, backwards):
        """The first output alone, a scalar of each step."""
        kind = np.asarray(outputs[0][0][0]).dtype
        return self.recurrences(f, sequences, outputs, (), steps, most, ends, backwards, lambda _: np.empty(0, kind))[0]

    def recurrences(self, f, sequences, outputs, fixed, steps, most, ends, backwards, empty):
        """All outputs, which are pairs of first values and taps.

        `ends` says whether f gives a condition too, `empty` makes of its number what an output is without a step.
        """
        given = [(array[::-1] if backwards else array, taps) for array, taps in sequences]
        first = [max(0, -min(taps)) for _, taps in given]
        spans = [max(0, len(array) - low - max(0, *taps)) for (array, taps), low in zip(given, first, strict=True)]
        count = min(spans) if steps is None else int(steps)
        if ends and most >= 0:  # of the steps that are made, the last ones
            count = len(self.recurrences(f, sequences, outputs, fixed, steps, -1, ends, backwards, empty)[0])
        histories = [[*begin] for begin, _ in outputs]
        for t in range(count):
            if t and t == count - most:
                histories = [[self.stopped(v) for v in history] for history in histories]
            args = [array[low + t + tap] for (array, taps), low in zip(given, first, strict=True) for tap in taps]
            args += [history[tap] for history, (_, taps) in zip(histories, outputs, strict=True) for tap in taps]
            found = f(*args, *fixed)
            for history, value in zip(histories, found, strict=False):
                history.append(value)
            if ends and found[-1]:
                break
        if most == 0:
            histories = [[self.stopped(v) for v in history] for history in histories]
        made = [history[len(begin) :] for history, (begin, _) in zip(histories, outputs, strict=True)]
        return [np.stack(values) if values else empty(k) for k, values in enumerate(made)]

    @staticmethod
    def batched(f, arrays, dtype):
        rows = [f(*row) for row in zip(*arrays, strict=True)]
        return np.stack(rows) if rows else np.empty(0, dtype)

    @staticmethod
    def stack(values):
        return np.stack(values)

    @staticmethod
    def updated(v, index, value, how):
        found = np.array(v)
        if how == "set":
            found[index] = value
        else:
            getattr(np, {"add": "add", "multiply": "multiply", "max": "maximum"}[how]).at(found, index, value)
        return found

    @staticmethod
    def linear(name, a, b):
        """What a function makes of a matrix of two rows, and a vector, by the formulas of two unknowns."""
        (p, q), (r, s) = a
        det = p * s - q * r
        if name == "det":
            return np.stack([det, det])
        if name == "slogdet":
            return np.stack([np.log(abs(det)), np.sign(det)])
        if name == "inv":
            return np.array([[s, -q], [-r, p]]) / det @ b
        if name == "solve":
            return np.stack([(s * b[0] - q * b[1]) / det, (p * b[1] - r * b[0]) / det])
        if name == "eigvalsh":
            middle, far = (p + s) / 2, np.sqrt((p - s) ** 2 / 4 + r * r)
            return np.stack([middle - far, middle + far])
        one = np.sqrt(p)
        low = r / one
        two = np.sqrt(s - low * low)
        if name == "cholesky":
            return np.stack([one * b[0], low * b[0] + two * b[1]])
        y = b[0] / one  # solve_triangular, of the factor
        return np.stack([y, (b[1] - low * y) / two])

    @staticmethod
    def key(seed):
        return np.array(words(int(seed) & (1 << 64) - 1), np.uint32)

    @staticmethod
    def split(key, n):
        return np.array([words(threefry(number(key), k)) for k in range(n)], np.uint32).reshape(n, 2)

    @staticmethod
    def fold_in(key, data):
        return np.array(words(threefry(number(key), int(data) & MASK)), np.uint32)

    @staticmethod
    def bits(key):
        return bits(number(key), (), 32)[()]

    @staticmethod
    def uniform(key, like=None):
        shape = () if like is None else like.shape
        return (bits(number(key), shape, 64) >> np.uint64(12)).astype(np.float64) * 2.0**-52

    @staticmethod
    def customized(which, a, b):
        return np.tanh(a) * b + np.sin(b)

    @staticmethod
    def slope(a, v):
        return a * np.cos(a * v) + v

    @staticmethod
    def slope_of_loop(a, v):
        d = np.ones_like(v)
        for _ in range(3):
            d = a * d + v
        return d


def _product(a, b):
    return tg.tanh(a) * b + tg.sin(b)


def _customized(which):
    """`_product` with a derivative that is given, and is its own."""
    if which == "checkpoint":
        return tg.checkpoint(_product)
    if which == "vjp":
        f = tg.custom_vjp(_product)

        def backward(known, dy):
            a, b = known
            return dy * (1 - tg.tanh(a) ** 2) * b, dy * (tg.tanh(a) + tg.cos(b))

        f.defvjp(lambda a, b: (_product(a, b), (a, b)), backward)
        return f
    f = tg.custom_jvp(_product)

    def pushed(primals, tangents):
        (a, b), (da, db) = primals, tangents
        return _product(a, b), da * (1 - tg.tanh(a) ** 2) * b + db * (tg.tanh(a) + tg.cos(b))

    f.defjvp(pushed)
    return f


class TgWide(Tg):
    """The same functions of tg."""

    concatenate, cumsum, sort, matmul, reduce, stack = (
        tg.concatenate,
        tg.cumsum,
        tg.sort,
        tg.matmul,
        tg.reduce,
        tg.stack,
    )
    stopped = tg.stop_gradient
    key, split, fold_in = tg.random.key, tg.random.split, tg.random.fold_in

    @staticmethod
    def start(value, kind):
        return value

    @staticmethod
    def loop(f, init, xs, length, reverse, empty):
        return tg.scan(f, init, xs, length, reverse=reverse)

    @staticmethod
    def associated(f, xs, reverse):
        return tg.associative_scan(f, list(xs), reverse=reverse)

    @staticmethod
    def recurrence(f, sequences, outputs, steps, most, ends, backwards):
        return TgWide.recurrences(f, sequences, outputs, (), steps, most, ends, backwards, None)[0]

    @staticmethod
    def recurrences(f, sequences, outputs, fixed, steps, most, ends, backwards, empty):
        def step(*given):
            found = [*f(*given)]
            return [*found[:-1], tg.until(found[-1])] if ends else found

        def info(begin, taps):
            if taps == (-1,):
                return begin[0]
            return {"initial": tg.stack(begin), "taps": list(taps)} if taps else None

        given = [{"input": array, "taps": list(taps)} for array, taps in sequences]
        infos = [info(begin, taps) for begin, taps in outputs]
        found = tg.recurrence(step, given, infos, list(fixed), steps, truncate_gradient=most, go_backwards=backwards)
        return found if isinstance(found, list) else [found]

    @staticmethod
    def batched(f, arrays, dtype):
        return tg.vmap(f)(*arrays)

    @staticmethod
    def updated(v, index, value, how):
        return getattr(v.at[index], how)(value)

    @staticmethod
    def linear(name, a, b):
        if name in ("solve", "eigvalsh"):
            return tg.linalg.solve(a, b) if name == "solve" else tg.linalg.eigvalsh(a)
        if name == "det":
            return tg.stack([tg.linalg.det(a)] * 2)
        if name == "slogdet":
            sign, log = tg.linalg.slogdet(a)
            return tg.stack([log, sign])
        if name == "inv":
            return tg.linalg.inv(a) @ b
        factor = tg.linalg.cholesky(a)
        return factor @ b if name == "cholesky" else tg.linalg.solve_triangular(factor, b, lower=True)

    @staticmethod
    def bits(key):
        return tg.random.bits(key, (), "uint32")

    @staticmethod
    def uniform(key, like=None):
        return tg.random.uniform(key, shape=() if like is None else like.shape)

    @staticmethod
    def customized(which, a, b):
        return _customized(which)(a, b)

    @staticmethod
    def slope(a, v):
        v = v * 1.0  # a variable of its own, which a does not depend on
        return tg.grad(tg.sin(a * v) + v * v / 2, v)

    @staticmethod
    def slope_of_loop(a, v):
        v = v * 1.0
        return tg.grad(tg.fori_loop(0, 3, lambda _, c: a * c + v * v / 2, v), v)


LINEAR = ("solve", "inv", "det", "slogdet", "cholesky", "eigvalsh", "solve_triangular")
NARROW = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "uint64", "bool")


class Wide(Drawn):
    """A program that has these kinds of loops too."""

    spaces = (PlainWide, TgWide)

    def loop(self, kind, scope, loops):
        ways = WAYS.get(kind, ())
        if not ways or self.rng.random() < 0.25:
            return super().loop(kind, scope, loops)
        return self.rng.choice(ways)(self, kind, scope, loops - 1)

    def after(self, names, types, scope, loops, slices=()):
        """Some of what comes after a step goes through functions that are differentiated in a way of their own."""
        found = super().after(names, types, scope, loops, slices)
        for k, (kind, shape) in enumerate(types):
            if kind == "f" and not shape and self.rng.random() < 0.35:
                found[k] = self.wrapped(found[k], self.value("f", (), scope, 1))
        return found

    def wrapped(self, value, other):
        """An expression in one of several functions of it and of another."""
        which = self.rng.choice(("vjp", "jvp", "checkpoint", "stopped", "slope", "slope of loop"))
        self.only_reverse |= which == "vjp"

        def run(space, env):
            v, w = value(space, env), other(space, env)
            if which == "stopped":
                return (v + space.stopped(w)) * 0.5
            if which.startswith("slope"):
                made = space.slope(w, v) if which == "slope" else space.slope_of_loop(w, v)
                return space.tanh(made)
            return space.customized(which, v, w) * 0.5

        return run

    # --- structures ---------------------------------------------------------------------------------------------------

    def structure(self, count):
        """How so many leaves are put together, and taken apart."""
        which = self.rng.choice(("dict", "nested", "class", "list"))
        names = [f"{'zyx'[k % 3]}{k}" for k in range(count)]  # not in the order of the alphabet

        def pack(values):
            values = list(values)
            if which == "dict":
                return dict(zip(names, values, strict=True))
            if which == "nested":
                return ((values[0],), {"b": values[1:], "a": None}) if count > 1 else ((values[0],), ())
            return Pair(values[0], values[1:]) if which == "class" else values

        def unpack(tree):
            if which == "dict":
                return [tree[name] for name in names]
            if which == "nested":
                return [tree[0][0], *(tree[1]["b"] if count > 1 else ())]
            return [tree.first, *tree.rest] if which == "class" else list(tree)

        return pack, unpack

    def structured(self, kind, scope, loops):
        """A scan whose carries, slices and results have structures."""
        rng = self.rng
        names, types, starts = self.carries(kind, scope, loops)
        pack, unpack = self.structure(len(names))
        leading = rng.choice([t[1][0] for _, t in scope if t[1]])
        sequences = [(n, t) for n, t in scope if t[1] and t[1][0] == leading]
        chosen = rng.sample(sequences, min(len(sequences), rng.choice((0, 1, 2))))
        slices = [(self.name(), (t[0], t[1][1:])) for _, t in chosen]
        pack_xs, unpack_xs = self.structure(len(chosen))
        length = None if chosen else rng.choice((0, 1, 2, 5, "k"))
        inner = [*scope, *slices, *zip(names, types, strict=True)]
        after = self.after(names, types, inner, loops, slices)
        traced = [rng.choice(types), (kind, ())]
        given = [self.value(k, s, inner, 2, loops) for k, s in traced]
        pack_ys, unpack_ys = self.structure(2)
        reverse = rng.random() < 0.4

        def run(space, env):
            count = env["k"] if length == "k" else length

            def step(carry, xs):
                local = {**env, **dict(zip(names, unpack(carry), strict=True))}
                if chosen:
                    local |= {name: x for (name, _), x in zip(slices, unpack_xs(xs), strict=True)}
                return pack(f(space, local) for f in after), pack_ys(f(space, local) for f in given)

            def empty():
                return pack_ys(np.empty((0, *(env["sizes"][n] for n in s)), DTYPES[k]) for k, s in traced)

            init = pack(space.start(f(space, env), k) for f, (k, _) in zip(starts, types, strict=True))
            xs = pack_xs(env[n] for n, _ in chosen) if chosen else None
            carry, ys = space.loop(step, init, xs, count, reverse, empty)
            return self.weighted(space, kind, unpack_ys(ys)[1], unpack(carry)[0])

        return run

    def branched(self, kind, scope, loops):
        """A branch that gives a structure, of a number and an array."""
        arrays = [t for _, t in scope if t[1]]
        like = self.rng.choice(arrays)
        pack, unpack = self.structure(2)
        count = self.rng.choice((2, 3))
        parts = [
            [self.value(kind, (), scope, 1, loops), self.value(like[0], like[1], scope, 1, loops)] for _ in range(count)
        ]
        asked = self.value("i" if count == 3 else "b", (), scope, 2)

        def run(space, env):
            functions = [lambda p=p: pack(f(space, env) for f in p) for p in parts]
            which = asked(space, env)
            found = space.cond(which, *functions) if count == 2 else space.switch(which, functions)
            value, array = unpack(found)
            if like[0] == kind and kind in "fi":
                return value + space.sum(array)
            return value

        return run

    # --- updates ------------------------------------------------------------------------------------------------------

    def scattered(self, kind, scope, loops):
        """A loop that changes places of an array that it carries, by numbers that may be out of bounds."""
        rng = self.rng
        arrays = [(n, t) for n, t in scope if t[0] == kind and len(t[1]) in (1, 2)]
        if not arrays:
            return self.structured(kind, scope, loops)
        source, t = rng.choice(arrays)
        array, one, step = self.name(), self.name(), self.name()
        inner = [*scope, (step, ("i", ())), (array, t), (one, (kind, ()))]
        start = self.value(kind, (), scope, 1, loops)
        (after,) = self.after([one], [(kind, ())], inner, loops)
        k, most = self.value("i", (), inner, 2), rng.choice((0, 0, 0, 1))
        how = rng.choice(("set", "add", "max", "multiply") if kind != "c" else ("set", "add"))
        form = rng.choice(("place", "place", "slice", "all", "many"))
        count = rng.choice((0, 1, 2, 5, "k"))

        def body(space, env, t, carry):
            v, s = carry
            local = {**env, step: t, array: v, one: s}
            value = after(space, local)
            if form == "place":
                v = space.updated(v, space.clip(k(space, local), -1, most), value, how)
            elif form == "many":  # of places that are named twice, any value may stay
                v = space.updated(v, space.clip(local["j"], -1, most), value, how if how != "set" else "add")
            else:
                v = space.updated(v, slice(1, None) if form == "slice" else slice(None), value, how)
            return v, after(space, {**local, array: v})

        def run(space, env):
            end = env["k"] if count == "k" else count
            init = (env[source], space.start(start(space, env), kind))
            v, s = space.fori_loop(0, end, lambda t, c: body(space, env, t, c), init)
            return s if kind in "gb" else space.sum(v) + s

        return run

    def ring(self, kind, scope, loops):
        """A loop that writes into one of three places after the other, and reads the oldest."""
        rng = self.rng
        step, old, own = self.name(), self.name(), self.name()
        inner = [*scope, (step, ("i", ())), (old, (kind, ())), (own, (kind, ()))]
        begin = [self.value(kind, (), scope, 1) for _ in range(3)]
        (after,) = self.after([own], [(kind, ())], inner, loops)
        count, pushes = rng.choice((0, 1, 4, 7, "k")), rng.random() < 0.5

        def body(space, env, t, w):
            at, before = t % 3, (t + 2) % 3
            if pushes:
                value = after(space, {**env, step: t, old: w[0], own: w[2]})
                return space.concatenate([w[1:], space.stack([value])])
            value = after(space, {**env, step: t, old: w[at], own: w[before]})
            return space.updated(w, at, value, "set")

        def run(space, env):
            end = env["k"] if count == "k" else count
            w = space.stack([f(space, env) for f in begin])
            w = space.fori_loop(0, end, lambda t, w: body(space, env, t, w), w)
            return w[0] + w[2] if kind != "b" else w[1]

        return run

    def shifted(self, kind, scope, loops):
        """A loop that moves, sorts or sums up an array that it carries."""
        rng = self.rng
        arrays = [(n, t) for n, t in scope if t[0] == kind and len(t[1]) == 1]
        if not arrays:
            return self.structured(kind, scope, loops)
        source, t = rng.choice(arrays)
        array, one = self.name(), self.name()
        inner = [*scope, (array, t), (one, (kind, ()))]
        start = self.value(kind, (), scope, 1, loops)
        (after,) = self.after([one], [(kind, ())], inner, loops)
        which = rng.choice(("roll", "flip", "cumsum", *(("sort",) if kind != "c" else ())))
        count, small = rng.choice((0, 1, 2, 5, "k")), np.dtype(DTYPES[kind]).type(1 if kind == "i" else 0.25)

        def moved(space, v):
            if which == "roll":
                return space.concatenate([v[1:], v[:1]])
            return v[::-1] if which == "flip" else space.sort(v) if which == "sort" else space.cumsum(v) * small

        def run(space, env):
            def step(carry, _):
                local = {**env, array: carry["v"], one: carry["s"]}
                s = after(space, local)
                return {"v": moved(space, carry["v"]) + s * small, "s": s}, None

            end = env["k"] if count == "k" else count
            init = {"v": env[source], "s": space.start(start(space, env), kind)}
            carry, _ = space.loop(step, init, None, end, False, lambda: None)
            if kind in "fic":
                return self.weighted(space, kind, carry["v"] * small, carry["s"])
            return carry["s"]

        return run

    # --- dtypes, draws, matrices --------------------------------------------------------------------------------------

    def narrow(self, kind, scope, loops):
        """A loop that carries integers of few bits, which overflow."""
        rng = self.rng
        dtypes = [np.dtype(rng.choice(NARROW)) for _ in range(rng.choice((1, 2, 3)))]
        number = self.name()
        inner = [*scope, (number, ("i", ()))]
        given = [self.value("i", (), inner, 2, loops) for _ in dtypes]
        ops = [rng.choice("+*-<") for _ in dtypes]
        start, count = self.value("i", (), scope, 1), rng.choice((0, 1, 3, 7, "k"))

        def changed(space, local, own, value, dtype, op):
            value = value.astype(dtype)
            if dtype.kind == "b":
                return own ^ (value if op in "+*" else ~value)
            three = space.constant(dtype.type(3))
            if op == "<":
                return (own < value).astype(dtype) + own * three
            if op == "*":
                return own * value + three
            return own * three + value if op == "+" else value - own * three

        def run(space, env):
            begin = start(space, env)

            def step(carry, _):
                total, own = carry
                local = {**env, number: total}
                after = [
                    changed(space, local, c, f(space, local), dtype, op)
                    for c, f, dtype, op in zip(own, given, dtypes, ops, strict=True)
                ]
                for c in after:
                    total = total + c.astype("int64") % 1000
                return (total, after), after

            end = env["k"] if count == "k" else count
            init = (begin, [begin.astype(dtype) for dtype in dtypes])
            (total, own), ys = space.loop(
                step, init, None, end, False, lambda: [np.empty(0, dtype) for dtype in dtypes]
            )
            for y in ys:
                total = total + space.sum(y.astype("int64"))
            return total + own[0].astype("int64")

        return run

    def random(self, kind, scope, loops):
        """A loop that draws: by a key that it carries, one for each step, or one that has the step's number in it."""
        rng = self.rng
        way, vector = rng.choice(("carry", "each", "fold")), rng.choice((None, None, "x"))
        drawn, own = self.name(), self.name()
        inner = [*scope, (drawn, (kind, ())), (own, (kind, ()))]
        seed, start = self.value("i", (), scope, 1), self.value(kind, (), scope, 1, loops)
        (after,) = self.after([own], [(kind, ())], inner, loops)
        count = rng.choice((0, 1, 3))

        def draw(space, env, key):
            if kind == "i":
                return space.bits(key).astype("int64") % 7 - 3
            if vector is None:
                return space.uniform(key)
            return space.sum(space.uniform(key, env[vector]) * 0.25)

        def run(space, env):
            def step(carry, xs):
                key, before, t = carry
                mine = xs if way == "each" else space.fold_in(key, t) if way == "fold" else None
                if way == "carry":
                    both = space.split(key, 2)
                    key, mine = both[0], both[1]
                number = draw(space, env, mine)
                value = after(space, {**env, drawn: number, own: before}) + number
                return (key, value if kind == "i" else space.tanh(value), t + 1), value

            key = space.key(seed(space, env))
            xs = space.split(key, count) if way == "each" else None
            init = (key, space.start(start(space, env), kind), space.constant(np.int64(0)))
            (_, last, _), ys = space.loop(step, init, xs, count, False, lambda: np.empty(0, DTYPES[kind]))
            return self.weighted(space, kind, ys, last)

        return run

    def matrices(self, kind, scope, loops):
        """A loop that carries a matrix of two rows, of which it solves, factors and multiplies."""
        rng = self.rng
        own = self.name()
        inner = [*scope, (own, ("f", ()))]
        begin = [self.value("f", (), scope, 1, loops) for _ in range(4)]
        given = [self.value("f", (), inner, 1, loops) for _ in range(2)]
        names = [rng.choice(LINEAR) for _ in range(rng.choice((1, 2)))]
        count, reverse = rng.choice((0, 1, 2, 4, "k")), rng.random() < 0.3

        def run(space, env):
            def step(carry, _):
                a, b = carry
                square = space.matmul(a, a.T) + space.constant(np.array([[1.5, 0.0], [0.0, 2.5]]))
                local = {**env, own: b[0]}
                for name in names:
                    b = space.tanh(space.linear(name, square, b)) + space.stack([f(space, local) for f in given]) * 0.5
                return (space.tanh(space.matmul(square, a) * 0.125 + b), b), b

            end = env["k"] if count == "k" else count
            p, q, r, s = (space.tanh(f(space, env)) for f in begin)
            init = (space.stack([space.stack([p, q]), space.stack([r, s])]), space.stack([p, s]))
            (a, b), ys = space.loop(step, init, None, end, reverse, lambda: np.empty((0, 2)))
            return self.weighted(space, kind, ys, b[0] + a[0, 1] - a[1, 0])

        return run

    # --- other loops --------------------------------------------------------------------------------------------------

    def reduced(self, kind, scope, loops):
        """`tg.reduce`."""
        arrays = [(n, t) for n, t in scope if len(t[1]) == 1 and t[0] in "fgibc"]
        if not arrays:
            return self.structured(kind, scope, loops)
        source, t = self.rng.choice(arrays)
        own, slice_ = self.name(), self.name()
        inner = [*scope, (own, (kind, ())), (slice_, (t[0], ()))]
        start = self.value(kind, (), scope, 1, loops)
        (after,) = self.after([own], [(kind, ())], inner, loops, [(slice_, (t[0], ()))])

        def run(space, env):
            def f(c, x):
                return after(space, {**env, own: c, slice_: x})

            return space.reduce(f, env[source], start(space, env))

        return run

    def associated(self, kind, scope, loops):
        """`tg.associative_scan`, of sums, products, extremes, maps or matrices."""
        rng = self.rng
        count, reverse = rng.choice((1, 2, 3, 5)), rng.random() < 0.5
        which = rng.choice(("sum", "product", "affine") if kind == "i" else ("sum", "product", "affine", "affine"))
        values = [[self.value(kind, (), scope, 1, loops) for _ in range(count)] for _ in range(2)]
        at = rng.randrange(count)

        def joined(a, b):
            if which == "sum":
                return [a[0] + b[0], a[1] + b[1]]
            if which == "product":
                return [a[0] * b[0], a[1] + b[1]]
            return [b[0] * a[0], b[0] * a[1] + b[1]]

        def run(space, env):
            xs = [space.stack([f(space, env) for f in column]) for column in values]
            found = space.associated(joined, xs, reverse)
            return found[0][at] + self.weighted(space, kind, found[1], found[0][0])

        return run

    def tapped(self, kind, scope, loops):
        """`tg.recurrence` with taps, a condition that ends it, and gradients of the last steps alone."""
        rng = self.rng
        depth = rng.choice((1, 2, 3))
        taps = tuple(sorted(rng.sample(range(-depth, 0), rng.choice((1, depth)))))
        depth = -min(taps)
        arrays = [(n, t) for n, t in scope if len(t[1]) == 1 and t[0] == kind]
        sequence = rng.choice(arrays) if arrays and rng.random() < 0.6 else None
        reads = rng.choice(((0,), (0,), (0,))) if sequence else ()
        given = [self.name() for _ in (*reads, *taps)]
        inner = [*scope, *((name, (kind, ())) for name in given)]
        begin = [self.value(kind, (), scope, 1, loops) for _ in range(depth)]
        (after,) = self.after(given[-1:], [(kind, ())], inner, loops, [(name, (kind, ())) for name in given[:-1]])
        ends = rng.random() < 0.4 and "batched" not in self.forms and not self.has_lanes  # else a length by element
        self.may_end |= ends
        asked = self.value("b", (), inner, 2) if ends else None
        most = rng.choice((-1, -1, 0, 1, 2, 100))
        steps = None if sequence else rng.choice((0, 1, 3, 5, "k"))
        backwards = rng.random() < 0.3

        def run(space, env):
            def f(*values):
                local = {**env, **dict(zip(given, values, strict=True))}
                value = after(space, local)
                return [value, asked(space, local)] if ends else [value]

            sequences = [(env[sequence[0]], reads)] if sequence else []
            first = [f_(space, env) for f_ in begin]
            count = env["k"] if steps == "k" else steps
            ys = space.recurrence(f, sequences, [(first, taps)], count, most, ends, backwards)
            return self.weighted(space, kind, ys, first[0])

        return run

    def lanes(self, kind, scope, loops):
        """A batch of loops inside: what a function of elements gives for those of an array, summed up."""
        rng = self.rng
        leading = rng.choice([t[1][0] for _, t in scope if t[1]])
        arrays = [(n, t) for n, t in scope if t[1] and t[1][0] == leading]
        chosen = rng.sample(arrays, min(len(arrays), rng.choice((1, 2))))
        slices = [(self.name(), (t[0], t[1][1:])) for _, t in chosen]
        inner = [*scope, *slices]
        self.has_lanes = True
        value = self.loop(kind, inner, loops) if loops > 0 else self.value(kind, (), inner, 2)

        def run(space, env):
            def f(*given):
                return value(space, {**env, **{name: v for (name, _), v in zip(slices, given, strict=True)}})

            ys = space.batched(f, [env[n] for n, _ in chosen], DTYPES[kind])
            return space.sum(ys * (space.arange(ys.shape[0]) + 1))

        return run


SOME = (Wide.structured, Wide.reduced, Wide.branched)
WAYS = {
    "f": (
        *SOME,
        Wide.scattered,
        Wide.ring,
        Wide.shifted,
        Wide.random,
        Wide.matrices,
        Wide.associated,
        Wide.tapped,
        Wide.lanes,
    ),
    "i": (
        *SOME,
        Wide.scattered,
        Wide.ring,
        Wide.shifted,
        Wide.random,
        Wide.narrow,
        Wide.associated,
        Wide.tapped,
        Wide.lanes,
    ),
    "g": (*SOME, Wide.scattered, Wide.ring, Wide.shifted),
    "c": (*SOME, Wide.scattered, Wide.ring, Wide.shifted, Wide.lanes),
    "b": (*SOME, Wide.ring),
}
"""The ways to a scalar of each kind."""
