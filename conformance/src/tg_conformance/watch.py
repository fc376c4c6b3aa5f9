"""Whether a plugin has the reference compute, by the back door: nothing is compared then.

While a call is watched, the functions of the reference (`Op.perform`, and `reference` of elementwise functions) tell of
every call, whoever makes it, when and in which thread: a library that is lazy calls what a rule has given it long after
the rule has returned. They tell by other code of the same functions, so that who got hold of one beforehand tells too.
A call with a rule anywhere on the stack is the rule's, however much of core lies between (a function that the rule has
compiled for the reference), and so is one in a thread that a rule has started. What core computes on the host, such as
sizes, and what is computed while compiling, is no rule's doing; nor is what a rule computes that is declared to do so
(`tg.link.hosted.Hosted`), then or later.

Copies of the reference's code (`tg_conformance.copies`) compute unseen, and are looked for among all functions of the
process.
"""

from __future__ import annotations

import functools
import importlib
import sys
import threading
from pathlib import Path
from types import FunctionType, MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import tg.functions.compile
import tg.link.inspection
from tg import plugin
from tg.graph import interpret
from tg.graph.op import Op
from tg.link import hosted
from tg.ops import inner
from tg.ops.elementwise.record import Elementwise, ElementwiseFunction
from tg.ops.shape import AxisLength
from tg.plugin.records import ARRAY, key_name
from tg_conformance.copies import Reference, copies
from tg_conformance.lowered import lowered, nodes_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import CodeType, FrameType

    from tg.plugin.discovery import Entry
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
CHECKING_SHAPES: Final = inner.refused_by_shapes.__code__  # core's, of lengths alone: rules of loops ask it
WRITTEN: Final = "<tg "  # the file of what core has written
KIT: Final = f"{Path(__file__).parent}/"

ENTERED: list[Watch] = []
ORIGINALS: Final[set[int]] = set()  # ids of the functions that do what references do while these tell
INSIDE: Final = threading.local()  # the thread is in a reference: what that calls is the same computation


class BackDoorError(Exception):
    """The reference has computed an op that is in no program: whose rule it was shows where they run alone."""


class Watch:
    """Notes the ops that a backend's own code has the reference compute, while it is entered."""

    def __init__(self, backend: str, copied: Mapping[object, str] = MappingProxyType({})) -> None:
        """A watch over calls of a backend, with what is known of copies already (`copied`)."""
        self._backend, self._is_watching = backend, backend != REFERENCE
        self._found: dict[object, str] = {}
        self._copied = copied
        if self._is_watching:
            rules = plugin.registry().rules(backend)
            self._declared = {key for key, rule in rules.items() if isinstance(rule, hosted.Hosted)}
            self._declared |= plugin.registry().hosted(backend)
            self._hosted = {id(rule) for rule in rules.values() if isinstance(rule, hosted.Hosted)}
            self._calls_rules = plugin.registry().backend(backend).rules.kind == ARRAY.kind
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
        """The fault of a program: the rule of an op in it has the reference compute.

        Args:
            is_alone: nothing else has been watched, so that other ops too were computed for the program.
        """
        if not self._found and not self._copied:
            return None
        keys = {node.op.rule_key for node in nodes_of(lowered(self._backend, program))}
        told = [
            (key, f"the reference computed it, called at {at}")
            for key, at in self._found.items()
            if is_alone or key in keys
        ]
        told += [
            (key, f"a copy of the reference's code computes it, at {at}")
            for key, at in self._copied.items()
            if key in keys
        ]
        hint = "wrap a rule that is to do so in tg.backend.Hosted"
        return next((f"{key_name(key)}: {text}; {hint}" for key, text in told), None)

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
            if frame.f_code is CHECKING_SHAPES:
                return None
            files.append(frame.f_code.co_filename)
            frame = frame.f_back
        asking = frame or caller
        is_size = INTERPRETING in files and all(getattr(x, "shape", ()) == () for x in arrays)
        stack = self._stack(asking)
        if stack.is_excused:
            return None
        if stack.under_rule is not None and not (is_size and not self._calls_rules):
            return stack.under_rule
        if is_size:
            return None  # sizes that a linker computes
        name = asking.f_code.co_filename
        if name.startswith((CORE, WRITTEN)) and not name.startswith(self._calling) and stack.is_called_by_kit:
            return None
        return stack.of_plugin or asking

    def _stack(self, frame: FrameType | None) -> Stack:
        """Who stands on the stack, from a frame outwards; what compiling has called is core's."""
        of_plugin = under_rule = None
        is_excused = is_called_by_kit = False
        while frame is not None:
            name = frame.f_code.co_filename
            if name == HOSTED and id(frame.f_locals.get("self")) in self._hosted:
                return Stack(None, None, is_excused=True, is_called_by_kit=True)
            if name == COMPILING:
                of_plugin = under_rule = None
                is_excused = True
            elif name.startswith(self._folders):
                of_plugin, is_excused = of_plugin or frame, False
            elif name.startswith(self._calling) and of_plugin is not None:
                under_rule = under_rule or of_plugin
            elif name.startswith(self._calling[0]):  # a program computes sizes for itself, though in the loop of a rule
                return Stack(None, None, is_excused=is_excused, is_called_by_kit=True)
            elif name.startswith(KIT) and name != __file__:
                is_called_by_kit = True
            frame = frame.f_back
        return Stack(of_plugin, under_rule, is_excused=is_excused, is_called_by_kit=is_called_by_kit)


class Stack(NamedTuple):
    """The frames on the stack of a call of the reference.

    `under_rule` is the innermost frame of a plugin that was called as a rule; `of_plugin` of any plugin's.
    """

    of_plugin: FrameType | None
    under_rule: FrameType | None
    is_excused: bool  # it computes while a program is compiled, or in a rule that is declared to leave the backend
    is_called_by_kit: bool  # else in a thread that somebody has started


def copied(backend: str) -> dict[object, str]:
    """The ops that a function of somebody's computes whose code is a copy of the reference's, and where it is."""
    if backend == REFERENCE:
        return {}
    rules = plugin.registry().rules(backend)
    declared = {key for key, rule in rules.items() if isinstance(rule, hosted.Hosted)}
    declared |= plugin.registry().hosted(backend)
    performing()  # so that all that shares code by right is known
    matches = copies(references(), frozenset(ORIGINALS))
    return {key: where for keys, where in matches for key in keys if declared.isdisjoint(keys)}


def _template(*arrays: Any, **named: Any) -> Any:
    call: Any = ...
    return call(arrays, named)


def _telling(function: FunctionType, fns: tuple[ElementwiseFunction, ...]) -> CodeType:
    """Code of a function that tells the watch of its calls, then does what the function does."""
    own = function.__code__
    original = FunctionType(own, function.__globals__, own.co_name, function.__defaults__, function.__closure__)
    original.__kwdefaults__ = function.__kwdefaults__

    ORIGINALS.add(id(original))

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
def references() -> tuple[Reference, ...]:
    """Every function of the reference that is Python's, before it tells."""
    families = plugin.registry().families()
    shared: dict[FunctionType, tuple[object, ...]] = {}
    for op in dict.fromkeys(op for family in families for op in family.ops):
        if op.perform is not Op.perform:
            function = _function(op.perform)
            shared[function] = (*shared.get(function, ()), op)
    for fn in (fn for family in families for fn in family.elementwise):
        if isinstance(fn.reference, FunctionType):
            shared[fn.reference] = (*shared.get(fn.reference, ()), fn)
    return tuple(Reference(function, function.__code__, keys) for function, keys in shared.items())


@functools.cache
def performing() -> tuple[Telling, ...]:
    """Every function of the reference that is Python's, with code that tells."""
    functions: dict[FunctionType, tuple[ElementwiseFunction, ...]] = {}
    for function, _code, keys in references():
        fns = tuple(key for key in keys if isinstance(key, ElementwiseFunction))
        functions[function] = fns if len(fns) == len(keys) else ()  # a method knows its op
    functions[_function(Elementwise.perform)] = ()
    return tuple(Telling(f, f.__code__, _telling(f, fns)) for f, fns in functions.items())


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
    """Folders of the code of a backend, of what it requires, and of extensions: their packages, or the module alone."""
    registry = plugin.registry()
    entries = dict.fromkeys((registry.provided_by(backend), *registry.required(backend), *registry.extensions()))
    return [folder for entry in entries if (folder := _folder(entry)) is not None]


def _folder(entry: Entry) -> str | None:
    """The folder of a plugin's code; None of an object that was registered by hand."""
    name = entry.target.partition(":")[0]
    top = name.partition(".")[0]
    is_of_kit = top == __name__.partition(".")[0]
    module: Any = (
        importlib.import_module(name if is_of_kit else top)
        if name
        else plugin.registry().manager.get_plugin(entry.plugin_name)
    )
    file = getattr(module, "__file__", None)
    if file is None:
        return None
    return f"{Path(file).parent}/" if hasattr(module, "__path__") else str(file)
