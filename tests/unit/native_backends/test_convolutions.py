"""Convolutions of all fields, layouts and lengths, beside the reference: of whole numbers, whose sums are exact."""

import re

import numpy as np
import pytest

import tg
from tg.ops.nn.convolved import Convolution
from tg.types.dtypes import numpy_dtype
from tg.types.tensor_type import TensorType
from tg_native.convolutions.tiles import RESULTS
from tg_native.convolutions.windows import IMAGES, TAPS, Windows

DTYPES = ["float32", "float64", "float16", "complex64", "int64", "int8", "uint16"]
LENGTHS = {1: 12, 2: 8, 3: 5}  # at most, by the number of axes


def numbers(rng, shape, dtype):
    """Whole numbers, so small that sums of products are exact in every dtype."""
    found = rng.integers(-2, 3, shape).astype(float)
    found = found + 1j * rng.integers(-2, 3, shape) if dtype.startswith("complex") else found
    return found.astype(numpy_dtype(dtype))


def lengths(rng, count, most, empty):
    return [int(rng.integers(0 if rng.random() < empty else 1, most)) for _ in range(count)]


class Drawn:
    """A convolution whose fields, layouts and lengths are drawn."""

    def __init__(self, rng, dtype, *, known):
        axes = int(rng.integers(1, 4))
        n, g, c = lengths(rng, 3, 4, 0.05)
        outer, most = int(rng.choice([1, 3, 9, 40])), LENGTHS[axes]
        x = numbers(rng, (n, g, c, *lengths(rng, axes, most, 0.1)), dtype)
        w = numbers(rng, (g, outer, c, *lengths(rng, axes, 5, 0.05)), dtype)
        before, sizes = [int(b) for b in rng.integers(-4, 6, axes)], lengths(rng, axes, most, 0.1)
        is_number = known or rng.random() < 0.5
        strides, dilations = (tuple(map(int, rng.integers(1, 4, axes))) for _ in range(2))
        turns = rng.choice([1, 1, -1], axes)
        self.op = Convolution(
            strides,
            tuple(int(d * t) for d, t in zip(dilations, turns, strict=True)),
            tuple(map(int, rng.choice([1, 1, 2, 3, 4], axes))),
            tuple(before) if is_number else (None,) * axes,
            tuple(sizes) if is_number else (None,) * axes,
        )
        self.values = [x, w, *([] if is_number else map(np.int64, before + sizes))]
        types = [TensorType(dtype, v.shape if known or not v.ndim else (None,) * v.ndim) for v in (x, w)]
        more = [TensorType("int64", ()) for _ in self.values[2:]]
        self.inputs = [tg.Variable(t) for t in types + more]
        self.order = [int(k) for k in rng.permutation(x.ndim)]

    def outputs(self):
        """The results, and also as they lie if an output has axes in another order."""
        y = self.op(*self.inputs)
        return [y * 1, tg.transpose(self.op(*self.inputs), self.order)]

    def wanted(self):
        (y,) = self.op.perform(*self.values)
        return [y, y.transpose(self.order)]


def agree(drawn, backend):
    run = tg.function(
        [v for one in drawn for v in one.inputs], [y for one in drawn for y in one.outputs()], backend=backend
    )
    found = iter(run(*(v for one in drawn for v in one.values)))
    for one in drawn:
        for y in one.wanted():
            result = next(found)
            assert result.dtype == y.dtype
            assert np.array_equal(result, y), one.op


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.sampled(10)
def test_drawn_convolutions_are_those_of_the_reference(backend, dtype, known):
    rng = np.random.default_rng([DTYPES.index(dtype), known])
    agree([Drawn(rng, dtype, known=known) for _ in range(4)], backend)


def convolved(backend, x, w, *, known=True, **options):
    """The convolution, and both gradients of the sum of its products with some numbers, beside the reference."""
    inputs = [tg.tensor(v.dtype.name, dtype=v.dtype.name, shape=v.shape if known else (None,) * v.ndim) for v in (x, w)]
    y = tg.nn.conv2d(*inputs, **options)
    dy = numbers(np.random.default_rng(5), tg.function(inputs, y, backend="perform")(x, w).shape, x.dtype.name)
    outputs = [y, *tg.grad(tg.sum(y * dy), inputs)]
    found, wanted = (tg.function(inputs, outputs, backend=b)(x, w) for b in (backend, "perform"))
    for a, b in zip(found, wanted, strict=True):
        assert np.array_equal(a, b)


@pytest.mark.parametrize("known", [True, False])
def test_images_that_do_not_fit_at_once(backend, known):
    rng, side = np.random.default_rng(1), 120
    x, w = numbers(rng, (2, 12, side, side), "float64"), numbers(rng, (5, 12, 3, 3), "float64")
    assert 8 * x[0].size > IMAGES
    assert side * side > RESULTS
    convolved(backend, x, w, padding=1, known=known)


def test_more_taps_than_there_are_offsets_for(backend):
    rng = np.random.default_rng(2)
    x, w = numbers(rng, (1, TAPS // 8, 4, 5), "float32"), numbers(rng, (5, TAPS // 8, 3, 3), "float32")
    assert w[0].size > TAPS
    convolved(backend, x, w)


@pytest.mark.parametrize("options", [{}, {"stride": 2, "padding": 1}, {"padding": ((0, 2), (1, 0)), "dilation": 2}])
def test_a_group_for_each_channel(backend, options):
    rng = np.random.default_rng(3)
    x, w = numbers(rng, (2, 6, 9, 37), "float32"), numbers(rng, (6, 1, 3, 3), "float32")
    convolved(backend, x, w, groups=6, **options)


@pytest.mark.parametrize("dtype", ["float32", "int8"])
def test_windows_of_one_pixel_are_products_of_matrices(backend, dtype):
    rng = np.random.default_rng(4)
    x, w = numbers(rng, (2, 6, 9, 7), dtype), numbers(rng, (8, 6, 1, 1), dtype)
    v, u = (tg.tensor(n, dtype=dtype, shape=a.shape) for n, a in (("v", x), ("u", w)))
    run = tg.function([v, u], tg.nn.conv2d(v, u), backend=backend)
    assert np.array_equal(run(x, w), np.einsum("oc,nchw->nohw", w[:, :, 0, 0], x))
    last = tg.function([v, u], tg.transpose(tg.nn.conv2d(v, u), (0, 2, 3, 1)), backend=backend)
    assert np.array_equal(last(x, w), np.einsum("oc,nchw->nhwo", w[:, :, 0, 0], x))


def test_windows_far_apart_take_no_more_memory_than_what_they_meet(backend):
    x, w = np.arange(5.0).reshape(1, 1, 1, 5), np.arange(1.0, 3).reshape(1, 1, 1, 2)
    far = 2**40
    op = Convolution((1,), (far,), (1,), (far,), (5,))
    inputs = [tg.tensor(n, shape=v.shape) for n, v in (("x", x), ("w", w))]
    assert tg.function(inputs, op(*inputs), backend=backend)(x, w).ravel().tolist() == [0, 2, 4, 6, 8]


def test_images_that_are_no_numbers_are_met_by_their_own_windows_alone(backend):
    x, w = np.ones((1, 3, 6, 6), np.float32), np.ones((5, 3, 3, 3), np.float32)
    x[0, 1, 5, 5] = np.nan
    inputs = [tg.tensor(n, dtype="float32", shape=(None,) * 4) for n in "xw"]
    y = tg.function(inputs, tg.nn.conv2d(*inputs, padding=1), backend=backend)(x, w)
    assert np.isnan(y[0, :, 4:, 4:]).all()
    assert np.isnan(y).sum() == 5 * 4


def loops_of(run):
    return sorted(set(re.findall(r"\bloop\d+", run.source(full=True))))


def test_convolutions_of_other_lengths_are_one_function(backend):
    def layers(*sizes):
        x = tg.tensor("x", dtype="float32", shape=(2, 12, 17, 19))
        kernels = [tg.tensor(f"w{k}", dtype="float32", shape=(o, 12, k, k)) for o, k in sizes]
        outputs = [
            tg.nn.conv2d(x, w, padding=k // 2, dilation=k // 2) for (_, k), w in zip(sizes, kernels, strict=True)
        ]
        return [x, *kernels], tg.function([x, *kernels], outputs, backend=backend)

    _, one = layers((64, 3))
    inputs, three = layers((64, 3), (80, 5), (64, 7))
    assert loops_of(three) == loops_of(one)
    rng = np.random.default_rng(6)
    values = [numbers(rng, v.type.shape, "float32") for v in inputs]
    for k, found in zip((3, 5, 7), three(*values), strict=True):
        x, w = inputs[0], inputs[k // 2]
        y = tg.nn.conv2d(x, w, padding=k // 2, dilation=k // 2)
        assert np.array_equal(found, tg.function([x, w], y, backend="perform")(values[0], values[k // 2]))


@pytest.mark.sampled(6)
@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("dtype", ["float32", "complex64", "bool"])
def test_a_form_says_all_that_a_function_depends_on(backend, dtype, known, monkeypatch):
    rng = np.random.default_rng([7, known])
    drawn = [Drawn(rng, "float32" if dtype == "bool" else dtype, known=known) for _ in range(12)]
    inputs, outputs = [], []
    for one in drawn:  # each once as drawn, and twice with other lengths
        for more in (0, 1, 2):
            values = [np.zeros([n and n + more for n in v.shape], v.dtype) if v.ndim else v for v in one.values]
            types = [TensorType(dtype if v.ndim else "int64", v.shape if known else (None,) * v.ndim) for v in values]
            given = [tg.Variable(t) for t in types]
            inputs += given
            outputs.append(one.op(*given))
    texts = []
    for form in (Windows.form, lambda self: (object(),)):
        monkeypatch.setattr(Windows, "form", form)
        with tg.config(remember=False):
            texts.append(tg.function(inputs, outputs, backend=backend).source(full=True))
    assert texts[0] == texts[1]


def test_the_update_by_a_clipped_gradient_of_weights(backend):
    """The gradient lies as the update reads it, and is summed for its norm as it lies."""
    x, w = tg.tensor("x", "float64", (None, 5, 6, 7)), tg.shared(np.zeros((4, 5, 3, 3)), shape=(4, 5, 3, 3))
    loss = tg.sum(tg.nn.conv2d(x, w, padding=1) ** 2 + tg.nn.conv2d(x, w, padding=1))
    gradients = tg.optimize.clip_by_global_norm(tg.grad(loss, [w]), 0.5)
    updates = tg.optimize.sgd(None, [w], learning_rate=1.0, gradients=gradients)
    step = tg.function([x], [], updates=updates, backend=backend)
    slope = tg.function([x], tg.grad(loss, w), backend="perform")
    images = np.random.default_rng(0).normal(size=(3, 5, 6, 7))
    right = slope(images)
    step(images)
    np.testing.assert_allclose(w.get_value(), -0.5 * right / np.sqrt(np.sum(right**2)), rtol=1e-12)


@pytest.mark.parametrize("axes", [(1, 0, 2), (2, 1, 0), (0, 2, 1)])
def test_totals_of_what_is_repeated_or_in_two_orders(backend, axes):
    draws = np.random.default_rng(1)
    a, b, c = draws.normal(size=(6, 6, 6)), draws.normal(size=(6, 6, 6)), draws.normal(size=(6, 1, 6))
    inputs = [tg.tensor(name, shape=v.shape) for name, v in zip("abc", (a, b, c), strict=True)]
    x, y, z = inputs
    f = tg.function(inputs, [tg.sum(tg.transpose(x, axes) * y), tg.max(tg.transpose(x, axes) * z)], backend=backend)
    turned = np.transpose(a, axes)
    np.testing.assert_allclose(f(a, b, c), [np.sum(turned * b), np.max(turned * c)], rtol=1e-12)
