"""Whole runs of samplers on models of PyMC: seconds of processor time per 1,000 effective draws.

    PYTHONPATH=… PYTHON_WITH_PYMC benchmarks/pymc_samples.py [--rows radon] [--engines "PyMC" nutpie] [--out FILE]

The engines are PyMC's own sampler in its default mode and in mode "TG"; nutpie and NumPyro as PyMC runs them, where
they are installed; nutpie on the function of tg's, by its address, and NumPyro on it, as JAX traces it; the sampler of
examples/nuts.py, compiled with the model. Each has four chains of 1,000 draws and 1,000 before them, one after another
on one processor, in a forked child with empty caches. Effective draws are ArviZ's (bulk), of the worst element of the
model's parameters. Seconds go from the model to the draws, and to the first draw where that can be told.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pymc_models import CACHES, emptied, forked, spent, warmed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Draws = Mapping[str, Any]  # (chains, draws, …) by the parameters' names

HERE = Path(__file__).parents[1]
ROWS = ("radon", "item_response", "hilbert_process", "normal_mixture")
CHAINS, TUNE, DRAWS, SEED = 4, 1000, 1000, 46
ONE_THREAD = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"


class Run(NamedTuple):
    """What an engine gave."""

    draws: Draws
    ready: float | None
    """Seconds of processor time at the first draw, where they can be told."""


def by_pymc(model: Any, **options: Any) -> Run:
    """PyMC's own sampler; the first draw tells that compiling has ended."""
    import pymc as pm

    began: list[float] = []

    def told(**_: Any) -> None:
        if not began:
            began.append(spent())

    with model:
        trace = pm.sample(**sizes(), cores=1, random_seed=SEED, progressbar=False, callback=told, **options)
    return Run(trace.posterior, began[0])


def by_mode(model: Any) -> Run:
    """PyMC's own sampler, all of whose functions run on tg."""
    import pytensor

    import tg_pytensor

    with pytensor.config.change_flags(mode=tg_pytensor.mode()):
        return by_pymc(model)


def by_nutpie(model: Any) -> Run:
    """nutpie, whose functions PyTensor compiles by Numba."""
    import nutpie

    compiled = nutpie.compile_pymc_model(model)
    ready = spent()
    trace = nutpie.sample(compiled, **sizes(), cores=1, seed=SEED, progress_bar=False)
    return Run(trace.posterior, ready)


def by_pointer(model: Any) -> Run:
    """nutpie on tg's function: it is given its address."""
    import nutpie

    import tg_pytensor

    converted = tg_pytensor.from_pymc(model)
    compiled = tg_pytensor.nutpie_model(converted, "c")
    ready = spent()
    trace = nutpie.sample(compiled, **sizes(), cores=1, seed=SEED, progress_bar=False)
    return Run(by_parameters(converted, trace.posterior["parameters"].to_numpy()), ready)


def by_numpyro(model: Any) -> Run:
    """NumPyro, for which PyTensor writes the density in JAX."""
    import pymc as pm

    with model:
        trace = pm.sample(**sizes(), cores=1, random_seed=SEED, nuts_sampler="numpyro", progressbar=False)
    return Run(trace.posterior, None)


def by_traceable(model: Any) -> Run:
    """NumPyro on tg's function, which JAX traces into the sampler; settings are those that PyMC gives NumPyro."""
    import jax
    import numpy as np
    import numpyro

    import tg
    import tg_pytensor

    jax.config.update("jax_enable_x64", True)
    converted = tg_pytensor.from_pymc(model)
    q = tg.vector("q", shape=(converted.size,))
    logp = tg.function([q], converted.density(q), backend="jax").traceable()
    start = np.concatenate([np.ravel(converted.initial_point()[x.name]) for x in converted.continuous])
    starts = start + np.random.default_rng(SEED).uniform(-1, 1, (CHAINS, converted.size))
    kernel = numpyro.infer.NUTS(potential_fn=lambda q: -logp(q), target_accept_prob=0.8)
    options = {"num_chains": CHAINS, "chain_method": "sequential", "progress_bar": False}
    mcmc = numpyro.infer.MCMC(kernel, num_warmup=TUNE, num_samples=DRAWS, **options)
    mcmc.run(jax.random.PRNGKey(SEED), init_params=starts)
    return Run(by_parameters(converted, np.asarray(mcmc.get_samples(group_by_chain=True))), None)


def by_nuts(model: Any) -> Run:
    """The sampler of examples/nuts.py: chains, trees, adaptation and density are one function of tg."""
    import nuts

    import tg
    import tg_pytensor

    converted = tg_pytensor.from_pymc(model)
    seed = tg.scalar("seed", "int64")
    keys = tg.random.split(tg.random.key(seed), CHAINS)
    chains = tg.map(lambda key: nuts.sample(converted.density, converted.size, TUNE, DRAWS, key).theta, keys)
    f = tg.function([seed], chains, backend="c")
    ready = spent()
    return Run(by_parameters(converted, f(SEED)), ready)


ENGINES: dict[str, Callable[[Any], Run]] = {
    "PyMC": by_pymc,
    "PyMC, mode TG": by_mode,
    "nutpie": by_nutpie,
    "nutpie on tg": by_pointer,
    "NumPyro": by_numpyro,
    "NumPyro on tg": by_traceable,
    "examples/nuts.py": by_nuts,
}


def sizes() -> dict[str, int]:
    """How much is drawn."""
    return {"draws": DRAWS, "tune": TUNE, "chains": CHAINS}


def by_parameters(converted: Any, draws: Any) -> Draws:
    """Draws of one vector as the model's parameters, as they were before they were transformed."""
    import numpy as np

    import tg

    start = converted.initial_point()
    shapes = [np.shape(start[x.name]) for x in converted.continuous]
    places = np.cumsum([int(np.prod(shape)) for shape in shapes])[:-1]
    own = dict(zip((str(x.name) for x in converted.continuous), converted.continuous, strict=True))
    f = tg.function(list(own.values()), {**own, **converted.deterministics}, backend="c", on_unused_input="ignore")

    def one(draw: Any) -> Any:
        return f(*(part.reshape(shape) for part, shape in zip(np.split(draw, places), shapes, strict=True)))

    found = [[one(draw) for draw in chain] for chain in draws]
    return {name: np.array([[point[name] for point in chain] for chain in found]) for name in found[0][0]}


def answer(build: Callable[[], Any], engine: str) -> dict[str, Any]:
    """What a whole run costs, and what it is worth."""
    import arviz

    model = build()
    before = spent()
    run = ENGINES[engine](model)
    whole = spent() - before
    names = [v.name for v in model.free_RVs]
    draws = arviz.convert_to_dataset({name: run.draws[name] for name in names})
    effective, split = arviz.ess(draws), arviz.rhat(draws)
    worst = min(names, key=lambda name: float(effective[name].min()))
    return {
        "whole": whole,
        "ready": None if run.ready is None else run.ready - before,
        "effective": float(effective[worst].min()),
        "worst": worst,
        "rhat": max(float(split[name].max()) for name in names),
        "means": {name: float(draws[name].mean()) for name in names},
    }


def table(found: Mapping[str, Mapping[str, Any]]) -> str:
    """Rows of Markdown."""
    lines = [
        "| model | sampler | s to draws | s drawing | effective draws | R-hat | s per 1,000: drawing | whole |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name, row in found.items():
        for engine, got in row.items():
            if "error" in got:
                lines.append(f"| {name} | {engine} | {got['error']} |")
                continue
            ready, per = got["ready"], 1000 / got["effective"]
            sampling = None if ready is None else got["whole"] - ready
            figures = [*(f"{s:.1f}" if s is not None else "" for s in (ready, sampling if ready else got["whole"]))]
            figures += [f"{got['effective']:,.0f}", f"{got['rhat']:.3f}"]
            figures += [f"{s * per:.2f}" if s is not None else "" for s in (sampling, got["whole"])]
            lines.append(f"| {name} | {engine} | " + " | ".join(figures) + " |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", nargs="*", default=ROWS)
    parser.add_argument("--engines", nargs="*", default=ENGINES)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--table", action="store_true", help="show what --out has, and measure nothing")
    given = parser.parse_args()
    found = json.loads(given.out.read_text()) if given.out and given.out.exists() else {}
    if not given.table:
        measure(given, found)
    print(table(found))


def measure(given: argparse.Namespace, found: dict[str, Any]) -> None:
    """Each model by each engine in turn."""
    warnings.simplefilter("ignore")
    sys.path += [str(HERE / "plugins/tg-pytensor/tests"), str(HERE / "examples")]
    with tempfile.TemporaryDirectory() as folder:
        os.environ.update(dict.fromkeys(CACHES, folder))
        os.environ["PYTENSOR_FLAGS"] = f"compiledir={folder},blas__ldflags="
        os.environ["XLA_FLAGS"] = ONE_THREAD
        from models28 import MODELS

        warmed()
        for name in given.rows:
            for engine in given.engines:
                emptied(Path(folder))
                row = found.setdefault(name, {})
                row[engine] = forked(lambda name=name, engine=engine: answer(MODELS[name], engine))
                print(name, engine, row[engine], flush=True)
                if given.out:
                    given.out.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
