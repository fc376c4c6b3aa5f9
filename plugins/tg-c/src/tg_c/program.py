"""A whole C unit: prelude, tables, loops, one function for each graph, and the entries of `tg_c.unit`."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Final, Literal, final

from tg_c import objects
from tg_c.blas import BLAS_DECLARATIONS, COMPLEX_DECLARATIONS, fortran
from tg_c.compiler import level_for
from tg_c.division import driver
from tg_c.frames import ARENA
from tg_c.function import GraphFunction
from tg_c.interrupts import UNASKED
from tg_c.lengths import FUNCTIONS, UNCOUNTED
from tg_c.machine import blas, vector_symbol
from tg_c.objects import Loop
from tg_c.prelude import Prelude
from tg_c.text import TYPEDEFS, comment
from tg_c.ticks import DECLARATIONS
from tg_c.written import Program
from tg_native.calls.blas import NO_BLAS
from tg_native.calls.interface import interface_of
from tg_native.graphs import unit as graphs
from tg_native.graphs.failure import STATUS
from tg_native.graphs.written import NAMES
from tg_native.kernels.dtypes import WORDS
from tg_native.plan.shapes import needs_plan
from tg_native.show.shown import Language, with_names

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tg.backend import FrozenGraph, Request
    from tg_c.kernel import Kernel
    from tg_c.ticks import Ticks

Memory = Literal["process", "arena", "malloc"]
"""Memory of calls: that of the process that runs Python; for units without it an arena of the caller's, or malloc."""
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
# Out of line, for a unit may call them from a hundred places: inlined, they were a quarter of gcc's work on a network.
MEMORY: Final = """\
#define TG_CALLED static __attribute__((noinline, unused))
#define TG_PURE static __attribute__((noinline, const, unused))
void *malloc(__SIZE_TYPE__);
void free(void *);
#ifndef TG_ALONE
TG_ONCE void *(*tg_lender)(void *, unsigned long long);
TG_ONCE void (*tg_taker)(void *, void *, unsigned long long);
__attribute__((weak)) void tg_lend(void *lender, void *taker) { tg_lender = lender, tg_taker = taker; }
#endif
/* Memory at a multiple of 64 bytes; 0 if there is none, or if the count of the bytes overflowed. */
#ifdef __SANITIZE_ADDRESS__ /* not a byte more, so that passing an end is seen */
int posix_memalign(void **, __SIZE_TYPE__, __SIZE_TYPE__);
TG_CALLED void *tg_take(i64 size) {
  void *start;
  return size < 0 || posix_memalign(&start, 64, (__SIZE_TYPE__)size) ? 0 : start;
}
TG_CALLED void tg_drop(void *start) { free(start); }
#else
TG_CALLED void *tg_take(i64 size) {
  if (size < 0) return 0;
#ifndef TG_ALONE
  if (size >= 1 << 20 && tg_lender) return tg_lender(0, size);
#endif
  char *base = malloc((__SIZE_TYPE__)size + 128);
  if (!base) return 0;
  char *start = (char *)(((__SIZE_TYPE__)base + 127) & ~(__SIZE_TYPE__)63);
  ((void **)start)[-1] = base;
  return start;
}
TG_CALLED void tg_drop(void *start) {
  if (!start) return;
  void *const base = ((void **)start)[-1];
#ifndef TG_ALONE
  if (!base) { /* what was lent has 0 there */
    tg_taker(0, start, 0);
    return;
  }
#endif
  free(base);
}
#endif
TG_PURE i64 tg_times(i64 a, i64 b) {
  i64 c;
  return a < 0 || b < 0 || __builtin_mul_overflow(a, b, &c) || c > (1LL << 62) ? -1 : c;
}
"""


@final
class Unit(graphs.Unit):
    """Collects the parts of one unit."""

    language = C
    more = "/* The whole unit has {count:,} lines: source(full=True). */"
    ticks: Ticks | None

    def __init__(self, request: Request, ticks: Ticks | None = None, memory: Memory = "process") -> None:
        super().__init__(request, ticks)
        self.memory, self.has_arena = memory, memory == "arena"
        self.written: dict[str, GraphFunction] = {}  # by their names
        self.threads = int(request.options.threads)
        self.prelude = Prelude(None if request.options.accuracy == "strict" else vector_symbol)
        self._kernels: dict[str, str] = {}
        self._streams = True  # whether all of these do
        self._in_vectors: set[str] = set()  # the names of these that do, and are written in vectors
        self._drivers: list[str] = []
        self._tables: dict[tuple[str, str], str] = {}
        if ticks is not None:
            self.arrays.append(ticks.table)
        self._notes: list[tuple[str, dict[int, int], GraphFunction]] = []

    # --- what rules and functions ask for --------------------------------------------------------------------------

    def graph_function(self, graph: FrozenGraph, name: str, *, is_main: bool, plans: bool = False) -> GraphFunction:
        function = self.written[name] = GraphFunction(self, graph, name, is_main=is_main, plans=plans)
        return function

    def kernel(self, kernel: Kernel) -> str:
        """The name of a loop: one for equal bodies."""
        body, self._streams = kernel.text(), self._streams and kernel.streams
        name = self._kernels.get(body)
        if name is None:
            name = self._kernels[body] = f"loop{len(self._kernels)}"
            if kernel.streams and kernel.body.lanes:
                self._in_vectors.add(name)
            if kernel.division is not None:
                self._drivers.append(driver(name, kernel.parameters, self.threads))
        return name

    def table(self, dtype: str, text: str) -> str:
        """The name of a constant array."""
        return self._tables.setdefault((dtype, text), f"table{len(self._tables)}")

    def blas(self, dtype: str) -> None:
        """Use the BLAS of the process for a dtype."""
        if blas() is NO_BLAS:
            self.prelude.need("no blas", "#define TG_NO_BLAS")
        self.prelude.need("blas", BLAS_DECLARATIONS)
        if dtype in COMPLEX_DECLARATIONS:
            self.prelude.need(f"blas {dtype}", COMPLEX_DECLARATIONS[dtype])

    def lapack(self, name: str) -> None:
        """Use a function of the LAPACK of the process, by its whole name."""
        self.prelude.need("blas", BLAS_DECLARATIONS)
        self.prelude.need(f"lapack {name}", fortran(name))

    def note_marks(self, function: GraphFunction, head: str, marks: dict[int, int]) -> None:
        """Remember at which lines behind a head nodes begin."""
        self._notes.append((head, marks, function))

    # --- the unit ----------------------------------------------------------------------------------------------------

    def program(self, graph: FrozenGraph) -> Program:
        """The unit of a graph."""
        main = self.write(graph)
        texts = [text for text, _ in self.texts]
        before = [
            TYPEDEFS,
            objects.WHOLE,
            *(["#define TG_ALONE", UNASKED] if self.memory != "process" else []),
            ARENA if self.has_arena else MEMORY,
            *(() if self.ticks is None else (DECLARATIONS,)),
            FUNCTIONS,
            UNCOUNTED,
            "",
        ]
        behind = [
            "",
            *(f"TG_ONCE {WORDS[d]} {name}[] = {{{text}}};" for (d, text), name in self._tables.items()),
            "",
        ]
        data = f"inputs + {graph.arity + self.has_arena}"  # behind the arena, if there is one
        entries = [_run(graph, main.outputs.planned, data)]
        entries += [_frame(graph, self.written[NAMES["run"]])] if self.has_arena else []
        entries += [_plan(graph, data)] if self.memory == "process" or needs_plan(graph) else []
        rest = [*self._drivers, *texts, *entries, ""]
        statements = sum(part.count("\n") for part in (*self._kernels, *texts))
        repeats = len(texts) > 1  # what an inner graph does is done again and again
        level, streams = level_for(statements, repeats=repeats), self._streams and not repeats
        text, loops = self._with_loops("\n".join(before), "\n".join(behind), "\n".join(rest), level)
        if self.ticks is not None:
            self.arrays[0] = self.ticks.finish()
        libraries = tuple(sorted(self.prelude.libraries))
        shown, reuses = partial(self._shown, text), main.overwriting.legal()
        arrays, interface = tuple(self.arrays), interface_of(graph)
        return Program(text, shown, arrays, level, libraries, streams, reuses, loops, interface)

    def _with_loops(self, before: str, behind: str, rest: str, level: int) -> tuple[str, tuple[Loop, ...]]:
        """The unit, and where the functions are that objects may share out.

        Of long units, which are compiled at level 1, gcc makes no vectors of loops that are written in vectors.
        """
        head = f"{before}{self.prelude.text()}{behind}"
        texts, loops, start = [head], self.prelude.loops(len(before)), len(head)
        for body, name in self._kernels.items():
            kind = "TG_PART" if level == 1 and name in self._in_vectors else "TG_LOOP"
            texts.append(f"{kind} void {name}{body}\n")
            end = start + len(texts[-1])
            loops.append(Loop(start, end - 1 - len(body) + body.index(" {"), end - 1))
            start = end
        is_one = self.ticks is not None or self.prelude.is_one
        return "".join((*texts, rest)), () if is_one else tuple(loops)

    def _shown(self, text: str, *, full: bool) -> str:
        """The unit, or its loops and functions alone, with the user's lines before the statements that they became."""
        if full:
            return with_names(self._annotated(text, [function for _, function in self.texts]), C)
        loops = {name: self.named(name, f"static void {name}{body}", C) for body, name in self._kernels.items()}
        functions = [(self._annotated(part, [function]), function) for part, function in self.texts]
        return self.short(loops, functions, text.count("\n"))

    def _annotated(self, text: str, functions: Sequence[object]) -> str:
        """The text of some functions with the user's lines as comments."""
        text = "\n" + text
        for head, marks, function in self._notes:
            if function in functions:
                start = text.index(f"\n{head}\n") + len(head) + 2
                end = text.index("\n}", start)
                inside = function.with_places(text[start:end].split("\n"), marks, _comment)
                text = text[:start] + "\n".join(inside) + text[end:]
        return text[1:]


def _run(graph: FrozenGraph, planned: Mapping[int, Sequence[str]], data: str) -> str:
    inputs, at = _input_arguments(graph)
    arguments = [data, *inputs]
    for k in range(len(graph.outputs)):
        arguments.append(f"outputs[{k}]")
        for _ in planned.get(k, ()):
            arguments.append(f"dims[{at}]")
            at += 1
    return _entry("tg_run", "void *const *outputs", NAMES["run"], arguments)


def _plan(graph: FrozenGraph, data: str) -> str:
    if not needs_plan(graph):
        return "i64 tg_plan(const void *const *inputs, const i64 *dims, i64 *out_dims, i64 *status) { return 0; }"
    inputs, _ = _input_arguments(graph)
    return _entry("tg_plan", "i64 *out_dims", NAMES["plan"], [data, *inputs, "out_dims"])


def _frame(graph: FrozenGraph, main: GraphFunction) -> str:
    """The entry that tells how many bytes of an arena a call needs."""
    layout = main.frame
    if layout is None:
        return "i64 tg_frame(const i64 *dims) { return 0; }"
    own = set(layout.lengths)
    places = [f"d{k}a{a}" for k, t in enumerate(graph.input_types) for a in range(t.ndim)]
    lengths = ", ".join(("at", *(f"dims[{at}]" for at, name in enumerate(places) if name in own)))
    head = f"i64 tg_frame(const i64 *dims) {{\n  i64 at[{layout.places + 1}];"
    return f"{head}\n  return {layout.name}_frame({lengths});\n}}"


def _comment(place: str) -> str:
    return f"  /* {comment(place)} */"


def _input_arguments(graph: FrozenGraph) -> tuple[list[str], int]:
    """The arguments for the inputs, and how many lengths they have."""
    arguments: list[str] = []
    at = 0
    for k, t in enumerate(graph.input_types):
        kind = WORDS[t.dtype]
        arguments.append(f"inputs[{k}]" if t.ndim else f"*(const {kind} *)inputs[{k}]")
        arguments += [f"dims[{at + a}]" for a, n in enumerate(t.shape) if n is None]
        at += t.ndim
    return arguments, at


def _entry(name: str, result: str, function: str, arguments: Sequence[str]) -> str:
    head = f"i64 {name}(const void *const *inputs, const i64 *dims, {result}, i64 *status) {{"
    call = f"{function}({', '.join((*arguments, 'status ? status : unread'))})"
    return f"{head}\n  i64 unread[{STATUS}];\n  return {call};\n}}"
