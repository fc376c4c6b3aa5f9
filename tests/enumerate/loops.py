"""Programs of loops, drawn by a seed: what they give, and their derivatives, against plain Python loops over NumPy.

    python -m tests.enumerate.loops --count 2000 --backend perform --seed 0

A program is a function of a namespace and values, run twice: with tg, and with `Plain`, whose loops are Python's. Loops
stand in one another, in branches and in conditions; what they read besides their arguments they capture. Derivatives
are compared along a direction with differences of the plain program in extended precision, of which two steps must
agree: at a jump of a condition there is none.
"""

from __future__ import annotations

import argparse
import itertools
import random
import warnings

import numpy as np

import tg

LENGTHS = (0, 1, 2, 7)
DTYPES = {"f": "float64", "g": "float32", "i": "int64", "b": "bool", "c": "complex128"}
INPUTS = {  # name: kind and lengths
    "s": ("f", ()),
    "x": ("f", ("n",)),
    "w": ("f", ("m",)),
    "q": ("f", ("n", "m")),
    "g": ("g", ("n",)),
    "i": ("i", ()),
    "j": ("i", ("n",)),
    "k": ("i", ()),
    "z": ("c", ("n",)),
}
STEP = 1e-5
ROUNDING = {"f": 1e-9, "g": 2e-4, "c": 1e-9}


class Plain:
    """The functions of tg that programs call, over NumPy: one step after another."""

    sin, tanh, where, clip, conj, arange = np.sin, np.tanh, np.where, np.clip, np.conj, np.arange

    @staticmethod
    def sum(x, axis=None):
        return np.sum(x, axis, dtype=x.dtype)

    @staticmethod
    def constant(value):
        return value

    @staticmethod
    def taken(x, k):
        return x[int(k)]

    @staticmethod
    def scan(f, init, xs, length, reverse, types, empty):
        """`types` are the carries' kinds, `empty` makes what traces are without a step."""
        count = len(xs[0]) if xs else int(length)
        carry, found = tuple(_typed(v, t) for v, t in zip(init, types, strict=True)), []
        for t in reversed(range(count)) if reverse else range(count):
            carry, y = f(carry, tuple(x[t] for x in xs))
            found.append(y)
        found = found[::-1] if reverse else found
        columns = [np.stack(c) for c in zip(*found, strict=True)] if found else empty()
        return carry, tuple(columns)

    @staticmethod
    def while_loop(cond, body, init, most, types):
        carry = tuple(_typed(v, t) for v, t in zip(init, types, strict=True))
        for _ in itertools.count() if most is None else range(most):
            if not cond(carry):
                break
            carry = body(carry)
        return carry

    @staticmethod
    def fori_loop(low, high, body, init):
        for t in range(int(low), int(high)):
            init = body(np.int64(t), init)
        return init

    @staticmethod
    def switch(index, branches, *operands):
        return branches[min(max(int(index), 0), len(branches) - 1)](*operands)

    @staticmethod
    def cond(pred, then, otherwise, *operands):
        return then(*operands) if pred else otherwise(*operands)


class Tg(Plain):
    """The same functions of tg."""

    sin, tanh, where, clip, conj, arange = tg.sin, tg.tanh, tg.where, tg.clip, tg.conj, tg.arange
    sum, constant, fori_loop, switch, cond = tg.sum, tg.constant, tg.fori_loop, tg.switch, tg.cond

    @staticmethod
    def taken(x, k):
        return x[k]

    @staticmethod
    def scan(f, init, xs, length, reverse, types, empty):
        if not types and not reverse and xs:
            return (), tg.map(lambda slices: f((), slices)[1], xs)
        return tg.scan(f, init, xs or None, length, reverse=reverse)

    @staticmethod
    def while_loop(cond, body, init, most, types):
        return tg.while_loop(cond, body, init, most)


def _typed(value, kind):
    """A Python number in the dtype that it takes."""
    return np.dtype(DTYPES[kind]).type(value) if type(value) in (int, float) else value


class Drawn:
    """A program by its seed: `run(namespace, values)` gives the results."""

    def __init__(self, seed, *, smooth):
        self.rng, self.smooth = random.Random(seed), smooth
        self.seed, self.inside = seed, 0
        scope = [(name, t) for name, t in INPUTS.items() if name != "k"]
        wanted = [(self.rng.choice("fff" if smooth else "ffgibc"), ()) for _ in range(self.rng.choice((1, 2)))]
        self.kinds = [kind for kind, _ in wanted]
        self.parts = [self.loop(kind, scope, 2 if smooth else 3) for kind, _ in wanted]

    def run(self, space, values):
        with np.errstate(all="ignore"):
            return [part(space, dict(values)) for part in self.parts]

    def name(self):
        self.inside += 1
        return f"v{self.inside}"

    # --- expressions: functions of a namespace and the values of names ------------------------------------------------

    def value(self, kind, shape, scope, depth, loops=0):
        """An expression of a kind and shape."""
        rng = self.rng
        if loops and not shape and rng.random() < 0.25:
            return self.loop(kind, scope, loops)
        known = [name for name, t in scope if t == (kind, shape)]
        if depth <= 0 or rng.random() < 0.15:
            if known and rng.random() < 0.9:
                name = rng.choice(known[-4:])
                return lambda space, env: env[name]
            if not shape:
                return self.number(kind)
        sub = lambda k=kind, s=shape: self.value(k, s, scope, depth - 1, loops)  # noqa: E731
        ways = [self.binary, self.chosen]
        if kind in "fgc":
            ways += [self.binary, self.bounded, self.bounded]
        if not shape:
            ways += [self.summed, self.element] if kind != "b" else []
        elif not known:
            return self.spread(kind, shape, scope, depth, loops)
        if kind == "b":
            ways = [self.compared]
        return rng.choice(ways)(kind, shape, scope, depth, sub)

    def number(self, kind):
        value = {"f": np.float64, "g": np.float32, "i": np.int64, "b": np.bool_, "c": np.complex128}[kind]
        found = value({"i": self.rng.randint(-3, 4), "b": self.rng.random() < 0.5}.get(kind, self.rng.uniform(-1, 1)))
        return lambda space, env: space.constant(found)

    def spread(self, kind, shape, scope, depth, loops):
        """Something of this shape: an array's zeros and a scalar."""
        like = [name for name, t in scope if t[1] == shape]
        scalar = self.value(kind, (), scope, depth - 1, loops)
        if not like:
            return None
        name, dtype = self.rng.choice(like), DTYPES[kind]
        zero = np.dtype(dtype).type(0)

        def run(space, env):
            shown = env[name]
            flags = shown != shown  # False: no NaN is drawn
            value = scalar(space, env)
            return space.where(flags, space.constant(zero), value)

        return run

    def binary(self, kind, shape, scope, depth, sub):
        a = sub()
        b = sub() if self.rng.random() < 0.6 else sub(kind, ())
        which = self.rng.choice("+-*")
        if kind == "i":
            return lambda space, env: {"+": lambda u, v: u + v, "-": lambda u, v: u - v, "*": lambda u, v: u * v}[
                which
            ](a(space, env), b(space, env))
        half = np.dtype(DTYPES[kind]).type(0.5)
        if which == "*":
            return lambda space, env: a(space, env) * b(space, env)
        sign = 1 if which == "+" else -1
        return lambda space, env: (a(space, env) + sign * b(space, env)) * half

    def chosen(self, kind, shape, scope, depth, sub):
        c, a, b = self.value("b", (), scope, depth - 1), sub(), sub()
        return lambda space, env: space.where(c(space, env), a(space, env), b(space, env))

    def bounded(self, kind, shape, scope, depth, sub):
        a, name = sub(), self.rng.choice(("sin", "tanh"))
        if kind == "c":
            return lambda space, env: space.conj(a(space, env))
        return lambda space, env: getattr(space, name)(a(space, env))

    def summed(self, kind, shape, scope, depth, sub):
        arrays = [(n, t) for n, t in scope if t[0] == kind and t[1]]
        if not arrays:
            return sub()
        name, _ = self.rng.choice(arrays)
        return lambda space, env: space.sum(env[name])

    def element(self, kind, shape, scope, depth, sub):
        """An element by a number that may be out of bounds."""
        arrays = [(n, t) for n, t in scope if t[0] == kind and len(t[1]) == 1]
        if not arrays:
            return sub()
        name, _ = self.rng.choice(arrays[-3:])
        k, most = self.value("i", (), scope, depth - 1), self.rng.choice((0, 0, 1))
        return lambda space, env: space.taken(env[name], space.clip(k(space, env), -1, most))

    def compared(self, kind, shape, scope, depth, sub):
        of = self.rng.choice("fi")
        a, limit = self.value(of, (), scope, depth - 1), self.rng.choice((-0.431, 0.137, 0.0123))
        if of == "i":
            bound = self.rng.randint(-2, 4)
            return lambda space, env: a(space, env) < bound
        return lambda space, env: a(space, env) > limit

    # --- loops --------------------------------------------------------------------------------------------------------

    def loop(self, kind, scope, loops):
        """A scalar of a kind that comes out of a loop."""
        ways = [self.scan, self.scan, self.scan, self.while_loop, self.branches, self.counted]
        return self.rng.choice(ways)(kind, scope, loops - 1)

    def carries(self, kind, scope, loops):
        """Names, types and first values of carries, of which the first is of a kind."""
        rng = self.rng
        types = [(kind, ())]
        for _ in range(rng.choice((0, 1, 2))):
            shapes = [t for _, t in scope if t[1] and t[0] in "fgic"]
            types.append(rng.choice(shapes) if shapes and rng.random() < 0.5 else (rng.choice("ffib"), ()))
        starts = []
        for k, s in types:
            if not s and k == "f" and rng.random() < 0.3:
                python = rng.choice((0.5, -0.25))
                starts.append(lambda space, env, v=python: v)
            elif not s and k == "i" and rng.random() < 0.3:
                starts.append(lambda space, env: 1)
            else:
                starts.append(self.value(k, s, scope, 1, loops))
        return [self.name() for _ in types], types, starts

    def after(self, names, types, scope, loops, slices=()):
        """Expressions of the carries after a step, most of which read the carry and a slice: numbers stay small."""
        found = []
        for own, (kind, shape) in zip(names, types, strict=True):
            inner = self.value(kind, shape, scope, self.rng.choice((1, 2, 3)), loops)
            read = [name for name, (k, s) in slices if k == kind and s in ((), shape)]
            found.append(self.mixed(kind, inner, own, self.rng.choice(read) if read else None))
        same = [k for k, t in enumerate(types) if t == types[0]]
        if len(same) > 1 and self.rng.random() < 0.3:  # two that change places
            for k, other in zip(same[:2], same[1::-1], strict=True):
                found[k] = lambda space, env, name=names[other]: env[name]
        return found

    def mixed(self, kind, inner, own, read):
        """A sum of an expression, a carry and a slice."""
        if self.rng.random() < 0.2:
            own = read = None
        number = np.dtype(DTYPES[kind]).type

        def run(space, env):
            value = inner(space, env)
            if kind == "b":
                return value ^ env[own] if own else value
            for name, factor in ((own, 0.75), (read, 1.25)):
                if name is not None:
                    value = value + env[name] * (number(3) if kind == "i" else number(factor))
            return space.tanh(value) if kind in "fg" else value * number(0.5) if kind == "c" else value

        return run

    def scan(self, kind, scope, loops):
        rng = self.rng
        names, types, starts = self.carries(kind, scope, loops)
        leading = rng.choice([t[1][0] for _, t in scope if t[1]])
        sequences = [(n, t) for n, t in scope if t[1] and t[1][0] == leading]
        chosen = rng.sample(sequences, min(len(sequences), rng.choice((0, 1, 1, 2))))
        slices = [(self.name(), (t[0], t[1][1:])) for _, t in chosen]
        length = None
        if not chosen:
            length = rng.choice((0, 1, 2, 7, "k"))
        reverse = rng.random() < 0.5
        inner = [*scope, *slices, *zip(names, types, strict=True)]
        after = self.after(names, types, inner, loops, slices)
        traced = [(k, s) for k, s in (rng.choice(types), (kind, ()))][: rng.choice((0, 1, 2))]
        given = [self.value(k, s, inner, 2, loops) for k, s in traced]
        pick = rng.choice(range(len(traced))) if traced and traced[-1][0] == kind and rng.random() < 0.6 else None
        kinds = [k for k, _ in types]

        def run(space, env):
            def step(carry, xs):
                local = {**env, **dict(zip(names, carry, strict=True))}
                local |= {name: x for (name, _), x in zip(slices, xs or (), strict=True)}
                return tuple(f(space, local) for f in after), tuple(f(space, local) for f in given)

            def empty():
                sizes = env["sizes"]
                return [np.empty((0, *(sizes[n] for n in s)), DTYPES[k]) for k, s in traced]

            init = tuple(f(space, env) for f in starts)
            count = env["k"] if length == "k" else length
            carry, ys = space.scan(step, init, tuple(env[n] for n, _ in chosen), count, reverse, kinds, empty)
            if pick is not None and traced[pick][0] == kind:
                return self.weighted(space, kind, ys[pick], carry[0])
            return carry[0]

        return run

    def weighted(self, space, kind, ys, last):
        """A number to which each step gives a part of its own."""
        if kind in "bg":
            return last
        while len(ys.shape) > 1:
            ys = space.sum(ys, -1)
        return space.sum(ys * (space.arange(ys.shape[0]) + 1)) + last

    def while_loop(self, kind, scope, loops):
        rng = self.rng
        names, types, starts = self.carries(kind, scope, loops)
        number = self.name()
        inner = [*scope, *zip(names, types, strict=True)]
        after = self.after(names, types, inner, loops)
        asks = self.value("b", (), inner, 2, 0)
        limit = rng.choice((0, 1, 2, 7, "k"))
        most = rng.choice((1, 3, 9)) if self.smooth else rng.choice((None, 0, 3, 9))
        eager = rng.random() < 0.4
        kinds = ["i", *(k for k, _ in types)]

        def run(space, env):
            def local(carry):
                return {**env, number: carry[0], **dict(zip(names, carry[1:], strict=True))}

            bound = env["k"] if limit == "k" else limit

            def goes_on(carry):
                short = carry[0] < bound
                return short if eager else short & asks(space, local(carry))

            def body(carry):
                inside = local(carry)
                return (carry[0] + 1, *(f(space, inside) for f in after))

            init = (0, *(f(space, env) for f in starts))
            return space.while_loop(goes_on, body, init, most, kinds)[1]

        return run

    def counted(self, kind, scope, loops):
        low, high = self.rng.choice((-1, 0, 2)), self.rng.choice((0, 1, 2, 4, "k"))
        name, number = self.name(), self.name()
        inner = [*scope, (number, ("i", ())), (name, (kind, ()))]
        start = self.value(kind, (), scope, 1, loops)
        (after,) = self.after([name], [(kind, ())], inner, loops)

        def run(space, env):
            def body(t, c):
                return after(space, {**env, number: t, name: c})

            return space.fori_loop(low, env["k"] if high == "k" else high, body, start(space, env))

        return run

    def branches(self, kind, scope, loops):
        rng = self.rng
        given = self.name()
        operand = self.value("f", (), scope, 1, loops)
        inner = [*scope, (given, ("f", ()))]
        if rng.random() < 0.5:
            asked = self.value("b", (), scope, 2, 0)
            parts = [self.value(kind, (), inner, 2, loops) for _ in range(2)]
        else:
            asked = self.value("i", (), scope, 2, 0)
            parts = [self.value(kind, (), inner, 2, loops) for _ in range(rng.choice((1, 2, 3)))]
            parts.append(None)

        def run(space, env):
            functions = [lambda v, f=f: f(space, {**env, given: v}) for f in parts if f is not None]
            if parts[-1] is None:
                return space.switch(asked(space, env), functions, operand(space, env))
            return space.cond(asked(space, env), *functions, operand(space, env))

        return run


def inputs_of(seed):
    """The inputs' variables and arrays."""
    rng, chosen = np.random.default_rng(seed), random.Random(f"lengths of {seed}")
    sizes = {"n": chosen.choice((*LENGTHS, 7)), "m": chosen.choice((0, 1, 2, 3, 3)), "k": chosen.choice((*LENGTHS, 7))}
    is_known, arrays, variables = chosen.random() < 0.3, {}, {}
    for name, (kind, shape) in INPUTS.items():
        lengths = tuple(sizes[n] for n in shape)
        if kind == "i":
            array = rng.integers(-3, 5, lengths) if name != "k" else np.int64(sizes["k"])
        else:
            array = rng.uniform(-1, 1, lengths)
            array = array + 1j * rng.uniform(-1, 1, lengths) if kind == "c" else array
        arrays[name] = np.asarray(array, DTYPES[kind])
        variables[name] = tg.tensor(name, DTYPES[kind], shape=lengths if is_known else (None,) * len(shape))
    return variables, arrays, sizes


class DifferenceError(AssertionError):
    """A program that comes out otherwise than it should."""


def expected(drawn, arrays, sizes, wide=()):
    """What the plain program gives: results, or IndexError."""
    given = {name: a.astype(np.longdouble) if name in wide else a[()] for name, a in arrays.items()}
    try:
        return drawn.run(Plain, {**given, "sizes": sizes})
    except IndexError:
        return IndexError


def results_of(variables, arrays, outputs, backend):
    """What tg gives, or IndexError."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        f = tg.function(list(variables.values()), outputs, backend=backend, on_unused_input="ignore")
        try:
            return [np.asarray(v) for v in f(*arrays.values())]
        except tg.BoundsError:
            return IndexError


FLOATS = [name for name, (kind, _) in INPUTS.items() if kind == "f"]


def slopes(drawn, arrays, sizes, directions, h):
    """First and second difference of the plain program's sum along a direction, in extended precision."""
    found = []
    for sign in (1, 0, -1):
        moved = {n: a.astype(np.longdouble) for n, a in arrays.items() if n in FLOATS}
        moved = {n: a + sign * np.longdouble(h) * directions[n] for n, a in moved.items()}
        values = expected(drawn, {**arrays, **moved}, sizes, FLOATS)
        found.append(sum(np.longdouble(v) for v in values))
    return float((found[0] - found[2]) / (2 * h)), float((found[0] - 2 * found[1] + found[2]) / h**2)


def compared(seed, backend):
    """Run a program both ways; what differs is a `DifferenceError`. The number of results compared."""
    smooth = seed % 2 == 1
    drawn = Drawn(seed, smooth=smooth)
    variables, arrays, sizes = inputs_of(seed)
    wanted = expected(drawn, arrays, sizes)
    outputs = drawn.run(Tg, {**variables, "sizes": sizes})
    outputs = [tg.as_variable(v) for v in outputs]
    if smooth:
        cost = sum(outputs[1:], outputs[0])
        wrt = [variables[n] for n in FLOATS]
        rng = np.random.default_rng(seed)
        directions = {n: rng.uniform(-1, 1, arrays[n].shape) for n in FLOATS}
        along = [tg.constant(directions[n]) for n in FLOATS]
        gradient = tg.grad(cost, wrt, disconnected="zero")
        down = sum((tg.sum(g * t) for g, t in zip(gradient, along, strict=True)), tg.constant(0.0))
        forward = tg.jvp(cost, wrt, along, disconnected="zero")
        again = tg.jvp(down, wrt, along, disconnected="zero") if seed % 3 == 0 else None
        more = [down, forward, *([again] if again is not None else [])]
    else:
        more = []
    found = results_of(variables, arrays, [*outputs, *more], backend)
    if wanted is IndexError or found is IndexError:
        if found is not wanted:
            raise DifferenceError(f"raises: found {found}, needed {wanted}")
        return 1
    for k, kind in enumerate(drawn.kinds):
        a, b = found[k], np.asarray(wanted[k])
        if a.dtype != DTYPES[kind] or a.shape != b.shape:
            raise DifferenceError(f"result {k}: {a.dtype}{a.shape}, needed {DTYPES[kind]}{b.shape}")
        if not np.allclose(a, b, rtol=ROUNDING.get(kind, 0), atol=ROUNDING.get(kind, 0), equal_nan=True):
            raise DifferenceError(f"result {k}: {a}, needed {b}")
    if more:
        first, second = slopes(drawn, arrays, sizes, directions, STEP)
        half, bend = slopes(drawn, arrays, sizes, directions, STEP / 2)
        if abs(first - half) < 1e-7 and abs(second - bend) < 1e-4:
            truths = (("grad", half, 1e-7), ("jvp", half, 1e-7), ("jvp of grad", bend, 1e-3))
            for (name, true, limit), value in zip(truths, found[len(outputs) :], strict=False):
                if not abs(float(value) - true) < limit * (1 + abs(true)):
                    raise DifferenceError(f"{name}: {float(value)}, needed {true}")
            return len(found)
    return len(outputs)


def run(seeds, backend, told=lambda text: None):
    """The faults of programs of these seeds, as text, and how many results were compared."""
    faults, count = [], 0
    for seed in seeds:
        try:
            count += compared(seed, backend)
        except Exception as error:  # noqa: BLE001
            faults.append(f"{seed}: {type(error).__name__}: {str(error)[:300]}")
            told(faults[-1])
    return faults, count


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--backend", default="perform")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    seeds = range(given.seed, given.seed + given.count)
    faults, count = run(seeds, given.backend, lambda text: print(text, flush=True))  # noqa: T201
    print(f"{given.count} programs, {count} results, {len(faults)} differ")  # noqa: T201
    return bool(faults)


if __name__ == "__main__":
    raise SystemExit(main())
