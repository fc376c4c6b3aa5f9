"""The same networks by PyTorch, JAX and MLX: written once, in terms of what each library has for a layer.

Weights are those of the examples, under their names. JAX and MLX have channels behind, as they are fastest on CPUs.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from network_rows import gpt, resnet

EPS = {"vit": 1e-6, "gpt": 1e-5}


class Torch:
    """PyTorch's functions, eager."""

    def __init__(self, memory_format: str = "") -> None:
        import torch

        torch.set_num_threads(1)
        self.torch, self.f, self.memory_format = torch, torch.nn.functional, memory_format
        self.gelu = lambda x, tanh=False: self.f.gelu(x, approximate="tanh" if tanh else "none")
        self.permute, self.concatenate, self.relu = torch.permute, torch.cat, torch.relu
        self.cross_entropy = self.f.cross_entropy

    def array(self, a: Any) -> Any:
        t = self.torch.from_numpy(np.asarray(a))
        if self.memory_format and t.ndim == 4:
            return t.contiguous(memory_format=getattr(self.torch, self.memory_format))
        return t

    weight = array

    def conv(self, x: Any, w: Any, b: Any = None, stride: int = 1) -> Any:
        padding = w.shape[-1] // 2 if stride < w.shape[-1] else 0
        return self.f.conv2d(x, w, b, stride, padding)

    def batch_norm(self, x: Any, p: Any, name: str, *, training: bool) -> Any:
        running = (None, None) if training else (p[f"{name}.running_mean"], p[f"{name}.running_var"])
        return self.f.batch_norm(x, *running, p[f"{name}.weight"], p[f"{name}.bias"], training)

    def max_pool(self, x: Any) -> Any:
        return self.f.max_pool2d(x, 3, 2, 1)

    def pixel_mean(self, x: Any) -> Any:
        return x.mean((2, 3))

    def tokens(self, x: Any) -> Any:
        return x.flatten(2).transpose(1, 2)

    def layer_norm(self, x: Any, w: Any, b: Any, eps: float) -> Any:
        return self.f.layer_norm(x, w.shape, w, b, eps)

    def attention(self, q: Any, k: Any, v: Any, mask: Any = None) -> Any:
        return self.f.scaled_dot_product_attention(q, k, v, mask)

    def repeat(self, x: Any, n: int) -> Any:
        return x.expand(n, -1, -1)

    def write(self, cache: Any, position: int, x: Any) -> Any:
        cache[:, :, position] = x
        return cache

    def past(self, count: int, position: int) -> Any:
        return (self.torch.arange(count) <= position)[None]  # torch's attention wants an axis of queries


class Jax:
    """JAX's functions, NHWC."""

    def __init__(self) -> None:
        import jax
        import jax.numpy as jnp

        self.jax, self.jnp = jax, jnp
        self.permute, self.concatenate, self.relu, self.array = jnp.transpose, jnp.concatenate, jax.nn.relu, jnp.asarray
        self.gelu = lambda x, tanh=False: jax.nn.gelu(x, approximate=tanh)

    def weight(self, a: Any) -> Any:
        return self.jnp.asarray(np.ascontiguousarray(a.transpose(2, 3, 1, 0)) if a.ndim == 4 else a)

    def conv(self, x: Any, w: Any, b: Any = None, stride: int = 1) -> Any:
        pad = w.shape[0] // 2 if stride < w.shape[0] else 0
        y = self.jax.lax.conv_general_dilated(
            x, w, (stride, stride), ((pad, pad), (pad, pad)), dimension_numbers=("NHWC", "HWIO", "NHWC")
        )
        return y if b is None else y + b

    def batch_norm(self, x: Any, p: Any, name: str, *, training: bool) -> Any:
        mean, var = (p.get(f"{name}.{part}") for part in ("running_mean", "running_var"))
        if training:
            mean, var = x.mean((0, 1, 2)), x.var((0, 1, 2))
        return (x - mean) * (self.jax.lax.rsqrt(var + 1e-5) * p[f"{name}.weight"]) + p[f"{name}.bias"]

    def max_pool(self, x: Any) -> Any:
        pads = ((0, 0), (1, 1), (1, 1), (0, 0))
        return self.jax.lax.reduce_window(x, -np.inf, self.jax.lax.max, (1, 3, 3, 1), (1, 2, 2, 1), pads)

    def pixel_mean(self, x: Any) -> Any:
        return x.mean((1, 2))

    def tokens(self, x: Any) -> Any:
        return x.reshape(x.shape[0], -1, x.shape[-1])

    def layer_norm(self, x: Any, w: Any, b: Any, eps: float) -> Any:
        mean = x.mean(-1, keepdims=True)
        return (x - mean) * self.jax.lax.rsqrt(x.var(-1, keepdims=True) + eps) * w + b

    def attention(self, q: Any, k: Any, v: Any, mask: Any = None) -> Any:
        scores = (q * q.shape[-1] ** -0.5) @ k.swapaxes(-1, -2)
        if mask is not None:
            scores = self.jnp.where(mask, scores, -np.inf)
        return self.jax.nn.softmax(scores) @ v

    def repeat(self, x: Any, n: int) -> Any:
        return self.jnp.broadcast_to(x, (n, *x.shape[1:]))

    def cross_entropy(self, logits: Any, labels: Any) -> Any:
        return -self.jnp.take_along_axis(self.jax.nn.log_softmax(logits), labels[:, None], 1).mean()

    def write(self, cache: Any, position: Any, x: Any) -> Any:
        return cache.at[:, :, position].set(x)

    def past(self, count: int, position: Any) -> Any:
        return self.jnp.arange(count) <= position


class Mlx(Jax):
    """MLX's functions on the processor; its layers have channels behind."""

    def __init__(self) -> None:
        import mlx.core as mx
        import mlx.nn

        mx.set_default_device(mx.cpu)
        self.mx, self.nn = mx, mlx.nn
        self.permute, self.concatenate, self.relu, self.array = mx.transpose, mx.concatenate, mlx.nn.relu, mx.array
        self.gelu = lambda x, tanh=False: mlx.nn.gelu_approx(x) if tanh else mlx.nn.gelu(x)
        self.pool = mlx.nn.MaxPool2d(3, 2, 1)
        self.layer_norm = mx.fast.layer_norm

    def weight(self, a: Any) -> Any:
        return self.mx.array(np.ascontiguousarray(a.transpose(0, 2, 3, 1)) if a.ndim == 4 else a)

    def conv(self, x: Any, w: Any, b: Any = None, stride: int = 1) -> Any:
        y = self.mx.conv2d(x, w, stride, w.shape[1] // 2 if stride < w.shape[1] else 0)
        return y if b is None else y + b

    def batch_norm(self, x: Any, p: Any, name: str, *, training: bool) -> Any:
        mean, var = (p.get(f"{name}.{part}") for part in ("running_mean", "running_var"))
        if training:
            mean, var = self.mx.mean(x, (0, 1, 2)), self.mx.var(x, (0, 1, 2))
        return (x - mean) * (self.mx.rsqrt(var + 1e-5) * p[f"{name}.weight"]) + p[f"{name}.bias"]

    def max_pool(self, x: Any) -> Any:
        return self.pool(x)

    def attention(self, q: Any, k: Any, v: Any, mask: Any = None) -> Any:
        return self.mx.fast.scaled_dot_product_attention(q, k, v, scale=q.shape[-1] ** -0.5, mask=mask)

    def repeat(self, x: Any, n: int) -> Any:
        return self.mx.broadcast_to(x, (n, *x.shape[1:]))

    def cross_entropy(self, logits: Any, labels: Any) -> Any:
        return self.nn.losses.cross_entropy(logits, labels, reduction="mean")

    def write(self, cache: Any, position: int, x: Any) -> Any:
        cache[:, :, position] = x
        return cache

    def past(self, count: int, position: int) -> Any:
        return self.mx.arange(count) <= position


def by_resnet(xp: Any, x: Any, p: Any, kind: Any, *, training: bool) -> Any:
    """A ResNet's logits."""
    norm = partial(xp.batch_norm, training=training)
    x = xp.max_pool(xp.relu(norm(xp.conv(x, p["conv1.weight"], stride=2), p, "bn1")))
    for name, _, _, stride in resnet.blocks(kind):
        count = 3 if kind.is_bottleneck else 2
        y = x
        for k in range(1, count + 1):
            y = xp.conv(y, p[f"{name}.conv{k}.weight"], stride=stride if k == count - 1 else 1)
            y = norm(y, p, f"{name}.bn{k}")
            y = xp.relu(y) if k < count else y
        if f"{name}.downsample.0.weight" in p:
            # a window of 1 is not padded, whatever its stride
            x = norm(xp.conv(x, p[f"{name}.downsample.0.weight"], stride=stride), p, f"{name}.downsample.1")
        x = xp.relu(x + y)
    return xp.pixel_mean(x) @ p["fc.weight"].T + p["fc.bias"]


def _heads(xp: Any, qkv: Any, heads: int) -> Any:
    n, t, d = qkv.shape
    return xp.permute(qkv.reshape(n, t, 3, heads, d // 3 // heads), (2, 0, 3, 1, 4))


def _joined(xp: Any, y: Any) -> Any:
    y = xp.permute(y, (0, 2, 1, 3))
    return y.reshape(*y.shape[:2], -1)


def by_vit(xp: Any, x: Any, p: Any, kind: Any, *, training: bool) -> Any:
    """A vision transformer's logits."""

    def linear(x: Any, name: str, between: str = ".") -> Any:
        return x @ p[f"{name}{between}weight"].T + p[f"{name}{between}bias"]

    def norm(x: Any, name: str) -> Any:
        return xp.layer_norm(x, p[f"{name}.weight"], p[f"{name}.bias"], EPS["vit"])

    x = xp.tokens(xp.conv(x, p["conv_proj.weight"], p["conv_proj.bias"], stride=kind.patch))
    x = xp.concatenate([xp.repeat(p["class_token"], x.shape[0]), x], 1) + p["encoder.pos_embedding"]
    for k in range(kind.layers):
        name = f"encoder.layers.encoder_layer_{k}"
        qkv = _heads(xp, linear(norm(x, f"{name}.ln_1"), f"{name}.self_attention.in_proj", "_"), kind.heads)
        y = xp.attention(qkv[0], qkv[1], qkv[2])
        x = x + linear(_joined(xp, y), f"{name}.self_attention.out_proj")
        x = x + linear(xp.gelu(linear(norm(x, f"{name}.ln_2"), f"{name}.mlp.0")), f"{name}.mlp.3")
    return linear(norm(x[:, 0], "encoder.ln"), "heads.head")


def by_gpt(xp: Any, token: Any, position: Any, caches: Any, p: Any, kind: gpt.Kind) -> Any:
    """The logits of a step with caches, and these."""

    def linear(x: Any, name: str) -> Any:
        return x @ p[f"{name}.weight"] + p[f"{name}.bias"]

    def norm(x: Any, name: str) -> Any:
        return xp.layer_norm(x, p[f"{name}.weight"], p[f"{name}.bias"], EPS["gpt"])

    caches = dict(caches)
    x = (p["wte.weight"][token] + p["wpe.weight"][position])[:, None]
    past = xp.past(kind.positions, position)
    for k in range(kind.layers):
        q, key, value = _heads(xp, linear(norm(x, f"h.{k}.ln_1"), f"h.{k}.attn.c_attn"), kind.heads)
        for name, part in (("keys", key), ("values", value)):
            caches[f"h.{k}.{name}"] = xp.write(caches[f"h.{k}.{name}"], position, part[:, :, 0])
        y = xp.attention(q, caches[f"h.{k}.keys"], caches[f"h.{k}.values"], past)
        x = x + linear(_joined(xp, y), f"h.{k}.attn.c_proj")
        x = x + linear(xp.gelu(linear(norm(x, f"h.{k}.ln_2"), f"h.{k}.mlp.c_fc"), tanh=True), f"h.{k}.mlp.c_proj")
    return (norm(x, "ln_f") @ p["wte.weight"].T)[:, 0], caches
