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
from tests.mutants.forms import FORMS
from tests.unit.rewrite.examine import (
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
from tg.graph.nodes import Constant, apply
from tg.graph.traversal import sorted_applies
from tg.ops.elementwise.arithmetic import gate
from tg.ops.elementwise.record import Elementwise
from tg.ops.reduction import Reduce
from tg.ops.shape import ExpandDims, Transpose
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
LENGTHS = ((5, 5, 5, 5), (2, 4, 3, 5), (1, 1, 1, 1), (0, 0, 0, 0))  # what unknown lengths are, by axis
MOST_NODES = 60
FEW = 4  # dtypes for which a form is tried
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
        return self.origin.startswith(("plain", "form")) and "varied" not in self.origin and "," not in self.origin

    def subject(self, after):
        """As `tests.unit.rewrite.examine` has it."""
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
        for prepare in ways:
            for dtype in list(dict.fromkeys(wanted))[: FEW if few else None]:
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
    """Whether an op meets a dtype that its public function never gives it."""
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
    for node, results in sorted_applies(outputs, known=inputs):
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


# --- operands --------------------------------------------------------------------------------------------------------


def numbers(dtype):
    """Constants at which rules go wrong."""
    more = []
    if is_integer(dtype):
        bits = numpy_dtype(dtype).itemsize * 8  # by which one shifts
        more = np.array([bits - 1, bits // 2, bits // 2 + 1, bits // 2 - 1], dtype)
    return [*moderate(dtype), *hostile(dtype), *more]


def number(dtype, rng):
    """One of them; often one of a few, so that two constants are alike."""
    if rng.random() < 0.6:
        return rng.choice(numbers(dtype))
    if is_integer(dtype) or dtype == "bool":
        return rng.choice((0, 1, 2, *([] if dtype == "bool" else (np.iinfo(dtype).max, np.iinfo(dtype).min))))
    info = limits(numpy_dtype(dtype))
    return rng.choice((0.0, 1.0, -1.0, np.inf, info.largest, 2 / info.eps))


def constant(like, rng):
    """A constant of the dtype and rank of a value: one number, or several."""
    kind = numpy_dtype(like.type.dtype)
    choice = number(like.type.dtype, rng)
    form = rng.random()
    shape = (1,) * like.type.ndim if form < 0.5 else lengths_of_constant(like) if form < 0.8 else ()
    data = np.full(shape, choice, kind)
    if data.size > 1 and rng.random() < 0.5:
        data.flat[rng.randrange(data.size)] = number(like.type.dtype, rng)
    return Constant(data)


def lengths_of_constant(like):
    """Lengths with which a constant stands beside a value: those that are known, and the last in most trials."""
    unknown = [1] * (like.type.ndim - 1) + [LENGTHS[0][-1]]
    return [m if n is None else n for n, m in zip(like.type.shape, unknown, strict=False)]


def several(like, dtype, rng):
    """A constant of several numbers to stand beside a value."""
    count = int(np.prod(lengths := lengths_of_constant(like)))
    return np.array([number(dtype, rng) for _ in range(count)], numpy_dtype(dtype)).reshape(lengths)


WRAPPINGS = (
    lambda x, y, rng: -x,
    lambda x, y, rng: 1 / x,
    lambda x, y, rng: tg.square(x),
    lambda x, y, rng: x * np.asarray(number(x.dtype, rng), numpy_dtype(x.dtype)),
    lambda x, y, rng: x / np.asarray(number(x.dtype, rng), numpy_dtype(x.dtype)),
    lambda x, y, rng: x + np.asarray(number(x.dtype, rng), numpy_dtype(x.dtype)),
    lambda x, y, rng: np.asarray(number(x.dtype, rng), numpy_dtype(x.dtype)) - x,
    lambda x, y, rng: tg.absolute(x),
    lambda x, y, rng: tg.exp(x),
    lambda x, y, rng: gate(x, y),
    lambda x, y, rng: gate(y, x),
    lambda x, y, rng: x * y,
    lambda x, y, rng: x + y,
    lambda x, y, rng: x / y,
    lambda x, y, rng: tg.maximum(x, y),
    lambda x, y, rng: tg.where(x > y, x, y),
    lambda x, y, rng: tg.cast(tg.cast(x, rng.choice(("float32", "int64", "int8", "bool", "uint8"))), x.dtype),
    lambda x, y, rng: tg.swapaxes(x, -1, -2),
    lambda x, y, rng: tg.flip(x, -1),
    lambda x, y, rng: tg.roll(x, 1, -1),
    lambda x, y, rng: tg.broadcast_to(x[..., :1], x.shape),
    lambda x, y, rng: x[..., :1],
    lambda x, y, rng: x[:1],
    lambda x, y, rng: x[..., 1:],
    lambda x, y, rng: x[0],
    lambda x, y, rng: x[..., None, :],
    lambda x, y, rng: tg.concatenate([x, y], -1),
    lambda x, y, rng: tg.sum(x, -1, keepdims=True),
    lambda x, y, rng: tg.max(x, 0, keepdims=True),
    lambda x, y, rng: tg.sum(x),
    lambda x, y, rng: tg.reshape(x, (-1,)),
    lambda x, y, rng: tg.assume(x, finite=True),
    lambda x, y, rng: tg.assume(x, finite=True, nonzero=True),
    lambda x, y, rng: tg.assume(x, nonnegative=True),
)


def operand(v, inputs, rng):
    """Another value in the place of v: made of it, a constant, or another of the inputs."""
    form = rng.random()
    others = [x for x in inputs if x.type == v.type]
    if form < 0.2:
        return constant(v, rng)
    if form < 0.35 and others:
        return rng.choice(others)
    return rng.choice(WRAPPINGS)(v, rng.choice(others) if others else v, rng)


# --- changes of an expression ----------------------------------------------------------------------------------------

UNARY = (
    tg.negative, tg.reciprocal, tg.square, tg.exp, tg.log, tg.absolute, tg.sqrt, tg.sign, tg.expm1, tg.log1p, tg.exp2,
    tg.tanh, tg.sigmoid, tg.floor, tg.sin, tg.cos, tg.logical_not, tg.invert, tg.softplus, tg.conj, tg.isnan, tg.ceil,
)  # fmt: skip
BINARY = (
    tg.add, tg.subtract, tg.multiply, tg.divide, tg.maximum, tg.minimum, tg.power, tg.floor_divide, tg.remainder, gate,
    tg.less, tg.less_equal, tg.greater, tg.equal, tg.not_equal, tg.logical_and, tg.logical_or, tg.bitwise_and,
    tg.bitwise_or, tg.bitwise_xor, tg.left_shift, tg.right_shift, tg.logaddexp, tg.arctan2,
)  # fmt: skip


def edited(outputs, inputs, rng):
    """The outputs with one change at a random place of what computes them."""
    applies = sorted_applies(outputs, known=inputs)
    applies = [(node, tuple(results)) for node, results in applies]
    if not applies:
        return outputs
    place, change = rng.randrange(len(applies)), rng.choice(CHANGES)
    new = {}
    for k, (node, results) in enumerate(applies):
        operands = [new.get(id(v), v) for v in node.inputs]
        made = change(node, operands, inputs, rng) if k == place else None
        made = again(node.op, operands) if made is None else made
        for old, v in zip(results, made, strict=False):
            if old is not None:
                new[id(old)] = v
    return [new.get(id(v), v) for v in outputs]


def again(op, operands):
    """An op on other operands, elementwise ones cast and broadcast anew."""
    return (op.fn(*operands),) if isinstance(op, Elementwise) else apply(op, operands)


def another_operand(node, operands, inputs, rng):
    if not operands:
        return None
    k = rng.randrange(len(operands))
    operands[k] = operand(operands[k], inputs, rng)
    return again(node.op, operands)


def another_function(node, operands, inputs, rng):
    if isinstance(node.op, Elementwise):
        table = UNARY if len(operands) == 1 else BINARY if len(operands) == 2 else None
        return (rng.choice(table)(*operands),) if table else None
    fn = getattr(node.op, "fn", None)
    if fn is None or "fn" not in node.op.fields:
        return None
    known = [tg.add, tg.multiply, tg.maximum, tg.minimum]
    if operands[0].type.dtype == "bool":
        known = [tg.logical_and, tg.logical_or]
    op = with_field(node.op, "fn", rng.choice(known))
    return again(op, operands) if is_meant(op, operands) else None


def swapped(node, operands, inputs, rng):
    return again(node.op, rng.sample(operands, len(operands)))


def around(node, operands, inputs, rng):
    """The result, used in another way before it is used."""
    made = again(node.op, operands)
    others = [x for x in inputs if x.type == made[0].type]
    return (rng.choice(WRAPPINGS)(made[0], rng.choice(others) if others else made[0], rng), *made[1:])


def another_field(node, operands, inputs, rng):
    if isinstance(node.op, Elementwise):
        return another_constant(node, operands, inputs, rng)
    names = [n for n in node.op.fields if n != "fn" and n not in node.op.graph_fields]
    if not names:
        return None
    name = rng.choice(names)
    op = with_field(node.op, name, other(getattr(node.op, name), rng))
    return again(op, operands) if is_meant(op, operands) else None


def is_meant(op, operands):
    """Whether the axes of an op are such as functions give it: each once, of those that there are, in order."""
    ndim = operands[0].type.ndim if operands else 0
    if isinstance(op, Reduce) and op.total and op.fn not in (tg.maximum, tg.minimum):
        return False
    axes = getattr(op, "axes", None)
    if isinstance(axes, tuple):
        ndim += len(axes) if isinstance(op, ExpandDims) else 0
        known = list(range(-ndim, 0))
        if isinstance(op, Transpose):
            return sorted(axes) == known[-len(axes) :]
        return list(axes) == [k for k in known if k in axes]
    axis = getattr(op, "axis", -1)
    return not isinstance(axis, int) or -ndim <= axis < 0


def another_constant(node, operands, inputs, rng):
    found = [k for k, v in enumerate(operands) if isinstance(v, Constant)]
    if not found:
        return another_operand(node, operands, inputs, rng)
    k = rng.choice(found)
    data = operands[k].data
    if data.dtype.kind in "iu" and rng.random() < 0.6:
        changed = data + np.asarray(rng.choice((1, -1, 2)), data.dtype)
    elif data.size == 1 and rng.random() < 0.3:
        changed = several(again(node.op, operands)[0], operands[k].type.dtype, rng)
    elif data.size and data.ndim:
        changed = data.copy()
        changed.flat[rng.randrange(data.size)] = number(operands[k].type.dtype, rng)
    else:
        changed = np.full(data.shape, number(operands[k].type.dtype, rng), data.dtype)
    operands[k] = Constant(np.asarray(changed, data.dtype))
    return again(node.op, operands)


CHANGES = (another_operand, another_operand, another_function, swapped, around, another_field, another_field)


def with_field(op, name, value):
    return type(op)(**{n: value if n == name else getattr(op, n) for n in op.fields})


def other(value, rng):
    """Another value of a field: as near as can be."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return rng.choice((value + 1, value - 1, -value, 2 * value))
    if isinstance(value, float):
        return rng.choice((-value, value + 1, 0.0))
    if isinstance(value, tuple) and value:
        k = rng.randrange(len(value))
        changed = (*value[:k], other(value[k], rng), *value[k + 1 :])
        return rng.choice((changed, changed, tuple(rng.sample(value, len(value))), value[:k] + value[k + 1 :]))
    if value in DTYPES:
        return rng.choice(DTYPES)
    return rng.choice(MODES) if value in MODES else value


MODES = ("raise", "clip", "fill", "promise", "set", "add", "max", "min", "multiply", "left", "right")


# --- surroundings ----------------------------------------------------------------------------------------------------


def in_context(outputs, inputs, rng):
    """The result used further: as an operand, under a reduction, twice, beside what it is made of."""
    y, rest = outputs[0], outputs[1:]
    x = rng.choice(inputs) if inputs else y
    form = rng.randrange(8)
    if form == 0:
        return [-y, *rest]
    if form == 1:
        return [y * y, *rest]
    if form == 2:
        return [y + x, *rest]
    if form == 3:
        return [tg.sum(y, -1), *rest]
    if form == 4:
        inner = [v for _, results in sorted_applies(outputs, known=inputs) for v in results if v is not None]
        return [y, rng.choice(inner), *rest] if inner else outputs
    if form == 5:
        return [y, tg.exp(y), *rest]
    if form == 6:
        return [y * x, y, *rest]
    return [y, *edited(outputs, inputs, rng)]


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
