"""Mechanics, geometry and physics, as textbooks write their formulas."""

import math

import tg
from tests.replay.program import program

S, M3, P = "float64[]", "float64[3, 3]", "float64[?, 3]"


def kepler(m, e):
    """The position on an orbit from the mean anomaly, by Newton's method (Vallado, algorithms 2 and 10)."""
    m = tg.mod(m, 2 * math.pi)
    big = m
    for _ in range(5):
        big = big - (big - e * tg.sin(big) - m) / (1 - e * tg.cos(big))
    nu = 2 * tg.arctan2(tg.sqrt(1 + e) * tg.sin(big / 2), tg.sqrt(1 - e) * tg.cos(big / 2))
    r = (1 - e**2) / (1 + e * tg.cos(nu))
    return r * tg.cos(nu), r * tg.sin(nu)


def perifocal(nu, inclination, node, argument):
    """Orbital elements to positions in space (Bate, Mueller and White, sec. 2.6)."""
    u = nu + argument
    x = tg.cos(node) * tg.cos(u) - tg.sin(node) * tg.sin(u) * tg.cos(inclination)
    y = tg.sin(node) * tg.cos(u) + tg.cos(node) * tg.sin(u) * tg.cos(inclination)
    return tg.stack([x, y, tg.sin(inclination) * tg.sin(u)], axis=1)


def haversine(lat1, lon1, lat2, lon2):
    """The distance on a sphere (Sinnott 1984)."""
    p, q = tg.radians(lat1), tg.radians(lat2)
    a = tg.sin((q - p) / 2) ** 2 + tg.cos(p) * tg.cos(q) * tg.sin(tg.radians(lon2 - lon1) / 2) ** 2
    return 2 * 6371.0 * tg.arcsin(tg.sqrt(a))


def bearing(lat1, lon1, lat2, lon2):
    """The initial bearing of a great circle in degrees (Williams, Aviation Formulary)."""
    p, q, d = tg.deg2rad(lat1), tg.deg2rad(lat2), tg.deg2rad(lon2) - tg.deg2rad(lon1)
    angle = tg.arctan2(tg.sin(d) * tg.cos(q), tg.cos(p) * tg.sin(q) - tg.sin(p) * tg.cos(q) * tg.cos(d))
    return tg.mod(tg.rad2deg(angle) + 360, 360)


def rotation(a, b, c):
    """A rotation by Euler angles and its inverse (Goldstein, sec. 4.4)."""

    def about_z(t):
        s, k, o = tg.sin(t), tg.cos(t), tg.zeros_like(t)
        return tg.stack([tg.stack([k, -s, o]), tg.stack([s, k, o]), tg.stack([o, o, o + 1])])

    s, k, o = tg.sin(b), tg.cos(b), tg.zeros_like(b)
    about_x = tg.stack([tg.stack([o + 1, o, o]), tg.stack([o, k, -s]), tg.stack([o, s, k])])
    r = about_z(a) @ about_x @ about_z(c)
    return r, r.T @ r, tg.trace(r)


def slerp(p, q, t):
    """Interpolation of unit quaternions (Shoemake 1985)."""
    p, q = p / tg.sqrt(tg.sum(p**2)), q / tg.sqrt(tg.sum(q**2))
    d = tg.sum(p * q)
    q, d = tg.where(d < 0, -q, q), tg.abs(d)
    w = tg.arccos(tg.clip(d, -1, 1))
    return (tg.sin((1 - t) * w) * p + tg.sin(t * w) * q) / tg.sin(w)


def double_pendulum(a, b, u, v):
    """The accelerations of a double pendulum (Landau and Lifshitz, sec. 5)."""
    d, g = a - b, 9.81
    den = 2 - tg.cos(d) ** 2
    one = (-g * 2 * tg.sin(a) + g * tg.sin(b) * tg.cos(d) - tg.sin(d) * (v**2 + u**2 * tg.cos(d))) / den
    two = (2 * tg.sin(d) * (u**2 + g * tg.cos(a)) + v**2 * tg.sin(d) * tg.cos(d)) / den
    return one, two


def gravity(x, m):
    """The forces of bodies on one another, softened (Aarseth 2003)."""
    d = x[None, :, :] - x[:, None, :]
    r2 = tg.sum(d**2, axis=-1) + 1e-4
    return tg.sum(m[None, :, None] * d / r2[:, :, None] ** 1.5, axis=1)


def lennard_jones(x):
    """The energy of a cluster, whose gradient is the force (Allen and Tildesley, sec. 1.3)."""
    d = x[:, None, :] - x[None, :, :]
    r2 = tg.sum(d * d, axis=-1) + tg.eye(x.shape[0])
    s6 = (1 / r2) ** 3
    return 0.5 * tg.sum(tg.where(tg.eye(x.shape[0]) > 0, 0.0, 4 * (s6**2 - s6)))


def planck(nu, t):
    """The spectrum of a black body (Rybicki and Lightman, eq. 1.51)."""
    x = 0.04799 * nu / t
    return 2 * nu**3 / (tg.exp(x) - 1)


def fermi(e, mu, t):
    """Occupation, and its entropy, of a Fermi gas (Kittel and Kroemer, ch. 7)."""
    f = 1 / (tg.exp((e - mu) / t) + 1)
    return f, -(f * tg.log(f) + (1 - f) * tg.log(1 - f))


def lorentz(v, t, x):
    """A boost, and the rapidity (Jackson, sec. 11.3)."""
    gamma = 1 / tg.sqrt(1 - v**2)
    return gamma * (t - v * x), gamma * (x - v * t), tg.arctanh(v), tg.cosh(tg.arctanh(v))


def catenary(x, a):
    """A hanging chain: height, slope, length, curvature."""
    y = a * tg.cosh(x / a)
    return y, tg.sinh(x / a), a * tg.sinh(x / a), 1 / (a * tg.cosh(x / a) ** 2)


def mercator(lat, lon):
    """Mercator's map and its inverse (Snyder 1987, ch. 7)."""
    y = tg.log(tg.tan(math.pi / 4 + lat / 2))
    return lon, y, 2 * tg.arctan(tg.exp(y)) - math.pi / 2


def spherical(x, y, z):
    """Cartesian to spherical coordinates and back."""
    r = tg.sqrt(x**2 + y**2 + z**2)
    theta, phi = tg.arccos(z / r), tg.arctan2(y, x)
    return r * tg.sin(theta) * tg.cos(phi), r * tg.sin(theta) * tg.sin(phi), r * tg.cos(theta)


def snell(theta, n):
    """Refraction and Fresnel's reflectance (Hecht, ch. 4)."""
    t = tg.arcsin(tg.sin(theta) / n)
    rs = (tg.cos(theta) - n * tg.cos(t)) / (tg.cos(theta) + n * tg.cos(t))
    rp = tg.tan(theta - t) / tg.tan(theta + t)
    return rs**2, rp**2


def heat_step(u, k):
    """One explicit step of the heat equation with fixed ends (LeVeque, ch. 9)."""
    return tg.concatenate([u[:1], u[1:-1] + k * (u[2:] - 2 * u[1:-1] + u[:-2]), u[-1:]])


def wave_step(u, before, c):
    """One step of the wave equation on a torus."""
    lap = tg.roll(u, 1, axis=0) + tg.roll(u, -1, axis=0) + tg.roll(u, 1, axis=1) + tg.roll(u, -1, axis=1) - 4 * u
    return 2 * u - before + c**2 * lap


def ising(s, j, h):
    """The energy of spins, and the change by each flip (Newman and Barkema, ch. 3)."""
    near = tg.roll(s, 1, axis=0) + tg.roll(s, -1, axis=0) + tg.roll(s, 1, axis=1) + tg.roll(s, -1, axis=1)
    return -j * tg.sum(s * near) / 2 - h * tg.sum(s), 2 * s * (j * near + h), tg.exp(-tg.maximum(2 * s * near, 0))


def gates(theta, phi):
    """A circuit of one qubit: rotations, a Hadamard gate, an expectation (Nielsen and Chuang, sec. 4.2)."""
    c, s = tg.cos(theta / 2) + 0j, -1j * tg.sin(theta / 2)
    rx = tg.stack([tg.stack([c, s]), tg.stack([s, c])])
    rz = tg.diag(tg.stack([tg.exp(-0.5j * phi), tg.exp(0.5j * phi)]))
    hadamard = tg.constant([[1.0, 1.0], [1.0, -1.0]]) / math.sqrt(2)
    psi = rz @ rx @ hadamard @ tg.constant([1.0 + 0j, 0.0])
    z = tg.real(tg.conj(psi[0]) * psi[0]) - tg.real(tg.conj(psi[1]) * psi[1])
    return z, tg.abs(psi) ** 2


def mandelbrot(c):
    """Steps of z -> z^2 + c until it has escaped (NumPy's tutorial on fractals)."""
    z, n = tg.zeros_like(c), tg.zeros(c.shape)
    for _ in range(6):
        inside = tg.abs(z) <= 2
        z = tg.where(inside, z * z + c, z)
        n = n + tg.cast(inside, "float64")
    return n


def moebius(z, a, b):
    """A map of the disc: its argument, and the hyperbolic distance (Needham, ch. 6)."""
    w = (z - a) / (1 - tg.conj(a) * z) * tg.exp(1j * b)
    return w, 2 * tg.arctanh(tg.abs(w))


def van_der_pol(x, v, mu):
    """A step of Runge and Kutta for an oscillator (Hairer, Norsett and Wanner, sec. I.16)."""

    def f(x, v):
        return v, mu * (1 - x**2) * v - x

    h = 0.01
    a = f(x, v)
    b = f(x + h / 2 * a[0], v + h / 2 * a[1])
    c = f(x + h / 2 * b[0], v + h / 2 * b[1])
    d = f(x + h * c[0], v + h * c[1])
    return x + h / 6 * (a[0] + 2 * b[0] + 2 * c[0] + d[0]), v + h / 6 * (a[1] + 2 * b[1] + 2 * c[1] + d[1])


def triangle(a, b, c):
    """Area by Heron's formula and angles by the law of cosines."""
    s = (a + b + c) / 2
    return tg.sqrt(s * (s - a) * (s - b) * (s - c)), tg.degrees(tg.arccos((a**2 + b**2 - c**2) / (2 * a * b)))


def cable(x, a):
    """A hanging cable by exponentials: height, slope and length (Huygens 1691)."""
    up, down = tg.exp(x / a), tg.exp(-x / a)
    return a * (up + down) / 2, (up - down) / 2, a * ((up - down) / 2)


def interface(x, place, width):
    """The profile between two phases (Cahn and Hilliard 1958)."""
    return 0.5 * (1 - tg.tanh((x - place) / width)), 0.5 + 0.5 * tg.tanh((x - place) / width)


def soliton(x, t, c):
    """A wave that keeps its form (Korteweg and de Vries 1895; Drazin and Johnson, ch. 1)."""
    return c / 2 / tg.cosh(tg.sqrt(c) / 2 * (x - c * t)) ** 2


def arm(a, b, x):
    """The hand of an arm of two links, by homogeneous matrices (Craig, ch. 3)."""

    def joint(t, length):
        c, s = tg.cos(t), tg.sin(t)
        return tg.array([[c, -s, length * c], [s, c, length * s], [0.0, 0.0, 1.0]])

    return joint(a, 1.0) @ joint(b, 0.7) @ tg.array([x, 0.0, 1.0])


PROGRAMS = (
    program("Kepler orbit", kepler, e=S, grad=True),
    program("orbital elements", perifocal, inclination=S, node=S, argument=S, grad=True),
    program("haversine", haversine, grad=True),
    program("bearing", bearing, grad=True),
    program("Euler angles", rotation, a=S, b=S, c=S, grad=True),
    program("slerp", slerp, p="float64[4]", q="float64[4]", t=S, grad=True),
    program("double pendulum", double_pendulum, grad=True),
    program("gravity", gravity, x=P, grad=True),
    program("Lennard-Jones", lennard_jones, x=P, grad=True),
    program("Planck's law", planck, t=S, grad=True),
    program("Fermi gas", fermi, mu=S, t=S, grad=True),
    program("Lorentz boost", lorentz, grad=True),
    program("catenary", catenary, a=S, grad=True),
    program("Mercator", mercator, grad=True),
    program("spherical coordinates", spherical, grad=True),
    program("Fresnel", snell, n=S, grad=True),
    program("heat equation", heat_step, k=S, grad=True),
    program("wave equation", wave_step, u="float64[?, ?]", before="float64[?, ?]", c=S, grad=True),
    program("Ising model", ising, s="float64[?, ?]", j=S, h=S, grad=True),
    program("quantum gates", gates, theta=S, phi=S, grad=True),
    program("Mandelbrot", mandelbrot, c="complex128[?, ?]"),
    program("Moebius map", moebius, z="complex128[?]", a="complex128[]", b=S),
    program("van der Pol", van_der_pol, mu=S, grad=True),
    program("triangles", triangle, grad=True),
    program("hanging cable", cable, a=S, grad=True),
    program("interface", interface, place=S, width=S, grad=True),
    program("soliton", soliton, t=S, c=S, grad=True),
    program("robot arm", arm, a=S, b=S, x=S, grad=True),
)
