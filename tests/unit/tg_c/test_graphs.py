"""Whole graphs on the C backend: what is particular to its text and its options."""

import numpy as np
import pytest

import tg
from tg.types.tensor_type import TensorType
from tg_c.program import Unit


def vector(name, dtype="float64", n=None):
    return tg.Variable(TensorType(dtype, (n,)), name=name)


def inner(x, y):
    return tg.sum(x) * y, tg.max(x), x[1:] - tg.max(y)


def test_inner_graphs_nest_and_equal_ones_are_one_function(agrees, compiled, frozen_of):
    def outer(x):
        (a, _, c), (d, _, f) = tg.call(inner, x, x), tg.call(inner, x, x)
        return a + d, c * f

    x, y = vector("x"), vector("y")
    outputs = [v for z in (x, y, x * y) for v in tg.call(outer, z)]
    agrees([x, y], outputs, [np.arange(1.0, 4), np.arange(2.0, 5)])
    agrees([x, y], outputs, [np.arange(0.0), np.arange(0.0)])
    text = compiled(frozen_of([x, y], outputs)).source()
    assert "static i64 graph2(" in text
    assert "static i64 graph3(" not in text


def test_large_constants_are_arguments_of_the_code(compiled, frozen_of):
    x = vector("x")
    texts = set()
    for k in range(2):
        data = np.arange(4000.0) + k
        made = compiled(frozen_of([x], [tg.sum(tg.constant(data) * tg.sum(x))]))
        texts.add(made.full_source().split("*/")[-1])
        (found,), _ = made.run([np.ones(2)])
        assert found == data.sum() * 2
    assert len(texts) == 1


def test_temporaries_are_reused(compiled, frozen_of):
    x = vector("x")
    y = x
    for _ in range(30):
        y = tg.transpose(tg.exp(y))[::-1]
    assert compiled(frozen_of([x], [y])).source().count("tg_take(tg_times") <= 2


def test_lines_are_no_part_of_what_is_compiled(frozen_of):
    from tg.link.linker import Request
    from tg_c import Options
    from tg_c.rules import RULES

    texts = set()
    for build in (lambda v: tg.sum(v * v), lambda v: tg.sum(
        v * v
    )):  # fmt: skip
        x = vector("x")
        texts.add(Unit(Request("c", Options(), RULES.get)).program(frozen_of([x], [build(x)])).text)
    assert len(texts) == 1


def test_a_name_may_be_a_word_of_c(agrees):
    names = ("double", "code", "status", "data", "exp", "loop0", "m1", "done", "größe", "2x", "a b", "i64", "")
    inputs = [tg.Variable(TensorType("float64", (None,)), name=n) for n in names]
    agrees(inputs, [sum(map(tg.exp, inputs))], [np.ones(3)] * len(names))


@pytest.mark.parametrize("level", [0, 1, 3])
def test_the_level_of_optimisation_is_an_option(level, compiled, frozen_of):
    x = vector("x")
    (found,), _ = compiled(frozen_of([x], [tg.exp(x) + tg.sum(x)]), optimize=level).run([np.arange(3.0)])
    np.testing.assert_allclose(found, np.exp(np.arange(3.0)) + 3, rtol=1e-15)


def test_the_source_is_kept_on_request(compiled, frozen_of, tmp_path, monkeypatch):
    monkeypatch.setenv("TG_CACHE_DIR", str(tmp_path))
    x = vector("mass")
    compiled(frozen_of([x], [x * 2.0]), keep_source=True)
    (kept,) = tmp_path.rglob("*.c")
    assert "mass_0" in kept.read_text(encoding="utf-8")


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128", "int32", "int64"])
def test_a_table_of_numbers_is_read_as_it_is(dtype, agrees):
    x = vector("x", dtype)
    tables = [tg.constant(np.eye(n, dtype=dtype)) for n in (2, 3, 4, 5, 8)]
    tables += [tg.constant(np.repeat(np.array([1, 0, 0, 0, 2], dtype), 2 * n)) for n in (1, 2, 4)]
    agrees([x], [*tables, *(t + x[0] for t in tables)], [np.ones(3, dtype)])
