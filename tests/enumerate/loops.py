"""Programs of loops, drawn by a seed: what they give, and their derivatives, against plain Python loops over NumPy.

    python -m tests.enumerate.loops --count 2000 --backend perform --seed 0

A program is a function of a namespace and values, run twice: with tg, and with `Plain`, whose loops are Python's. Loops
stand in one another, in branches and in conditions; what they read besides their arguments they capture. Derivatives
are compared along a direction with differences of the plain program in extended precision, of which two steps must
agree: at a jump of a condition there is none.

A program may be of several forms at once: of loops three deep, of a batch of values by `tg.vmap` (the plain one runs
for one element after another), with checks that fail in the first step, the last, another or none, or in a branch that
may not be taken, with a gradient of a gradient, scans that keep few carries, and arguments that are given away.
"""

from __future__ import annotations

import argparse
import itertools
import random
import warnings

import numpy as np

import tg
from tg import plugin

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
FORMS = {"deep": 0.15, "batched": 0.25, "guarded": 0.35, "twice": 0.2, "segments": 0.2, "donated": 0.2}  # how often
BATCHES = (0, 1, 2, 3, 3)
ROUNDING = {"f": 1e-9, "g": 2e-4, "c": 1e-9}


class FailedError(Exception):
    """A check of a plain program that fails, with the text of its error."""


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


def _typed(value, kind):
    """A Python number in the dtype that it takes."""
    return np.dtype(DTYPES[kind]).type(value) if type(value) in (int, float) else value


class Drawn:
    """A program by its seed: `run(namespace, values)` gives the results."""

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


def inputs_of(seed, batch=None, kinds="fgibc"):
    """The inputs' variables and arrays; with a batch, the names of those that have an axis of so many in front."""
    rng, chosen = np.random.default_rng(seed), random.Random(f"lengths of {seed}")
    sizes = {"n": chosen.choice((*LENGTHS, 7)), "m": chosen.choice((0, 1, 2, 3, 3)), "k": chosen.choice((*LENGTHS, 7))}
    is_known, arrays, variables = chosen.random() < 0.3, {}, {}
    batched = [] if batch is None else ["s", *(n for n in INPUTS if n not in "sk" and chosen.random() < 0.5)]
    for name, (kind, shape) in INPUTS.items():
        lengths = (*([batch] if name in batched else []), *(sizes[n] for n in shape))
        if kind == "i":
            array = rng.integers(-3, 5, lengths) if name != "k" else np.int64(sizes["k"])
        else:
            array = rng.uniform(-1, 1, lengths)
            array = array + 1j * rng.uniform(-1, 1, lengths) if kind == "c" else array
        arrays[name] = np.asarray(array, DTYPES[kind])
        variables[name] = tg.tensor(name, DTYPES[kind], shape=lengths if is_known else (None,) * len(lengths))
    for name in [name for name, (kind, _) in INPUTS.items() if kind not in kinds]:
        del variables[name], arrays[name]
    return variables, arrays, {**sizes, "batched": [name for name in batched if name in variables]}


class DifferenceError(AssertionError):
    """A program that comes out otherwise than it should."""


def _fails(error):
    """Whether what a program gave is how it failed."""
    return error is IndexError or isinstance(error, FailedError)


def expected(drawn, arrays, sizes, wide=()):
    """What the plain program gives: results, or how it fails."""
    given = {name: a.astype(np.longdouble) if name in wide else a[()] for name, a in arrays.items()}
    try:
        if "batched" not in drawn.forms:
            return drawn.run(Plain, {**given, "sizes": sizes})
        names = sizes["batched"]
        count = len(given[names[0]])
        rows = [drawn.run(Plain, {**given, "sizes": sizes, **{n: given[n][b] for n in names}}) for b in range(count)]
        columns = zip(*rows, strict=True) if rows else [()] * len(drawn.kinds)
        empty = [np.empty(0, DTYPES[kind]) for kind in drawn.kinds]
        return [np.stack(column) if column else none for column, none in zip(columns, empty, strict=True)]
    except IndexError:
        return IndexError
    except FailedError as error:
        return error


def outputs_of(drawn, variables, sizes):
    """The results of the program of tg."""
    names = sizes["batched"]
    if "batched" not in drawn.forms:
        return [tg.as_variable(v) for v in drawn.run(Tg, {**variables, "sizes": sizes})]

    def one(*values):
        return drawn.run(Tg, {**variables, "sizes": sizes, **dict(zip(names, values, strict=True))})

    return list(tg.vmap(one)(*(variables[n] for n in names)))


def results_of(variables, arrays, outputs, backend, *, donated=False):
    """What tg gives, or how it fails."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        given = [v for v in variables.values() if v.type.ndim] if donated else []
        f = tg.function(list(variables.values()), outputs, backend=backend, on_unused_input="ignore", donate=given)
        try:
            return [np.asarray(v) for v in f(*(a.copy() for a in arrays.values()))]
        except tg.BoundsError:
            return IndexError
        except tg.AssertionFailed as error:
            return FailedError(str(error).partition("\n")[0])


FLOATS = [name for name, (kind, _) in INPUTS.items() if kind == "f"]


def slopes(drawn, arrays, sizes, directions, h):
    """First and second difference of the plain program's sum along a direction, in extended precision."""
    found = []
    for sign in (1, 0, -1):
        moved = {n: a.astype(np.longdouble) for n, a in arrays.items() if n in FLOATS}
        moved = {n: a + sign * np.longdouble(h) * directions[n] for n, a in moved.items()}
        values = expected(drawn, {**arrays, **moved}, sizes, FLOATS)
        if _fails(values):
            return np.nan, np.nan
        found.append(sum(np.sum(np.longdouble(v)) for v in values))
    return float((found[0] - found[2]) / (2 * h)), float((found[0] - 2 * found[1] + found[2]) / h**2)


def forms_of(seed):
    """Of what forms the program of a seed is."""
    rng = random.Random(f"which forms {seed}")
    return [name for name, often in FORMS.items() if rng.random() < often]


def kinds_of(backend):
    """The kinds of values that a backend has dtypes for."""
    known = plugin.registry().backend(backend).dtypes
    return "".join(kind for kind, dtype in DTYPES.items() if dtype in known)


def compared(seed, backend, forms=None):
    """Run a program both ways; what differs is a `DifferenceError`. The number of results compared."""
    smooth = seed % 2 == 1
    kinds = kinds_of(backend)
    drawn = Drawn(seed, smooth=smooth, forms=forms_of(seed) if forms is None else forms, kinds=kinds)
    batch = random.Random(f"batch of {seed}").choice(BATCHES) if "batched" in drawn.forms else None
    variables, arrays, sizes = inputs_of(seed, batch, kinds)
    wanted = expected(drawn, arrays, sizes)
    outputs = outputs_of(drawn, variables, sizes)
    more = {}
    if smooth:
        cost = sum(map(tg.sum, outputs), tg.constant(0.0))
        wrt = [variables[n] for n in FLOATS]
        rng = np.random.default_rng(seed)
        directions = {n: rng.uniform(-1, 1, arrays[n].shape) for n in FLOATS}
        along = [tg.constant(directions[n]) for n in FLOATS]

        def down(cost):
            gradient = tg.grad(cost, wrt, disconnected="zero")
            return sum((tg.sum(g * t) for g, t in zip(gradient, along, strict=True)), tg.constant(0.0))

        more = {"grad": down(cost), "jvp": tg.jvp(cost, wrt, along, disconnected="zero")}
        if "twice" in drawn.forms:
            more["grad of grad"] = down(more["grad"])
        elif seed % 3 == 0:
            more["jvp of grad"] = tg.jvp(more["grad"], wrt, along, disconnected="zero")
    found = results_of(variables, arrays, [*outputs, *more.values()], backend, donated="donated" in drawn.forms)
    if _fails(wanted) or _fails(found):
        if batch == 0:  # what is the same for all elements is computed, and can fail, where there is none
            return 1
        if not _fails(wanted) or not _fails(found) or not _alike(found, wanted, drawn):
            raise DifferenceError(f"raises: found {found!r}, needed {wanted!r}")
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
            for name, value in zip(more, found[len(outputs) :], strict=True):
                true, limit = (bend, 1e-3) if " of " in name else (half, 1e-7)
                if not abs(float(value) - true) < limit * (1 + abs(true)):
                    raise DifferenceError(f"{name}: {float(value)}, needed {true}")
            return len(found)
    return len(outputs)


def _alike(found, wanted, drawn):
    """Whether two failures are the same: where several checks can fail in one step, either may be told."""
    if drawn.checks != 1 or wanted is IndexError or found is IndexError:
        return drawn.checks > 0 or found is wanted
    if "batched" in drawn.forms:  # the first element that fails is not the first step in which one does
        return str(wanted).partition(":")[0] in str(found)
    return str(wanted) == str(found)


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
