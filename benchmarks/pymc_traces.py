"""A picture of the traces of radon, a model of PyMC that is compiled by tg together with a whole sampler.

PYTHONPATH=… PYTHON_WITH_PYMC benchmarks/pymc_traces.py docs/_static/pymc.svg
"""

import sys
import time
from pathlib import Path

import numpy as np

HERE = Path(__file__).parents[1]
SEED, CHAINS, WARMUP, DRAWS = 46, 4, 1000, 1000
SHOWN = ("mu_a", "sigma_a_log__", "mu_b", "sigma_b_log__", "sigma_log__")
STYLE = {
    "svg.hashsalt": "tg",
    "svg.fonttype": "path",
    "font.size": 8,
    "axes.spines.top": False,
    "axes.spines.right": False,
}


def draws():
    """The draws of all chains, and what they cost."""
    sys.path += [str(HERE / "plugins/tg-pytensor/tests"), str(HERE / "examples")]
    import nuts
    from models28 import MODELS

    import tg
    import tg_pytensor

    began = time.process_time()
    model = tg_pytensor.from_pymc(MODELS["radon"]())
    seed = tg.scalar("seed", "int64")
    keys = tg.random.split(tg.random.key(seed), CHAINS)
    chains = tg.map(lambda key: nuts.sample(model.density, model.size, WARMUP, DRAWS, key).theta, keys)
    f = tg.function([seed], chains, backend="c")
    ready = time.process_time()
    found = f(SEED)
    print(f"compiling {ready - began:.1f} s, sampling {time.process_time() - ready:.1f} s of processor time")
    start = model.initial_point(0)
    places = np.cumsum([0, *(np.size(start[x.name]) for x in model.continuous)])
    return {x.name: found[:, :, k] for x, k in zip(model.continuous, places, strict=False)}


def main():
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    found = draws()
    with rc_context(STYLE):
        figure = Figure((7.0, 6.0), layout="constrained")
        for (left, right), name in zip(figure.subplots(len(SHOWN), 2, width_ratios=(1, 3)), SHOWN, strict=True):
            edges = np.linspace(found[name].min(), found[name].max(), 40)
            for chain in found[name]:
                left.hist(chain, edges, histtype="step", linewidth=0.6)
                right.plot(chain[::4], linewidth=0.3)
            left.set_title(name, loc="left")
        figure.savefig(sys.argv[1], metadata={"Date": None, "Creator": None})


if __name__ == "__main__":
    main()
