"""Vision transformers, ViT-B/16 among them, with the parameters of torchvision's under their names.

`python examples/networks/vit.py c` classifies a batch of noise by random weights; a `state_dict` of torchvision's
`vit_b_16`, as NumPy arrays, is taken as it is.
"""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import tg

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


class Kind(NamedTuple):
    """Side of the images and of a patch, number of layers and heads, length of a token and of the inner layer."""

    pixels: int
    patch: int
    layers: int
    heads: int
    width: int
    inner: int


B16 = Kind(pixels=224, patch=16, layers=12, heads=12, width=768, inner=3072)


def shapes(kind: Kind, classes: int = 1000) -> dict[str, tuple[int, ...]]:
    """The shapes of all parameters."""
    d, tokens = kind.width, (kind.pixels // kind.patch) ** 2 + 1
    result: dict[str, tuple[int, ...]] = {"class_token": (1, 1, d), "encoder.pos_embedding": (1, tokens, d)}
    result |= {"conv_proj.weight": (d, 3, kind.patch, kind.patch), "conv_proj.bias": (d,)}
    for k in range(kind.layers):
        name = f"encoder.layers.encoder_layer_{k}"
        result |= {f"{name}.self_attention.in_proj_weight": (3 * d, d), f"{name}.self_attention.in_proj_bias": (3 * d,)}
        for part, outer, inner in (
            ("self_attention.out_proj", d, d),
            ("mlp.0", kind.inner, d),
            ("mlp.3", d, kind.inner),
        ):
            result |= {f"{name}.{part}.weight": (outer, inner), f"{name}.{part}.bias": (outer,)}
        for part in ("ln_1", "ln_2"):
            result |= {f"{name}.{part}.weight": (d,), f"{name}.{part}.bias": (d,)}
    result |= {"encoder.ln.weight": (d,), "encoder.ln.bias": (d,)}
    return result | {"heads.head.weight": (classes, d), "heads.head.bias": (classes,)}


def vit(images: Any, p: Mapping[str, Any], kind: Kind) -> tg.Variable:
    """The logits of images (n, 3, pixels, pixels)."""
    n, d = images.shape[0], kind.width

    def linear(x: Any, name: str) -> Any:
        return x @ p[f"{name}.weight"].T + p[f"{name}.bias"]

    def norm(x: Any, name: str) -> Any:
        return tg.nn.layer_norm(x, p[f"{name}.weight"], p[f"{name}.bias"], eps=1e-6)

    def attention(x: Any, name: str) -> Any:
        qkv = x @ p[f"{name}.in_proj_weight"].T + p[f"{name}.in_proj_bias"]
        qkv = tg.transpose(qkv.reshape((n, tokens, 3, kind.heads, d // kind.heads)), (2, 0, 3, 1, 4))
        y = tg.nn.scaled_dot_product_attention(qkv[0], qkv[1], qkv[2])
        return linear(tg.swapaxes(y, 1, 2).reshape((n, tokens, d)), f"{name}.out_proj")

    x = tg.nn.conv2d(images, p["conv_proj.weight"], p["conv_proj.bias"], stride=kind.patch)
    x = tg.swapaxes(x.reshape((n, d, (kind.pixels // kind.patch) ** 2)), 1, 2)
    x = tg.concatenate([tg.broadcast_to(p["class_token"], (n, 1, d)), x], axis=1) + p["encoder.pos_embedding"]
    tokens = x.shape[1]
    for k in range(kind.layers):
        name = f"encoder.layers.encoder_layer_{k}"
        x = x + attention(norm(x, f"{name}.ln_1"), f"{name}.self_attention")
        x = x + linear(tg.nn.gelu(linear(norm(x, f"{name}.ln_2"), f"{name}.mlp.0")), f"{name}.mlp.3")
    return linear(norm(x[:, 0], "encoder.ln"), "heads.head")


def random_weights(kind: Kind, classes: int = 1000, dtype: str = "float32") -> dict[str, np.ndarray[Any, Any]]:
    """Weights that leave the scale of a token as it is, small biases, and layer norms that change nothing."""
    draw, result = np.random.default_rng(0), {}
    for name, shape in shapes(kind, classes).items():
        scale = 1 / np.sqrt(np.prod(shape[1:])) if name.endswith("weight") and len(shape) > 1 else 0.02
        one = len(shape) == 1 and name.endswith("weight")
        result[name] = (draw.normal(size=shape) * scale * (not one) + one).astype(dtype)
    return result


def classifier(backend: str, kind: Kind, dtype: str = "float32") -> Callable[..., Any]:
    """A compiled network of a batch of images and all parameters."""
    images = tg.tensor("images", dtype, (None, 3, kind.pixels, kind.pixels))
    p = {name: tg.tensor(name, dtype, shape) for name, shape in shapes(kind).items()}
    return tg.function([images, p], vit(images, p, kind), backend=backend)


def main(backend: str = "c") -> None:
    classify, weights = classifier(backend, B16), random_weights(B16)
    images = np.random.default_rng(1).normal(size=(1, 3, B16.pixels, B16.pixels)).astype(np.float32)
    logits = classify(images, weights)
    start = time.perf_counter()
    classify(images, weights)
    print(f"ViT-B/16 on {backend}: {1e3 * (time.perf_counter() - start):.0f} ms, logits {logits[0, :3]}")


if __name__ == "__main__":
    main(*sys.argv[1:2])
