"""A spectrogram classifier: its features beside SciPy's, its first steps on each backend, and what it learns."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.signal
import spectrogram

import tg


def test_the_features_are_those_of_scipys_transforms() -> None:
    sounds, _ = spectrogram.sounds(3, 1)
    x = tg.tensor("x", dtype="float32", shape=(None, spectrogram.POINTS))
    values = tg.function([x], spectrogram.features(x), backend="perform")(sounds)
    _, _, z = scipy.signal.stft(sounds.astype(float), nperseg=spectrogram.SEGMENT)
    np.testing.assert_allclose(values, np.log(np.abs(z) ** 2 + 1e-4).reshape(3, -1) / 4 + 1, rtol=1e-4, atol=1e-4)
    assert values.dtype == np.float32


@pytest.mark.sampled(6)
@pytest.mark.parametrize("backend", ["c", "jax", "mlx", "numba", "perform", "torch"])
def test_first_losses_are_those_of_a_network_by_hand(backend) -> None:
    torch = pytest.importorskip("torch")
    losses = spectrogram.train(backend, steps=3).losses
    weights = [torch.tensor(np.array(w.get_value()), requires_grad=True) for w in spectrogram.network()]
    adam, peers = torch.optim.Adam(weights, lr=spectrogram.RATE), []
    for seed in range(3):
        sounds, labels = spectrogram.sounds(spectrogram.BATCH, seed)
        _, _, z = scipy.signal.stft(sounds.astype(float), nperseg=spectrogram.SEGMENT)
        features = torch.tensor((np.log(np.abs(z) ** 2 + 1e-4) / 4 + 1).reshape(len(z), -1).astype("float32"))
        hidden = torch.relu(features @ weights[0] + weights[1])
        loss = torch.nn.functional.cross_entropy(hidden @ weights[2] + weights[3], torch.tensor(labels))
        adam.zero_grad()
        loss.backward()
        adam.step()
        peers.append(loss.item())
    np.testing.assert_allclose(losses, peers, rtol=2e-4)


@pytest.mark.long
def test_new_sounds_are_told_apart() -> None:
    result = spectrogram.train("c")
    assert result.losses[-1] < 0.3 * result.losses[0]
    assert result.accuracy > 0.9
