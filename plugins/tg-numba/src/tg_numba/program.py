"""A whole generated module: constants, one function for each graph, and what Numba makes of them."""

from __future__ import annotations

import keyword
import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple, final

import numpy as np
from numba.extending import _Intrinsic

from tg.errors import DtypeError, message
from tg.graph.timing import Span
from tg.link.shapes import needs_plan, shapes_of
from tg_numba.engine import compiled
from tg_numba.function import GraphFunction
from tg_numba.machine import MEMORY_TYPES, Head, element_scope, graph_scope
from tg_numba.native import LOCK, apart, both, entry, nest
from tg_numba.scalars import element_function, loop_call
from tg_numba.text import WORDS, constant_text, plain_literal

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tg.graph.frozen import FrozenGraph
    from tg.graph.nodes import Constant
    from tg.graph.op import Op
    from tg.link.linker import Request
    from tg.link.shapes import Shapes
    from tg.plugin.records import Rule
    from tg_numba.engine import Written
    from tg_numba.ticks import Ticks

PYTHON: Final = frozenset((*keyword.kwlist, "range"))


class Program(NamedTuple):
    """A generated module: its text, its entries, their addresses, and what the entries refer to."""

    text: str
    run: Callable[..., int]
    plan: Callable[..., int] | None
    addresses: tuple[int, int]
    kept: tuple[object, ...]


@final
class Unit:
    """Collects the parts of one module."""

    def __init__(self, request: Request, ticks: Ticks | None = None) -> None:
        """Begin one; with `ticks`, one that takes the time of its parts."""
        self.request, self.ticks = request, ticks
        self._constants: dict[tuple[str, str], str] = {}
        self._arguments: dict[object, str] = {}
        self._arrays: list[np.ndarray[Any, Any]] = []
        self.functions: dict[str, Any] = {}  # of rules, by name
        self._apart: set[str] = set()  # those that nests call by address
        self.known = PYTHON | element_scope().keys()  # words that are no names of values
        self._nests: dict[str, tuple[str, Any]] = {}  # text -> name and function
        self._loops: dict[str, tuple[str, Written]] = {}  # key -> name of the address, and text
        self._functions: dict[FrozenGraph, str] = {}
        self._shapes: dict[FrozenGraph, Shapes] = {}
        self._makers: dict[FrozenGraph, dict[int, int]] = {}
        self._texts: list[tuple[str, str]] = []
        self._scope: dict[str, Any] = {} if ticks is None else ticks.scope

    # --- what rules and functions ask for --------------------------------------------------------------------------

    def rule(self, op: Op) -> Rule:
        """The rule for an op inside a scalar program."""
        found = self.request.rule_for(op.rule_key)
        assert found is not None, f"{op.name} in a loop has a rule"
        return found

    def literal(self, value: Any, dtype: str) -> str:
        """The text of one element: a number, or the name of a constant of the module."""
        plain = plain_literal(value, dtype)
        if plain is not None:
            return plain
        text = constant_text(value, dtype)
        return self._constants.setdefault((dtype, text), f"c{len(self._constants)}_{WORDS[dtype]}")

    def data(self, constant: Constant) -> str:
        """The name of the address of a constant array, whose elements are contiguous."""
        name = self._arguments.setdefault(constant.key, f"data{len(self._arrays)}")
        if name == f"data{len(self._arrays)}":
            array = constant.data if constant.data.flags.c_contiguous else constant.data.copy("C")
            self._arrays.append(array)
            self._scope[name] = array.ctypes.data
        return name

    def address(self, name: str, value: int) -> str:
        """The name of an address that is the same throughout the process."""
        self._scope[name] = value
        return name

    def row_function_of(self, function: Callable[..., Any]) -> str:
        """The name of a Python function that is called by its address in loop nests too."""
        name = self.function_of(function)
        self._apart.add(name)
        return name

    def function_of(self, function: Callable[..., Any]) -> str:
        """The name of a Python function that becomes part of the loop nests that call it."""
        name = f"{function.__module__.rpartition('.')[2]}_{function.__name__.strip('_')}"
        while self.functions.setdefault(name, function) is not function:
            name += "_"
        return name

    def element(self, op: Op, dtypes: tuple[str, ...], result: str) -> str:
        """The name of the function of single elements that an op is.

        Raises:
            NoRuleError: there is none for the dtypes.
        """
        words = dict.fromkeys((*(WORDS.get(d, d) for d in dtypes), WORDS.get(result, result)))
        name = re.sub(r"\W", "_", "_".join((op.name, *words)))
        function = element_function(op, self.rule(op), dtypes, result)
        while self.functions.setdefault(name, function) is not function:
            name += "_"
        return name

    def loop(self, written: Written) -> str:
        """The name of the address of a loop over lanes: one for equal ones."""
        known = self._loops.get(written.key)
        if known is None:
            known = self._loops[written.key] = (self._loop_name(), written)
        return known[0]

    def _loop_name(self) -> str:
        return f"loop{len(self._nests) + len(self._loops)}"

    def call_of(self, words: Sequence[str]) -> str:
        """The name of the function that runs a loop whose arguments are of these kinds."""
        name = "_".join(("run", *words))
        self._scope[name] = loop_call(tuple(words))
        return name

    def nest(self, text: str, used: Sequence[str]) -> str:
        """The name of the function of a loop nest: one for equal texts."""
        known = self._nests.get(text)
        if known is None:
            scope = {**element_scope(), **{name: both(self.functions[name])[name in self._apart] for name in used}}
            known = self._nests[text] = (self._loop_name(), nest(text, scope))
        return known[0]

    def shapes(self, graph: FrozenGraph) -> Shapes:
        """The lengths in a graph."""
        found = self._shapes.get(graph)
        if found is None:
            found = self._shapes[graph] = shapes_of(graph)
        return found

    def makers(self, graph: FrozenGraph) -> dict[int, int]:
        """The node that makes each value."""
        found = self._makers.get(graph)
        if found is None:
            found = {number: k for k, node in enumerate(graph.nodes) for number in node.outputs}
            self._makers[graph] = found
        return found

    def function(self, graph: FrozenGraph) -> str:
        """The name of the function of an inner graph: one for equal graphs."""
        name = self._functions.get(graph)
        if name is None:
            name = self._functions[graph] = f"graph{len(self._functions) + 1}"
            refuse_dtypes(graph)
            self._texts.append((name, GraphFunction(self, graph, name, is_main=False).text()))
        return name

    # --- the module --------------------------------------------------------------------------------------------------

    def program(self, graph: FrozenGraph) -> Program:
        """The module of a graph, compiled."""
        refuse_dtypes(graph)
        plans = needs_plan(graph)
        with Span("code"):
            self._texts.append(("graph0", GraphFunction(self, graph, "graph0", is_main=True).text()))
            if plans:
                self._texts.append(("plan0", GraphFunction(self, graph, "plan0", is_main=True, plans=True).text()))
            code = self._code()
        with Span("compiler", "llvm"):
            loops = compiled([written for _, written in self._loops.values()])
        self._scope.update((name, c.address) for (name, _), c in zip(self._loops.values(), loops, strict=True))
        called = {name: both(function)[1] for name, function in self.functions.items()}
        self._scope.update(graph_scope(), np=np, **called, **dict(self._nests.values()))
        exec(compile(code, "<tg-numba>", "exec"), self._scope)
        inputs = [graph.types[k].dtype for k in range(graph.arity)]
        outputs = [graph.types[k].dtype for k in graph.outputs]
        report = ["int64"] if graph.checks else []
        with LOCK, Span("compiler", "numba"):
            for name in self._functions.values():
                self._scope[name] = apart(self._scope[name])
            run, here = entry(self._scope["graph0"], _heads([*inputs, *outputs, *report]))
            plan, there = entry(self._scope["plan0"], _heads([*inputs, "int64", *report])) if plans else (None, 0)
        return Program(self._head() + code, run, plan, (here, there), (self._scope, *self._arrays, *loops))

    def _code(self) -> str:
        """Constants and functions."""
        constants = "".join(f"{name} = {text}\n" for (_, text), name in self._constants.items())
        return "\n\n".join([constants, *(text for _, text in self._texts)]).lstrip() + "\n"

    def _head(self) -> str:
        """What stands before the code when it is shown: what it uses, the constants at addresses, loop nests."""
        lines = ["from tg_numba.machine import *"]
        for name, function in self.functions.items():
            if isinstance(function, _Intrinsic):
                continue
            origin = getattr(function, "py_func", function)
            lines.append(f"{name} = numba.njit({origin.__module__}.{origin.__qualname__})")
        lines += [f"# data{k}: the address of {a.dtype}{list(a.shape)}" for k, a in enumerate(self._arrays)]
        nests = [f"\n\n{text.replace('def loop(', f'def {name}(', 1)}" for text, (name, _) in self._nests.items()]
        loops = [f"\n\n{written.shown(name)}" for name, written in self._loops.values()]
        return "\n".join(lines) + "\n" + "".join((*loops, *nests)) + "\n\n"


def _heads(dtypes: Sequence[str]) -> list[Head]:
    return [Head(MEMORY_TYPES[WORDS[d]]) for d in dtypes]


def refuse_dtypes(graph: FrozenGraph) -> None:
    """Raise for a dtype that the backend does not have.

    Raises:
        DtypeError: names it.
    """
    for t in graph.types:
        if t.dtype not in WORDS:
            raise DtypeError(message(f"backend 'numba': found {t}, needed one of {', '.join(WORDS)}"))
