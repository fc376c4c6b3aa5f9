"""Memory of units that take none from the system: each function has a frame in an arena, laid out by lengths alone.

The caller gives the arena, and `tg_frame` tells from the lengths of the inputs how large it must be: the frame of the
main function, and behind it the largest of those of the functions that it calls, with theirs. In a frame every array on
the heap has a place of its own from the moment it is taken until it is dropped. Arrays of known sizes are packed when
the unit is written; of the others, those that never live at once share a row, which is as long as the longest of them.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from tg import NoRuleError
from tg.backend import message
from tg_c.text import INDENT

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tg_c.function import GraphFunction

ARENA: Final = """\
#define TG_CALLED static __attribute__((noinline, unused))
#define TG_PURE static __attribute__((noinline, const, unused))
typedef struct { char *base; } tg_arena;
#define TG_ARENA ((tg_arena *)(void *)data[-1])
#define TG_MOST (1LL << 60)
TG_PURE i64 tg_times(i64 a, i64 b) {
  i64 c;
  return a < 0 || b < 0 || __builtin_mul_overflow(a, b, &c) || c > TG_MOST ? -1 : c;
}
/* Bytes at a multiple of 64; what cannot be counted is more than any arena has. */
static inline __attribute__((unused)) i64 tg_room(i64 size) {
  return size < 0 || size > TG_MOST ? TG_MOST : (size + 63) & -64LL;
}
static inline __attribute__((unused)) i64 tg_more(i64 a, i64 b) { return a + b > TG_MOST ? TG_MOST : a + b; }
static inline __attribute__((unused)) i64 tg_larger(i64 a, i64 b) { return a > b ? a : b; }
"""
"""What stands in a unit in the place of the system's memory."""

_NAME: Final = re.compile(r"(?<![\w.])[A-Za-z_]\w*")
_DEFINITION: Final = re.compile(r"const i64 (\w+) = (.+);")
_PURE: Final = re.compile(r"tg_(?:times|length_\w+)")


class Slot(NamedTuple):
    """An array on the heap: the line where it is taken, that where it is dropped, its size as text."""

    first: int
    last: int
    size: str

    def meets(self, others: Iterable[Slot]) -> bool:
        """Whether it lives while one of others does."""
        return any(self.first <= other.last and other.first <= self.last for other in others)


class Frame(NamedTuple):
    """Layout of a function's frame: how many places there are, the lengths that decide them, and the function's text.

    `lengths` are those of the parameters that the text needs. A function without places has calls, or no frame.
    """

    name: str
    places: int
    lengths: tuple[str, ...]
    text: str

    @property
    def begin(self) -> tuple[str, ...]:
        """The first lines of the function."""
        if not self.places:
            return ()
        arguments = ", ".join(("at", *self.lengths))
        return (
            f"i64 at[{self.places + 1}];",
            f"{self.name}_frame({arguments});",
            "char *const base = TG_ARENA->base;",
            f"TG_ARENA->base = base + at[{self.places}];",
        )

    @property
    def end(self) -> tuple[str, ...]:
        """The last ones."""
        return ("TG_ARENA->base = base;",) if self.places else ()


def frame(function: GraphFunction, calls: Sequence[tuple[GraphFunction, Sequence[str]]]) -> Frame | None:
    """The frame of a function whose lines are written; None where neither it nor what it calls needs memory.

    Args:
        calls: the functions that it calls, and the arguments of each call behind `data`.
    Raises:
        NoRuleError: values decide how much memory is taken.
    """
    lines, memory = function.lines, function.memory
    slots = [Slot(take.line, _dropped(lines, f"heap[{k}] = 0;"), take.size) for k, take in enumerate(memory.takes)]
    inner = {_inner(callee, arguments): None for callee, arguments in calls if callee.frame is not None}
    if not slots and not inner:
        return None
    offsets, size, rows = _laid_out(slots)
    body = [f"const i64 row{r} = {_longest(slots[k].size for k in row)};" for r, row in enumerate(rows)]
    body += ["i64 own = 0, inner = 0;", *(f"at[{k}] = {offset};" for k, offset in offsets.items())]
    body += [f"own = {size};"] if size else []
    for r, row in enumerate(rows):
        body += [f"at[{k}] = own;" for k in row]
        body.append(f"own = tg_more(own, row{r});")
    body.append(f"at[{len(slots)}] = own;")
    for callee, arguments in inner:
        body.append(f"{{ i64 room[{callee.places + 1}]; inner = tg_larger(inner, {callee.name}_frame({arguments})); }}")
    used = {name for line in body for name in _NAME.findall(line)}
    wanted, before = _sliced(function, used)
    body = [*before, *body, "return tg_more(own, inner);"]
    parameters = ", ".join(("i64 *at", *(f"i64 {name}" for name in wanted)))
    head = f"static __attribute__((unused)) i64 {function.name}_frame({parameters}) {{"
    text = "\n".join([head, *(INDENT + line for line in body), "}"])
    return Frame(function.name, len(slots), wanted, text)


def _dropped(lines: Sequence[str | None], statement: str) -> int:
    return next((at for at, line in enumerate(lines) if line == statement), len(lines))


def _inner(callee: GraphFunction, arguments: Sequence[str]) -> tuple[Frame, str]:
    """A call's frame, and the arguments of the function that lays it out."""
    layout = callee.frame
    assert layout is not None
    names = (parameter.rpartition(" ")[2].lstrip("*") for parameter in callee.parameters[1:])
    texts = dict(zip(names, arguments, strict=False))
    return layout, ", ".join(("room", *(texts[name] for name in layout.lengths)))


def _laid_out(slots: Sequence[Slot]) -> tuple[Mapping[int, int], int, list[list[int]]]:
    """Places of the arrays of known sizes, the bytes of all these, and rows of the others."""
    fixed = [k for k, slot in enumerate(slots) if slot.size.isdigit()]
    offsets: dict[int, int] = {}
    for k in sorted(fixed, key=lambda k: -int(slots[k].size)):  # the largest first
        beside = sorted((offsets[j], _end(offsets[j], slots[j])) for j in offsets if slots[k].meets([slots[j]]))
        place = 0
        for first, end in beside:
            if place + int(slots[k].size) <= first:
                break
            place = max(place, end)
        offsets[k] = place
    rows: list[list[int]] = []
    for k, slot in enumerate(slots):
        if k in offsets:
            continue
        free = [row for row in rows if not slot.meets(slots[j] for j in row)]
        alike = [row for row in free if any(slots[j].size == slot.size for j in row)]
        if free:
            (alike or free)[0].append(k)
        else:
            rows.append([k])
    return offsets, max((_end(place, slots[k]) for k, place in offsets.items()), default=0), rows


def _end(place: int, slot: Slot) -> int:
    return place + (int(slot.size) + 63) // 64 * 64


def _longest(sizes: Iterable[str]) -> str:
    text = ""
    for size in dict.fromkeys(sizes):
        text = f"tg_larger({text}, tg_room({size}))" if text else f"tg_room({size})"
    return text


def _sliced(function: GraphFunction, used: set[str]) -> tuple[tuple[str, ...], list[str]]:
    """The parameters, and the lines, that names come from.

    Raises:
        NoRuleError: some come from values.
    """
    # outputs that the caller measures, and numbers, are no lengths of inputs
    parameters = [text.removeprefix("const ") for text in function.parameters if "*" not in text]
    lengths = [text.removeprefix("i64 ") for text in parameters if text.startswith("i64 ")]
    if function.is_main:
        lengths = [name for name in lengths if re.fullmatch(r"d\d+a\d+", name)]
    definitions = [
        (match[1], f"const i64 {match[1]} = {match[2]};", match[2])
        for line in function.lines
        if line is not None and (match := _DEFINITION.fullmatch(line))
    ]
    defined = {name: right for name, _, right in definitions}
    wanted, stack, names = set[str](), [*used], set[str]()
    own = {"at", "own", "inner", "room", "const", "i64", "return"}
    while stack:
        name = stack.pop()
        if name in names or name in own or _is_frames(name):
            continue
        names.add(name)
        if name in lengths:
            wanted.add(name)
        elif name in defined and not re.search(r"[\[*&]\s*[A-Za-z_(]", defined[name].replace(" * ", " x ")):
            stack += _NAME.findall(defined[name])
        else:
            raise valued(function)
    before = [line for name, line, _ in definitions if name in names]
    return tuple(name for name in lengths if name in wanted), before


def _is_frames(name: str) -> bool:
    return re.fullmatch(r"row\d+|graph\d+_frame|tg_\w+", name) is not None


def valued(function: GraphFunction) -> NoRuleError:
    """The error of a function that cannot have a frame."""
    what = "an array that a call takes memory for"
    hint = 'lengths known beforehand, such as by size=, need none; memory="malloc" takes it from the system'
    text = f"{function.unit.request.name}: {what}: values decide its length, needed one that lengths of inputs decide"
    return NoRuleError(message(text, hint=hint))
