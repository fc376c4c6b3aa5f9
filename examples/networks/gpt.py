"""A causal transformer of the kind of GPT-2, with its parameters under their names, and generation with a cache.

`python examples/networks/gpt.py c` continues a text by random weights; those of GPT-2, as NumPy arrays, fit as well.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import tg

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


class Kind(NamedTuple):
    """Numbers of tokens and positions, of layers and heads, and the length of a vector."""

    tokens: int
    positions: int
    layers: int
    heads: int
    width: int


GPT2 = Kind(tokens=50257, positions=1024, layers=12, heads=12, width=768)


def shapes(kind: Kind) -> dict[str, tuple[int, ...]]:
    """The shapes of all parameters; matrices are multiplied from the left, as GPT-2 has them."""
    d = kind.width
    result = {"wte.weight": (kind.tokens, d), "wpe.weight": (kind.positions, d)}
    layer = {"ln_1": (d,), "attn.c_attn": (d, 3 * d), "attn.c_proj": (d, d), "ln_2": (d,)}
    layer |= {"mlp.c_fc": (d, 4 * d), "mlp.c_proj": (4 * d, d)}
    parts = {f"h.{k}.{name}": shape for k in range(kind.layers) for name, shape in layer.items()}
    for name, shape in {**parts, "ln_f": (d,)}.items():
        result |= {f"{name}.weight": shape, f"{name}.bias": shape[-1:]}
    return result


def _network(x: Any, p: Mapping[str, Any], kind: Kind, attend: Callable[..., Any], stages: int = 1) -> Any:
    """The logits of embedded tokens (n, t, width); `attend` is given a layer's number, its queries, keys and values."""
    n, t, d = x.shape

    def linear(x: Any, name: str) -> Any:
        return x @ p[f"{name}.weight"] + p[f"{name}.bias"]

    def normed(x: Any, name: str) -> Any:
        return tg.nn.layer_norm(x, p[f"{name}.weight"], p[f"{name}.bias"])

    for k in range(kind.layers):
        x = tg.stage(k * stages // kind.layers, x)
        qkv = linear(normed(x, f"h.{k}.ln_1"), f"h.{k}.attn.c_attn")
        qkv = tg.transpose(qkv.reshape((n, t, 3, kind.heads, d // kind.heads)), (2, 0, 3, 1, 4))
        y = attend(k, qkv[0], qkv[1], qkv[2])
        x = x + linear(tg.swapaxes(y, 1, 2).reshape((n, t, d)), f"h.{k}.attn.c_proj")
        x = x + linear(tg.nn.gelu(linear(normed(x, f"h.{k}.ln_2"), f"h.{k}.mlp.c_fc"), "tanh"), f"h.{k}.mlp.c_proj")
    return normed(x, "ln_f") @ p["wte.weight"].T


def gpt(tokens: Any, p: Mapping[str, Any], kind: Kind, stages: int = 1) -> Any:
    """The logits of what follows each of the tokens: (n, t) -> (n, t, kind.tokens).

    `stages` are those of a pipeline, among which layers are shared out.
    """
    x = tg.nn.embedding(tokens, p["wte.weight"]) + p["wpe.weight"][: tokens.shape[1]]
    return _network(x, p, kind, lambda k, *qkv: tg.nn.scaled_dot_product_attention(*qkv, is_causal=True), stages)


def no_past(kind: Kind, n: int = 1, dtype: str = "float32") -> dict[str, np.ndarray]:
    """Empty caches for n texts: keys and values of each layer, of as many tokens as there are positions."""
    shape = (n, kind.heads, kind.positions, kind.width // kind.heads)
    return {f"h.{k}.{name}": np.zeros(shape, dtype) for k in range(kind.layers) for name in ("keys", "values")}


def gpt_step(token: Any, position: Any, caches: Mapping[str, Any], p: Mapping[str, Any], kind: Kind) -> Any:
    """The logits of what follows the tokens (n,) at a position, and the caches with their keys and values."""
    written = {}

    def attend(k: int, q: Any, *kv: Any) -> Any:
        names = f"h.{k}.keys", f"h.{k}.values"
        both = [caches[name].at[:, :, position].set(x[:, :, 0]) for name, x in zip(names, kv, strict=True)]
        written.update(zip(names, both, strict=True))
        return tg.nn.scaled_dot_product_attention(q, *both, tg.arange(kind.positions) <= position)

    x = tg.nn.embedding(token, p["wte.weight"]) + p["wpe.weight"][position]
    return _network(x[:, None], p, kind, attend)[:, 0], written


def decoder(backend: Any, kind: Kind, n: int = 1, dtype: str = "float32") -> Callable[..., Any]:
    """A compiled step, whose caches are written where they lie if the backend can."""
    token, position = tg.tensor("token", "int64", (n,)), tg.scalar("position", "int64")
    caches = {name: tg.tensor(name, dtype, cache.shape) for name, cache in no_past(kind, n).items()}
    p = {name: tg.tensor(name, dtype, shape) for name, shape in shapes(kind).items()}
    logits, written = gpt_step(token, position, caches, p, kind)
    return tg.function([token, position, caches, p], [logits, written], backend=backend, donate=[*caches.values()])


def generate(step: Any, prompt: Sequence[int], count: int, caches: Any, p: Any) -> tuple[list[int], list[Any]]:
    """The prompt with the likeliest tokens after it, and the logits of what follows each but the last."""
    tokens, logits = [*prompt], []
    for position in range(len(prompt) + count - 1):
        out, caches = step(np.array(tokens[position : position + 1]), position, caches, p)
        logits.append(out[0])
        tokens += [int(np.argmax(out[0]))] if position + 1 == len(tokens) else []
    return tokens, logits


def random_weights(kind: Kind, dtype: str = "float32") -> dict[str, np.ndarray]:
    """Weights and biases of the scale of GPT-2's weights, and layer norms near those that change nothing."""
    draw, ones = np.random.default_rng(0), [name for name in shapes(kind) if "ln_" in name and "weight" in name]
    return {name: (0.02 * draw.normal(size=w) + (name in ones)).astype(dtype) for name, w in shapes(kind).items()}


def main(backend: str = "c") -> None:
    step, p = decoder(backend, GPT2), random_weights(GPT2)
    print(f"GPT-2 on {backend}: {generate(step, [1, 2, 3], 27, no_past(GPT2), p)[0]}")


if __name__ == "__main__":
    main(*sys.argv[1:2])
