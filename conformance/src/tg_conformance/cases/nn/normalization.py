"""Cases of `ops/nn/normalization`: over axes, channels and groups, both layouts, halves, what is refused."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

import tg
from tg.errors import ShapeError
from tg.ops.nn.normalization import FAMILY
from tg.plugin.case import Case, any_dtype, f64
from tg_conformance.cases.family import HALVES, hundreds, of_family, rounded_once
from tg_conformance.cases.reduction import FLOATING

FACTS: Final[dict[str, Any]] = {"gradient": True, "layouts": ("C", "transposed"), "accuracy": 32}


def standard(x: Any, axes: Any, eps: float = 1e-5) -> Any:
    """x with mean 0 and variance 1 over axes."""
    apart = x - np.mean(x, axes, keepdims=True)
    return apart / np.sqrt(np.mean(apart * apart, axes, keepdims=True) + eps)


def grouped(x: Any, groups: int) -> Any:
    """`group_norm` of channels along axis 1."""
    return standard(x.reshape(len(x), groups, -1), -1).reshape(x.shape)


def size(x: Any, *parameters: Any) -> Any:
    """The size of what is added up: deviations, the mean that is taken off, a shift."""
    return 16 * (1 + np.max(np.abs(x), initial=0)) * (1 + sum(np.max(np.abs(p), initial=0) for p in parameters))


def of_cotangent(x: Any, w: Any, dy: Any, over: tuple[int, ...], eps: float = 1e-5) -> tuple[Any, ...]:
    """The cotangents of x, the weight and the bias for that of their batch norm, by the derivative of each step."""
    left = [1 if k in over else n for k, n in enumerate(x.shape)]
    apart = x - np.mean(x, over, keepdims=True)
    root = np.sqrt(np.mean(apart * apart, over, keepdims=True) + eps)
    slopes = dy * w.reshape(left)
    of_root = -np.sum(slopes * apart, over, keepdims=True) / root**2
    of_apart = slopes / root + of_root / root * apart / (x.size // len(w))
    of_x = of_apart - np.mean(of_apart, over, keepdims=True)
    return of_x, np.sum(dy * apart / root, over), np.sum(dy, over)


def _pulled(x: Any, w: Any, dy: Any, axis: int) -> Any:
    """The cotangents of x, the weight and the bias, for that of the values."""
    b = tg.zeros_like(w)
    return tg.grad(tg.sum(tg.nn.batch_norm_training(x, w, b, axis=axis)[0] * dy), [x, w, b])


def _sums(x: Any, w: Any, dy: Any) -> tuple[Any, ...]:
    """The sizes of what is added up for the cotangents."""
    whole = size(x, w) * size(dy) * 4
    return np.full(x.shape, whole), np.full(len(w), whole * x.size), np.full(len(w), size(dy) * x.size)


def with_size(name: str, subject: Any, oracle: Any, *inputs: Any, **facts: Any) -> Case:
    """A case of one result whose rounding is relative to `size`."""
    defaults = {"condition": lambda *arrays: np.broadcast_to(size(*arrays), np.shape(oracle(*arrays)))}
    return Case(subject, list(inputs), name=name, oracle=oracle, **{**FACTS, **defaults, **facts})


CASES: Final = of_family(
    FAMILY.path,
    with_size(
        "layer_norm",
        tg.nn.layer_norm,
        lambda x, w, b: standard(x, -1) * w + b,
        any_dtype("n", "k", "m"),
        any_dtype("m"),
        any_dtype("m"),
        dtypes=FLOATING,
    ),
    with_size(
        "layer_norm over two axes",
        lambda x, w: tg.nn.layer_norm(x, w, eps=0.5),
        lambda x, w: standard(x, (-2, -1), 0.5) * w,
        f64("n", 3, "m"),
        f64(3, "m"),
    ),
    with_size(
        "layer_norm over the first axis",
        lambda x, w: tg.nn.layer_norm(x, w, axes=0),
        lambda x, w: standard(x, 0) * w[:, None],
        f64("n", 3),
        f64("n"),
    ),
    with_size(
        "rms_norm",
        lambda x, w: tg.nn.rms_norm(x, w, eps=1e-6),
        lambda x, w: x / np.sqrt(np.mean(x * x, -1, keepdims=True) + 1e-6) * w,
        any_dtype("n", "m"),
        any_dtype("m"),
        dtypes=FLOATING,
    ),
    with_size(
        "batch_norm",
        tg.nn.batch_norm,
        lambda x, m, v, w: (x - m[:, None]) / np.sqrt(v[:, None] + 1e-5) * w[:, None],
        f64("n", "m", "k"),
        f64("m"),
        f64("m", low=0.5),
        f64("m"),
    ),
    Case(
        lambda x, w: tg.nn.batch_norm_training(x, w, axis=-1),
        [f64(4, 5, "m"), f64("m")],
        name="batch_norm_training",
        oracle=lambda x, w: (standard(x, (0, 1)) * w, np.mean(x, (0, 1)), np.var(x, (0, 1), ddof=1)),
        condition=lambda x, w: (
            np.full(x.shape, size(x, w)),
            np.full(len(w), size(x)),
            np.full(len(w), size(x) ** 2),
        ),
        **FACTS,
    ),
    Case(
        lambda x, w, dy: _pulled(x, w, dy, 1),
        [any_dtype(4, "m", 5), any_dtype("m"), any_dtype(4, "m", 5)],
        name="gradient of batch_norm_training",
        dtypes=("float32", "float64"),
        layouts=("C", "transposed"),
        oracle=lambda x, w, dy: of_cotangent(x, w, dy, (0, 2)),
        condition=_sums,
    ),
    Case(
        lambda x, w, dy: _pulled(x, w, dy, -1),
        [f64("n", 3, 4), f64(4), f64("n", 3, 4)],
        name="gradient of batch_norm_training of channels along the last axis",
        layouts=("C",),
        oracle=lambda x, w, dy: of_cotangent(x, w, dy, (0, 1)),
        condition=_sums,
    ),
    Case(
        tg.vmap(lambda v: tg.grad(tg.sum(tg.nn.batch_norm_training(v)[0] ** 3), v)),
        [f64(3, 4, 5)],
        name="gradient of batch_norm_training in a batch",
        layouts=("C",),
        oracle=lambda x: np.stack([of_cotangent(v, np.ones(5), 3 * standard(v, 0) ** 2, (0,))[0] for v in x]),
        condition=lambda x: np.full(x.shape, 64 * size(x) ** 2),
    ),
    with_size(
        "group_norm",
        lambda x, w, b: tg.nn.group_norm(x, 2, w, b),
        lambda x, w, b: grouped(x, 2) * w[:, None, None] + b[:, None, None],
        f64("n", 6, "k", 3),
        f64(6),
        f64(6),
    ),
    with_size(
        "group_norm of channels along the last axis",
        lambda x, w: tg.nn.group_norm(x, 3, w, layout="NHWC"),
        lambda x, w: np.moveaxis(grouped(np.moveaxis(x, -1, 1), 3), 1, -1) * w,
        f64("n", 2, "k", 6),
        f64(6),
    ),
    with_size(
        "instance_norm",
        tg.nn.instance_norm,
        lambda x, w, b: standard(x, (2, 3)) * w[:, None, None] + b[:, None, None],
        f64("n", 3, "k", 4),
        f64(3),
        f64(3),
    ),
    with_size(
        "instance_norm of channels along the last axis",
        lambda x: tg.nn.instance_norm(x, layout="NWC"),
        lambda x: standard(x, 1),
        f64("n", 5, "k"),
    ),
    with_size("normalize", tg.nn.normalize, lambda x: x / np.linalg.norm(x, axis=1, keepdims=True), f64("n", 4)),
    Case(
        lambda x: (tg.nn.layer_norm(x), tg.nn.rms_norm(x), tg.nn.batch_norm_training(x)[0], tg.nn.normalize(x)),
        [any_dtype(5, 300, values=hundreds)],
        name="halves, whose sums and squares leave their range",
        dtypes=HALVES,
        layouts=("C",),
        static=(False,),
        accuracy=1,
        oracle=rounded_once(
            lambda x: (
                standard(x, 1),
                x / np.sqrt(np.mean(x * x, 1, keepdims=True)),
                standard(x, 0),
                x / np.linalg.norm(x, axis=1, keepdims=True),
            )
        ),
        condition=lambda x: (np.ones(x.shape),) * 4,
    ),
    Case(tg.nn.layer_norm, [f64("n", 3), f64(2)], name="layer_norm with another weight", raises=ShapeError),
    Case(lambda x: tg.nn.group_norm(x, 2), [f64("n", 3, "k")], name="group_norm of 3 channels", raises=ShapeError),
    Case(tg.nn.batch_norm_training, [f64(1, "m")], name="batch_norm_training of one sample", raises=ShapeError),
)
