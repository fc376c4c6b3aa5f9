"""`tg.nn`: functions of networks under PyTorch's names, the axis of each an `axis=`.

`torch.nn.functional.f(x)` becomes `tg.nn.f(x)`. What `tg` has itself is here the same object. Names with capital
letters are modules: layers that hold their weights.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import tg
from tg.keywords import explain
from tg.nn import init
from tg.nn.blocks import Attention, Residual, Sequential, Transformer, TransformerLayer
from tg.nn.ensemble import Ensemble
from tg.nn.files import load, save
from tg.nn.layers import BatchNorm, Conv, Dense, Dropout, Embedding, GroupNorm, LayerNorm
from tg.nn.module import Module, parameter
from tg.nn.recurrent import GRU, LSTM, RNN
from tg.nn.summary import summary
from tg.nn.weights import count, params, randomized, replaced, state
from tg.ops.creation import one_hot
from tg.ops.elementwise.arithmetic import relu
from tg.ops.elementwise.exponential import log_sigmoid, sigmoid, softplus
from tg.ops.elementwise.exponential import log_sigmoid as logsigmoid
from tg.ops.elementwise.trigonometric import tanh
from tg.ops.nn.activation import (
    celu,
    elu,
    gelu,
    glu,
    hardsigmoid,
    hardswish,
    hardtanh,
    leaky_relu,
    mish,
    prelu,
    relu6,
    selu,
    silu,
    softsign,
    swiglu,
    threshold,
)
from tg.ops.nn.activation import silu as swish
from tg.ops.nn.attention import scaled_dot_product_attention
from tg.ops.nn.convolution import conv1d, conv2d, conv3d, conv_transpose1d, conv_transpose2d, conv_transpose3d
from tg.ops.nn.cross_entropy import (
    binary_cross_entropy,
    binary_cross_entropy_with_logits,
    cross_entropy,
    dice_loss,
    kl_div,
    nll_loss,
    sigmoid_focal_loss,
)
from tg.ops.nn.ctc import ctc_loss
from tg.ops.nn.dropout import alpha_dropout, dropout, dropout1d, dropout2d, dropout3d
from tg.ops.nn.encodings import alibi_slopes, embedding, rotary, sinusoidal_encoding
from tg.ops.nn.integer_convolution import integer_conv
from tg.ops.nn.losses import (
    cosine_embedding_loss,
    cosine_similarity,
    gaussian_nll_loss,
    hinge_embedding_loss,
    hinge_loss,
    huber_loss,
    l1_loss,
    margin_ranking_loss,
    mse_loss,
    poisson_nll_loss,
    smooth_l1_loss,
    triplet_margin_loss,
)
from tg.ops.nn.metrics import accuracy, confusion_matrix, f1_score, roc_auc, top_k_accuracy
from tg.ops.nn.mixture import top_k_routing
from tg.ops.nn.normalization import (
    batch_norm,
    batch_norm_training,
    group_norm,
    instance_norm,
    layer_norm,
    normalize,
    rms_norm,
)
from tg.ops.nn.pooling import (
    adaptive_avg_pool1d,
    adaptive_avg_pool2d,
    adaptive_avg_pool3d,
    adaptive_max_pool1d,
    adaptive_max_pool2d,
    adaptive_max_pool3d,
    avg_pool1d,
    avg_pool2d,
    avg_pool3d,
    lp_pool1d,
    lp_pool2d,
    lp_pool3d,
    max_pool1d,
    max_pool2d,
    max_pool3d,
)
from tg.ops.nn.recurrent import gru, lstm, rnn
from tg.ops.nn.resizing import fold, pixel_shuffle, pixel_unshuffle, resize, unfold
from tg.ops.softmax import log_softmax, softmax
from tg.words import unknown_in

__all__ = [
    "GRU",
    "LSTM",
    "RNN",
    "Attention",
    "BatchNorm",
    "Conv",
    "Dense",
    "Dropout",
    "Embedding",
    "Ensemble",
    "GroupNorm",
    "LayerNorm",
    "Module",
    "Residual",
    "Sequential",
    "Transformer",
    "TransformerLayer",
    "accuracy",
    "adaptive_avg_pool1d",
    "adaptive_avg_pool2d",
    "adaptive_avg_pool3d",
    "adaptive_max_pool1d",
    "adaptive_max_pool2d",
    "adaptive_max_pool3d",
    "alibi_slopes",
    "alpha_dropout",
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool3d",
    "batch_norm",
    "batch_norm_training",
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "celu",
    "confusion_matrix",
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "cosine_embedding_loss",
    "cosine_similarity",
    "count",
    "cross_entropy",
    "ctc_loss",
    "dice_loss",
    "dropout",
    "dropout1d",
    "dropout2d",
    "dropout3d",
    "elu",
    "embedding",
    "f1_score",
    "fold",
    "gaussian_nll_loss",
    "gelu",
    "glu",
    "group_norm",
    "gru",
    "hardsigmoid",
    "hardswish",
    "hardtanh",
    "hinge_embedding_loss",
    "hinge_loss",
    "huber_loss",
    "init",
    "instance_norm",
    "integer_conv",
    "kl_div",
    "l1_loss",
    "layer_norm",
    "leaky_relu",
    "load",
    "log_sigmoid",
    "log_softmax",
    "logsigmoid",
    "lp_pool1d",
    "lp_pool2d",
    "lp_pool3d",
    "lstm",
    "margin_ranking_loss",
    "max_pool1d",
    "max_pool2d",
    "max_pool3d",
    "mish",
    "mse_loss",
    "nll_loss",
    "normalize",
    "one_hot",
    "parameter",
    "params",
    "pixel_shuffle",
    "pixel_unshuffle",
    "poisson_nll_loss",
    "prelu",
    "randomized",
    "relu",
    "relu6",
    "replaced",
    "resize",
    "rms_norm",
    "rnn",
    "roc_auc",
    "rotary",
    "save",
    "scaled_dot_product_attention",
    "selu",
    "sigmoid",
    "sigmoid_focal_loss",
    "silu",
    "sinusoidal_encoding",
    "smooth_l1_loss",
    "softmax",
    "softplus",
    "softsign",
    "state",
    "summary",
    "swiglu",
    "swish",
    "tanh",
    "threshold",
    "top_k_accuracy",
    "top_k_routing",
    "triplet_margin_loss",
    "unfold",
]

explain(globals(), __all__)


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        text = name if name.startswith("__") else unknown_in(__name__, __all__, name, dir(tg))
        raise AttributeError(text, name=name)


def __dir__() -> list[str]:
    return sorted(__all__)
