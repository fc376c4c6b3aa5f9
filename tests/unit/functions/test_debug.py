"""Debug mode: wrong rules, passes, expansions, lowerings and backend rules are found and named; right ones pass."""

from __future__ import annotations

import contextlib
from unittest import mock

import numpy as np
import pytest

import tg
from tg.functions.debug.promises import broken
from tg.functions.debug.values import Values, tainted
from tg.ops.elementwise.cast import cast_variable
from tg.ops.shape import BroadcastTo
from tg.plugin.records import Rewrites
from tg.plugin.registry import Registry
from tg.rewrite.phases import CANONICALIZE, EXACT, NAN_UNSAFE, REASSOCIATES, SIGNED_ZERO, SPECIALIZE, STABILIZE
from tg.rewrite.rule import Lowering, Pass, node_rule, rule

pytestmark = pytest.mark.sampled(2)

ABOUT = {"phase": CANONICALIZE, "why": "A test."}


@contextlib.contextmanager
def installed(*rules, passes=(), alone=True):
    """Only these rules and passes, or these besides all others."""
    real = Registry.rewrites

    def rewrites(self, name):
        found = Rewrites() if alone else real(self, name)
        return Rewrites((*found.rules, *rules), (*found.passes, *passes))

    with mock.patch.object(Registry, "rewrites", rewrites):
        yield


def debugged(inputs, outputs, **options):
    return tg.function(inputs, outputs, backend="perform", mode="debug", on_unused_input="ignore", **options)


def fails(f, *arrays):
    with pytest.raises(tg.DebugError) as caught:
        f(*arrays)
    return str(caught.value)


def test_a_wrong_value_is_named_with_rule_line_and_values():
    wrong = rule("double_is_square", match=lambda x: x * 2, replace=lambda x: x * x, kind=EXACT, **ABOUT)
    x = tg.vector("x")
    with installed(wrong):
        f = debugged([x], tg.sum(x * 2))
        text = fails(f, [2.0, 3.0, 0.0])
    assert text.startswith("rule double_is_square (exact, canonicalize): the value differs")
    for part in ("multiply(x, 2.0)", "multiply(x, x)", "f = debugged([x], tg.sum(x * 2))", "test_debug.py", "A test."):
        assert part in text
    assert "[1], 1 of 3 elements differs" in text
    assert "before       6.0" in text
    assert "after        9.0" in text
    assert "x = 3.0 at [1]" in text
    assert 'hint: exclude="double_is_square" leaves it out' in text


def test_a_wrong_rule_passes_where_it_happens_to_be_right():
    wrong = rule("double_is_square", match=lambda x: x * 2, replace=lambda x: x * x, kind=EXACT, **ABOUT)
    x = tg.vector("x")
    with installed(wrong):
        f = debugged([x], tg.sum(x * 2))
        assert f([2.0, 0.0]) == 4.0


KEPT = [
    ("signs_only", SIGNED_ZERO, lambda x: x + 0, lambda x: x, [-0.0]),
    ("sign_of_its_inverse", SIGNED_ZERO, lambda x: 1 / (x + 0), lambda x: 1 / x, [-0.0]),
    ("reordered", REASSOCIATES, lambda x, y: (x + y) - y, lambda x, y: x + (y - y), [0.1, 0.7]),
    ("cancelled", REASSOCIATES, lambda x, y: (x + y) - y, lambda x, y: x + (y - y), [1e-5, 1.0]),
    ("amplified", REASSOCIATES, lambda x, y: tg.exp(x) * tg.exp(y), lambda x, y: tg.exp(x + y), [80.3, -75.1]),
    ("stabilised", REASSOCIATES, lambda x: tg.log(1 + x), tg.log1p, [1e-5]),
    ("overflow_removed", REASSOCIATES, lambda x: tg.sqrt(x * x), tg.absolute, [1e30]),
    ("underflow_removed", REASSOCIATES, lambda x: tg.sqrt(x * x), tg.absolute, [1e-30]),
    ("nan_of_overflow_removed", REASSOCIATES, lambda x: tg.exp(x) / (1 + tg.exp(x)), tg.sigmoid, [1000.0]),
    ("hidden_on_purpose", NAN_UNSAFE, lambda x: x / x, lambda x: tg.where(x == x, 1, 1), [0.0]),
    ("same_sum", EXACT, lambda x: tg.sum(x), lambda x: tg.squeeze(tg.sum(x[:, None], axis=0)), [0.1]),
]
BROKEN = [
    ("zero_lost", EXACT, lambda x: x + 0, lambda x: x, [-0.0], "the sign of a zero differs"),
    ("reordered", EXACT, lambda x, y: (x + y) - y, lambda x, y: x + (y - y), [0.1, 0.7], "the value differs"),
    ("stabilised", EXACT, lambda x: tg.log(1 + x), tg.log1p, [1e-5], "the value differs"),
    ("another_value", SIGNED_ZERO, lambda x: x * 2, lambda x: x * 3, [1.0], "the value differs"),
    ("hidden", SIGNED_ZERO, lambda x: x - x, lambda x: tg.zeros_like(x), [np.nan], "a NaN is hidden"),
    ("hidden", REASSOCIATES, lambda x: x / x, lambda x: tg.where(x == x, 1, 1), [0.0], "a NaN is hidden"),
    ("new", REASSOCIATES, tg.absolute, lambda x: tg.sqrt(x) * tg.sqrt(x), [-4.0], "a NaN is new"),
    ("new", NAN_UNSAFE, tg.absolute, lambda x: tg.sqrt(x) * tg.sqrt(x), [-4.0], "a NaN is new"),
    ("a_bit_off", REASSOCIATES, lambda x, y: (x + y) - y, lambda x, y: x * 1.5, [3.0, 1.0], "the value differs"),
    ("infinity_for_number", REASSOCIATES, lambda x: x * 2, lambda x: x / 0, [3.0], "the value differs"),
    ("a_power_off", NAN_UNSAFE, lambda x: x * x, lambda x: x * x * x, [3.0], "the value differs"),
]


def first_broken(kind, before, after, at, dtype):
    inputs = [tg.vector(f"x{k}", dtype=dtype) for k in range(len(at))]
    old, new = (cast_variable(fn(*inputs), dtype) for fn in (before, after))
    arrays = [np.array([value, 1.5, 0.25] * 7, dtype) for value in at]
    return broken(kind, (old,), (new,), Values(inputs, arrays))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize(("name", "kind", "before", "after", "at"), KEPT, ids=[f"{c[0]}-{c[1]}" for c in KEPT])
def test_what_a_class_allows_passes(name, kind, before, after, at, dtype):
    if name == "amplified" and dtype == "float16":
        at = [8.3, -7.1]
    if name == "overflow_removed" and dtype == "float16":
        at = [3e4]
    assert first_broken(kind, before, after, at, dtype) is None


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize(
    ("name", "kind", "before", "after", "at", "what"), BROKEN, ids=[f"{c[0]}-{c[1]}" for c in BROKEN]
)
def test_what_a_class_does_not_allow_is_found(name, kind, before, after, at, what, dtype):
    found = first_broken(kind, before, after, at, dtype)
    assert found is not None
    assert found.what == what
    assert found.place == (0,) or name == "a_power_off"


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int64", "bool"])
@pytest.mark.parametrize("kind", [EXACT, SIGNED_ZERO, REASSOCIATES, NAN_UNSAFE])
def test_integers_and_truth_values_are_equal_in_every_class(kind, dtype):
    def before(x):
        return x | x

    assert first_broken(kind, before, lambda x: x, [1], dtype) is None
    assert first_broken(kind, before, lambda x: x ^ x, [1], dtype).what == "the value differs"


def test_long_sums_in_another_order_pass_and_a_lost_term_does_not():
    x = tg.matrix("x", dtype="float32")
    array = np.random.default_rng(0).normal(size=(3000, 40)).astype("float32") + np.float32(1)
    values = Values([x], [array])
    once, twice = tg.sum(x), tg.sum(tg.sum(x, axis=0))
    assert broken(REASSOCIATES, (once,), (twice,), values) is None
    assert broken(EXACT, (tg.sum(x, axis=0),), (tg.sum(x.T, axis=1),), values) is None
    assert broken(REASSOCIATES, (once,), (tg.sum(x[50:]),), values) is not None
    assert broken(EXACT, (tg.sum(x, axis=0),), (tg.sum(x[50:].T, axis=1),), values) is not None


def test_complex_values_are_compared_by_their_size():
    z = tg.vector("z", dtype="complex128")
    values = Values([z], [np.array([1 + 1e-9j, 1e-9 + 1j])])
    assert broken(REASSOCIATES, (z * z * z,), (z * (z * z),), values) is None
    assert broken(REASSOCIATES, (z * z,), (z * tg.conj(z),), values).place == (0,)


def replacing(name, replacement, kind=EXACT, phase=SPECIALIZE):
    """A pass that replaces the first output."""
    run = lambda view: {id(view.outputs[0]): replacement(*view.inputs)}  # noqa: E731
    return Pass(name, run=run, kind=kind, why="A test.", phase=phase)


def test_a_wrong_node_rule_is_named():
    def apply(node, outputs):
        return tg.log1p(node.inputs[0]) if node.inputs[0].apply is not None else None

    wrong = node_rule("log_is_log1p", keys=(tg.log,), apply=apply, kind=REASSOCIATES, phase=STABILIZE, why="A test.")
    x = tg.vector("x")
    with installed(wrong, alone=False):
        text = fails(debugged([x], tg.log(x + 3)), [1.0])
    assert text.startswith("rule log_is_log1p (reassociates, stabilize): the value differs")
    assert "operand 0    add(x, 3.0) = 4.0 at [0]" in text


def test_a_wrong_class_is_found_by_a_single_call():
    wrong = rule("log_of_one_plus_exactly", match=lambda x: tg.log(1 + x), replace=tg.log1p, kind=EXACT, **ABOUT)
    x = tg.vector("x")
    with installed(wrong):
        assert "log_of_one_plus_exactly (exact" in fails(debugged([x], tg.log(1 + x)), [1e-9])


def test_a_wrong_pass_is_named():
    x, y = tg.vector("x"), tg.vector("y")
    with installed(passes=[replacing("swapped", lambda x, y: y - x)], alone=False):
        text = fails(debugged([x, y], x - y), [1.0], [3.0])
    assert text.startswith("pass swapped (exact, specialize): the value differs")
    assert "subtract(y, x)" in text


def test_a_replacement_that_raises_is_named():
    x = tg.matrix("x")
    with installed(passes=[replacing("stretched", lambda x: tg.reshape(x.ravel(), (x.shape[0] + 1, -1)))], alone=False):
        text = fails(debugged([x], tg.exp(x)), np.ones((2, 3)))
    assert text.startswith("pass stretched (exact, specialize)")


def test_a_wrong_expansion_is_named():
    from tg.ops.softmax import Softmax

    def expansion(self, x):
        return tg.exp(x) / tg.sum(tg.exp(x))

    def perform(self, x):
        return (np.exp(x) / np.sum(np.exp(x), axis=1, keepdims=True),)

    x = tg.matrix("x")
    with mock.patch.object(Softmax, "expansion", expansion), mock.patch.object(Softmax, "perform", perform):
        f = tg.function([x], tg.softmax(x, axis=1), backend="c", mode="debug")
        text = fails(f, [[1.0, 2.0], [3.0, 4.0]])
    assert text.startswith("rewrite expand Softmax (reassociates, expand): the value differs")
    assert "test_debug.py" in text


def test_a_wrong_lowering_is_named():
    def run(frozen):
        wrong = tg.subtract.op
        return frozen.with_nodes([n._replace(op=wrong) if n.op.name == "add" else n for n in frozen.nodes])

    wrong = Lowering("careless", kind=EXACT, why="A test.", run=run)
    x, y = tg.vector("x"), tg.vector("y")
    with installed(passes=[wrong], alone=False):
        text = fails(debugged([x, y], x + y), [1.0, 2.0], [0.0, 5.0])
    assert text.startswith("lowering careless (exact): the value differs")
    assert "f" in text
    assert "[1], 1 of 2 elements differs" in text


def test_a_wrong_rule_inside_a_called_graph_is_named():
    wrong = rule("double_is_square", match=lambda x: x * 2, replace=lambda x: x * x, kind=EXACT, **ABOUT)
    x = tg.vector("x")
    y = tg.call(lambda v: tg.call(lambda u: tg.sin(u * 2), v + 1), tg.exp(x))
    with installed(wrong):
        text = fails(debugged([x], y), [0.0, 1.0])
        assert debugged([x], tg.call(lambda v: v * 2, x))([2.0]) == 4.0
    assert text.startswith("rule double_is_square (exact, canonicalize): the value differs")
    assert "lambda u: tg.sin(u * 2)" in text
    assert "[1], 1 of 2 elements differs" in text


def test_a_wrong_rule_in_a_step_of_a_loop_is_named():
    wrong = rule("double_is_square", match=lambda x: x * 2, replace=lambda x: x * x, kind=EXACT, **ABOUT)
    x = tg.vector("x")
    y = tg.scan(lambda c, v: (c + v * 2, None), 0.0, x)[0]
    with installed(wrong):
        assert debugged([x], y)([2.0, 0.0]) == 4.0
        text = fails(debugged([x], y), [2.0, 3.0])
    assert text.startswith("rule double_is_square (exact, canonicalize): the value differs")
    assert "lambda c, v: (c + v * 2, None)" in text


@pytest.mark.parametrize("backend", [one.name for one in tg.backends() if one.is_available])
def test_right_loops_pass_on_every_backend(backend):
    x, a = tg.vector("x", dtype="float32"), tg.scalar("a", dtype="float32")
    total, kept = tg.scan(lambda c, v: (tg.tanh(c) * a + v, c), tg.constant(np.float32(0)), x, reverse=True)
    f = tg.function([x, a], [kept, tg.grad(total, [x, a])], backend=backend, mode="debug")
    for n in (0, 1, 4):
        given, c, rows = np.linspace(0, 1, n, dtype=np.float32), 0.0, []
        for v in given[::-1]:
            rows.append(c)
            c = np.tanh(c) * 0.5 + v
        np.testing.assert_allclose(f(given, np.float32(0.5))[0], rows[::-1], rtol=1e-5)


@pytest.mark.parametrize("backend", [one.name for one in tg.backends() if one.is_available])
def test_right_programs_pass_on_every_backend(backend):
    dtype = "float32" if backend == "mlx" else "float64"
    x, y = tg.vector("x", dtype=dtype), tg.matrix("y", dtype=dtype)
    cost = tg.sum(tg.log(1 + tg.exp(x)) * tg.softmax(y, axis=1)) + tg.call(lambda v: tg.sum(tg.log(1 + v)), x)
    f = tg.function([x, y], [cost, tg.grad(cost, [x, y])], backend=backend, mode="debug")
    rng = np.random.default_rng(1)
    for shape in ((3, 4), (1, 1), (2, 1)):
        f(rng.random(shape[1]).astype(dtype), rng.normal(size=shape).astype(dtype))
    f(np.full(4, 100, dtype), np.full((3, 4), -100, dtype))


def wrong_rule(name, key, wrong):
    """A backend's rule replaced by that of another op."""
    real = Registry.rule_for

    def rule_for(self, backend, asked):
        return real(self, backend, wrong if backend == name and asked is key else asked)

    return mock.patch.object(Registry, "rule_for", rule_for)


@pytest.mark.parametrize("backend", [b for b in ("c", "numba", "jax", "torch") if b in {s.name for s in tg.backends()}])
def test_a_wrong_rule_of_a_backend_is_named(backend):
    x, y = tg.vector("x"), tg.vector("y")
    with wrong_rule(backend, tg.sin, tg.cos):
        f = tg.function([x, y], tg.sum(tg.sin(x) * y) + tg.sum(tg.exp(x)), backend=backend, mode="debug")
        text = fails(f, [0.5, 1.0], [2.0, 3.0])
    assert text.startswith(f"backend {backend!r}: its rule for sin: the value differs")
    assert "test_debug.py" in text
    assert "0.5" in text


@pytest.mark.parametrize("backend", [b for b in ("c", "numba") if b in {s.name for s in tg.backends()}][:1])
def test_nodes_alone_are_compiled_whatever_is_configured_for_functions(backend):
    x, y = tg.vector("x"), tg.vector("y")
    with wrong_rule(backend, tg.sin, tg.cos):
        f = tg.function([x, y], tg.sum(tg.sin(x) * y) + tg.sum(tg.exp(x)), backend=backend, mode="debug")
        with tg.config(compile="background"):  # a function would be answered by the reference, which has no such rule
            text = fails(f, [0.5, 1.0], [2.0, 3.0])
    assert text.startswith(f"backend {backend!r}: its rule for sin: the value differs")


def test_a_wrong_linker_is_found_where_each_node_is_right():
    from tg.link.perform import PerformExecutable

    real = PerformExecutable.run
    x = tg.vector("x")

    def run(self, arrays):
        outputs, status = real(self, arrays)
        return [outputs[0] + 1, *outputs[1:]] if len(outputs) == 2 else outputs, status

    with mock.patch.object(PerformExecutable, "run", run):
        text = fails(debugged([x], [tg.sin(x), tg.sin(x) + tg.sum(x)]), [0.5])
    assert text.startswith("backend 'perform': output 0: the value differs")


def test_errors_of_the_program_stay_what_they_are():
    x, y = tg.vector("x"), tg.vector("y")
    f = debugged([x, y], (x + y) * 1)
    with pytest.raises(tg.ShapeError):
        f([1.0, 2.0], [1.0, 2.0, 3.0])
    assert list(f([1.0], [2.0, 3.0])) == [3.0, 4.0]


def test_an_error_that_a_wrong_rewrite_raises_is_put_down_to_it():
    x = tg.vector("x")
    with installed(passes=[replacing("out_of_bounds", lambda x: tg.take(x, x.shape[0] + tg.arange(2)))], alone=False):
        f = debugged([x], tg.exp(x[:2]))
        assert "out_of_bounds" in fails(f, [1.0, 2.0, 3.0])


def test_an_error_of_the_backend_alone_is_told():
    from tg.link.perform import PerformExecutable

    x = tg.vector("x")
    f = debugged([x], tg.sin(x))
    with mock.patch.object(PerformExecutable, "run", side_effect=tg.BoundsError("index out of bounds")):
        text = fails(f, [0.5])
    assert text.startswith("backend 'perform' raises where the reference does not")


def test_what_was_promised_is_checked():
    x = tg.vector("x")
    f = debugged([x], tg.sqrt(tg.assume(x + 1, positive=True)))
    f([1.0, 2.0])
    text = fails(f, [1.0, -2.0])
    assert text.startswith("assume: positive: ")
    assert "tg.assume(x + 1, positive=True)" in text


def test_shared_variables_and_updates_are_left_alone_by_a_failed_check():
    wrong = rule("double_is_square", match=lambda x: x * 2, replace=lambda x: x * x, kind=EXACT, **ABOUT)
    s = tg.shared(np.array([3.0]))
    with installed(wrong):
        f = tg.function([], s * 2, updates={s: s + 1}, backend="perform", mode="debug")
        fails(f)
    assert s.get_value() == 3.0


def test_configuration_copies_and_jit_take_the_mode():
    x = tg.vector("x")
    wrong = rule("double_is_square", match=lambda x: x * 2, replace=lambda x: x * x, kind=EXACT, **ABOUT)
    with installed(wrong):
        with tg.config(mode="debug", backend="perform"):
            fails(tg.function([x], x * 2).copy(), [3.0])
        jitted = tg.jit(lambda v: v * 2, mode="debug", backend="perform")
        fails(jitted, np.array([3.0]))


def test_a_call_costs_a_few_times_what_the_reference_takes():
    import time

    x = tg.matrix("x")
    y = x
    for _ in range(40):
        y = tg.sin(y) * 1 + tg.exp(-y) * 2 + 0
    f, plain = debugged([x], tg.sum(y)), tg.function([x], tg.sum(y), backend="perform", mode="off")
    array = np.random.default_rng(0).random((300, 300))
    f(array)
    start = time.perf_counter()
    plain(array)
    middle = time.perf_counter()
    f(array)
    assert time.perf_counter() - middle < 40 * (middle - start)


def test_a_size_that_was_made_of_what_overflowed_is_a_size():
    x, size = np.ones((1, 4)), np.array(3)
    flags = [np.array([[False, True, False, False]]), np.array(True)]
    found = tainted(BroadcastTo((None, 4)), [x, size], flags, 0, np.ones((3, 4)))
    assert found.tolist() == [[False, True, False, False]] * 3
