"""Many pointers to memory on the heap lie in an array: what reads them reads them there."""

import re

import numpy as np
import pytest

import tg
from tg_numba import engine
from tg_numba.assembly import Module
from tg_numba.memory import MANY, in_slots


def allocations(count):
    lines = [f"  %heap{k} = call ptr @tg.take(ptr %arena, i64 8)" for k in range(count)]
    return [*lines, "  call void @loop(ptr %heap1, ptr %heap11, ptr %heap1)  ; of %heap1"]


def test_few_stay_as_they_are():
    lines = allocations(MANY - 1)
    assert in_slots(lines) == lines


def test_many_are_read_before_each_use():
    changed = in_slots(allocations(MANY))
    assert changed[0] == f"  %heaps = alloca [{MANY} x ptr]"
    assert sum(line.startswith("  store ptr %heap") for line in changed) == MANY
    assert changed[-5:] == [
        "  %heap1.0.at = getelementptr ptr, ptr %heaps, i64 1",
        "  %heap1.0 = load ptr, ptr %heap1.0.at",
        "  %heap11.1.at = getelementptr ptr, ptr %heaps, i64 11",
        "  %heap11.1 = load ptr, ptr %heap11.1.at",
        "  call void @loop(ptr %heap1.0, ptr %heap11.1, ptr %heap1.0)  ; of %heap1",
    ]


@pytest.mark.long
@pytest.mark.parametrize("length", [0, 1, 5, 3000])
def test_a_program_of_many_loops_computes_what_numpy_does(length):
    steps = 48
    x = tg.vector("x")
    y = x
    for k in range(steps):
        y = tg.sin(y)[::-1] + x * float(k)  # from the other end: such loops do not run tile by tile
    f = tg.function([x], [tg.sum(y), tg.grad(tg.sum(y), x)], backend="numba")
    assert re.search(r"%heaps = alloca \[\d+ x ptr\]", f.source())
    data = np.linspace(-1, 1, length)
    values = [data]
    for k in range(steps):
        values.append(np.sin(values[-1])[::-1] + data * float(k))
    slope, reached = np.zeros(length), np.ones(length)
    for k in reversed(range(steps)):
        slope += reached * k
        reached = reached[::-1] * np.cos(values[k])
    found = f(data)
    np.testing.assert_allclose(found[0], values[-1].sum(), rtol=1e-12, atol=1e-9)
    np.testing.assert_allclose(found[1], slope + reached, rtol=1e-9, atol=1e-9)


def loop_of(length, *declared):
    module = Module()
    for name in declared:
        module.declare(name, "double", ["double"])
    return engine.Written(module, "x" * length)


def test_loops_become_modules_of_a_bounded_length():
    loops = {str(k): loop_of(engine.MODULE // 3, "exp") for k in range(7)}
    assert [len(group) for group in engine._groups(loops)] == [4, 3]
    loops["foreign"] = loop_of(10, f"{engine.FOREIGN}twice")
    assert sorted(engine._groups(loops), key=len) == [["foreign"], ["4", "5", "6"], ["0", "1", "2", "3"]]
    assert list(engine._groups({})) == []
