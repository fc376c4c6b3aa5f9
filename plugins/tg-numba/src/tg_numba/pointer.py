"""The module of a program for callers that are not Python: behind an entry that knows all lengths.

The program reads arrays where NumPy has their data and the address of their lengths; for the pointers of a call such
places are made on the stack.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tg.backend import MachineCode
from tg_native.calls.objects import HEAD
from tg_native.graphs.failure import STATUS
from tg_numba import cache

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.backend import FrozenGraph
    from tg_numba.written import Program

DATA, LENGTHS = HEAD, HEAD + 16  # in an array, from its beginning
ARRAY: Final = f"[{(LENGTHS + 8) // 8} x i64]"
DENSITY: Final = """
define i64 @density(i64 %n, ptr %x, ptr %gradient, ptr %value, ptr %data) {{
entry:
  %inputs = alloca ptr
  %outputs = alloca [2 x ptr]
  store ptr %x, ptr %inputs
  store ptr %value, ptr %outputs
  %second = getelementptr ptr, ptr %outputs, i64 1
  store ptr %gradient, ptr %second
  %place = getelementptr ptr, ptr %data, i64 {lengths}
  %lengths = load ptr, ptr %place
  %length = load i64, ptr %lengths
  %other = icmp ne i64 %n, %length
  br i1 %other, label %refused, label %run
run:
  %code = call i64 @call(ptr %inputs, ptr %outputs, ptr %data)
  %failed = icmp ne i64 %code, 0
  br i1 %failed, label %failure, label %test
test:
  %k = phi i64 [0, %run], [%next, %element]
  %zeros = phi double [0.0, %run], [%sum, %element]
  %more = icmp slt i64 %k, %n
  br i1 %more, label %element, label %done
element:
  %at = getelementptr double, ptr %gradient, i64 %k
  %slope = load double, ptr %at
  %zero = fmul double %slope, 0.0
  %sum = fadd double %zeros, %zero
  %next = add i64 %k, 1
  br label %test
done:
  %number = load double, ptr %value
  %none = fmul double %number, 0.0
  %infinite = fcmp une double %none, 0.0
  %infinities = fcmp une double %zeros, 0.0
  %of_value = select i1 %infinite, i64 4, i64 0
  %found = select i1 %infinities, i64 3, i64 %of_value
  ret i64 %found
failure:
  ret i64 1
refused:
  ret i64 -1
}}
"""


def of_program(
    graph: FrozenGraph,
    program: Program,
    shapes: Sequence[tuple[int, ...]],
    held: Sequence[np.ndarray[Any, Any]],
    results: Sequence[tuple[int, ...]],
) -> MachineCode:
    """The entries of a module: see `Executable.machine_code`."""
    text = _text(len(shapes), len(held), len(results), has_status=bool(graph.checks))
    names = ("call", "density")
    loaded = cache.assembled("pointer", text, names, {})
    # the data: the program, the arrays that are held, and of all others the addresses of their lengths
    lengths = [np.array(shape or (0,), np.int64) for shape in (*shapes, *results)]
    words = [program.addresses[0], *map(id, held), *(a.ctypes.data for a in lengths)]
    data = np.array(words, np.int64)
    call, density = map(loaded.address, names)
    return MachineCode(call, density, data.ctypes.data, (program, loaded, held, lengths, data))


def _text(inputs: int, held: int, results: int, *, has_status: bool) -> str:
    """The text of an entry for so many inputs that a call gives, that are held, and outputs."""
    lines = []
    for k in range(inputs + results):
        source, place = ("inputs", k) if k < inputs else ("outputs", k - inputs)
        lines += [
            f"%array{k} = alloca {ARRAY}",
            f"%from{k} = getelementptr ptr, ptr %{source}, i64 {place}",
            f"%address{k} = load ptr, ptr %from{k}",
            f"%data{k} = getelementptr i8, ptr %array{k}, i64 {DATA}",
            f"store ptr %address{k}, ptr %data{k}",
            f"%word{k} = getelementptr ptr, ptr %data, i64 {1 + held + k}",
            f"%lengths{k} = load ptr, ptr %word{k}",
            f"%shape{k} = getelementptr i8, ptr %array{k}, i64 {LENGTHS}",
            f"store ptr %lengths{k}, ptr %shape{k}",
        ]
    for k in range(held):
        lines += [f"%place{k} = getelementptr ptr, ptr %data, i64 {1 + k}", f"%held{k} = load ptr, ptr %place{k}"]
    arrays = [f"%array{k}" for k in range(inputs)] + [f"%held{k}" for k in range(held)]
    arrays += [f"%array{inputs + k}" for k in range(results)]
    if has_status:  # an array, too, of which nothing but its data is asked
        lines += [
            f"%status = alloca [{STATUS} x i64]",
            f"%statuses = alloca {ARRAY}",
            f"%told = getelementptr i8, ptr %statuses, i64 {DATA}",
            "store ptr %status, ptr %told",
        ]
        arrays.append("%statuses")
    arguments = ", ".join(f"ptr {a}" for a in arrays)
    lines += ["%run = load ptr, ptr %data", f"%code = call i64 %run({arguments})", "ret i64 %code"]
    body = "\n".join(f"  {line}" for line in lines)
    return f"define i64 @call(ptr %inputs, ptr %outputs, ptr %data) {{\n{body}\n}}\n{DENSITY.format(lengths=1 + held)}"
