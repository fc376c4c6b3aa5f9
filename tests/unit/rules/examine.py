"""Examining a rewrite: it is applied alone to what it is for, and held to the promise of its class at hostile points.

A rule is run on its own left side (an equation) or its example (a node rule, a pass), for every dtype that it fires
for, with lengths known, unknown, 0 and 1. `exact` means every bit; `signed_zero` every bit but the signs of zeros;
`reassociates` what rounding explains (`tests.fuzz.perturbation`), no NaN hidden, and a new one only of an infinite
operand; `nan_unsafe` the same where there is no NaN to hide; `drops_error` exact where no error is raised. A class that
is weaker than anything that was seen is reported too.
"""

from __future__ import annotations

import copy
from typing import NamedTuple

import numpy as np

import tg
from tests.fuzz.noise import is_inexact, limits
from tests.fuzz.perturbation import Expectation, bits_differ, one_way, run, shown
from tg.errors import TgError
from tg.graph.facts import FACTS, fact_holds
from tg.graph.function_graph import FunctionGraph
from tg.rewrite.driver import rewrite
from tg.rewrite.phases import DROPS_ERROR, EXACT, NAN_UNSAFE, REASSOCIATES, SIGNED_ZERO, STABILIZE
from tg.rewrite.rule import Equation, Pass
from tg.types.dtypes import DTYPES, is_integer, numpy_dtype

SHAPES = ((None, None), (4, 4), (), (0, 4), (1, 4), (1, 1), (4,))
FEW_DTYPES = ("float64", "int64", "complex128", "bool")  # for which every shape is tried
BENIGN = (0.3, 0.7, 1.0, 1.3, 2.0, 2.9, 0.4, 0.6)
MODERATE = (0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 2.0, -2.0, 0.1, -0.1, -3.0, 1e-3)
WIDE = (9.0, -7.0, 20.0, -20.0)  # beyond halves: their exponentials overflow


class One:
    """The rewrites of one plugin that has a single rule or pass."""

    def __init__(self, one):
        self.rules = () if isinstance(one, Pass) else (one,)
        self.passes = (one,) if isinstance(one, Pass) else ()


class Flaw(AssertionError):  # noqa: N818 (reads as the fact it states)
    """A rewrite that does not keep its promise."""


def admitted(one):
    """The same rewrite under a class that every mode applies."""
    same = copy.copy(one)
    same.kind = EXACT
    return same


def builder(one):
    """The function that builds what a rewrite is for, and the number of its operands."""
    function = one.match if isinstance(one, Equation) else one.example
    code = getattr(function, "__code__", None)
    return function, code.co_argcount if code is not None else getattr(function, "arity", 1)


class Subject(NamedTuple):
    """What a rewrite is for in one dtype and shape, before and after."""

    dtype: str
    shape: tuple
    count: int
    before: object
    after: object

    def __str__(self):
        return f"{self.dtype}{list(self.shape)}"


def subject(one, dtype, shape, prepare) -> Subject | None:
    """The left side or example of a rewrite for a dtype and shape; None if there is none, or nothing fires."""
    function, count = builder(one)
    inputs = [tg.tensor(f"x{k}", dtype, shape) for k in range(count)]
    try:
        made = function(*(prepare(x, k, count) for k, x in enumerate(inputs)))
        outputs = list(made) if isinstance(made, tuple | list) else [made]
        before = FunctionGraph.of(inputs, outputs).freeze()
    except (TgError, TypeError, ValueError, OverflowError, IndexError, AttributeError, RuntimeError):
        return None
    if any(node.op.name in FLOATS_ONLY and is_discrete(before.types[node.inputs[0]]) for node in before.nodes):
        return None
    for exclude in (frozenset({"fold_constants"}), frozenset()):  # some look for what folding makes
        graph = FunctionGraph.of(inputs, outputs)
        try:
            after = rewrite(graph, [One(admitted(one))], supported=lambda op, types: True, exclude=exclude)
        except (TgError, IndexError, RuntimeError, ValueError):
            if len(shape) == 2:
                raise
            return None  # an op that is given fewer axes than it has need not say so
        if graph.fired.get(one.name):
            break
    else:
        return None
    for old, new in zip(before.output_types, after.output_types, strict=True):
        if not new.refines(old):
            raise Flaw(f"{dtype}{list(shape)}: gives {new}, needed {old}")
    return Subject(dtype, shape, count, before, after)


def subjects(one):
    """All that a rewrite is tried on: with the first way to prepare operands with which it fires."""
    for prepare in PREPARED if isinstance(one, Equation) and one.when is not None else PREPARED[:1]:
        found = False
        for dtype in sorted(one.dtypes) if isinstance(one, Equation) else DTYPES:
            for shape in SHAPES if dtype in FEW_DTYPES else SHAPES[:2]:
                made = subject(one, dtype, shape, prepare)
                if made is not None:
                    found = True
                    yield made
        if found:
            return


FLOATS_ONLY = frozenset({"Softmax", "LogSumExp", "CumProdPullback"})  # functions cast to floats before they use these


def is_discrete(type_):
    return type_.dtype == "bool" or is_integer(type_.dtype)


def with_facts(*names):
    return lambda x, k, count: tg.assume(x, **dict.fromkeys(names, True))


def constant_last(*names):
    return lambda x, k, count: tg.constant(np.array(3, x.dtype)) if k == count - 1 else with_facts(*names)(x, k, count)


PREPARED = (  # ways to make operands that fulfil the condition of an equation
    lambda x, k, count: x, with_facts("finite"), with_facts("finite", "nonzero"), with_facts("nonnegative"),
    with_facts("positive"), with_facts("nonnegative", "no_negative_zero"), with_facts("finite", "positive"),
    with_facts("not_nan"), with_facts("not_nan", "nonzero"), with_facts("negative"), with_facts("nonpositive"),
    with_facts("whole"), with_facts("nonzero"), constant_last(), constant_last("finite"), constant_last("nonnegative"),
    lambda x, k, count: tg.square(x), lambda x, k, count: tg.broadcast_to(tg.constant(np.array(2, x.dtype)), x.shape),
)  # fmt: skip


def hostile(dtype):
    """The values of a dtype at which rewrites go wrong."""
    if dtype == "bool":
        return np.array([True, False])
    if is_integer(dtype):
        info = np.iinfo(dtype)
        values = [0, 1, 2, 3, 5, 7, 8, 64, info.max, info.max - 1, info.min, info.min + 1, -1, -2, -3, -7]
        return np.array(list(dict.fromkeys(v for v in values if info.min <= v <= info.max)), dtype)
    kind = numpy_dtype(dtype)
    if kind.kind == "c":
        parts = (0.0, -0.0, 1.0, -1.5, np.inf, np.nan)
        return np.array([complex(a, b) for a in parts for b in parts], kind)
    info = limits(kind)
    edges = (info.tiny, -info.tiny, info.least, -3 * info.least, info.largest, -info.largest, info.largest / 3)
    edges += (info.largest**0.5 * 2, info.tiny**0.5 / 2, 90.0, -90.0, 800.0, -800.0, 1 - info.eps / 2, 1 + info.eps)
    with np.errstate(all="ignore"):
        return np.array([*moderate(dtype).astype(np.float64), *edges, np.inf, -np.inf, np.nan]).astype(kind)


def moderate(dtype):
    """Values with ties and zeros, of which ordinary formulas overflow in no dtype."""
    if dtype == "bool":
        return np.array([True, False])
    if is_integer(dtype):
        info = np.iinfo(dtype)
        return np.array([v for v in (0, 1, 2, 3, 5, -1, -2, -5) if v >= info.min], dtype)
    kind = numpy_dtype(dtype)
    if kind.kind == "c":
        return np.array([complex(a, b) for a in (0.0, -0.0, 1.0, -1.5, 0.3) for b in (0.0, -0.0, -2.0, 0.7)], kind)
    return np.array((*MODERATE, *(() if kind.itemsize == 2 else WIDE))).astype(kind)


def benign(dtype, shape, k=0):
    """Ordinary numbers, the same in every run."""
    count = int(np.prod(shape))
    if dtype == "bool" or is_integer(dtype):
        return np.resize(np.roll(moderate(dtype), k), count).reshape(shape)
    values = np.resize(np.roll(np.array(BENIGN), 3 * k), count) * (1 + 0.01 * np.arange(count))
    return (values * (1 + 0.3j * k if dtype.startswith("complex") else 1)).reshape(shape).astype(numpy_dtype(dtype))


class Data(NamedTuple):
    """The arrays of one trial; `tame` ones are finite or NaN, and far from overflow."""

    name: str
    arrays: list
    tame: bool


def trials(one: Subject):
    """The arrays that a subject is tried on."""
    rng = np.random.default_rng(7)
    known = None not in one.shape
    shape = one.shape if known else (4, 4)
    yield Data("ordinary", [benign(one.dtype, shape, k) for k in range(one.count)], tame=True)
    if 0 in shape:
        return
    easy, hard = moderate(one.dtype), hostile(one.dtype)
    inexact = is_inexact(easy.dtype)
    if not known:
        yield Data("pairs of ties", grid(easy, one.count, rng), tame=True)
        yield Data("pairs of hostile values", grid(hard, one.count, rng), tame=not inexact)
    for _ in range(2 if known else 4):
        yield Data("ties", [rng.choice(easy, shape) for _ in range(one.count)], tame=True)
        yield Data("hostile", [rng.choice(hard, shape) for _ in range(one.count)], tame=not inexact)
        if easy.dtype.kind == "c":  # of infinities nothing is promised, of NaN all
            yield Data("NaN", [rng.choice(hard[~np.isinf(hard)], shape) for _ in range(one.count)], tame=True)
        if inexact and shape:
            for special, tame in ((np.nan, True), (np.inf, False), (limits(easy.dtype).largest, False)):
                arrays = [benign(one.dtype, shape, k) for k in range(one.count)]
                arrays[rng.integers(one.count)][tuple(rng.integers(n) for n in shape)] = special
                yield Data(f"one element {special}", arrays, tame=tame)
    if inexact and not known:
        for _ in range(3):
            positive = np.abs(rng.choice(hard[np.isfinite(hard)], (one.count, *shape)))
            yield Data("finite", [x.astype(easy.dtype) for x in positive], tame=False)


def grid(values, count, rng):
    """Square arrays in which every pair of values meets (of the first two operands)."""
    n = max(len(values), 4)
    values = np.resize(values, n)
    rows, columns = np.meshgrid(values, values)
    more = [rng.permutation(rows.ravel()).reshape(n, n) for _ in range(max(0, count - 2))]
    return [np.ascontiguousarray(columns), rows, *more][:count]


def keeping_promises(frozen, data):
    """The arrays with elements of which something else is assumed replaced; None where that does not do."""
    if not getattr(frozen, "assumed", None):
        return data
    arrays = list(data.arrays)
    for number, names in frozen.assumed.items():
        if number < frozen.arity:
            arrays[number] = having(arrays[number], names)
    try:
        values = run(frozen, arrays).values
    except TgError:
        return None
    hold = all(fact_holds(name, values[k]) for k, names in frozen.assumed.items() for name in names)
    return data._replace(arrays=arrays) if hold else None


def having(x, names):
    """The array with each element that lacks one of the facts replaced by one that has it."""
    found = x.copy()
    for place in np.ndindex(x.shape):
        if not all(fact_holds(name, found[place][None]) for name in names if not FACTS[name].matrix):
            found[place] = -1.5 if {"negative", "nonpositive"} & names else 2
    return found


class Examination:
    """What was seen of one rewrite over all that it was tried on."""

    def __init__(self, one):
        self.one = one
        self.fired: set[str] = set()
        self.seen: set[str] = set()  # "value", "zero", "nan", "error": what it was seen to change

    def conduct(self):
        """Raise for what is wrong, or return what the rewrite was seen to change."""
        for case in subjects(self.one):
            self.fired.add(case.dtype)
            for data in trials(case):
                with one_way():
                    kept = keeping_promises(case.before, data)
                    if kept is not None:
                        self.examine(case, kept)
        return self.seen

    def examine(self, case, data):
        try:
            old = run(case.before, data.arrays)
        except TgError as error:
            self.fails_alike(case, data, error)
            return
        except (ValueError, IndexError):  # arrays of another shape than the example is for
            return
        try:
            new = run(case.after, data.arrays).outputs
        except Exception as error:  # of whatever kind, it is new
            raise Flaw(f"{case}, {data.name}: raises {error!r}") from error
        expected = None
        for k, (a, b) in enumerate(zip(old.outputs, new, strict=True)):
            if (a.dtype, a.shape) != (b.dtype, b.shape):
                raise Flaw(f"{case}, {data.name}: gives {b.dtype}{list(b.shape)}, needed {a.dtype}{list(a.shape)}")
            differs = bits_differ(a, b)
            if not differs.any():
                continue
            self.notice(a, b, differs)
            if self.one.kind in (REASSOCIATES, NAN_UNSAFE) and is_inexact(a.dtype) and expected is None:
                expected = Expectation(case.before, data.arrays, runs=2)
            wrong = self.broken(k, a, b, differs, data, old, expected)
            if wrong is not None and wrong.any() and expected is not None:
                expected.more(30)
                wrong = self.broken(k, a, b, differs, data, old, expected)
            if wrong is not None and wrong.any():
                at = tuple(int(i[0]) for i in np.nonzero(wrong)) if a.ndim else ()
                given = [x[at] if x.shape == a.shape else x for x in data.arrays]
                raise Flaw(f"{case}, {data.name}: {self.one.kind} broken: {shown(a, b, wrong)} for {given}")

    def fails_alike(self, case, data, error):
        """Both raise, unless the rule may drop the error."""
        try:
            run(case.after, data.arrays)
        except TgError as other:
            if type(other) is not type(error):
                raise Flaw(f"{case}, {data.name}: raises {other!r}, needed {error!r}") from other
            return
        self.seen.add("error")
        if self.one.kind != DROPS_ERROR:
            raise Flaw(f"{case}, {data.name}: {error!r} is not raised") from error

    def notice(self, a, b, differs):
        if is_inexact(a.dtype):
            hidden, made = np.isnan(a) & ~np.isnan(b), np.isnan(b) & ~np.isnan(a)
            if hidden.any():
                self.seen.add("nan")
            if (differs & ~hidden & (a != b)).any() or made.any():
                self.seen.add("value")
            if (differs & (a == b)).any():
                self.seen.add("zero")
        else:
            self.seen.add("value")

    def broken(self, k, a, b, differs, data, old, expected):
        """Where a difference is more than the class allows."""
        kind = self.one.kind
        if kind in (EXACT, DROPS_ERROR) or not is_inexact(a.dtype):
            return differs
        if kind == SIGNED_ZERO:
            with np.errstate(all="ignore"):
                return differs & ~(a == b) & ~(np.isinf(a) & np.isinf(b) & (old_zero(data.arrays)))
        hidden, made = np.isnan(a) & ~np.isnan(b), np.isnan(b) & ~np.isnan(a)
        infinite = any(is_inexact(x.dtype) and np.isinf(x).any() for x in data.arrays)
        if data.tame and not old.overflowed:
            wrong = expected.wrong_numbers(a, b, [o[k] for o in expected.others])
            return wrong & ~hidden if kind == NAN_UNSAFE else wrong
        if a.dtype.kind == "c":  # what the parts of an infinite product are, nobody promises
            return None
        if infinite:
            unsafe = kind == NAN_UNSAFE or self.one.phase == STABILIZE or old.overflowed
            return None if unsafe else hidden
        return made & (np.isfinite(a) | (not old.overflowed))


def old_zero(arrays):
    """Whether an operand has a zero, so that what comes of its sign may be infinite either way."""
    return any(bool((x == 0).any()) for x in arrays)


WEAKER = {  # the class: what must have been seen for nothing stronger to do
    SIGNED_ZERO: {"zero"},
    REASSOCIATES: {"value"},
    NAN_UNSAFE: {"nan"},
    DROPS_ERROR: {"error"},
}


def too_weak(kind, seen) -> bool:
    """Whether a stronger class would do as far as was seen."""
    return kind != EXACT and not WEAKER[kind] & seen
