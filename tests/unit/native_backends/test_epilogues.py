"""Convolutions that run loops over their results: beside the reference, of whole numbers; beside PyTorch; as source."""

import re

import numpy as np
import pytest

import tg
from tests.unit.native_backends.test_convolutions import Drawn, agree, numbers
from tg.types.tensor_type import TensorType
from tg_native.convolutions.windows import IMAGES
from tg_native.fusion.epilogue import WithEpilogue


class DrawnEpilogue(Drawn):
    """A drawn convolution, times one drawn array plus another, at least a third: each repeated along drawn axes."""

    def __init__(self, rng, dtype, *, known):
        super().__init__(rng, dtype, known=known)
        self.count = len(self.values)
        (y,) = self.op.perform(*self.values)
        shapes = [[n if rng.random() < 0.4 else 1 for n in y.shape] for _ in range(3)]
        shapes[int(rng.integers(3))] = y.shape
        self.values += [numbers(rng, shape, dtype) for shape in shapes]
        types = [TensorType(dtype, v.shape if known else [n if n == 1 else None for n in v.shape]) for v in self.values]
        self.inputs += [tg.Variable(t) for t in types[self.count :]]
        self.is_several, self.is_moved = rng.random(2) < 0.3

    def written(self, module, y, scale, shift, least):
        z = y * scale + shift
        found = [module.maximum(z, least)]
        found += [z, z > least] if self.is_several else []
        return [module.transpose(v, self.order) for v in found] if self.is_moved else found

    def outputs(self):
        return self.written(tg, self.op(*self.inputs[: self.count]), *self.inputs[self.count :])

    def wanted(self):
        (y,) = self.op.perform(*self.values[: self.count])
        return self.written(np, y, *self.values[self.count :])


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.sampled(16)
def test_drawn_epilogues_are_those_of_the_reference(backend, dtype, seed, known):
    rng = np.random.default_rng([seed, known, dtype == "float32"])
    agree([DrawnEpilogue(rng, dtype, known=known) for _ in range(4)], backend)


@pytest.mark.parametrize("dtype", ["float16", "complex64", "int64"])
def test_other_dtypes_are_computed_apart(backend, dtype):
    rng = np.random.default_rng(3)
    x, w, b = (numbers(rng, shape, dtype) for shape in ((2, 3, 6, 7), (9, 3, 3, 3), (9,)))
    inputs = [tg.tensor(n, dtype=dtype, shape=v.shape) for n, v in (("x", x), ("w", w), ("b", b))]
    y = tg.nn.conv2d(*inputs) * 2 + 1
    found, wanted = (tg.function(inputs, y, backend=one)(x, w, b) for one in (backend, "perform"))
    assert np.array_equal(found, wanted)


def test_images_whose_channels_do_not_fit_at_once(backend):
    rng, side = np.random.default_rng(1), 120
    x, w, r = (numbers(rng, s, "float64") for s in ((2, 12, side, side), (5, 12, 3, 3), (2, 5, side, side)))
    assert 8 * x[0].size > IMAGES
    inputs = [tg.tensor(n, shape=v.shape) for n, v in (("x", x), ("w", w), ("r", r))]
    y = tg.relu(tg.nn.conv2d(*inputs[:2], padding=1) + inputs[2])
    found, wanted = (tg.function(inputs, y, backend=one)(x, w, r) for one in (backend, "perform"))
    assert np.array_equal(found, wanted)


GELU = tg.nn.gelu
CASES = {
    "windows": ((2, 5, 9, 11), (70, 5, 3, 3), {"padding": 1}),
    "strides": ((3, 5, 9, 11), (7, 5, 3, 3), {"stride": 2}),
    "groups": ((2, 6, 9, 11), (16, 3, 3, 3), {"groups": 2}),
    "a group for each channel": ((2, 6, 20, 33), (6, 1, 3, 3), {"groups": 6, "stride": 2, "padding": 1}),
    "pixels": ((2, 17, 30, 33), (300, 17, 1, 1), {}),
    "pixels of groups": ((2, 4, 5, 5), (6, 2, 1, 1), {"groups": 2}),
    "one pixel": ((3, 40, 1, 1), (50, 40, 1, 1), {}),
}


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("case", CASES)
def test_a_block_is_that_of_torch(backend, case, known):
    torch = pytest.importorskip("torch")
    F = torch.nn.functional
    shape, kernel, options = CASES[case]
    draw = np.random.default_rng(2)
    a, w, b = (draw.normal(size=s) for s in (shape, kernel, kernel[:1]))
    y = F.conv2d(*map(torch.tensor, (a, w, b)), **options)
    r = draw.normal(size=y.shape)
    want = F.gelu(F.relu(y + torch.tensor(r))).numpy()
    types = [v.shape if known or v.ndim < 4 else (None, v.shape[1], None, None) for v in (a, w, b, r)]
    types[1] = w.shape
    inputs = [tg.tensor(n, shape=s) for n, s in zip("xwbr", types, strict=True)]
    f = tg.function(inputs, GELU(tg.relu(tg.nn.conv2d(*inputs[:3], **options) + inputs[3])), backend=backend)
    assert {type(node.op) for node in f.graph.nodes if node.op.name in ("Convolution", "Loop")} == set()
    assert [type(node.op) for node in f.graph.nodes].count(WithEpilogue) == 1
    np.testing.assert_allclose(f(a, w, b, r), want, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("window", [1, 3])
def test_a_residual_block_passes_over_no_image_but_in_its_convolutions(window):
    """In C: two functions with the rectifier, one for each convolution, which runs it on what it has just made."""
    pytest.importorskip("tg_c")
    names = {"x": (1, 64, 14, 14), "w": (64, 64, window, window), "u": (64, 64, window, window)}
    shapes = {**names, **dict.fromkeys("msgb", (64,))}
    p = {name: tg.tensor(name, "float32", shape) for name, shape in shapes.items()}

    def block(x, w):
        return tg.nn.batch_norm(tg.nn.conv2d(x, w, padding=window // 2), p["m"], p["s"], p["g"], p["b"])

    y = tg.relu(block(tg.relu(block(p["x"], p["w"])), p["u"]) + p["x"])
    f = tg.function([*p.values()], y, backend="c")
    sizes = [(node.op.name, np.prod(f.graph.types[node.outputs[0]].shape)) for node in f.graph.nodes]
    images = [name for name, size in sizes if size == 64 * 14 * 14 and name not in ("ExpandDims", "Squeeze")]
    assert images == ["WithEpilogue", "WithEpilogue"]
    functions = re.split(r"\n(?=static |TG_LOOP |TG_PART )", f.source(full=True))
    rectified = [text for text in functions if re.search(r"<= 0\.0f", text)]
    assert len(rectified) == 2
    assert all(re.search(r"void tg_epilogue_|gemm", text) for text in rectified)
