"""The counterpart rule: a family's path is valid in every part of the project."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CORE = ROOT / "core/src/tg"
INFRASTRUCTURE = {
    "__init__",
    "family",
    "catalog",
    "dims",
    "facts",
    "index_positions",
    "index_syntax",
    "index_updates",
    "inner",
    "fronts",
    "homes",
    "length_checks",
    "matrices",
    "max_pool",
    "moving_windows",
    "windows",
    "numpy_protocol",
    "operands",
    "operation_counts",
    "own",
    "parameters",
    "positions",
    "record",
    "reductions",
    "scatter_pullback",
    "connection",
    "dual",
    "iterated",
    "series",
    "shape_ops",
    "sized_ops",
    "tails",
    "traced_steps",
    "dtype_loops",
    "convolved",
    "lagged_products",
    "segments",
    "taps",
    "tridiagonal",
    "linear_systems",
    "wrapped",
}
PLUGINS = [
    ROOT / "plugins/tg-c/src/tg_c",
    ROOT / "plugins/tg-jax/src/tg_jax",
    ROOT / "plugins/tg-mlx/src/tg_mlx",
    ROOT / "plugins/tg-numba/src/tg_numba",
    ROOT / "plugins/tg-torch/src/tg_torch",
]
GGML = ROOT / "plugins/tg-ggml/src/tg_ggml"  # which has no rule for whole families, and says so in its gaps
NATIVE = ROOT / "native/src/tg_native"
PRINTERS = {"tg_c", "tg_numba"}  # their functions of single elements are kernels, which stand in one place
CASES = ROOT / "conformance/src/tg_conformance/cases"


def families() -> list[str]:
    paths = (p.relative_to(CORE / "ops").with_suffix("") for p in (CORE / "ops").rglob("*.py"))
    return sorted(str(p) for p in paths if p.name not in INFRASTRUCTURE)


def needs_rules(path: str) -> bool:
    """Whether a family has something that no expansion explains: elementwise functions without one, or primitives."""
    from tg.ops.catalog import FAMILIES

    (family,) = [f for f in FAMILIES if f.path == path]
    return not all(fn.expansion for fn in family.elementwise) or not all(op.has_expansion for op in family.ops)


def source_files() -> list[Path]:
    roots = [CORE, NATIVE, *PLUGINS, ROOT / "plugins/tg-onnx/src/tg_onnx", GGML, CASES.parent]
    generated = {"_entry.py"}
    return sorted(p for root in roots for p in root.rglob("*.py") if p.name not in generated)


@pytest.mark.parametrize("family", families())
@pytest.mark.parametrize("plugin", PLUGINS, ids=lambda p: p.name)
def test_every_family_has_a_counterpart_in_every_plugin(plugin: Path, family: str) -> None:
    kernels = [NATIVE / "kernels" if family.startswith("elementwise/") else NATIVE / "rules"]
    places = [plugin / "rules", *(kernels if plugin.name in PRINTERS else ())]
    assert not needs_rules(family) or any((place / f"{family}.py").exists() for place in places)


@pytest.mark.parametrize("family", families())
def test_every_family_has_conformance_cases(family: str) -> None:
    assert (CASES / f"{family}.py").exists()


RULES = [*(p / "rules" for p in (*PLUGINS, GGML)), NATIVE / "kernels/elementwise", NATIVE / "rules"]
FOLDERS = [*RULES, CORE / "rules", CASES]


@pytest.mark.parametrize("folder", FOLDERS, ids=str)
def test_no_counterpart_stands_without_a_family(folder: Path) -> None:
    extra = {"catalog", "stable", "__init__"}
    root = folder.parent if folder.name == "elementwise" else folder
    found = {str(p.relative_to(root).with_suffix("")) for p in folder.rglob("*.py") if p.stem not in extra}
    shared = {"family", "record", "functions", "outside"}
    shared |= {"distributions"}  # which are no ops
    shared |= {"iterations", "matrices", "registers", "unrolled"}  # what the files of a folder have in common
    known = set(families())  # the counterpart of a family is a file, or a package of several
    assert not {f for f in found if Path(f).name not in shared and not known & {f, *map(str, Path(f).parents)}}


@pytest.mark.parametrize("family", families())
def test_a_family_file_ends_with_its_table(family: str) -> None:
    tree = ast.parse((CORE / "ops" / f"{family}.py").read_text())
    last = tree.body[-1]
    assert isinstance(last, ast.Assign)
    assert [t.id for t in last.targets if isinstance(t, ast.Name)] == ["FAMILY"]


@pytest.mark.parametrize("family", families())
def test_the_name_of_a_family_is_its_path(family: str) -> None:
    from tg.ops.catalog import FAMILIES

    assert family in {f.path for f in FAMILIES}


@pytest.mark.parametrize("path", source_files(), ids=lambda p: str(p.relative_to(ROOT)))
def test_every_module_says_what_it_is(path: Path) -> None:
    text = ast.get_docstring(ast.parse(path.read_text()))
    assert text
    assert text.partition("\n\n")[0].endswith((".", ":"))
