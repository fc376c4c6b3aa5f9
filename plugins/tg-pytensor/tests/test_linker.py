"""Functions of PyTensor in tg's modes: values beside its Python linker, what is left with it, updates and pickling."""

from __future__ import annotations

import pickle
import subprocess
import sys

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from pytensor.compile.mode import Mode, get_mode
from pytensor.graph.basic import Apply
from pytensor.graph.op import Op
from pytensor.ifelse import ifelse
from pytensor.link.vm import VMLinker
from pytensor.raise_op import Assert
from pytensor.scan.checkpoints import scan_checkpoints
from pytensor.tensor.random.basic import normal

import tg
import tg_pytensor
from tg_pytensor.linker import TgLinker

MODES = ("TG", "TG_C", "TG_NUMBA", "TG_PERFORM")
PYTHON = "FAST_COMPILE"  # its Python implementations
A = np.array([0.5, -1.0, 2.0])


class Doubled(Op):
    """Twice a vector: an op that tg has no rule for, which counts its calls."""

    calls = 0

    def make_node(self, x):
        x = pt.as_tensor_variable(x)
        return Apply(self, [x], [x.type()])

    def perform(self, node, inputs, outputs):
        Doubled.calls += 1
        outputs[0][0] = 2 * inputs[0]


def test_a_backend_that_is_not_there_is_no_reason_to_leave_a_graph_with_pytensor():
    x = pt.vector("x")
    with pytest.raises(tg.BackendUnavailable, match=r"backend 'numab': not installed: .*\n.*backend='numba' exists"):
        tg_pytensor.mode("numab")
    with pytest.raises(tg.OptionError, match="mode: fallback: found 'rais', needed one of 'pytensor', 'raise'"):
        tg_pytensor.mode("c", fallback="rais")
    for y in (pt.exp(x), Doubled()(x)):  # of the other one no node would be compiled
        with pytest.raises(tg.BackendUnavailable, match="backend 'numab'"):
            pytensor.function([x], y, mode=Mode(TgLinker("numab")))


def test_a_configuration_that_there_is_none_of_is_no_reason_to_leave_a_graph_with_pytensor(monkeypatch):
    x = pt.vector("x")
    monkeypatch.setenv("TG_MODE", "fast")
    with pytest.raises(tg.OptionError, match="config: mode: found"):
        pytensor.function([x], pt.exp(x), mode=Mode(TgLinker("perform")))


@pytest.mark.parametrize("mode", ["TG_PERFORM", "TG_C"])
def test_what_fits_only_where_lengths_are_1_is_left_with_pytensor(mode):
    """A loop in a loop, whose inner one is shorter in the last step of the outer one."""
    x, k = pt.vector("x"), pt.lscalar("k")
    y = scan_checkpoints(
        fn=lambda n, power, x: power * x / n,
        outputs_info=pt.ones_like(x),
        sequences=[pt.arange(k, dtype="float64") + 1],
        non_sequences=x,
        n_steps=k,
        save_every_N=3,
        return_updates=False,
    )
    f = pytensor.function([x, k], y[-1], mode=mode)
    for value in (np.array([0.5, 2.0, -3.0]), np.array([1.5])):
        np.testing.assert_allclose(f(value, 7), value**7 / 5040, rtol=1e-13)


def regions(f):
    """How many regions a function has, and the names of the ops that are left."""
    found = tg_pytensor.report(f)
    return len(found.backends), [entry.op for entry in found.left]


@pytest.mark.parametrize("mode", MODES)
def test_a_graph_that_converts_is_one_region(mode):
    x, m = pt.vector("x"), pt.matrix("m")
    outputs = [pt.exp(x).sum(), (m * x).T, pt.grad(pt.sum(pt.tanh(m) @ x), m), x[::2], m.sum(axis=0)]
    f = pytensor.function([x, m], outputs, mode=mode)
    assert regions(f) == (1, [])
    values = A, np.arange(6.0).reshape(2, 3) / 7
    for found, expected in zip(f(*values), pytensor.function([x, m], outputs, mode=PYTHON)(*values), strict=True):
        assert found.dtype == expected.dtype
        np.testing.assert_allclose(found, expected, rtol=1e-13)


def test_what_does_not_convert_is_left_and_regions_stand_around_it():
    x = pt.vector("x")
    before = pt.exp(x)
    y = Doubled()(before) + before
    f = pytensor.function([x], [y, pt.cos(x)], mode="TG")
    # cos(x) is computed with exp(x), or with the sum: no path goes from a region back into it
    assert regions(f) == (2, ["Doubled"])
    assert "Doubled" in str(tg_pytensor.report(f))
    np.testing.assert_allclose(f(A)[0], 3 * np.exp(A), rtol=1e-15)
    np.testing.assert_allclose(f(A)[1], np.cos(A), rtol=1e-15)


def test_a_strict_mode_refuses_what_does_not_convert():
    x = pt.vector("x")
    with pytest.raises(tg.NoRuleError, match="Doubled"):
        pytensor.function([x], Doubled()(x), mode=tg_pytensor.mode(fallback="raise"))
    f = pytensor.function([x], pt.exp(x), mode=tg_pytensor.mode("c", fallback="raise"))
    assert tg_pytensor.report(f).backends == ("c",)


@pytest.mark.parametrize("mode", MODES)
def test_updates_are_those_of_pytensor_and_arguments_stay(mode):
    x = pt.vector("x")
    s, r = pytensor.shared(np.ones(3), "s"), pytensor.shared(np.zeros(3), "r")
    f = pytensor.function([x], [s * x, x], updates={s: r + x, r: s}, mode=mode)
    kept = A.copy()
    for expected_s, expected_r in ((A, np.ones(3)), (1 + A, A), (2 * A, 1 + A)):
        product, same = f(kept)
        assert not np.shares_memory(same, kept)
        np.testing.assert_array_equal(s.get_value(), expected_s)
        np.testing.assert_array_equal(r.get_value(), expected_r)
        product[:] = np.nan
    np.testing.assert_array_equal(kept, A)


def test_draws_are_those_of_pytensor():
    x = pt.vector("x")
    found = []
    for mode in ("TG", PYTHON):
        rng = pytensor.shared(np.random.default_rng(42))
        following, draw = normal(pt.exp(x), 1.0, rng=rng).owner.outputs
        f = pytensor.function([x], draw**2, updates={rng: following}, mode=mode)
        found.append([f(A) for _ in range(3)])
    np.testing.assert_allclose(found[0], found[1], rtol=1e-14)
    assert np.std([v[0] for v in found[0]]) > 0


@pytest.mark.parametrize("mode", ["TG_C", "TG_PERFORM"])
def test_loops_have_the_values_and_derivatives_of_pytensor(mode):
    x = pt.vector("x")
    last = pytensor.scan(lambda p: pt.tanh(p) * 2, outputs_info=[x], n_steps=4, return_updates=False)[-1]
    outputs = [last, pt.grad(last.sum(), x)]
    f = pytensor.function([x], outputs, mode=mode)
    assert regions(f) == (1, [])
    np.testing.assert_allclose(f(A), pytensor.function([x], outputs, mode=PYTHON)(A), rtol=1e-13)


def test_a_loop_that_is_left_has_regions_inside():
    x = pt.vector("x")
    last = pytensor.scan(lambda p: Doubled()(pt.exp(-p) + p), outputs_info=[x], n_steps=3, return_updates=False)[-1]
    f = pytensor.function([x], last + 1, mode="TG")
    assert "Scan" in regions(f)[1]
    expected = A
    for _ in range(3):
        expected = 2 * (np.exp(-expected) + expected)
    np.testing.assert_allclose(f(A), expected + 1, rtol=1e-14)


@pytest.mark.parametrize("left", [False, True])
def test_a_branch_that_is_not_taken_runs_nothing(left):
    x, c = pt.tensor("x", shape=(3,)), pt.scalar("c", dtype="int8")
    checked = Assert("not all positive")(x, pt.all(x > 0))
    chosen = ifelse(c, pt.log(Doubled()(checked) if left else 2 * checked), x - 1)
    f = pytensor.function([x, c], chosen, mode="TG")
    assert (regions(f)[1] == []) is not left
    before = Doubled.calls
    np.testing.assert_array_equal(f(A, 0), A - 1)
    assert Doubled.calls == before
    np.testing.assert_allclose(f(abs(A), 1), np.log(2 * abs(A)), rtol=1e-15)
    with pytest.raises(AssertionError, match="not all positive"):
        f(A, 1)


def test_branches_may_have_different_lengths():
    x, z, c = pt.vector("x"), pt.vector("z"), pt.scalar("c", dtype="int8")
    f = pytensor.function([x, z, c], ifelse(c, 2 * x, 3 * z), mode="TG_PERFORM")
    assert [f(A, A[:2], c).tolist() for c in (0, 1)] == [(3 * A[:2]).tolist(), (2 * A).tolist()]


def test_indices_that_are_slices_of_computed_places():
    m, i, k = pt.matrix("m"), pt.lvector("i"), pt.lscalar("k")
    y = m[i, k * 2 : k * 2 + 2] * Doubled()(m[i, 0])[:, None] + m[i, k * 2 : k * 2 + 2]
    f = pytensor.function([m, i, k], y, mode="TG")
    values = np.arange(24.0).reshape(4, 6), np.array([3, 1]), 1
    expected = pytensor.function([m, i, k], y, mode=PYTHON)(*values)
    np.testing.assert_array_equal(f(*values), expected)
    assert regions(f)[1].count("Doubled") == 1


def test_lengths_that_differ_are_refused_as_pytensor_does():
    x, z = pt.vector("x"), pt.vector("z")
    for mode in ("TG", PYTHON):
        f = pytensor.function([x, z], x * z, mode=mode)
        for short in ([1.0], [1.0, 2.0]):
            with (
                pytensor.config.change_flags(exception_verbosity="high"),
                pytest.raises(ValueError, match=r"Apply node that caused the error: Mul\(x, z\)"),
            ):
                f(short, [1.0, 2.0, 3.0])


def test_works_in_place_stays_in_order():
    m = pt.matrix("m")
    written = pt.set_subtensor(m[:, 0], 0.0, inplace=True)
    f = pytensor.function([pytensor.In(m, mutable=True)], [m.sum(), written], mode="TG", accept_inplace=True)
    assert regions(f)[1] == ["IncSubtensor"]
    total, found = f(np.ones((2, 3)))
    assert (float(total), found.tolist()) == (6.0, [[0, 1, 1]] * 2)


def test_functions_are_copied_and_pickled_with_their_mode():
    x, s = pt.vector("x"), pytensor.shared(np.ones(3), "s")
    f = pytensor.function([x], Doubled()(x) * s + x, updates={s: s + 1}, mode="TG_C")
    for g in (f.copy(share_memory=True), f.copy(), pickle.loads(pickle.dumps(f))):
        assert regions(g) == regions(f)
        np.testing.assert_array_equal(g(A), 2 * A * g.input_storage[1].data + A - 2 * A)


@pytest.mark.long
def test_a_pickled_function_is_read_by_another_process(tmp_path):
    x = pt.vector("x")
    (tmp_path / "f").write_bytes(pickle.dumps(pytensor.function([x], pt.exp(x), mode="TG")))
    program = "import pickle, sys; print(pickle.load(open(sys.argv[1], 'rb'))([0.0]))"
    run = [sys.executable, "-c", program, str(tmp_path / "f")]
    assert subprocess.run(run, capture_output=True, text=True, check=True).stdout.strip() == "[1.]"


def test_no_backend_is_imported_with_the_modes():
    program = "import sys, tg_pytensor; print([m for m in ('tg_c', 'tg_numba', 'tg_jax', 'numba') if m in sys.modules])"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
    assert {"tg", "tg_c", "tg_perform"} <= set(pytensor.compile.mode.predefined_linkers)
    assert isinstance(get_mode("TG_JAX").linker, VMLinker)


@pytest.mark.parametrize("taps", [[-2, -1], [-3, -1]])
def test_derivatives_of_loops_with_several_taps(taps):
    x, y = pt.vector("x"), pt.vector("y")
    first = {"initial": y[: -min(taps)], "taps": taps}
    made, _ = pytensor.scan(lambda b, early, late: pt.tanh(early * late + b), sequences=[x], outputs_info=[first])
    gradients = pt.grad(pt.sum(made**2) + made[-1], [x, y])
    given = np.array([0.3, -1.2, 0.7, 0.1, 2.0]), np.array([0.5, -0.4, 1.1])
    wanted = pytensor.function([x, y], gradients, mode="FAST_COMPILE")(*given)
    found = pytensor.function([x, y], gradients, mode="TG_PERFORM")(*given)
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("mode", ["TG_PERFORM", "TG_C"])
def test_a_derivative_of_fewer_steps_is_0_before_them(mode):
    x, w = pt.vector("x"), pt.scalar("w")
    last, _ = pytensor.scan(
        lambda a, before, w: pt.tanh(w * before + a),
        sequences=[x],
        outputs_info=[pt.zeros(())],
        non_sequences=[w],
        truncate_gradient=2,
    )
    gradients = pt.grad(last[-1], [x, w])
    given = np.array([0.3, -1.2, 0.7, 0.1, 2.0]), 0.4
    wanted = pytensor.function([x, w], gradients, mode=PYTHON)(*given)
    assert not np.any(wanted[0][:3])
    for a, b in zip(pytensor.function([x, w], gradients, mode=mode)(*given), wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-13, atol=1e-15)


def test_a_length_of_minus_1_may_come_when_the_program_runs():
    x, lengths = pt.matrix("x"), pt.ivector("lengths")
    y = x.reshape(lengths, ndim=2)
    f = pytensor.function([x, lengths], [y, y.shape], mode="TG_PERFORM")
    assert regions(f) == (1, [])
    a = np.arange(12.0).reshape(3, 4)
    for asked in ([-1, 6], [6, -1], [2, 6], [4, -1]):
        found, shape = f(a, asked)
        np.testing.assert_array_equal(found, a.reshape(asked))
        assert tuple(shape) == found.shape
    for refused in ([-1, -1], [-1, 5], [-2, 6], [7, 2], [0, -1]):
        with pytest.raises(ValueError, match="length"):
            f(a, refused)


def test_a_shape_that_is_specified_is_an_assertion():
    x, n = pt.vector("x"), pt.lscalar("n")
    f = pytensor.function([x, n], pt.specify_shape(x, (n,)) + 1, mode="TG_PERFORM")
    assert regions(f) == (1, [])
    np.testing.assert_array_equal(f(A, 3), A + 1)
    with pytest.raises(AssertionError, match="SpecifyShape: axis 0: found the length 3, needed 2"):
        f(A, 2)


@pytest.mark.parametrize("write", [pt.set_subtensor, pt.inc_subtensor])
def test_rows_that_are_written_are_not_repeated(write):
    x, y, places = pt.matrix("x"), pt.matrix("y"), pt.lvector("places")
    f = pytensor.function([x, y, places], write(x[places], y), mode="TG_PERFORM")
    assert regions(f) == (1, [])
    a = np.arange(12.0).reshape(3, 4)
    f(a, np.ones((2, 4)), [0, 2])
    for refused in (np.ones((1, 4)), np.ones((2, 1))):
        with pytest.raises(ValueError, match="Runtime broadcasting not allowed"):
            f(a, refused, [0, 2])
