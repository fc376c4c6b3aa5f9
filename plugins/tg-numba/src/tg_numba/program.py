"""A whole generated module: constants, one function for each graph, and what Numba makes of them."""

from __future__ import annotations

import keyword
import re
from types import FunctionType
from typing import TYPE_CHECKING, Any, Final, NamedTuple, final

import numpy as np

from tg.errors import DtypeError, message
from tg.graph.timing import Span
from tg.link.shapes import needs_plan, shapes_of
from tg_numba import cache, engine
from tg_numba.function import GraphFunction
from tg_numba.identity import UnknownError, identity
from tg_numba.machine import element_scope, graph_scope
from tg_numba.native import LOCK, Callee, Symbol, apart, both, nest
from tg_numba.scalars import element_function, loop_call
from tg_numba.text import WORDS, constant_text, plain_literal

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tg.graph.frozen import FrozenGraph
    from tg.graph.nodes import Constant
    from tg.graph.op import Op
    from tg.link.linker import Request
    from tg.link.shapes import Shapes
    from tg.plugin.records import Rule
    from tg_numba.engine import Bundle, Loaded, Written
    from tg_numba.ticks import Ticks

PYTHON: Final = frozenset((*keyword.kwlist, "range"))
COMMENT: Final = re.compile(r"^ *#.*\n", re.MULTILINE)  # says where a line of the user's is, which moves
GRAPHS: Final = {"run": "graph", "plan": "plan"}  # what the functions that make an entry are called in the text


class Program(NamedTuple):
    """A generated module: its text, its entries, their addresses (0: there is no plan), and what these refer to."""

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
        self._scope: dict[str, Any] = {}
        self._addresses: dict[str, int] = {}  # of symbols
        if ticks is not None:
            self._scope.update(ticks.scope)
            self.address("TICKS", ticks.table.ctypes.data)

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
            self.address(name, array.ctypes.data)
        return name

    def address(self, name: str, value: int) -> str:
        """The name of an address that is the same throughout the process; 0 is none."""
        if value:
            self._scope[name] = Symbol(f"tg.{name}")
            self._addresses[f"tg.{name}"] = value
        else:
            self._scope[name] = 0
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
            self._scope[known[0]] = Symbol(written.symbol)
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
        inputs = [WORDS[graph.types[k].dtype] for k in range(graph.arity)]
        outputs = [WORDS[graph.types[k].dtype] for k in graph.outputs]
        report = [WORDS["int64"]] if graph.checks else []
        heads = {"run": [*inputs, *outputs, *report]}
        if plans:
            heads["plan"] = [*inputs, WORDS["int64"], *report]
        kept: list[object] = []  # what programs share in this process
        found = self._loaded(code, heads, lambda: self._compiled(code, heads, kept))
        run = found.caller("run", len(heads["run"]))
        plan = found.caller("plan", len(heads["plan"])) if plans else None
        places = (found.address("run"), found.address("plan") if plans else 0)
        return Program(self._head() + code, run, plan, places, (found, *self._arrays, self.ticks, *kept))

    def _loaded(self, code: str, heads: Mapping[str, Sequence[str]], make: Callable[[], Bundle]) -> Loaded:
        """The machine code of the module, from the cache if what determines it can be told."""
        nests = [(name, text) for text, (name, _) in self._nests.items()]
        loops = [(name, key) for key, (name, _) in self._loops.items()]
        places = [(name, value) for name, value in self._scope.items() if isinstance(value, int)]
        try:
            parts = [COMMENT.sub("", code), identity(self.functions)]
        except UnknownError:
            return engine.loaded(make(), self._addresses)
        return cache.opened([*parts, *map(repr, (heads, nests, loops, places))], self._addresses, make)

    def _compiled(self, code: str, heads: Mapping[str, Sequence[str]], kept: list[object]) -> Bundle:
        """The object files of the module."""
        with Span("compiler", "llvm"):
            loops = engine.compiled([written for _, written in self._loops.values()])
        kept += [*loops, *(function for _, function in self._nests.values())]
        called = {name: both(function)[1] for name, function in self.functions.items()}
        scope = {**graph_scope(), "np": np, **called, **dict(self._nests.values()), **self._scope}
        exec(compile(code, "<tg-numba>", "exec"), scope)
        with LOCK, Span("compiler", "numba"):
            from tg_numba import front, meanings

            for name in self._functions.values():
                scope[name] = apart(scope[name])
            entries = {
                name: front.overload_of(apart(scope[f"{GRAPHS[name]}0"]), meanings.heads(words))
                for name, words in heads.items()
            }
            codes = [found.code for found in front.with_callees([*entries.values()])]
        counts = {found.name: len(heads[name]) for name, found in entries.items()}
        callers = engine.assembled(engine.callers(counts), level=0)
        names = {name: found.name for name, found in entries.items()}
        return engine.bundle([*codes, *loops, callers], names)

    def _code(self) -> str:
        """Constants and functions."""
        constants = "".join(f"{name} = {text}\n" for (_, text), name in self._constants.items())
        return "\n\n".join([constants, *(text for _, text in self._texts)]).lstrip() + "\n"

    def _head(self) -> str:
        """What stands before the code when it is shown: what it uses, the constants at addresses, loop nests."""
        lines = ["from tg_numba.machine import *"]
        for name, function in self.functions.items():
            if not isinstance(function, (Callee, FunctionType)):
                continue
            origin = function.function if isinstance(function, Callee) else function
            lines.append(f"{name} = numba.njit({origin.__module__}.{origin.__qualname__})")
        lines += [f"# data{k}: the address of {a.dtype}{list(a.shape)}" for k, a in enumerate(self._arrays)]
        nests = [f"\n\n{text.replace('def loop(', f'def {name}(', 1)}" for text, (name, _) in self._nests.items()]
        loops = [f"\n\n{written.shown(name)}" for name, written in self._loops.values()]
        return "\n".join(lines) + "\n" + "".join((*loops, *nests)) + "\n\n"


def refuse_dtypes(graph: FrozenGraph) -> None:
    """Raise for a dtype that the backend does not have.

    Raises:
        DtypeError: names it.
    """
    for t in graph.types:
        if t.dtype not in WORDS:
            raise DtypeError(message(f"backend 'numba': found {t}, needed one of {', '.join(WORDS)}"))
