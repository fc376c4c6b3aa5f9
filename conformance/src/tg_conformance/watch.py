"""Whether a plugin's rules have the reference compute, by the back door: nothing is compared then.

While a program runs, calls of `Op.perform` are looked at: those that a plugin's code has made, outside a rule that says
so (`tg.link.hosted.Hosted`), are noted. What linkers of core compute on the host, such as sizes, is no rule's doing.
"""

from __future__ import annotations

import functools
import importlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import tg.link.inspection
from tg import plugin
from tg.graph.op import Op
from tg.ops.elementwise.record import Elementwise
from tg.plugin.records import key_name
from tg_conformance.lowered import lowered, nodes_of

if TYPE_CHECKING:
    from types import CodeType, FrameType

    from tg_conformance.program import Program

REFERENCE: Final = "perform"
OWN: Final = f"{Path(tg.link.__file__).parent}/"
WRITTEN: Final = "<tg "  # the file of what core has written


class Watch:
    """Notes the ops that a backend's own code has performed, while it is entered."""

    def __init__(self, backend: str) -> None:
        self._backend = backend
        self._folders = tuple(folders_of(backend)) if backend != REFERENCE else ()
        self._calling = (f"{WRITTEN}{backend} ", tg.link.inspection.__file__)  # what calls rules
        self._found: dict[object, str] = {}

    def __enter__(self) -> None:
        if self._folders:
            sys.setprofile(self._note)

    def __exit__(self, *_: object) -> None:
        if self._folders:
            sys.setprofile(None)

    def told_of(self, program: Program) -> str | None:
        """What is wrong with a program: the rule of an op in it has the reference compute."""
        if not self._found:
            return None
        keys = {node.op.rule_key for node in nodes_of(lowered(self._backend, program))}
        for op, where in self._found.items():
            if op in keys:
                hint = "wrap a rule that is to do so in tg.backend.Hosted"
                return f"{key_name(op)}: the reference computed it, called at {where}; {hint}"
        return None

    def _note(self, frame: FrameType, event: str, argument: Any) -> None:
        if event != "call" or frame.f_code not in performing():
            return
        caller = _caller(frame.f_back, self._folders, self._calling)
        if caller is not None:
            op = frame.f_locals["self"]
            key = op.rule_key if isinstance(op, Op) else op
            self._found.setdefault(key, f"{Path(caller.f_code.co_filename).name}:{caller.f_lineno}")


def _caller(frame: FrameType | None, folders: tuple[str, ...], calling: tuple[str, ...]) -> FrameType | None:
    """The frame of a plugin's rule that has called for this; None where a linker has, or a rule that says so.

    Rules are called from what core has written of the graph; what linkers compute on the host is called from elsewhere.
    """
    while frame is not None and not frame.f_code.co_filename.startswith((*folders, OWN, WRITTEN)):
        frame = frame.f_back
    first = frame
    while frame is not None and frame.f_code.co_filename.startswith(folders):
        frame = frame.f_back
    is_rule = first is not frame and frame is not None and frame.f_code.co_filename.startswith(calling)
    return first if is_rule else None


@functools.cache
def performing() -> frozenset[CodeType]:
    """The code of every reference."""
    classes = {op for family in plugin.registry().families() for op in family.ops} | {Elementwise}
    return frozenset(op.perform.__code__ for op in classes if op.perform is not Op.perform)


@functools.cache
def folders_of(backend: str) -> list[str]:
    """Where the code of a backend lies, and that of extensions: their packages, or the module alone."""
    registry = plugin.registry()
    names = [one.target.partition(":")[0] for one in (registry.provided_by(backend), *registry.extensions())]
    kit = __name__.partition(".")[0]
    found = []
    for name in names:
        top = name.partition(".")[0]
        module = importlib.import_module(name if top == kit else top)
        file = module.__file__
        if file is not None:
            found.append(f"{Path(file).parent}/" if hasattr(module, "__path__") else file)
    return found
