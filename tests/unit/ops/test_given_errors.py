"""Errors of a class that a program gives, places of another program, and operands of one shape."""

import pickle

import numpy as np
import pytest

import tg
from tg.graph.checks import Descriptor


class OddError(ValueError):
    """A class of exceptions that tg does not know."""


N, X, Y = tg.scalar("n", "int64"), tg.vector("x"), tg.vector("y")


@pytest.mark.parametrize("backend", ["perform", "c", "numba"])
def test_a_check_raises_the_class_that_it_was_given(backend):
    with tg.created_at("model.py", 12, "likelihood"):
        checked = tg.assert_(X, N > 0, "found {0} draws", N, error=OddError)  # noqa: PT009
    f = tg.function([N, X], tg.exp(checked), backend=backend)
    np.testing.assert_allclose(f(1, [0.0]), [1])
    with pytest.raises(OddError, match=r"found -3 draws\n  at  model.py:12 in likelihood"):
        f(-3, [0.0])


def test_a_class_inside_a_function_and_of_a_constant():
    class LocalError(KeyError):
        pass

    with pytest.raises(LocalError):
        tg.assert_(X, False, error=LocalError)  # noqa: PT009
    loop = tg.fori_loop(0, N, lambda i, c: tg.assert_(c, i < 2, error=LocalError) + 1, 0)  # noqa: PT009
    f = tg.function([N], loop)
    assert f(2) == 2
    with pytest.raises(LocalError):
        f(3)


def test_no_module_is_imported_for_a_class_that_is_not_there():
    read = pickle.loads(pickle.dumps(Descriptor("antigravity:Fall", "fell from {0}")))
    with pytest.raises(tg.AssertionFailed, match="fell from 9"):
        raise read.build([9])
    checked = tg.function([N, X], tg.assert_(X, N > 0, error=OddError), backend="perform")  # noqa: PT009
    assert isinstance(tg.parse(tg.to_text(checked)).checks[0].descriptor.build([0]), OddError)


def test_what_is_no_class_of_exceptions_is_refused():
    with pytest.raises(tg.InputError, match="error: found 'OddError', needed a class of exceptions"):
        tg.assert_(X, N > 0, error="OddError")  # noqa: PT009


@pytest.mark.parametrize(("a", "b"), [(1, 3), (3, 1), (2, 3)])
def test_operands_of_one_shape(a, b):
    f = tg.function([X, Y], sum(tg.same_shape(X, Y)))
    np.testing.assert_array_equal(f(np.ones(a), np.ones(a)), np.full(a, 2.0))
    with pytest.raises(tg.ShapeError, match=f"same_shape: axis 0: lengths differ: .*{b}"):
        f(np.ones(a), np.ones(b))
    with pytest.raises(tg.ShapeError, match="same_shape: ranks differ"):
        tg.same_shape(X, tg.matrix("m"))
