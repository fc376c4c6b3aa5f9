"""Rows of networks: inference, training steps, decoding, ResNet-18's convolutions, and a product, with their arrays."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

sys.path.append(str(Path(__file__).resolve().parent.parent / "examples"))
from networks import gpt, resnet, vit

if TYPE_CHECKING:
    from collections.abc import Callable

    Arrays = dict[str, np.ndarray[Any, Any]]

DECODED = gpt.Kind(tokens=8192, positions=256, layers=6, heads=12, width=768)


class Network(NamedTuple):
    """A network: its kind, that of images of a side, and its weights."""

    kind: Any
    weights: Callable[[int], Arrays]  # of a side of images


NETWORKS = {
    "ResNet-18": Network(resnet.KINDS[18], lambda pixels: resnet.random_weights(resnet.KINDS[18])),
    "ResNet-50": Network(resnet.KINDS[50], lambda pixels: resnet.random_weights(resnet.KINDS[50])),
    "ViT-B/16": Network(vit.B16, lambda pixels: vit.random_weights(vit.B16._replace(pixels=pixels))),
}


class Row(NamedTuple):
    """A measurement; rows of one `task` and network are answered by one process of an engine."""

    task: str  # inference, training, decoding, convolution, product
    network: str
    batch: int = 1
    pixels: int = 224
    shape: tuple[int, ...] = ()  # of a convolution: channels in and out, window, stride, side
    part: str = ""  # of a convolution: forward, input or weight

    @property
    def group(self) -> str:
        """The rows for which a process begins once."""
        return self.network if self.task == "convolution" else f"{self.network} {self.task}"

    def images(self) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        """Images and labels."""
        draw = np.random.default_rng(1)
        x = draw.normal(size=(self.batch, 3, self.pixels, self.pixels)).astype(np.float32)
        return x, draw.integers(0, 1000, self.batch)

    def convolved(self) -> tuple[np.ndarray[Any, Any], ...]:
        """Images, weights and cotangents of a convolution."""
        (inner, outer, window, stride, side), draw = self.shape, np.random.default_rng(1)
        after = (side + 2 * (window // 2) - window) // stride + 1
        shapes = (self.batch, inner, side, side), (outer, inner, window, window), (self.batch, outer, after, after)
        return tuple(draw.normal(size=shape).astype(np.float32) for shape in shapes)

    def product(self) -> tuple[int, int, int]:
        """The lengths m, k and n of the product of matrices that a convolution of columns is."""
        (inner, outer, window, _, _), (_, _, after) = self.shape, self.convolved()
        return outer, inner * window**2, after[:, 0].size


SQUARE = 1024  # the side of matrices whose product says how fast products are
SHAPES = (
    (3, 64, 7, 2, 224),
    (64, 64, 3, 1, 56),
    (64, 128, 3, 2, 56),
    (64, 128, 1, 2, 56),
    (128, 128, 3, 1, 28),
    (128, 256, 3, 2, 28),
    (128, 256, 1, 2, 28),
    (256, 256, 3, 1, 14),
    (256, 512, 3, 2, 14),
    (256, 512, 1, 2, 14),
    (512, 512, 3, 1, 7),
)
PARTS = ("forward", "input", "weight")
TRAINED = {"ResNet-18": 8, "ResNet-50": 2, "ViT-B/16": 2}  # batches of 64 by 64 pixels


def _rows() -> dict[str, Row]:
    rows = {f"{name}, batch {n}": Row("inference", name, n) for name in NETWORKS for n in (1, 8)}
    rows |= {f"{name} training": Row("training", name, n, 64) for name, n in TRAINED.items()}
    rows["GPT decoding"] = Row("decoding", "GPT")
    rows["product of matrices"] = Row("product", "product")
    for shape in SHAPES:
        inner, outer, window, stride, side = shape
        name = f"conv {inner} to {outer}, {window}x{window}, stride {stride}, {side}x{side}"
        rows |= {f"{name}, {part}": Row("convolution", "conv", shape=shape, part=part) for part in PARTS}
    return rows


ROWS = _rows()
