"""Nothing is taken of the internals of Numba and llvmlite: a release may change what their documentation leaves out."""

import ast
from pathlib import Path

import tg_numba

FOLDER = Path(tg_numba.__file__).parent
PUBLIC = {"numba", "llvmlite", "llvmlite.binding"}  # modules whose names are promised


def imported(tree):
    """The modules of Numba and llvmlite that are imported, at the top or inside."""
    for node in ast.walk(tree):
        names = [one.name for one in node.names] if isinstance(node, ast.Import) else []
        names += [node.module] if isinstance(node, ast.ImportFrom) and node.module else []
        yield from (name for name in names if name.partition(".")[0] in ("numba", "llvmlite"))


def test_what_is_imported_and_named_is_public():
    trees = {path.name: ast.parse(path.read_text()) for path in FOLDER.rglob("*.py")}
    found = {name: {*imported(tree)} for name, tree in trees.items()}
    assert {name for name, modules in found.items() if modules - PUBLIC} == set()
    assert {name for name, modules in found.items() if "numba" in modules} == {"jitted.py"}
    attributes = [node for tree in trees.values() for node in ast.walk(tree) if isinstance(node, ast.Attribute)]
    private = {ast.unparse(node) for node in attributes if node.attr.startswith("_") and node.attr != "__version__"}
    assert not {text for text in private if text.startswith(("llvm.", "llvmlite.", "numba."))}
