"""Loops that several threads share: from how much work on, where their parts begin, and the C that hands them out.

A loop is divided along its first axis into contiguous parts, more than there are threads, so that a thread that is
late leaves its share to the others. How many there are depends on lengths alone: whoever runs them, the results are
the same. A loop with less to do than `LEAST` has one part, which the caller runs as if there were no threads.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from tg_native.loops.costs import LEAST, PART

if TYPE_CHECKING:
    from collections.abc import Sequence


BEGIN: Final = "i64 lo, i64 hi, i64 part, i64 slot"
"""The last parameters of a divided loop: its rounds, and the numbers of the part and of the thread that runs it."""

FUNCTIONS: Final = """\
typedef void tg_part(void *given, i64 part, i64 slot);
static void tg_alone(tg_part *run, void *given, i64 parts, i64 slots) {
  for (i64 part = 0; part < parts; part++) run(given, part, 0);
}
TG_ONCE void (*tg_share)(tg_part *, void *, i64, i64) = tg_alone;
__attribute__((weak)) void tg_help(void *share) { tg_share = share; }
/* How many parts n rounds of so many nanoseconds have, if parts begin at multiples of `unit`. */
static i64 tg_parts(i64 n, i64 unit, f64 each) {
  const f64 work = n * each;
  if (!(work > @LEAST)) return 1;
  const i64 units = (n + unit - 1) / unit, parts = work < @PART.0 * @MOST ? (i64)work / @PART : @MOST;
  return units < parts ? units : parts;
}
/* Where a part begins. */
static i64 tg_edge(i64 n, i64 unit, i64 parts, i64 part) {
  const i64 units = (n + unit - 1) / unit, more = units % parts;
  const i64 edge = (units / parts * part + (part < more ? part : more)) * unit;
  return edge < n ? edge : n;
}"""


class Division(NamedTuple):
    """Division of a loop's calls: texts of the length of its first axis and of the number of parts."""

    length: str
    unit: int
    parts: str


def functions(most: int) -> str:
    """Functions that calls of divided loops use, of which none has more than so many parts."""
    return FUNCTIONS.replace("@LEAST", str(LEAST)).replace("@PART", str(PART)).replace("@MOST", str(most))


def driver(name: str, parameters: Sequence[str], threads: int) -> str:
    """The function that runs the loop called `name`, all at once or in parts."""
    names = [text.rpartition(" ")[2].lstrip("*") for text in parameters]
    own = ["i64 n", "i64 unit", "i64 parts"]
    edges = (f"tg_edge(g->n, g->unit, g->parts, {at})" for at in ("part", "part + 1"))
    return "\n".join(
        (
            f"typedef struct {{ {' '.join(f'{text};' for text in (*own, *parameters))} }} given_{name};",
            f"static void part_{name}(void *given, i64 part, i64 slot) {{",
            f"  const given_{name} *g = given;",
            f"  {name}({', '.join((*(f'g->{x}' for x in names), *edges, 'part', 'slot'))});",
            "}",
            f"static void divided_{name}({', '.join((*own, *parameters))}) {{",
            "  if (parts == 1) {",
            f"    {name}({', '.join((*names, '0', 'n', '0', '0'))});",
            "    return;",
            "  }",
            f"  given_{name} given = {{{', '.join(('n', 'unit', 'parts', *names))}}};",
            f"  tg_share(part_{name}, &given, parts, {threads});",
            "}",
        )
    )
