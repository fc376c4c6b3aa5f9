"""Programs of loops, drawn by a seed: what they give, and their derivatives, against plain Python loops over NumPy.

    python -m tests.enumerate.loops --count 2000 --backend perform --seed 0

A program is a function of a namespace and values, run twice: with tg, and with `Plain`, whose loops are Python's. Loops
stand in one another, in branches and in conditions; what they read besides their arguments they capture. Derivatives
are compared along a direction with differences of the plain program in extended precision, of which two steps must
agree: at a jump of a condition there is none.

A program may be of several forms at once: of loops three deep, of a batch of values by `tg.vmap` (the plain one runs
for one element after another), with checks that fail in the first step, the last, another or none, or in a branch that
may not be taken, with a gradient of a gradient, scans that keep few carries, and arguments that are given away; wide
ones have the loops and steps of `loop_kinds` too, and those with taps the recurrences of `loop_taps`.
"""

from __future__ import annotations

import argparse
import random
import warnings

import numpy as np

import tg
from tests.enumerate.loop_kinds import Held, Wide
from tests.enumerate.loop_programs import DTYPES, INPUTS, Drawn, FailedError
from tests.enumerate.loop_taps import Tapped
from tg import plugin

LENGTHS = (0, 1, 2, 7)
STEP = 1e-5
FORMS = {
    "deep": 0.15,
    "batched": 0.25,
    "guarded": 0.35,
    "twice": 0.2,
    "segments": 0.2,
    "donated": 0.2,
    "wide": 0.5,
    "taps": 0.2,
}  # how often
BATCHES = (0, 1, 2, 3, 3)
ROUNDING = {"f": 1e-9, "g": 2e-4, "c": 1e-9}


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


def expected(drawn, arrays, sizes, wide=(), *held):
    """What the plain program gives: results, or how it fails."""
    space = drawn.spaces[0](*held)
    given = {name: a.astype(np.longdouble) if name in wide else a[()] for name, a in arrays.items()}
    try:
        if "batched" not in drawn.forms:
            return drawn.run(space, {**given, "sizes": sizes})
        names = sizes["batched"]
        count = len(given[names[0]])
        rows = [drawn.run(space, {**given, "sizes": sizes, **{n: given[n][b] for n in names}}) for b in range(count)]
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
        return [tg.as_variable(v) for v in drawn.run(drawn.spaces[1], {**variables, "sizes": sizes})]

    def one(*values):
        return drawn.run(drawn.spaces[1], {**variables, "sizes": sizes, **dict(zip(names, values, strict=True))})

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
    found, held = {}, Held()
    for sign in (0, 1, -1):
        moved = {n: a.astype(np.longdouble) for n, a in arrays.items() if n in FLOATS}
        moved = {n: a + sign * np.longdouble(h) * directions[n] for n, a in moved.items()}
        values = expected(drawn, {**arrays, **moved}, sizes, FLOATS, *([held] if isinstance(drawn, Wide) else []))
        held.again()
        if _fails(values):
            return np.nan, np.nan
        found[sign] = sum(np.sum(np.longdouble(v)) for v in values)
    return float((found[1] - found[-1]) / (2 * h)), float((found[1] - 2 * found[0] + found[-1]) / h**2)


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
    forms = forms_of(seed) if forms is None else forms
    family = Tapped if "taps" in forms else Wide if "wide" in forms else Drawn
    drawn = family(seed, smooth=smooth, forms=forms, kinds=kinds)
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

        more = {"grad": down(cost)}
        if not drawn.only_reverse:
            more["jvp"] = tg.jvp(cost, wrt, along, disconnected="zero")
        if "twice" in drawn.forms:
            more["grad of grad"] = down(more["grad"])
        elif seed % 3 == 0 and not drawn.only_reverse:
            more["jvp of grad"] = tg.jvp(more["grad"], wrt, along, disconnected="zero")
    try:
        found = results_of(variables, arrays, [*outputs, *more.values()], backend, donated="donated" in drawn.forms)
    except tg.NoRuleError:
        if drawn.may_end and plugin.registry().backend(backend).shapes == "static":
            return 0  # what each step decides is no length there
        raise
    if _fails(wanted) or _fails(found):
        if batch == 0 or (drawn.has_lanes and 0 in sizes.values()):
            return 1  # what is the same for all elements is computed, and can fail, where there is none
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
    if (
        "batched" in drawn.forms or drawn.has_lanes
    ):  # the first element that fails is not the first step in which one does
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
