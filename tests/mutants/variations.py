"""Programs around a rewrite: what it is for, in every dtype and shape, then the same with something changed.

A guard that is missing shows only where it would have declined, and a term that is ignored only where it is there. So
beside the left side or example itself there are programs that almost look like it: an operand negated, inverted,
transposed, repeated, cast, or a constant; a function, a field of an op or a constant exchanged for another; the result
used twice, under a sum, or beside a second one. All is drawn from seeds that are names, so that a program comes again.
"""

from __future__ import annotations

import functools
import random
from typing import NamedTuple

import numpy as np

import tg
from tests.fuzz.noise import is_inexact, limits
from tests.mutants.changes import LAST, again, edited, in_context, operand
from tests.mutants.forms import FORMS
from tests.unit.rules.examine import (
    PREPARED,
    Data,
    One,
    Subject,
    admitted,
    benign,
    builder,
    grid,
    hostile,
    keeping_promises,
    moderate,
)
from tg.graph.function_graph import FunctionGraph
from tg.graph.nodes import Constant
from tg.graph.traversal import sorted_applies
from tg.ops.indexing import Slice
from tg.rewrite.driver import rewrite
from tg.rewrite.rule import Equation, NodeRule
from tg.types.dtypes import DTYPES, is_integer, numpy_dtype

SHAPES = ((None, None), (4, 4), (None, None), (3, 4), (4,), (), (1, 4), (4, 1), (0, 4), (2, 3, 4), (None, 4), (4, 0))
USUAL = (
    "float64",
    "float32",
    "int64",
    "float64",
    "uint8",
    "bool",
    "complex128",
    "float64",
    "int8",
    "uint64",
    "float16",
)
REFUSED = Exception  # ops are made with whatever fields, and refuse them in ways of their own
LENGTHS = ((5, 5, 5, LAST), (2, 4, 3, LAST), (1, 1, 1, 1), (0, 0, 0, 0))  # what unknown lengths are, by axis
MOST_NODES = 60
FEW = 4  # dtypes for which a form is tried
OF_OWN = ("float64", "int64")  # the same for forms that have shapes of their own, the second for some
MOST_TRIED = 3000  # changes at random, of which some give a program
MOST_WAYS = 4  # to prepare operands


class Program(NamedTuple):
    """What is rewritten, and where it comes from."""

    inputs: list
    outputs: list
    before: object  # the program as it is written, frozen
    origin: str

    @property
    def is_held(self):
        """Whether it is one whose rewriting the suite holds: an example, or a program of the replay corpus."""
        is_changed = "varied" in self.origin or self.origin.endswith("searched")
        return self.origin.startswith(("plain", "form")) and not is_changed

    def subject(self, after):
        """As `tests.unit.rules.examine` has it."""
        first = self.before.input_types[0] if self.before.arity else None
        dtype, shape = (first.dtype, first.shape) if first is not None else ("float64", ())
        return Subject(f"{self.origin}: {dtype}", shape, self.before.arity, self.before, after)


def variations(one, forms=()):
    """Thousands of programs: first those of the rewrite as it is for its dtypes and shapes, then changed ones.

    Args:
        forms: other programs in which it fires, as inputs and outputs.
    """
    ways = prepared(one)
    yield from plain(one, ways)
    for k, (inputs, outputs) in enumerate(forms):
        made = closed(inputs, outputs, f"form {k}")
        if made is not None:
            yield made
    for number in range(MOST_TRIED):
        rng = random.Random(f"{one.name}/{number}")
        if forms and number % 2:
            made = reworked(*forms[number // 2 % len(forms)], rng, f"form {number // 2 % len(forms)} varied {number}")
        else:
            made = varied(one, ways, rng, number)
        if made is not None:
            yield made


def alone(one, program, *, folds=False):
    """What a rewrite alone makes of a program, and whether it fired."""
    graph = FunctionGraph.of(program.inputs, program.outputs)
    exclude = frozenset() if folds else frozenset({"fold_constants"})
    after = rewrite(graph, [One(admitted(one))], supported=lambda op, types: True, exclude=exclude)
    return after, bool(graph.fired.get(one.name))


def prepared(one):
    """The ways to prepare operands with which an equation fires, the plainest first."""
    if not isinstance(one, Equation) or one.when is None:
        return PREPARED[:1]
    found = []
    dtypes = ([d for d in dict.fromkeys(USUAL) if d in one.dtypes] or sorted(one.dtypes))[:2]
    for way in PREPARED:
        programs = (program_of(builder(one), dtype, SHAPES[0], way, "") for dtype in dtypes)
        if any(p is not None and alone(one, p, folds=True)[1] for p in programs):
            found.append(way)
        if len(found) == MOST_WAYS:
            break
    return tuple(found) or PREPARED[:1]


def plain(one, ways):
    """The left side or example, for dtypes and shapes."""
    wanted = [d for d in USUAL if not isinstance(one, Equation) or d in one.dtypes]
    wanted += [d for d in (sorted(one.dtypes) if isinstance(one, Equation) else DTYPES) if d not in wanted]
    for k, build in enumerate(builders(one)):
        few = k > 0  # of forms there are many, and most choose their dtypes
        tried = list(dict.fromkeys(wanted))[: FEW if few else None]
        if hasattr(build[0], "inputs"):
            tried = OF_OWN[: 1 + (k % 3 == 0)]
        for prepare in ways:
            for dtype in tried:
                for shape in dict.fromkeys(SHAPES) if dtype in ("float64", "int64") and not few else SHAPES[:1]:
                    made = program_of(build, dtype, shape, prepare, f"plain {dtype}{list(shape)}")
                    if made is not None:
                        yield made


@functools.cache
def builders(one):
    """The functions that build what a rewrite is for, each with the number of its operands."""
    first = builder(one)
    relatives = [(form, first[1]) for form in relatives_of(one)]
    return (first, *((form, operands_of(form)) for form in FORMS.get(one.name, ())), *relatives)


def relatives_of(one):
    """The example of a rule with other functions that it names: at its root, and below it."""
    if not isinstance(one, NodeRule) or one.example is None:
        return
    roots, inner = ([fn for fn in named if hasattr(fn, "op")] for named in (one.keys, one.below))
    yield from (functools.partial(with_root, one.example, fn, swaps) for fn in roots for swaps in (False, True))
    for place in range(2):
        yield from (functools.partial(with_operand, one.example, fn, place) for fn in inner)


def with_root(example, fn, swaps, *operands):
    """An example with another function at its root, or its operands the other way round."""
    given = example(*operands).inputs
    return fn(*(given[::-1] if swaps else given))


def with_operand(example, fn, place, *operands):
    """An example with another function below its root."""
    made = example(*operands)
    given = list(made.inputs)
    given[place] = fn(*given[place].inputs)
    return again(made.apply.op, given)[0]


def operands_of(form):
    """The number of parameters that have no value of their own."""
    return form.__code__.co_argcount - len(form.__defaults__ or ())


def inputs_of(function, count, dtype, shape):
    """The operands of a form: of one dtype and shape, or those that it names."""
    given = getattr(function, "inputs", ((None, shape),) * count)
    return [tg.tensor(f"x{k}", own or dtype, shape) for k, (own, shape) in enumerate(given)]


def program_of(build, dtype, shape, prepare, origin):
    function, count = build
    inputs = inputs_of(function, count, dtype, shape)
    try:
        made = function(*(prepare(x, k, count) for k, x in enumerate(inputs)))
    except REFUSED:
        return None
    return closed(inputs, list(made) if isinstance(made, tuple | list) else [made], origin)


def closed(inputs, outputs, origin):
    """The program; None where it has none, is large, or is discrete where only floats are meant."""
    try:
        before = FunctionGraph.of(inputs, outputs).freeze()
    except REFUSED:
        return None
    if len(before.nodes) > MOST_NODES or any(is_misused(before, node) for node in before.nodes):
        return None
    return Program(inputs, outputs, before, origin)


def is_misused(frozen, node):
    """Whether an op meets a dtype that its public function never gives it, or a slice has no room in its array."""
    if isinstance(node.op, Slice):
        sizes, steps = node.op.sizes, node.op.steps
        lengths = frozen.types[node.inputs[0]].shape
        rows = zip(lengths[len(lengths) - len(sizes) :], sizes, steps, strict=False)
        return not len(node.op.starts) == len(sizes) == len(steps) or any(
            None not in (n, size) and size > 0 and (size - 1) * abs(step) >= n for n, size, step in rows
        )
    if node.op.name not in ("Softmax", "LogSumExp", "CumProdPullback"):
        return False
    return not is_inexact(numpy_dtype(frozen.types[node.inputs[0]].dtype))


def varied(one, ways, rng, number):
    """A program that differs from what a rewrite is for in a few things; None where these do not fit."""
    function, count = rng.choice(builders(one))
    dtypes = sorted(one.dtypes) if isinstance(one, Equation) and rng.random() < 0.8 else USUAL
    dtype = rng.choice([d for d in USUAL if d in dtypes] or dtypes) if rng.random() < 0.8 else rng.choice(dtypes)
    inputs = inputs_of(function, count, dtype, rng.choice(SHAPES))
    prepare = rng.choice(ways) if rng.random() < 0.7 else rng.choice(PREPARED)
    try:
        operands = [prepare(x, k, count) for k, x in enumerate(inputs)]
        if rng.random() < 0.5:
            k = rng.randrange(count)
            operands[k] = operand(operands[k], inputs, rng)
        made = function(*operands)
        outputs = list(made) if isinstance(made, tuple | list) else [made]
        for _ in range(rng.choice((0, 1, 1, 1, 2, 3))):
            outputs = edited(outputs, inputs, rng)
        if rng.random() < 0.35:
            outputs = in_context(outputs, inputs, rng)
    except REFUSED:
        return None
    return closed(inputs, outputs, f"varied {number}")


def reworked(inputs, outputs, rng, origin):
    """A program with a few things changed: its dtype, lengths, operands, surroundings; None if they do not fit."""
    try:
        if rng.random() < 0.25:
            inputs, outputs = retyped(inputs, outputs, rng)
        for _ in range(rng.choice((1, 1, 1, 1, 2, 2, 3))):
            outputs = edited(outputs, inputs, rng)
        if rng.random() < 0.12:
            outputs = in_context(outputs, inputs, rng)
    except REFUSED:
        return None
    return closed(inputs, outputs, origin)


def retyped(inputs, outputs, rng):
    """The same expression over inputs of another dtype, or with lengths that are known, unknown, 0 or 1."""
    dtype = {t: t if rng.random() < 0.5 else rng.choice(USUAL) for t in {x.type.dtype for x in inputs}}
    lengths = rng.choice(({}, {}, {None: 4, 3: 4}, {4: None, 3: None}, {None: 1}, {4: 1}, {None: 0}))
    new, known = [], {}
    for x in inputs:
        shape = [lengths.get(n, n) for n in x.type.shape]
        new.append(tg.tensor(x.name, dtype[x.type.dtype], shape))
        known[id(x)] = new[-1]
    for node, results in sorted_applies(outputs, boundary=inputs):
        operands = [known.get(id(v), v) for v in node.inputs]
        operands = [
            cast_like(v, u, dtype) if isinstance(u, Constant) else v for v, u in zip(operands, node.inputs, strict=True)
        ]
        for old, v in zip(results, again(node.op, operands), strict=False):
            if old is not None:
                known[id(old)] = v
    return new, [known.get(id(v), v) for v in outputs]


def cast_like(constant, dtype):
    """A constant in the dtype that has taken the place of its own."""
    wanted = dtype.get(constant.type.dtype)
    if wanted in (None, constant.type.dtype):
        return constant
    with np.errstate(all="ignore"):
        data = constant.data.real if constant.data.dtype.kind == "c" else constant.data
        return Constant(data.astype(numpy_dtype(wanted)))


# --- arrays ----------------------------------------------------------------------------------------------------------


def trials(program):
    """Arrays for a program: of several lengths, ordinary, with ties, hostile, with one element that is special."""
    rng = np.random.default_rng(7)
    types = program.before.input_types
    shapes = lengths_of(types, LENGTHS[0])
    is_known = not any(None in t.shape for t in types)
    yield from of_shapes(types, shapes, rng, 3)
    for lengths in () if is_known else LENGTHS[1:]:
        yield from of_shapes(types, lengths_of(types, lengths), rng, 1)


def lengths_of(types, lengths):
    """The shapes of arrays, those of one axis (counted from the end) alike."""
    return [
        tuple(lengths[(k - t.ndim) % len(lengths)] if n is None else n for k, n in enumerate(t.shape)) for t in types
    ]


def of_shapes(types, shapes, rng, count):
    """Ordinary arrays of some shapes, then others, so many of each kind."""
    discrete = all(t.dtype == "bool" or is_integer(t.dtype) for t in types)
    yield Data("ordinary", [benign(t.dtype, s, k) for k, (t, s) in enumerate(zip(types, shapes, strict=True))], True)
    if all(0 in s for s in shapes):
        return
    if count > 1 and len(types) > 1 and all(t.shape == (None, None) and t.dtype == types[0].dtype for t in types):
        yield Data("pairs of hostile values", grid(hostile(types[0].dtype), len(types), rng), tame=discrete)
    for k in range(count):
        yield Data("ties", [rng.choice(moderate(t.dtype), s) for t, s in zip(types, shapes, strict=True)], tame=True)
        arrays = [rng.choice(hostile(t.dtype), s) for t, s in zip(types, shapes, strict=True)]
        yield Data("hostile", arrays, tame=discrete)
        if any(t.dtype.startswith("complex") for t in types):  # of infinities nothing is promised, of NaN all
            values = [
                h[~np.isinf(h)]
                for h in (hostile(t.dtype) if "complex" in t.dtype else moderate(t.dtype) for t in types)
            ]
            yield Data("NaN", [rng.choice(h, s) for h, s in zip(values, shapes, strict=True)], tame=True)
        if not discrete:
            finite = [
                rng.choice(h[np.isfinite(h)], s)
                for h, s in zip(map(hostile, (t.dtype for t in types)), shapes, strict=True)
            ]
            yield Data("finite", finite, tame=False)
            arrays = [benign(t.dtype, s, j) for j, (t, s) in enumerate(zip(types, shapes, strict=True))]
            j = int(rng.integers(len(arrays)))
            if arrays[j].size and is_inexact(arrays[j].dtype):
                largest = limits(arrays[j].dtype).largest
                special = (np.nan, np.inf, largest)[k]
                arrays[j].flat[int(rng.integers(arrays[j].size))] = special
                yield Data(f"one element {special}", arrays, tame=k == 0)


def kept(program, data):
    """The arrays with what is assumed of them made true; None where that does not do."""
    return keeping_promises(program.before, data)
