"""NUTS as one program: the trees, the adaptation and all chains, compiled together with the model.

Hamiltonian Monte Carlo moves a ball over the density for a while (`examples/radon.py`). For how long is found by the
No-U-Turn Sampler: the trajectory is doubled, forwards or backwards, until its ends come back toward one another, and
one of its points is drawn, each as likely as its density.

    leapfrog        p += e/2 s grad(q),  q += e s p,  p += e/2 s grad(q)         s: the scales, e: the step
    weights         w = exp(H0 - H),  H = |p|^2 / 2 - log p(q)
    turning         p_first . r <= 0  or  p_last . r <= 0,   r = sum of p - (p_first + p_last) / 2
    in warm-up      e by dual averaging toward acceptances of 0.8; s from the draws of windows that double

(M. D. Hoffman and A. Gelman, The No-U-Turn Sampler, JMLR 15, 2014; M. Betancourt, A conceptual introduction to
Hamiltonian Monte Carlo, 2017, appendix A; the windows are those of the Stan reference manual, "HMC algorithm
parameters".) With half of its ends taken off, r is the way from the first point to the last, so that the criterion is
the original one in the geometry of the scales.

A tree is built by a loop, not by recursion. Leaf n closes as many subtrees as its number has ones at its end in binary,
and they began where these are cleared. So it is enough to keep, of each subtree that is open, the momentum it began
with and the sum before: a stack of as many rows as the number has ones (J. Lao and J. V. Dillon, Unrolled
implementation of No-U-Turn sampler, 2019).

This file is a tutorial. Read it from top to bottom, or run it: `python examples/nuts.py c`.
"""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any, NamedTuple

import mixing
import numpy as np
import radon

import tg

if TYPE_CHECKING:
    from collections.abc import Callable

    Density = Callable[[Any], Any]

DEEPEST = 10  # doublings of a trajectory
TOO_FAR = 1000.0  # an energy lost that is no rounding of the path: it has diverged
TARGET = 0.8  # acceptance
FIRST, WINDOW, LAST = 75, 25, 50  # draws before the windows, in the first one, and after all


# 1. The path: a ball of unit mass, in units of the scales.
class Place(NamedTuple):
    """Parameters, with the logarithm of the density and its gradient."""

    theta: Any
    value: Any
    gradient: Any


class Point(NamedTuple):
    """A place on the path, and the momentum there."""

    place: Place
    momentum: Any


def place_of(density: Density, theta: Any) -> Place:
    """The place of parameters."""
    return Place(theta, *tg.value_and_grad(density(theta), theta))


def leapfrog(density: Density, at: Point, step: Any, scale: Any) -> Point:
    """The next point of the path; backwards if the step is negative."""
    momentum = at.momentum + 0.5 * step * scale * at.place.gradient
    place = place_of(density, at.place.theta + step * scale * momentum)
    return Point(place, momentum + 0.5 * step * scale * place.gradient)


def height(at: Point) -> Any:
    """The negative energy: the logarithm of the density of both, place and momentum."""
    return at.place.value - 0.5 * at.momentum @ at.momentum


def is_turning(first: Any, last: Any, total: Any) -> Any:
    """Whether the ends of a stretch come back toward one another, by their momenta and the sum of all."""
    way = total - 0.5 * (first + last)
    return (first @ way <= 0) | (last @ way <= 0)


# 2. A subtree: as many leaves as are there already, on one side of them.
class Subtree(NamedTuple):
    """Points in their order on the path, of which one is kept."""

    last: Point
    total: Any  # of the momenta
    chosen: Place
    log_weight: Any  # of all
    accepted: Any  # the sum of min(1, w)
    leaves: Any
    open: Any  # how many subtrees of it are
    began: Any  # (DEEPEST + 1, 2, size): of each of these the first momentum, and the sum before
    has_turned: Any
    has_diverged: Any


def subtree(density: Density, start: Point, step: Any, scale: Any, size: Any, origin: Any, key: Any) -> Subtree:
    """The points after `start`, up to so many; fewer if a part of them turns, or the path diverges."""
    zero, nothing = tg.zeros(start.momentum.shape), tg.zeros((DEEPEST + 1, 2, *start.momentum.shape))
    init = Subtree(start, zero, start.place, -np.inf, 0.0, 0, 0, nothing, False, False)

    def goes_on(tree: Subtree) -> Any:
        return (tree.leaves < size) & ~tree.has_turned & ~tree.has_diverged

    def with_a_leaf(tree: Subtree) -> Subtree:
        point = leapfrog(density, tree.last, step, scale)
        log_weight = height(point) - origin
        has_diverged = ~(log_weight > -TOO_FAR)  # NaN is
        log_total = tg.logaddexp(tree.log_weight, log_weight)
        is_chosen = tg.log(tg.random.uniform(tg.random.fold_in(key, tree.leaves))) < log_weight - log_total
        began = tree.began.at[tree.open].set(tg.stack([point.momentum, tree.total]))
        total = tree.total + point.momentum
        closed, has_turned = closing(tree.leaves, tree.open, began, point.momentum, total)
        return Subtree(
            point,
            total,
            either(is_chosen, point.place, tree.chosen),
            log_total,
            tree.accepted + tg.where(has_diverged, 0.0, tg.exp(tg.minimum(log_weight, 0.0))),
            tree.leaves + 1,
            tree.open + 1 - closed,
            began,
            has_turned,
            has_diverged,
        )

    return tg.while_loop(goes_on, with_a_leaf, init)  # type: ignore[no-any-return]


def closing(leaf: Any, is_open: Any, began: Any, momentum: Any, total: Any) -> tuple[Any, Any]:
    """How many subtrees end with a leaf, up to the first that turns, and whether one does."""

    def goes_on(carry: Any) -> Any:
        closed, has_turned = carry
        return ((leaf >> closed) % 2 == 1) & ~has_turned

    def one_more(carry: Any) -> Any:
        closed, _ = carry
        first, before = tg.unstack(began[is_open - 1 - closed])
        return closed + 1, is_turning(first, momentum, total - before)

    return tg.while_loop(goes_on, one_more, (0, False))  # type: ignore[no-any-return]


def either(condition: Any, a: Any, b: Any) -> Any:
    """All of a or all of b, two structures of one kind."""
    if isinstance(a, tuple):
        return type(a)(*(either(condition, x, y) for x, y in zip(a, b, strict=True)))
    return tg.where(condition, a, b)


# 3. A transition: the trajectory is doubled until it turns.
class Trajectory(NamedTuple):
    """Points on both sides of where it began, of which one is kept."""

    first: Point
    last: Point
    total: Any
    chosen: Place
    log_weight: Any
    accepted: Any
    leaves: Any
    depth: Any
    has_ended: Any
    has_diverged: Any


class Told(NamedTuple):
    """What is said of a transition."""

    acceptance: Any
    leaves: Any
    has_diverged: Any


def transition(density: Density, at: Place, step: Any, scale: Any, key: Any) -> tuple[Place, Told]:
    """The next draw."""
    for_momentum, for_sides, for_choices, for_leaves = tg.unstack(tg.random.split(key, 4))
    start = Point(at, tg.random.normal(for_momentum, shape=at.theta.shape))
    origin = height(start)
    goes_forward = tg.random.bernoulli(for_sides, shape=(DEEPEST,))
    threshold = tg.log(tg.random.uniform(for_choices, shape=(DEEPEST,)))
    init = Trajectory(start, start, start.momentum, at, 0.0, 0.0, 0, 0, False, False)

    def goes_on(path: Trajectory) -> Any:
        return (path.depth < DEEPEST) & ~path.has_ended

    def doubled(path: Trajectory) -> Trajectory:
        forward = goes_forward[path.depth]
        end, signed = either(forward, path.last, path.first), tg.where(forward, step, -step)
        key = tg.random.fold_in(for_leaves, path.depth)
        tree = subtree(density, end, signed, scale, 1 << path.depth, origin, key)
        is_whole = ~tree.has_turned & ~tree.has_diverged
        is_chosen = is_whole & (threshold[path.depth] < tree.log_weight - path.log_weight)
        first, last = either(forward, path.first, tree.last), either(forward, tree.last, path.last)
        total = path.total + tree.total
        return Trajectory(
            first,
            last,
            total,
            either(is_chosen, tree.chosen, path.chosen),
            tg.logaddexp(path.log_weight, tree.log_weight),
            path.accepted + tree.accepted,
            path.leaves + tree.leaves,
            path.depth + 1,
            ~is_whole | is_turning(first.momentum, last.momentum, total),
            tree.has_diverged,
        )

    path = tg.while_loop(goes_on, doubled, init)
    return path.chosen, Told(path.accepted / path.leaves, path.leaves, path.has_diverged)


# 4. Warm-up: the step and the scales.
class Averaging(NamedTuple):
    """Dual averaging of the logarithm of the step."""

    log_step: Any
    average: Any
    error: Any
    count: Any
    toward: Any


def averaging(step: Any) -> Averaging:
    """It begins with a step, and looks ten times as far first."""
    return Averaging(tg.log(step), 0.0, 0.0, 0.0, tg.log(10 * step))


def averaged(a: Averaging, acceptance: Any) -> Averaging:
    """After one more transition (Hoffman and Gelman, section 3.2, with gamma = 0.05, t0 = 10, kappa = 0.75)."""
    count = a.count + 1
    error = a.error + (TARGET - acceptance - a.error) / (count + 10)
    log_step = a.toward - tg.sqrt(count) / 0.05 * error
    average = a.average + count**-0.75 * (log_step - a.average)
    return Averaging(log_step, average, error, count, a.toward)


class Spread(NamedTuple):
    """Mean and sum of squares around it, of the draws of a window so far."""

    count: Any
    mean: Any
    squares: Any

    def with_draw(self, theta: Any) -> Spread:
        """With one more (Welford's update)."""
        count, away = self.count + 1, theta - self.mean
        mean = self.mean + away / count
        return Spread(count, mean, self.squares + away * (theta - mean))

    def scale(self) -> Any:
        """Standard deviations; of few draws they are drawn toward a thousandth."""
        n = self.count
        return tg.sqrt(n / (n + 5) * self.squares / (n - 1) + 1e-3 * 5 / (n + 5))


class Adapting(NamedTuple):
    """A chain in warm-up."""

    place: Place
    steps: Averaging
    spread: Spread
    scale: Any


def windows(count: int) -> tuple[Any, Any]:
    """Of each draw of the warm-up whether it is in a window, and whether it is the last of one.

    A window is twice as long as the one before; the last has what would be too short for one more.
    """
    first, window, last = FIRST, WINDOW, LAST
    if count < first + window + last:  # the same shares
        first, last = round(0.15 * count), round(0.1 * count)
        window = count - first - last
    inside, ends = np.zeros(count, bool), np.zeros(count, bool)
    inside[first : count - last] = True
    end = first
    while end < count - last:
        end += window
        window *= 2
        if end + window > count - last:
            end = count - last
        ends[end - 1] = True
    return inside, ends


def first_step(density: Density, at: Place, step: Any, scale: Any, key: Any) -> Any:
    """A step of whose one leap the acceptance is about `TARGET`: doubled or halved until it is on the other side."""
    start = Point(at, tg.random.normal(key, shape=at.theta.shape))
    origin = height(start)

    def is_short(step: Any) -> Any:
        return height(leapfrog(density, start, step, scale)) - origin > np.log(TARGET)

    factor = tg.where(is_short(step), 2.0, 0.5)
    return tg.while_loop(lambda s: is_short(s) == (factor > 1), lambda s: s * factor, step)


def warmed_up(density: Density, at: Place, count: int, key: Any) -> tuple[Place, Any, Any]:
    """Where a chain is after so many transitions, its step and scales."""
    inside, ends = windows(count)
    for_step, for_chain = tg.unstack(tg.random.split(key))
    scale, none = tg.ones(at.theta.shape), tg.zeros(at.theta.shape)
    empty = Spread(0.0, none, none)
    init = Adapting(at, averaging(first_step(density, at, 1.0, scale, for_step)), empty, scale)

    def one(chain: Adapting, x: Any) -> tuple[Adapting, None]:
        key, is_inside, is_end = x
        for_draw, for_step = tg.unstack(tg.random.split(key))
        place, told = transition(density, chain.place, tg.exp(chain.steps.log_step), chain.scale, for_draw)
        steps = averaged(chain.steps, told.acceptance)
        spread = either(is_inside, chain.spread.with_draw(place.theta), chain.spread)

        def of_the_window() -> Any:
            scale = spread.scale()
            return averaging(first_step(density, place, tg.exp(steps.log_step), scale, for_step)), empty, scale

        return Adapting(place, *tg.cond(is_end, of_the_window, lambda: (steps, spread, chain.scale))), None

    xs = (tg.random.split(for_chain, count), tg.constant(inside), tg.constant(ends))
    chain, _ = tg.scan(one, init, xs)
    return chain.place, tg.exp(chain.steps.average), chain.scale


# 5. A chain.
class Chain(NamedTuple):
    """The draws, what is said of each transition, and what the warm-up found."""

    theta: Any  # (draws, size)
    told: Told
    step: Any
    scale: Any


def sample(density: Density, size: int, warmup: int, draws: int, key: Any) -> Chain:
    """A chain that begins anywhere in the cube of (-2, 2)."""
    for_start, for_warmup, for_draws = tg.unstack(tg.random.split(key, 3))
    start = place_of(density, tg.random.uniform(for_start, -2.0, 2.0, shape=(size,)))
    place, step, scale = warmed_up(density, start, warmup, for_warmup)

    def one(place: Place, key: Any) -> tuple[Place, Any]:
        place, told = transition(density, place, step, scale, key)
        return place, (place.theta, told)

    _, (theta, told) = tg.scan(one, place, tg.random.split(for_draws, draws))
    return Chain(theta, told, step, scale)


# 6. The posterior of `examples/radon.py`, by several chains.
SEED = 46  # of 60, one of those with which a path multiplies roundings least: by 1e8, others by 1e13
CHAINS, WARMUP, DRAWS = 4, 1000, 1000
MEANS = np.array([1.46432, 0.72146, -0.66761, -1.9055, -0.27487])  # by nutpie, 4 chains of 2,000 + 10,000 draws
ERRORS = np.array([0.0003, 0.00066, 0.00039, 0.0048, 0.00013])  # of these means
SHORT = (1, 20, 20)  # chains, warm-up and draws of a run that is short on every backend, to be compared
SLOW = 0.3  # seconds of a short run from which on the whole would take minutes


class Result(NamedTuple):
    """What a run gave; None where it was too slow for more than the short one."""

    backend: str
    short_seconds: float  # until there are draws of the short run: building, compiling, a call
    short: np.ndarray[Any, Any] | None = None  # these draws (20, size), to be compared
    first_seconds: float | None = None  # until there are all draws: building, compiling, a call
    call_seconds: float | None = None  # of a processor, in a call; the chains at once
    map_seconds: float | None = None  # and one after another
    draws: np.ndarray[Any, Any] | None = None  # (chains, draws, size)
    leaves: float | None = None  # points of a path, the mean of draws
    divergent: int = 0


def compiled(backend: str, chains: int, warmup: int, draws: int, over: Any = tg.vmap) -> Any:
    """A compiled function: a seed -> the draws of so many chains of the posterior, and what is said of each."""
    data = radon.load()
    size = len(radon.NAMES) + len(data.uranium)

    def density(theta):
        return radon.log_posterior(theta, data)

    def chain(key):
        return sample(density, size, warmup, draws, key)

    seed = tg.scalar("seed", "int64")
    keys = tg.random.split(tg.random.key(seed), chains)
    found = tg.map(chain, keys) if over is tg.map else over(chain)(keys)
    return tg.function([seed], [found.theta, *found.told], backend=backend, name="nuts")


def run(backend: str) -> Result:
    """The short run on one backend, and if it is fast the whole."""
    began = time.perf_counter()
    f = compiled(backend, *SHORT)
    short = f(SEED)[0][0]
    result = Result(backend, time.perf_counter() - began, short)
    if timed(f) > SLOW:
        return result
    began = time.perf_counter()
    f = compiled(backend, CHAINS, WARMUP, DRAWS)
    draws, _, leaves, divergent = f(SEED)
    result = result._replace(first_seconds=time.perf_counter() - began, call_seconds=timed(f))
    result = result._replace(draws=draws, leaves=float(np.mean(leaves)), divergent=int(np.sum(divergent)))
    f = compiled(backend, CHAINS, WARMUP, DRAWS, tg.map)
    f(SEED)
    return result._replace(map_seconds=timed(f))


def timed(f: Any) -> float:
    """The seconds of a processor that a call takes."""
    began = time.process_time()
    f(SEED)
    return time.process_time() - began


def effective(draws: np.ndarray[Any, Any]) -> float:
    """Of the parameters that is known worst: as how many independent draws."""
    return min(mixing.effective_size(v) for v in np.moveaxis(draws, -1, 0))


def is_near(draws: np.ndarray[Any, Any]) -> bool:
    """Whether the means of the named parameters are `MEANS`, within four standard errors of both."""
    for k in range(len(radon.NAMES)):
        v = draws[..., k]
        error = np.hypot(np.std(v) / np.sqrt(mixing.effective_size(v)), ERRORS[k])
        if not abs(np.mean(v) - MEANS[k]) < 4 * error:
            return False
    return True


# 7. The same posterior by other samplers, one chain after another or at once, on one core.
def run_numpyro() -> Result:
    """By NumPyro, on JAX."""
    import jax
    import numpyro
    from numpyro import distributions as d
    from numpyro.infer import MCMC, NUTS

    data = radon.load()

    def model() -> None:
        a, b, c = (numpyro.sample(name, d.Normal(0.0, np.exp(2.0))) for name in "abc")
        tau = numpyro.sample("tau", d.HalfNormal(1.0))
        sigma = numpyro.sample("sigma", d.ImproperUniform(d.constraints.positive, (), ()))
        deviation = numpyro.sample("deviation", d.Normal().expand([len(data.uranium)]).to_event(1))
        level = a + b * data.uranium + tau * deviation
        numpyro.sample("y", d.Normal(level[data.county] + c * data.floor, sigma), obs=data.log_radon)

    with jax.enable_x64(True):
        began = time.perf_counter()
        chains = MCMC(
            NUTS(model),
            num_warmup=WARMUP,
            num_samples=DRAWS,
            num_chains=CHAINS,
            chain_method="vectorized",  # "sequential" takes a third longer
            progress_bar=False,
        )

        def sampled(seed: int) -> dict[str, np.ndarray[Any, Any]]:
            chains.run(jax.random.key(seed), extra_fields=("num_steps", "diverging"))
            return {name: np.asarray(v) for name, v in chains.get_samples(group_by_chain=True).items()}

        sampled(SEED)
        first, busy = time.perf_counter() - began, time.process_time()
        found = sampled(SEED)
        seconds, told = time.process_time() - busy, chains.get_extra_fields()
        leaves, divergent = float(np.mean(told["num_steps"])), int(np.sum(told["diverging"]))
    return Result("NumPyro", 0.0, None, first, seconds, None, vector_of(found), leaves, divergent)


def run_pymc() -> Result:
    """By PyMC, on PyTensor."""
    import pymc

    began = time.perf_counter()
    with model_of_pymc():
        step = pymc.NUTS()  # compiles
        busy = time.process_time()
        quiet = {"progressbar": False, "compute_convergence_checks": False}
        trace = pymc.sample(DRAWS, tune=WARMUP, step=step, chains=CHAINS, cores=1, random_seed=SEED, **quiet)
    return of_trace("PyMC", trace, time.perf_counter() - began, time.process_time() - busy)


def run_nutpie() -> Result:
    """By nutpie, whose sampler is written in Rust, of the model of PyMC compiled by Numba."""
    import nutpie

    began = time.perf_counter()
    model, busy = nutpie.compile_pymc_model(model_of_pymc()), time.process_time()
    many = {"tune": WARMUP, "draws": DRAWS, "chains": CHAINS, "cores": 1, "seed": SEED, "progress_bar": False}
    trace = nutpie.sample(model, **many)
    return of_trace("nutpie", trace, time.perf_counter() - began, time.process_time() - busy)


def model_of_pymc() -> Any:
    """The model, in PyMC's words."""
    import pymc

    data = radon.load()
    with pymc.Model() as model:
        a, b, c = (pymc.Normal(name, 0.0, np.exp(2.0)) for name in "abc")
        tau, sigma = pymc.HalfNormal("tau", 1.0), pymc.HalfFlat("sigma")
        deviation = pymc.Normal("deviation", 0.0, 1.0, shape=len(data.uranium))
        level = a + b * data.uranium + tau * deviation
        pymc.Normal("y", level[data.county] + c * data.floor, sigma, observed=data.log_radon)
    return model


def of_trace(name: str, trace: Any, first: float, call: float) -> Result:
    """The result of draws as ArviZ keeps them."""
    found = {v: np.asarray(trace.posterior[v]) for v in ("a", "b", "c", "tau", "sigma", "deviation")}
    leaves, divergent = float(np.mean(trace.sample_stats["n_steps"])), int(np.sum(trace.sample_stats["diverging"]))
    return Result(name, 0.0, None, first, None, call, vector_of(found), leaves, divergent)


def vector_of(found: dict[str, np.ndarray[Any, Any]]) -> np.ndarray[Any, Any]:
    """Draws (chains, draws, size) of named ones, in the order of `radon.NAMES`."""
    named = [found["a"], found["b"], found["c"], np.log(found["tau"]), np.log(found["sigma"])]
    return np.concatenate([np.stack(named, axis=-1), found["deviation"]], axis=-1)


if __name__ == "__main__":
    result = run(sys.argv[1] if len(sys.argv) > 1 else "auto")
    if result.draws is None:
        print(f"{result.backend}: the short run took {result.short_seconds:.1f} s, more than that would take minutes")
    else:
        size = effective(result.draws)
        print(f"{result.backend}: {result.call_seconds:.2f} s, paths of {result.leaves:.1f} points, ESS {size:.0f}")
        for i, name in enumerate(radon.NAMES):
            v = result.draws[..., i]
            print(f"{name:>10}: {v.mean():6.3f} ± {v.std():.3f}, R {mixing.disagreement(v):.4f}")
