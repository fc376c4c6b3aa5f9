"""The interpreter of loops sees what machine code would do without a word: accesses outside of arrays, lost lanes."""

import numpy as np
import pytest

from tests.kernels.interpreter import CONST, Interpreter
from tests.kernels.memory import Place
from tg_native.kernels.body import Machine
from tg_native.kernels.index import Index, Pointer
from tg_native.kernels.lanes import Lanes, constant, in_all_lanes
from tg_native.kernels.routine import Block

LANES = 4


class Loop:
    """A body with an array x that is read, an array y that is written, and a length n."""

    def __init__(self):
        self.body = Interpreter(LANES, Machine(32, fused=True))
        self.x = Pointer(self.body, "int64", "x", CONST)
        self.y = Pointer(self.body, "int64", "y")
        self.n = Index(Lanes(self.body, "int64", "n"))

    def run(self, size, room=None):
        """What stands in y."""
        y = np.full(size if room is None else room, -5)
        x = np.arange(10, 10 + size)
        self.body.run({"x": Place(x, "int64"), "y": Place(y, "int64"), "n": np.int64(size)})
        return y.tolist()

    def partial(self, at):
        """The block from an index on."""
        return Block(at, (self.n - at).least(LANES))


def copying(block):
    """A loop over blocks that copies x to y."""
    loop = Loop()
    with loop.body.loop(0, loop.n, LANES) as at:
        this = block(loop, at)
        loop.body.store_row(loop.body.load_row(loop.x.moved(at), this), loop.y.moved(at), this)
    return loop


def test_a_tail_without_a_mask_is_seen():
    masked, whole = copying(Loop.partial), copying(lambda loop, at: Block(at))
    assert masked.run(6) == [10, 11, 12, 13, 14, 15]
    assert whole.run(8) == [*range(10, 18)]
    with pytest.raises(AssertionError, match="elements 4 to 7 of 6"):
        whole.run(6)


@pytest.mark.parametrize("offset", [-1, 4, 2**40])
def test_a_position_outside_is_seen(offset):
    loop = Loop()
    places = loop.body.own_numbers() + offset
    loop.body.store_row(loop.body.gathered(loop.x, places), loop.y, Block(loop.n))
    with pytest.raises(AssertionError, match=f"elements {offset} to"):
        loop.run(4)


def test_a_pointer_may_leave_its_array_and_come_back():
    loop = Loop()
    loop.body.store(loop.body.load(loop.x.moved(loop.n).moved(-1)), loop.y.moved(-1).moved(loop.n))
    assert loop.run(3) == [-5, -5, 12]
    with pytest.raises(AssertionError):
        loop.run(3, room=2)


def test_a_place_that_is_read_alone_is_not_written():
    loop = Loop()
    with pytest.raises(AssertionError):
        loop.body.store(constant(loop.body, 0, "int64"), loop.x)


def test_single_elements_are_no_lanes():
    loop = Loop()
    with loop.body.of(0):
        one = loop.body.load(loop.x)
    with pytest.raises(AssertionError, match="0 lanes beside 4"):
        loop.body.computed("add", (one, loop.body.own_numbers()))
    loop.body.store_row(in_all_lanes(one) + loop.body.own_numbers(), loop.y, Block(loop.n))
    assert loop.run(4) == [10, 11, 12, 13]


def test_memory_and_lanes_outside_are_never_zeros_by_chance():
    loop = Loop()
    loop.body.store_row(loop.body.variable("int64").get(), loop.y, Block(loop.n))
    assert all(any(loop.run(4)) for _ in range(9))
    zeros = Place(np.zeros(2, np.int64), "int64")
    for found in (zeros.row(LANES, np.arange(LANES) < 2, 2), zeros.apart(-1, LANES, np.arange(LANES) < 1, 1)):
        assert found[0] == 0
        assert found[2:].any()


def test_quotients_that_no_processor_has_are_seen():
    for x, y in ((1, 0), (-(2**63), -1)):
        loop = Loop()
        with loop.body.of(0):
            divided = loop.body.load(loop.x) * 0 + x
            loop.body.store(divided // (loop.body.load(loop.x) * 0 + y), loop.y)
        with pytest.raises(AssertionError, match="quotients of"):
            loop.run(1)
