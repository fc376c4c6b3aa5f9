"""Pairs of integers: their products and sum by one instruction, read in the assembly, and columns shared by threads."""

import platform
import shutil
import subprocess

import numpy as np
import pytest

import tg
from tg_c.vectors import PAIRED

SOURCE = """\
#define TG_INLINE static inline __attribute__((always_inline))
typedef int vec __attribute__((vector_size({size})));
{function}
vec g(vec x, vec y, vec z) {{ return f(x, y, z); }}
"""
MACHINES = [
    ("-march=x86-64-v3", 32, "x", ["vpmaddwd", "vpaddd"]),
    ("-march=x86-64-v4", 64, "v", ["vpmaddwd", "vpaddd"]),
    ("-march=x86-64-v3 -mavxvnni", 32, "x", ["vpdpwssd"]),
    ("-march=x86-64-v4 -mavx512vnni", 64, "v", ["vpdpwssd"]),
    ("-march=x86-64-v4 -mavx512vnni", 32, "v", ["vpdpwssd"]),
]


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the instructions are those of x86-64")
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize(("flags", "size", "register", "instructions"), MACHINES)
def test_pairs_are_one_instruction_with_vnni_and_two_without(compiler, flags, size, register, instructions):
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not there")
    function = PAIRED.replace("@R", register).replace("@V", "vec").replace("@NAME", "f")
    command = [compiler, *flags.split(), "-O2", "-S", "-o", "-", "-x", "c", "-"]
    text = SOURCE.format(size=size, function=function)
    run = subprocess.run(command, input=text, capture_output=True, text=True, check=True, timeout=60)
    words = [word for line in run.stdout.splitlines() for word in line.split()]
    assert [word for word in words if word.startswith(("vpm", "vpd", "vpa"))] == instructions


def test_threads_share_the_columns_of_a_product_of_integers():
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 256, (97, 2100), np.uint8), rng.integers(-128, 128, (2100, 75), np.int8)
    x, y, z = tg.tensor("x", "uint8", (97, 2100)), tg.tensor("y", "int8", b.shape), tg.tensor("z", "int8", b.T.shape)
    outputs = [tg.integer_matmul(x, y), tg.integer_matmul(x, z.T)]
    f = tg.function([x, y, z], outputs, backend=tg.backend("c", threads=2))
    for actual in f(a, b, np.ascontiguousarray(b.T)):
        np.testing.assert_array_equal(actual, (a.astype(np.int64) @ b.astype(np.int64)).astype(np.int32))
