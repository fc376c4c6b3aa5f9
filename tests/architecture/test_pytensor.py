"""What tg-pytensor, which has an environment of its own, imports of tg: `tg` and `tg.backend` alone."""

import ast
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "plugins/tg-pytensor/src/tg_pytensor"


def test_tg_pytensor_uses_public_names_alone() -> None:
    files = sorted(SOURCE.rglob("*.py"))
    assert files
    for file in files:
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            elif isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            else:
                continue
            for name in names:
                assert name.split(".")[0] != "tg" or name in ("tg", "tg.backend"), (file, name)
