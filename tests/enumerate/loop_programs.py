"""Programs of loops, drawn by a seed: functions of a namespace, of which `Plain` has Python's loops over NumPy."""

from __future__ import annotations

import itertools
import random

import numpy as np

import tg

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


class FailedError(Exception):
    """A check of a plain program that fails, with the text of its error."""


class Plain:
    """The functions of tg that programs call, over NumPy: one step after another."""

    sin, tanh, where, clip, conj, arange = map(staticmethod, (np.sin, np.tanh, np.where, np.clip, np.conj, np.arange))

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
    def length(x):
        return len(x)

    @staticmethod
    def checked(value, condition, text, step):
        if not condition:
            raise FailedError(text.format(int(step)))
        return value

    @staticmethod
    def scan(f, init, xs, length, reverse, types, empty, checkpoint=None):
        """`types` are the carries' kinds, `empty` makes what traces are without a step."""
        count = len(xs[0]) if xs else int(length)
        carry, found = tuple(typed(v, t) for v, t in zip(init, types, strict=True)), []
        for t in reversed(range(count)) if reverse else range(count):
            carry, y = f(carry, tuple(x[t] for x in xs))
            found.append(y)
        found = found[::-1] if reverse else found
        columns = [np.stack(c) for c in zip(*found, strict=True)] if found else empty()
        return carry, tuple(columns)

    @staticmethod
    def while_loop(cond, body, init, most, types):
        carry = tuple(typed(v, t) for v, t in zip(init, types, strict=True))
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
    def length(x):
        return x.shape[0]

    @staticmethod
    def checked(value, condition, text, step):
        return tg.assert_(value, condition, text, step)  # noqa: PT009

    @staticmethod
    def scan(f, init, xs, length, reverse, types, empty, checkpoint=None):
        if not types and not reverse and xs:
            return (), tg.map(lambda slices: f((), slices)[1], xs)
        return tg.scan(f, init, xs or None, length, reverse=reverse, checkpoint=checkpoint)

    @staticmethod
    def while_loop(cond, body, init, most, types):
        return tg.while_loop(cond, body, init, most)


def typed(value, kind):
    """A Python number in the dtype that it takes."""
    return np.dtype(DTYPES[kind]).type(value) if type(value) in (int, float) else value


class Drawn:
    """A program by its seed: `run(namespace, values)` gives the results.

    `spaces` are what makes the plain namespace, and that of tg.
    """

    spaces = (Plain, Tg)
    has_lanes = False
    only_reverse = False
    may_end = False  # by a condition, so that a step decides a length

    def __init__(self, seed, *, smooth, forms=(), kinds="fgibc"):
        self.rng, self.smooth, self.forms = random.Random(seed), smooth, forms
        self.extra = random.Random(f"forms of {seed}")  # programs without forms stay what they are
        self.seed, self.inside, self.checks, self.most_checks = seed, 0, 0, self.extra.choice((1, 1, 3))
        scope = [(name, t) for name, t in INPUTS.items() if name != "k" and t[0] in kinds]
        wanted = [(self.rng.choice("fff" if smooth else "f" + kinds), ()) for _ in range(self.rng.choice((1, 2)))]
        self.kinds = [kind for kind, _ in wanted]
        self.parts = [self.loop(kind, scope, 3 if "deep" in forms else 2 if smooth else 3) for kind, _ in wanted]

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
        if "guarded" in self.forms and self.extra.random() < 0.5:
            ways = [self.branches]
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
            if "deep" in self.forms and loops and not shape and not found:
                inner = self.loop(kind, scope, loops)
            else:
                inner = self.value(kind, shape, scope, self.rng.choice((1, 2, 3)), loops)
            read = [name for name, (k, s) in slices if k == kind and s in ((), shape)]
            found.append(self.mixed(kind, inner, own, self.rng.choice(read) if read else None))
        same = [k for k, t in enumerate(types) if t == types[0]]
        if len(same) > 1 and self.rng.random() < 0.3:  # two that change places
            for k, other in zip(same[:2], same[1::-1], strict=True):
                found[k] = lambda space, env, name=names[other]: env[name]
        return found

    def guard(self, value, scope):
        """An expression with a check, of the number of the step that it is given, and the place where it may fail."""
        if "guarded" not in self.forms or self.checks == self.most_checks or self.extra.random() < 0.4:
            return None
        self.checks += 1
        where = self.extra.choice(("first", "last", "last", "third", "never", "always"))
        or_else = self.value("b", (), scope, 1) if self.extra.random() < 0.3 else None
        text = f"check {self.checks}: found step {{0}}"

        def run(space, env, step, count):
            place = {"first": 0, "last": count - 1, "third": 2, "never": -1, "always": step}[where]
            condition = step != place
            if or_else is not None:
                condition = condition | or_else(space, env)
            return space.checked(value(space, env), condition, text, step)

        return run

    def guarded(self, after, scope):
        """The first of expressions with a check, if there is one; all are functions of the step and the count too."""
        check = self.guard(after[0], scope)
        others = [lambda space, env, step, count, f=f: f(space, env) for f in after]
        return [check or others[0], *others[1:]], check is not None

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
        after, is_guarded = self.guarded(self.after(names, types, inner, loops, slices), inner)
        segments = self.extra.choice((1, 2, 3)) if "segments" in self.forms and chosen else None
        traced = [(k, s) for k, s in (rng.choice(types), (kind, ()))][: rng.choice((0, 1, 2))]
        given = [self.value(k, s, inner, 2, loops) for k, s in traced]
        pick = rng.choice(range(len(traced))) if traced and traced[-1][0] == kind and rng.random() < 0.6 else None
        kinds = [k for k, _ in types]

        def run(space, env):
            count = env["k"] if length == "k" else length
            steps = space.length(env[chosen[0][0]]) if chosen else count

            def step(carry, xs):
                number, carry = (carry[0], carry[1:]) if is_guarded else (0, carry)
                local = {**env, **dict(zip(names, carry, strict=True))}
                local |= {name: x for (name, _), x in zip(slices, xs or (), strict=True)}
                made = tuple(f(space, local, number, steps) for f in after)
                return (number + 1, *made) if is_guarded else made, tuple(f(space, local) for f in given)

            def empty():
                sizes = env["sizes"]
                return [np.empty((0, *(sizes[n] for n in s)), DTYPES[k]) for k, s in traced]

            init = (*((0,) if is_guarded else ()), *(f(space, env) for f in starts))
            xs = tuple(env[n] for n, _ in chosen)
            all_kinds = [*("i" if is_guarded else ""), *kinds]
            carry, ys = space.scan(step, init, xs, count, reverse, all_kinds, empty, segments)
            carry = carry[1:] if is_guarded else carry
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
        after, _ = self.guarded(self.after(names, types, inner, loops), inner)
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
                return (carry[0] + 1, *(f(space, inside, carry[0], bound) for f in after))

            init = (0, *(f(space, env) for f in starts))
            return space.while_loop(goes_on, body, init, most, kinds)[1]

        return run

    def counted(self, kind, scope, loops):
        low, high = self.rng.choice((-1, 0, 2)), self.rng.choice((0, 1, 2, 4, "k"))
        name, number = self.name(), self.name()
        inner = [*scope, (number, ("i", ())), (name, (kind, ()))]
        start = self.value(kind, (), scope, 1, loops)
        (after,), _ = self.guarded(self.after([name], [(kind, ())], inner, loops), inner)

        def run(space, env):
            end = env["k"] if high == "k" else high

            def body(t, c):
                return after(space, {**env, number: t, name: c}, t - low, end - low)

            return space.fori_loop(low, end, body, start(space, env))

        return run

    def branches(self, kind, scope, loops):
        rng = self.rng
        given = self.name()
        # what a batch of elements with branches of their own does not read, it does not compute: nothing fails there
        operand = self.value("f", (), scope, 0) if "batched" in self.forms else self.value("f", (), scope, 1, loops)
        inner = [*scope, (given, ("f", ()))]
        if rng.random() < 0.5:
            asked = self.value("b", (), scope, 2, 0)
            parts = [self.value(kind, (), inner, 2, loops) for _ in range(2)]
        else:
            asked = self.value("i", (), scope, 2, 0)
            count = rng.choice((1, 2, 3))  # of one, a batch does not read the number
            parts = [self.value(kind, (), inner, 2, loops) for _ in range(max(count, 1 + ("batched" in self.forms)))]
            parts.append(None)
        checks = [f and (self.guard(f, inner) or (lambda space, env, step, count, f=f: f(space, env))) for f in parts]

        def run(space, env):
            functions = [lambda v, f=f: f(space, {**env, given: v}, env["i"], 1) for f in checks if f is not None]
            if parts[-1] is None:
                return space.switch(asked(space, env), functions, operand(space, env))
            return space.cond(asked(space, env), *functions, operand(space, env))

        return run
