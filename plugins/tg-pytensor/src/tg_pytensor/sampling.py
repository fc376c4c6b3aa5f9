"""Draws from the posterior of a PyMC model: nutpie's sampler, on a density that tg has differentiated and compiled.

nutpie calls the density at its address, from threads of its own: Python's lock is not taken.
"""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any, ClassVar, Final

import numpy as np

import tg
from tg.backend import message
from tg_pytensor.models import ConvertedModel, from_pymc, model_around

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

NEEDED: Final = 'pip install "tg-pytensor[sample]"'
EXPAND: Final = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_uint64, ctypes.c_uint64, *(ctypes.c_void_p,) * 3)
NAME: Final = "parameters"  # of the vector in nutpie's own trace


def nutpie_model(model: Any = None, backend: str | None = None) -> Any:
    """A compiled model for `nutpie.sample`, whose draws are one vector, `parameters`.

    Args:
        model: PyMC's, or what `from_pymc` gave; by default the one around.
        backend: "c" or "numba", whose functions have addresses; by default the first of them that is installed.
    Raises:
        ImportError: nutpie is not installed.
        InputError: the model has parameters that are integers.
    Example:
        >>> trace = nutpie.sample(tg_pytensor.nutpie_model(model), draws=1000, chains=4)
    """
    converted = model if isinstance(model, ConvertedModel) else from_pymc(model)
    try:
        from nutpie import _lib
        from nutpie.sample import CompiledModel
    except ImportError as error:
        raise ImportError(message("sample: nutpie is not installed", hint=NEEDED)) from error
    converted.refuse_integers("sample")
    size, start = converted.size, converted.initial_point()
    begin = np.concatenate([np.ravel(start[str(x.name)]) for x in converted.continuous]).astype("float64")
    pointer = converted.value_and_grad(backend or _addressed(), flat=True).pointer(begin)

    def keep(n: int, _: int, x: int, out: int, data: object) -> int:
        ctypes.memmove(out, x, 8 * n)
        return 0

    expand = EXPAND(keep)
    address = ctypes.cast(expand, ctypes.c_void_p).value

    def first(seed: int) -> npt.NDArray[np.float64]:
        return begin + np.random.default_rng(seed).uniform(-1, 1, size)

    class Compiled(CompiledModel):
        n_dim = size
        shapes: ClassVar = {NAME: (size,)}
        coords: ClassVar[dict[str, Any]] = {}

        def _make_model(self, init_mean: Any) -> Any:
            density = _lib.LogpFunc(pointer.density, pointer.data, pointer)
            expanding = _lib.ExpandFunc(size, size, address, pointer.data, expand)
            axis = {"parameter": size}
            variables = _lib.PyVariable.new_variables([NAME], ["float64"], [[size]], axis, {NAME: tuple(axis)})
            return _lib.PyMcModel(density, expanding, variables, size, axis, {}, first, lambda *_, **__: None)

        def _make_sampler(self, settings: Any, init_mean: Any, cores: int, progress: Any, store: Any) -> Any:
            return _lib.PySampler.from_pymc(settings, cores, self._make_model(init_mean), progress, store)

    return Compiled(dims={})


def _addressed() -> str:
    """The backend that is taken where none is named: one whose functions have addresses."""
    available = {one.name for one in tg.backends() if one.is_available}
    name = next((name for name in ("c", "numba") if name in available), None)
    if name is None:
        text = f"sample: found {', '.join(sorted(available))}, needed a backend whose functions have addresses"
        raise tg.errors.BackendUnavailable(message(text, hint='pip install "tg-core[c]"'))
    return name


def sample(
    model: Any = None,
    *,
    draws: int = 1000,
    tune: int = 1000,
    chains: int = 4,
    cores: int | None = None,
    random_seed: int | None = None,
    backend: str | None = None,
    **options: Any,
) -> Any:
    """Draws from the posterior of a model of PyMC, as ArviZ's InferenceData.

    Args:
        model: PyMC's; by default the one around.
        draws: of each chain, after `tune` steps that adapt the sampler.
        cores: threads of nutpie; by default as many as it takes.
        random_seed: of all chains.
        backend: "c" or "numba".
        options: others of `nutpie.sample`, such as `progress_bar=False` and `target_accept=0.9`.
    Returns:
        An InferenceData with the groups `posterior`, which has the variables, dimensions and coordinates that
        `pm.sample` gives it, and `sample_stats`, nutpie's.
    Raises:
        ImportError: nutpie or ArviZ is not installed.
        InputError: the model has parameters that are integers, which `pm.sample` draws by steps of its own.
    Example:
        >>> trace = tg_pytensor.sample(model, random_seed=1)
    """
    theirs = model_around() if model is None else model
    converted = from_pymc(theirs)
    compiled = nutpie_model(converted, backend)
    import arviz
    import nutpie

    settings = {"draws": draws, "tune": tune, "chains": chains, "cores": cores, "seed": random_seed}
    trace = nutpie.sample(compiled, **settings, **options)
    vectors = np.asarray(trace.posterior[NAME])
    coords = {name: list(values) for name, values in theirs.coords.items() if values is not None}
    dims = {name: list(axes) for name, axes in theirs.named_vars_to_dims.items()}
    posterior = arviz.dict_to_dataset(
        _by_names(converted, vectors, backend), library=tg, coords=coords, dims=dims, attrs={"sampler": "nutpie"}
    )
    return arviz.InferenceData(posterior=posterior, sample_stats=trace.sample_stats)


def _by_names(converted: ConvertedModel, vectors: Any, backend: str | None) -> Mapping[str, Any]:
    """The draws (chains, draws, size) as those of each variable, (chains, draws, ...)."""
    vector = tg.tensor(NAME, "float64", (converted.size,))
    outputs = converted.unpacked(vector)
    f = tg.function([vector], list(outputs.values()), backend=backend or _addressed())
    rows = [[np.array(value) for value in f(row)] for row in vectors.reshape(-1, converted.size)]
    return {
        name: np.stack(column).reshape(*vectors.shape[:2], *column[0].shape)
        for name, column in zip(outputs, zip(*rows, strict=True), strict=True)
    }
