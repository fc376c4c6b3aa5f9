"""The example of every rule of nodes and every pass, with one thing changed at a time, in every place where it can be.

A rule that reads a value through a movement, along an axis or in a dtype is right for its example and may be wrong one
axis further. So each axis is moved to every other place, each operand is expanded and swapped, dtypes are exchanged,
and lengths are equal, 0 and 1: `python -m tests.enumerate.varied` compares each such program with what the default mode
makes of it, as the drawn programs are compared (`tests.enumerate.run`).
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import itertools
import sys
import time
import zlib

import numpy as np

import tg
from tests.enumerate import judge
from tests.enumerate.run import EndlessError, Run, limited
from tests.enumerate.search import Fault
from tests.enumerate.values import drawn
from tests.fuzz.perturbation import one_way
from tests.mutants.changes import again, with_field
from tests.mutants.variations import REFUSED, builders, closed
from tests.unit.rules.examine import Data, keeping_promises
from tg.functions.formula import formulas
from tg.gradient.stable import stable
from tg.graph.traversal import sorted_applies
from tg.ops.assumptions import Assume
from tg.ops.elementwise.record import Elementwise
from tg.rewrite.phases import DIFFERENTIATE, REASSOCIATES
from tg.rewrite.rule import Equation
from tg.rules.catalog import PASSES, RULES
from tg.rules.stable import STABLE

USUAL = "float64"
DTYPES = ("float32", "float16", "bfloat16", "complex128", "complex64", "int64", "int8", "uint8", "uint64", "bool")
SQUARES = ((3, 3), (2, 2, 2), (None, None))  # a wrong axis has the right length
UNKNOWN = 3  # a length that only the arrays have
LENGTHS = (
    (), (4,), (0,), (1,), (16,), (3, 4), (4, 4), (1, 4), (4, 1), (1, 1), (0, 4), (4, 0),
    (2, 3, 4), (1, 3, 1), (0, 2, 2),
)  # fmt: skip
OF_DTYPES = ((4, 4), (4,), (0, 4), (1, 4))
AXES = ("axis", "axes")  # the fields of ops that name axes
PLAIN, CHANGED = ("tame", "infinite"), ("tame",)  # the arrays of examples as they are, and of changed ones
MOST_CHANGES = 250  # of one example in one shape, evenly chosen where there are more
LONG = 12  # nodes of an example that takes its time: of it fewer changes are tried
MOST_EXPANDED = 2  # operands of one function
DEFAULT = (("default", frozenset()),)
PATIENCE = 60.0  # seconds of the processor for one program


class Varied:
    """A program as a `Run` compares it."""

    known, ones, is_raw = True, (), False

    def __init__(self, inputs, outputs, before, datas):
        self.inputs, self.outputs, self.before, self.datas = inputs, outputs, before, datas

    def built(self, known):
        return self.inputs, self.outputs

    def arrays(self, name, rng):
        """Arrays for the inputs, of which what is assumed holds; None where that cannot be made true."""
        shapes = [[UNKNOWN if n is None else n for n in x.type.shape] for x in self.inputs]
        arrays = [drawn(name, x.type.dtype, shape, rng) for x, shape in zip(self.inputs, shapes, strict=True)]
        true = keeping_promises(self.before, Data(name, arrays, tame=name == "tame"))
        return None if true is None else true.arrays


def with_examples():
    """The rules of nodes and the passes: equations say nothing of axes, and are letters of the drawn programs."""
    own = [one for one in STABLE if one.phase == DIFFERENTIATE]
    return [one for one in (*RULES, *PASSES, *own) if not isinstance(one, Equation) and one.example is not None]


def example(build, dtypes, shape):
    """Inputs and outputs of an example in some dtypes and one shape; None where it has none."""
    function, count = build
    inputs = [tg.tensor(f"x{k}", dtypes[k], shape) for k in range(count)]
    try:
        value = function(*inputs)
    except REFUSED:
        return None
    return inputs, list(value) if isinstance(value, tuple | list) else [value]


def variations(build):
    """Names, data and makers of programs: an example in every dtype and shape, and with each change of its axes."""
    count = build[1]
    usual = (USUAL,) * count
    alike = [(d,) * count for d in DTYPES]
    mixed = [(*usual[:k], d, *usual[k + 1 :]) for d in DTYPES for k in range(count)] if count > 1 else []
    for dtypes, shape in itertools.chain(
        ((usual, s) for s in (*SQUARES, *LENGTHS)),
        ((d, s) for d in alike for s in OF_DTYPES),
        ((d, OF_DTYPES[0]) for d in mixed),
    ):
        yield f"{' '.join(dtypes)} {shape}", PLAIN, functools.partial(example, build, dtypes, shape)
    for shape in SQUARES:
        plain = example(build, usual, shape)
        if plain is not None:
            every = list(changes(*plain))
            nodes = len(sorted_applies(plain[1], boundary=plain[0]))
            step = max(1, -(-len(every) * (nodes + LONG) // (MOST_CHANGES * LONG)))
            yield from ((f"{shape}, {what}", CHANGED, changed) for what, changed in every[::step])


def changes(inputs, outputs):
    """Each way to move an axis, and to expand or swap operands, at each node above what is promised of a value."""
    known = [*inputs, *promised(outputs)]
    applies = [(node, tuple(results)) for node, results in sorted_applies(outputs, boundary=known)]
    for place, (node, _) in enumerate(applies):
        for what, op, change in (*of_fields(node), *of_operands(node)):
            yield (
                f"{node.op.name} {place}: {what}",
                functools.partial(rebuilt, inputs, applies, outputs, place, op, change),
            )


def promised(outputs):
    """The values of which something is assumed."""
    return [v for node, made in sorted_applies(outputs) if isinstance(node.op, Assume) for v in made]


def rebuilt(inputs, applies, outputs, place, op, change):
    """A program with another op and other operands at one place; None where the rest does not fit."""
    new = {}
    try:
        for k, (node, results) in enumerate(applies):
            operands = [new.get(id(v), v) for v in node.inputs]
            made = again(op, change(operands)) if k == place else again(node.op, operands)
            new.update((id(old), v) for old, v in zip(results, made, strict=False) if old is not None)
    except REFUSED:
        return None
    return inputs, [new.get(id(v), v) for v in outputs]


def of_fields(node):
    """Each axis that an op names at every other place."""
    for field in AXES:
        if field not in node.op.fields:
            continue
        value = getattr(node.op, field)
        axes = value if isinstance(value, tuple) else (value,)
        rank = max((v.type.ndim for v in node.inputs), default=0) + len(axes)
        for k, axis in enumerate(axes):
            for other in range(-rank, 0):
                if other == axis:
                    continue
                moved = [other if a == axis else axis if a == other else a for a in axes]
                if node.op.name != "Transpose":
                    moved.sort()
                with contextlib.suppress(*[REFUSED]):
                    op = with_field(node.op, field, tuple(moved) if isinstance(value, tuple) else moved[0])
                    yield f"{field}[{k}] at {other}", op, lambda operands: operands


def of_operands(node):
    """Each operand with an axis moved or one more; of an elementwise function two with one more, or exchanged."""
    ranks = [v.type.ndim for v in node.inputs]
    for k, rank in enumerate(ranks):
        for i, j in itertools.permutations(range(rank), 2):
            if i < j or rank > 2:
                yield (
                    f"axis {i} of operand {k} at {j}",
                    node.op,
                    at(k, functools.partial(tg.moveaxis, source=i, destination=j)),
                )
    if isinstance(node.op, Elementwise):
        for chosen in itertools.product(*((None, *range(rank + 1)) for rank in ranks)):
            if 0 < sum(p is not None for p in chosen) <= MOST_EXPANDED:
                yield f"operands expanded at {chosen}", node.op, functools.partial(expanded, chosen)
        for i, j in itertools.combinations(range(len(ranks)), 2):
            yield f"operands {i} and {j} swapped", node.op, functools.partial(swapped, i, j)
        return
    for k, rank in enumerate(ranks):
        for place in range(rank + 1) if rank else ():  # a scalar is a length or a position
            yield f"operand {k} expanded at {place}", node.op, at(k, functools.partial(tg.expand_dims, axis=place))


def at(k, change):
    """A change of one operand."""
    return lambda operands: [change(v) if j == k else v for j, v in enumerate(operands)]


def expanded(places, operands):
    return [v if p is None else tg.expand_dims(v, p) for v, p in zip(operands, places, strict=True)]


def swapped(i, j, operands):
    order = list(range(len(operands)))
    order[i], order[j] = j, i
    return [operands[k] for k in order]


def programs(one, *, forms=False, part=0, parts=1):
    """Names and variations of a rewrite's example, and of other programs in which it fires; of several parts one."""
    for number, build in enumerate(builders(one) if forms else builders(one)[:1]):
        seen = set()
        for what, datas, maker in variations(build):
            name = f"{one.name} {number}: {what}"
            made = maker() if zlib.crc32(name.encode()) % parts == part else None
            program = None if made is None else closed(*made, what)
            if program is not None and program.before not in seen:
                seen.add(program.before)
                yield name, Varied(*made, program.before, datas)


def compare(run, one, *, forms=False, part=0, parts=1):
    """Compare the variations of a rewrite's example, or a part of them by their names."""
    for name, program in programs(one, forms=forms, part=part, parts=parts):
        try:
            with limited(PATIENCE):
                if one.phase == DIFFERENTIATE:
                    in_stable_form(run, program, name)
                else:
                    run.one(program, name, datas=program.datas)
        except EndlessError:
            run.took_too_long(one.name, name)


def in_stable_form(run, program, name):
    """Compare a program with the form of which its derivatives are taken: no phase of rewriting has these rules."""
    outputs, _ = stable(program.outputs, program.inputs)
    pairs = [(v, w) for v, w in zip(program.outputs, outputs, strict=True) if w is not v]
    run.programs += 1
    run.outputs += len(pairs)
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    for kind in program.datas if pairs else ():
        arrays = program.arrays(kind, rng)
        if arrays is None:
            continue
        data = judge.Data(kind, program.inputs, arrays, tame=kind == "tame", infinite=kind == "infinite")
        with np.errstate(all="ignore"), one_way():
            try:
                for v, _ in pairs:
                    data.values.of(v)
            except REFUSED:  # by the program as it is written
                continue
            doubts = [judge.examined(REASSOCIATES, v, w, data, whole=True) for v, w in pairs]
        for (v, w), doubt in zip(pairs, doubts, strict=True):
            if doubt is not None:
                step = f"{formulas((v,), {})}  ->  {formulas((w,), {})}"
                run.note(
                    Fault("stable form", REASSOCIATES, doubt, step, data, None),
                    program.before,
                    arrays,
                    name,
                    "default",
                    (),
                )


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.enumerate.varied", description=__doc__)
    parser.add_argument("--shard", default="0/1", help="i/n: of n processes the i-th, from 0")
    parser.add_argument("--rule", action="append", help="all, if left out")
    parser.add_argument("--after", help="only the rewrites that come after this one")
    parser.add_argument("--part", default="0/1", help="i/n: of n variations of each one, by its name")
    parser.add_argument("--forms", action="store_true", help="the forms beside the examples too")
    given = parser.parse_args()
    shard, shards = map(int, given.shard.split("/"))
    part, parts = map(int, given.part.split("/"))
    run, told = Run(modes=DEFAULT), 0
    every = with_examples()
    first = next((k + 1 for k, one in enumerate(every) if one.name == given.after), 0)
    for k, one in enumerate(every[first:]):
        if k % shards != shard or (given.rule and one.name not in given.rule):
            continue
        started = time.process_time()
        before = run.programs
        compare(run, one, forms=given.forms, part=part, parts=parts)
        sys.stdout.write(f"{one.name}: {run.programs - before} programs, {time.process_time() - started:.1f} s\n")
        for find in run.finds[told:]:
            sys.stdout.write(f"# {find.seed}\n{find.text}\n")
        told = len(run.finds)
        sys.stdout.flush()
    sys.stdout.write(f"{run.programs} programs, {run.seconds:.0f} s, {sum(run.again.values())} with differences\n")
    return 1 if run.again else 0


if __name__ == "__main__":
    sys.exit(main())
