"""ResNets beside PyTorch's functions, called in the order of torchvision's modules: logits, loss and gradients."""

import numpy as np
import pytest
from networks import resnet

import tg

torch = pytest.importorskip("torch")
F = torch.nn.functional
NETWORKS, COMPILED = ((18, 32), (50, 64)), ("c", "numba", "jax", "torch", "mlx")
SLOW = [(50, 64, "perform"), *((*network, name) for network in NETWORKS for name in COMPILED)]


def by_torch(x, p, is_bottleneck, training):
    """The network of torchvision, its blocks found by the names of their parameters."""

    def norm(y, name):
        return F.batch_norm(
            y, p[f"{name}.running_mean"].clone(), p[f"{name}.running_var"].clone(), p[f"{name}.weight"],
            p[f"{name}.bias"], training,
        )  # fmt: skip

    x = F.max_pool2d(F.relu(norm(F.conv2d(x, p["conv1.weight"], None, 2, 3), "bn1")), 3, 2, 1)
    for stage in range(1, 5):
        k = 0
        while f"layer{stage}.{k}.conv1.weight" in p:
            name, steps = f"layer{stage}.{k}", 2 if stage > 1 and k == 0 else 1
            first = [1, steps, 1] if is_bottleneck else [steps, 1]
            y = x
            for j, stride in enumerate(first, 1):
                w = p[f"{name}.conv{j}.weight"]
                y = norm(F.conv2d(y, w, None, stride, w.shape[-1] // 2), f"{name}.bn{j}")
                y = F.relu(y) if j < len(first) else y
            if f"{name}.downsample.0.weight" in p:
                x = norm(F.conv2d(x, p[f"{name}.downsample.0.weight"], None, steps), f"{name}.downsample.1")
            x, k = F.relu(x + y), k + 1
    return F.linear(x.mean((2, 3)), p["fc.weight"], p["fc.bias"])


@pytest.mark.parametrize(
    ("layers", "pixels", "backend"),
    [(18, 32, "perform"), *(pytest.param(*one, marks=pytest.mark.long) for one in SLOW)],
)
def test_networks_are_those_of_torch(layers, pixels, backend):
    kind, draw = resnet.KINDS[layers], np.random.default_rng(2)
    weights = resnet.random_weights(kind, 10, "float64")
    weights = {name: w + 0.1 * abs(draw.normal(size=w.shape)) * (w.ndim == 1) for name, w in weights.items()}
    x, labels = draw.normal(size=(2, 3, pixels, pixels)), np.array([3, 7])
    images = tg.tensor("images", shape=(None, 3, None, None))
    p = {name: tg.tensor(name, shape=w.shape) for name, w in weights.items()}
    learnt = {name: v for name, v in p.items() if "running" not in name}
    loss = tg.nn.cross_entropy(resnet.resnet(images, p, kind, training=True), labels)
    outputs = [resnet.resnet(images, p, kind), loss, tg.grad(loss, learnt)]
    logits, cost, slopes = tg.function([images, p], outputs, backend=backend)(x, weights)
    t = {name: torch.tensor(w, requires_grad="running" not in name) for name, w in weights.items()}
    want = by_torch(torch.tensor(x), t, kind.is_bottleneck, training=False)
    np.testing.assert_allclose(logits, want.detach().numpy(), rtol=1e-10, atol=1e-10)
    total = F.cross_entropy(by_torch(torch.tensor(x), t, kind.is_bottleneck, training=True), torch.tensor(labels))
    total.backward()
    np.testing.assert_allclose(cost, total.item(), rtol=1e-10)
    for name, slope in slopes.items():
        other = t[name].grad.numpy()
        np.testing.assert_allclose(slope, other, rtol=0, atol=1e-9 * abs(other).max(), err_msg=name)


@pytest.mark.long
@pytest.mark.parametrize("backend", ["c", "numba"])
@pytest.mark.parametrize(("layers", "constant"), [(18, False), (18, True), (50, False)])
def test_compiled_networks_are_those_of_torch(layers, constant, backend):
    kind, draw = resnet.KINDS[layers], np.random.default_rng(2)
    weights = resnet.random_weights(kind, 10, "float64")
    weights = {name: w + 0.1 * abs(draw.normal(size=w.shape)) * (w.ndim == 1) for name, w in weights.items()}
    x = draw.normal(size=(2, 3, 64, 64))
    images = tg.tensor("images", shape=(None, 3, None, None))
    p = {name: tg.constant(w) if constant else tg.tensor(name, shape=w.shape) for name, w in weights.items()}
    f = tg.function([images] if constant else [images, p], resnet.resnet(images, p, kind), backend=backend)
    want = by_torch(torch.tensor(x), {n: torch.tensor(w) for n, w in weights.items()}, kind.is_bottleneck, False)
    found = f(x) if constant else f(x, weights)
    np.testing.assert_allclose(found, want.numpy(), rtol=1e-9, atol=1e-9 * abs(want.numpy()).max())
    steps = [node.op.name for node in f.graph.nodes]
    assert steps.count("WithEpilogue") + steps.count("Convolution") == {18: 20, 50: 53}[layers]
    # what another convolution adds up, and the last one, of which means are taken
    assert steps.count("Convolution") == {18: 3, 50: 4}[layers] + 1
