"""Layouts of frames in an arena: arrays that live at once lie apart, and no more memory is asked for than they need."""

import itertools

import numpy as np
import pytest

import tg
from tg import plugin
from tg.link.linker import Request
from tg_c import frames
from tg_c.frames import Slot
from tg_c.program import Unit
from tg_native.fusion.fused import fuse


@pytest.mark.parametrize("seed", range(20))
def test_arrays_of_known_sizes_that_live_at_once_lie_apart(seed):
    rng = np.random.default_rng(seed)
    starts, lives, sizes = rng.integers(0, 40, 25), rng.integers(1, 20, 25), rng.integers(1, 500, 25)
    slots = [Slot(int(a), int(a + b), str(size)) for a, b, size in zip(starts, lives, sizes, strict=True)]
    places, total, rows = frames._laid_out(slots)
    assert rows == []
    assert all(place % 64 == 0 for place in places.values())
    for a, b in itertools.combinations(range(25), 2):
        if slots[a].meets([slots[b]]):
            assert places[a] + int(slots[a].size) <= places[b] or places[b] + int(slots[b].size) <= places[a]
    rooms = [(int(slot.size) + 63) // 64 * 64 for slot in slots]
    most = max(sum(r for r, s in zip(rooms, slots, strict=True) if s.first <= t <= s.last) for t in range(60))
    assert most <= total <= sum(rooms)
    assert total <= 1.5 * most


def test_arrays_of_free_lengths_share_a_row_unless_they_live_at_once():
    slots = [Slot(0, 5, "n"), Slot(3, 8, "m"), Slot(6, 9, "n"), Slot(9, 12, "m")]
    assert frames._laid_out(slots) == ({}, 0, [[0, 2], [1, 3]])


def test_a_frame_is_laid_out_by_the_lengths_of_inputs(frozen_of):
    x = tg.matrix("x")
    text = written(frozen_of([x], [tg.sum(tg.sort(x * 2, axis=0) + tg.sort(x, axis=0))]))
    assert "i64 tg_frame(const i64 *dims) {" in text
    assert "graph0_frame(at, dims[0], dims[1])" in text
    for name in ("malloc", "tg_take", "PyOS_InterruptOccurred", "tg_lend"):
        assert f"{name}(" not in text.replace("#ifndef TG_ALONE", "", 1).partition("static i64 graph0(")[2]


def test_a_program_that_needs_no_memory_needs_no_arena(frozen_of):
    x = tg.vector("x")
    assert "i64 tg_frame(const i64 *dims) { return 0; }" in written(frozen_of([x], [x + 1]))


def written(frozen):
    registry = plugin.registry()
    request = Request("c", registry.backend("c").options(), registry.rules("c").get)
    return Unit(request, memory="arena").program(fuse(frozen)).text
