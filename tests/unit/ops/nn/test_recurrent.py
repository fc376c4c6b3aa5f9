"""Recurrent networks against PyTorch's modules: values, gradients and theirs; lists of weights that do not fit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tg
from tg.errors import DomainError, DtypeError, InputError, OptionError, ShapeError

pytestmark = pytest.mark.sampled(3)

DRAWS = np.random.default_rng(11)
WEIGHTS = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
KINDS: list[tuple[str, str, dict[str, Any]]] = [
    ("rnn", "RNN", {}),
    ("rnn", "RNN", {"nonlinearity": "relu"}),
    ("gru", "GRU", {}),
    ("lstm", "LSTM", {}),
]


@pytest.mark.parametrize(("name", "module", "options"), KINDS)
@pytest.mark.parametrize("deep", [False, True])
def test_values_gradients_and_theirs_are_those_of_pytorch(
    name: str, module: str, options: dict[str, Any], deep: bool
) -> None:
    torch = pytest.importorskip("torch")
    layers, axis = (2, 1) if deep else (1, 0)
    theirs = getattr(torch.nn, module)(
        3, 4, num_layers=layers, bidirectional=deep, batch_first=deep, dtype=torch.float64, **options
    )
    ends = [f"_l{k}{way}" for k in range(layers) for way in (["", "_reverse"] if deep else [""])]
    x = torch.tensor(DRAWS.normal(size=(5, 2, 3)), requires_grad=True)
    states = [
        torch.tensor(DRAWS.normal(size=(len(ends), 5 if deep else 2, 4)), requires_grad=True)
        for _ in range(2 if name == "lstm" else 1)
    ]
    flat = [x, *states, *(getattr(theirs, kind + end) for kind in WEIGHTS for end in ends)]
    y, last = theirs(x, tuple(states) if name == "lstm" else states[0])
    lasts = list(last) if name == "lstm" else [last]
    first = torch.autograd.grad(torch.sin(y).sum() + sum((v * v).sum() for v in lasts), flat, create_graph=True)
    second = torch.autograd.grad(sum(torch.sin(v).sum() for v in first), flat)
    wants = [v.detach().numpy() for v in (y, *lasts, *first, *second)]

    given = [tg.tensor(shape=(None,) * v.ndim) for v in flat]
    rest = given[1 + len(states) :]
    lists = [rest[k : k + len(ends)] for k in range(0, len(rest), len(ends))]
    begin = (given[1], given[2]) if name == "lstm" else given[1]
    y, last = getattr(tg.nn, name)(given[0], *lists, begin, axis=axis, bidirectional=deep, **options)
    lasts = list(last) if name == "lstm" else [last]
    first = tg.grad(tg.sum(tg.sin(y)) + sum(tg.sum(v * v) for v in lasts), given)
    second = tg.grad(sum(tg.sum(tg.sin(v)) for v in first), given)
    f = tg.function(given, [y, *lasts, *first, *second], backend="perform")
    for found, want in zip(f(*(v.detach().numpy() for v in flat)), wants, strict=True):
        np.testing.assert_allclose(found, want, rtol=0, atol=1e-12)


@pytest.mark.parametrize(("name", "module", "options"), KINDS)
def test_padded_sequences_are_those_that_pytorch_packs(name: str, module: str, options: dict[str, Any]) -> None:
    torch = pytest.importorskip("torch")
    theirs = getattr(torch.nn, module)(3, 4, 2, bidirectional=True, dtype=torch.float64, **options)
    ends = [f"_l{k}{way}" for k in range(2) for way in ("", "_reverse")]
    lengths, values = np.array([3, 6, 1, 5], "int32"), DRAWS.normal(size=(6, 4, 3))
    x = torch.tensor(values, requires_grad=True)
    states = [torch.tensor(DRAWS.normal(size=(4, 4, 4)), requires_grad=True) for _ in range(2 if name == "lstm" else 1)]
    flat = [x, *states, *(getattr(theirs, kind + end) for kind in WEIGHTS for end in ends)]
    packed = torch.nn.utils.rnn.pack_padded_sequence(x, torch.tensor(lengths), enforce_sorted=False)
    y, last = theirs(packed, tuple(states) if name == "lstm" else states[0])
    y, _ = torch.nn.utils.rnn.pad_packed_sequence(y)
    lasts = list(last) if name == "lstm" else [last]
    slopes = torch.autograd.grad(torch.sin(y).sum() + sum((v * v).sum() for v in lasts), flat)
    wants = [v.detach().numpy() for v in (y, *lasts, *slopes)]

    given, counts = [tg.tensor(shape=(None,) * v.ndim) for v in flat], tg.vector(dtype="int32")
    rest = given[1 + len(states) :]
    lists = [rest[k : k + len(ends)] for k in range(0, len(rest), len(ends))]
    begin = (given[1], given[2]) if name == "lstm" else given[1]
    y, last = getattr(tg.nn, name)(given[0], *lists, begin, lengths=counts, bidirectional=True, **options)
    lasts = list(last) if name == "lstm" else [last]
    slopes = tg.grad(tg.sum(tg.sin(y)) + sum(tg.sum(v * v) for v in lasts), given)
    f = tg.function([counts, *given], [y, *lasts, *slopes], backend="perform")
    padded = np.where(np.arange(6)[:, None, None] < lengths[:, None], values, np.nan)
    found = f(lengths, padded, *(v.detach().numpy() for v in flat[1:]))
    for one, want in zip(found, wants, strict=True):
        np.testing.assert_allclose(one, want, rtol=0, atol=1e-12)


def test_a_sequence_without_steps_keeps_its_first_state() -> None:
    x, w, u = DRAWS.normal(size=(2, 5, 3)), DRAWS.normal(size=(6, 3)), DRAWS.normal(size=(6, 2))
    state = DRAWS.normal(size=(1, 2, 2))
    y, last = tg.nn.gru(x, w, u, state=state, lengths=[0, 5], axis=1)
    whole, _ = tg.nn.gru(x, w, u, state=state, axis=1)
    found, end, want = tg.function([], [y, last, whole], backend="perform")()
    np.testing.assert_array_equal(found, np.where(np.arange(2)[:, None, None] > 0, want, 0))
    np.testing.assert_array_equal(end[0, 0], state[0, 0])
    np.testing.assert_array_equal(end[0, 1], want[1, -1])


def test_without_a_batch_and_with_two_axes_of_batches() -> None:
    w, u = DRAWS.normal(size=(8, 3)), DRAWS.normal(size=(8, 2))
    x = DRAWS.normal(size=(5, 4, 6, 3))
    whole, (h, c) = tg.nn.lstm(x, w, u)
    alone, _ = tg.nn.lstm(x[:, 1, 2], w, u)
    assert [v.type.shape for v in (whole, h, c)] == [(5, 4, 6, 2), (1, 4, 6, 2), (1, 4, 6, 2)]
    found, want = tg.function([], [alone, whole[:, 1, 2]], backend="perform")()
    np.testing.assert_allclose(found, want, rtol=0, atol=1e-15)


def test_what_is_refused() -> None:
    x, w, u = tg.tensor(shape=(5, 1, 3)), tg.tensor(shape=(8, 3)), tg.tensor(shape=(8, 2))
    state, w0 = tg.tensor(shape=(1, 1, 2)), np.ones((3, 3))
    found: list[tuple[Any, type[Exception], str]] = [
        (lambda: tg.nn.rnn(x, w, u, nonlinearity="sin"), OptionError, "found 'sin', needed 'tanh' or 'relu'"),
        (lambda: tg.nn.lstm(x, w, u, state=state), InputError, "lstm: state: found "),
        (lambda: tg.nn.lstm(x, [w, w], u), InputError, "lstm: weight_hh: found 1 arrays, needed 2, as of weight_ih"),
        (lambda: tg.nn.lstm(x, None, u), InputError, "lstm: weight_ih: found None, needed an array, or a list of them"),
        (
            lambda: tg.nn.lstm(x, w, u, bidirectional=True),
            InputError,
            "lstm: weight_ih: found 1 arrays, needed two for each layer: bidirectional",
        ),
        (lambda: tg.nn.lstm(x, w, u, axis=2), ShapeError, "lstm: axis: found that of features"),
        (lambda: tg.nn.lstm(x, w, u, lengths=[1, 2]), ShapeError, "lstm: lengths"),
        (lambda: tg.nn.lstm(x, w, u, lengths=[2.0]), DtypeError, "lengths: found float64[1], needed integers"),
        (
            lambda: tg.nn.rnn(np.ones((5, 1, 3)), w0, w0, lengths=[6])[0].eval(),
            DomainError,
            "found 6, needed lengths in [0, 5]",
        ),
        (lambda: tg.nn.lstm(x[0, 0], w, u), ShapeError, "lstm: x: found float64[3], needed at least 2 axes"),
        (lambda: tg.nn.lstm(x, u, u), ShapeError, "lstm: weight_ih"),
        (lambda: tg.nn.gru(x, w, u), ShapeError, "gru: weight_ih"),
        (lambda: tg.nn.lstm(x, w, u, x), ShapeError, "lstm: bias_ih: found float64[5, 1, 3], needed 1 axis"),
        (lambda: tg.nn.gru(x, w[:6], u[:6], state=state[0]), ShapeError, "gru: state: found float64[1, 2], needed 3"),
    ]
    for make, error, text in found:
        with pytest.raises(error) as caught:
            make()
        assert text in str(caught.value)
