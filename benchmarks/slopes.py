"""What derivatives of special functions take, in units of the function: `python benchmarks/slopes.py c perform`.

One row for each function of several operands: microseconds of a processor an element for the value, and for the
derivative by each operand, with its ratio to the value and the seconds of a processor to its first result. The last
rows are the log-likelihood of the Pareto/NBD model of some customers, and it with its gradient by four parameters.
Names after the backends leave all other functions out.

Source:
    P. S. Fader and B. G. S. Hardie, "A Note on Deriving the Pareto/NBD Model and Related Expressions" (2005).
"""

from __future__ import annotations

import os
import resource
import sys
import tempfile
import time
from typing import Any

import numpy as np

import tg

SHAPE, PART, ANY = (0.3, 20.0), (0.05, 0.95), (-4.0, 4.0)
RANGES = {
    "hyp2f1": ((0.2, 5.0), (0.2, 5.0), (0.5, 8.0), (-0.9, 0.9)),
    "betainc": (SHAPE, SHAPE, PART),
    "betaincinv": (SHAPE, SHAPE, PART),
    "log_beta_tail": (SHAPE, SHAPE, (0.05, 3.0)),
    "gammainc": (SHAPE, SHAPE),
    "gammaincc": (SHAPE, SHAPE),
    "gammaincinv": (SHAPE, PART),
    "gammainccinv": (SHAPE, PART),
    "log_gamma_lower": (SHAPE, SHAPE),
    "log_gamma_upper": (SHAPE, SHAPE),
    "stdtr": (SHAPE, ANY),
    "stdtrit": (SHAPE, PART),
    "owens_t": (ANY, ANY),
    "zeta": ((1.1, 8.0), (0.1, 10.0)),
    "polygamma": ((2.0, 2.0), (0.1, 10.0)),
    "kv": ((-5.0, 5.0), SHAPE),
    "kve": ((-5.0, 5.0), SHAPE),
    "iv": ((0.0, 5.0), SHAPE),
    "ive": ((0.0, 5.0), SHAPE),
    "jv": ((0.0, 5.0), SHAPE),
    "beta": (SHAPE, SHAPE),
    "betaln": (SHAPE, SHAPE),
    "poch": (SHAPE, SHAPE),
    "binom": (SHAPE, SHAPE),
}
ELEMENTS = {"c": 4096, "numba": 4096, "perform": 200}
CUSTOMERS = 2000
SECONDS = 0.3


def spent() -> float:
    """Seconds of a processor, of this process and of the compilers that it has started."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def measured(inputs: list[Any], outputs: Any, arrays: list[Any], backend: str) -> tuple[float, float]:
    """Seconds of a call, the least of some, and seconds to the first result."""
    begin = spent()
    f = tg.function(inputs, outputs, backend=backend)
    f(*arrays)
    first, best, end = spent() - begin, np.inf, time.perf_counter() + SECONDS
    while time.perf_counter() < end:
        begin = time.process_time()
        f(*arrays)
        best = min(best, time.process_time() - begin)
    return best, first


def row(name: str, backend: str) -> str:
    """A function and its derivatives."""
    count, rng = ELEMENTS.get(backend, 1000), np.random.default_rng(3)
    arrays = [rng.uniform(low, high, count) for low, high in RANGES[name]]
    operands = [tg.vector(f"x{k}") for k in range(len(arrays))]
    value = getattr(tg, name)(*operands)
    seconds, first = measured(operands, value, arrays, backend)
    texts = [f"{name:16}{backend:8}{seconds / count * 1e6:9.3f} us, first {first:5.2f} s"]
    for k, operand in enumerate(operands):
        try:
            slope = tg.grad(tg.sum(value), operand)
        except tg.errors.NotDifferentiable:
            texts.append(f"{k}: none")
            continue
        after, first = measured(operands, slope, arrays, backend)
        texts.append(f"{k}: {after / count * 1e6:9.3f} us {after / seconds:5.1f} x {first:5.2f} s")
    return " | ".join(texts)


def pareto_nbd(r: Any, alpha: Any, s: Any, beta: Any, x: Any, last: Any, observed: Any) -> Any:
    """The log-likelihood of customers, for alpha >= beta."""
    total, difference = r + s + x, alpha - beta

    def part(t: Any) -> Any:
        return tg.hyp2f1(total, s + 1, total + 1, difference / (alpha + t)) * tg.exp(-total * tg.log(alpha + t))

    alive = tg.exp(-(r + x) * tg.log(alpha + observed) - s * tg.log(beta + observed))
    front = tg.gammaln(r + x) - tg.gammaln(r) + r * tg.log(alpha) + s * tg.log(beta)
    return tg.sum(front + tg.log(alive + s / total * (part(last) - part(observed))))


def rows_of_likelihood(backend: str) -> list[str]:
    """The likelihood, and it with its gradient."""
    rng = np.random.default_rng(3)
    x = rng.poisson(rng.gamma(0.55, 1 / 10.6, CUSTOMERS) * 39).astype(float)
    arrays = [*(np.array(v) for v in (0.55, 10.6, 0.61, 6.4)), x, np.where(x > 0, rng.uniform(0, 39, CUSTOMERS), 0)]
    arrays.append(np.full(CUSTOMERS, 39.0))
    parameters = [tg.scalar(name) for name in ("r", "alpha", "s", "beta")]
    inputs = [*parameters, *(tg.vector(name) for name in ("x", "last", "observed"))]
    value = pareto_nbd(*inputs)
    texts = []
    for what, outputs in (("value", value), ("gradient", [value, *tg.grad(value, parameters)])):
        seconds, first = measured(inputs, outputs, arrays, backend)
        texts.append(
            f"Pareto/NBD {what:9}{backend:8}{seconds / CUSTOMERS * 1e6:9.3f} us a customer, first {first:5.2f} s"
        )
    return texts


def rows(backend: str, names: list[str]) -> None:
    """Print all rows of a backend."""
    x = tg.vector("x")
    tg.function([x], tg.exp(x), backend=backend)(np.ones(3))  # what is imported is not counted
    for name in names:
        print(row(name, backend), flush=True)
    print(*rows_of_likelihood(backend), sep="\n", flush=True)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TG_CACHE_DIR"] = folder  # in which nothing has been compiled yet
        for backend in [name for name in sys.argv[1:] if name not in RANGES]:
            rows(backend, [name for name in sys.argv[1:] if name in RANGES] or list(RANGES))
