"""The linker of backends that have rules: what core makes of a handful of a library's functions.

A graph is one Python function (`tg.link.writing`), which runs as it is or is compiled by the library, once for each
tuple of the sizes that depend on values. `docs/protocol.md` is the contract.
"""

from __future__ import annotations

import contextlib
import functools
from copy import copy as copied
from typing import TYPE_CHECKING, Any, Final, final

from tg.errors import PluginError, message
from tg.graph.timing import Span
from tg.link.executable import FuncifyExecutable
from tg.link.linker import Executable, Linker, Request
from tg.link.writing import funcify, parameters

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextlib import AbstractContextManager

    import numpy as np

    from tg.graph.frozen import FrozenGraph
    from tg.link.direct import Switch
    from tg.link.linker import Traceable
    from tg.link.memory import Plan
    from tg.link.steps import Site
    from tg.link.symbolic import Symbols
    from tg.link.unit import Unit

    Array = np.ndarray[Any, Any]

TOLD: Final = ("to_native", "constant", "copy", "argument", "ready")  # what may ask for the context


@final
class FuncifyLinker(Linker):
    """The linker of backends with rules of kind `array`; a backend passes its functions to the constructor.

    Args:
        to_native: a copy of a NumPy array as the backend's, outside tracing.
        to_numpy: the backend's array (or a NumPy one) as a NumPy array, possibly sharing memory.
        constant: a small NumPy array as the backend's, while tracing; `to_native` unless given.
        copy: a copy of the backend's array, while tracing too; by way of NumPy unless given.
        argument: an input (NumPy or the backend's own) as the compiled function takes it; as it is unless given.
        jit: `jit(function, unit)` compiles the function of arrays, of which `unit` tells name, graph, options and a
            fingerprint (`Unit`); what it returns may have `source()`, a text for `f.source()`. None: it runs as it is.
        inner: as `jit`, where `jit` is None: compiles the function of an inner graph that a rule is given (`graphs`),
            unless such rules or Python functions are in it; None: it runs as it is.
        length: `length(array, axis)`, for a library that compiles once for all lengths: the length of an axis as an
            int64 scalar of its own. Operands that are sizes are such scalars then, where they are not known beforehand.
        context: `context(options)` is what rules that have an argument `context` are given; the options unless given.
            So are `to_native`, `constant`, `copy`, `argument` and `ready` where they have such an argument.
        scope: `scope(options)` makes the context that is entered at every compilation and call; None where a call needs
            none.
        switch: `switch(options)` gives two functions that do in a call what that context does: what the first returns,
            the second takes to undo it. None where there is more to do.
        ready: waits for outputs and returns them; a call must not return before its inputs have been read.
        owned: an output of a call as a NumPy array that is writable, in memory that only the output has; a copy unless
            given.
        waits: whether to make a NumPy array of an output waits for it, so that `ready` need not where all become such.
        overwrite: `overwrite(rule, site)` is a function of the operands and of `out`, an array of the result's type,
            which may be an operand: it does at one node what the rule does, with the result there. It takes no memory
            of that size, runs no Python, and does not fail. None where there is none. Not asked of compiled programs.
        is_alone: `is_alone(array)`, whether an array, to which nothing in Python refers but who asks, has memory of its
            own that may be written into.
        special: `special(rule, site)` is a function of the operands that does at one node (`tg.link.steps.Site`) what
            the rule does, faster; None where there is none. Not asked where programs are compiled.
        views: ops and elementwise functions whose rules may return an operand or a view of one; of a library that
            compiles, those that stay views. Outputs made by them are copied when they share memory with an input or
            another output.
        is_spread: `is_spread(value, options)`, whether an argument of a call is an array of the library that lies on
            several devices, and is not brought together: the compiled function takes it as it is.
        lay_out: `lay_out(graph, options)`, for programs on several devices: a function of an array, the library's or
            NumPy's, and the number of an input or a constant, None for a constant of an inner graph; it gives the array
            as it is to lie on the devices, itself where it does. None: all lies where it is.
        memory: `memory(graph, program, arrays)` gives the `tg.link.memory.Plan` of a call, where the library tells it;
            None: it is what the values of the program need.
        barrier: `barrier(*arrays)` gives the operands of a `Call`, while tracing too, so that the library merges
            nothing that the call computes with what is computed outside, and computes it when all of them are there.
            None: the library runs the function as it is written.
        traceable: `traceable(function)` makes of a `tg.link.linker.Traceable` a function that programs of the library's
            users may trace and differentiate; None: there are no such programs.
        embedded: `embedded(function)` makes the user's form of it known to a tracer of the library that reads Python.
        tracing: `tracing(arrays)` is the linker by whose functions such programs are made of these arrays;
            itself unless given. None where the program is to run as in a call.
        lifted: a constant of a program, which `to_native` has made, as a trace takes it; as it is unless given.
        symbols: the arithmetic of lengths of such arrays that are symbols; None: there are none.
    """

    def __init__(
        self,
        *,
        to_native: Callable[[Array], Any],
        to_numpy: Callable[[Any], Array],
        constant: Callable[[Array], Any] | None = None,
        copy: Callable[[Any], Any] | None = None,
        argument: Callable[[Any], Any] | None = None,
        jit: Callable[[Callable[..., Any], Unit], Callable[..., Any]] | None = None,
        inner: Callable[[Callable[..., Any], Unit], Callable[..., Any]] | None = None,
        length: Callable[[Any, int], Any] | None = None,
        context: Callable[[Any], Any] | None = None,
        scope: Callable[[Any], AbstractContextManager[Any] | None] | None = None,
        switch: Callable[[Any], Switch | None] | None = None,
        ready: Callable[[Any], Sequence[Any]] | None = None,
        owned: Callable[[Any], Array] | None = None,
        waits: bool = False,
        overwrite: Callable[[Callable[..., Any], Site], Callable[..., Any] | None] | None = None,
        is_alone: Callable[[Any], bool] | None = None,
        special: Callable[[Callable[..., Any], Site], Callable[..., Any] | None] | None = None,
        views: frozenset[object] = frozenset(),
        is_spread: Callable[[object, Any], bool] | None = None,
        lay_out: Callable[[FrozenGraph, Any], Callable[[Any, int | None], Any] | None] | None = None,
        memory: Callable[[FrozenGraph, Callable[..., Any], Sequence[Any]], Plan | None] | None = None,
        barrier: Callable[..., Sequence[Any]] | None = None,
        traceable: Callable[[Traceable], Callable[..., Sequence[Any]]] | None = None,
        embedded: Callable[[Callable[..., Any]], Callable[..., Any]] | None = None,
        tracing: Callable[[Sequence[Any]], FuncifyLinker | None] | None = None,
        lifted: Callable[[Any], Any] | None = None,
        symbols: Symbols | None = None,
    ) -> None:
        self.to_native, self.to_numpy, self.views = to_native, to_numpy, views
        self.constant = constant or to_native
        self.copy = copy or self._copied
        if length is not None and jit is None:
            raise PluginError(message("FuncifyLinker: length: found a function, needed jit beside it"))
        self.argument, self.jit, self.length = argument, jit, length
        self.scope, self.switch = scope, switch
        self.inner = inner if jit is None else None
        self._traceable, self._embedded, self._tracing = traceable, embedded, tracing
        self.is_spread, self.lay_out, self.memory, self.barrier = is_spread, lay_out, memory, barrier
        self.lifted = lifted or (lambda constant: constant)
        self.symbols = symbols
        self.context = context or (lambda options: options)
        self.ready = ready or (lambda outputs: outputs)
        self.owned, self.waits, self.special = owned, waits, special
        self.overwrite, self.is_alone = overwrite, is_alone or (lambda array: False)
        self._asking = tuple(name for name in TOLD if "context" in parameters(getattr(self, name)))

    def compile(self, graph: FrozenGraph, request: Request) -> Executable:
        """Funcify the graph; the backend's compiler runs at the first call, when shapes are known."""
        linker = self._told(request.options)
        with Span("code"):
            function = funcify(graph, request, linker)
        with Span("entry"), linker.entered(request.options):
            return FuncifyExecutable(graph, function, linker, request)

    def traceable(self, function: Traceable) -> Callable[..., Sequence[Any]] | None:
        """The backend's form of the function."""
        return None if self._traceable is None else self._traceable(function)

    def embedded(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The user's form of the function."""
        return function if self._embedded is None else self._embedded(function)

    def tracing(self, arrays: Sequence[Any]) -> FuncifyLinker | None:
        """The linker of programs of the library's users."""
        return self if self._tracing is None else self._tracing(arrays)

    def _copied(self, array: Any) -> Any:
        return self.to_native(self.to_numpy(array))

    def _told(self, options: Any) -> FuncifyLinker:
        """The linker whose functions need not be told the context; itself where none asks for it."""
        if not self._asking:
            return self
        linker, context = copied(self), self.context(options)
        if linker.copy == self._copied:
            linker.copy = linker._copied
        for name in self._asking:
            setattr(linker, name, functools.partial(getattr(self, name), context=context))
        return linker

    def entered(self, options: Any) -> AbstractContextManager[Any]:
        """The context that is entered around compilation."""
        return (self.scope and self.scope(options)) or contextlib.nullcontext()
