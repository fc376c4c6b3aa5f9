"""Random programs, drawn step by step while NumPy computes them, and what they must give however they are compiled."""

from __future__ import annotations

import functools
import math
import warnings

import numpy as np

import tg
from tests.fuzz.names import NUMPY, ROUNDED_OTHERWISE, TG
from tests.fuzz.perturbation import Expectation, frozen_of, one_way, run
from tests.fuzz.steps import MAKERS, Step, is_inexact
from tg import plugin
from tg.errors import ShapeError, TgError
from tg.graph.facts import ELEMENT, FACTS, fact_holds
from tg.graph.function_graph import FunctionGraph
from tg.graph.op import Op
from tg.rewrite.driver import rewrite

DTYPES = (
    "float64", "float64", "float64", "float64", "float64", "float32", "int64", "int32", "uint8", "bool", "complex128",
)  # fmt: skip
LENGTHS = (3, 2, 1, 4, 0, 1, 3)
KINDS = ("simple", "simple", "simple", "ordinary", "ordinary", "ordinary", "hostile", "hostile", "extreme")
LARGEST_SIZE = 200
LARGEST = 1e5  # beyond it a value is seldom kept, so that most programs stay away from overflow
HOSTILE = (0.0, -0.0, 1.0, -1.0, 0.5, 2.0, np.nan, 1e-310, 40.0, -40.0)
EXTREME = (*HOSTILE, np.inf, -np.inf, 800.0, -800.0, 1e200)


class Program:
    """A program: inputs with their arrays, steps, and which values are its outputs; `pick(n)` draws below n."""

    def __init__(self, pick):
        self.pick = pick
        self.inputs, self.promises, self.steps, self.values = [], [], [], []
        for _ in range(1 + pick(3)):
            self._add_input()
        for _ in range(4 + pick(20)):
            self._add_step()
        count = len(self.values)
        self.chosen = sorted({count - 1, *(pick(count) for _ in range(pick(3)))})
        self.cost = self._cost()
        self.shape_of_cost = pick(4)
        self.twice = pick(8) == 7

    def choose(self, options):
        return options[self.pick(len(options))]

    def operand(self, test=lambda v: True):
        """The number of an earlier value, the later the likelier; None where no value passes the test."""
        found = [k for k, v in enumerate(self.values) if test(v)]
        return self.choose(found[-3:] if self.pick(3) else found) if found else None

    @property
    def arrays(self):
        """The arrays of the inputs."""
        return self.values[: len(self.inputs)]

    def _add_input(self):
        dtype = self.choose(DTYPES)
        shape = tuple(self.choose(LENGTHS) for _ in range(self.choose((1, 2, 2, 0, 3))))
        kind, seed = self.choose(KINDS), self.pick(1000)
        value = drawn(dtype, shape, kind, np.random.default_rng(seed))
        self.inputs.append(tg.tensor(f"x{len(self.inputs)}", dtype, [n if self.pick(2) else None for n in shape]))
        promised = self.pick(5) == 4 and dtype != "bool" and value.size
        known = {name for name in ELEMENT if possible(name, dtype) and fact_holds(name, value)}
        contradictory = known >= {"positive", "nonpositive"} or known >= {"negative", "nonnegative"}  # all are NaN
        self.promises.append(tuple(sorted(known)) if promised and not contradictory else ())
        self.values.append(value)

    def _add_step(self):
        step = self.choose(MAKERS)(self)
        if step is None or None in step.operands:
            return
        try:
            value = computed(step, NUMPY, [self.values[k] for k in step.operands])
        except (ValueError, IndexError, TypeError, OverflowError, TgError):
            return
        if value is None or value.size > LARGEST_SIZE or value.ndim > 4 or value.dtype.name not in KEPT:
            return
        if is_inexact(value) and self.pick(8):
            finite = value[np.isfinite(value)]
            if finite.size and np.abs(finite).max() > LARGEST:
                return
        self.steps.append(step)
        self.values.append(value)

    def _cost(self):
        """The value whose gradient is taken, the last that is floating; None where there is none."""
        found = [k for k, v in enumerate(self.values) if v.dtype.name in ("float64", "float32", "complex128")]
        return found[-1] if found and found[0] < len(self.inputs) else None

    def run(self, names, inputs):
        """All values in a namespace."""
        found = list(inputs)
        for step in self.steps:
            found.append(step.apply(names, *(found[k] for k in step.operands)))
        return found

    def symbols(self):
        """All values as variables."""
        pairs = zip(self.inputs, self.promises, strict=True)
        return self.run(TG, [tg.assume(x, **dict.fromkeys(names, True)) if names else x for x, names in pairs])

    def outputs(self, symbols):
        """The chosen values, then the gradients of the cost."""
        outputs = [symbols[k] for k in self.chosen]
        if self.cost is None:
            return outputs
        wrt = [v for v in self.inputs if v.type.dtype in ("float64", "float32", "complex128")]
        gradients = tg.grad(self._scalar(symbols[self.cost]), wrt, disconnected="zero")
        if self.twice:
            total = functools.reduce(lambda a, b: a + b, [self._scalar(g) for g in gradients])
            gradients += tg.grad(total, wrt, disconnected="zero")
        return outputs + list(gradients)

    def _scalar(self, y):
        if y.type.dtype == "complex128":
            y = tg.real(y) + 2 * tg.imag(y)
        y = (y, tg.tanh(y), y * y, tg.sin(y))[self.shape_of_cost]
        return tg.sum(y)

    @property
    def ones(self):
        """The unknown lengths of inputs that are 1."""
        pairs = enumerate(zip(self.inputs, self.arrays, strict=True))
        return [(k, a) for k, (v, x) in pairs for a, n in enumerate(v.type.shape) if n is None and x.shape[a] == 1]

    def has_a_computed_one(self, symbols):
        """Whether a length that is computed is 1: it does not broadcast, and what NumPy computes may be refused."""
        pairs = [(s, v) for s, v in zip(symbols, self.values, strict=True) if s.apply]
        return any((n, m) == (None, 1) for s, v in pairs for n, m in zip(s.type.shape, v.shape, strict=True))

    def needed(self):
        """The numbers of the values that the outputs and the cost are made of."""
        found, stack = set(), [*self.chosen, *([] if self.cost is None else [self.cost])]
        while stack:
            k = stack.pop()
            if k not in found:
                found.add(k)
                stack.extend(self.steps[k - len(self.inputs)].operands if k >= len(self.inputs) else ())
        return found

    def __repr__(self):
        count, needed = len(self.inputs), self.needed()
        lines = []
        for k, (v, names) in enumerate(zip(self.inputs, self.promises, strict=True)):
            promised = f" promised {', '.join(names)}" if names else ""
            lines.append(f"{k}: {v.type} = {self.values[k].tolist()}{promised}")
        lines += [f"{count + k}: {s.name} {s.text} of {s.operands}" for k, s in enumerate(self.steps)]
        lines = [line for k, line in enumerate(lines) if k in needed]
        cost = ("sum", "sum of tanh", "sum of squares", "sum of sines")[self.shape_of_cost]
        end = [] if self.cost is None else [f"gradients of the {cost} of {self.cost}{', twice' * self.twice}"]
        return "\n".join(["program", *lines, f"outputs {self.chosen}", *end])


def possible(name, dtype):
    """Whether a fact can be promised of a dtype."""
    if FACTS[name].ordered and dtype.startswith("complex"):
        return False
    return not (dtype.startswith("uint") and name in ("negative", "nonpositive"))


KEPT = frozenset({*DTYPES, "uint64"})


def computed(step: Step, names, operands):
    """The value of a step, None where it has several."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = step.apply(names, *operands)
    return None if isinstance(found, tuple | list) else np.asarray(found)


def drawn(dtype, shape, kind, rng):
    """An array of a class of values: few simple ones with ties, ordinary ones, or such as go wrong."""
    count = math.prod(shape)
    if dtype == "bool":
        return (rng.integers(0, 2, count) == 1).reshape(shape)
    if dtype == "uint8":
        return rng.integers(0, 256 if kind in ("hostile", "extreme") else 6, count).astype(dtype).reshape(shape)
    if dtype.startswith("int"):
        values = rng.integers(-4, 5, count)
        if kind in ("hostile", "extreme") and count:
            info = np.iinfo(dtype)
            values = rng.choice(np.array([0, 1, -1, 2, 3, info.min, info.max], dtype), count)
        return values.astype(dtype).reshape(shape)
    if dtype.startswith("complex"):
        parts = [drawn("float64", shape, "simple" if kind == "simple" else "ordinary", rng) for _ in range(2)]
        return (parts[0] + 1j * parts[1]).astype(dtype)
    if kind == "simple":
        return (rng.integers(-4, 5, count) / 4).astype(dtype).reshape(shape)
    values = rng.normal(size=count) * rng.choice([1.0, 1.0, 3.0, 30.0])
    if kind in ("hostile", "extreme") and count:
        chosen = HOSTILE if kind == "hostile" else EXTREME
        values = np.where(rng.random(count) < 0.3, rng.choice(chosen, count), values)
    with np.errstate(all="ignore"):
        return values.astype(dtype).reshape(shape)


class Difference(AssertionError):  # noqa: N818 (reads as the fact it states)
    """A compiled program gives something else than the program as it is written."""


class Checked:
    """A program as it is written, and what follows from interpreting it."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.symbols = program.symbols()
        self._follows_numpy_types()
        self.outputs = program.outputs(self.symbols)
        self.refused = program.has_a_computed_one(self.symbols)
        try:
            frozen = frozen_of(program.inputs, self.outputs, program.ones)
            self.expected = Expectation(frozen, program.arrays)
        except ShapeError:
            if not self.refused:
                raise
            self.expected = None

    def _follows_numpy_types(self):
        for symbol, value in zip(self.symbols, self.program.values, strict=True):
            known = zip(symbol.type.shape, value.shape, strict=False)
            alike = (symbol.dtype, symbol.ndim) == (value.dtype.name, value.ndim)
            if not alike or any(n not in (None, m) for n, m in known):
                self.fail(f"{symbol.type} where NumPy has {value.dtype}{list(value.shape)}")

    def fail(self, what):
        raise Difference(f"{what}\n{self.program!r}")

    def agrees_with_numpy(self):
        """The values of the program as it is written are NumPy's."""
        if self.expected is None:
            return
        exact = not any(step.name in ROUNDED_OTHERWISE for step in self.program.steps)
        wanted = [self.program.values[k] for k in self.program.chosen]
        found = self.expected.confirmed([*wanted, *self.expected.outputs[len(wanted) :]])
        if found is not None and exact:
            self.fail(f"as written, against NumPy (which is what is called found): {found}")

    def agrees_compiled(self, backend, mode="default", **options):
        """The program compiled by a backend gives what it gives as it is written."""
        if self.expected is None:
            return
        program = self.program
        try:
            f = tg.function(
                program.inputs, self.outputs, backend=backend, mode=mode, on_unused_input="ignore", **options
            )
            found = f(*program.arrays)
        except Exception as error:
            if isinstance(error, ShapeError) and self.refused:
                return
            error.add_note(f"{program!r}\n{backend}, mode {mode}{self._suspects(mode)}")
            raise
        wrong = self.expected.confirmed(found, flushes=takes_subnormals_for_0(backend))
        if wrong is not None:
            self.fail(f"{backend}, mode {mode}: {wrong}{self._suspects(mode)}")

    def is_exact_in_strict_mode(self):
        """Exact rewrites change no bit."""
        if self.expected is None:
            return
        try:
            wrong = self._wrong_interpreted("strict", ())
        except Exception as error:
            if isinstance(error, ShapeError) and self.refused:
                return
            error.add_note(f"{self.program!r}\nmode strict{self._suspects('strict')}")
            raise
        if wrong is not None:
            self.fail(f"mode strict: {wrong}{self._suspects('strict')}")

    def _wrong_interpreted(self, mode, exclude):
        """The difference that rewriting makes when both programs are interpreted."""
        found = run(self._rewritten(mode, exclude)[0], self.program.arrays).outputs
        return self.expected.difference(found, strict=True) if mode == "strict" else self.expected.confirmed(found)

    def _suspects(self, mode):
        """Each rewrite without which the reference shows no difference, in words."""
        found = []
        for name in sorted(one.name for one in self._possible(mode)):
            try:
                if self._wrong_interpreted(mode, (name,)) is None:
                    found.append(name)
            except Exception:  # noqa: BLE001 (whatever it is, it is not what is looked for)
                continue
        return f"; not without {', '.join(found)}" if found else ""

    def _possible(self, mode):
        """The rewrites that fire, or all where rewriting does not come to an end."""
        known = plugin.registry().rewrites("perform")
        try:
            fired = self._rewritten(mode, ())[1]
        except Exception:  # noqa: BLE001 (what is looked for)
            return (*known.rules, *known.passes)
        return [one for one in (*known.rules, *known.passes) if one.name in fired]

    def _rewritten(self, mode, exclude):
        graph = FunctionGraph.of(self.program.inputs, self.outputs, self.program.ones)
        rewrites = [plugin.registry().rewrites("perform")]
        with one_way():
            frozen = rewrite(graph, rewrites, supported=performs, mode=mode, exclude=frozenset(exclude))
        return frozen, dict(graph.fired)


def takes_subnormals_for_0(backend):
    """Whether a backend says so, by a gap."""
    return any(gap.op == "subnormals" for gap in plugin.registry().gaps(backend))


def performs(op, types):
    """Whether the reference has the op itself."""
    return type(op).perform is not Op.perform
