"""Lengths that are computed at run time have their exact values, or the call is refused."""

import numpy as np
import pytest

import tg
from tg.ops.length_checks import LengthsFit
from tg.types.lengths import LONGEST

V = tg.vector("v")
N, M, K = (tg.scalar(name, dtype="int64") for name in "nmk")
EXTREMES = (0, 1, -1, 3, 2**31, 2**32, 2**33, 2**61, 2**62 - 1, 2**62, 2**62 + 1, 2**63 - 1, -(2**62), -(2**63))


@pytest.mark.parametrize("mode", ["default", "off"])
@pytest.mark.parametrize(
    ("inputs", "output", "values"),
    [
        ([V, N, M, K], lambda: tg.reshape(V, (N, M))[K, 0], (np.arange(4.0), 2**62 + 1, 4, 2**40)),
        ([V, N, M], lambda: tg.reshape(V, (N, M))[1, 1], (np.zeros(0), 2**32, 2**32)),
        ([N, M], lambda: tg.ravel(tg.broadcast_to(1.0, (N, M))), (2**62 + 1, 4)),
        ([N, M], lambda: tg.mean(tg.broadcast_to(1.0, (N, M))), (2**33, 2**33)),
        ([K], lambda: tg.arange(K), (2**63 - 1,)),
        ([K], lambda: tg.arange(K * 4), (2**62 + 1,)),
        ([K], lambda: tg.reshape(tg.arange(K * 4), (K, 4))[2**30, 0], (2**62 + 1,)),
        ([V, K], lambda: tg.reshape(tg.specify_shape(V, (K * 4,)), (K, 4)), (np.zeros(4), 2**62 + 1)),
        ([K], lambda: tg.zeros((K * 2 // 2,)), (2**62,)),
        ([V, K], lambda: tg.tile(V, K), (np.zeros(4), 2**62 + 1)),
    ],
    ids=range(10),
)
def test_lengths_that_int64_does_not_count_are_refused_at_the_users_line(inputs, output, values, mode):
    f = tg.function(inputs, output(), backend="perform", mode=mode)
    with pytest.raises(tg.ShapeError, match=r"needed (one of at most|at most|lengths)") as caught:
        f(*values)
    assert "test_length_checks.py" in str(caught.value)


@pytest.mark.parametrize("length", [2**62 + 1, 2**63, 2**70])
def test_a_known_length_that_is_too_long_is_refused_when_it_is_built(length):
    for build in (lambda: tg.zeros((length,)), lambda: tg.arange(length), lambda: tg.reshape(V, (length,))):
        with pytest.raises(tg.ShapeError, match="needed one of at most"):
            build()


def test_a_known_number_of_elements_is_counted_when_it_is_built():
    with pytest.raises(tg.ShapeError, match="73786976294838206464"):
        tg.mean(tg.broadcast_to(V[0], (2**33, 2**33)))


def test_bounds_and_steps_of_slices_may_be_any_integers():
    x = np.arange(5.0)
    ends = (None, 0, 2, -2, 10**18, -(10**18), 2**62, -(2**63), 2**70, -(2**70))
    cases = [slice(a, b, s) for a in ends for b in ends for s in (1, -1, 2**63, -(2**70))]
    found = tg.function([V], [V[where] for where in cases], backend="perform")(x)
    for where, y in zip(cases, found, strict=True):
        np.testing.assert_array_equal(y, x[where])


def test_a_product_of_integers_that_is_no_size_wraps_as_ever():
    f = tg.function([K], [K * 2 // 2, K * 4], backend="perform")
    assert [int(y) for y in f(2**62 + 1)] == [-(2**62) + 1, 4]


@pytest.mark.parametrize(
    "polynomial",
    [((1, (0,)),), ((4, (0,)),), ((1, (0, 1)),), ((1, (0,)), (-1, (1,))), ((3, (0, 0)), (1, (1,)), (7, ()))],
)
def test_fitting_is_decided_alike_by_integers_without_bounds_and_by_floats_beside_wrapped_ones(polynomial):
    op = LengthsFit((polynomial,))
    exact = tg.function([N, M], op(N, M), backend="perform", on_unused_input="ignore")
    rounded = tg.function([N, M], op.expansion(N, M), backend="perform", on_unused_input="ignore")
    for n in EXTREMES:
        for m in EXTREMES:
            total = sum(c * int(np.prod([(n, m)[k] for k in places], dtype=object)) for c, places in polynomial)
            assert bool(exact(n, m)) == bool(rounded(n, m)) == (abs(total) <= LONGEST), (n, m)


def test_lengths_of_arrays_need_no_check():
    x, y = tg.matrix("x"), tg.vector("y")
    outputs = [tg.ravel(x), x[1:, ::2], tg.concatenate([y, y[1:]]), tg.mean(x), tg.reshape(x, (x.shape[1], -1))]
    f = tg.function([x, y], outputs, backend="perform")
    assert not any(isinstance(node.op, LengthsFit) for node in f.graph.nodes)
    assert not f.graph.checks


def test_an_axis_that_no_memory_holds_is_refused_with_the_name_of_the_input():
    x = tg.tensor("x", shape=(None, None), dtype="int8")
    f = tg.function([x], x + 1, backend="perform")
    with pytest.raises(tg.ShapeError, match="input 'x': axis 0 has length 281474976710657, needed at most"):
        f(np.zeros((2**48 + 1, 0), np.int8))
