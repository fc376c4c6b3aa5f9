"""C functions given as text: dtypes and ranks that they take, where they stand, and what is said of mistakes."""

import itertools
import json
import os
import subprocess
import sys

import numpy as np
import pytest

import tg
from tg.backend import Family, Op, Rules, TensorType, hookimpl, unary
from tg.errors import NoRuleError, PluginError
from tg.plugin import registry
from tg_c import PROTOCOL, CFunction
from tg_c.compiler import CompileError

twice = unary("twice_in_c", lambda x: x + x, np.positive, "x + x.")
DOUBLED = "{t} twice_{t}({t} x) {{ return x + x; }}"
WORDS = {"float64": "f64", "float32": "f32", "int8": "i8", "uint16": "u16", "int64": "i64", "complex128": "c128"}


class Blend(Op):
    """Operands of every rank, numbers among them, and three results."""

    def infer(self, x, m, s, flag):
        return (TensorType(x.dtype, x.shape), TensorType("int64"), TensorType(m.dtype, m.shape))

    def perform(self, x, m, s, flag):
        return (x * s, np.asarray(m.size, np.int64), m + s if flag else m * 1.0)


BLEND = """
void blend(const f64 *x, i64 n, const f64 *m, i64 rows, i64 columns, f64 s, b8 flag,
           f64 *y, i64 ny, i64 *size, f64 *z, i64 rz, i64 cz) {
  for (i64 i = 0; i < n; i++) y[i] = x[i] * s;
  *size = rows * columns;
  for (i64 i = 0; i < rz * cz; i++) z[i] = flag ? m[i] + s : m[i];
}
"""
blend = Blend()


class Plugin:
    def __init__(self, rules):
        self.rules = rules

    @hookimpl
    def tg_ops(self):
        return (Family("foreign", (twice,), ops=(Blend,)),)

    @hookimpl
    def tg_rules(self, backend):
        return Rules(PROTOCOL, self.rules) if backend == "c" else None


@pytest.fixture
def given():
    """Have rules for the time of a test."""
    names = []

    def register(rules):
        for name in names:
            registry().manager.unregister(name=name)
        names[:] = [registry().manager.register(Plugin(rules), name="foreign")]

    yield register
    for name in names:
        registry().manager.unregister(name=name)


def every():
    """One rule of a function for each dtype."""
    rules = [CFunction(f"twice_{t}", DOUBLED.format(t=t), [dtype], dtype) for dtype, t in WORDS.items()]
    found = rules[0]
    for rule in rules[1:]:
        found |= rule
    return found


@pytest.mark.parametrize("dtype", [*WORDS, "float16", "bfloat16"])
def test_elements_in_loops_with_others_and_alone(dtype, given):
    given({twice: every()})
    x, s = tg.vector("x", dtype=dtype), tg.scalar("s", dtype=dtype)
    f = tg.function([x, s], [twice(x), twice(x) + x * x, tg.sum(twice(x[::-1])), twice(s)], backend="c")
    for n in (0, 1, 3, 8, 33):
        a = (np.arange(n) % 7 - 3).astype(tg.backend.numpy_dtype(dtype))
        first = a[:1].sum(keepdims=True).astype(a.dtype)
        alone, with_others, total, one = f(a, first[0])
        np.testing.assert_array_equal(alone, a + a)
        np.testing.assert_array_equal(with_others, a + a + a * a)
        assert total == (a + a).sum()
        assert one == (first + first)[0]
        assert alone.dtype == a.dtype


def test_it_shares_the_loop_with_what_stands_around_it(given):
    given({twice: every()})
    x = tg.vector("x")
    f = tg.function([x], tg.sum(twice(tg.exp(x)) - 1), backend="c")
    assert f.source().count("static void loop") == 1
    np.testing.assert_allclose(f(np.arange(9.0)), np.sum(2 * np.exp(np.arange(9.0)) - 1), rtol=1e-14)


@pytest.mark.parametrize("layout", ["plain", "transposed", "repeated", "empty"])
def test_whole_arrays_in_any_layout_numbers_and_several_results(layout, given):
    operands = ["float64[?]", "float64[?, ?]", "float64", "bool"]
    given({Blend: CFunction("blend", BLEND, operands, ("float64[?]", "int64", "float64[?, ?]"))})
    x, m, s, flag = tg.vector("x"), tg.matrix("m"), tg.scalar("s"), tg.scalar("flag", dtype="bool")
    seen = {"transposed": m.T, "repeated": tg.broadcast_to(m[0], (4, m.shape[1])), "empty": m[:0]}.get(layout, m)
    a, b = np.arange(5.0), np.arange(6.0).reshape(2, 3)
    right = {"transposed": b.T, "repeated": np.broadcast_to(b[:1], (4, 3)), "empty": b[:0]}.get(layout, b)
    f = tg.function([x, m, s, flag], [*blend(x[::-1], seen, s, flag), tg.sum(x)], backend="c")
    for case in itertools.product((2.0, -1.0), (True, False)):
        y, size, z, total = f(a, b, *case)
        np.testing.assert_array_equal(y, a[::-1] * case[0])
        assert size == right.size
        np.testing.assert_array_equal(z, right + case[0] if case[1] else right)
        assert total == a.sum()


def test_operands_are_as_they_were_and_results_are_the_callers(given):
    given({Blend: CFunction("blend", BLEND, ["float64[?]", "float64[?, ?]", "float64", "bool"],
                            ("float64[?]", "int64", "float64[?, ?]"))})  # fmt: skip
    x, m = tg.vector("x"), tg.matrix("m")
    y, _, z = blend(tg.exp(x), m, tg.constant(2.0), tg.constant(True))
    f = tg.function([x, m], [tg.exp(x), y, z], backend="c", name="f")
    a, b = np.arange(3.0), np.ones((2, 2))
    first, second = f(a, b), f(a + 1, b)
    np.testing.assert_allclose(first[0], np.exp(a), rtol=1e-15)
    np.testing.assert_allclose(first[1], 2 * np.exp(a), rtol=1e-15)
    assert not any(np.may_share_memory(p, q) for p, q in itertools.product(first, second))


@pytest.mark.parametrize(
    ("operands", "result", "text"),
    [
        (["float64", "float64"], "float64", "found 2 operands, needed the 1 of twice_in_c"),
        ([], "float64", "found 0 operands, needed the 1 of twice_in_c"),
        (["float64"], "float32", r"found a result float32\[\], needed the float64\[\] of twice_in_c"),
        (["float64"], ("float64", "float64"), r"found a result float64\[\], float64\[\], needed"),
    ],
)
def test_another_signature_than_the_ops_is_refused(operands, result, text, given):
    given({twice: CFunction("twice", "f64 twice(f64 x) { return x + x; }", operands, result)})
    x = tg.vector("x")
    with pytest.raises(PluginError, match=text) as info:
        tg.function([x], twice(x), backend="c")
    assert "test_foreign.py" in "".join(info.value.__notes__)


def test_results_of_another_rank_are_refused(given):
    rule = CFunction("blend", BLEND, ["float64[?]", "float64[?, ?]", "float64", "bool"], "float64[?]")
    given({Blend: rule})
    x, m = tg.vector("x"), tg.matrix("m")
    with pytest.raises(PluginError, match=r"found a result float64\[\?\], needed the float64\[\?\], int64\[\]"):
        tg.function([x, m], blend(x, m, tg.constant(2.0), tg.constant(True)), backend="c")


def test_other_dtypes_and_ranks_are_declined(given):
    given({twice: CFunction("twice", "f64 twice(f64 x) { return x + x; }", ["float64"], "float64")})
    x = tg.vector("x", dtype="int64")
    with pytest.raises(NoRuleError, match="declines"):
        tg.function([x], twice(x), backend="c")


@pytest.mark.parametrize("name", ["exp", "cexp", "2", "a b", "tg_x", ""])
def test_names_that_units_have_are_refused(name):
    with pytest.raises(PluginError, match="needed one of C that units do not have"):
        CFunction(name, "", ["float64"], "float64")


@pytest.mark.parametrize("text", ["", "f64 other(f64 x) { return x; }", "f64 once_twice(f64 x) { return x; }"])
def test_a_text_without_the_function_is_refused(text):
    with pytest.raises(PluginError, match="found a text that does not define it"):
        CFunction("twice", text, ["float64"], "float64")


@pytest.mark.parametrize("dtype", ["float65", "float64[", "float64[n]", "double", 3, None])
def test_what_is_no_dtype_is_refused(dtype):
    with pytest.raises(PluginError, match=r"operand 1: found .+ needed a dtype, or one with axes"):
        CFunction("f", "f()", ["float64", dtype], "float64")


@pytest.mark.parametrize(
    "text", ["f32 twice(f32 x) { return x; }", "f64 twice(f64 x, f64 y) { return x; }", "f64 twice(f64 x) {"]
)
def test_a_text_that_is_not_what_was_said_does_not_compile(text, given):
    given({twice: CFunction("twice", text, ["float64"], "float64")})
    x = tg.vector("x")
    with pytest.raises(CompileError):
        tg.function([x], twice(x), backend="c")


def test_one_name_has_one_text(given):
    one = CFunction("same", "f64 same(f64 x) { return x + x; }", ["float64"], "float64")
    other = CFunction("same", "f32 same(f32 x) { return x + x; }", ["float32"], "float32")
    given({twice: one | other})
    x, y = tg.vector("x"), tg.vector("y", dtype="float32")
    assert tg.function([x], twice(x), backend="c")([1.0]) == [2.0]
    with pytest.raises(PluginError, match="found two texts"):
        tg.function([x, y], [twice(x), twice(y)], backend="c")


def test_names_of_the_units_own_variables_may_be_used(given):
    x = tg.vector("x")
    for name in ("t3", "i", "loop7", "status", "heap", "x0", "v"):
        given({twice: CFunction(name, f"f64 {name}(f64 a) {{ return a + a; }}", ["float64"], "float64")})
        assert tg.function([x], twice(x * 3), backend="c")([1.0]) == [6.0]


PROCESS = """
import json, sys
import numpy as np, tg
from tests.unit.tg_c.test_foreign import Plugin, every, twice
from tg.plugin import registry
registry().manager.register(Plugin({twice: every()}), name="foreign")
x = tg.vector("x")
f = tg.function([x], twice(x), backend="c")
rows = {row.name: row.note for row in f.compile_report().rows}
print(json.dumps([f([1.5]).tolist(), rows.get("cache"), "compiler" in rows]))
"""


def test_another_process_finds_it_compiled(tmp_path):
    environ = {**os.environ, "TG_CACHE_DIR": str(tmp_path), "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    found = []
    for _ in range(2):
        command = [sys.executable, "-c", PROCESS]
        done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        found.append(json.loads(done.stdout))
    assert [one[0] for one in found] == [[3.0], [3.0]]
    assert [one[2] for one in found] == [True, False]
