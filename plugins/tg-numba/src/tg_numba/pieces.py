"""Long runs of steps on single elements as functions of their own: LLVM's time for one grows faster than its length.

A piece is given what it reads, or finds it in memory in which pieces leave what others read. 1,500 sines and their
gradient are 13,500 instructions: in one function they take LLVM 2.0 s, in pieces 0.6, and a call takes a fifth more.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from tg_native.graphs.pieces import cut, parts_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

LENGTH: Final = 512  # instructions of a piece
LONG: Final = 8192  # of a run: below, what is saved is not worth slower calls
NAME: Final = re.compile(r"%[\w.$-]+")
TYPE: Final = r"(double|float|i1|i8|i16|i32|i64)\b"
STEPS: Final = tuple(
    re.compile(rf" *(%[\w.$-]+) = {form}")
    for form in (
        rf"(?:fadd|fsub|fmul|fdiv|fneg|add|sub|mul|sdiv|udiv|srem|urem|and|or|xor|shl|lshr|ashr) {TYPE}",
        rf"call {TYPE} @",
        rf"select i1 [^,]*, {TYPE}",
        rf"(?:fpext|fptrunc|sitofp|uitofp|fptosi|fptoui|sext|zext|trunc|bitcast) .* to {TYPE}",
    )
)
TEST: Final = re.compile(rf" *(%[\w.$-]+) = [fi]cmp \w+ {TYPE}")
READ: Final = re.compile(rf" *(%[\w.$-]+) = load {TYPE}")


def in_pieces(function: str, lines: Sequence[str]) -> tuple[list[str], list[str]]:
    """The pieces of a function, and its lines, in which they are called."""
    if len(lines) < LONG:
        return [], [*lines]
    words = [NAME.findall(line.partition(";")[0]) for line in lines]
    definitions = [_made(line) for line in lines]
    types = dict(one for one in definitions if one is not None)
    parts = [*parts_of(_steps(lines, words, types), LENGTH, LONG)]
    if not parts:
        return [], [*lines]
    maker, readers, held = cut(parts, {at: used[0] for at, used in enumerate(words) if used}, words)
    slots = {name: j for j, name in enumerate(held)}
    own: list[dict[str, None]] = [{} for _ in parts]
    for name in slots:
        own[maker[name]][name] = None
    pieces: list[str] = []
    rows: list[str | None] = [f"  %held = alloca [{len(slots)} x i64]", *lines]
    for k, part in enumerate(parts):
        unread = dict.fromkeys(name for at in part for name in words[at] if maker.get(name) != k)
        inputs = [name for name in unread if name not in maker]
        parameters = ", ".join(("ptr %held", *(f"{types[name]} {name}" for name in inputs)))
        inside: list[str] = []
        for at in part:
            for name in [name for name in dict.fromkeys(words[at]) if name in unread]:
                del unread[name]
                if name in maker:
                    inside += _access(name, slots, f"load {types[name]}, ptr")
            inside.append(lines[at])
            if words[at] and words[at][0] in own[k]:
                inside += _access(words[at][0], slots, f"store {types[words[at][0]]} {words[at][0]}, ptr")
        head = f"define internal void @{function}.piece{k}({parameters}) nounwind {{\nentry:"
        pieces.append("\n".join((head, *inside, "  ret void", "}\n")))
        late = (name for name in own[k] if None in readers[name])
        read = [line for name in late for line in _access(name, slots, f"load {types[name]}, ptr")]
        rows[part[0] + 1 : part[-1] + 2] = [None] * (part[-1] + 1 - part[0])
        rows[part[0] + 1] = "\n".join((f"  call void @{function}.piece{k}({parameters})", *read))
    return pieces, [line for line in rows if line is not None]


def _made(line: str) -> tuple[str, str] | None:
    """The value that an instruction makes, and its type; None if that is no single element."""
    test = TEST.match(line)
    if test is not None:
        return test[1], "i1"
    match = next((match for form in (*STEPS, READ) if (match := form.match(line)) is not None), None)
    return (match[1], match[2]) if match is not None else None


def _access(name: str, slots: Mapping[str, int], access: str) -> tuple[str, str]:
    """Reading a value that pieces leave for others, or leaving it."""
    there = f"{name}.held"
    value = f"{name} = " if access.startswith("load") else ""
    return f"  {there} = getelementptr i64, ptr %held, i64 {slots[name]}", f"  {value}{access} {there}"


def _steps(
    lines: Sequence[str], words: Sequence[Sequence[str]], types: Mapping[str, str]
) -> Iterator[tuple[int, bool]]:
    """The places of all lines, and whether there is a step on values whose types are known, or what is said of one."""
    is_step = False
    for at, line in enumerate(lines):
        if not line.lstrip().startswith(";"):
            is_step = not READ.match(line) and _made(line) is not None and all(name in types for name in words[at])
        yield at, is_step
