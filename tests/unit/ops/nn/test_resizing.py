"""Images at other resolutions beside PyTorch's and JAX's: values and gradients, patches there and back."""

import numpy as np
import pytest

import tg
from tg.errors import InputError, ShapeError

torch = pytest.importorskip("torch")
NAMES = {"nearest": ("nearest",) * 3, "bilinear": ("linear", "bilinear", "trilinear"), "bicubic": ("", "bicubic", "")}


def drawn(*shape):
    return np.random.default_rng(sum(shape)).normal(size=shape)


@pytest.mark.parametrize("antialias", [False, True])
@pytest.mark.parametrize("size", [(3, 9), (12, 2), (7, 1)], ids=str)
@pytest.mark.parametrize("method", NAMES)
def test_images_are_those_of_torch(method, size, antialias):
    if method == "nearest" and antialias:
        pytest.skip("there is none")
    a = drawn(2, 3, 7, 5)
    x = tg.tensor("x", shape=(None,) * 4)
    y = tg.nn.resize(x, size, method, antialias=antialias)
    found = tg.function([x], [y, tg.grad(tg.sum(y**2), x)], backend="perform")(a)
    t = torch.tensor(a, requires_grad=True)
    want = torch.nn.functional.interpolate(t, size, mode=method, antialias=antialias)
    (want**2).sum().backward()
    for p, q in zip(found, (want, t.grad), strict=True):
        np.testing.assert_allclose(p, q.detach().numpy(), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("axes", [1, 3])
@pytest.mark.parametrize("method", ["nearest", "bilinear"])
def test_sequences_and_volumes_are_those_of_torch(method, axes):
    a = drawn(1, 2, *(4, 3, 5)[:axes])
    found = tg.nn.resize(a, 6, method).eval({})
    want = torch.nn.functional.interpolate(torch.tensor(a), (6,) * axes, mode=NAMES[method][axes - 1])
    np.testing.assert_allclose(found, want.numpy(), rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("antialias", [False, True])
@pytest.mark.parametrize("method", NAMES)
def test_images_are_those_of_jax(method, antialias):
    jax = pytest.importorskip("jax")
    a = drawn(2, 7, 5, 3)
    for size in ((3, 9), (12, 2)):
        if method == "nearest" and antialias:
            continue
        with jax.enable_x64(True):
            shape = (2, *size, 3)
            want = np.asarray(jax.image.resize(a, shape, method, antialias=antialias))
        found = tg.nn.resize(a, size, method, antialias=antialias, convention="jax", layout="NHWC").eval({})
        np.testing.assert_allclose(found, want, rtol=1e-6, atol=1e-6)  # JAX computes weights in float32


def test_pixels_that_are_integers():
    a = np.arange(12, dtype=np.uint8).reshape(1, 1, 3, 4)
    found = tg.nn.resize(a, (6, 2)).eval({})
    assert found.dtype == np.uint8
    want = torch.nn.functional.interpolate(torch.tensor(a), (6, 2))
    np.testing.assert_array_equal(found, want.numpy())
    assert tg.nn.resize(a, 2, "bilinear").type.dtype == "float64"


@pytest.mark.parametrize("options", [{}, {"dilation": 2, "padding": 1}, {"padding": (1, 0), "stride": 2}], ids=str)
def test_patches_are_those_of_torch(options):
    a = drawn(2, 3, 6, 5)
    x = tg.tensor("x", shape=(None,) * 4)
    y = tg.nn.unfold(x, (2, 3), **options)
    back = tg.nn.fold(y, (6, 5), (2, 3), **options)
    found = tg.function([x], [y, back, tg.grad(tg.sum(back**2), x)], backend="perform")(a)
    t = torch.tensor(a, requires_grad=True)
    want = torch.nn.functional.unfold(t, (2, 3), **options)
    again = torch.nn.functional.fold(want, (6, 5), (2, 3), **options)
    (again**2).sum().backward()
    for p, q in zip(found, (want, again, t.grad), strict=True):
        np.testing.assert_allclose(p, q.detach().numpy(), rtol=1e-12, atol=1e-12)


def test_channels_as_pixels_and_back():
    a = drawn(2, 12, 3, 4)
    found = tg.nn.pixel_shuffle(a, 2)
    want = torch.nn.functional.pixel_shuffle(torch.tensor(a), 2).numpy()
    np.testing.assert_array_equal(found.eval({}), want)
    np.testing.assert_array_equal(tg.nn.pixel_unshuffle(found, 2).eval({}), a)


BAD = {
    "resize: method: found 'cubic', needed 'nearest' or": (lambda x: tg.nn.resize(x, 2, "cubic"), InputError),
    "resize: size: found (2, 3, 4), needed a length": (lambda x: tg.nn.resize(x, (2, 3, 4)), InputError),
    "resize: antialias: found True with 'nearest'": (lambda x: tg.nn.resize(x, 2, antialias=True), InputError),
    "fold: rows: found 7, needed a multiple of 4": (lambda x: tg.nn.fold(x[0, 0, :, :4], 3, 2), ShapeError),
    "fold: windows: x has 5 columns, needed 4": (lambda x: tg.nn.fold(x[0, 0, :4], 3, 2), ShapeError),
    "pixel_shuffle: channels: found 3, needed a multiple of 4": (lambda x: tg.nn.pixel_shuffle(x, 2), ShapeError),
}


@pytest.mark.parametrize("text", BAD)
def test_what_does_not_fit_is_told(text):
    build, error = BAD[text]
    with pytest.raises(error) as caught:
        build(tg.tensor("x", shape=(1, 3, 7, 5)))
    assert str(caught.value).startswith(text)
