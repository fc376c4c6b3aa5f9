"""Modules made of modules: `Sequential`, `Residual`, `Attention`, `TransformerLayer`, `Transformer`."""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any

from tg.errors import InputError, message
from tg.nn.layers import NEEDS_KEY, Dense, Dropout, LayerNorm, asked, sizes
from tg.nn.module import Module, parameter
from tg.ops.contraction import matmul
from tg.ops.elementwise.arithmetic import relu
from tg.ops.nn.attention import scaled_dot_product_attention
from tg.ops.nn.dropout import undropped
from tg.ops.nn.initializers import glorot_uniform, zeros
from tg.ops.random.keys import fold_in
from tg.ops.shape import moveaxis, reshape
from tg.variables.conversion import as_variable
from tg.variables.structure import short

if TYPE_CHECKING:
    from collections.abc import Callable

    from tg.graph.nodes import Variable


class Sequential(Module):
    """Layers one after another: modules, and functions of one array.

    `training` and a key go to the layers and functions that take them; each has a key of its own.

    Raises:
        InputError: a layer cannot be called.
    Source:
        torch.nn.Sequential, whose paths it has: "0.weight".
    Example:
        >>> import tg
        >>> model = tg.nn.Sequential(tg.nn.Dense(4, 8), tg.relu, tg.nn.Dropout(0.1), tg.nn.Dense(8, 3))
        >>> model = tg.nn.randomized(model, tg.random.key(0))
        >>> x = tg.matrix("x", "float32")
        >>> model(x, training=True, key=tg.random.key(1)).type, model(x, training=False).type
        (float32[?, 3], float32[?, 3])
    """

    def __init__(self, *layers: Callable[..., Any]) -> None:
        for k, layer in enumerate[Any](layers):
            if not callable(layer):
                hint = "tg.nn.Sequential(*layers) takes a list apart" if isinstance(layer, list | tuple) else None
                text = f"Sequential: layer {k}: found {short(layer)}, needed a module or a function"
                raise InputError(message(text, hint=hint))
            setattr(self, str(k), layer)

    def __call__(self, x: Any, *, training: bool | None = None, key: Any = None) -> Any:
        for k, layer in enumerate(self):
            x = passed(layer, x, training, None if key is None else fold_in(key, k))
        return x

    def __iter__(self) -> Any:
        return iter(self.parts.values())

    def __len__(self) -> int:
        return len(self.parts)

    def __getitem__(self, k: int) -> Any:
        return list(self.parts.values())[k]


class Residual(Module):
    """shortcut(x) + body(x): x itself, unless there is a shortcut.

    Args:
        body, shortcut: modules or functions; several layers are a `Sequential`.
    Raises:
        InputError: one cannot be called.
    Source:
        He et al. 2016.
    Example:
        >>> import tg
        >>> block = tg.nn.Residual(tg.nn.Sequential(tg.nn.LayerNorm(4), tg.nn.Dense(4, 4)))
        >>> list(tg.nn.params(tg.nn.randomized(block, tg.random.key(0))))
        ['body.0.weight', 'body.0.bias', 'body.1.weight', 'body.1.bias']
    """

    def __init__(self, body: Callable[..., Any], shortcut: Callable[..., Any] | None = None) -> None:
        for name, part in (("body", body), ("shortcut", shortcut)):
            if part is not None and not callable(part):
                raise InputError(message(f"Residual: {name}: found {short(part)}, needed a module or a function"))
        self.body, self.shortcut = body, shortcut

    def __call__(self, x: Any, *, training: bool | None = None, key: Any = None) -> Any:
        keys = (None, None) if key is None else (fold_in(key, 0), fold_in(key, 1))
        y = passed(self.body, x, training, keys[0])
        return (x if self.shortcut is None else passed(self.shortcut, x, training, keys[1])) + y


class Attention(Module):
    """Attention of several heads: queries of x, keys and values of x or of a memory.

    Args:
        width: of x and of the result, a multiple of heads.
        dropout: the part of weights that are 0 while training.
    Shapes:
        x (..., t, width), memory (..., s, width), mask (..., t, s) -> y (..., t, width)
    Raises:
        InputError: width is no multiple of heads; dropout without a key, or without saying whether it is training.
    Source:
        Vaswani et al. 2017; torch.nn.MultiheadAttention with batch_first=True, whose names of weights it has.
        True in a mask of bools takes part, as in `tg.nn.scaled_dot_product_attention`.
    Example:
        >>> import tg
        >>> attention = tg.nn.randomized(tg.nn.Attention(16, 4), tg.random.key(0))
        >>> attention(tg.tensor("x", "float32", (None, 7, 16)), is_causal=True).type
        float32[?, 7, 16]
    """

    def __init__(self, width: int, heads: int, *, bias: bool = True, dropout: float = 0.0) -> None:
        sizes("Attention", width=width, heads=heads)
        if width % heads:
            raise InputError(message(f"Attention: width: found {width}, needed a multiple of {heads} heads"))
        draw = functools.partial(glorot_uniform, in_axis=1, out_axis=0)
        self.in_proj_weight = parameter((3 * width, width), draw)
        self.in_proj_bias = parameter((3 * width,), zeros) if bias else None
        self.out_proj = Dense(width, width, bias=bias)
        self.width, self.heads, self.dropout = width, heads, Dropout(dropout)

    def __call__(
        self,
        x: Any,
        memory: Any = None,
        mask: Any = None,
        *,
        is_causal: bool = False,
        training: bool | None = None,
        key: Any = None,
    ) -> Variable:
        x = as_variable(x) if self.dropout.p else undropped("Attention", as_variable(x), key, training=training)
        source = x if memory is None else as_variable(memory)
        parts = [slice(k * self.width, (k + 1) * self.width) for k in range(3)]
        q, k, v = (self._projected(y, part) for y, part in zip((x, source, source), parts, strict=True))
        p = self.dropout.p if self.dropout.p and asked(self, training) else 0.0
        if p and key is None:
            raise InputError(message(f"Attention with {self.dropout!r}: training without a key", hint=NEEDS_KEY))
        mask = None if mask is None else as_variable(mask)[..., None, :, :]
        y = scaled_dot_product_attention(
            q, k, v, mask, is_causal=is_causal, dropout_p=p, dropout_key=key if p else None
        )
        y = moveaxis(y, -3, -2)
        return self.out_proj(reshape(y, (*y.shape[:-2], self.width)))

    def _projected(self, x: Variable, part: slice) -> Variable:
        """The heads of one of queries, keys and values: (..., heads, t, width / heads)."""
        y = matmul(x, self.in_proj_weight[part].T)
        y = y if self.in_proj_bias is None else y + self.in_proj_bias[part]
        return moveaxis(reshape(y, (*y.shape[:-1], self.heads, -1)), -2, -3)


class TransformerLayer(Module):
    """Attention and two dense layers, each with a norm, dropout and x added.

    Args:
        width, heads: of the attention.
        hidden: how wide the result of the first dense layer is.
        activation: between the two.
        norm_first: whether norms stand before attention and dense layers, or behind the sums.
    Shapes:
        x (..., t, width), mask (..., t, t) -> y (..., t, width)
    Raises:
        InputError: as `Attention`.
    Source:
        torch.nn.TransformerEncoderLayer with batch_first=True, whose names it has.
    Example:
        >>> import tg
        >>> layer = tg.nn.randomized(tg.nn.TransformerLayer(16, 4, 32, dropout=0.0), tg.random.key(0))
        >>> layer(tg.tensor("x", "float32", (None, 7, 16)), training=False).type
        float32[?, 7, 16]
    """

    def __init__(
        self,
        width: int,
        heads: int,
        hidden: int,
        *,
        dropout: float = 0.1,
        activation: Callable[[Any], Any] = relu,
        norm_first: bool = False,
        eps: float = 1e-5,
        bias: bool = True,
    ) -> None:
        self.self_attn = Attention(width, heads, bias=bias, dropout=dropout)
        self.linear1 = Dense(width, hidden, bias=bias)
        self.linear2 = Dense(hidden, width, bias=bias)
        self.norm1 = LayerNorm(width, eps=eps, bias=bias)
        self.norm2 = LayerNorm(width, eps=eps, bias=bias)
        self.dropout, self.activation, self.norm_first = Dropout(dropout), activation, norm_first

    def __call__(
        self, x: Any, mask: Any = None, *, is_causal: bool = False, training: bool | None = None, key: Any = None
    ) -> Variable:
        keys = [None if key is None else fold_in(key, k) for k in range(4)]

        def attended(y: Any) -> Any:
            y = self.self_attn(y, mask=mask, is_causal=is_causal, training=training, key=keys[0])
            return self.dropout(y, training=training, key=keys[1])

        def widened(y: Any) -> Any:
            y = self.dropout(self.activation(self.linear1(y)), training=training, key=keys[2])
            return self.dropout(self.linear2(y), training=training, key=keys[3])

        x = as_variable(x)
        if self.norm_first:
            x = x + attended(self.norm1(x))
            return x + widened(self.norm2(x))  # type: ignore[no-any-return]
        x = self.norm1(x + attended(x))
        return self.norm2(x + widened(x))


class Transformer(Module):
    """Layers of one kind, one after another, and a norm behind them where these have theirs before.

    Args:
        number: of layers.
        options: of `TransformerLayer`.
    Shapes:
        as `TransformerLayer`
    Raises:
        InputError: as `Attention`.
    Source:
        torch.nn.TransformerEncoder, whose names it has.
    Example:
        >>> import tg
        >>> model = tg.nn.Transformer(2, 16, 4, 32, norm_first=True)
        >>> tg.nn.count(model)
        4480
    """

    def __init__(self, number: int, width: int, heads: int, hidden: int, **options: Any) -> None:
        sizes("Transformer", number=number)
        self.layers = tuple(TransformerLayer(width, heads, hidden, **options) for _ in range(number))
        of_norm = {name: options[name] for name in ("eps", "bias") if name in options}
        self.norm = LayerNorm(width, **of_norm) if options.get("norm_first") else None

    def __call__(
        self, x: Any, mask: Any = None, *, is_causal: bool = False, training: bool | None = None, key: Any = None
    ) -> Variable:
        for k, layer in enumerate(self.layers):
            own = None if key is None else fold_in(key, k)
            x = layer(x, mask, is_causal=is_causal, training=training, key=own)
        return x if self.norm is None else self.norm(x)


def passed(layer: Callable[..., Any], x: Any, training: bool | None, key: Any) -> Any:
    """The result of a layer for x: `training` and `key` are given to one that takes them."""
    return layer(x, **taken(layer, training, key))


def taken(layer: Callable[..., Any], training: bool | None, key: Any) -> dict[str, Any]:
    """The arguments, of the two, that a layer takes, by name."""
    names = _options(type(layer).__call__ if isinstance(layer, Module) else layer)
    return {name: v for name, v in (("training", training), ("key", key)) if name in names}


@functools.lru_cache(maxsize=256)
def _options(call: Callable[..., Any]) -> frozenset[str]:
    """The names, of the two, that a call takes."""
    try:
        parameters = inspect.signature(call).parameters.values()
    except (TypeError, ValueError):  # functions of C say nothing
        return frozenset()
    if any(p.kind is p.VAR_KEYWORD for p in parameters):
        return frozenset(("training", "key"))
    return frozenset(p.name for p in parameters if p.kind in (p.KEYWORD_ONLY, p.POSITIONAL_OR_KEYWORD))
