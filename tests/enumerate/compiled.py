"""Programs compiled by a backend, many in one function, against what they mean as they are written."""

from __future__ import annotations

import warnings

import numpy as np

import tg
from tests.enumerate.judge import Data
from tests.enumerate.programs import random_program
from tests.enumerate.search import Fault, Rewritten, runs
from tests.fuzz.noise import limits
from tests.fuzz.perturbation import Expectation, bits_differ
from tests.fuzz.programs import takes_subnormals_for_0
from tg.errors import NoRuleError
from tg.functions.debug.rounding import is_inexact, wide
from tg.graph.function_graph import freeze
from tg.graph.traversal import sorted_applies
from tg.ops.elementwise.arithmetic import multiply
from tg.ops.elementwise.record import Elementwise

BATCH = 10  # programs in one function
ULPS = 16.0


def prepared(family, seed):
    """Inputs, outputs, arrays and the program of a seed, as it is written; None where it is none."""
    try:
        program = random_program(family, seed)
        inputs, outputs = program.built(program.known)
        rng = np.random.default_rng(seed)
        arrays = program.arrays("tame" if seed % 3 else "hostile", rng)
        before = Rewritten(inputs, outputs, () if program.known else program.ones)
    except Exception:  # noqa: BLE001 (told by the run on the reference)
        return None
    data = Data("tame" if seed % 3 else "hostile", before.inputs, arrays, tame=bool(seed % 3))
    return (inputs, outputs, data, before, seed) if outputs and runs(before.before, data) else None


def compiled(run, family, seeds, backend):
    """Compare the programs of some seeds, `BATCH` in one function; what fails together is looked at alone."""
    batch = [one for one in (prepared(family, seed) for seed in seeds) if one is not None]
    run.outputs += sum(len(outputs) for _, outputs, *_ in batch)
    run.programs += len(batch)
    for one, found in zip(batch, results(batch, backend), strict=True):
        if isinstance(found, NoRuleError):
            run.skipped += 1
            continue
        text = f"raises {found!r}"[:300] if isinstance(found, Exception) else difference(one, found, backend)
        if text is not None:
            _, _, data, before, seed = one
            run.note(
                Fault("?", f"backend {backend}", text, "", data, 0),
                before.before,
                data.arrays,
                f"{family} {seed}",
                "default",
                frozenset(),
            )


def results(batch, backend):
    """What each program of a batch gives, or raises."""
    if not batch:
        return []
    inputs, outputs, arrays = [], [], []
    for one in batch:
        inputs += one[0]
        outputs += one[1]
        arrays += one[2].arrays
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            flat = iter(tg.function(inputs, outputs, backend=backend, on_unused_input="ignore")(*arrays))
    except Exception as error:  # noqa: BLE001
        if len(batch) == 1:
            return [error]
        half = len(batch) // 2
        return results(batch[:half], backend) + results(batch[half:], backend)
    return [[np.asarray(next(flat)) for _ in one[1]] for one in batch]


def difference(one, found, backend):
    """How the outputs of a program differ from what it may give."""
    _, _, data, before, _ = one
    wanted = [np.asarray(data.values.of(v)) for v in before.outputs]
    rewritten = [np.asarray(data.values.of(v)) for v in before.journal.outputs]
    if all(alike(a, c) or alike(b, c) for a, b, c in zip(wanted, rewritten, found, strict=True)):
        return None
    if any(leaves_the_range(data.values, outputs) for outputs in (before.outputs, before.journal.outputs)):
        return None
    flushes = takes_subnormals_for_0(backend)
    text = Expectation(before.before, data.arrays).confirmed(found, flushes=flushes)
    if text is not None and flushes:  # subnormals that rewriting has brought in; the step itself is judged elsewhere
        rewritten = freeze(before.inputs, before.journal.outputs)
        return Expectation(rewritten, data.arrays).confirmed(found, flushes=True) and text
    return text


def leaves_the_range(values, outputs):
    """Whether a product of many numbers would be infinite, or 0, in another order: backends multiply in their own."""
    for node, _ in sorted_applies(outputs):
        if getattr(node.op, "fn", None) is multiply and not isinstance(node.op, Elementwise):
            x = np.asarray(values.of_all(node.inputs)[0])
            if is_inexact(x):
                with np.errstate(all="ignore"):
                    sizes = np.log2(np.abs(wide(x)))
                    sizes = sizes[np.isfinite(sizes)]
                most = float(np.log2(limits(x.dtype).largest))
                if max(sizes[sizes > 0].sum(), -sizes[sizes < 0].sum()) > most - 1:
                    return True
    return False


def alike(a, b):
    """Whether two arrays are the same but for a few units in the last place."""
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    if not is_inexact(a):
        return bool((a == b).all())
    info = limits(a.dtype)
    with np.errstate(all="ignore"):
        x, y = wide(a), wide(b)
        near = np.abs(x - y) <= ULPS * np.maximum(info.eps * np.abs(x), info.least)
    return bool((near | ~bits_differ(a, b)).all())
