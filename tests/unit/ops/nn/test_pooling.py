"""Pooling beside PyTorch's: values, places, gradients; second derivatives; batches and run-time lengths."""

import numpy as np
import pytest

import tg
from tg.errors import InputError, ShapeError
from tg.ops.nn.pooling import MaxPool

torch = pytest.importorskip("torch")
LENGTHS = (7, 6, 5)
WINDOWS = [(2, None, 0, 1, False), (3, 2, 1, 1, False), (3, 2, 1, 2, False), (2, 3, 1, 1, True)]


def drawn(*shape):
    """Numbers of which some are equal."""
    return np.round(np.random.default_rng(len(shape)).normal(size=shape), 1)


@pytest.mark.parametrize("window", WINDOWS, ids=str)
@pytest.mark.parametrize("axes", [1, 2, 3])
def test_windows_are_those_of_torch(axes, window):
    *given, ceil = window
    x, leaf = tg.tensor("x", shape=(None,) * (axes + 2)), drawn(2, 3, *LENGTHS[:axes])
    y, places = getattr(tg.nn, f"max_pool{axes}d")(x, *given, ceil_mode=ceil, return_indices=True)
    means = [
        getattr(tg.nn, f"avg_pool{axes}d")(x, *given[:3], ceil_mode=ceil, count_include_pad=with_padding)
        for with_padding in (True, False)
    ]
    cost = tg.sum(y**3) + sum(tg.sum(v**3) for v in means)
    slope = tg.grad(cost, x)
    second = tg.grad(tg.sum(slope**2), x)
    found = tg.function([x], [y, places, *means, slope, second], backend="perform")(leaf)
    t = torch.tensor(leaf, requires_grad=True)
    want, at = getattr(torch.nn.functional, f"max_pool{axes}d")(t, *given, ceil, return_indices=True)
    others = [getattr(torch.nn.functional, f"avg_pool{axes}d")(t, *given[:3], ceil, b) for b in (True, False)]
    total = (want**3).sum() + sum((v**3).sum() for v in others)
    (first,) = torch.autograd.grad(total, t, create_graph=True)
    (more,) = torch.autograd.grad((first**2).sum(), t)
    for a, b in zip(found, [want, at, *others, first, more], strict=True):
        np.testing.assert_allclose(a, b.detach().numpy(), rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("size", [1, 3, (5, None), 9])
def test_adaptive_parts_are_those_of_torch(size):
    x, leaf = tg.tensor("x", shape=(None,) * 4), drawn(2, 3, 7, 6)
    found, t = [], torch.tensor(leaf, requires_grad=True)
    want = []
    for kind in ("avg", "max"):
        y = getattr(tg.nn, f"adaptive_{kind}_pool2d")(x, size)
        found += [y, tg.grad(tg.sum(y**3), x)]
        other = getattr(torch.nn.functional, f"adaptive_{kind}_pool2d")(t, size)
        want += [other, *torch.autograd.grad((other**3).sum(), t)]
    for a, b in zip(tg.function([x], found, backend="perform")(leaf), want, strict=True):
        np.testing.assert_allclose(a, b.detach().numpy(), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("pads", [((0, 1), (1, 0)), "same"], ids=str)
def test_means_of_windows_with_other_paddings_behind_than_before(pads):
    """The sums are those of padded images, and the numbers of elements those of padded ones."""
    stride = 1 if pads == "same" else 2
    a = drawn(2, 3, 5, 6)
    (top, bottom), (left, right) = ((0, 1), (0, 1)) if pads == "same" else pads
    sides = (left, right, top, bottom)
    total = torch.nn.functional.avg_pool2d(torch.nn.functional.pad(torch.tensor(a), sides), 2, stride)
    own = torch.nn.functional.avg_pool2d(torch.nn.functional.pad(torch.ones(2, 3, 5, 6), sides), 2, stride)
    for with_padding, want in ((True, total), (False, total / own)):
        y = tg.nn.avg_pool2d(a, 2, stride, pads, count_include_pad=with_padding)
        np.testing.assert_allclose(y.eval({}), want.numpy(), rtol=1e-6 if not with_padding else 1e-13, atol=1e-13)


def test_the_expansion_is_the_op():
    """Of windows that read nothing, infinities, NaN, and integers, too."""
    a = drawn(2, 5, 4)
    a[0, 1, 1], a[1] = np.nan, -np.inf
    for array in (a, (drawn(2, 5, 4) * 10).astype(np.int32)):
        x = tg.tensor("x", array.dtype.name, (None,) * 3)
        for op in (MaxPool((2, 2), (2, 1), (1, 2), (0, 1), (2, 4)), MaxPool((3, 1), (4, 4), (2, 1), (5, 8), (4, 5))):
            f = tg.function([x], list(op.expansion(x)), backend="perform")
            for found, wanted in zip(f(array), op.perform(array), strict=True):
                np.testing.assert_array_equal(found, wanted)


def test_a_batch_and_a_tangent():
    x, t = tg.tensor("x", shape=(None,) * 4), tg.tensor("t", shape=(None,) * 4)
    y = tg.vmap(lambda one: tg.nn.max_pool2d(one, 2))(x)
    a, d = np.random.default_rng(0).normal(size=(2, 3, 2, 4, 5))
    found, tangent = tg.function([x, t], [y, tg.jvp(y, x, t)], backend="perform")(a, d)
    at = a[..., :4].reshape(3, 2, 2, 2, 2, 2).swapaxes(3, 4)
    flat = at.reshape(3, 2, 2, 2, 4)
    slopes = d[..., :4].reshape(3, 2, 2, 2, 2, 2).swapaxes(3, 4).reshape(3, 2, 2, 2, 4)
    np.testing.assert_array_equal(found, flat.max(-1))
    np.testing.assert_array_equal(tangent, np.take_along_axis(slopes, flat.argmax(-1)[..., None], -1)[..., 0])


BAD = {
    "max_pool2d: padding: found 2, needed at most half of the window (3, 3)": (
        lambda x: tg.nn.max_pool2d(x, 3, padding=2),
        InputError,
    ),
    "avg_pool2d: windows: found one of 6 in an image of 5, needed it to fit": (
        lambda x: tg.nn.avg_pool2d(x, 6),
        ShapeError,
    ),
    "max_pool2d: window: found (2, 2, 2), needed an integer of at least 1, or one for each of 2 axes": (
        lambda x: tg.nn.max_pool2d(x, (2, 2, 2)),
        InputError,
    ),
    "adaptive_avg_pool2d: size: found 0, needed a number of at least 1 or None": (
        lambda x: tg.nn.adaptive_avg_pool2d(x, 0),
        InputError,
    ),
}


@pytest.mark.parametrize("text", BAD)
def test_what_does_not_fit_is_told(text):
    build, error = BAD[text]
    with pytest.raises(error) as caught:
        build(tg.tensor("x", shape=(1, 1, 5, 5)))
    assert str(caught.value).startswith(text)
