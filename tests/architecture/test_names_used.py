"""No name of a distribution is there that nothing names: code that is dead, or was never called."""

from __future__ import annotations

import fnmatch
from pathlib import Path

import pytest
from vulture import Vulture

ROOT = Path(__file__).parents[2]
SOURCES = [*ROOT.glob("*/src"), *ROOT.glob("plugins/*/src")]
READERS = [ROOT / name for name in ("tests", "benchmarks", "docs/_ext", "examples", "plugins")]
LEFT_OUT = ["*/.venv*", "*/templates/*"]
REGISTERED = ["@convert.register", "@derivative.defjvp"]  # what a decorator puts where it is found
EXCEPTIONS = {
    "of Python": "__getattr__ __signature__ persistent_* on_broken_pipe f_trace_* _recreate_cm",
    "Python's conversions to numbers": "__bool__ __int__ __float__ __complex__",
    "of pytest": "pytest_* runtest reportinfo",
    "hooks": "tg_*",
    "of PyTensor": "make_thunk connection_pattern",
    "of nutpie": "n_dim _make_sampler",
    "of PyTorch": "generate_vmap_rule setup_context",
    "of ONNX's messages": "producer_name producer_version",
    "asked for by name, when a reduction needs them": "pullback_of_* of_sum of_extreme",
    "for users: streams": "standard_*",
    "of signatures and records of NumPy and SciPy": "balanced eigenvectors Vh singular_values inverse_indices",
    "tables asked for by the name of a domain": "MICROSOFT TRAINING",
    "of tables that are whole": "u16 u64 bf16",
}


@pytest.mark.long
def test_every_name_is_used() -> None:
    names = [name for those in EXCEPTIONS.values() for name in those.split()]
    found = Vulture(ignore_decorators=REGISTERED)
    found.scavenge([str(path) for path in (*SOURCES, *READERS)], exclude=LEFT_OUT)
    unused = [item for item in found.get_unused_code() if any(Path(item.filename).is_relative_to(s) for s in SOURCES)]
    told = [f"{item.filename.relative_to(ROOT)}:{item.first_lineno}: {item.name}" for item in unused]
    assert [
        line for line, item in zip(told, unused, strict=True) if not any(fnmatch.fnmatch(item.name, n) for n in names)
    ] == []
    seen = [item.name for item in unused]
    assert [n for n in names if not fnmatch.filter(seen, n)] == []  # an exception that nothing needs
