"""A cost of operands whose lengths are declared apart is differentiated in its stable form as any other."""

import random

import numpy as np
import pytest

import tg

FORMULAS = {  # of two vectors: written out, and its gradient, by elements
    "logdiffexp": (
        lambda x, y: tg.log(tg.exp(x) - tg.exp(y)),
        lambda x, y: (-1 / np.expm1(y - x), 1 / np.expm1(x - y) * -1),
    ),
    "logaddexp": (
        lambda x, y: tg.log(tg.exp(x) + tg.exp(y)),
        lambda x, y: (1 / (1 + np.exp(y - x)), 1 / (1 + np.exp(x - y))),
    ),
    "sigmoid": (
        lambda x, y: tg.exp(x) / (tg.exp(x) + tg.exp(y)),
        lambda x, y: (s := 1 / (2 + np.exp(x - y) + np.exp(y - x)), -s),
    ),
}


@pytest.mark.parametrize("name", FORMULAS)
@pytest.mark.parametrize("lengths", [(3, 3), (1, 3), (3, 1), (1, 1)])
def test_vectors_of_lengths_of_their_own(name, lengths):
    """Lengths that nothing says are equal, and that broadcast where one of them is 1."""
    written, expected = FORMULAS[name]
    x, y = tg.vector("x"), tg.vector("y")
    f = tg.function([x, y], tg.grad(tg.sum(written(x, y)), [x, y]), backend="perform")
    a, b = np.array([800.0, 1000.0, 3.0])[-lengths[0] :], np.array([-750.0, 1.0, 2.0])[-lengths[1] :]
    with np.errstate(over="ignore"):
        slopes = np.broadcast_arrays(*expected(a, b))
    for v, given, slope in zip(f(a, b), (a, b), slopes, strict=True):
        needed = slope.sum(keepdims=True) if given.size == 1 else slope
        np.testing.assert_allclose(v, needed, rtol=1e-13, atol=1e-300)


def test_lengths_that_a_number_says_are_met_as_others():
    """The length of what is repeated may be the value of a scalar, that of an axis of another expression."""
    x, s = tg.matrix("x"), tg.tensor("s", shape=(None, None, None))
    rows = tg.broadcast_to(tg.sum(s, axis=(1, 2)), (x.shape[0],))
    cost = tg.sum(tg.log(tg.exp(x[:, 0]) + tg.exp(rows)))
    slope = tg.function([x, s], tg.grad(cost, x), backend="perform")(np.array([[800.0], [-800.0]]), np.zeros((2, 1, 1)))
    np.testing.assert_array_equal(slope, [[1], [0]])


def test_a_form_that_leaves_an_operand_out_needs_its_length():
    """where(c, x, x) is x, but for its length: of a condition of three elements and an x of one it is three."""
    c, x = tg.vector("c", "bool"), tg.vector("x")
    f = tg.function([c, x], tg.grad(tg.sum(tg.where(c, x, x) ** 2), x), backend="perform")
    np.testing.assert_array_equal(f([True, False, True], [2.0]), [12.0])
    np.testing.assert_array_equal(f([True, False], [2.0, 3.0]), [4.0, 6.0])


# --- drawn programs ---------------------------------------------------------------------------------------------------

ONE = (
    tg.exp,
    tg.log,
    tg.tanh,
    tg.sqrt,
    tg.square,
    tg.sigmoid,
    tg.softplus,
    lambda a: 1 - a,
    lambda a: tg.log(tg.exp(a) + 1),
)
TWO = (
    *(tg.add, tg.subtract, tg.multiply, tg.divide, tg.maximum, tg.logaddexp),
    lambda a, b: tg.where(a < b, a, a),
    lambda a, b: tg.where(b > 0, tg.where(b > 0, a, b), a),
    lambda a, b: tg.where(b > 0, a, 0),
    lambda a, b: tg.log(tg.exp(a) + tg.exp(b)),
    lambda a, b: tg.log(tg.exp(a) - tg.exp(b)),
    lambda a, b: tg.exp(a) / (tg.exp(a) + tg.exp(b)),
    lambda a, b: a**2 * b / b,
    lambda a, b: a * 0 + b,
    lambda a, b: tg.softmax(a) * b if a.ndim else a * b,
    lambda a, b: tg.sum(a * b) + a,
    lambda a, b: a - tg.max(b),
    lambda a, b: tg.log(tg.sum(tg.exp(a + b))),
)
LENGTHS = [(1, 3, 3), (3, 1, 1), (1, 1, 3), (3, 3, 3), (1, 1, 1), (3, 1, 3), (3, 3, 1)]


def drawn(variables, seed):
    """The sum of an expression of a seed."""
    rng = random.Random(seed)

    def below(depth):
        if depth == 0 or rng.random() < 0.1:
            return rng.choice(variables)
        if rng.random() < 0.35:
            return rng.choice(ONE)(below(depth - 1))
        return rng.choice(TWO)(below(depth - 1), below(depth - 1))

    return tg.sum(below(rng.choice([2, 3, 3, 4])))


def with_gradient(variables, seed):
    """A function to the value and the gradients of a drawn sum."""
    cost = drawn(variables, seed)
    outputs = [cost, *tg.grad(cost, variables, disconnected="zero")]
    return tg.function(variables, outputs, backend="perform", on_unused_input="ignore")


@pytest.mark.parametrize("seeds", [range(8), pytest.param(range(8, 200), marks=pytest.mark.long(minutes=2))])
def test_gradients_of_drawn_programs_are_those_of_known_lengths(seeds):
    for seed in seeds:
        f = with_gradient([tg.vector(name) for name in "xyz"], seed)
        for lengths in LENGTHS:
            arrays = [np.random.default_rng(k).uniform(0.3, 1.7, n) for k, n in enumerate(lengths)]
            known = [tg.tensor(name, "float64", (n,)) for name, n in zip("xyz", lengths, strict=True)]
            with np.errstate(all="ignore"):
                results = zip(f(*arrays), with_gradient(known, seed)(*arrays), strict=True)
            for found, needed in results:
                np.testing.assert_allclose(found, needed, rtol=1e-9, atol=1e-12, err_msg=f"{seed} of {lengths}")
