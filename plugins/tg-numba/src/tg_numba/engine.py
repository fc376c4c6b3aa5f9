"""Machine code of loops: one LLVM module for those of a program, kept as long as one of them is in use."""

from __future__ import annotations

import threading
import weakref
from typing import TYPE_CHECKING, Any, Final, NamedTuple, final

import llvmlite.binding as llvm

from tg_numba.assembly import Module

if TYPE_CHECKING:
    from collections.abc import Sequence

LEVEL: Final = 2  # of the code generator; passes before it gain nothing where vectors are written as such
LOCK: Final = threading.Lock()


class Written(NamedTuple):
    """A loop as text: its function is called `loop`."""

    module: Module
    definition: str

    @property
    def key(self) -> str:
        """What makes two loops one."""
        return self.module.text() + self.definition

    def shown(self, name: str) -> str:
        """The loop under a name as Python that says what it is."""
        text = self.definition.replace("@loop(", f"@{name}(", 1).replace("\n", "\n    ")
        return f'def {name}():  # the address of\n    """\n    {text}\n    """'


@final
class Code:
    """A loop that can be called: `address` is good as long as this object lives."""

    __slots__ = ("__weakref__", "_engine", "address")

    def __init__(self, engine: Any, address: int) -> None:
        self._engine, self.address = engine, address


_known: Final[weakref.WeakValueDictionary[str, Code]] = weakref.WeakValueDictionary()


def compiled(loops: Sequence[Written]) -> list[Code]:
    """The code of loops; one that the process has already is not made again."""
    with LOCK:
        found = [_known.get(loop.key) for loop in loops]
        missing = list({loop.key: loop for loop, code in zip(loops, found, strict=True) if code is None}.values())
        made = dict(zip((loop.key for loop in missing), _made(missing), strict=True)) if missing else {}
        _known.update(made)
        return [code or made[loop.key] for loop, code in zip(loops, found, strict=True)]


def _made(loops: Sequence[Written]) -> list[Code]:
    whole = Module()
    for k, loop in enumerate(loops):
        whole.include(loop.module)
        whole.define(f"loop{k}", loop.definition.replace("@loop(", f"@loop{k}(", 1))
    engine = _loaded(_assembled(whole.text()))
    return [Code(engine, engine.get_function_address(f"loop{k}")) for k in range(len(loops))]


def code_of(text: str, name: str, level: int = LEVEL) -> Code:
    """The code of one function of a module."""
    engine = _loaded(_assembled(text, level))
    return Code(engine, engine.get_function_address(name))


def _assembled(text: str, level: int = LEVEL) -> bytes:
    """The object file that the text becomes."""
    found: bytes = _machine(level).emit_object(llvm.parse_assembly(text))
    return found


def _loaded(code: bytes) -> Any:
    """An engine that has an object file in memory."""
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), _machine())
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    return engine


def _machine(level: int = LEVEL) -> Any:
    target = llvm.Target.from_default_triple()
    features = llvm.get_host_cpu_features().flatten()
    return target.create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=features, opt=level, jit=True, codemodel="jitdefault"
    )
