"""Matrices, loops and places of arrays: models and methods as their papers and textbooks write them."""

import math

import tg
from tests.replay.program import program

S, I, M = "float64[]", "int64[?]", "float64[?, ?]"
M2, M3, M4, M6 = (f"float64[{n}, {n}]" for n in (2, 3, 4, 6))


def probabilistic_pca(w, log_s, s):
    """The log-likelihood of few factors with noise (Tipping and Bishop 1999)."""
    c = w @ w.T + tg.exp(log_s) * tg.eye(6)
    return -0.5 * (tg.linalg.slogdet(c)[1] + tg.trace(tg.linalg.solve(c, s)))


def factor_analysis(w, log_psi, s):
    """The log-likelihood with a variance for each variable, and the factors' weights (Rubin and Thayer 1982)."""
    psi = tg.diag(tg.exp(log_psi))
    c, p = w @ w.T + psi, tg.linalg.inv(psi)
    beta = tg.linalg.inv(tg.eye(2) + w.T @ p @ w) @ w.T @ p
    return -0.5 * (tg.linalg.slogdet(c)[1] + tg.trace(tg.linalg.inv(c) @ s)), beta


def matrix_normal(x, u, v):
    """The density of a matrix by that of its columns below one another (Dawid 1981)."""
    c = tg.kron(v @ v.T + tg.eye(3), u @ u.T + tg.eye(4))
    r = tg.reshape(x.T, (12,))
    return -0.5 * (r @ tg.linalg.solve(c, r) + tg.linalg.slogdet(c)[1] + 12 * math.log(2 * math.pi))


def grid_process(x, y, weights):
    """Means of a Gaussian process at the points of a grid, by weights at all (Saatci 2011, chapter 5)."""
    near = [tg.exp(-((p[:, None] - p[None, :]) ** 2) / 2) for p in (x, y)]
    return tg.kron(*near) @ weights


def kronecker_curvature(a, g, dw):
    """A step by curvature in two factors, written by the whole matrix (Martens and Grosse 2015)."""
    f = tg.linalg.inv(tg.kron(a @ a.T + 0.1 * tg.eye(3), g @ g.T + 0.1 * tg.eye(2)))
    return -f @ tg.ravel(dw.T), tg.sqrt(tg.diagonal(f))


def two_qubits(state, theta):
    """A Hadamard gate on each qubit, then a rotation of the first (Nielsen and Chuang 2000)."""
    h = tg.as_variable([[1.0, 1.0], [1.0, -1.0]]) / math.sqrt(2)
    c, s = tg.cos(theta / 2), tg.sin(theta / 2)
    r = tg.stack([tg.stack([c, -s]), tg.stack([s, c])])
    return (tg.kron(r, tg.eye(2)) @ tg.kron(h, h) @ state) ** 2


def two_groups(r, a, b):
    """The log-density of groups that have nothing to do with one another (Laird and Ware 1982)."""
    v = tg.block_diag(a @ a.T + tg.eye(3), b @ b.T + tg.eye(2))
    return -0.5 * (tg.linalg.slogdet(v)[1] + r @ tg.linalg.solve(v, r))


def mixed_model(x, z, y, log_g):
    """Effects that are fixed and drawn, by one system of equations (Henderson 1950)."""
    g = tg.linalg.inv(tg.diag(tg.exp(log_g)))
    rows = [tg.concatenate([x.T @ x, x.T @ z], axis=1), tg.concatenate([z.T @ x, z.T @ z + g], axis=1)]
    return tg.linalg.solve(tg.concatenate(rows, axis=0), tg.concatenate([x.T @ y, z.T @ y]))


def implicit_heat(u, r):
    """Two implicit steps of the heat equation on a rod (Crank and Nicolson 1947)."""
    off = tg.full(39, -1.0)
    d2 = tg.diag(tg.full(40, 2.0)) + tg.diag(off, k=1) + tg.diag(off, k=-1)
    a, b = tg.eye(40) + r / 2 * d2, tg.eye(40) - r / 2 * d2
    return tg.linalg.solve(a, b @ tg.linalg.solve(a, b @ u))


def autoregressive_field(x, phi):
    """The log-density of a chain by its precision, and the variances (Rue and Held 2005)."""
    off = tg.broadcast_to(-phi, (29,))
    inner = tg.concatenate([tg.ones(1), tg.broadcast_to(1 + phi**2, (28,)), tg.ones(1)])
    q = tg.diag(inner) + tg.diag(off, k=1) + tg.diag(off, k=-1)
    return 0.5 * tg.linalg.slogdet(q)[1] - 0.5 * x @ q @ x, tg.diagonal(tg.linalg.inv(q))


def chain_of_atoms(energy, t):
    """The secular determinant of a chain (Hueckel 1931)."""
    h = tg.diag(tg.full(20, 1.0) * -energy) + tg.diag(t, k=1) + tg.diag(t, k=-1)
    return tg.linalg.det(h)


def whitening(x):
    """Cholesky whitening, the precision, and the log-determinant by the factor (Kessy et al. 2018)."""
    d = x - tg.mean(x, axis=0)
    s = d.T @ d / (tg.cast(x.shape[0], "float64") - 1) + 1e-6 * tg.eye(4)
    w = tg.linalg.inv(tg.linalg.cholesky(s))
    return d @ w.T, w.T @ w, 2 * tg.linalg.slogdet(tg.linalg.cholesky(s))[1]


def functions_by_vectors(a):
    """The root and the logarithm of a covariance by diagonalisation, with the inverse of the vectors (Higham 2008)."""
    w, v = tg.linalg.eigh(a @ a.T + tg.eye(4))
    inverse = tg.linalg.inv(v)
    return v @ tg.diag(tg.sqrt(w)) @ inverse, v @ tg.diag(tg.log(w)) @ inverse


def ridge(x, y, log_a, log_b):
    """Bayesian linear regression: posterior, evidence and predictive variances (Bishop 2006, 3.5)."""
    a, b = tg.exp(log_a), tg.exp(log_b)
    s = tg.linalg.inv(tg.assume(a * tg.eye(4) + b * x.T @ x, positive_definite=True))
    m = b * s @ x.T @ y
    evidence = 0.5 * (4 * tg.log(a) - b * tg.sum((y - x @ m) ** 2) - a * m @ m)
    return evidence, 1 / b + tg.sum((x @ s) * x, axis=1)


def normal_density(r, l):
    """A normal density as it is defined, by the determinant and the inverse (any textbook)."""
    s = tg.assume(l @ l.T + tg.eye(6), positive_definite=True)
    return tg.exp(-0.5 * r @ tg.linalg.inv(s) @ r) / tg.sqrt((2 * math.pi) ** 6 * tg.linalg.det(s))


def optimal_design(x, w):
    """The information of a design, of which the determinant is made large (Kiefer and Wolfowitz 1959)."""
    return tg.log(tg.linalg.det(x.T @ (w[:, None] * x)))


def neo_hooke(f, mu, lam):
    """The energy of a nearly incompressible rubber by its deformation (Bonet and Wood 2008, 6.5)."""
    j = tg.linalg.det(f)
    return mu / 2 * (j ** (-2 / 3) * tg.trace(f.T @ f) - 3) + lam / 2 * (j - 1) ** 2


def invertible_convolution(x, w):
    """A flow's mixing of channels, and the logarithm of its volume (Kingma and Dhariwal 2018)."""
    return tg.sum(x @ w.T) + tg.log(tg.abs(tg.linalg.det(w)))


def multivariate_normal(x, mu, raw):
    """The log-density of rows by the Cholesky factor of their covariance (scipy.stats.multivariate_normal)."""
    l = tg.linalg.cholesky(raw @ raw.T + 1e-3 * tg.eye(6))
    z = tg.linalg.solve_triangular(l, (x - mu).T, lower=True)
    n = tg.cast(x.shape[0], "float64")
    return -0.5 * tg.sum(z**2) - n * tg.sum(tg.log(tg.diagonal(l))) - 3 * n * math.log(2 * math.pi)


def spectrum(x):
    """The explained variance, the nuclear norm and the effective rank of data (Roy and Vetterli 2007)."""
    _, s, _ = tg.linalg.svd(x - tg.mean(x, axis=0), full_matrices=False)
    p = s / tg.sum(s)
    return s**2 / tg.sum(s**2), tg.exp(-tg.sum(p * tg.log(p)))


def principal_components(x):
    """The first two components, and the condition of the data (scikit-learn's PCA)."""
    d = x - tg.mean(x, axis=0)
    u, s, v = tg.linalg.svd(d, full_matrices=False)
    values = tg.linalg.svdvals(d)
    return (u * s)[:, :2], v[:2], values[0] / values[-1]


def recurrent(x, y, w, u, b, v):
    """A recurrent network whose loss is added up step by step (Elman 1990)."""

    def step(carry, one):
        h, loss = carry
        h = tg.tanh(w @ h + u @ one[0] + b)
        return (h, loss + (v @ h - one[1]) ** 2), h

    (_, loss), hidden = tg.scan(step, (tg.zeros(4), tg.as_variable(0.0)), (x, y))
    return loss, hidden


def unrolled_recurrent(x, w, u):
    """Three steps written out from a state of zeros (Goodfellow et al. 2016, 10.2)."""
    h = tg.zeros(4)
    for t in range(3):
        h = tg.tanh(w @ h + u @ x[t])
    return h


def leapfrog(q, p):
    """Hamilton's equations of a lattice by ten leapfrog steps, with the work that was done (Neal 2011)."""

    def force(q):
        return tg.roll(q, 1) - 2 * q + tg.roll(q, -1) - q**3

    def step(carry, _):
        q, p, work = carry
        p = p + 0.05 * force(q)
        q = q + 0.1 * p
        p = p + 0.05 * force(q)
        return (q, p, work + tg.sum(p * force(q))), None

    (q, p, work), _ = tg.scan(step, (q, p, tg.as_variable(0.0)), None, 10)
    return tg.sum(p**2) / 2, work


def growth(x, r, k):
    """Populations that grow at one rate, and how many there were in all (Verhulst 1838, by Euler's steps)."""

    def step(carry, _):
        x, total = carry
        x = x + 0.1 * r * x * (1 - x / k)
        return (x, total + tg.sum(x)), None

    (x, total), _ = tg.scan(step, (x, tg.as_variable(0.0)), None, 20)
    return total, x


def one_step(x, m, a):
    """A loop that is asked for one step, as a sampler's warm-up may be (pytensor.scan with n_steps=1)."""
    return tg.scan(lambda c, _: (a @ c + x, tg.sum(c)), m, None, length=1)[0]


def power_method(a, v):
    """The largest eigenvalue by as many steps as there are rows (von Mises and Pollaczek-Geiringer 1929)."""
    v, _ = tg.scan(lambda v, _: (a @ v / tg.norm(a @ v), None), v, None, length=a.shape[0])
    return v @ a @ v


def horner(c, x):
    """The value of a polynomial by its coefficients (Horner 1819)."""
    return tg.scan(lambda y, one: (y * x + one, y), tg.zeros_like(x), c)


def hausdorff(x, y):
    """The largest distance to the nearest point, both ways (Huttenlocher et al. 1993)."""
    d = tg.sqrt(tg.sum((x[:, None, :] - y[None, :, :]) ** 2, axis=-1))
    return tg.maximum(tg.max(tg.min(d, axis=1)), tg.max(tg.min(d, axis=0)))


def prototypes(x, c):
    """Classes by the nearest prototype, and how sure they are (Snell et al. 2017)."""
    scores = -tg.sum((x[:, None, :] - c[None, :, :]) ** 2, axis=-1)
    return tg.argmax(scores, axis=1), tg.max(scores, axis=1)


def first_crossing(x, level):
    """Where a signal first exceeds a level, and whether it does (NumPy's argmax of a mask)."""
    above = x > level
    return tg.argmax(tg.cast(above, "int64")), tg.any(above)


def largest_entry(a):
    """The largest entry of a matrix as MATLAB writes it, and the row and column sums that bound its eigenvalues."""
    size = tg.abs(a)
    return tg.max(tg.max(size, axis=0), axis=0), tg.max(tg.sum(size, axis=0)), tg.max(tg.sum(size, axis=1))


def augmented(image, mask):
    """An image turned to channels first, scaled by its largest value and flipped with its mask (torchvision)."""
    image = tg.transpose(image, (2, 0, 1))
    image = tg.flip(image / tg.max(image), 2)
    mask = tg.flip(mask, 1)
    return image, tg.max(image), tg.any(mask), tg.sum(tg.cast(mask, "int64"))


def trend(y):
    """A line by least squares over the time steps (statsmodels' detrend)."""
    t = tg.arange(y.shape[0])
    d = tg.cast(t, "float64") - tg.cast(tg.sum(t), "float64") / tg.cast(y.shape[0], "float64")
    return tg.sum(d * y) / tg.sum(d**2), tg.max(t)


def class_counts(y, p):
    """How often each class is, how many labels are valid, and the likelihood (scikit-learn's LabelBinarizer)."""
    z = tg.one_hot(y, 5)
    return tg.sum(z, axis=0), tg.sum(z, axis=1), -tg.sum(z * tg.log(p))


def padded_convolution(x, w):
    """A convolution of images with zeros put around them first (Keras' ZeroPadding2D, as in its ResNet50)."""
    x = tg.pad(x, ((0, 0), (0, 0), (3, 3), (3, 3)))
    return tg.nn.conv2d(x, w, stride=2)


def beam(u, k):
    """The stiffness of a chain of springs, assembled element by element (Hughes 2000)."""
    m = tg.zeros((4, 4))
    e = tg.as_variable([[1.0, -1.0], [-1.0, 1.0]])
    for i in range(3):
        m = m.at[i : i + 2, i : i + 2].add(k[i] * e)
    return m[1:, 1:] @ u, u - tg.concatenate([u[:1], u[:-1]])


def entropy(x):
    """The entropy of the shares that there are (scipy.stats.entropy, of counts)."""
    y = x[x > 0]
    p = y / tg.sum(y)
    return -tg.sum(p * tg.log(p))


def upper_triangle(a):
    """The correlations above the diagonal, as a vector (numpy.triu_indices)."""
    rows, columns = tg.nonzero(tg.as_variable([[k < j for j in range(4)] for k in range(4)]))
    return a[rows, columns], tg.mean(a[rows, columns])


def bonds(x, i, j):
    """The forces of springs between atoms, added to either end (numpy.add.at)."""
    d = x[i] - x[j]
    force = -d
    return tg.zeros_like(x).at[i].add(force).at[j].add(-force)


def euler(y, rate):
    """As many of Euler's steps as a tolerance asks for (Hairer, Norsett and Wanner 1993, I.7)."""
    end, step = tg.as_variable(1.0), tg.as_variable(0.25)
    steps = tg.cast(tg.ceil(end / step), "int64")
    return tg.fori_loop(0, steps, lambda _, v: v - step * rate * v, y)


PROGRAMS = (
    program("Euler", euler, y="float64[3]", rate=S, grad=True),
    program("probabilistic PCA", probabilistic_pca, w="float64[6, 2]", log_s=S, s=M6, wrt=("w", "log_s")),
    program("factor analysis", factor_analysis, w="float64[5, 2]", log_psi="float64[5]", s="float64[5, 5]", grad=True),
    program("matrix normal", matrix_normal, x="float64[4, 3]", u=M4, v=M3, grad=True),
    program("grid process", grid_process, x="float64[4]", y="float64[3]", weights="float64[12]", grad=True),
    program("Kronecker curvature", kronecker_curvature, a=M3, g=M2, dw="float64[2, 3]", grad=True),
    program("two qubits", two_qubits, state="float64[4]", theta=S, grad=True),
    program("two groups", two_groups, r="float64[5]", a=M3, b=M2, grad=True),
    program("mixed model", mixed_model, x="float64[?, 2]", z="float64[?, 3]", log_g="float64[3]", grad=True),
    program("implicit heat", implicit_heat, u="float64[40]", r=S, grad=True),
    program("autoregressive field", autoregressive_field, x="float64[30]", phi=S, grad=True),
    program("chain of atoms", chain_of_atoms, energy=S, t="float64[19]", grad=True),
    program("whitening", whitening, x="float64[?, 4]", grad=True),
    program("functions by vectors", functions_by_vectors, a=M4, grad=True),
    program("ridge", ridge, x="float64[?, 4]", log_a=S, log_b=S, wrt=("log_a", "log_b")),
    program("normal density", normal_density, r="float64[6]", l=M6, grad=True),
    program("optimal design", optimal_design, x="float64[?, 4]", grad=True),
    program("neo-Hooke", neo_hooke, f=M3, mu=S, lam=S, grad=True),
    program("invertible convolution", invertible_convolution, x="float64[?, 6]", w=M6, grad=True),
    program("multivariate normal", multivariate_normal, x="float64[?, 6]", mu="float64[6]", raw=M6, grad=True),
    program("spectrum", spectrum, x="float64[?, 4]"),
    program("principal components", principal_components, x="float64[?, 4]"),
    program(
        "recurrent", recurrent, x="float64[?, 3]", w=M4, u="float64[4, 3]", b="float64[4]", v="float64[4]", grad=True
    ),
    program("unrolled recurrent", unrolled_recurrent, x="float64[3, 2]", w=M4, u="float64[4, 2]", grad=True),
    program("leapfrog", leapfrog, grad=True),
    program("growth", growth, r=S, k=S, grad=True),
    program("one step", one_step, x="float64[4]", m="float64[4]", a=M4, grad=True),
    program("power method", power_method, a=M4, v="float64[4]", grad=True),
    program("Horner's scheme", horner, c="float64[5]"),
    program("Hausdorff distance", hausdorff, x=M, y=M),
    program("prototypes", prototypes, x=M, c=M),
    program("first crossing", first_crossing, level=S),
    program("largest entry", largest_entry, a=M, grad=True),
    program("augmented", augmented, image="float64[8, 6, 3]", mask="bool[8, 6]"),
    program("trend", trend, grad=True),
    program("class counts", class_counts, y=I, p="float64[?, 5]", wrt=("p",)),
    program("padded convolution", padded_convolution, x="float64[2, 3, 16, 16]", w="float64[4, 3, 7, 7]", grad=True),
    program("springs in a chain", beam, u="float64[3]", k="float64[3]", grad=True),
    program("entropy", entropy, grad=True),
    program("upper triangle", upper_triangle, a=M4, grad=True),
    program("bonds", bonds, x="float64[?, 3]", i=I, j=I, grad=True),
)
