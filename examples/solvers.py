"""Solvers with derivatives: the orbit of a planet by Newton's method, by Runge-Kutta, and with what memory.

A planet whose orbit is an ellipse of eccentricity e is where Kepler's equation says, at the eccentric anomaly E:

    E - e sin E = mean anomaly        x = cos E - e        y = sqrt(1 - e^2) sin E

1. Newton's method solves it, by a loop that runs until it is near enough. Its steps have no part in the derivative: at
   a root of f(x, p) the implicit function theorem says that dx = -(df/dp / df/dx) dp. By it an orbit is fitted to the
   velocities of its star. (`tg.optimize.root` does this for systems of equations; here all are of one unknown each,
   and their steps are vectors.)
2. The same place follows from Newton's law of gravitation, by Runge-Kutta with steps as long as the error allows.
3. With steps of fixed length, of many oscillators at once, reverse mode keeps the states of all steps, or of few.

This file is a tutorial. Read it from top to bottom, or run it: `python examples/solvers.py c`.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.optimize import minimize

import tg

if TYPE_CHECKING:
    from collections.abc import Callable


# 1. Newton's method, element by element, as a function with a derivative of its own.
NEAR = 1e-13  # the length of the last step
MOST = 50  # steps


def root_of(residual: Callable[..., Any]) -> Any:
    """A function (guess, *parameters) -> x, at which residual(x, *parameters) is 0; the residual is elementwise."""

    def slope(x: Any, p: Any) -> Any:
        return tg.grad(tg.sum(residual(x, *p)), x)

    @tg.custom_vjp
    def root(guess: Any, *p: Any) -> Any:
        def is_far(carry: Any) -> Any:
            _, step = carry
            return tg.max(tg.abs(step)) > NEAR

        def nearer(carry: Any) -> Any:
            x, _ = carry
            step = residual(x, *p) / slope(x, p)
            return x - step, step

        x, _ = tg.while_loop(is_far, nearer, (guess, tg.ones_like(guess)), max_steps=MOST)
        return x

    def forward(guess: Any, *p: Any) -> Any:
        x = root(guess, *p)
        return x, (x, p)

    def backward(kept: Any, dx: Any) -> Any:
        x, p = kept
        return None, *tg.vjp(residual(x, *p), list(p), -dx / slope(x, p))

    root.defvjp(forward, backward)
    return root


def kepler(anomaly: Any, mean_anomaly: Any, e: Any) -> Any:
    """What Kepler's equation leaves."""
    return anomaly - e * tg.sin(anomaly) - mean_anomaly


eccentric_anomaly = root_of(kepler)


# The fit: how fast the star comes and goes, measured at some times, tells the shape of the planet's orbit.
NAMES = ("log speed", "logit e", "angle", "phase")
TRUTH = np.array([np.log(50.0), np.log(0.6 / 0.4), 1.0, 0.5])
START = np.array([np.log(40.0), 0.0, 0.7, 0.3])
NOISE = 3.0  # m/s
PERIOD = 11.0  # days


def velocities(theta: Any, mean_of: Callable[[Any], Any], m: Any, anomaly_of: Callable[[Any, Any], Any]) -> Any:
    """The star's velocities at mean anomalies mean_of(phase); m is NumPy or tg."""
    speed, e, angle = m.exp(theta[0]), 1 / (1 + m.exp(-theta[1])), theta[2]
    anomaly = anomaly_of(mean_of(theta[3]), e)
    near = 1 - e * m.cos(anomaly)
    cos_true, sin_true = (m.cos(anomaly) - e) / near, m.sqrt(1 - e * e) * m.sin(anomaly) / near
    return speed * (m.cos(angle) * cos_true - m.sin(angle) * sin_true + e * m.cos(angle))


def newton_by_hand(mean_anomaly: Any, e: Any) -> Any:
    """Newton's method in NumPy."""
    x = mean_anomaly
    for _ in range(MOST):
        step = (x - e * np.sin(x) - mean_anomaly) / (1 - e * np.cos(x))
        x = x - step
        if np.max(np.abs(step)) <= NEAR:
            break
    return x


class Measured(NamedTuple):
    """Times in days, and velocities in m/s."""

    times: np.ndarray[Any, Any]
    velocity: np.ndarray[Any, Any]

    def mean_anomaly(self, phase: Any) -> Any:
        """2 pi for each period."""
        return self.times * (2 * np.pi / PERIOD) % (2 * np.pi) + phase


def measured(count: int = 400) -> Measured:
    """Velocities at random times within a year, with noise."""
    draw = np.random.default_rng(4)
    exact = Measured(np.sort(draw.uniform(0, 365, count)), np.zeros(count))
    velocity = velocities(TRUTH, exact.mean_anomaly, np, newton_by_hand)
    return exact._replace(velocity=velocity + NOISE * draw.normal(size=count))


class Fitted(NamedTuple):
    """An orbit, and what it took."""

    backend: str
    first_seconds: float
    call_microseconds: float
    calls: int
    theta: np.ndarray[Any, Any]
    errors: np.ndarray[Any, Any] | None  # standard errors
    seconds: float
    at_start: np.ndarray[Any, Any]  # the loss and its gradient where the fit begins


def orbit_loss(data: Measured, backend: str) -> Any:
    """A compiled function: theta -> half the sum of squares, in units of the noise, and its gradient."""
    theta = tg.tensor("theta", shape=(4,))
    found = velocities(theta, data.mean_anomaly, tg, lambda mean, e: eccentric_anomaly(mean, mean, e))
    loss = 0.5 * tg.sum(((data.velocity - found) / NOISE) ** 2)
    return tg.function([theta], [*tg.value_and_grad(loss, theta)], backend=backend, name="orbit_loss")


def fit_orbit(backend: str, data: Measured) -> Fitted:
    """Fit on one backend."""
    began = time.perf_counter()
    f = orbit_loss(data, backend)
    value, gradient = f(START)
    first_seconds = time.perf_counter() - began
    calls: list[float] = []

    def loss(theta: Any) -> Any:
        start = time.perf_counter()
        value, gradient = f(theta)
        calls.append(time.perf_counter() - start)
        return float(value), gradient

    found = minimize(loss, START, jac=True, method="L-BFGS-B", options={"ftol": 1e-14, "gtol": 1e-6})
    moves = 1e-5 * np.eye(4)
    curvature = np.array([f(found.x + move)[1] - f(found.x - move)[1] for move in moves]) / 2e-5
    errors = np.sqrt(np.diag(np.linalg.inv(curvature)))
    spent, microseconds = time.perf_counter() - began, 1e6 * float(np.median(calls))
    at_start = np.append(value, gradient)
    return Fitted(backend, first_seconds, microseconds, len(calls), found.x, errors, spent, at_start)


def fit_orbit_by_hand(data: Measured) -> Fitted:
    """Fit with NumPy and SciPy, by differences."""

    def loss(theta: Any) -> float:
        found = velocities(theta, data.mean_anomaly, np, newton_by_hand)
        return 0.5 * float(np.sum(((data.velocity - found) / NOISE) ** 2))

    began = time.perf_counter()
    at_start = np.array([loss(START)])
    first_seconds = time.perf_counter() - began
    found = minimize(loss, START, method="L-BFGS-B", options={"ftol": 1e-14, "gtol": 1e-6})
    spent = time.perf_counter() - began
    calls = int(found.nfev)
    return Fitted("NumPy", first_seconds, 1e6 * spent / calls, calls, found.x, None, spent, at_start)


# 2. Steps as long as the error allows, by the pair of Dormand and Prince. Derivatives are those of the same steps.
PRECISE = 1e-10  # the error of a step


def gravitation(t: Any, state: Any) -> Any:
    """The rates of change of (x, y, u, v): the star is at 0."""
    x, y, u, v = state
    pull = (x * x + y * y) ** -1.5
    return u, v, -pull * x, -pull * y


def perihelion(e: Any) -> Any:
    """The state nearest to the star, where the eccentric anomaly is 0."""
    return 1 - e, 0.0, 0.0, ((1 + e) / (1 - e)) ** 0.5


class Flown(NamedTuple):
    """Where a planet is, and how that changes with e."""

    backend: str
    first_seconds: float
    call_microseconds: float
    steps: int
    place: np.ndarray[Any, Any]  # x, its derivative by e
    seconds: float


def fly(backend: str, e: float = 0.6, end: float = 5.0, calls: int = 20) -> Flown:
    """x at the time `end`, and dx/de, by gravitation."""
    began = time.perf_counter()
    shape, time_left = tg.scalar("e"), tg.scalar("end")
    times = tg.stack([0.0, time_left])
    (x, *_), steps = tg.integrate.odeint(
        gravitation, perihelion(shape), times, rtol=1e-12, atol=PRECISE, full_output=True
    )
    f = tg.function([shape, time_left], [*tg.value_and_grad(x[-1], shape), steps.tried], backend=backend, name="fly")
    *place, count = f(e, end)
    first_seconds = time.perf_counter() - began
    start = time.perf_counter()
    for _ in range(calls):
        f(e, end)
    microseconds = 1e6 * (time.perf_counter() - start) / calls
    return Flown(backend, first_seconds, microseconds, int(count), np.array(place), time.perf_counter() - began)


def fly_scipy(e: float = 0.6, end: float = 5.0) -> Flown:
    """The same by SciPy's solver, which has the same pair; the derivative by differences."""
    from scipy.integrate import solve_ivp

    def x_of(e: float) -> tuple[float, int]:
        found = solve_ivp(gravitation, (0.0, end), perihelion(e), method="RK45", rtol=1e-12, atol=PRECISE)
        return float(found.y[0, -1]), int(found.nfev) // 6

    began = time.perf_counter()
    x, steps = x_of(e)
    first_seconds = time.perf_counter() - began
    slope = (x_of(e + 1e-5)[0] - x_of(e - 1e-5)[0]) / 2e-5
    seconds = time.perf_counter() - began
    return Flown("SciPy", first_seconds, 1e6 * seconds, steps, np.array([x, slope]), seconds)


def exact_place(e: float = 0.6, end: float = 5.0) -> np.ndarray[Any, Any]:
    """x and dx/de by Kepler's equation."""
    anomaly = newton_by_hand(np.array(end), e)
    return np.array([np.cos(anomaly) - e, -(np.sin(anomaly) ** 2) / (1 - e * np.cos(anomaly)) - 1])


# 3. Steps of fixed length, of many oscillators, x'' = -2 DAMPING x' - w^2 x, and the gradient by their frequencies w.
DAMPING = 0.1
END = 4.0


def energy(w: Any, steps: int, checkpoint: int | None) -> Any:
    """Half the sum of the squares of all places at END, by the classical method of Runge and Kutta."""
    h = END / steps

    def rates(x: Any, v: Any) -> Any:
        return v, -2 * DAMPING * v - w * w * x

    def step(state: Any, _: None) -> Any:
        x, v = state
        a1, b1 = rates(x, v)
        a2, b2 = rates(x + h / 2 * a1, v + h / 2 * b1)
        a3, b3 = rates(x + h / 2 * a2, v + h / 2 * b2)
        a4, b4 = rates(x + h * a3, v + h * b3)
        return (x + h / 6 * (a1 + 2 * a2 + 2 * a3 + a4), v + h / 6 * (b1 + 2 * b2 + 2 * b3 + b4)), None

    (x, _), _ = tg.scan(step, (tg.ones_like(w), tg.zeros_like(w)), length=steps, checkpoint=checkpoint)
    return 0.5 * tg.sum(x * x)


def exact_energy(w: Any) -> Any:
    """The same in closed form, of each oscillator."""
    damped = np.sqrt(w * w - DAMPING**2)
    x = np.exp(-DAMPING * END) * (np.cos(damped * END) + DAMPING / damped * np.sin(damped * END))
    return 0.5 * x * x


def exact_gradient(w: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Its derivative by each frequency, by a step into the complex plane, which loses no digit."""
    return exact_energy(w + 1e-30j).imag / 1e-30


class Kept(NamedTuple):
    """What a gradient takes in a process of its own."""

    backend: str
    checkpoint: int | None
    first_seconds: float
    call_seconds: float
    mebibytes: float  # the peak of the process, above what it has before the call
    difference: float  # of the gradient from the exact one, the largest
    error: str = ""  # what says why there is none


def resident() -> float:
    """Mebibytes that the process has now; on Linux its peak begins anew from here."""
    import resource

    try:
        Path("/proc/self/clear_refs").write_text("5")
        return _status("VmRSS")
    except OSError:  # without it what a compiler took before counts as well, and the call may hide behind it
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)


def peak() -> float:
    """The most mebibytes that the process had, since `resident`."""
    import resource

    try:
        return _status("VmHWM")
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)


def _status(name: str) -> float:
    (found,) = (v for v in Path("/proc/self/status").read_text().splitlines() if v.startswith(name))
    return int(found.split()[1]) / 2**10


def measure(backend: str, steps: int, count: int, checkpoint: int | None) -> Kept:
    """The gradient here, for a single oscillator, then for all, twice: some backends compile for each length."""
    w = tg.vector("w")
    began = time.perf_counter()
    f = tg.function([w], tg.grad(energy(w, steps, checkpoint), w), backend=backend, name="gradient")
    f(np.ones(1))
    first_seconds = time.perf_counter() - began
    values = np.linspace(1.0, 2.0, count)
    before = resident()
    f(values)
    resident()
    start = time.perf_counter()
    found = f(values)
    seconds, most = time.perf_counter() - start, peak()
    difference = float(np.max(np.abs(found - exact_gradient(values))))
    return Kept(backend, checkpoint, first_seconds, seconds, most - before, difference)


def in_process(backend: str, checkpoint: int | None, steps: int = 1000, count: int = 5000) -> Kept:
    """`measure` in a new process: a peak is that of all that a process ever did."""
    command = [sys.executable, __file__, "--measure", backend, str(steps), str(count), str(checkpoint or 0)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return Kept(*json.loads(done.stdout))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--measure"]:
        where, *numbers = sys.argv[2:]
        n, m, every = map(int, numbers)
        try:
            print(json.dumps(measure(where, n, m, every or None)))
        except tg.errors.TgError as refused:
            print(json.dumps(Kept(where, every or None, 0.0, 0.0, 0.0, 0.0, f"{type(refused).__name__}: {refused}")))
        raise SystemExit
    name = sys.argv[1] if len(sys.argv) > 1 else "auto"
    orbit = fit_orbit(name, measured())
    print(f"orbit: {orbit.calls} calls of {orbit.call_microseconds:.0f} µs; theta {orbit.theta.round(3)}")
    place = fly(name)
    off = np.abs(place.place - exact_place())
    print(f"flight: {place.steps} steps, {place.call_microseconds:.0f} µs; off by {off[0]:.1e}, dx/de by {off[1]:.1e}")
    for every in (None, 50):
        kept = in_process(name, every)
        print(f"checkpoint={every}: {kept.mebibytes:.1f} MiB, {kept.call_seconds:.2f} s, error {kept.difference:.1e}")
