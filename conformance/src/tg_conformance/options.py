"""Options of a backend, each with another value than its default: one that nothing shows is a failure.

What shows an option is generated code, the bits, class and place of results, how often a compiler ran, how many threads
there are, the kinds of files that the backend's cache has, or an error. Two runs with the defaults tell what of this
varies by itself. The name under which something is cached shows nothing.
"""

from __future__ import annotations

import importlib
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

import tg
from tg import plugin
from tg.functions import backends
from tg.plugin.fields import described, trial
from tg_conformance.outcome import Outcome

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tg.functions.backends import BackendChoice

COUNT: Final = 50_000  # elements: a loop that is worth sharing out
TASKS: Final = Path("/proc/self/task")

Observation = dict[str, object]


def option_names(backend: str) -> dict[str, str]:
    """The options of a backend, each with the id of its own item."""
    return {one.name: f"option:{one.name}" for one in described(plugin.registry().backend(backend).options)}


def tried(backend: str, name: str) -> Outcome:
    """The outcome of an option: it has passed where one of its values shows."""
    started = time.perf_counter()
    detail = fault(backend, name)
    return Outcome(
        option_names(backend)[name], "failed" if detail else "passed", detail or "", time.perf_counter() - started
    )


def fault(backend: str, name: str) -> str | None:
    """The fault of an option; None where a value shows."""
    one = trial(plugin.registry().backend(backend).options, name)
    if not one.values:
        return f"option {name}: found no value to try, needed option(…, trial=VALUE)"
    if one.observed is not None:
        module, _, attribute = one.observed.partition(":")
        tell = getattr(importlib.import_module(module), attribute)
        usual = tell(backends.backend(backend, **one.beside).options)
        tries = [_told(tell, backend, {**one.beside, name: value}) for value in one.values]
    else:
        first, second = (observation(backend, one.beside) for _ in range(2))
        usual = {key: value for key, value in second.items() if first.get(key) == value}
        tries = [_alike(observation(backend, {**one.beside, name: value}), usual) for value in one.values]
    if any(was != usual for was in tries):
        return None
    values = " or ".join(map(repr, one.values))
    return f"option {name}: nothing shows {values}: found code, results, compilations and threads as they were without"


def _told(tell: Any, backend: str, options: Mapping[str, Any]) -> object:
    """Settings of the engine, or the error."""
    try:
        return tell(backends.backend(backend, **options).options)
    except Exception as error:  # noqa: BLE001 (which one it is shows)
        return repr(error)


def _alike(every: Observation, usual: Observation) -> Observation:
    """Of what is seen that which does not vary by itself, and an error."""
    return {key: value for key, value in every.items() if key in usual or key == "error"}


def observation(backend: str, options: Mapping[str, Any]) -> Observation:
    """All that shows of programs of a backend with some options."""
    try:
        choice = backends.backend(backend, **options)
        shown = {**_of_program(choice, *_elements(choice)), **{f"loop {k}": v for k, v in _loop(choice).items()}}
    except Exception as error:  # noqa: BLE001 (which one it is shows)
        return {"error": repr(error)}
    return {**shown, "threads": _threads(), "files": _files(backend)}


def _elements(choice: BackendChoice) -> tuple[list[Any], list[Any], list[Any]]:
    """Inputs, outputs and arrays: a product and a sum, functions, a fold."""
    dtypes = plugin.registry().backend(choice.name).dtypes
    dtype = "float64" if "float64" in dtypes or not dtypes else "float32"
    x, y, z = (tg.vector(name, dtype=dtype) for name in "xyz")
    rng = np.random.default_rng(1)
    arrays = [rng.standard_normal(COUNT).astype(dtype) for _ in range(3)]
    return [x, y, z], [x * y + z, tg.exp(tg.sin(x)) * y, tg.sum(y * z)], arrays


def _loop(choice: BackendChoice) -> Observation:
    """The same of a program with a loop."""
    inputs, _, arrays = _elements(choice)
    last, _ = tg.scan(lambda carry, _: (tg.sin(carry) * inputs[1], None), inputs[0], length=3)
    return _of_program(choice, inputs[:2], [last], [array[:64] for array in arrays[:2]])


def _of_program(choice: BackendChoice, inputs: list[Any], outputs: list[Any], arrays: list[Any]) -> Observation:
    f = tg.function(inputs, outputs, backend=choice, name="tried", output="native")
    results = [*f(*arrays)]
    as_arrays = tg.function(inputs, outputs, backend=choice, name="tried")(*arrays)
    return {
        "code": f.source(full=True),
        "results": [(type(y).__name__, str(getattr(y, "device", "")), str(y.dtype)) for y in results],
        "bits": [np.ascontiguousarray(y).tobytes() for y in as_arrays],
        "compilations": f.compiles,
    }


def _threads() -> int | None:
    """The number of threads of the process, native ones too, where the system tells."""
    return len(list(TASKS.iterdir())) if TASKS.exists() else None


def _files(backend: str) -> list[str]:
    """The kinds of files where the backend's cache is: more of a kind are other entries, and show nothing."""
    cache = plugin.registry().cache(backend)
    return sorted({path.suffix for path in cache.directory().iterdir()}) if cache is not None else []
