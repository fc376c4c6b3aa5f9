"""`import tg` is light, and nothing imports a framework behind the user's back."""

from __future__ import annotations

import subprocess
import sys

FRAMEWORKS = (
    "jax",
    "torch",
    "numba",
    "mlx",
    "onnx",
    "onnxruntime",
    "cffi",
    "scipy",
    "sklearn",
    "rich",
    "tg_c",
    "tg_jax",
    "tg_mlx",
    "tg_native",
    "tg_onnx",
    "tg_torch",
    "tg_numba",
    "tg_conformance",
)


def modules_after(code: str) -> set[str]:
    """The modules that a fresh interpreter has loaded after running some code."""
    script = f"{code}\nimport sys\nprint('\\n'.join(sys.modules))"
    done = subprocess.run([sys.executable, "-W", "error", "-c", script], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_import_tg_loads_no_framework_and_no_op_family() -> None:
    loaded = modules_after("import tg")
    assert not {m for m in loaded if m.partition(".")[0] in FRAMEWORKS}
    assert not {m for m in loaded if m.startswith(("tg.ops.elementwise", "tg.rules", "tg.plugin."))}


def test_building_and_differentiating_an_expression_loads_no_plugin() -> None:
    loaded = modules_after("import tg\nx = tg.vector('x')\ntg.grad(tg.sum(tg.exp(x)), x)")
    assert not {m for m in loaded if m.partition(".")[0] in FRAMEWORKS}


def test_the_reference_backend_loads_no_framework() -> None:
    loaded = modules_after("import tg\nx = tg.vector('x')\ntg.function([x], tg.exp(x), backend='perform')([1.0])")
    assert not {m for m in loaded if m.partition(".")[0] in ("jax", "torch", "numba", "mlx", "sklearn", "rich")}


def test_listing_backends_imports_none() -> None:
    loaded = modules_after("import tg\ntg.backends()")
    assert not {m for m in loaded if m.partition(".")[0] in ("jax", "torch", "numba", "mlx")}


def test_windows_is_refused_in_a_sentence() -> None:
    script = "import sys\nsys.platform = 'win32'\nimport tg"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert "ImportError: tg: found Windows, needed Linux or macOS\n  hint: the Windows Subsystem" in done.stderr
