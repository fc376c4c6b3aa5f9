"""Forks beside threads that update, read and compile: each child does all of that by itself, and hangs at nothing.

`python -m tests.interrupts.forked 200` makes so many.
"""

from __future__ import annotations

import contextlib
import faulthandler
import os
import signal
import sys
import threading
import traceback
import warnings

import numpy as np

import tg
from tests.interrupts.paths import lent, pair

PATIENCE = 60  # seconds after which a child hangs


def compiling(backend, **options):
    """Something that compiles at each call: a program that nobody has compiled before, where that is known."""
    count = [0.0]

    def call():
        count[0] += 1.0
        x = tg.vector("x")
        f = tg.function([x], tg.sum(tg.exp(x) * (count[0] + os.getpid() / 2**23)), backend=backend, **options)
        f(np.ones(1))
        f.wait()

    return call


def works(backends):
    """What threads do, and children after them."""
    ways = [make(backend) for backend in backends for make in (pair, lambda b: lent(pair, b))]
    calls = [way.call for way in ways] + [compiling(backend) for backend in backends]
    calls += [compiling(backend, compile="background") for backend in backends if backend != "perform"]
    return ways, calls


@contextlib.contextmanager
def busy(calls):
    """Threads that make these calls, each its own, as long as the block lasts."""
    stop, wrong = threading.Event(), []

    def work(call):
        try:
            while not stop.is_set():
                call()
        except BaseException as error:  # noqa: BLE001 (told below)
            wrong.append(error)

    threads = [threading.Thread(target=work, args=(call,), daemon=True) for call in calls]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join(PATIENCE)
            assert not thread.is_alive(), "a thread of the parent hangs"
        assert not wrong, wrong


def fork(ways, calls):
    """The exit status of a child that looks at the variables, and makes the calls: 0, or what killed it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that a process with threads forks
        child = os.fork()
    if child == 0:
        code = 2
        try:
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.alarm(PATIENCE)
            faulthandler.dump_traceback_later(PATIENCE * 0.9, file=sys.__stderr__)
            for way in ways:
                way.effects()
            for call in calls:
                call()
            code = 0
        except BaseException:  # noqa: BLE001 (nothing of the parent runs on here)
            traceback.print_exc()
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def forks(count, backends=("c", "numba", "perform"), at_once=None):
    """The exit statuses of so many children, beside as many busy threads as there are kinds of calls."""
    ways, calls = works(backends)
    for call in calls:
        call()
    with busy(calls[:at_once]):
        return [fork(ways, calls[k % 3 :: 3]) for k in range(count)]


def main(count="200"):
    """Fork so many children: `python -m tests.interrupts.forked [COUNT]`."""
    codes = forks(int(count))
    sys.stdout.write(f"{len(codes)} children, {sum(map(bool, codes))} that hung or failed\n")
    return int(any(codes))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
