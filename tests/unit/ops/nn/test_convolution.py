"""Convolutions beside PyTorch's: values and derivatives to second order, batches, run-time lengths, what is refused."""

import itertools

import numpy as np
import pytest

import tg
from tg.errors import InputError, ShapeError
from tg.ops.nn.convolved import Convolution, convolution

torch = pytest.importorskip("torch")
LENGTHS, KERNELS = (6, 5, 4), (3, 2, 2)
WINDOWS = [(1, 0, 1, 1), (2, 1, 1, 2), (1, 2, 2, 1), (3, 1, 2, 2)]


def drawn(*shape):
    return np.random.default_rng(len(shape) + sum(shape)).normal(size=shape)


def unknown(*arrays):
    """Variables of arrays whose lengths are known at run time only."""
    return [tg.tensor(f"v{k}", shape=(None,) * v.ndim) for k, v in enumerate(arrays)]


def near(found, wanted):
    np.testing.assert_allclose(found, wanted.detach().numpy(), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("window", WINDOWS, ids=str)
@pytest.mark.parametrize("axes", [1, 2, 3])
@pytest.mark.parametrize("name", ["conv", "conv_transpose"])
def test_values_and_gradients_are_those_of_torch(name, axes, window):
    stride, padding, dilation, groups = window
    outer = (4 // groups, 6) if name == "conv" else (6 // groups, 4)
    arrays = drawn(2, 4, *LENGTHS[:axes]), drawn(*outer[::-1], *KERNELS[:axes]), drawn(6)
    options = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
    if name == "conv_transpose":
        options["output_padding"] = stride - 1
    variables = unknown(*arrays)
    y = getattr(tg.nn, f"{name}{axes}d")(*variables, **options)
    slopes = tg.grad(tg.sum(y**3), variables)
    second = tg.grad(sum(tg.sum(g * g) for g in slopes), variables)
    found = tg.function(variables, [y, *slopes, *second], backend="perform")(*arrays)
    leaves = [torch.tensor(v, requires_grad=True) for v in arrays]
    want = getattr(torch.nn.functional, f"{name}{axes}d")(*leaves, **options)
    first = torch.autograd.grad((want**3).sum(), leaves, create_graph=True)
    others = torch.autograd.grad(sum((g * g).sum() for g in first), leaves)
    for a, b in zip(found, [want, *first, *others], strict=True):
        np.testing.assert_allclose(a, b.detach().numpy(), rtol=1e-10, atol=1e-8)


def test_the_op_is_its_definition():
    """Each entry is the sum that the docstring says, with spread, dilations below 0 and windows anywhere."""
    x, w = drawn(2, 2, 3, 4), drawn(2, 2, 3, 2)
    for stride, dilation, spread, before, size in itertools.product((1, 3), (1, -2), (1, 2), (-1, 4), (0, 6)):
        op = Convolution((stride,), (dilation,), (spread,), (before,), (size,))
        want = np.zeros((2, 2, 2, size))
        for p, k, q in itertools.product(range(size), range(2), range(4)):
            if q * spread == p * stride + k * dilation - before:
                want[..., p] += np.einsum("goc,ngc->ngo", w[..., k], x[..., q])
        np.testing.assert_allclose(op.perform(x, w)[0], want, rtol=1e-13, atol=1e-13)
        variables = unknown(x, w)
        expanded = op.expansion(*variables)
        np.testing.assert_allclose(
            tg.evaluate(expanded, dict(zip(variables, (x, w), strict=True))), want, rtol=1e-13, atol=1e-13
        )


@pytest.mark.parametrize("batched", [(True, False), (False, True), (True, True)])
def test_batches_are_their_elements(batched):
    x, w = drawn(3, 2, 4, 5), drawn(3, 6, 2, 2)
    given = [v if b else v[0] for v, b in zip((x, w), batched, strict=True)]
    variables = unknown(*given)
    axes = tuple(0 if b else None for b in batched)
    y = tg.vmap(lambda a, b: tg.nn.conv1d(a, b, groups=2, padding=1), axes)(*variables)
    slopes = tg.grad(tg.sum(y**2), variables)
    found = tg.function(variables, [y, *slopes], backend="perform")(*given)
    leaves = [torch.tensor(v, requires_grad=True) for v in given]
    pick = [(lambda v, k: v[k]) if b else (lambda v, k: v) for b in batched]
    want = torch.stack(
        [
            torch.nn.functional.conv1d(*(f(v, k) for f, v in zip(pick, leaves, strict=True)), groups=2, padding=1)
            for k in range(3)
        ]
    )
    (want**2).sum().backward()
    for a, b in zip(found, [want, *(v.grad for v in leaves)], strict=True):
        near(a, b)


def test_modes_agree():
    x, w, dx, dw = drawn(1, 2, 5), drawn(3, 2, 3), drawn(1, 2, 5) + 1, drawn(3, 2, 3) - 1
    variables = unknown(x, w, dx, dw)
    y = tg.nn.conv1d(*variables[:2], stride=2, padding=2, dilation=2)
    forward = tg.jvp(y, variables[:2], variables[2:])
    reverse = tg.grad(tg.sum(y * 2.0), variables[:2])
    total = sum(tg.sum(a * b) for a, b in zip(reverse, variables[2:], strict=True))
    a, b = tg.function(variables, [2.0 * tg.sum(forward), total], backend="perform")(x, w, dx, dw)
    np.testing.assert_allclose(a, b, rtol=1e-13)


def test_one_type_for_all_and_halves_in_single_precision():
    x, w = np.full((1, 1, 4100), 1.0, np.float16), np.ones((1, 1, 4100), np.float16)
    f = tg.function(
        v := [tg.tensor("x", "float16", (None,) * 3), tg.tensor("w", "float16", (None,) * 3)], tg.nn.conv1d(*v)
    )
    assert f(x, w).dtype == np.float16
    assert float(f(x, w)[0, 0, 0]) == 4100.0
    y = tg.nn.conv1d(tg.tensor("x", "int32", (1, 1, 5)), tg.tensor("w", "float32", (1, 1, 2)))
    assert y.type.dtype == "float64"


def test_images_with_channels_behind_and_single_ones():
    x, w = drawn(2, 5, 4, 3), drawn(4, 3, 2, 2)
    a, b = unknown(x, w)
    f = tg.function(
        [a, b], [tg.nn.conv2d(a, b, layout="NHWC"), tg.nn.conv2d(a[0], b, layout="NHWC")], backend="perform"
    )
    want = torch.nn.functional.conv2d(torch.tensor(np.moveaxis(x, -1, 1)), torch.tensor(w)).permute(0, 2, 3, 1)
    many, one = f(x, w)
    near(many, want)
    near(one, want[0])


def test_no_program_more_for_another_padding_of_known_windows():
    """Where windows begin is a number of the op where it is known, and an operand where it is not."""
    x, w = tg.tensor("x", shape=(1, 1, None)), tg.tensor("w", shape=(1, 1, None))
    y = convolution(x[:, None], w[None], (1,), (1,), (1,), [w.shape[2]], [x.shape[2]])
    assert y.apply.op.before == (None,)
    assert y.apply.op.sizes == (None,)
    f = tg.function([x, w], y, backend="perform")
    np.testing.assert_array_equal(f([[[1.0, 2, 3]]], [[[1.0, 10]]]), [[[[0.0, 10, 21]]]])


BAD = {
    "channels: x has 3, the weights take 4": ([(1, 3, 5, 5), (2, 4, 2, 2)], {}),
    "channels: x has 3, the weights take 2 in each of 2 groups": ([(1, 3, 5, 5), (2, 2, 2, 2)], {"groups": 2}),
    "windows: found one of 3 in an image of 2, needed it to fit": ([(1, 3, 5, 2), (2, 3, 2, 3)], {}),
    "ranks: x has 2 axes, needed 4 (NCHW), or 3": ([(3, 5), (2, 3, 2, 3)], {}),
    "ranks: the weights have 3 axes, needed 4": ([(1, 3, 5, 5), (2, 3, 3)], {}),
    "groups: found 2 for weights of 3 outer channels, needed a divisor": ([(1, 4, 5, 5), (3, 2, 2, 2)], {"groups": 2}),
    "bias: found the shape (3,), needed (2,): the channels": ([(1, 3, 5, 5), (2, 3, 2, 2), (3,)], {}),
    "stride: found 0, needed an integer of at least 1": ([(1, 3, 5, 5), (2, 3, 2, 2)], {"stride": 0}),
    "padding: found -1, needed numbers of at least 0": ([(1, 3, 5, 5), (2, 3, 2, 2)], {"padding": -1}),
    "layout: found 'NWC', needed 'NCHW' or 'NHWC'": ([(1, 3, 5, 5), (2, 3, 2, 2)], {"layout": "NWC"}),
    'padding: found "same" with the stride 2': ([(1, 3, 5, 5), (2, 3, 2, 2)], {"stride": 2, "padding": "same"}),
}


@pytest.mark.parametrize("text", BAD)
def test_what_does_not_fit_is_told_where_it_is_written(text):
    shapes, options = BAD[text]
    variables = [tg.tensor(f"v{k}", shape=shape) for k, shape in enumerate(shapes)]
    with pytest.raises((ShapeError, InputError)) as caught:
        tg.nn.conv2d(*variables, **options)
    assert str(caught.value).startswith(f"conv2d: {text}")


@pytest.mark.parametrize("text", ["channels: x has 3, the weights take 4", "windows: found one that is larger than"])
def test_what_does_not_fit_at_run_time_is_told_when_it_runs(text):
    shapes, _ = BAD.get(text, ([(1, 3, 5, 2), (2, 3, 2, 3)], {}))
    arrays = [np.zeros(shape) for shape in shapes]
    variables = unknown(*arrays)
    f = tg.function(variables, tg.nn.conv2d(*variables), backend="perform")
    with pytest.raises(ShapeError, match=f"conv2d: {text}"):
        f(*arrays)


def test_channels_behind_are_told():
    images, weights = tg.tensor(shape=(1, 32, 32, 3)), tg.tensor(shape=(8, 3, 3, 3))
    with pytest.raises(ShapeError, match="channels are the second axis: layout= says where else they are"):
        tg.nn.conv2d(images, weights)
