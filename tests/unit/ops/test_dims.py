"""Named lengths: inputs that share one agree, which a call checks once; they are lengths like any other."""

import pickle

import numpy as np
import pytest

import tg
from tg.graph.dims import named_type, tied
from tg.graph.function_graph import freeze

N, M = tg.dim("n"), tg.dim("m")
REFERENCE = {"backend": "perform"}


def vectors(*names):
    return [tg.vector(name, shape=(N,)) for name in names]


def checks(f):
    return [c.descriptor.text for c in f.graph.checks]


def test_a_named_length_is_a_length():
    x = tg.matrix("x", shape=(N, 3))
    assert x.shape[0] == N
    assert tg.dim("n") == N
    assert repr(2 * N + 1) == "2*n + 1"
    assert (N + 1) - N == 1
    assert tg.zeros((2 * N, 3)).shape == (2 * N, 3)
    assert x.reshape(-1).shape == (3 * N,)
    with pytest.raises(tg.LengthError, match="length n"):
        assert N == 3


def test_inputs_that_share_a_name_need_one_check_and_no_other():
    x, y = vectors("x", "y")
    f = tg.function([x, y], tg.exp(x) + y.reshape(N) * tg.ones(N), **REFERENCE)
    assert checks(f) == ["dim n: found {0} (x axis 0) and {1} (y axis 0)"]
    np.testing.assert_array_equal(f([0.0, 0.0], [1.0, 2.0]), [2.0, 3.0])


def test_one_input_needs_no_check():
    (x,) = vectors("x")
    f = tg.function([x], tg.sum(x) / N + tg.sum(tg.arange(N)), **REFERENCE)
    assert checks(f) == []
    assert f([1.0, 2.0]) == 2.5


@pytest.mark.parametrize("lengths", [(2, 3), (2, 1), (1, 2), (0, 1), (3, 0)])
def test_a_mismatch_is_reported_by_name(lengths):
    x, y = vectors("x", "y")
    f = tg.function([x, y], x + y, **REFERENCE)
    said = rf"dim n: found {lengths[0]} \(x axis 0\) and {lengths[1]} \(y axis 0\)"
    with pytest.raises(tg.ShapeError, match=said):
        f(*map(np.ones, lengths))


@pytest.mark.parametrize("length", [0, 1, 2, 5])
def test_all_lengths_work_that_agree(length):
    x, y = vectors("x", "y")
    z = tg.matrix("z", shape=(N, N))
    f = tg.function([x, y, z], (z @ x) * y + tg.zeros(N), **REFERENCE)
    np.testing.assert_array_equal(
        f(np.ones(length), np.ones(length), np.ones((length, length))), np.full(length, length)
    )


def test_an_input_without_a_name_is_called_by_its_place():
    x, y = tg.vector(shape=(N,)), tg.matrix(shape=(3, N))
    f = tg.function([x, y], x + y, **REFERENCE)
    with pytest.raises(tg.ShapeError, match=r"dim n: found 2 \(input 0 axis 0\) and 4 \(input 1 axis 1\)"):
        f(np.ones(2), np.ones((3, 4)))


@pytest.mark.parametrize(
    ("shape", "good", "bad"),
    [
        (2 * N, 6, (5, 1, 3)),
        (N + 1, 4, (3, 1)),
        (N * N, 9, (6, 1)),
        (N - 3, 0, (1, 2)),
        (N // 2, 1, (2, 3)),
    ],
)
def test_lengths_made_of_names_are_checked(shape, good, bad):
    (x,) = vectors("x")
    y = tg.vector("y", shape=(shape,))
    f = tg.function([y, x], (tg.sum(x), y + tg.zeros(shape)), **REFERENCE)
    f(np.ones(good), np.ones(3))
    for wrong in bad:
        with pytest.raises(tg.ShapeError, match=rf"found {wrong} \(y axis 0\), needed {good}"):
            f(np.ones(wrong), np.ones(3))


def test_a_length_of_one_that_a_compound_has():
    (x,) = vectors("x")
    y = tg.vector("y", shape=(N + 1,))
    f = tg.function([x, y], tg.concatenate([x, tg.ones(1)]) + y, **REFERENCE)
    np.testing.assert_array_equal(f(np.ones(0), [3.0]), [4.0])
    np.testing.assert_array_equal(f(np.ones(1), [3.0, 4.0]), [4.0, 5.0])


def test_a_name_that_no_input_has_alone_is_refused_when_the_function_is_made():
    z = tg.vector("z", shape=(2 * N,))
    with pytest.raises(tg.InputError, match="dim n: found no input that has it"):
        tg.function([z], z + 1, **REFERENCE)
    with pytest.raises(tg.InputError, match="dim n: found no input that has it"):
        tg.function([], tg.zeros(N), **REFERENCE)


def test_gradients_know_the_names():
    a = tg.matrix("a", shape=(N, M))
    x, y = tg.vector("x", shape=(M,)), tg.vector("y", shape=(N,))
    cost = tg.sum((a @ x - y) ** 2) / N
    f = tg.function([a, x, y], tg.grad(cost, [a, x, y]), **REFERENCE)
    assert len(checks(f)) == 2
    da, dx, dy = f(np.eye(2, 3), np.ones(3), np.zeros(2))
    assert (da.shape, dx.shape, dy.shape) == ((2, 3), (3,), (2,))
    np.testing.assert_array_equal(dy, [-1.0, -1.0])


def test_a_call_knows_the_names_of_its_operands():
    x, y = vectors("x", "y")
    z = tg.call(lambda u, v: u + v * tg.ones(N), x, y)
    f = tg.function([x, y], z, **REFERENCE)
    np.testing.assert_array_equal(f([1.0, 2.0], [3.0, 4.0]), [4.0, 6.0])
    with pytest.raises(tg.ShapeError, match="dim n"):
        f(np.ones(2), np.ones(3))
    frozen = freeze([x, y], [z])
    assert tg.parse(tg.to_text(frozen)) == frozen


def test_shared_variables_have_named_lengths():
    (x,) = vectors("x")
    s = tg.shared(np.ones(3), "s", shape=(N,))
    f = tg.function([x], x + s, **REFERENCE)
    for length in (3, 2, 1, 0):
        s.set_value(np.ones(length))
        np.testing.assert_array_equal(f(np.ones(length)), np.full(length, 2.0))
        with pytest.raises(tg.ShapeError, match=rf"dim n: found {length + 1} \(x axis 0\) and {length} \(s axis 0\)"):
            f(np.ones(length + 1))
    one = tg.shared(np.ones(1), "one", shape=(N,))
    np.testing.assert_array_equal(tg.function([x], x + one, **REFERENCE)([1.0]), [2.0])


def test_a_function_with_names_is_pickled():
    x, y = vectors("x", "y")
    s = tg.shared(np.ones(2), "s", shape=(N,))
    f = pickle.loads(pickle.dumps(tg.function([x, y], x + y + s + tg.arange(N), **REFERENCE)))
    np.testing.assert_array_equal(f([1.0, 2.0], [3.0, 4.0]), [5.0, 8.0])
    with pytest.raises(tg.ShapeError, match="dim n"):
        f([1.0, 2.0], [3.0])


def test_types_with_names():
    x = tg.tensor("x", shape=(None, N, 3, 2 * N))
    assert str(named_type(x)) == "float64[?, n, 3, 2*n]"
    assert str(x.type) == "float64[?, ?, 3, ?]"
    assert pickle.loads(pickle.dumps(named_type(x))).shape[1] == N
    y = tg.vector("y", shape=(N,))
    assert tied([x, y]) == {(0, 1): ((0, 1), (1, 0)), (1, 0): ((0, 1), (1, 0))}


def test_one_pattern_of_ones_serves_all_who_share_a_name():
    x, y = vectors("x", "y")
    with tg.config(specializations=2):
        f = tg.function([x, y], x + y, **REFERENCE)
        f([1.0, 2.0], [1.0, 2.0])
        f([1.0], [1.0])
        for lengths in ((1, 2), (2, 1)):
            with pytest.raises(tg.ShapeError, match="dim n"):
                f(*map(np.ones, lengths))


def test_jitted_functions_take_variables_with_names():
    @tg.jit(backend="perform")
    def centred(v):
        return v - np.sum(v) / v.shape[0]

    x, y = vectors("x", "y")
    f = tg.function([x, y], centred(x) + y, **REFERENCE)
    assert len(checks(f)) == 1
    np.testing.assert_array_equal(f([1.0, 3.0], [0.0, 0.0]), [-1.0, 1.0])


def test_specify_shape_gives_a_name():
    (x,) = vectors("x")
    y = tg.matrix("y")
    z = tg.specify_shape(y, (3, N))
    assert z.type.shape == (3, None)
    assert z.shape[1] == N
    f = tg.function([x, y], z + x, **REFERENCE)
    assert f(np.ones(2), np.ones((3, 2))).shape == (3, 2)
    with pytest.raises(tg.ShapeError, match="specify_shape: axis 1: lengths differ: 4 and 2"):
        f(np.ones(2), np.ones((3, 4)))
    with pytest.raises(tg.ShapeError, match="specify_shape: axis 0: lengths differ: 2 and 3"):
        f(np.ones(2), np.ones((2, 2)))
    assert tg.specify_shape(x, (N,)) is x


@pytest.mark.parametrize("name", ["", "2n", "a b", 3, None])
def test_a_name_is_a_word(name):
    with pytest.raises(tg.InputError, match="dim: name"):
        tg.dim(name)


def test_a_length_of_another_variable_is_no_shape_of_an_input():
    with pytest.raises(tg.ShapeError, match="named lengths"):
        tg.vector("y", shape=(tg.vector("x").shape[0],))
