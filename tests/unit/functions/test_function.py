"""Compiled functions: arguments, structure, shared variables, updates, specialisation, failure."""

from __future__ import annotations

import itertools
import threading
import warnings

import numpy as np
import pytest

import tg


def test_one_output_gives_one_array_and_a_list_gives_a_list() -> None:
    x = tg.vector("x")
    assert isinstance(tg.function([x], x + 1, backend="perform")([1.0]), np.ndarray)
    assert isinstance(tg.function([x], [x + 1], backend="perform")([1.0]), list)


def test_outputs_keep_their_structure() -> None:
    x = tg.scalar("x")
    f = tg.function([x], {"a": x, "b": (x + 1, [x * 2])}, backend="perform")
    assert f(3.0) == {"a": 3.0, "b": (4.0, [6.0])}


def test_inputs_go_by_position_and_by_name_and_have_defaults() -> None:
    x, y = tg.scalar("x"), tg.scalar("y")
    f = tg.function([x, y], x - y, defaults={y: 1.0}, backend="perform")
    assert f(3.0) == 2.0
    assert f(3.0, y=2.0) == 1.0
    assert f(y=1.0, x=5.0) == 4.0


@pytest.mark.parametrize(
    ("args", "kwargs", "text"),
    [
        ((), {}, "input 'x' is missing"),
        ((1.0, 2.0, 3.0), {}, "found 3 arguments, needed 2"),
        ((1.0,), {"x": 1.0}, "by position and by name"),
        ((1.0,), {"z": 1.0}, "no input is named 'z'"),
    ],
)
def test_wrong_arguments_are_named(args: tuple[float, ...], kwargs: dict[str, float], text: str) -> None:
    x, y = tg.scalar("x"), tg.scalar("y")
    f = tg.function([x, y], x - y, backend="perform")
    with pytest.raises(tg.InputError, match=text):
        f(*args, **kwargs)


def test_safe_casts_happen_and_unsafe_ones_raise() -> None:
    x = tg.vector("x", dtype="float32")
    f = tg.function([x], x, backend="perform")
    assert f([1, 2]).dtype == np.float32
    assert f(np.array([1], np.int8)).dtype == np.float32
    with pytest.raises(tg.DtypeError, match="found dtype float64, needed float32"):
        f(np.array([1.0]))


def test_a_static_length_is_checked() -> None:
    x = tg.tensor("x", shape=(None, 3))
    f = tg.function([x], x, backend="perform")
    with pytest.raises(tg.ShapeError, match="axis 1 has length 2, needed 3"):
        f(np.ones((4, 2)))
    with pytest.raises(tg.ShapeError, match="found 1 axis"):
        f(np.ones(3))


def test_a_run_time_length_of_one_broadcasts_and_is_compiled_once() -> None:
    x, y = tg.vector("x"), tg.vector("y")
    z = tg.sum((x + y) ** 2)
    f = tg.function([x, y], [x + y, *tg.grad(z, [x, y])], backend="perform")
    assert f.compiles == 1
    a, b = np.array([1.0]), np.array([1.0, 2.0, 3.0])
    for _ in range(2):
        s, gx, gy = f(a, b)
        np.testing.assert_array_equal(s, a + b)
        np.testing.assert_array_equal(gx, [np.sum(2 * (a + b))])
        np.testing.assert_array_equal(gy, 2 * (a + b))
    assert f.compiles == 2
    assert f(b, b)[0].tolist() == [2.0, 4.0, 6.0]
    assert f.compiles == 2


def test_lengths_that_differ_are_an_error_with_the_users_line() -> None:
    x, y = tg.vector("x"), tg.vector("y")
    f = tg.function([x, y], x + y, backend="perform")
    with pytest.raises(tg.ShapeError, match=r"(?s)add: axis -1: lengths differ: 2 and 3.*test_function.py"):
        f(np.ones(2), np.ones(3))


def test_updates_are_taken_together_from_old_values() -> None:
    a, b = tg.shared(1.0, "a"), tg.shared(2.0, "b")
    swap = tg.function([], [a, b], updates={a: b, b: a}, backend="perform")
    assert [float(v) for v in swap()] == [1.0, 2.0]
    assert (float(a.get_value()), float(b.get_value())) == (2.0, 1.0)


def test_a_failed_call_commits_nothing() -> None:
    count, table = tg.shared(0, "count"), tg.vector("table")
    f = tg.function([table], table[3], updates={count: count + 1}, backend="perform")
    f(np.ones(4))
    with pytest.raises(tg.BoundsError, match="index 3 is out of bounds for an axis of length 2"):
        f(np.ones(2))
    assert int(count.get_value()) == 1


def test_a_shared_value_is_copied_in_and_out() -> None:
    start = np.ones(3)
    s = tg.shared(start, "s")
    start[0] = 9
    got = s.get_value()
    got[1] = 9
    assert s.get_value().tolist() == [1.0, 1.0, 1.0]


def test_a_returned_shared_variable_can_be_written_without_harm() -> None:
    s = tg.shared(np.ones(3), "s")
    out = tg.function([], s, backend="perform")()
    out[0] = 9
    assert s.get_value().tolist() == [1.0, 1.0, 1.0]


def test_set_value_refuses_another_rank_and_keeps_the_old_value() -> None:
    s = tg.shared(np.ones(3), "s")
    with pytest.raises(tg.ShapeError):
        s.set_value(np.ones((2, 2)))
    with pytest.raises(tg.DtypeError):
        s.set_value(np.ones(3, complex))
    assert s.get_value().tolist() == [1.0, 1.0, 1.0]


def test_equal_outputs_do_not_share_memory_and_inputs_are_not_given_back() -> None:
    x = tg.vector("x")
    f = tg.function([x], [x, x, x + 0, x + 0], backend="perform")
    given = np.arange(3.0)
    outs = f(given)
    for k, out in enumerate(outs):
        assert not np.shares_memory(out, given)
        assert all(not np.shares_memory(out, other) for other in outs[k + 1 :])


def test_givens_replace_a_variable() -> None:
    x, y = tg.scalar("x"), tg.scalar("y")
    f = tg.function([y], x * 2, givens={x: y + 1}, backend="perform")
    assert f(3.0) == 8.0


def test_a_leaf_that_is_no_input_is_named_with_its_line() -> None:
    x, y = tg.scalar("x"), tg.scalar("y")
    with pytest.raises(tg.InputError, match=r"(?s)'?y.*is used but is not among the inputs.*test_function.py"):
        tg.function([x], x + y, backend="perform")


def test_an_unused_input_is_an_error_unless_ignored() -> None:
    x, y = tg.scalar("x"), tg.scalar("y")
    with pytest.raises(tg.InputError, match="is not used"):
        tg.function([x, y], x, backend="perform")
    assert tg.function([x, y], x, on_unused_input="ignore", backend="perform")(1.0, 2.0) == 1.0


def test_eval_computes_at_once() -> None:
    x = tg.vector("x")
    assert (x * 2).eval({x: [1.0, 2.0]}).tolist() == [2.0, 4.0]


def test_no_update_is_lost_between_threads() -> None:
    s, x = tg.shared(0, "s"), tg.scalar("x", dtype="int64")
    f = tg.function([x], s, updates={s: s + x}, backend="perform")

    def work() -> None:
        for _ in range(200):
            f(1)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert int(s.get_value()) == 1600


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda x: bool(x), tg.SymbolicError, "tg.where"),
        (lambda x: float(x), tg.SymbolicError, "eval"),
        (lambda x: [*x], tg.SymbolicError, "first length"),
        (lambda x: 1 in x, tg.SymbolicError, "tg.any"),
        (lambda x: np.array(x), tg.SymbolicError, "eval"),
        (lambda x: x["a"], tg.InputError, "index"),
        (lambda x: x[1.5], tg.InputError, "index"),
        (lambda x: x + "a", tg.InputError, "needed numbers"),
        (lambda x: tg.exp(x, x), tg.InputError, "found 2 operands, needed 1"),
        (lambda x: tg.grad(x, x), tg.NotDifferentiable, "needed a scalar"),
        (lambda x: tg.grad(tg.sum(x), tg.vector("other")), tg.InputError, "does not depend"),
        (lambda x: tg.reshape(x, (-1, -1)), tg.ShapeError, "at most one"),
        (lambda x: x @ tg.constant(2.0), tg.ShapeError, "scalar"),
        (lambda x: tg.function([x], x, backend="kokkos"), tg.BackendUnavailable, "kokkos"),
        (lambda x: tg.function([x], x, backend=tg.backend("perform", device="gpu")), tg.OptionError, "device"),
    ],
)
def test_mistakes_are_refused_with_words_that_help(make, error, text) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(error, match=text):
        make(tg.vector("x"))


@pytest.mark.parametrize("output", ["numpy", "native"])
@pytest.mark.parametrize("backend", ["c", "perform"])
def test_patterns_beyond_the_limit_are_the_references_and_warned_of_once(backend, output):
    xs = [tg.vector(f"x{k}") for k in range(3)]
    with tg.config(specializations=3):
        f = tg.function(xs, sum(xs[1:], xs[0]) * 2.0, backend=backend, output=output)
    rng, warned = np.random.default_rng(0), []
    for pattern in itertools.product((1, 3), repeat=3):
        for _ in range(2):
            values = [rng.standard_normal(n) for n in pattern]
            with warnings.catch_warnings(record=True) as found:
                warnings.simplefilter("always")
                result = f(*values)
            warned += [str(w.message) for w in found]
            np.testing.assert_allclose(np.asarray(result), np.add.reduce(np.broadcast_arrays(*values)) * 2, rtol=1e-14)
    assert len(f.programs.by_pattern) == len(f.programs.interpreted) == 3  # of the other five the oldest go
    assert type(result).__module__ == type(f(*[np.ones(3)] * 3)).__module__
    (text,) = warned
    assert text.startswith("function: 3 patterns of length-1 axes are compiled, the reference runs all others")


def test_a_configuration_without_a_block_warns_and_changes_nothing():
    with pytest.warns(RuntimeWarning, match=r"config: found no `with` block: mode='off' has changed nothing") as found:
        tg.config(mode="off")
    assert found[0].filename == __file__
    with pytest.raises(tg.OptionError, match="unknown option 'modes'"):
        tg.config(modes="off")


def test_a_configuration_is_that_of_the_innermost_block_and_of_decorated_functions():
    @tg.config(backend="perform", exclude="exact")
    def made(depth):
        x = tg.scalar("x")
        return made(depth - 1) if depth else tg.function([x], x + 1)

    with tg.config(backend="c", mode="off") as outer:
        assert outer.mode == "off"
        with tg.config(backend="perform") as inner:
            assert (inner.backend, inner.mode) == ("perform", "off")
        assert [made(2).backend, made(0).backend] == ["perform", "perform"]
        x = tg.scalar("x")
        assert tg.function([x], x + 1).backend == "c"
