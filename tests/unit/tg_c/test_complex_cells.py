"""Complex numbers with a constant part in memory: gcc 11 and 12 read them wrongly where they are stored as a whole."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import tg
from tg_c.compiler import SEMANTICS

PROGRAM = Path(__file__).with_name("complex_cells.c")
COMPILERS = [name for name in ("cc", "gcc-11", "gcc-12", "clang-14", "clang-16", "clang-19") if shutil.which(name)]
Z, D, K = np.array([1 + 2j, 3 + 4j, 5 - 1j]), 2.5, 3


def behind_the_first(values, term):
    return values + np.array([0, 1, 1]) * term


PROGRAMS = {
    "added to a part": (lambda z, d, k, c: (z * d).at[1:].add(c), lambda z, d, k: behind_the_first(z * d, d)),
    "an integer": (
        lambda z, d, k, c: (z * k).at[1:].add(tg.cast(k, z.dtype)),
        lambda z, d, k: behind_the_first(z * k, k),
    ),
    "set": (lambda z, d, k, c: (z * c).at[1:].set(c), lambda z, d, k: np.array([z[0] * d, d, d])),
    "an imaginary number": (
        lambda z, d, k, c: (z * c).at[1:].add(c * tg.constant(1j, dtype=z.dtype)),
        lambda z, d, k: behind_the_first(z * d, d * 1j),
    ),
    "chosen": (
        lambda z, d, k, c: (z * c).at[1:].add(tg.where(k > 5, 0, c)),
        lambda z, d, k: behind_the_first(z * d, d),
    ),
    "a sum": (lambda z, d, k, c: tg.sum((z * c).at[1:].add(c)), lambda z, d, k: np.sum(z * d) + 2 * d),
    "an output that is read": (
        lambda z, d, k, c: [c, (z * c).at[1:].add(c)],
        lambda z, d, k: [np.array(d + 0j), behind_the_first(z * d, d)],
    ),
    "carried": (
        lambda z, d, k, c: tg.scan(lambda s, v: (s * v + c, s), c, z)[1],
        lambda z, d, k: np.array([d, d * z[0] + d, (d * z[0] + d) * z[1] + d]),
    ),
    "joined": (
        lambda z, d, k, c: tg.concatenate([z * c, tg.broadcast_to(c, (2,))]),
        lambda z, d, k: np.concatenate([z * d, [d, d]]),
    ),
}


@pytest.mark.parametrize("level", ["-O1", "-O2"])
@pytest.mark.parametrize("compiler", COMPILERS)
def test_a_complex_number_that_is_stored_as_its_parts_is_read_as_it_is(compiler, level, tmp_path):
    program = tmp_path / "cells"
    subprocess.run([compiler, *SEMANTICS, level, str(PROGRAM), "-o", str(program)], check=True, capture_output=True)
    assert subprocess.run([str(program)], check=False).returncode == 0


@pytest.mark.parametrize("dtype", ["complex128", "complex64"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_complex_numbers_made_of_real_ones_keep_both_parts(name, dtype):
    build, expected = PROGRAMS[name]
    real = np.zeros(0, dtype).real.dtype
    z, d, k = tg.vector("z", dtype=dtype), tg.scalar("d", dtype=real), tg.scalar("k", dtype="int64")
    f = tg.function([z, d, k], build(z, d, k, tg.cast(d, dtype)), backend="c", on_unused_input="ignore")
    values, needed = f(Z.astype(dtype), real.type(D), K), expected(Z, D, K)
    pairs = zip(values, needed, strict=True) if isinstance(needed, list) else [(values, needed)]
    for value, right in pairs:
        np.testing.assert_array_equal(value, np.asarray(right).astype(dtype))
