"""After an interrupt of an updating call, wherever it comes: no turn is held, all variables are new or none is.

`python -m tests.interrupts` makes more of them.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
import time

import numpy as np
import pytest

import tg
from tests.interrupts.forked import forks
from tests.interrupts.injected import EVERYWHERE, TURNS, Tracer, inject, instructions
from tests.interrupts.paths import QUICK, SLOW, pair
from tests.interrupts.signalled import interrupt
from tg import turns
from tg.graph.collector import paused

pytestmark = pytest.mark.filterwarnings(r"ignore:os\.fork\(\) was called:RuntimeWarning")  # where JAX is imported
INSTRUCTIONS, SIGNALS = 60, 60
OTHERS = ("jax, two vectors", "perform, debug")  # many instructions, none of them of another kind


@pytest.mark.parametrize("name", [name for name in (*QUICK, *SLOW) if name not in OTHERS])
def test_an_exception_at_an_instruction_leaves_nothing_held_or_half_done(name):
    way, files = (QUICK[name](), EVERYWHERE) if name in QUICK else (SLOW[name](), TURNS)
    way.call()
    known = instructions(way.call, files)
    step = max(1, known // (INSTRUCTIONS if name in QUICK else INSTRUCTIONS // 6))
    assert inject(way, range(1 + known % step, known + 1, step), files)


def test_an_exception_at_every_instruction_of_an_update():
    way = pair("perform")
    way.call()
    known = instructions(way.call, TURNS)
    assert inject(way, range(1, known + 1), TURNS) == known


@pytest.mark.parametrize(
    "name",
    ["c, one scalar", "c, overwritten", "c, loops", "numba, two vectors", "numba, loops", "perform, two vectors"],
)
def test_signals_beside_another_thread(name):
    way = QUICK[name]()
    assert interrupt(way, SIGNALS) > SIGNALS // 2


def test_whoever_waits_goes_on_while_the_traceback_of_an_interrupt_is_kept():
    way = pair("c")
    way.call()
    known, kept = instructions(way.call), []
    for number in range(1, known, max(1, known // 20)):
        kept.append(Tracer(number).run(way.call))
        thread = threading.Thread(target=way.call, daemon=True)
        thread.start()
        thread.join(60)
        assert not thread.is_alive()


def test_whoever_waits_is_served_though_others_ask_again_at_once():
    claim, served, inside = turns.Claim(frozenset(["it"])), [0] * 3, []

    def work(number):
        while min(served) < 20:
            for turn in turns.alone():
                turn.take(claim)
                inside.append(number)
                assert inside == [number]
                served[number] += 1
                inside.clear()

    threads = [threading.Thread(target=work, args=(number,), daemon=True) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert min(served) >= 20
    assert turns.held() == []


@pytest.mark.parametrize("backend", ["c", "numba", "perform"])
def test_eight_threads_that_update_one_variable_and_are_switched_all_the_time(backend):
    w, count = tg.shared(np.zeros(3), "w"), 400
    step = tg.function([], [], updates={w: w + 1.0}, backend=backend)
    step()
    threads = [threading.Thread(target=lambda: [step() for _ in range(count)], daemon=True) for _ in range(8)]
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
    finally:
        sys.setswitchinterval(before)
    assert not any(thread.is_alive() for thread in threads)
    assert w.get_value().tolist() == [8 * count + 1.0] * 3


def test_claims_on_other_things_go_ahead_and_those_of_one_thread_too():
    done = []
    for one in turns.alone():
        one.take(turns.Claim(frozenset([1, 2])))
        for again in turns.alone():
            again.take(turns.Claim(frozenset([2])))

        def other():
            for turn in turns.alone():
                turn.take(turns.Claim(frozenset([3])))
                done.append(3)

        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
        assert done == [3]


def test_children_of_a_busy_process_do_all_that_it_does():
    assert forks(3, ("c", "perform")) == [0] * 3


def test_a_fork_waits_for_what_must_not_be_copied_half_done():
    began, end, ended = threading.Event(), threading.Event(), []

    def work():
        for turn in turns.alone():
            turn.take(turns.Claim(frozenset(["it"]), delays_forks=True))
            began.set()
            end.wait(60)
            ended.append(True)

    threads = [threading.Thread(target=work)]
    threads[0].start()
    began.wait(60)

    def release():
        while turns.FORK not in [turn.claim for turn in turns.held()]:
            time.sleep(0)
        for late in turns.alone():  # what comes now waits for the fork, unless it delays none
            late.take(turns.Claim(frozenset(["other"])))
        end.set()

    threads.append(threading.Thread(target=release))
    threads[1].start()
    child = os.fork()
    if child == 0:
        os._exit(0 if ended and not turns.held() else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    for thread in threads:
        thread.join()
    assert turns.held() == []


def test_a_child_forgets_the_turns_of_threads_that_it_does_not_have():
    w, began, end = tg.shared(np.zeros(3), "w"), threading.Event(), threading.Event()

    def work():
        for turn in turns.alone():
            turn.take(w.claim)
            began.set()
            end.wait(60)

    thread = threading.Thread(target=work)
    thread.start()
    began.wait(60)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.alarm(60)
            w.set_value(np.ones(3))
            code = int(w.get_value()[0] != 1)
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    end.set()
    thread.join()


def test_a_child_collects_garbage_though_a_thread_of_its_parent_held_the_collector():
    began, end = threading.Event(), threading.Event()

    @paused
    def work():
        began.set()
        end.wait(60)

    thread = threading.Thread(target=work)
    thread.start()
    began.wait(60)
    assert not gc.isenabled()
    child = os.fork()
    if child == 0:
        os._exit(0 if gc.isenabled() else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    end.set()
    thread.join()
    assert gc.isenabled()
