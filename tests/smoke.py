"""Install wheels in fresh environments and run a program on a backend: `python -m tests.smoke --python python3.12`.

`make smoke` builds the wheels first. Dependencies come from the package index, under constraints.txt unless `--free`.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).parents[1]
WHEELS: Final = ROOT / "dist"
PYTHONS: Final = ("python3.11", "python3.12", "python3.13")

# The program of the README, against NumPy; and the time that importing tg takes after NumPy, in a process of its own.
PROGRAM: Final = """
import sys
import numpy as np
import tg

x, w = tg.matrix("x"), tg.vector("w")
loss = tg.mean((x @ w - 1) ** 2)
f = tg.function([x, w], [loss, tg.grad(loss, w)], backend=sys.argv[1])
rng = np.random.default_rng(0)
a, b = rng.normal(size=(50, 3)), rng.normal(size=3)
value, slope = (np.asarray(result) for result in f(a, b))
residual = a @ b - 1
assert "site-packages" in tg.__file__, tg.__file__
tolerance = 1e-5 if value.dtype == np.float32 else 1e-12
assert np.allclose(value, np.mean(residual**2), rtol=tolerance), value
assert np.allclose(slope, 2 * a.T @ residual / 50, rtol=tolerance, atol=tolerance), slope
print(f.backend.name if hasattr(f.backend, "name") else f.backend)
"""
IMPORT: Final = """
import time
import numpy
start = time.perf_counter()
import tg
print(time.perf_counter() - start)
"""


def smoke(python: str, backend: str, constraints: Path | None) -> dict[str, Any]:
    """Times of one environment: installing, the first result (compiling with the import), and importing alone.

    Raises:
        CalledProcessError: it does not install, or the program ends otherwise than it should.
    """
    extra = "" if backend == "perform" else f"[{backend}]"
    (core,) = WHEELS.glob("tg_core-*.whl")
    with tempfile.TemporaryDirectory() as folder:
        own = Path(folder) / "bin" / "python"
        subprocess.run([python, "-m", "venv", folder], check=True)
        install = [own, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--find-links", WHEELS]
        start = time.monotonic()
        pinned = [] if constraints is None else ["--constraint", constraints]
        subprocess.run([*install, *pinned, f"{core}{extra}"], check=True)
        installed = time.monotonic()
        environment = {"PATH": f"{folder}/bin:/usr/local/bin:/usr/bin:/bin", "TG_CACHE_DIR": f"{folder}/cache"}

        def run(program: str, *arguments: str) -> str:
            line = [str(own), "-W", "error", "-c", program, *arguments]
            done = subprocess.run(line, check=True, env=environment, cwd=folder, stdout=subprocess.PIPE, text=True)
            return done.stdout

        run(PROGRAM, backend)
        first = time.monotonic()
        imports = sorted(float(run(IMPORT)) for _ in range(5))
        version = run("import platform; print(platform.python_version())").strip()
    return {
        "python": version,
        "backend": backend,
        "install_s": round(installed - start, 1),
        "first_result_s": round(first - start, 1),
        "import_s": round(imports[len(imports) // 2], 3),
    }


def main() -> int:
    """Print a line of JSON for each environment; 1 where one fails."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", nargs="+", default=PYTHONS, help="interpreters, by name or path")
    parser.add_argument("--backend", nargs="+", default=["c"], help="perform, or extras of tg-core that are backends")
    parser.add_argument("--free", action="store_true", help="take the newest dependencies, without constraints.txt")
    options = parser.parse_args()
    if not list(WHEELS.glob("tg_core-*.whl")):
        sys.stderr.write("found no wheels in dist/, needed those of `make wheels`\n")
        return 2
    failed = 0
    for python in options.python:
        for backend in options.backend:
            try:
                line = smoke(python, backend, None if options.free else ROOT / "constraints.txt")
            except (OSError, subprocess.CalledProcessError) as error:
                line, failed = {"python": python, "backend": backend, "error": str(error).splitlines()[0]}, 1
            sys.stdout.write(f"{json.dumps(line)}\n")
            sys.stdout.flush()
    return failed


if __name__ == "__main__":
    sys.exit(main())
