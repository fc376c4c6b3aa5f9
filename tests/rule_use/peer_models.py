"""The models of PyMC, rewritten in the environment of `make pytensor`: the ledger goes to a file."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from watch import watched

PEER = Path(__file__).parents[2] / "plugins/tg-pytensor"


def main(path: Path) -> None:
    """Rewrite each model's density with its gradient, and with its Hessian."""
    sys.path.insert(0, str(PEER / "tests"))
    from models28 import MODELS

    import tg
    import tg_pytensor
    from tg.functions.backends import backend
    from tg.functions.compile import Setting, rewritten
    from tg.graph.function_graph import FunctionGraph

    with watched() as watch:
        for watch.program, build in MODELS.items():
            converted = tg_pytensor.from_pymc(build())
            density, moved = converted.logp, converted.continuous
            inputs = [*converted.inputs, *converted._shared.values()]
            gradient = tg.grad(density, moved, disconnected="zero")
            wanted = tg.grad(sum(tg.sum(tg.sin(g)) for g in gradient), moved, disconnected="zero")
            for outputs in ([density, *gradient], wanted):
                rewritten(FunctionGraph.of(inputs, outputs), Setting(backend("c")))
            path.write_text(json.dumps(watch.ledger))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
