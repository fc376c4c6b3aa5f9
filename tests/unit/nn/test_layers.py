"""Modules beside those of PyTorch: its weights by its names, values, running statistics, gradients of all weights."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import tg
from tg.errors import BoundsError, InputError, OptionError, ShapeError

if TYPE_CHECKING:
    from collections.abc import Callable

torch = pytest.importorskip("torch")
RNG = np.random.default_rng(34)

# of tg, of torch, the shape of x, options of a call of tg
CASES: dict[str, tuple[Callable[[], Any], Callable[[], Any], tuple[int, ...], dict[str, Any]]] = {
    "Dense": (lambda: tg.nn.Dense(4, 3), lambda: torch.nn.Linear(4, 3), (5, 4), {}),
    "Dense without bias": (
        lambda: tg.nn.Dense(4, 3, bias=False),
        lambda: torch.nn.Linear(4, 3, bias=False),
        (2, 5, 4),
        {},
    ),
    "Conv": (
        lambda: tg.nn.Conv(4, 6, 3, stride=2, padding=1, groups=2),
        lambda: torch.nn.Conv2d(4, 6, 3, stride=2, padding=1, groups=2),
        (2, 4, 7, 6),
        {},
    ),
    "Conv of one axis": (lambda: tg.nn.Conv(3, 5, (4,)), lambda: torch.nn.Conv1d(3, 5, 4), (2, 3, 9), {}),
    "Conv of three axes": (
        lambda: tg.nn.Conv(2, 3, (2, 3, 1), dilation=2, bias=False),
        lambda: torch.nn.Conv3d(2, 3, (2, 3, 1), dilation=2, bias=False),
        (1, 2, 5, 6, 3),
        {},
    ),
    "LayerNorm": (lambda: tg.nn.LayerNorm((3, 4)), lambda: torch.nn.LayerNorm((3, 4)), (2, 3, 4), {}),
    "GroupNorm": (lambda: tg.nn.GroupNorm(2, 6), lambda: torch.nn.GroupNorm(2, 6), (2, 6, 5), {}),
    "BatchNorm, predicting": (
        lambda: tg.nn.BatchNorm(3),
        lambda: torch.nn.BatchNorm2d(3).eval(),
        (4, 3, 5, 2),
        {"training": False},
    ),
    "BatchNorm, training": (
        lambda: tg.nn.BatchNorm(3, momentum=0.3, eps=1e-3),
        lambda: torch.nn.BatchNorm2d(3, momentum=0.3, eps=1e-3),
        (4, 3, 5, 2),
        {"training": True},
    ),
    "BatchNorm of vectors, not affine": (
        lambda: tg.nn.BatchNorm(3, affine=False),
        lambda: torch.nn.BatchNorm1d(3, affine=False),
        (6, 3),
        {"training": True},
    ),
    "Sequential": (
        lambda: tg.nn.Sequential(tg.nn.Dense(4, 6), tg.relu, tg.nn.BatchNorm(6), tg.nn.Dropout(0.0), tg.nn.Dense(6, 2)),
        lambda: torch.nn.Sequential(
            torch.nn.Linear(4, 6),
            torch.nn.ReLU(),
            torch.nn.BatchNorm1d(6),
            torch.nn.Dropout(0.0),
            torch.nn.Linear(6, 2),
        ),
        (5, 4),
        {"training": True},
    ),
    "TransformerLayer": (
        lambda: tg.nn.TransformerLayer(8, 2, 12, dropout=0.0),
        lambda: torch.nn.TransformerEncoderLayer(8, 2, 12, dropout=0.0, batch_first=True),
        (3, 5, 8),
        {"training": True},
    ),
    "Transformer, norms first": (
        lambda: tg.nn.Transformer(2, 8, 2, 12, dropout=0.0, norm_first=True, activation=tg.nn.gelu),
        lambda: torch.nn.TransformerEncoder(
            torch.nn.TransformerEncoderLayer(8, 2, 12, 0.0, "gelu", norm_first=True, batch_first=True),
            2,
            torch.nn.LayerNorm(8),
            enable_nested_tensor=False,
        ),
        (3, 5, 8),
        {"training": False},
    ),
    "RNN": (
        lambda: tg.nn.RNN(3, 4, 2, nonlinearity="relu"),
        lambda: torch.nn.RNN(3, 4, 2, nonlinearity="relu"),
        (5, 2, 3),
        {},
    ),
    "GRU": (
        lambda: tg.nn.GRU(3, 4, bidirectional=True, axis=1),
        lambda: torch.nn.GRU(3, 4, bidirectional=True, batch_first=True),
        (2, 5, 3),
        {},
    ),
    "LSTM": (lambda: tg.nn.LSTM(3, 4, 2, bias=False), lambda: torch.nn.LSTM(3, 4, 2, bias=False), (5, 2, 3), {}),
}


@pytest.mark.parametrize("case", CASES)
def test_values_gradients_and_running_statistics_are_those_of_torch(case: str) -> None:
    make, other, shape, options = CASES[case]
    torch.manual_seed(0)
    theirs = other().double()
    for p in theirs.parameters():  # norms begin with ones and zeros, which hide much
        p.data += 0.3 * torch.randn_like(p)
    model = tg.nn.load(make(), theirs.state_dict())
    given = RNG.normal(size=shape)
    want = theirs(torch.tensor(given))
    want = want[0] if isinstance(want, tuple) else want
    if list(theirs.parameters()):
        torch.sum(torch.sin(want)).backward()
    x = tg.tensor("x", shape=(None,) * len(shape))
    y = model(x, **options)
    y = y[0] if isinstance(y, tuple) else y
    weights = tg.nn.params(model)
    gradients = tg.grad(tg.sum(tg.sin(y)), weights) if weights else {}
    found, slopes = tg.function([x], [y, gradients], backend="perform")(given)
    np.testing.assert_allclose(found, want.detach().numpy(), rtol=1e-10, atol=1e-12)
    assert set(weights) == {name for name, _ in theirs.named_parameters()}
    for name, p in theirs.named_parameters():
        np.testing.assert_allclose(slopes[name], p.grad.numpy(), rtol=1e-9, atol=1e-11, err_msg=name)
    for name, v in tg.nn.state(model).items():
        np.testing.assert_allclose(v.get_value(), theirs.state_dict()[name].numpy(), rtol=1e-12, err_msg=name)


def test_attention_to_a_memory_with_a_mask_is_that_of_torch() -> None:
    theirs = torch.nn.MultiheadAttention(8, 2, batch_first=True).double()
    model = tg.nn.load(tg.nn.Attention(8, 2), theirs.state_dict())
    x, memory = RNG.normal(size=(3, 4, 8)), RNG.normal(size=(3, 6, 8))
    mask = RNG.random((4, 6)) < 0.7
    mask[:, 0] = True
    want, _ = theirs(torch.tensor(x), torch.tensor(memory), torch.tensor(memory), attn_mask=torch.tensor(~mask))
    np.testing.assert_allclose(model(x, memory, mask).eval(), want.detach().numpy(), rtol=1e-10)
    causal, _ = theirs(*[torch.tensor(x)] * 3, attn_mask=~torch.tril(torch.ones(4, 4)).bool())
    np.testing.assert_allclose(model(x, is_causal=True).eval(), causal.detach().numpy(), rtol=1e-10)


@pytest.mark.parametrize(
    ("make", "other"),
    [
        (lambda: tg.nn.Dense(50, 400), lambda: torch.nn.Linear(50, 400)),
        (lambda: tg.nn.Conv(8, 40, 3), lambda: torch.nn.Conv2d(8, 40, 3)),
        (lambda: tg.nn.Embedding(500, 30), lambda: torch.nn.Embedding(500, 30)),
        (lambda: tg.nn.LSTM(20, 60), lambda: torch.nn.LSTM(20, 60)),
        (lambda: tg.nn.Attention(64, 4), lambda: torch.nn.MultiheadAttention(64, 4)),
    ],
)
def test_first_values_are_distributed_as_those_of_torch(make: Any, other: Any) -> None:
    drawn = tg.nn.params(tg.nn.randomized(make(), tg.random.key(1)))
    for name, p in other().named_parameters():
        if p.numel() < 200 or p.detach().std() == 0:
            continue
        v = drawn[name].get_value()
        assert v.dtype == np.float32
        assert v.std() == pytest.approx(float(p.detach().std()), rel=0.15), name
        assert abs(v.mean()) < 0.15 * v.std()
        if name != "weight" or "Embedding" not in type(other()).__name__:
            assert np.max(np.abs(v)) == pytest.approx(float(p.detach().abs().max()), rel=0.1), name


def test_statistics_run_on_as_those_of_torch() -> None:
    theirs = torch.nn.BatchNorm1d(2).double()
    model = tg.nn.randomized(tg.nn.BatchNorm(2), tg.random.key(0), "float64")
    x = tg.matrix("x")
    train, predict = tg.function([x], model(x, training=True)), tg.function([x], model(x, training=False))
    for _ in range(5):
        given = RNG.normal(size=(4, 2))
        np.testing.assert_allclose(train(given), theirs(torch.tensor(given)).detach().numpy(), rtol=1e-10)
    given = RNG.normal(size=(4, 2))
    np.testing.assert_allclose(predict(given), theirs.eval()(torch.tensor(given)).detach().numpy(), rtol=1e-10)


def test_a_layer_that_is_used_twice_counts_both_batches() -> None:
    theirs = torch.nn.BatchNorm1d(2).double()
    model = tg.nn.randomized(tg.nn.BatchNorm(2), tg.random.key(0), "float64")
    x, y = tg.matrix("x"), tg.matrix("y")
    given = RNG.normal(size=(2, 4, 2))
    tg.function([x, y], [model(x, training=True), model(y, training=True)])(*given)
    for part in given:
        theirs(torch.tensor(part))
    np.testing.assert_allclose(model.running_mean.get_value(), theirs.running_mean.numpy(), rtol=1e-12)
    np.testing.assert_allclose(model.running_var.get_value(), theirs.running_var.numpy(), rtol=1e-12)


@pytest.mark.parametrize("outputs", ["loss", "gradient", "both", "none"])
def test_statistics_run_once_whatever_a_function_gives(outputs: str) -> None:
    net = tg.nn.Sequential(tg.nn.Dense(3, 2), tg.nn.BatchNorm(2), tg.nn.Dense(2, 1))
    model = tg.nn.randomized(net, tg.random.key(0), "float64")
    x = tg.matrix("x")
    loss, weights = tg.sum(tg.exp(model(x, training=True)) ** 2), tg.nn.params(model)
    gradient = tg.grad(loss, weights)
    chosen: Any = {"loss": loss, "gradient": gradient, "both": [loss, gradient], "none": []}[outputs]
    updates = tg.optimize.sgd(loss, weights, learning_rate=0.0)
    given = RNG.normal(size=(5, 3))
    before = given @ model[0].weight.get_value().T + model[0].bias.get_value()
    tg.function([x], chosen, updates=updates)(given)
    np.testing.assert_allclose(model[1].running_mean.get_value(), 0.1 * before.mean(0), rtol=1e-10)


def test_checkpoint_carries_statistics_outward() -> None:
    model = tg.nn.randomized(tg.nn.BatchNorm(2), tg.random.key(0), "float64")
    x, w = tg.matrix("x"), tg.shared(np.eye(2), "w", shape=(2, 2))
    y = tg.checkpoint(lambda v: tg.sin(model(v @ w, training=True)))(x)
    plain = tg.sin(tg.nn.batch_norm_training(x @ w, np.ones(2), np.zeros(2))[0])
    given = RNG.normal(size=(5, 2))
    found, want = tg.function([x], [tg.grad(tg.sum(y**2), w), tg.grad(tg.sum(plain**2), w)])(given)
    np.testing.assert_allclose(found, want, rtol=1e-10)
    np.testing.assert_allclose(model.running_mean.get_value(), 0.1 * given.mean(0), rtol=1e-10)


@pytest.mark.parametrize("used", [0, 1])
def test_checkpoint_keeps_an_update_with_the_results_that_it_lies_below(used: int) -> None:
    model = tg.nn.randomized(tg.nn.BatchNorm(2), tg.random.key(0), "float64")
    x = tg.matrix("x")
    found = tg.checkpoint(lambda v: (tg.sum(v) + 1, model(v, training=True)))(x)
    given = RNG.normal(size=(5, 2))
    tg.function([x], found[used])(given)
    np.testing.assert_allclose(model.running_mean.get_value(), used * 0.1 * given.mean(0), rtol=1e-10)


def test_statistics_run_though_no_gradient_reads_the_norm() -> None:
    model = tg.nn.randomized(tg.nn.Sequential(tg.nn.Dense(3, 2), tg.nn.BatchNorm(2)), tg.random.key(0), "float64")
    x = tg.matrix("x")
    loss = tg.sum(model(x, training=True))  # linear in what the norm gives
    tg.function([x], [], updates=tg.optimize.sgd(loss, tg.nn.params(model)))(RNG.normal(size=(5, 3)))
    assert np.all(model[1].running_mean.get_value() != 0)


def test_dropout_of_a_sequence_has_a_key_for_each_layer() -> None:
    model = tg.nn.Sequential(tg.nn.Dropout(0.5), tg.nn.Dropout(0.5))
    x, key = tg.ones((4000,)), tg.random.key(3)
    kept = np.asarray(model(x, training=True, key=key).eval())
    assert set(np.unique(kept)) == {0.0, 4.0}
    assert np.mean(kept == 4.0) == pytest.approx(0.25, abs=0.03)  # one key for both would keep a half
    np.testing.assert_array_equal(model(x, training=False).eval(), np.ones(4000))


def test_functions_of_a_sequence_have_what_they_take_by_name() -> None:
    seen: list[Any] = []

    def noisy(x: Any, *, training: bool, key: Any = None) -> Any:
        seen.append((training, key is not None))
        return x

    model = tg.nn.Sequential(noisy, tg.relu, tg.nn.dropout, lambda x: 2 * x)
    x, key = tg.ones((1000,)), tg.random.key(0)
    assert set(np.unique(model(x, training=True, key=key).eval())) == {0.0, 4.0}
    assert set(np.unique(model(x, training=False).eval())) == {2.0}
    assert seen == [(True, True), (False, False)]


def refused(make: Callable[[], Any], text: str, error: type[Exception] = InputError) -> None:
    with pytest.raises(error) as found:
        make()
    assert text in str(found.value)


def test_what_is_refused() -> None:
    key = tg.random.key(0)
    norm, dropout = tg.nn.randomized(tg.nn.BatchNorm(2), key), tg.nn.Dropout(0.5)
    x, batches = tg.matrix("x", "float32"), tg.tensor("t", "float32", (None, None, 2))
    refused(lambda: norm(x), "BatchNorm: training: found None, needed True or False")
    refused(lambda: dropout(x, training=True), "Dropout(p=0.5): training without a key")
    attention = tg.nn.randomized(tg.nn.Attention(4, 2, dropout=0.1), key)
    refused(lambda: attention(tg.ones((3, 4), "float32"), training=True), "Attention with Dropout(p=0.1): training wi")
    refused(lambda: tg.nn.Sequential([tg.relu]), "tg.nn.Sequential(*layers) takes a list apart")
    both = {**tg.nn.params(norm), **tg.nn.state(norm)}
    refused(lambda: tg.optimize.sgd(tg.sum(norm(x, training=True)), both), "running_mean is updated by what computes")
    refused(lambda: tg.vmap(lambda v: norm(v, training=True))(batches), "in the body of vmap")
    refused(lambda: tg.scan(lambda c, v: (c, norm(v, training=True)), 0.0, batches), "in the body of scan")
    refused(lambda: tg.cond(x[0, 0] > 0, lambda v: norm(v, training=True), lambda v: v, x), "in a loop, a branch")
    refused(lambda: norm(tg.ones((1, 2), "float32"), training=True), "found 1 element", ShapeError)
    refused(lambda: tg.nn.Dense(3, 2)(tg.matrix("x")), "Dense.weight has no value yet")
    refused(lambda: tg.nn.LayerNorm(2)(tg.matrix("x")), "LayerNorm.weight has no value yet")
    refused(lambda: tg.grad(tg.sum(norm(x, training=False)), norm), "tg.nn.params(model) has its weights")
    refused(lambda: tg.optimize.adam(tg.sum(norm(x, training=False)), norm), "tg.nn.params(model) has its weights")
    refused(lambda: tg.nn.BatchNorm(2, layout="nchw"), "BatchNorm: layout: found 'nchw'", OptionError)
    refused(lambda: tg.nn.Dense(0, 2), "Dense: inner: found 0")
    refused(lambda: tg.nn.Conv(3, 4, 3, groups=2), "found 3 and 4 channels in 2 groups")
    refused(lambda: tg.nn.Conv(3, 4, (1, 1, 1, 1)), "needed one to three lengths")
    refused(lambda: tg.nn.Dropout(1.0), "Dropout: p: found 1.0")
    refused(lambda: tg.nn.Attention(10, 4), "needed a multiple of 4 heads")
    refused(lambda: tg.nn.Sequential(tg.nn.Dense(2, 2), 3), "layer 1: found 3")


@pytest.mark.parametrize("padding", [0, 2, -1])
def test_the_row_of_what_pads_is_zero_and_stays(padding: int) -> None:
    theirs = torch.nn.Embedding(5, 3, padding_idx=padding).double()
    drawn = tg.nn.params(tg.nn.randomized(tg.nn.Embedding(5, 3, padding_idx=padding), tg.random.key(0)))["weight"]
    assert [bool(row.any()) for row in drawn.get_value()] == [bool(row.any()) for row in theirs.weight.detach()]
    model = tg.nn.load(tg.nn.Embedding(5, 3, padding_idx=padding), theirs.state_dict())
    tokens = np.array([[1, padding % 5, 4], [2, 1, padding % 5]])
    torch.sum(torch.cos(theirs(torch.tensor(tokens)) + 1)).backward()
    found = tg.grad(tg.sum(tg.cos(model(tokens) + 1)), model.weight).eval()
    np.testing.assert_allclose(found, theirs.weight.grad.numpy(), rtol=1e-12)
    assert not found[padding].any()
    refused(lambda: tg.nn.Embedding(5, 3, padding_idx=padding + 6), "Embedding: padding_idx: found", BoundsError)


def test_a_dropout_of_nothing_takes_a_key_and_uses_it() -> None:
    x, k = tg.matrix("x"), tg.scalar("k", "int64")
    key = tg.random.fold_in(tg.random.key(0), k)
    layers = [
        tg.nn.Dropout(0.0),
        tg.nn.randomized(tg.nn.Attention(2, 1), key=tg.random.key(1), dtype="float64"),
        lambda v, **options: tg.nn.alpha_dropout(v, 0.0, **options),
        lambda v, **options: tg.nn.dropout1d(v[None], 0.0, **options),
        tg.nn.randomized(tg.nn.Ensemble(tg.nn.Sequential(tg.nn.Dense(2, 2), tg.nn.Dropout(0.0)), 3), tg.random.key(2)),
    ]
    for layer in layers:
        y = layer(x, training=True, key=key)
        f = tg.function([x, k], [y, tg.grad(tg.sum(tg.sin(y)), x)])
        assert not any(node.op.name == "threefry" for node in f.graph.nodes)
        plain = layer(x, training=False) if isinstance(layer, tg.nn.Module) else layer(x, training=True)
        np.testing.assert_array_equal(f(np.eye(2), 3)[0], tg.function([x], plain)(np.eye(2)))
