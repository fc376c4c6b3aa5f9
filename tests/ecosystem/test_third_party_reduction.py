"""A reduction of a third party, one record in one place: on every backend that combines by any function, with gradient.

The others say that they cannot, or compute what the record says that it is written with others.
"""

import math

import numpy as np
import pytest

import tg

BACKENDS = {one.name for one in tg.backends() if one.is_available}
COMBINING = [name for name in ("perform", "c", "numba") if name in BACKENDS]
OTHERS = [name for name in ("jax", "torch", "mlx") if name in BACKENDS]

VALUES = """
import numpy as np, tg
from tg_thirdparty.logsums import logsum
x = tg.matrix("x")
value = np.random.default_rng(3).normal(size=(37, 70)) * 5
rows, columns, whole = logsum(x, axis=1), logsum(x, axis=0), logsum(x * 2)
slope = tg.grad(tg.sum(rows * rows), x)
curvature = tg.grad(tg.sum(slope * slope), x)
f = tg.function([x], [rows, columns, whole, logsum(tg.sin(x), axis=0), slope, curvature], backend={backend!r})
g = tg.function([x], [logsum(x), logsum(x, 0, keepdims=True, initial=1.0, where=x < 0), tg.grad(logsum(x), x)],
    backend={backend!r})
answer = [value.tolist(), [a.tolist() for a in f(value)], [[a.tolist() for a in g(np.full(shape, -np.inf))]
    for shape in ((0, 3), (2, 3))]]
"""

DECLINING = """
import numpy as np, tg
from tg_thirdparty.logsums import logsum
x, answer = tg.matrix("x"), []
for backend in {backends!r}:
    try:
        tg.function([x], logsum(x, axis=1), backend=backend)(np.ones((2, 3)))
    except tg.NoRuleError as error:
        answer.append(str(error))
"""

EXPANDING = """
import numpy as np, tg
from tg.backend import Reduction, by_element
logsum = Reduction("logsum", tg.logaddexp, start=-np.inf, pullback=by_element(lambda x, y: tg.exp(x - y)),
    expansion=lambda x, axes: tg.logsumexp(x, axes))
x = tg.matrix("x", dtype="float32")
value = np.arange(6.0, dtype="float32").reshape(2, 3)
y = logsum(x, axis=1)
made = [tg.function([x], [y, tg.grad(tg.sum(y), x)], backend=backend) for backend in {backends!r}]
answer = [[a.tolist() for a in f(value)] for f in made]
"""

TEXT = """
import tg
from tg_thirdparty.logsums import logsum
text = tg.to_text(logsum(tg.matrix("x"), axis=1), provenance=False)
answer = [text, tg.to_text(tg.parse(text), provenance=False) == text]
"""


def log_of_sum(row):
    """The logarithm of the sum of exponentials, with every digit of the sum."""
    top = max(row)
    return top + math.log(math.fsum(math.exp(v - top) for v in row))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("backend", COMBINING)
def test_its_values_and_derivatives_are_right(ask, backend):
    value, found, without = ask(VALUES.format(backend=backend), "tg-thirdparty")
    x, rows = np.array(value), np.array([log_of_sum(row) for row in value])
    rows_, columns, whole, of_sines, slope, curvature = (np.array(a) for a in found)
    np.testing.assert_allclose(rows_, rows, rtol=1e-14)
    np.testing.assert_allclose(columns, [log_of_sum(column) for column in x.T.tolist()], rtol=1e-14)
    np.testing.assert_allclose(whole, log_of_sum((2 * x).ravel().tolist()), rtol=1e-14)
    np.testing.assert_allclose(of_sines, [log_of_sum(column) for column in np.sin(x).T.tolist()], rtol=1e-13)
    share = np.exp(x - rows[:, None])
    np.testing.assert_allclose(slope, 2 * rows[:, None] * share, rtol=1e-12)
    squares = np.sum(share**2, axis=1)  # of the slopes, over (2 rows)**2: the second derivative by hand
    by_row = 8 * rows * squares - 8 * rows**2 * squares
    right = share * by_row[:, None] + 8 * rows[:, None] ** 2 * share**2
    np.testing.assert_allclose(curvature, right, rtol=1e-9, atol=1e-12)
    nothing, infinite = without
    assert nothing[0] == -np.inf
    assert nothing[1] == [[1.0, 1.0, 1.0]]
    assert infinite[:2] == [-np.inf, [[1.0, 1.0, 1.0]]]
    assert infinite[2] == [[1.0] * 3] * 2


@pytest.mark.long
def test_backends_without_such_a_reduction_say_so(ask):
    texts = ask(DECLINING.format(backends=OTHERS), "tg-thirdparty")
    for backend, text in zip(OTHERS, texts, strict=True):
        assert text.startswith(f"backend {backend!r} has no rule for Reduce by logaddexp that takes these operands")
        assert 'compile with backend="perform"' in text


@pytest.mark.long
def test_where_the_record_has_an_expansion_it_is_computed(ask):
    found = ask(EXPANDING.format(backends=OTHERS))
    assert len(found) == len(OTHERS)
    for y, slope in found:
        np.testing.assert_allclose(y, [log_of_sum(row) for row in ([0, 1, 2], [3, 4, 5])], rtol=1e-6)
        np.testing.assert_allclose(slope, [np.exp([-2, -1, 0]) / np.sum(np.exp([-2, -1, 0]))] * 2, rtol=1e-6)


def test_it_is_printed_and_parsed(ask):
    text, is_same = ask(TEXT, "tg-thirdparty")
    assert "Reduce{fn=logaddexp, axes=(-1,)}" in text
    assert is_same
