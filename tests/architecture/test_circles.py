"""Circles of imports in core: none spans packages, and those of what runs programs are small enough to read at once.

Imports inside functions count, those for type checkers alone do not.
"""

from __future__ import annotations

import itertools

import grimp
import pytest

MOST = 12  # modules of one circle
RUNS_PROGRAMS = ("tg.functions", "tg.link", "tg.plugin")


def circles(graph: grimp.ImportGraph) -> list[frozenset[str]]:
    """The strongly connected components of more than one module: each imports all others, one after the other."""
    imports = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    importers = {module: graph.find_modules_that_directly_import(module) for module in graph.modules}
    found, seen = [], set()
    for module in _by_last_visit(imports):
        component, stack = set(), [module]
        while stack:
            one = stack.pop()
            if one not in seen:
                seen.add(one)
                component.add(one)
                stack.extend(importers[one])
        if len(component) > 1:
            found.append(frozenset(component))
    return found


def _by_last_visit(imports: dict[str, set[str]]) -> list[str]:
    """The modules, those first that a depth-first walk along imports leaves last."""
    done, seen = [], set()
    for root in sorted(imports):
        stack = [] if root in seen else [(root, iter(sorted(imports[root])))]
        seen.add(root)
        while stack:
            module, rest = stack[-1]
            below = next((one for one in rest if one not in seen), None)
            if below is None:
                done.append(module)
                stack.pop()
            else:
                seen.add(below)
                stack.append((below, iter(sorted(imports[below]))))
    return done[::-1]


def package(module: str) -> str:
    """The package of core that a module is of: `tg.ops`; `tg` itself is one."""
    return ".".join(module.split(".")[:2])


@pytest.fixture(scope="module")
def core() -> list[frozenset[str]]:
    return circles(grimp.build_graph("tg", exclude_type_checking_imports=True, cache_dir=None))


def test_circles_are_found() -> None:
    graph = grimp.ImportGraph()
    chains = ("a", "b", "c", "a"), ("c", "d"), ("d", "e", "d"), ("f", "a"), ("e", "g")
    for chain in chains:
        for importer, imported in itertools.pairwise(chain):
            graph.add_import(importer=importer, imported=imported)
    assert sorted(map(sorted, circles(graph))) == [["a", "b", "c"], ["d", "e"]]


def test_no_circle_spans_packages(core: list[frozenset[str]]) -> None:
    assert [sorted(circle) for circle in core if len(set(map(package, circle))) > 1] == []


@pytest.mark.parametrize("name", RUNS_PROGRAMS)
def test_circles_of_what_runs_programs_are_small(core: list[frozenset[str]], name: str) -> None:
    assert [sorted(circle) for circle in core if len(circle) > MOST and name in set(map(package, circle))] == []
