"""Values of shared variables that are lent to a call: threads, child processes and interrupts find them whole."""

import gc
import os
import signal
import threading
import time

import numpy as np
import pytest

import tg
from tests.interrupts.signalled import alarmed
from tests.unit.native_backends.test_in_place import N, address, numbers, updating
from tg import turns
from tg.functions import lending
from tg.functions.shared import Value, snapshots

pytestmark = pytest.mark.sampled(2)


@pytest.fixture(autouse=True)
def lend_small_values(monkeypatch):
    monkeypatch.setattr(lending, "WORTH", 0)


def test_no_reader_sees_a_value_half_written():
    w = tg.shared(np.zeros(20000), "w")
    f, g = updating({w: w + 1.0}), tg.function([], [tg.min(w), tg.max(w)], backend="c")
    wrong, stop = [], threading.Event()

    def read():
        last = 0.0
        while not stop.is_set():
            low, high = g()
            copy = w.get_value()
            if not low == high >= last or copy.min() != copy.max() or copy[0] < low:
                wrong.append((low, high, copy.min(), copy.max(), last))
            last = float(high)

    threads = [threading.Thread(target=read) for _ in range(2)]
    for thread in threads:
        thread.start()
    for _ in range(2000):
        f()
    stop.set()
    for thread in threads:
        thread.join()
    assert not wrong
    assert w.get_value()[0] == 2000


def test_updates_of_several_threads_are_all_there():
    a, b = tg.shared(np.zeros(5000), "a"), tg.shared(np.zeros(5000), "b")
    up, down = updating({a: a + b * 0 + 1.0}), updating({b: b + a * 0 + 1.0, a: a + 1.0})

    def work():
        for _ in range(300):
            up()
            down()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (a.get_value() == 2400).all()
    assert (b.get_value() == 1200).all()


def test_a_reader_waits_while_a_value_is_lent():
    w = tg.shared(np.zeros(3), "w")
    f = updating({w: w + 1.0})
    f()
    found = []
    reader = threading.Thread(target=lambda: found.append(snapshots([w])[0].numpy[0]))
    for turn in turns.alone():
        turn.take(w.claim)
        loan, held = lending.Loan(turn, (w,), f.programs.main, list), snapshots([w])
        assert loan.begin((w,))
        assert w.has is loan
        assert w.snapshot is held[0]  # this thread finds the old value
        reader.start()
        while not w.patience:  # it has found that it has to wait
            time.sleep(0)
        assert found == []
        del held
    reader.join()
    assert found == [1.0]
    assert w.has is loan  # nobody has ended it, and nobody needs to
    loan = None
    f()
    assert type(w.has) is Value
    before = address(w)
    f()
    assert address(w) != before  # somebody had to wait
    w.patience = 0
    before = address(w)
    f()
    assert address(w) == before


@pytest.mark.filterwarnings(r"ignore:os\.fork\(\) was called:RuntimeWarning")  # where a test before imported JAX
def test_a_child_process_finds_values_whole():
    w, stop = tg.shared(np.zeros(50000), "w"), threading.Event()
    f = updating({w: w + 1.0})

    def work():
        while not stop.is_set():
            f()

    thread = threading.Thread(target=work)
    thread.start()
    codes = []
    for _ in range(10):
        child = os.fork()
        if child == 0:
            code = 2
            try:
                signal.alarm(20)  # a child that waits for ever is told from others
                value = w.get_value()
                code = int(value.min() != value.max())
            finally:  # no test runs on here, whatever happens
                os._exit(code)
        codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    stop.set()
    thread.join()
    assert codes == [0] * 10


def test_an_interrupt_leaves_all_old_values_or_all_new_ones(monkeypatch):
    w, v = tg.shared(numbers(N), "w"), tg.shared(numbers(N, seed=1), "v")
    f = updating({w: w * 2.0, v: tg.cumsum(v, 0)})
    assert len(f.reused) == 1
    wanted, fresh = [w.get_value() * 2, np.cumsum(v.get_value())], type(f._calls).fresh
    calls = iter([True, False])

    def interrupted(*args):
        if next(calls):
            raise KeyboardInterrupt
        return fresh(*args)

    monkeypatch.setattr(type(f._calls), "fresh", interrupted)
    before = address(w)
    with pytest.raises(KeyboardInterrupt):
        f()
    monkeypatch.undo()
    assert address(w) == before
    np.testing.assert_allclose([w.get_value(), v.get_value()], wanted, rtol=1e-15)


def test_interrupts_of_long_calls():
    w, v = tg.shared(np.zeros(1 << 15), "w"), tg.shared(np.zeros(1 << 15), "v")
    grown = w
    for _ in range(10):
        grown = tg.sin(grown) + grown
    f = updating({w: w + 1.0 + 0.0 * grown, v: v + 1.0})
    assert len(f.reused) == 2
    came = 0
    with alarmed() as alarm:
        for delay in np.linspace(1e-4, 0.005, 12):
            came += alarm.during(f, delay)
            assert turns.held() == []
            assert (w.get_value() == v.get_value()).all()
    assert came > 6  # Python ignores those that come in a finalizer


def test_nothing_is_lent_for_good():
    w = tg.shared(np.zeros(3), "w")
    f = updating({w: w + 1.0})
    with pytest.raises(tg.errors.InputError):
        f(1, 2)
    f()
    gc.collect()
    assert type(w.has) is Value
    assert turns.held() == []
