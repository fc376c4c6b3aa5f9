"""`tg new-backend`: a distribution with a backend that is complete from the start, NumPy being its array library.

Its rules are written from the catalogue of ops, so they are whole whatever has been added: NumPy's function where the
record of an op has it as its reference, the reference itself otherwise.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tg.cli import distribution, show

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator
    from types import ModuleType

    from tg.ops.family import Family


def add(commands: Any) -> None:
    """Declare the command."""
    command = commands.add_parser("new-backend", help="write a backend of your own, complete and with tests")
    command.add_argument("name", metavar="NAME", help="lower-case words joined by -: what follows backend=")
    command.add_argument("--folder", type=Path, help="where to write it; tg-NAME unless given")
    command.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Write the distribution.

    Raises:
        InputError: a name that cannot be one, or is taken; a folder that holds something.
    """
    from tg import plugin

    taken = {
        name: f"a backend of {one.distribution}"
        for one in plugin.registry().backends()
        for name in (one.name, *one.aliases)
    }
    distribution.check_name(args.name, {**taken, "auto": "backend='auto' chooses one"})
    folder = args.folder or Path(f"tg-{args.name}")
    distribution.write(folder, files(args.name))
    show.text(distribution.written(folder))
    return 0


def files(name: str) -> dict[str, str]:
    """The files of the distribution, by path."""
    contents = distribution.read("backend", name)
    rules = f"src/{distribution.package(name)}/rules"
    families = list(with_rules())
    for family in families:
        path = f"{rules}/{family.path}.py"
        contents[path] = family_rules(family, contents.get(path), distribution.package(name))
    contents[f"{rules}/__init__.py"] = table_of_tables(families, distribution.package(name))
    return contents


def with_rules() -> Iterator[Family]:
    """Core's families that have something without an expansion, whose rules a backend gives."""
    from tg.ops.catalog import FAMILIES

    return (family for family in FAMILIES if family.elementwise or primitives(family))


def primitives(family: Family) -> list[type]:
    """The ops of a family that need a rule: those without an expansion that no linker does by itself."""
    from tg.plugin.coverage import WITHOUT_RULES

    return [op for op in family.ops if not op.has_expansion and op not in WITHOUT_RULES]


def family_rules(family: Family, text: str | None, package: str) -> str:
    """The rules of a family: the template's text, if there is one, with a line for each op that it does not name."""
    module = importlib.import_module(f"tg.ops.{family.path.replace('/', '.')}")
    lines = list(rule_lines(family, module, text or ""))
    if text is None:
        text = header(family, lines, package)
    elif any("performed" in line for line in lines) and ", performed" not in text:
        text = text.replace("arrays import ml\n", "arrays import ml, performed\n")
    return text.removesuffix("}\n") + "".join(f"    {line},\n" for line in lines) + "}\n"


def rule_lines(family: Family, module: ModuleType, text: str) -> Iterator[str]:
    """`ops.exp: ml.exp` for each op of a family that a text does not name."""
    names = {id(value): name for name, value in vars(module).items()}
    for fn in family.elementwise:
        name = f"ops.{names[id(fn)]}"
        if f"    {name}: " in text:
            continue
        is_numpys = isinstance(fn.reference, np.ufunc) and getattr(np, fn.name, None) is fn.reference
        yield f"{name}: ml.{fn.name}" if is_numpys else f"{name}: reference({name})"
    for op in primitives(family):
        if f"    ops.{names[id(op)]}: " not in text:
            yield f"ops.{names[id(op)]}: performed"


def header(family: Family, lines: list[str], package: str) -> str:
    """The beginning of a file of rules, to the first line of its table."""
    *folders, name = family.path.removeprefix("elementwise/").split("/")
    used = [word for word in ("ml", "performed", "reference") if any(f" {word}" in line for line in lines)]
    of_folder = bool(folders) and folders[0] != "linalg"  # whose families are at the top of `tg.backend`
    imports = f"from tg.backend import {folders[0] if of_folder else f'{name} as ops'}\n"
    imports += f"from {package}.arrays import {', '.join(used)}\n"
    ops = f"\nops = {folders[0]}.{name}\n" if of_folder else ""
    return f'"""Rules for `{family.path}`."""\n\n{imports}{ops}\nRULES = {{\n'


def table_of_tables(families: list[Family], package: str) -> str:
    """The module that unites the tables."""
    folders: dict[str, list[str]] = {}
    for family in families:
        folder, _, name = family.path.rpartition("/")
        folders.setdefault(folder, []).append(name)
    imports = "".join(
        f"from {'.'.join(filter(None, (package, 'rules', folder.replace('/', '.'))))} import (\n"
        + "".join(f"    {name},\n" for name in sorted(names))
        + ")\n"
        for folder, names in sorted(folders.items())
    )
    names = [family.path.rpartition("/")[2] for family in families]
    tables = "".join(f"    **{name}.RULES,\n" for name in names)
    docstring = '"""The rules of the backend, in files that have the names of core\'s families of ops."""'
    return f"{docstring}\n\n{imports}\nRULES = {{\n{tables}}}\n"
