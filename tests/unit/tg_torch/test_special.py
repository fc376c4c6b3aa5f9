"""What stands for rules at single nodes: equal results, operands untouched, memory of what nothing reads used again."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
import torch

import tg
from tg.graph.function_graph import FunctionGraph
from tg.link.linker import Request
from tg.link.steps import Site
from tg.ops.elementwise.arithmetic import add, gate, subtract
from tg.ops.indexing import Gather
from tg.types.tensor_type import TensorType
from tg_torch.linker import LINKER
from tg_torch.rules import RULES
from tg_torch.special import special

UNUSUAL = [0.0, -0.0, np.nan, np.inf, -np.inf, 1.5, -2.0, 1e-300]
LINE = TensorType("float64", (None,))


def both(inputs, outputs, arrays):
    """The results of PyTorch and of the reference."""
    before = [a.copy() for a in arrays]
    with np.errstate(all="ignore"):
        found = tg.function(inputs, outputs, backend="torch")(*arrays)
        wanted = tg.function(inputs, outputs, backend="perform")(*arrays)
    for a, b in zip(arrays, before, strict=True):
        assert a.tobytes() == b.tobytes()
    return zip(found, wanted, strict=True)


def site(op, *operands, results=(LINE,), dying=()):
    return Site(op, operands, results, frozenset(dying))


def test_a_dying_operand_of_the_results_type_takes_the_result() -> None:
    for place in (0, 1):
        given = [torch.arange(3.0, dtype=torch.float64), torch.ones(3, dtype=torch.float64)]
        function = special(RULES[subtract], site(subtract.op, LINE, LINE, dying=(place,)))
        found = function(*given)
        assert found is given[place]
        assert found.tolist() == [-1.0, 0.0, 1.0]


def test_an_operand_that_is_smaller_than_the_result_does_not() -> None:
    row = TensorType("float64", (1,))
    x, y = torch.ones(1, dtype=torch.float64), torch.ones(3, dtype=torch.float64)
    assert special(RULES[add], site(add.op, row, LINE, dying=(0,)))(x, y) is not x
    assert x.shape == (1,)


def test_a_rule_of_another_plugin_stays() -> None:
    assert special(lambda x, y: x, site(add.op, LINE, LINE)) is None
    graph = FunctionGraph.of([v := tg.vector("v")], [v + v]).freeze()
    rules = {**RULES, add: lambda x, y: torch.full_like(x, 7)}
    options = tg.backend("torch").options
    executable = LINKER.compile(graph, Request("torch", options, rules.get))
    assert executable.run([np.ones(2)])[0][0].tolist() == [7, 7]


def test_emulated_integers_keep_their_rule() -> None:
    for dtype in ("uint16", "uint32", "uint64"):
        assert special(RULES[add], site(add.op, *[TensorType(dtype, (None,))] * 2)) is None


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
def test_a_gate_is_shut_for_what_is_not_finite(dtype) -> None:
    r = np.random.default_rng(0)
    dy, d = (r.choice(np.array(UNUSUAL, dtype), (37, 11)) for _ in range(2))
    x, y, s = tg.matrix("x", dtype=dtype), tg.matrix("y", dtype=dtype), tg.scalar("s", dtype=dtype)
    outputs = [gate(x, y), gate(x, 1 - y * y), gate(-x, -y), gate(x, s), gate(s, y)]
    for found, wanted in both([x, y, s], outputs, [dy, d, np.array(np.inf, dtype)]):
        np.testing.assert_allclose(found, wanted, rtol=2e-3 if dtype == "float16" else 1e-6)


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16"])
@pytest.mark.parametrize("rows", [7, 700])
def test_a_choice_takes_the_bits_of_either(dtype, rows) -> None:
    r, kind = np.random.default_rng(0), tg.types.dtypes.numpy_dtype(dtype)
    a, b = (r.choice(np.array(UNUSUAL), (rows, 11)).astype(kind) for _ in range(2))
    c, row = r.random((rows, 11)) < 0.5, r.random((1, 11)) < 0.5
    x, y, z = (tg.matrix(name, dtype=dtype) for name in "xyz")
    m, n = tg.matrix("m", dtype="bool"), tg.tensor("n", "bool", (1, 11))
    zero, one = np.zeros((), kind), np.ones((), kind)
    pairs = [(x, y), (zero, y), (x, zero), (-zero, y), (x, one), (z, y), (x.T, y.T)]
    outputs = [tg.where(m.T if k == 6 else m, *pair) for k, pair in enumerate(pairs)] + [tg.where(n, x, y)]
    for found, wanted in both([m, n, x, y, z], outputs, [c, row, a, b, a[:1]]):
        assert found.tobytes() == wanted.tobytes()


@pytest.mark.parametrize("rows", [0, 7, 700])
def test_whether_any_or_all_are_true(rows) -> None:
    x = tg.tensor("x", "bool", (None, 4, 5))
    r = np.random.default_rng(0)
    axes = [0, 1, 2, (0, 2), None]
    outputs = [f(v, axis) for f in (tg.any, tg.all) for v in (x, tg.transpose(x)) for axis in axes]
    for share in (0.0, 0.01, 0.99, 1.0):
        for found, wanted in both([x], outputs, [r.random((rows, 4, 5)) < share]):
            np.testing.assert_array_equal(found, wanted)


def test_indices_from_the_end_and_none_at_all() -> None:
    x, i = tg.vector("x"), tg.vector("i", dtype="int32")
    outputs = [x[i], tg.grad(tg.sum(x[i] ** 3), x), i]
    for at in ([0, 4, -1, -5], [2], []):
        for found, wanted in both([x, i], outputs, [np.arange(5.0), np.array(at, "int32")]):
            np.testing.assert_array_equal(found, wanted)
    assert special(RULES[Gather], site(Gather((-1,)), LINE, TensorType("int64", (None,)))) is not None


@pytest.mark.parametrize("at", [[5], [-6], [0, 7, -9]])
def test_indices_out_of_range_are_refused(at) -> None:
    x, i = tg.vector("x"), tg.vector("i", dtype="int64")
    f = tg.function([x, i], [x[i], tg.grad(tg.sum(x[i]), x)], backend="torch")
    with pytest.raises(tg.BoundsError, match="out of bounds for an axis of length 5"):
        f(np.arange(5.0), np.array(at))


def test_windows_are_clamped_and_written_apart() -> None:
    x, k = tg.matrix("x"), tg.scalar("k", dtype="int64")
    outputs = [x[:, 1:3], x[:, k : k + 2], x.at[:, 1:3].set(7.0), x.at[:, k : k + 2].add(1.0)]
    for at in (0, 1, 3):
        for found, wanted in both([x, k], outputs, [np.arange(12.0).reshape(3, 4), np.array(at)]):
            np.testing.assert_array_equal(found, wanted)


def test_reductions_of_nothing_have_their_identity() -> None:
    x, n = tg.matrix("x"), tg.matrix("n", dtype="int64")
    outputs = [tg.sum(x), tg.sum(n, 0), tg.sum(x, 1), tg.max(n, 1), tg.min(x, 1)]
    for found, wanted in both([x, n], outputs, [np.ones((0, 3)), np.ones((0, 3), "int64")]):
        np.testing.assert_array_equal(found, wanted)


def test_layouts_and_repeated_operands() -> None:
    x = tg.matrix("x")
    y = tg.exp(x.T) + x.T
    outputs = [y * y - tg.sin(y), (y - 1) / (y - 1), tg.sqrt(tg.square(y[::-1]))]
    a = np.random.default_rng(1).normal(size=(6, 4))
    for array in (a, a[::2], a.T.copy().T, a[:, ::-1]):
        for found, wanted in both([x], outputs, [array]):
            np.testing.assert_allclose(found, wanted, rtol=1e-14)


def test_a_result_that_is_a_length_is_the_callers_own() -> None:
    x = tg.matrix("x")
    f = tg.function([x], [x.shape[0], x.shape[0] * x.shape[1]], backend="torch")
    for out in f(np.ones((2, 3))):
        out[...] = 50
    assert [int(v) for v in f(np.ones((2, 3)))] == [2, 6]


def test_a_small_part_does_not_keep_the_whole() -> None:
    x = tg.vector("x")
    (found,) = tg.function([x], [tg.exp(x)[:2]], backend="torch")(np.zeros(1000))
    owner = found if found.base is None else found.base
    assert owner.nbytes == 16


def test_squares_are_summed_as_a_product_unless_exactly() -> None:
    x, y = tg.vector("x"), tg.vector("y", dtype="float32")
    names = [node.op.name for node in tg.function([x], tg.sum(x * x), backend="torch").graph.nodes]
    assert names == ["SquaredNorm"]
    for f in (
        tg.function([x], tg.sum(x * x), backend="torch", mode="strict"),
        tg.function([y], tg.sum(y * y), backend="torch"),
    ):
        assert "SquaredNorm" not in [node.op.name for node in f.graph.nodes]
    for n in (0, 1, 1000):
        a = np.linspace(-1, 2, n)
        for found, wanted in both([x], [tg.sum(x * x)], [a]):
            np.testing.assert_allclose(found, wanted, rtol=1e-14)


@pytest.mark.parametrize(("dtype", "ulps"), [("float64", 4), ("float32", 4), ("float16", 1)])
def test_the_way_back_through_tanh_keeps_all_digits(dtype, ulps) -> None:
    """In its tails too, down to subnormals, where 1 - tanh(x)**2 is 0."""
    x = tg.vector("x", dtype=dtype)
    f = tg.function([x], tg.grad(tg.sum(tg.tanh(x)), x), backend="torch")
    at = np.concatenate([[0.0, -0.0, 1e-300, 360.0, -372.0, 800.0], np.linspace(-50, 50, 201)]).astype(dtype)
    wanted = np.array([float(mpmath.sech(mpmath.mpf(float(a))) ** 2) for a in at])
    with np.errstate(under="ignore"):
        spacing = np.spacing(wanted.astype(dtype)).astype("float64")
    assert (abs(f(at) - wanted) <= ulps * spacing).all()
    assert f([np.inf, -np.inf]).tolist() == [0, 0]
    assert np.isnan(f([np.nan])).all()
