"""Loops that several threads share: from how much work on, where their parts begin, and the C that hands them out.

A loop is divided along its first axis into contiguous parts, more than there are threads, so that a thread that is
late leaves its share to the others. How many there are depends on lengths alone: whoever runs them, the results are
the same. A loop with less to do than `LEAST` has one part, which the caller runs as if there were no threads.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from tg.ops.elementwise import arithmetic, bitwise, comparison, rounding
from tg.ops.elementwise.record import Elementwise
from tg_native.kernels.dtypes import item_size, kind_of
from tg_native.plan.values import count

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tg.graph.frozen import Node
    from tg.types.lengths import Length
    from tg_c.site import Site

LEAST: Final = 60_000  # nanoseconds; of less, waking a thread takes too much
PART: Final = 10_000  # nanoseconds that a part takes at least
SHARE: Final = 4  # parts for each thread
UNIT: Final = 64  # elements, between whose multiples parts of a row end: whole vectors, whole lines of the cache

# What a loop takes at least, of what the caches hold and in the widest vectors: an estimate that is too low leaves a
# loop to one thread, which is no loss.
BYTE: Final = 0.01  # nanoseconds to move one
LIGHT: Final = 0.004  # for each byte of a result that is a few instructions
HEAVY: Final = 0.08  # for each byte of any other
ALONE: Final = 8  # times as long as that where each element is computed by itself

_LIGHT: Final = frozenset(
    fn for family in (arithmetic, bitwise, comparison, rounding) for fn in family.FAMILY.elementwise
) - {arithmetic.power, arithmetic.cbrt, arithmetic.hypot}

BEGIN: Final = "i64 lo, i64 hi, i64 part, i64 slot"
"""The last parameters of a divided loop: its rounds, and the numbers of the part and of the thread that runs it."""

FUNCTIONS: Final = """\
typedef void tg_part(void *given, i64 part, i64 slot);
static void tg_alone(tg_part *run, void *given, i64 parts, i64 slots) {
  for (i64 part = 0; part < parts; part++) run(given, part, 0);
}
static void (*tg_share)(tg_part *, void *, i64, i64) = tg_alone;
void tg_help(void *share) { tg_share = share; }
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
    """How the calls of a loop are divided: texts of the length of its first axis and of the number of parts."""

    length: str
    unit: int
    parts: str


def divide(site: Site, space: Sequence[int | Length], nanoseconds: float, *, in_row: bool) -> Division | None:
    """How a loop over a space is divided, None if one thread runs it in any case.

    Args:
        nanoseconds: what one index takes.
        in_row: whether the first axis is that of the innermost loop.
    """
    if site.threads == 1 or not space:
        return None
    size = count(space)
    if type(size) is int and size * nanoseconds <= LEAST:
        return None
    text = FUNCTIONS.replace("@LEAST", str(LEAST)).replace("@PART", str(PART)).replace("@MOST", str(most_parts(site)))
    site.prelude.need("division", text)
    unit = UNIT if in_row else 1
    n, *others = (site.length(length) for length in space)
    each = " * ".join((f"{nanoseconds:.3g}", *others))
    return Division(n, unit, site.local("int64", f"tg_parts({n}, {unit}, {each})"))


def most_parts(site: Site) -> int:
    """How many parts a loop has at most."""
    return SHARE * int(site.threads)


def time_of(nodes: Iterable[Node], dtypes: Sequence[str]) -> float:
    """About how many nanoseconds the steps of a scalar program take for one element; `dtypes` are its values'."""
    return sum(_time_of_step(node, dtypes) for node in nodes)


def time_to_move(dtypes: Iterable[str]) -> float:
    """About how many nanoseconds one element of each of these takes on its way from or to memory."""
    return BYTE * sum(map(item_size, dtypes))


def _time_of_step(node: Node, dtypes: Sequence[str]) -> float:
    given = [dtypes[k] for k in (*node.inputs, *node.outputs)]
    size = max(map(item_size, given))
    if not isinstance(node.op, Elementwise) or node.op.fn in _LIGHT:
        return LIGHT * size
    return HEAVY * size * (ALONE if any(kind_of(dtype) in ("half", "complex") for dtype in given) else 1)


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
