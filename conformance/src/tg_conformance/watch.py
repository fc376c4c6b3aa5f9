"""Whether a plugin has the reference compute, by the back door: nothing is compared then.

While a call is watched, the functions of the reference (`Op.perform`, and `reference` of elementwise functions) tell of
every call, whoever makes it, when and in which thread: a library that is lazy calls what a rule has given it long after
the rule has returned. They tell by other code of the same functions, so that who got hold of one beforehand tells too.
What core computes on the host, such as sizes, and what is computed while compiling, is no rule's doing; nor is what a
rule computes that says so (`tg.link.hosted.Hosted`), then or later.
"""

from __future__ import annotations

import functools
import importlib
import sys
import threading
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import tg.functions.compile
import tg.link.inspection
from tg import plugin
from tg.graph import interpret
from tg.graph.op import Op
from tg.link import hosted
from tg.ops.elementwise.record import Elementwise, ElementwiseFunction
from tg.ops.shape import AxisLength
from tg.plugin.records import key_name
from tg_conformance.lowered import lowered, nodes_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import CodeType, FrameType

    from tg_conformance.program import Program

REFERENCE: Final = "perform"
CORE: Final = f"{Path(tg.__file__).parent}/"
PLAIN: Final = (f"{CORE}ops/", f"{CORE}graph/", __file__)  # what references are made of, and what calls them for others
INSPECTING: Final = str(tg.link.inspection.__file__)
COMPILING: Final = str(tg.functions.compile.__file__)
HOSTED: Final = str(hosted.__file__)
SLOT: Final = "reference"
REFERENCE_OF: Final = ElementwiseFunction.__dict__[SLOT]
INTERPRETING: Final = str(interpret.__file__)
WRITTEN: Final = "<tg "  # the file of what core has written

ENTERED: list[Watch] = []
INSIDE: Final = threading.local()  # the thread is in a reference: what that calls is the same computation


class BackDoorError(Exception):
    """The reference has computed an op that is in no program: whose rule it was shows where they run alone."""


class Watch:
    """Notes the ops that a backend's own code has the reference compute, while it is entered."""

    def __init__(self, backend: str) -> None:
        self._backend, self._is_watching = backend, backend != REFERENCE
        self._found: dict[object, str] = {}
        if self._is_watching:
            rules = plugin.registry().rules(backend)
            self._declared = {key for key, rule in rules.items() if isinstance(rule, hosted.Hosted)}
            self._declared |= plugin.registry().hosted(backend)
            self._folders = tuple(folders_of(backend))
            self._calling = (f"{WRITTEN}{backend} ", INSPECTING)  # what calls rules

    def __enter__(self) -> None:
        if self._is_watching:
            ENTERED.append(self)
            for function, _own, telling in performing():
                function.__code__ = telling
            setattr(ElementwiseFunction, SLOT, property(_asked_for))

    def __exit__(self, *_: object) -> None:
        if self._is_watching:
            ENTERED.remove(self)
            setattr(ElementwiseFunction, SLOT, REFERENCE_OF)
            for function, own, _telling in performing():
                function.__code__ = own

    def told_of(self, program: Program, *, is_alone: bool) -> str | None:
        """What is wrong with a program: the rule of an op in it has the reference compute.

        Args:
            is_alone: nothing else has been watched, so that other ops too were computed for the program.
        """
        if not self._found:
            return None
        keys = {node.op.rule_key for node in nodes_of(lowered(self._backend, program))}
        for key, where in self._found.items():
            if is_alone or key in keys:
                hint = "wrap a rule that is to do so in tg.backend.Hosted"
                return f"{key_name(key)}: the reference computed it, called at {where}; {hint}"
        return None

    def refuse_others(self, programs: list[Program]) -> None:
        """Raise where the reference computed an op that is in none of several programs.

        Raises:
            BackDoorError: it did.
        """
        if self._found and len(programs) > 1:
            keys = {node.op.rule_key for one in programs for node in nodes_of(lowered(self._backend, one))}
            others = [key_name(key) for key in self._found if key not in keys]
            if others:
                raise BackDoorError(", ".join(others))

    def note(self, keys: tuple[object, ...], arrays: tuple[Any, ...]) -> None:
        """Note a call of the reference of an op, or of functions that share it, unless it may be made."""
        if not self._declared.isdisjoint(keys):
            return
        frame = self._asking(sys._getframe(1), arrays)
        if frame is not None:
            where = f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}"
            self._found.update((key, where) for key in keys if key not in self._found)

    def _asking(self, caller: FrameType, arrays: tuple[Any, ...]) -> FrameType | None:
        """The frame of what has asked for it, in a plugin if there is one; None where that is core."""
        files = []
        frame: FrameType | None = caller
        while frame is not None and frame.f_code.co_filename.startswith(PLAIN):
            files.append(frame.f_code.co_filename)
            frame = frame.f_back
        asking = frame or caller
        name = asking.f_code.co_filename
        if name.startswith((CORE, WRITTEN)) and not name.startswith(self._calling):
            return None
        if INTERPRETING in files and all(getattr(x, "shape", ()) == () for x in arrays):
            return None  # sizes that a linker computes
        of_plugin = None
        while frame is not None:
            name = frame.f_code.co_filename
            if name in (HOSTED, COMPILING):
                return None
            if of_plugin is None and name.startswith(self._folders):
                of_plugin = frame
            frame = frame.f_back
        return of_plugin or asking


def _template(*arrays: Any, **named: Any) -> Any:
    call: Any = ...
    return call(arrays, named)


def _telling(function: FunctionType, fns: tuple[ElementwiseFunction, ...]) -> CodeType:
    """Code of a function that tells the watch of its calls, then does what the function does."""
    own = function.__code__
    original = FunctionType(own, function.__globals__, own.co_name, function.__defaults__, function.__closure__)
    original.__kwdefaults__ = function.__kwdefaults__

    def call(arrays: tuple[Any, ...], named: dict[str, Any]) -> Any:
        if fns:
            _tell(fns, arrays)
        elif not isinstance(arrays[0], AxisLength):
            _tell((arrays[0].rule_key,), arrays[1:])
        INSIDE.depth = getattr(INSIDE, "depth", 0) + 1
        try:
            return original(*arrays, **named)
        finally:
            INSIDE.depth -= 1

    code = _template.__code__
    constants = tuple(call if one is ... else one for one in code.co_consts)
    return code.replace(co_consts=constants, co_freevars=own.co_freevars, co_name=own.co_name)


class Telling(NamedTuple):
    """A function of the reference, its code, and code that tells."""

    function: FunctionType
    own: CodeType
    telling: CodeType


@functools.cache
def performing() -> tuple[Telling, ...]:
    """Every function of the reference that is Python's."""
    families = plugin.registry().families()
    classes = {op for family in families for op in family.ops} | {Elementwise}
    found = {_function(op.perform): () for op in classes if op.perform is not Op.perform}
    shared: dict[FunctionType, tuple[ElementwiseFunction, ...]] = {}
    for fn in (fn for family in families for fn in family.elementwise):
        if isinstance(fn.reference, FunctionType):
            shared[fn.reference] = (*shared.get(fn.reference, ()), fn)
    return tuple(Telling(f, f.__code__, _telling(f, fns)) for f, fns in {**found, **shared}.items())


def _asked_for(fn: ElementwiseFunction) -> Any:
    """`fn.reference`, told: that of most functions is NumPy's own, whose calls nobody sees."""
    _tell((fn,), ())
    return REFERENCE_OF.__get__(fn)


def _tell(keys: tuple[object, ...], arrays: tuple[Any, ...]) -> None:
    if not getattr(INSIDE, "depth", 0):
        for watch in ENTERED:
            watch.note(keys, arrays)


def _function(method: Callable[..., Any]) -> FunctionType:
    assert isinstance(method, FunctionType), method
    return method


@functools.cache
def folders_of(backend: str) -> list[str]:
    """Where the code of a backend lies, of what it requires, and of extensions: their packages, or the module alone."""
    registry = plugin.registry()
    entries = dict.fromkeys((registry.provided_by(backend), *registry.required(backend), *registry.extensions()))
    names = [one.target.partition(":")[0] for one in entries]
    kit = __name__.partition(".")[0]
    found = []
    for name in filter(None, names):  # what is registered by hand has no module
        top = name.partition(".")[0]
        module = importlib.import_module(name if top == kit else top)
        file = module.__file__
        if file is not None:
            found.append(f"{Path(file).parent}/" if hasattr(module, "__path__") else file)
    return found
