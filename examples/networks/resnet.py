"""ResNet-18 and ResNet-50, with the parameters of torchvision's under their names.

`python examples/networks/resnet.py c 18` classifies a batch of noise by random weights; a `state_dict` of torchvision's
models, as NumPy arrays, is taken as it is.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import tg

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping


class Kind(NamedTuple):
    """How many blocks each of the four stages has, and whether they are bottlenecks."""

    blocks: tuple[int, int, int, int]
    is_bottleneck: bool


KINDS = {18: Kind((2, 2, 2, 2), is_bottleneck=False), 50: Kind((3, 4, 6, 3), is_bottleneck=True)}
WIDTHS = (64, 128, 256, 512)


def blocks(kind: Kind) -> Iterator[tuple[str, int, int, int]]:
    """The name, channels in, width and stride of each block."""
    channels = 64
    for stage, (count, width) in enumerate(zip(kind.blocks, WIDTHS, strict=True)):
        for k in range(count):
            yield f"layer{stage + 1}.{k}", channels, width, 2 if stage and not k else 1
            channels = width * (4 if kind.is_bottleneck else 1)


def convolutions(kind: Kind, channels: int, width: int) -> list[tuple[int, int, int]]:
    """Channels in and out and window of the convolutions of a block."""
    if kind.is_bottleneck:
        return [(channels, width, 1), (width, width, 3), (width, 4 * width, 1)]
    return [(channels, width, 3), (width, width, 3)]


def shapes(kind: Kind, classes: int = 1000) -> dict[str, tuple[int, ...]]:
    """The shapes of all parameters, running means and variances of batch norms among them."""
    found: dict[str, tuple[int, ...]] = {}

    def add(conv: str, norm: str, inner: int, outer: int, window: int) -> None:
        found[f"{conv}.weight"] = (outer, inner, window, window)
        found.update({f"{norm}.{name}": (outer,) for name in ("weight", "bias", "running_mean", "running_var")})

    add("conv1", "bn1", 3, 64, 7)
    outer = 64
    for name, channels, width, stride in blocks(kind):
        parts = convolutions(kind, channels, width)
        for k, (inner, outer, window) in enumerate(parts, 1):
            add(f"{name}.conv{k}", f"{name}.bn{k}", inner, outer, window)
        if stride > 1 or channels != outer:
            add(f"{name}.downsample.0", f"{name}.downsample.1", channels, outer, 1)
    return {**found, "fc.weight": (classes, outer), "fc.bias": (classes,)}


def resnet(images: Any, p: Mapping[str, Any], kind: Kind, *, training: bool = False) -> tg.Variable:
    """The logits of images (n, 3, h, w); while training, batch norms go by the batch."""

    def norm(x: Any, name: str) -> Any:
        scale, shift = p[f"{name}.weight"], p[f"{name}.bias"]
        if training:
            return tg.nn.batch_norm_training(x, scale, shift)[0]
        return tg.nn.batch_norm(x, p[f"{name}.running_mean"], p[f"{name}.running_var"], scale, shift)

    def block(x: Any, name: str, stride: int) -> Any:
        count = 3 if kind.is_bottleneck else 2
        y = x
        for k in range(1, count + 1):
            w = p[f"{name}.conv{k}.weight"]
            steps = stride if k == count - 1 else 1  # torchvision's ResNet-50 strides in its middle convolution
            y = norm(tg.nn.conv2d(y, w, stride=steps, padding=w.type.shape[-1] // 2), f"{name}.bn{k}")
            y = tg.relu(y) if k < count else y
        if f"{name}.downsample.0.weight" in p:
            x = norm(tg.nn.conv2d(x, p[f"{name}.downsample.0.weight"], stride=stride), f"{name}.downsample.1")
        return tg.relu(x + y)

    x = tg.relu(norm(tg.nn.conv2d(images, p["conv1.weight"], stride=2, padding=3), "bn1"))
    x = tg.nn.max_pool2d(x, 3, stride=2, padding=1)
    for name, _, _, stride in blocks(kind):
        x = block(x, name, stride)
    return tg.mean(x, (2, 3)) @ p["fc.weight"].T + p["fc.bias"]


def random_weights(kind: Kind, classes: int = 1000, dtype: str = "float32") -> dict[str, np.ndarray[Any, Any]]:
    """Weights of He's scale, and batch norms that change nothing."""
    draw = np.random.default_rng(0)
    found = {}
    for name, shape in shapes(kind, classes).items():
        scale = np.sqrt(2 / np.prod(shape[1:])) if len(shape) > 1 else 0.0
        one = name.endswith("running_var") or (len(shape) == 1 and name.endswith("weight"))
        found[name] = (draw.normal(size=shape) * scale + one).astype(dtype)
    return found


def classifier(backend: str, kind: Kind, dtype: str = "float32") -> Callable[..., Any]:
    """A compiled network of a batch of images and all parameters."""
    images = tg.tensor("images", dtype, (None, 3, None, None))
    p = {name: tg.tensor(name, dtype, shape) for name, shape in shapes(kind).items()}
    return tg.function([images, p], resnet(images, p, kind), backend=backend)


def main(backend: str = "c", layers: str = "18") -> None:
    kind = KINDS[int(layers)]
    classify, weights = classifier(backend, kind), random_weights(kind)
    images = np.random.default_rng(1).normal(size=(1, 3, 224, 224)).astype(np.float32)
    print(f"ResNet-{layers} on {backend}: logits {classify(images, weights)[0, :3]}")


if __name__ == "__main__":
    main(*sys.argv[1:3])
