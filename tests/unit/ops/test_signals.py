"""Filters and spectra at the edge: no points, NaN and infinities, lengths that differ; beside SciPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import signal

import tg
from tg.errors import ShapeError

SOS = signal.butter(2, 0.3, output="sos")


@pytest.mark.parametrize("x", [[np.inf, 1.0, 1.0, 1.0], [np.nan, 1.0, 1.0], [1.0, np.inf, 2.0, 1.0]])
@pytest.mark.parametrize("a", [[1.0], [2.0, -0.5]])
def test_values_that_are_not_finite_reach_what_scipy_says(a: list[float], x: list[float]) -> None:
    np.testing.assert_array_equal(tg.signal.lfilter([1.0, 2.0], a, x).eval(), signal.lfilter([1.0, 2.0], a, x))


def test_a_filter_without_feedback_has_states_and_turns_round() -> None:
    x, b, zi = np.random.default_rng(0).normal(size=30), [1.0, 2.0, 0.5], [1.0, -1.0]
    y, after = tg.function([], list(tg.signal.lfilter(b, 2.0, x, zi=zi)), backend="perform")()
    for result, wanted in zip((y, after), signal.lfilter(b, 2.0, x, zi=zi), strict=True):
        np.testing.assert_allclose(result, wanted, rtol=1e-13)
    np.testing.assert_allclose(tg.signal.filtfilt(b, [2.0], x).eval(), signal.filtfilt(b, [2.0], x), rtol=1e-12)
    np.testing.assert_allclose(tg.signal.lfilter_zi(b, [2.0]).eval(), signal.lfilter_zi(b, [2.0]), rtol=1e-14)


@pytest.mark.parametrize("shape", [(0,), (2, 0), (0, 3)])
def test_a_signal_of_no_points_has_no_results(shape: tuple[int, ...]) -> None:
    x = tg.tensor("x", shape=(None,) * len(shape))
    results = [tg.signal.lfilter([1.0, 2.0], [1.0, 0.5], x), tg.signal.sosfilt(SOS, x)]
    for result in tg.function([x], results, backend="perform")(np.ones(shape)):
        assert result.shape == shape


@pytest.mark.parametrize(
    ("mistake", "text"),
    [
        (lambda: tg.signal.welch(np.ones(0)), "welch: found a signal of 0 points, needed at least 1"),
        (lambda: tg.signal.stft(np.ones((2, 0))), "stft: found a signal of 0 points, needed at least 1"),
        (lambda: tg.signal.csd(np.ones(4), np.ones(5)), "csd: found signals of 4 and of 5 points, needed as many"),
    ],
)
def test_lengths_of_signals_are_told(mistake: Any, text: str) -> None:
    with pytest.raises(ShapeError, match=text):
        mistake()
