"""Weights as torchvision and Hugging Face have them: names, shapes and transposes; outputs are those of PyTorch.

Of both libraries' own models where they are installed; and of modules of PyTorch that have the same `state_dict`.
"""

from __future__ import annotations

import numpy as np
import pytest
from networks import gpt, resnet

import tg

torch = pytest.importorskip("torch")
SLOW = [pytest.param(name, marks=pytest.mark.long) for name in ("c", "numba", "jax", "torch", "mlx")]
BACKENDS = pytest.mark.parametrize("backend", ["perform", *SLOW])
RNG = np.random.default_rng(18)
WIDTHS = (64, 128, 256, 512)
KIND = gpt.Kind(tokens=17, positions=12, layers=2, heads=3, width=12)


class Block(tg.nn.Module):
    """torchvision's BasicBlock."""

    def __init__(self, inner, outer, stride):
        self.conv1 = tg.nn.Conv(inner, outer, 3, stride=stride, padding=1, bias=False)
        self.conv2 = tg.nn.Conv(outer, outer, 3, padding=1, bias=False)
        self.bn1, self.bn2 = tg.nn.BatchNorm(outer), tg.nn.BatchNorm(outer)
        self.downsample = None
        if inner != outer:
            conv = tg.nn.Conv(inner, outer, 1, stride=stride, bias=False)
            self.downsample = tg.nn.Sequential(conv, tg.nn.BatchNorm(outer))

    def __call__(self, x, *, training):
        y = tg.relu(self.bn1(self.conv1(x), training=training))
        y = self.bn2(self.conv2(y), training=training)
        return tg.relu(y + (x if self.downsample is None else self.downsample(x, training=training)))


class ResNet18(tg.nn.Module):
    """torchvision's resnet18, by modules."""

    def __init__(self, classes):
        self.conv1, self.bn1 = tg.nn.Conv(3, 64, 7, stride=2, padding=3, bias=False), tg.nn.BatchNorm(64)
        for k, outer in enumerate(WIDTHS, 1):
            inner = WIDTHS[max(k - 2, 0)]
            setattr(self, f"layer{k}", [Block(inner, outer, 1 if k == 1 else 2), Block(outer, outer, 1)])
        self.fc = tg.nn.Dense(512, classes)

    def __call__(self, images, *, training):
        x = tg.relu(self.bn1(self.conv1(images), training=training))
        x = tg.nn.max_pool2d(x, 3, stride=2, padding=1)
        for k in range(1, 5):
            for block in getattr(self, f"layer{k}"):
                x = block(x, training=training)
        return self.fc(tg.mean(x, (2, 3)))


class BlockOfTorch(torch.nn.Module):
    """The same by PyTorch."""

    def __init__(self, inner, outer, stride):
        super().__init__()
        self.conv1 = torch.nn.Conv2d(inner, outer, 3, stride, 1, bias=False)
        self.bn1 = torch.nn.BatchNorm2d(outer)
        self.conv2 = torch.nn.Conv2d(outer, outer, 3, 1, 1, bias=False)
        self.bn2 = torch.nn.BatchNorm2d(outer)
        self.downsample = None
        if inner != outer:
            conv = torch.nn.Conv2d(inner, outer, 1, stride, bias=False)
            self.downsample = torch.nn.Sequential(conv, torch.nn.BatchNorm2d(outer))

    def forward(self, x):
        y = self.bn2(self.conv2(self.bn1(self.conv1(x)).relu()))
        return (y + (x if self.downsample is None else self.downsample(x))).relu()


class ResNet18OfTorch(torch.nn.Module):
    """The same by PyTorch."""

    def __init__(self, classes):
        super().__init__()
        self.conv1, self.bn1 = torch.nn.Conv2d(3, 64, 7, 2, 3, bias=False), torch.nn.BatchNorm2d(64)
        for k, outer in enumerate(WIDTHS, 1):
            blocks = BlockOfTorch(WIDTHS[max(k - 2, 0)], outer, 1 if k == 1 else 2), BlockOfTorch(outer, outer, 1)
            setattr(self, f"layer{k}", torch.nn.Sequential(*blocks))
        self.fc = torch.nn.Linear(512, classes)

    def forward(self, images):
        x = torch.nn.functional.max_pool2d(self.bn1(self.conv1(images)).relu(), 3, 2, 1)
        return self.fc(self.layer4(self.layer3(self.layer2(self.layer1(x)))).mean((2, 3)))


def shaken(model):
    """A model in float64 none of whose numbers are 0 or 1, as running statistics are at first."""
    torch.manual_seed(3)
    model = model.double().eval()
    for value in model.state_dict().values():
        if value.is_floating_point():
            value.add_(0.1 * torch.randn_like(value).abs() * (value.ndim == 1))
    return model


def check_resnet(theirs, classes, backend):
    """By modules, and by the network of the examples, which takes the arrays by name."""
    model = tg.nn.load(ResNet18(classes), theirs.state_dict())
    x, images = RNG.normal(size=(2, 3, 48, 40)), tg.tensor("images", shape=(None, 3, None, None))
    arrays = {name: value.numpy() for name, value in theirs.state_dict().items()}
    example = resnet.resnet(images, {name: tg.constant(value) for name, value in arrays.items()}, resnet.KINDS[18])
    want = theirs(torch.tensor(x)).detach().numpy()
    for found in tg.function([images], [model(images, training=False), example], backend=backend)(x):
        np.testing.assert_allclose(found, want, rtol=1e-10, atol=1e-10 * abs(want).max())


@pytest.mark.long
@BACKENDS
def test_resnet18_loads_a_state_dict_of_torchvisions_names(backend):
    theirs = shaken(ResNet18OfTorch(10))
    assert set(resnet.shapes(resnet.KINDS[18])) == {n for n in theirs.state_dict() if "num_batches" not in n}
    check_resnet(theirs, 10, backend)


def test_resnet18_of_torchvision_itself():
    models = pytest.importorskip("torchvision.models", exc_type=(ImportError, RuntimeError))
    assert {n: v.shape for n, v in models.resnet18().state_dict().items()} == {
        n: v.shape for n, v in ResNet18OfTorch(1000).state_dict().items()
    }
    check_resnet(shaken(models.resnet18()), 1000, "perform")


class Layer(tg.nn.Module):
    """A layer of GPT-2."""

    def __init__(self, width, heads):
        self.ln_1, self.ln_2 = tg.nn.LayerNorm(width), tg.nn.LayerNorm(width)
        self.attn = tg.nn.Attention(width, heads)
        self.mlp = {"c_fc": tg.nn.Dense(width, 4 * width), "c_proj": tg.nn.Dense(4 * width, width)}

    def __call__(self, x):
        x = x + self.attn(self.ln_1(x), is_causal=True)
        return x + self.mlp["c_proj"](tg.nn.gelu(self.mlp["c_fc"](self.ln_2(x)), "tanh"))


class GPT2(tg.nn.Module):
    """GPT-2, by modules: logits by the embedding of tokens."""

    def __init__(self, kind):
        self.wte, self.wpe = tg.nn.Embedding(kind.tokens, kind.width), tg.nn.Embedding(kind.positions, kind.width)
        self.h = [Layer(kind.width, kind.heads) for _ in range(kind.layers)]
        self.ln_f = tg.nn.LayerNorm(kind.width)

    def __call__(self, tokens):
        x = self.wte(tokens) + self.wpe.weight[: tokens.shape[1]]
        for layer in self.h:
            x = layer(x)
        return self.ln_f(x) @ self.wte.weight.T


# Matrices are (in, out) there; queries, keys and values are joined, as they are in `Attention`.
OF_LAYER = r"(?:transformer\.)?(h\.\d+)\."
NAMES = [
    (OF_LAYER + r"attn\.c_attn\.weight", r"\1.attn.in_proj_weight", np.transpose),
    (OF_LAYER + r"attn\.c_attn\.bias", r"\1.attn.in_proj_bias"),
    (OF_LAYER + r"attn\.c_proj\.weight", r"\1.attn.out_proj.weight", np.transpose),
    (OF_LAYER + r"attn\.c_proj\.bias", r"\1.attn.out_proj.bias"),
    (OF_LAYER + r"attn\.(?:masked_)?bias", None),  # masks, which files of the first releases have
    (OF_LAYER + r"mlp\.(c_fc|c_proj)\.weight", r"\1.mlp.\2.weight", np.transpose),
    (r"lm_head\.weight", "wte.weight"),  # the same weight under a second name
    (r"transformer\.(.*)", r"\1"),
]


class Conv1D(torch.nn.Module):
    """Hugging Face's: a dense layer whose matrix is (in, out)."""

    def __init__(self, inner, outer):
        super().__init__()
        self.weight, self.bias = (torch.nn.Parameter(0.2 * torch.randn(s)) for s in ((inner, outer), (outer,)))

    def forward(self, x):
        return x @ self.weight + self.bias


class LayerOfTorch(torch.nn.Module):
    """A layer of GPT-2 by PyTorch."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.ln_1, self.ln_2 = heads, torch.nn.LayerNorm(width), torch.nn.LayerNorm(width)
        self.attn = torch.nn.ModuleDict({"c_attn": Conv1D(width, 3 * width), "c_proj": Conv1D(width, width)})
        self.mlp = torch.nn.ModuleDict({"c_fc": Conv1D(width, 4 * width), "c_proj": Conv1D(4 * width, width)})

    def forward(self, x):
        parts = self.attn["c_attn"](self.ln_1(x)).chunk(3, -1)
        q, k, v = (y.unflatten(-1, (self.heads, -1)).transpose(1, 2) for y in parts)
        y = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.attn["c_proj"](y.transpose(1, 2).flatten(2))
        y = torch.nn.functional.gelu(self.mlp["c_fc"](self.ln_2(x)), approximate="tanh")
        return x + self.mlp["c_proj"](y)


class GPT2OfTorch(torch.nn.Module):
    """GPT-2 by PyTorch, under the names of Hugging Face's GPT2LMHeadModel."""

    def __init__(self, kind):
        super().__init__()
        parts = {
            "wte": torch.nn.Embedding(kind.tokens, kind.width),
            "wpe": torch.nn.Embedding(kind.positions, kind.width),
            "h": torch.nn.ModuleList([LayerOfTorch(kind.width, kind.heads) for _ in range(kind.layers)]),
            "ln_f": torch.nn.LayerNorm(kind.width),
        }
        self.transformer = torch.nn.ModuleDict(parts)
        self.lm_head = torch.nn.Linear(kind.width, kind.tokens, bias=False)
        self.lm_head.weight = self.transformer["wte"].weight

    def forward(self, tokens):
        x = self.transformer["wte"](tokens) + self.transformer["wpe"](torch.arange(tokens.shape[1]))
        for layer in self.transformer["h"]:
            x = layer(x)
        return self.lm_head(self.transformer["ln_f"](x))


def check_gpt2(arrays, want, text, backend):
    """By modules and the table, and by the network of the examples, which has Hugging Face's matrices."""
    model, tokens = tg.nn.load(GPT2(KIND), arrays, NAMES), tg.matrix("tokens", "int64")
    assert list(tg.nn.params(model))[:2] == ["wte.weight", "wpe.weight"]
    values = {name.removeprefix("transformer."): tg.constant(value.numpy()) for name, value in arrays.items()}
    f = tg.function([tokens], [model(tokens), gpt.gpt(tokens, values, KIND)], backend=backend)
    for found in f(text):
        np.testing.assert_allclose(found, want, rtol=1e-10, atol=1e-10)


@BACKENDS
@pytest.mark.parametrize("is_first_release", [False, True])
def test_gpt2_loads_a_state_dict_of_hugging_faces_names(backend, is_first_release):
    theirs, text = shaken(GPT2OfTorch(KIND)), RNG.integers(0, KIND.tokens, (2, 10))
    arrays = dict(theirs.state_dict())
    if is_first_release:  # no head, no prefix, and masks among the weights
        del arrays["lm_head.weight"]
        arrays = {name.removeprefix("transformer."): value for name, value in arrays.items()}
        masks = {f"h.{k}.attn.bias": torch.ones(1, 1, 12, 12) for k in range(KIND.layers)}
        arrays |= masks | {f"h.{k}.attn.masked_bias": torch.tensor(-1e4) for k in range(KIND.layers)}
    check_gpt2(arrays, theirs(torch.tensor(text)).detach().numpy(), text, backend)


def test_a_head_of_its_own_is_no_tied_one():
    arrays = dict(GPT2OfTorch(KIND).state_dict())
    arrays["lm_head.weight"] = arrays["lm_head.weight"] + 1
    with pytest.raises(tg.errors.InputError, match=r"wte\.weight and lm_head\.weight for wte\.weight"):
        tg.nn.load(GPT2(KIND), arrays, NAMES)


def test_gpt2_of_hugging_face_itself():
    transformers = pytest.importorskip("transformers")
    sizes = {"vocab_size": 17, "n_positions": 12, "n_embd": 12, "n_layer": 2, "n_head": 3}
    config = transformers.GPT2Config(**sizes, bos_token_id=0, eos_token_id=0)
    theirs = shaken(transformers.GPT2LMHeadModel(config))
    assert {n: v.shape for n, v in theirs.state_dict().items()} == {
        n: v.shape for n, v in GPT2OfTorch(KIND).state_dict().items()
    }
    text = RNG.integers(0, KIND.tokens, (2, 10))
    check_gpt2(theirs.state_dict(), theirs(torch.tensor(text)).logits.detach().numpy(), text, "perform")
