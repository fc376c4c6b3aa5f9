"""Signals: transforms, windows, filters, as textbooks of signal processing and SciPy's pages write them."""

import math

import tg
from tests.replay.program import program

C, M, ML = "complex128[?]", "float64[?, ?]", "float64[8, 16]"


def dft(frames):
    """The discrete Fourier transform by its definition (Oppenheim and Schafer, eq. 8.4)."""
    n = frames.shape[-1]
    k = tg.arange(n)
    return frames @ tg.exp(-2j * math.pi * tg.cast(k[:, None] * k[None, :], "float64") / tg.cast(n, "float64"))


def hann(n):
    """Hann's window (scipy.signal.windows.hann)."""
    return 0.5 * (1 - tg.cos(2 * math.pi * tg.cast(tg.arange(n), "float64") / n))


def spectrogram(x):
    """Power of overlapping frames in decibels (scipy.signal.spectrogram)."""
    size, step = 16, 8
    frames = x[step * tg.arange(7)[:, None] + tg.arange(size)[None, :]]
    frames = (frames - tg.mean(frames, axis=1, keepdims=True)) * hann(size)
    s = dft(frames)[:, : size // 2 + 1]
    power = tg.real(s * tg.conj(s)) / tg.sum(hann(size) ** 2)
    return 10 * tg.log10(tg.maximum(power, 1e-12))


def fft_convolution(x, h):
    """Convolution as a product of transforms (scipy.signal.fftconvolve)."""
    n = 32
    a, b = tg.concatenate([x, tg.zeros(n - 24)]), tg.concatenate([h, tg.zeros(n - 8)])
    product = dft(a) * dft(b)
    return tg.real(tg.conj(dft(tg.conj(product))) / n)


def envelope(z):
    """Amplitude and instantaneous phase of an analytic signal (scipy.signal.hilbert)."""
    return tg.abs(z), tg.angle(z), tg.diff(tg.angle(z)) / (2 * math.pi)


def coherence(x, y):
    """Magnitude squared coherence of two sets of frames (scipy.signal.coherence)."""
    a, b = dft(x), dft(y)
    cross = tg.mean(tg.conj(a) * b, axis=0)
    return tg.abs(cross) ** 2 / tg.real(tg.mean(tg.abs(a) ** 2, axis=0) * tg.mean(tg.abs(b) ** 2, axis=0))


def lock_in(x, t, f):
    """Amplitude and phase at one frequency, of a lock-in amplifier."""
    i, q = tg.mean(x * tg.cos(2 * math.pi * f * t)), tg.mean(x * tg.sin(2 * math.pi * f * t))
    return 2 * tg.sqrt(i**2 + q**2), tg.arctan2(-q, i)


def butterworth(w, cutoff):
    """Gain and phase of a second-order low-pass filter (scipy.signal.freqs)."""
    s = 1j * w / cutoff
    h = 1 / (1 + math.sqrt(2) * s + s**2)
    return 20 * tg.log10(tg.abs(h)), tg.angle(h) * 180 / math.pi


def impedance(w, r, l, c):
    """A resistor, a coil and a capacitor in series (Horowitz and Hill, ch. 1)."""
    z = r + 1j * w * l + 1 / (1j * w * c)
    return tg.abs(z), tg.angle(z), tg.real(1 / z)


def exponential_smoothing(x, a):
    """A filter of one pole (scipy.signal.lfilter)."""
    return tg.scan(lambda y, v: (a * v + (1 - a) * y, a * v + (1 - a) * y), x[0], x)[1]


def resampled(x):
    """Linear interpolation at half steps, and every second sample back."""
    y = tg.ravel(tg.stack([x[:-1], (x[:-1] + x[1:]) / 2], axis=1))
    return y, y[::2]


def mu_law(x):
    """Companding of speech and its inverse (ITU-T G.711)."""
    y = tg.sign(x) * tg.log1p(255 * tg.abs(x)) / math.log1p(255)
    back = tg.sign(y) * ((1 + 255) ** tg.abs(y) - 1) / 255
    return y, back


def cepstrum(x):
    """The real cepstrum of frames (Oppenheim and Schafer, ch. 13)."""
    log_magnitude = tg.log(tg.abs(dft(x)) + 1e-9)
    return tg.real(tg.conj(dft(tg.conj(log_magnitude + 0j))))


def autocorrelation(x):
    """Autocorrelation at the first lags, normalised (statsmodels.tsa.stattools.acf)."""
    d = x - tg.mean(x)
    return tg.stack([tg.sum(d[k:] * d[: d.shape[0] - k]) for k in range(5)]) / tg.sum(d * d)


def amplitudes(x):
    """The single-sided amplitude spectrum of a noisy signal (MATLAB's page on fft, 1000 samples at 1 kHz)."""
    p = tg.abs(tg.fft.fft(x))[: 1000 // 2 + 1] / 1000
    return p.at[1:-1].multiply(2)


def spectral_derivative(u):
    """The first and the second derivative of a periodic function by transforms (Trefethen 2000, program 5)."""

    def derivative(u):
        wave_numbers = tg.constant([0, *range(1, 12), 0, *range(-11, 0)])
        return tg.fft.ifft(1j * wave_numbers * tg.fft.fft(u))

    return derivative(u), derivative(derivative(u))


PROGRAMS = (
    program("spectrogram", spectrogram, x="float64[72]", grad=True),
    program("convolution by transform", fft_convolution, x="float64[24]", h="float64[8]", grad=True),
    program("envelope", envelope, z=C),
    program("coherence", coherence, x=ML, y=ML, grad=True),
    program("lock-in amplifier", lock_in, f="float64[]", grad=True),
    program("Butterworth filter", butterworth, cutoff="float64[]"),
    program("impedance", impedance, r="float64[]", l="float64[]", c="float64[]"),
    program("exponential smoothing", exponential_smoothing, a="float64[]", grad=True),
    program("resampling", resampled),
    program("mu-law", mu_law, grad=True),
    program("cepstrum", cepstrum, x=ML, grad=True),
    program("autocorrelation", autocorrelation, grad=True),
    program("amplitude spectrum", amplitudes, x="float64[1000]", grad=True),
    program("spectral derivative", spectral_derivative, u="complex128[24]"),
)
