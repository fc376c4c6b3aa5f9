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
        *(f"from {homes[name]} import {name} as {name}" for name in sorted(homes, key=as_ruff_sorts(homes))),
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


def record(fn: ElementwiseFunction) -> str:
    """What an elementwise function takes and gives."""
    operands = ", ".join(f"{name}: Any" for name in operand_names(fn))
    line = f"def {fn.name}({operands}, /) -> Variable: ..."
    return line if len(line) <= WIDTH else f"def {fn.name}(\n    {operands}, /\n) -> Variable: ..."
