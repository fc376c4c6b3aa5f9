"""First lines are noun phrases or imperatives, and a variable is named after what it is."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
FOLDERS = ("core/src", "native/src", "conformance/src", *(str(p.relative_to(ROOT)) for p in ROOT.glob("plugins/*/src")))
SOURCES = sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))
CLAUSE = re.compile(r"(?:What|Which|How|Where|That|Those)\b")
PARTICIPLES = {"found", "given", "known", "made", "kept", "seen", "asked"}
MOST_CLAUSES = 5  # that say in a clause what no noun does
MOST_NAMES = 49  # mostly fields and keywords that users write

Scope = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def scopes(tree: ast.Module) -> Iterator[Scope]:
    yield from (node for node in ast.walk(tree) if isinstance(node, Scope))


def clauses(tree: ast.Module) -> list[int]:
    """The lines of docstrings whose first line is a clause."""
    return [
        getattr(scope, "lineno", 1)
        for scope in scopes(tree)
        if (text := ast.get_docstring(scope)) is not None and CLAUSE.match(text)
    ]


def own_nodes(scope: Scope) -> Iterator[ast.AST]:
    """The nodes of a scope, without those of scopes inside."""
    arguments = [scope.args] if isinstance(scope, ast.FunctionDef | ast.AsyncFunctionDef) else []
    stack: list[ast.AST] = [*scope.body, *arguments]
    while stack:
        node = stack.pop()
        yield node
        if not isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            stack.extend(ast.iter_child_nodes(node))


def participles(tree: ast.Module) -> list[tuple[int, str]]:
    """Names that scopes bind: variables, parameters, fields, functions."""
    bound: dict[tuple[int, str], int] = {}
    for scope in scopes(tree):
        for node in own_nodes(scope):
            match node:
                case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name) | ast.FunctionDef(name=name):
                    if name in PARTICIPLES:
                        bound.setdefault((id(scope), name), node.lineno)
    return sorted((line, name) for (_, name), line in bound.items())


def test_clauses_and_participles_are_seen():
    text = '''
"""What a module is."""
def found(x):
    """How it is found."""
    known, kept = x
    seen = [made for made in x]
    def inner(given):
        """Whether it is given."""
        return given, known
    return inner, seen, known
class Found:
    asked: int
'''
    tree = ast.parse(text)
    assert clauses(tree) == [1, 3]
    assert [name for _, name in participles(tree)] == ["found", "kept", "known", "made", "seen", "given", "asked"]


@pytest.fixture(scope="module")
def trees() -> dict[str, ast.Module]:
    return {str(path.relative_to(ROOT)): ast.parse(path.read_text()) for path in SOURCES}


def test_first_lines_are_no_clauses(trees):
    left = [f"{path}:{line}" for path, tree in trees.items() for line in clauses(tree)]
    assert len(left) <= MOST_CLAUSES, "\n".join(left)


def test_variables_are_named_after_what_they_are(trees):
    left = [f"{path}:{line} {name}" for path, tree in trees.items() for line, name in participles(tree)]
    assert len(left) <= MOST_NAMES, "\n".join(left)
