"""Work of rows of networks: the operations of their expressions, as `tg.nn.summary` counts them."""

from __future__ import annotations

import functools
import math
from typing import Any

from network_rows import NETWORKS, ROWS, SQUARE, Row, resnet, vit

import tg
from tg.nn import work


@functools.cache
def operations(name: str) -> int:
    """Of a row; 0 for what is not counted."""
    row = ROWS[name]
    if row.task == "product":
        return 2 * SQUARE**3
    if row.task == "convolution":
        return 2 * math.prod(row.product())
    if row.task not in ("inference", "training"):
        return 0
    return work.operations(_outputs(row)) or 0


def _outputs(row: Row) -> list[Any]:
    kind, x = NETWORKS[row.network].kind, row.images()[0]
    p = {name: tg.tensor(name, w.dtype, w.shape) for name, w in NETWORKS[row.network].weights(row.pixels).items()}
    images, training = tg.tensor("images", "float32", x.shape), row.task == "training"
    if row.network.startswith("ViT"):
        logits = vit.vit(images, p, kind._replace(pixels=row.pixels))
    else:
        logits = resnet.resnet(images, p, kind, training=training)
    if not training:
        return [logits]
    loss = tg.nn.cross_entropy(logits, tg.vector("labels", "int64", row.batch))
    return [loss, *tg.grad(loss, [v for name, v in p.items() if "running" not in name])]
