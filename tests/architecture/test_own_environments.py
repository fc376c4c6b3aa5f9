"""What plugins with environments of their own import of tg: `tg` and `tg.backend` alone, and no other plugin."""

import ast
from pathlib import Path

import pytest

PLUGINS = Path(__file__).parents[2] / "plugins"


def imported(file: Path) -> list[str]:
    names: list[str] = []
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ImportFrom):
            names.append(node.module or "")
        elif isinstance(node, ast.Import):
            names.extend(alias.name for alias in node.names)
    return names


@pytest.mark.parametrize("plugin", ["tg-ggml", "tg-pytensor"])
def test_a_plugin_uses_public_names_alone(plugin: str) -> None:
    package = plugin.replace("-", "_")
    files = sorted((PLUGINS / plugin / "src" / package).rglob("*.py"))
    assert files
    for file in files:
        for name in imported(file):
            first = name.split(".")[0]
            assert first != "tg" or name in ("tg", "tg.backend"), (file, name)
            assert not first.startswith("tg_") or first == package, (file, name)
