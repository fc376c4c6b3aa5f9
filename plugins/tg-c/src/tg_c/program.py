"""A whole C unit: prelude, tables, loop nests, one function for each graph, and the entries of `tg_c.unit`."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Any, Final, final

from tg.graph.checks import STATUS_LENGTH
from tg.link.timed import lines_of
from tg_c.blas import BLAS_DECLARATIONS, COMPLEX_DECLARATIONS
from tg_c.division import driver
from tg_c.function import GraphFunction
from tg_c.machine import vector_symbol
from tg_c.prelude import Prelude
from tg_c.shapes import LENGTH_FUNCTIONS, UNCOUNTED
from tg_c.text import TYPEDEFS, comment
from tg_c.ticks import DECLARATIONS
from tg_c.written import Program
from tg_native.calls.blas import NO_BLAS, blas
from tg_native.kernels.dtypes import WORDS
from tg_native.plan.shapes import needs_plan, shapes_of
from tg_native.show.shown import Calls, Language, renamed, values_named, with_names

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np

    from tg.graph.frozen import FrozenGraph
    from tg.graph.nodes import Constant
    from tg.graph.op import Op
    from tg.link.linker import Request
    from tg.plugin.records import Rule
    from tg_c.nest import Nest
    from tg_c.ticks import Ticks
    from tg_native.plan.shapes import Shapes

KEYWORDS: Final = """\
auto break case char const continue default do double else enum extern float for goto if inline int long register
restrict return short signed sizeof static struct switch typedef union unsigned void volatile while
"""
C: Final = Language(
    (" void {loop}(",),
    "/* {text} */",
    re.compile(r"(?<![\w.])[A-Za-z_]\w*"),
    reserved=KEYWORDS.split(),
)
MORE: Final = "/* The whole unit has {count:,} lines: source(full=True). */"
# Neither static nor const, so that the compiler does not read the numbers itself: gcc 12 folds 512-bit loads from
# constant tables to a repetition of their first 128 bits.
TABLE: Final = '__attribute__((visibility("hidden")))'
# Out of line, for a unit may call them from a hundred places: inlined, they were a quarter of gcc's work on a network.
MEMORY: Final = """\
#define TG_CALLED static __attribute__((noinline, unused))
#define TG_PURE static __attribute__((noinline, const, unused))
void *malloc(unsigned long);
void free(void *);
static void *(*tg_lender)(void *, unsigned long long);
static void (*tg_taker)(void *, void *, unsigned long long);
void tg_lend(void *lender, void *taker) { tg_lender = lender, tg_taker = taker; }
/* Memory at a multiple of 64 bytes; 0 if there is none, or if the count of the bytes overflowed. */
#ifdef __SANITIZE_ADDRESS__ /* not a byte more, so that passing an end is seen */
int posix_memalign(void **, unsigned long, unsigned long);
TG_CALLED void *tg_take(i64 size) {
  void *start;
  return size < 0 || posix_memalign(&start, 64, (unsigned long)size) ? 0 : start;
}
TG_CALLED void tg_drop(void *start) { free(start); }
#else
TG_CALLED void *tg_take(i64 size) {
  if (size < 0) return 0;
  if (size >= 1 << 20 && tg_lender) return tg_lender(0, size);
  char *base = malloc((unsigned long)size + 128);
  if (!base) return 0;
  char *start = (char *)(((unsigned long)base + 127) & ~63UL);
  ((void **)start)[-1] = base;
  return start;
}
TG_CALLED void tg_drop(void *start) {
  if (!start) return;
  void *const base = ((void **)start)[-1];
  if (base) free(base);
  else tg_taker(0, start, 0); /* what was lent has 0 there */
}
#endif
TG_PURE i64 tg_times(i64 a, i64 b) {
  i64 c;
  return a < 0 || b < 0 || __builtin_mul_overflow(a, b, &c) || c > (1LL << 62) ? -1 : c;
}
"""


@final
class Unit:
    """Collects the parts of one unit."""

    def __init__(self, request: Request, ticks: Ticks | None = None) -> None:
        """Begin one; with `ticks`, one that takes the time of its parts."""
        self.request, self.ticks = request, ticks
        self.prelude = Prelude(None if request.options.accuracy == "strict" else vector_symbol)
        self._rules: dict[object, Rule | None] = {}
        self._kernels: dict[str, str] = {}
        self._drivers: list[str] = []
        self._tables: dict[tuple[str, str], str] = {}
        self._arguments: dict[object, int] = {}
        self._data: list[np.ndarray[Any, Any]] = [] if ticks is None else [ticks.table]
        self._functions: dict[FrozenGraph, str] = {}
        self._shapes: dict[FrozenGraph, Shapes] = {}
        self._makers: dict[FrozenGraph, dict[int, int]] = {}
        self._notes: list[tuple[str, dict[int, int], GraphFunction]] = []
        self._texts: list[str] = []
        self._written: list[GraphFunction] = []  # of which those are the texts
        self.calls = Calls()

    # --- what rules and functions ask for --------------------------------------------------------------------------

    def rule(self, op: Op) -> Rule:
        """The rule for an op inside a scalar program."""
        found = self._rules.get(op.rule_key)
        if found is None:
            found = self._rules[op.rule_key] = self.request.rule_for(op.rule_key)
        assert found is not None, f"{op.name} in a loop has a rule"
        return found

    def kernel(self, kernel: Nest) -> str:
        """The name of a loop nest: one for equal bodies."""
        body = kernel.body
        name = self._kernels.get(body)
        if name is None:
            name = self._kernels[body] = f"loop{len(self._kernels)}"
            if kernel.division is not None:
                self._drivers.append(driver(name, kernel.parameters, self.request.options.threads))
        return name

    def table(self, dtype: str, text: str) -> str:
        """The name of a constant array."""
        return self._tables.setdefault((dtype, text), f"table{len(self._tables)}")

    def argument(self, constant: Constant) -> int:
        """The place, among the additional arguments of the code, of a large constant."""
        place = self._arguments.setdefault(constant.key, len(self._data))
        if place == len(self._data):
            self._data.append(constant.data)
        return place

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
            self._write(GraphFunction(self, graph, name, is_main=False))
        return name

    def _write(self, function: GraphFunction) -> None:
        self._texts.append(function.text())
        self._written.append(function)

    def blas(self, dtype: str) -> None:
        """Use the BLAS of the process for a dtype."""
        if blas() is NO_BLAS:
            self.prelude.need("no blas", "#define TG_NO_BLAS")
        self.prelude.need("blas", BLAS_DECLARATIONS)
        if dtype in COMPLEX_DECLARATIONS:
            self.prelude.need(f"blas {dtype}", COMPLEX_DECLARATIONS[dtype])

    def note_marks(self, function: GraphFunction, head: str, marks: dict[int, int]) -> None:
        """Remember at which lines behind a head nodes begin."""
        self._notes.append((head, marks, function))

    # --- the unit ----------------------------------------------------------------------------------------------------

    def program(self, graph: FrozenGraph) -> Program:
        """The unit of a graph."""
        main = GraphFunction(self, graph, "graph0", is_main=True)
        self._write(main)
        if needs_plan(graph):
            self._write(GraphFunction(self, graph, "plan0", is_main=True, plans=True))
        parts = [
            TYPEDEFS,
            MEMORY,
            *(() if self.ticks is None else (DECLARATIONS,)),
            LENGTH_FUNCTIONS,
            UNCOUNTED,
            self.prelude.text(),
            *(f"{TABLE} {WORDS[d]} {name}[] = {{{text}}};" for (d, text), name in self._tables.items()),
            *(f"static __attribute__((noinline)) void {name}{body}" for body, name in self._kernels.items()),
            *self._drivers,
            *self._texts,
            self._run(graph, main),
            self._plan(graph),
        ]
        text = "\n".join(parts) + "\n"
        if self.ticks is not None:
            self._data[0] = self.ticks.finish()
        written = (*self._kernels, *self._texts)
        statements = sum(part.count("\n") for part in written)
        libraries = tuple(sorted(self.prelude.libraries))
        shown, reuses = partial(self._shown, text), main.overwriting.legal()
        return Program(text, shown, tuple(self._data), statements, libraries, reuses)

    def _run(self, graph: FrozenGraph, main: GraphFunction) -> str:
        inputs, at = _input_arguments(graph)
        arguments = [f"inputs + {graph.arity}", *inputs]
        for k in range(len(graph.outputs)):
            arguments.append(f"outputs[{k}]")
            for _ in main.planned(k):
                arguments.append(f"dims[{at}]")
                at += 1
        return _entry("tg_run", "void *const *outputs", "graph0", arguments)

    def _plan(self, graph: FrozenGraph) -> str:
        if not needs_plan(graph):
            return "i64 tg_plan(const void *const *inputs, const i64 *dims, i64 *out_dims, i64 *status) { return 0; }"
        inputs, _ = _input_arguments(graph)
        return _entry("tg_plan", "i64 *out_dims", "plan0", [f"inputs + {graph.arity}", *inputs, "out_dims"])

    def _shown(self, text: str, *, full: bool) -> str:
        """The unit, or its loops and functions alone, with the user's lines before the statements that they became."""
        if full:
            return with_names(self._annotated(text, self._written), C)
        loops = {name: f"static void {name}{body}" for body, name in self._kernels.items()}
        parts = [renamed(one, self.calls.parameters(name), C) for name, one in self.calls.in_order(loops).items()]
        for part, function in zip(self._texts, self._written, strict=True):
            if not function.plans:
                names = values_named(function.values, function.graph)
                parts.append(renamed(self._annotated(part, [function]), names, C))
        parts.append(MORE.format(count=text.count("\n")))
        return with_names("\n\n".join(parts) + "\n", C)

    def _annotated(self, text: str, functions: Sequence[GraphFunction]) -> str:
        """The text of some functions with the user's lines as comments."""
        text = "\n" + text
        for head, marks, function in self._notes:
            if function in functions:
                start = text.index(f"\n{head}\n") + len(head) + 2
                end = text.index("\n}", start)
                text = text[:start] + _with_comments(text[start:end], marks, function) + text[end:]
        return text[1:]


def _with_comments(inside: str, marks: dict[int, int], function: GraphFunction) -> str:
    found: list[str] = []
    last: tuple[str, ...] = ()
    for k, line in enumerate(inside.split("\n")):
        node = marks.get(k)
        notes = lines_of(function.origin(node).locs) if node is not None else ()
        if notes and notes != last:
            found += [f"  /* {comment(note)} */" for note in notes]
        last = notes or last
        found.append(line)
    return "\n".join(found)


def _input_arguments(graph: FrozenGraph) -> tuple[list[str], int]:
    """The arguments for the inputs, and how many lengths they have."""
    found: list[str] = []
    at = 0
    for k, t in enumerate(graph.input_types):
        kind = WORDS[t.dtype]
        found.append(f"inputs[{k}]" if t.ndim else f"*(const {kind} *)inputs[{k}]")
        found += [f"dims[{at + a}]" for a, n in enumerate(t.shape) if n is None]
        at += t.ndim
    return found, at


def _entry(name: str, result: str, function: str, arguments: Sequence[str]) -> str:
    head = f"i64 {name}(const void *const *inputs, const i64 *dims, {result}, i64 *status) {{"
    call = f"{function}({', '.join((*arguments, 'status ? status : unread'))})"
    return f"{head}\n  i64 unread[{STATUS_LENGTH}];\n  return {call};\n}}"
