"""Programs over an alphabet: every short one, and longer ones drawn by a seed: these share values, for many outputs.

A program is inputs and steps, each a letter and the places of its operands; it is built for lengths that are known, or
not, and derived. Values that no step reads are its outputs.
"""

from __future__ import annotations

import functools
import itertools
import random

import numpy as np

import tg
from tests.enumerate.alphabet import (
    ENDS,
    GATES,
    MOVES,
    NEAR,
    PAIRS,
    REDUCTIONS,
    SIZED,
    constants,
    families,
    letter,
    pattern,
)
from tests.enumerate.values import drawn
from tg.graph.facts import ELEMENT, fact_holds
from tg.types.dtypes import is_complex, is_inexact, is_integer

LARGEST_SIZE = 150
FACTS = ("positive", "nonnegative", "finite", "nonzero", "negative", "not_nan", "whole")


class Input:
    """An input: dtype, lengths as they are at run time, and what is promised of it."""

    def __init__(self, name, dtype, lengths, promised=()):
        self.name, self.dtype, self.lengths, self.promised = name, dtype, lengths, promised

    def variable(self, shape):
        return tg.tensor(self.name, self.dtype, shape)

    def value(self, v):
        return tg.assume(v, **dict.fromkeys(self.promised, True)) if self.promised else v


class Program:
    """Inputs, steps, the places of what is derived, and which lengths are known."""

    def __init__(self, inputs, rng):
        self.inputs, self.steps, self.rng = inputs, [], rng
        self.letters = []
        self.variables = [one.variable(one.lengths) for one in inputs]
        self.values = [one.value(v) for one, v in zip(inputs, self.variables, strict=True)]
        self.read = [0] * len(inputs)
        self.derived = 0  # how often the sum of an output is derived
        self.known = True
        self.is_raw = False  # whether an op may stand on what it is not for: examples of rules check nothing

    def constant(self, value):
        self.values.append(value)
        self.read.append(1)
        self.steps.append((None, value))

    def add(self, one, operands):
        """Another step; False where it cannot be."""
        key = (
            self.values[operands[0]].type.dtype
            if self.values[operands[0]].type.dtype != "bool" or one.kinds == "b"
            else "float64"
        )
        K = constants(
            next((self.values[k].type.dtype for n, k in zip(one.names, operands, strict=True) if n in "abc"), key)
        )
        try:
            made = one.build(K, *(self.values[k] for k in operands))
        except Exception:  # noqa: BLE001 (a letter that is not for these operands)
            return False
        if not isinstance(made, tg.Variable) or made.type.ndim > 4:
            return False
        size = int(np.prod([1 if n is None else n for n in made.type.shape]))
        if size > LARGEST_SIZE or any(made is v for v in self.values):
            return False
        for k in operands:
            self.read[k] += 1
        self.steps.append((one, operands, K))
        self.is_raw |= one.alike
        self.values.append(made)
        self.read.append(0)
        return True

    def built(self, known):
        """Inputs and outputs, with lengths known or not."""
        if known:
            variables, values = self.variables, list(self.values)
        else:
            pick = random.Random(len(self.steps))
            variables = [
                one.variable([n if pick.randrange(4) == 0 else None for n in one.lengths]) for one in self.inputs
            ]
            values = [one.value(v) for one, v in zip(self.inputs, variables, strict=True)]
            for step in self.steps:
                if step[0] is None:
                    values.append(step[1])
                else:
                    one, operands, K = step
                    values.append(one.build(K, *(values[k] for k in operands)))
        first = len(self.inputs)
        outputs = [v for k, v in enumerate(values) if k >= first and not self.read[k]]
        return variables, self.with_gradients(variables, outputs)

    def with_gradients(self, variables, outputs):
        floating = [v for v in variables if is_inexact(v.type.dtype)]
        costs = [v for v in outputs if is_inexact(v.type.dtype)]
        if not (self.derived and floating and costs):
            return outputs
        first = tg.grad(cost_of(costs[-1]), floating, disconnected="zero")
        outputs = outputs[-1:] + list(first)
        if self.derived > 1:
            outputs += tg.grad(
                functools.reduce(tg.add, [tg.sum(tg.real(g) if is_complex(g.type.dtype) else g) for g in first]),
                floating,
                disconnected="zero",
            )
        return outputs

    @property
    def ones(self):
        return [(k, a) for k, v in enumerate(self.inputs) for a, n in enumerate(v.lengths) if n == 1]

    def arrays(self, name, rng):
        """Arrays for the inputs: tame, hostile, or with infinities."""
        hard = name == "infinite" and not any(step[0] in SIZED for step in self.steps)
        return [
            length(one, rng, hard=hard)
            if one.name[0] == "k"
            else keeping(one.promised, drawn(name, one.dtype, tuple(one.lengths), rng))
            for one in self.inputs
        ]


def length(one, rng, *, hard):
    """An integer scalar: one that may be a length, or a hard one where nothing is as long as it says."""
    values = (2**62, -(2**62), 2**63 - 1, 2**31, -1) if hard else (0, 1, 1, 2, 3, 4)
    return np.array(rng.choice(values), one.dtype)


def keeping(names, x):
    """The array with elements that lack a promised fact replaced."""
    if not names:
        return x
    found = x.copy()
    for place in np.ndindex(x.shape):
        if not all(fact_holds(name, found[place][None]) for name in names):
            found[place] = -1.5 if "negative" in names and "whole" not in names else -2 if "negative" in names else 2
    return found


def cost_of(v):
    y = tg.real(v) + 2 * tg.imag(v) if is_complex(v.type.dtype) else v
    return tg.sum(y)


# --- drawn by a seed --------------------------------------------------------------------------------------------------


def inputs_for(family, dtype, rng):
    """A few inputs of a family: scalars, vectors, matrices that broadcast."""
    rank, n, m = rng.choice(family.rank), rng.choice((4, 4, 4, 3, 3, 2, 1, 0, 5)), rng.choice((3, 3, 4, 2, 1))
    if family.rank == (0, 1, 1, 2) and rng.random() < 0.6:
        rank, n = 1, 16
    full = ((), (n,), (m, n))[rank]
    shapes = [full, full, *([full[1:]] if full else []), *([()] if rng.random() < 0.5 else [])]
    inputs = []
    for k in range(rng.choice((1, 2, 2, 3))):
        shape = full if k == 0 else rng.choice(shapes)
        promised = ()
        if rng.random() < 0.12 and dtype.startswith("float"):
            promised = (rng.choice(FACTS),)
        inputs.append(Input("xyz"[k], dtype, shape, promised))
    if "k" in {n for a in family.own for n in a.names}:
        inputs.append(Input("k0", "int64", ()))
    return inputs


def number(dtype, shape, rng, arrays):
    """A constant of a dtype: a scalar, or an array of ordinary values."""
    if shape and rng.random() < arrays:
        found = drawn("tame", dtype, shape, np.random.default_rng(rng.randrange(1 << 30)))
        if rng.random() < 0.7:  # a factor may leave a product and its divisor where it is not 0
            found[found == 0] = 3
        return tg.constant(found)
    if dtype == "bool":
        return tg.constant(np.array(rng.random() < 0.5))
    K = vars(constants(dtype))
    value = rng.choice((*K.values(), *((0, 1, -1, 2, 0.5, -0.0, 3) if not is_integer(dtype) else (0, 1, 2, 3))))
    return tg.constant(np.array(value).astype(tg.tensor("c", dtype, ()).type.numpy_dtype))


def alphabet(family, rng, name):
    """Some of the letters of a family: with few of them the same ones meet."""
    count = min(len(family.own), rng.choice((2, 3, 3, 4, 6)))
    first = rng.randrange(len(family.own) - count + 1)  # what belongs together stands together
    own = list(family.own[first : first + count]) if rng.random() < 0.4 else rng.sample(family.own, count)
    beside = rng.sample(family.beside, min(len(family.beside), rng.choice((0, 1, 2, 3))))
    found = [*own, *beside]
    if "f" in own[0].kinds:
        found += rng.sample(PAIRS, rng.choice((0, 1, 2)))
        for more, chance in ((NEAR, 0.6), (MOVES, 0.35), (REDUCTIONS, 0.2), (ENDS, 0.2), (GATES, 0.15)):
            if rng.random() < chance:
                found.append(rng.choice(more))
    if family.rules and rng.random() < 0.6:
        for _ in range(rng.choice((1, 1, 2))):
            one = rng.choice(family.rules)
            found.extend([pattern(one, rng.choice((0, 0, 1)) and rng.randrange(1, 1 << 30), name)] * 2)
    return found


def operands_of(program, one, dtype, rng):
    """Places of operands for a letter; None where there are none."""
    found = []
    main = None
    for name in one.names:
        if name in "pq":
            fits = [k for k, v in enumerate(program.values) if v.type.dtype == "bool"]
        elif name == "k" and one.names != tuple("abcdefghijk"):
            fits = [k for k, v in enumerate(program.values) if v.type.dtype == "int64" and not v.type.shape]
        elif found and one.text[0] == "<" and one.alike:
            fits = [k for k, v in enumerate(program.values) if v.type == program.values[found[0]].type]
        elif main is None:
            fits = [k for k, v in enumerate(program.values) if kind(v.type.dtype) in one.kinds]
            if rng.random() < 0.8:
                fits = [k for k in fits if program.values[k].type.dtype == dtype] or fits
        else:
            fits = [k for k, v in enumerate(program.values) if v.type.dtype == main]
        if not fits:
            return None
        recent = fits[-4:]
        k = rng.choice(recent if rng.random() < 0.6 else fits)
        if name not in "pqk" and main is None:
            main = program.values[k].type.dtype
        found.append(k)
    return found


def kind(dtype):
    return (
        "b"
        if dtype == "bool"
        else "u"
        if dtype[0] == "u"
        else "i"
        if is_integer(dtype)
        else "c"
        if is_complex(dtype)
        else "f"
    )


def random_program(name, seed):
    """A program of a family: the same one for the same seed."""
    rng = random.Random(seed)
    family = families()[name]
    dtype = rng.choice(family.dtypes)
    program = Program(inputs_for(family, dtype, rng), rng)
    for _ in range(rng.choice(family.constants)):
        shape = rng.choice(program.inputs).lengths if dtype != "bool" else ()
        program.constant(number(dtype, shape, rng, family.arrays))
    if rng.random() < 0.3:
        program.constant(tg.constant(np.array([True, False, True, True][: max(1, rng.choice((1, 4)))]).reshape(-1)[0]))
    chosen = alphabet(family, rng, name)
    wanted = rng.choice((4, 6, 8, 12, 16))
    for _ in range(2 * wanted):
        one = rng.choice(chosen)
        places = operands_of(program, one, dtype, rng)
        if places is not None:
            program.add(one, places)
        if len(program.steps) >= wanted:
            break
    if is_inexact(dtype):
        program.derived = rng.choice((0, 0, 0, 1, 1, 2) if wanted < 12 else (0, 0, 0, 1))
    program.known = rng.random() < 0.5
    return program


# --- every short one --------------------------------------------------------------------------------------------------


def shapes_of(family):
    return ((16,), (16,), ()) if family.rank == (0, 1, 1, 2) else ((3, 4), (3, 4), (4,))


def short_programs(name, dtype, size):
    """Every composition of so many letters of a family, `PER_FUNCTION` in one program."""
    family = families()[name]
    chosen = tuple(
        dict.fromkeys(
            a for a in (*family.own, *family.beside) if kind(dtype) in a.kinds or set(a.names) <= {"p", "q", "k"}
        )
    )
    for group in grouped(itertools.product(chosen, repeat=size), 12):
        program = Program(short_inputs(family, dtype), random.Random(0))
        for chain in group:
            compose(program, chain)
        if program.steps:
            program.derived = 0
            yield program


def short_inputs(family, dtype):
    inputs = [Input("xyz"[k], dtype, shape) for k, shape in enumerate(shapes_of(family))]
    return [*inputs, Input("p0", "bool", shapes_of(family)[0]), Input("k0", "int64", ())]


def compose(program, chain):
    """The letters applied one on the other: each to the last value first, its other operands inputs."""
    x, y, _, p, k = range(5)
    last = None
    for one in chain:
        places = []
        for name in one.names:
            free = {"p": p, "q": p, "k": k, "a": x, "b": y, "c": 2}.get(name, x)
            if last is not None and fits(program.values[last], name, one) and last not in places:
                free = last
            places.append(free)
        if not program.add(one, places):
            return
        last = len(program.values) - 1


def fits(v, name, one):
    if name in "pq":
        return v.type.dtype == "bool"
    if name == "k":
        return v.type.dtype == "int64" and not v.type.shape
    return kind(v.type.dtype) in one.kinds


def grouped(items, count):
    iterator = iter(items)
    while group := list(itertools.islice(iterator, count)):
        yield group


__all__ = ["ELEMENT", "letter", "random_program", "short_programs"]
