"""A whole generated module: one function for each graph, and what it calls."""

from __future__ import annotations

import re
import sys
from functools import partial
from typing import TYPE_CHECKING, Final, final

from tg.backend import Span
from tg_native.calls.interface import interface_of
from tg_native.graphs import unit as graphs
from tg_native.graphs.written import NAMES
from tg_native.show.shown import Language, with_names
from tg_numba import cache, engine
from tg_numba.assembly import Module
from tg_numba.function import GraphFunction
from tg_numba.written import Needs, Program, entry_counts, in_memory, operand

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tg.backend import FrozenGraph, Request
    from tg_numba.engine import Bundle, Written
    from tg_numba.jitted import Entry
    from tg_numba.ticks import Ticks

COMMENT: Final = re.compile(r"^ *;.*\n", re.MULTILINE)  # says where a line of the user's is, which moves
LLVM: Final = Language(
    ("define void @{loop}(", "; def {loop}("), "; {text}", re.compile(r"%[A-Za-z_$.][\w$.-]*"), "%{name}"
)
LOOP: Final = re.compile(r"@(loop\d+)\b")
ROUNDED: Final = re.compile(r"\b(f(?:add|sub|mul)) (?!contract\b)")  # what an instruction may do in one with another


@final
class Unit(graphs.Unit):
    """Collects the parts of one module."""

    language = LLVM
    more = "; The whole module has {count:,} lines: source(full=True)."
    ticks: Ticks | None

    def __init__(self, request: Request, ticks: Ticks | None = None) -> None:
        super().__init__(request, ticks)
        self.module = Module()  # what the functions of graphs call besides loops
        self._loops: dict[str, tuple[str, Written]] = {}  # key -> name and text
        self._tables: dict[str, str] = {}
        self._blas: dict[str, None] = {}
        self.has_steps = False  # whether a function has a loop over steps
        self._contracts = bool(request.options.fast_math)

    # --- what rules and functions ask for --------------------------------------------------------------------------

    def graph_function(self, graph: FrozenGraph, name: str, *, is_main: bool, plans: bool = False) -> GraphFunction:
        return GraphFunction(self, graph, name, is_main=is_main, plans=plans)

    def blas(self, name: str) -> str:
        """The address of a function of the process's BLAS, as an operand."""
        self._blas[name] = None
        return operand(f"blas.{name}")

    def table(self, kind: str, numbers: Sequence[str]) -> str:
        """The address of a table of numbers, as an operand."""
        text = f"constant [{len(numbers)} x {kind}] [{', '.join(f'{kind} {number}' for number in numbers)}]"
        name = self._tables.setdefault(text, f"@table{len(self._tables)}")
        self.module.define(name, f"{name} = internal {text}")
        return name

    def loop(self, written: Written) -> str:
        """The name of a loop over lanes: one for equal ones."""
        if self._contracts:
            written = written._replace(definition=ROUNDED.sub(r"\1 contract ", written.definition))
        return self._loops.setdefault(written.key, (f"loop{len(self._loops)}", written))[0]

    # --- the module --------------------------------------------------------------------------------------------------

    def program(self, graph: FrozenGraph) -> Program:
        """The module of a graph, compiled."""
        with Span("code"):
            self.write(graph)
            code = "\n".join((self.module.text(), *(text for text, _ in self.texts)))
        references: list[object] = []  # what programs share in this process
        needs = Needs(tuple(self.arrays), tuple(self._blas))
        addresses = needs.addresses()
        if self.ticks is not None:
            self.ticks.finish()
            addresses.update(self.ticks.addresses())
        interface = interface_of(graph)
        counts = entry_counts(interface)
        jitted = self._jitted()
        addresses.update((one.symbol, one.address) for one in jitted)
        name = self._name(code) if all(one.is_known for one in jitted) else None
        make = partial(self._compiled, code, counts, addresses, references)
        loaded = engine.loaded(make(), addresses) if name is None else cache.opened(name, addresses, make)
        references.append(jitted)  # of which the cache of rewritten programs knows nothing
        return in_memory(interface, loaded, None if jitted else name, needs, self._shown, (self.ticks, *references))

    def _jitted(self) -> list[Entry]:
        """The functions of authors that loops and functions call."""
        if "tg_numba.jitted" not in sys.modules:
            return []
        from tg_numba.jitted import entries_of

        modules = (self.module, *(written.module for _, written in self._loops.values()))
        return entries_of(dict.fromkeys(name for module in modules for name in module.declared))

    def _name(self, code: str) -> str:
        """The name of the machine code in the cache."""
        loops = [(name, key) for key, (name, _) in self._loops.items()]
        return cache.named(COMMENT.sub("", code), repr(loops))

    def _compiled(
        self, code: str, counts: Mapping[str, int], addresses: dict[str, int], references: list[object]
    ) -> Bundle:
        """The object files of the module."""
        names = {name: NAMES[name] for name in counts}
        with Span("compiler", "llvm"):
            loops = engine.compiled([written for _, written in self._loops.values()])
            symbols = {name: written.symbol for name, written in self._loops.values()}
            text = LOOP.sub(lambda match: f'@"{symbols[match[1]]}"', code)
            outside = engine.declared(s for s in (*symbols.values(), *addresses) if s not in self.module.declared)
            callers = engine.callers({names[name]: count for name, count in counts.items()})
            graphs = engine.assembled(
                "\n".join((text, *outside, callers)), engine.GRAPH_LEVEL, has_steps=self.has_steps
            )
        references += loops
        return engine.bundle([graphs, *loops], names)

    def _shown(self, *, full: bool) -> str:
        """The loops and the functions of graphs, with the user's lines; if full, behind all that they use."""
        loops = {name: written.shown(name) for name, written in self._loops.values()}
        whole = [self._head(), *loops.values(), *(text for text, _ in self.texts)]
        if full:
            return with_names("\n\n".join(whole), LLVM)
        named = {name: self.named(name, text, LLVM) for name, text in loops.items()}
        functions = [(text.rstrip("\n"), function) for text, function in self.texts]
        return self.short(named, functions, sum(part.count("\n") + 1 for part in whole))

    def _head(self) -> str:
        """Text that loops and the functions of graphs use: constants, declarations, mathematics."""
        lines = [f"; data{k}: {a.dtype}{list(a.shape)}" for k, a in enumerate(self.arrays)]
        used = Module()
        for module in (self.module, *(written.module for _, written in self._loops.values())):
            used.include(module)
        return "\n".join((*lines, used.text().rstrip("\n")))
