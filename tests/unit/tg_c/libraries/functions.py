"""Functions to export, each with an example: a posterior, a recurrence, linear algebra, draws, a training step."""

import numpy as np

import tg


def small():
    """Run-time lengths, a number, a check that can fail, and results of three ranks."""
    n = tg.dim("n")
    x, w, scale = tg.matrix("x", shape=(n, 3)), tg.vector("w", shape=(3,)), tg.scalar("scale")
    gram = x.T @ x
    outputs = {"total": tg.sum(tg.exp(x @ w)) * scale, "waves": tg.sin(x) * 2, "factor": tg.linalg.cholesky(gram)}
    f = tg.function([x, w, scale], outputs, backend="perform", name="small")
    return f, {"x": _normal(7, 3), "w": np.array([0.1, -0.2, 0.3]), "scale": 2.0}


def posterior():
    """The log-density of a hierarchical model, and its gradient."""
    n, counties = tg.dim("n"), tg.dim("counties")
    y, floor = tg.vector("y", shape=(n,)), tg.vector("floor", shape=(n,))
    county = tg.tensor("county", "int64", (n,))
    a, mu, b, log_sigma = tg.vector("a", shape=(counties,)), tg.scalar("mu"), tg.scalar("b"), tg.scalar("log_sigma")
    apart = (y - a[county] - b * floor) / tg.exp(log_sigma)
    density = -0.5 * tg.sum(apart**2) - log_sigma * y.shape[0] - 0.5 * tg.sum((a - mu) ** 2) - mu**2 / 200
    gradient = tg.grad(density, [a, mu, b, log_sigma])
    outputs = {"density": density, **dict(zip(("da", "dmu", "db", "dlog_sigma"), gradient, strict=True))}
    f = tg.function([y, floor, county, a, mu, b, log_sigma], outputs, name="radon")
    places = np.random.default_rng(1).integers(0, 5, (2, 40))
    return f, [_normal(40), places[0] % 2 * 1.0, places[1], _normal(5), 0.1, 0.2, 0.3]


def recurrence():
    """A loop over steps whose number is known at run time, with its gradient."""
    steps = tg.dim("steps")
    xs, w, start = tg.matrix("xs", shape=(steps, 4)), tg.matrix("w", shape=(4, 4)), tg.vector("start", shape=(4,))

    def step(h, x):
        h = tg.tanh(h @ w + x)
        return h, h

    last, all_of_them = tg.scan(step, start, xs)
    outputs = {"last": last, "steps": all_of_them, "dw": tg.grad(tg.sum(all_of_them**2), w)}
    f = tg.function([xs, w, start], outputs, name="recurrence")
    return f, {"xs": _normal(9, 4), "w": _normal(4, 4), "start": np.zeros(4)}


def systems():
    """A factor, a system of equations and a product, beyond the size of plain loops."""
    n = tg.dim("n")
    a, b = tg.matrix("a", shape=(n, n)), tg.vector("b", shape=(n,))
    positive = a @ a.T + tg.eye(a.shape[0])
    outputs = {"l": tg.linalg.cholesky(positive), "x": tg.linalg.solve(positive, b), "square": a @ a}
    return tg.function([a, b], outputs, name="systems"), {"a": _normal(50, 50), "b": _normal(50)}


def draws():
    """Random numbers from a key."""
    n = tg.dim("n")
    key, x = tg.tensor("key", "uint32", (2,)), tg.vector("x", shape=(n,))
    outputs = {"z": tg.random.normal(key, shape=x.shape) + x, "i": tg.random.integers(key, 0, 10, shape=x.shape)}
    return tg.function([key, x], outputs, name="draws"), {"key": np.array([1, 2], np.uint32), "x": _normal(11)}


def training():
    """A step of stochastic gradient descent, whose weights are the state, and whose rate is a weight."""
    batch = tg.dim("batch")
    x, labels = tg.matrix("x", "float32", shape=(batch, 20)), tg.tensor("labels", "int64", (batch,))
    rng = np.random.default_rng(3)
    w1, w2 = (tg.shared(rng.normal(size=s).astype("float32") / 5, n) for n, s in (("w1", (20, 32)), ("w2", (32, 5))))
    bias, rate = tg.shared(np.zeros(32, "float32"), "bias"), tg.shared(np.float32(0.1), "rate")
    scores = tg.maximum(x @ w1 + bias, 0) @ w2
    chances = scores - tg.logsumexp(scores, axis=1, keepdims=True)
    loss = -tg.mean(tg.take_along_axis(chances, labels[:, None], axis=1))
    held = [w1, bias, w2]
    updates = {w: w - rate * g for w, g in zip(held, tg.grad(loss, held), strict=True)}
    f = tg.function([x, labels], {"loss": loss}, updates=updates, name="training")
    return f, {"x": _normal(16, 20).astype("float32"), "labels": rng.integers(0, 5, 16)}


def network():
    """A step of training a residual block: images that are held, and images as they lie, by one function."""
    batch = tg.dim("batch")
    images, labels = tg.tensor("images", "float32", (batch, 3, 4, 4)), tg.tensor("labels", "int64", (batch,))
    rng = np.random.default_rng(4)
    shapes = {
        "stem": (16, 3, 3, 3),
        "first": (24, 16, 3, 3),
        "second": (24, 24, 3, 3),
        "across": (24, 16, 1, 1),
        "last": (24, 5),
    }
    w = {
        n: tg.shared(rng.normal(size=s).astype("float32") / np.sqrt(np.float32(s[-1] * 9)), n, shape=s)
        for n, s in shapes.items()
    }
    x = tg.relu(tg.nn.conv2d(images, w["stem"], padding=1))
    y = tg.nn.conv2d(tg.relu(tg.nn.conv2d(x, w["first"], stride=2, padding=1)), w["second"], padding=1)
    y = tg.relu(y + tg.nn.conv2d(x, w["across"], stride=2))
    loss = tg.nn.cross_entropy(tg.mean(y, axis=(2, 3)) @ w["last"], labels)
    updates = {w[n]: w[n] - np.float32(0.1) * g for n, g in tg.grad(loss, w).items()}
    f = tg.function([images, labels], {"loss": loss}, updates=updates, name="network")
    return f, {"images": rng.normal(size=(2, 3, 4, 4)).astype("float32"), "labels": np.array([1, 4])}


def dtypes():
    """Results of the kinds of dtypes, and arrays without elements."""
    n = tg.dim("n")
    x = tg.vector("x", shape=(n,))
    z = tg.tensor("z", "complex128", (n,))
    outputs = {
        "half": tg.cast(x, "float16"),
        "brain": tg.cast(x, "bfloat16"),
        "single": tg.cast(x, "float32"),
        "truth": x > 0,
        "small": tg.cast(x * 10, "int8"),
        "unsigned": tg.cast(abs(x) * 1e9, "uint64"),
        "z": z * z + x,
        "none": x[:0],
    }
    f = tg.function([x, z], outputs, name="dtypes")
    return f, {"x": _normal(9), "z": _normal(9) + 1j * _normal(9)}


def spectra():
    """Transforms of free and of known numbers of points, prime ones too, and the gradient of a power."""
    n, rows = tg.dim("n"), tg.dim("rows")
    x, z = tg.matrix("x", shape=(rows, n)), tg.tensor("z", "complex64", (37, rows, 2))
    power = tg.abs(tg.fft.rfft(x)) ** 2
    outputs = {
        "whole": tg.fft.fft(x * (1 + 2j), norm="ortho"),
        "back": tg.fft.irfft(tg.fft.rfft(x)[:, ::-1], x.shape[1]),
        "across": tg.fft.ifft(z, axis=0),
        "plane": tg.fft.rfft2(x[:, :6]),
        "dx": tg.grad(tg.sum(power * tg.arange(power.shape[1])), x),
    }
    f = tg.function([x, z], outputs, name="spectra")
    z_value = (_normal(37, 4, 2) + 1j * _normal(37, 4, 2)[::-1]).astype("complex64")
    return f, {"x": _normal(4, 82), "z": z_value}


def fitted():
    """Least squares by QR factors with the gradient of the rest, and a basis that is completed, of complex numbers."""
    n, batch = tg.dim("n"), tg.dim("batch")
    a, b = tg.tensor("a", shape=(batch, n, 3)), tg.matrix("b", shape=(batch, n))
    z = tg.matrix("z", "complex64", shape=(5, 2))
    q, r = tg.linalg.qr(a)
    x = tg.linalg.solve_triangular(r, q.mT @ b[:, :, None])
    rest = tg.sum((a @ x - b[:, :, None]) ** 2)
    basis, _ = tg.linalg.qr(z, "complete")
    outputs = {"q": q, "r": r, "x": x, "da": tg.grad(rest, a), "basis": basis}
    f = tg.function([a, b, z], outputs, name="fitted")
    z_value = (_normal(5, 2) + 1j * _normal(2, 5).T).astype("complex64")
    return f, {"a": _normal(2, 20, 3), "b": _normal(2, 20), "z": z_value}


ALL = (small, posterior, recurrence, systems, draws, training, network, dtypes, spectra, fitted)


def _normal(*shape):
    return np.random.default_rng(0).normal(size=shape)
