"""The stubs `tg/__init__.pyi` and `tg/backend.pyi`: where each name comes from, for type checkers and editors.

`tg` loads its names when they are first used, which no checker can follow. The stub imports each from the module that
has it, so that signatures and docstrings are those of the functions themselves. Elementwise functions are records and
not functions: for these it says what they take.
"""

from __future__ import annotations

import importlib
import inspect
import re
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

import tg
import tg.backend
from tg.functions.backends import backend
from tg.ops.elementwise.operands import operand_names
from tg.ops.elementwise.record import ElementwiseFunction
from tg.ops.slopes import gradient
from tg.types.names import CONSTANTS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

STUB: Final = Path(tg.__file__).with_suffix(".pyi")
SURFACE: Final = STUB.with_name("backend.pyi")
WIDTH: Final = 120  # of a line, as ruff has it
USED: Final = {"Variable": "tg.graph.nodes", "TensorLike": "tg.variables.like"}  # in signatures
HEAD: Final = "# Where each name comes from: written by `make stub`."


def stub() -> str:
    """The text of the stub."""
    names = [name for name in dir(tg) if not name.startswith("_")]
    found = {name: getattr(tg, name) for name in names}
    found |= {"backend": backend, "gradient": gradient}  # modules that can be called as well
    modules = [name for name, value in found.items() if isinstance(value, ModuleType)]
    constants = {name: found.pop(name) for name in CONSTANTS}
    own = {name: value for name, value in found.items() if name == value.__name__}
    homes = {name: home(v) for name, v in own.items() if not is_record(v)} | dict.fromkeys(constants, "tg.types.names")
    imports = [
        *(f"from tg import {name} as {name}" for name in sorted(["errors", *modules])),
        *imported(homes),
    ]
    records = [record(value) for value in own.values() if is_record(value)]
    aliases = [f"{name} = {value.__name__}" for name, value in found.items() if name not in own and name not in modules]
    parts = (
        (HEAD,),
        ("from typing import Any",),
        imports,
        ("__version__: str", "__array_api_version__: str"),
        ["def __array_namespace_info__() -> Any: ...", *records],
        aliases,
    )
    return "\n\n".join("\n".join(part) for part in parts) + "\n"


def of_module(module: ModuleType) -> str:
    """The text of the stub of a module of tg that has elementwise functions among its own."""
    found = {name: getattr(module, name) for name in module.__all__}
    modules = [name for name, value in found.items() if isinstance(value, ModuleType)]
    records = {name: found.pop(name) for name in list(found) if is_record(found[name])}
    aliases = {name: v.__name__ for name, v in found.items() if name not in modules and name != v.__name__}
    homes = {n: module.__name__ if n in modules else home(v) for n, v in found.items() if n not in aliases}
    parts = (
        (HEAD,),
        imported(homes),
        [record(value, name) for name, value in records.items()],
        [f"{name} = {own}" for name, own in aliases.items()],
    )
    return "\n\n".join("\n".join(part) for part in parts if part) + "\n"


def imported(homes: dict[str, str]) -> list[str]:
    """The imports of public names, and of those that signatures have."""
    every = {**USED, **homes}
    public = {name: f" as {name}" if name in homes else "" for name in every}
    return [f"from {every[name]} import {name}{public[name]}" for name in sorted(every, key=as_ruff_sorts(every))]


def stubs() -> dict[Path, str]:
    """The text of every stub, by its file."""
    modules = [value for name in dir(tg) if isinstance(value := getattr(tg, name), ModuleType)]
    mixed = [
        m for m in modules if m is not tg.backend and any(is_record(getattr(m, n)) for n in getattr(m, "__all__", ()))
    ]
    return {STUB: stub(), SURFACE: surface()} | {Path(str(m.__file__)).with_suffix(".pyi"): of_module(m) for m in mixed}


def surface() -> str:
    """The text of the stub of what plugins import."""
    homes = tg.backend._HOMES
    names = sorted(homes, key=as_ruff_sorts(homes))
    return "\n".join([HEAD, "", *(f"from {homes[n]} import {n} as {n}" for n in names)]) + "\n"


def as_ruff_sorts(homes: Mapping[str, str]) -> Callable[[str], tuple[object, ...]]:
    """A key by modules, in each constants, classes, functions; numbers by their size."""

    def key(name: str) -> tuple[object, ...]:
        parts = [int(p) if p.isdigit() else p.lower() for p in re.split(r"(\d+)", name)]
        return homes[name], not name.isupper(), not name[0].isupper(), parts

    return key


def is_record(value: Any) -> bool:
    """Whether a name is an elementwise function."""
    return isinstance(value, ElementwiseFunction)


def home(value: Any) -> str:
    """The module from which a name can be imported."""
    original = inspect.unwrap(value)
    module: str = original.__module__
    assert inspect.unwrap(getattr(importlib.import_module(module), original.__name__)) is original
    return module


def record(fn: ElementwiseFunction, name: str | None = None) -> str:
    """What an elementwise function takes and gives, under a name or its own."""
    operands = [f"{operand}: TensorLike" for operand in operand_names(fn)]
    head, tail = f"def {name or fn.name}(", ") -> Variable: ..."
    line, inner = f"{head}{', '.join(operands)}, /{tail}", f"    {', '.join(operands)}, /"
    if len(line) <= WIDTH:
        return line
    lines = [inner] if len(inner) <= WIDTH else [f"    {one}," for one in (*operands, "/")]
    return "\n".join([head, *lines, tail])
