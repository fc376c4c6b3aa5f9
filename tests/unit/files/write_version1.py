"""Write the file of version 1 that every later tg reads: `python -m tests.unit.files.write_version1`.

It was written once, and is written anew under another name when there is a version 2.
"""

from pathlib import Path

import tg

if __name__ == "__main__":
    n = tg.dim("n")
    x, y, rate = tg.matrix("x", shape=(n, 3)), tg.vector("y", shape=(n,)), tg.scalar("rate")
    weight, momentum = tg.shared([0.0, 0.0, 0.0], "weight", shape=(3,)), tg.shared([0.0, 0.0, 0.0], "momentum")
    noise = tg.random.normal(tg.random.RandomStream(1).key(), shape=(3,))
    loss = tg.mean((x @ weight - y) ** 2)
    new = 0.9 * momentum + tg.grad(loss, weight) + 1e-3 * noise
    updates = {momentum: new, weight: weight - rate * new}
    outputs = {"loss": loss, "noise": noise}
    step = tg.function([{"x": x, "y": y}, rate], outputs, updates=updates, defaults={rate: 0.1}, name="step")
    tg.save(step, Path(__file__).parent / "version1.tg")
