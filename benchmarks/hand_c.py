"""The models written by hand in C, as limits to compare with: benchmarks/limits, one file for each workload.

They write into results that are made once, are told the addresses of their arguments once, and check nothing.
"""

from __future__ import annotations

import ctypes
import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import draws
import models
import numpy as np
import recurrences
from cffi import FFI
from native import LIMITS, built

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from models import Model

    Array = np.ndarray[Any, Any]
    Call = Callable[..., list[Array]]


def compiled(model: Model, arrays: Sequence[Array], threads: int = 1) -> Call:
    """The model by the file that computes it, for these very arrays, on one thread or two."""
    program = (CHAINS if model.batched else PROGRAMS).get((model.loss, bool(model.wrt)))
    if program is None:
        raise NotImplementedError("not written by hand")
    written = program(*arrays)
    return bound(*written) if threads == 1 else bound(*on_two(written))


class Written(NamedTuple):
    """A function of a file with all it is given: results, then whatever it takes besides."""

    file: str
    name: str
    results: list[Array]
    besides: tuple[Array | int | ctypes.c_void_p, ...]


def on_two(one: Written) -> Written:
    """The same on two threads, where limits/two.c has it."""
    name = f"{one.name}_two"
    if f" {name}(" not in (LIMITS / "two.c").read_text():
        raise NotImplementedError("not written by hand for two threads")
    return one._replace(file="two.c", name=name)


def bound(file: str, name: str, results: list[Array], besides: tuple[Array | int | ctypes.c_void_p, ...]) -> Call:
    """What is written, compiled."""
    given = [*results, *besides]
    ffi = FFI()
    ffi.cdef(f"void {name}({', '.join('long' if isinstance(one, int) else 'void *' for one in given)});")
    with tempfile.TemporaryDirectory() as folder:
        library = ffi.dlopen(built(file, folder, "-fopenmp", "-lmvec", "-lm"))
    function = getattr(library, name)
    passed = [one if isinstance(one, int) else ffi.cast("void *", _address(one)) for one in given]

    def call(*_: Array) -> list[Array]:
        function(*passed)
        return results

    call.alive = library, given  # type: ignore[attr-defined]  # `function` and `passed` are mere addresses
    return call


def _address(one: Array | ctypes.c_void_p) -> int | None:
    return one.ctypes.data if isinstance(one, np.ndarray) else one.value


def _blas(name: str) -> ctypes.c_void_p:
    """A function of the BLAS that comes with NumPy."""
    (library,) = (Path(np.__file__).parent.parent / "numpy.libs").glob("libscipy_openblas64*")
    return ctypes.cast(getattr(ctypes.CDLL(str(library)), f"scipy_{name}64_"), ctypes.c_void_p)


def squares(x: Array) -> Written:
    return Written("w1.c", "squares", [np.empty(())], (x, x.size))


def transcendental(x: Array) -> Written:
    name = {"float64": "transcendental", "float32": "transcendental_float"}[x.dtype.name]
    return Written("w2.c", name, [np.empty_like(x)], (x, x.size))


def softmax_rows(x: Array) -> Written:
    return Written("rows.c", "softmax", [np.empty_like(x)], (x, *x.shape))


def logsumexp_rows(x: Array) -> Written:
    return Written("rows.c", "logsumexp", [np.empty(len(x))], (x, *x.shape))


def normal(mu: Array, log_sigma: Array, x: Array) -> Written:
    results = [np.empty(()) for _ in range(3)]
    return Written("w5.c", "normal", results, (mu, log_sigma, x, x.size))


def layer(x: Array, w: Array, b: Array) -> Written:
    return Written("w6.c", "layer", [np.empty_like(x)], (x, w, b, b.size, _blas("cblas_dgemm")))


def layer_gradient(x: Array, w: Array, b: Array) -> Written:
    results = [np.empty(()), np.empty_like(w), np.empty_like(b)]
    return Written("w6.c", "layer_gradient", results, (np.empty_like(x), x, w, b, b.size, _blas("cblas_dgemm")))


def grouped(mu: Array, a: Array, idx: Array, x: Array, y: Array) -> Written:
    return Written("w7.c", "grouped", [np.empty(())], (mu, a, idx, x, y, x.size))


def grouped_gradient(mu: Array, a: Array, idx: Array, x: Array, y: Array) -> Written:
    name = "grouped_gradient_sorted" if np.all(idx[1:] >= idx[:-1]) else "grouped_gradient"
    results = [np.empty(()), np.empty_like(mu), np.empty_like(a)]
    return Written("w7.c", name, results, (mu, a, idx, x, y, x.size, mu.size))


def radon(theta: Array, county: Array, floor: Array, y: Array) -> Written:
    results = [np.empty(()), np.empty_like(theta)]
    return Written("radon.c", "radon", results, (theta, county, floor, y, y.size, models.COUNTIES))


def logistic(beta: Array, x: Array, y: Array) -> Written:
    results = [np.empty(()), np.empty_like(beta)]
    return Written("logistic.c", "logistic", results, (np.empty_like(y), beta, x, y, *x.shape, _blas("cblas_dgemv")))


def deep(x: Array) -> Written:
    return Written("deep.c", "deep", [np.empty_like(x)], (x, x.size))


def uniform(key: Array) -> Written:
    return Written("draws.c", "uniform", [np.empty(draws.LARGE)], (key, draws.LARGE))


def _recurrence(name: str, results: int, slots: int, *given: Array, besides: tuple[int, ...] = ()) -> Written:
    """A recurrence over the last array, with room for so many numbers of each step that its reverse sweep reads."""
    sequence = given[-1]
    room = (np.empty(slots * sequence.size),) if slots else ()
    return Written("loops.c", name, [np.empty(()) for _ in range(results)], (*room, *given, sequence.size, *besides))


def ar1_gradient(phi: Array, x: Array) -> Written:
    results = [np.empty(()), np.empty(()), np.empty_like(x)]
    return Written("loops.c", "ar1_gradient", results, (np.empty_like(x), phi, x, x.size))


def _chains(name: str, results: int, slots: int, *given: Array) -> Written:
    """A recurrence of many chains over the last array, with room for so many numbers of each step of some of them."""
    first, sequence = given[0], given[-1]
    room = (np.empty(slots * sequence.size * CHAINS_ABREAST),) if slots else ()
    besides = (*room, *given, sequence.size, first.size)
    return Written("lanes.c", name, [np.empty_like(first) for _ in range(results)], besides)


CHAINS_ABREAST = 16  # the most that limits/lanes.c has
CHAINS: dict[tuple[Callable[..., Any], bool], Callable[..., Written]] = {  # as PROGRAMS, of many chains
    (recurrences.sir_ar2, False): partial(_chains, "sir_ar2_chains", 1, 0),
    (recurrences.sir_ar2, True): partial(_chains, "sir_ar2_chains_gradient", 5, 5),
    (recurrences.ar1, False): partial(_chains, "ar1_chains", 1, 0),
    (recurrences.ar1, True): partial(_chains, "ar1_chains_gradient", 2, 1),
}
STEPS = (recurrences.PER_DAY,)
PROGRAMS: dict[tuple[Callable[..., Any], bool], Callable[..., Written]] = {  # by expression, and whether with gradient
    (models.squares, False): squares,
    (models.transcendental, False): transcendental,
    (models.softmax_rows, False): softmax_rows,
    (models.logsumexp_rows, False): logsumexp_rows,
    (models.normal, True): normal,
    (models.layer, False): layer,
    (models.layer_sum, True): layer_gradient,
    (models.grouped, False): grouped,
    (models.grouped, True): grouped_gradient,
    (models.radon, True): radon,
    (models.logistic, True): logistic,
    (models.deep, False): deep,
    (draws.DRAWS["uniform 1e7"].loss, False): uniform,
    (recurrences.sir_ar2, True): partial(_recurrence, "sir_ar2", 5, 5),
    (recurrences.ar1, False): partial(_recurrence, "ar1", 1, 0),
    (recurrences.ar1, True): ar1_gradient,
    (recurrences.seir, False): partial(_recurrence, "seir", 1, 0, besides=STEPS),
    (recurrences.seir, True): partial(_recurrence, "seir_gradient", 5, 4, besides=STEPS),
}
