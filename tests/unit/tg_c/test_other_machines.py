"""The C that is written for processors other than this one: the compiler takes it. Only this one's can be run."""

import itertools
import os
import re
import subprocess

import pytest

import tg
from tg import plugin
from tg.errors import DtypeError
from tg.link.linker import Request
from tg.ops.catalog import FAMILIES
from tg.ops.elementwise.arithmetic import add
from tg.ops.reduction import ArgReduce, Reduce
from tg.ops.reductions import ALL, ANY, LARGEST, LEAST, PRODUCT, SUM
from tg.types.tensor_type import TensorType
from tg_c import compiler, machine
from tg_c.program import Unit
from tg_native.fusion.fused import fuse

pytestmark = [
    pytest.mark.sampled(48),
    pytest.mark.skipif(os.uname().machine != "x86_64", reason="the processors are of x86-64"),
]
DTYPES = ("bool", "int8", "uint16", "int32", "int64", "float16", "bfloat16", "float32", "float64", "complex128")
LEVELS = ("x86-64", "x86-64-v3", "x86-64-v4")  # of instruction sets, as compilers name them
REDUCING = tuple(one.fn for one in (SUM, PRODUCT, LEAST, LARGEST, ALL, ANY))
SHAPES = ((7,), (1,), (5, 3), (0, 3), (1, 600), (600, 2), (40, 300), (2, 3, 4), (None,), (None, None))


@pytest.fixture
def accepted(request, monkeypatch, frozen_of):
    """Write a program for a processor, and have the compiler read it."""
    command = [request.param if word == "-march=native" else word for word in compiler.compiler().line(compiler.USUAL)]
    words = subprocess.run([*command, "-dM", "-E"], input="", text=True, capture_output=True, check=True).stdout
    known = frozenset(re.findall(r"^#define (__\w+__)", words, re.MULTILINE))
    monkeypatch.setattr(machine, "macros", lambda: known)
    reads = [word for word in command if not word.startswith("-l")]

    def accept(inputs, outputs):
        registry = plugin.registry()
        options = registry.backend("c").options()
        for graph in (frozen := frozen_of(inputs, outputs), fuse(frozen)):
            text = Unit(Request("c", options, registry.rules("c").get)).program(graph).text
            found = subprocess.run(
                [*reads, "-fsyntax-only", "-Wno-psabi"], input=text, text=True, capture_output=True, check=False
            )
            assert found.returncode == 0, found.stderr

    return accept


machines = pytest.mark.parametrize("accepted", [f"-march={level}" for level in LEVELS], ids=LEVELS, indirect=True)


@machines
@pytest.mark.parametrize("dtype", DTYPES)
def test_reductions(dtype, accepted):
    for shape in SHAPES:
        x = tg.Variable(TensorType(dtype, shape), name="x")
        outputs = []
        for count in range(1, len(shape) + 1):
            for axes in itertools.combinations(range(-len(shape), 0), count):
                outputs += [Reduce(fn, axes, total=True)(x) for fn in REDUCING]
                outputs.append(Reduce(add, axes)(tg.transpose(x)))
        if dtype != "complex128":
            outputs += [ArgReduce(fn, -1)(x) for fn in (LARGEST.fn, LEAST.fn) if shape[-1] != 0]
        accepted([x], outputs)


@machines
@pytest.mark.parametrize("dtype", DTYPES)
def test_elementwise(dtype, accepted):
    inputs, outputs = [], []
    for fn in (fn for family in FAMILIES for fn in family.elementwise if fn.cost < 500):  # without loops
        try:
            operands, _ = fn.loop((dtype,) * fn.arity)
        except DtypeError:
            continue
        found = [tg.Variable(TensorType(d, (None,)), name="x") for d in operands]
        inputs += found
        outputs.append(fn(*found))
    assert outputs
    accepted(inputs, outputs)


@machines
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("k", "n"), [(801, 803), (150_000, 2)])
def test_products_of_a_vector_or_many_rows_and_a_large_matrix(dtype, k, n, accepted):
    x, y = (tg.Variable(TensorType(dtype, shape), name=name) for name, shape in (("x", (None, k)), ("y", (k, n))))
    outputs = [x[:1] @ y, x[:1, ::2] @ y[::2], (y[:, ::-1].T @ x[0])[None], y.T @ x[:1].T, x @ y, x @ y[:, 0]]
    accepted([x, y], outputs)
