"""Interrupts at random moments of calls, by signals, beside a thread that reads and updates the same variables."""

from __future__ import annotations

import contextlib
import random
import signal
import threading
from time import monotonic

from tests.interrupts.injected import ignored

SHORTEST, LONGEST = 2e-6, 3e-4  # seconds until a signal


class Interrupt(BaseException):
    """What a signal's handler raises."""


class Alarm:
    """A handler that raises while it is armed; signals come again and again, so none can be lost for good."""

    is_armed = False

    def __call__(self, number, frame):
        """Handle one."""
        if self.is_armed:
            self.is_armed = False
            raise Interrupt

    def during(self, call, delay):
        """Call again and again until a signal interrupts it; whether it was that which ended this."""
        try:
            self.is_armed = True
            signal.setitimer(signal.ITIMER_REAL, delay, 0.01)
            until = monotonic() + 60.0
            while monotonic() < until and self.is_armed:  # one that Python ignores, in a finalizer, ends it as well
                call()
        except Interrupt:
            return True
        finally:
            self.is_armed = False
        return False


@contextlib.contextmanager
def alarmed():
    """An alarm in place of what else the process uses that timer for."""
    alarm = Alarm()
    handler, rest = signal.getsignal(signal.SIGALRM), signal.getitimer(signal.ITIMER_REAL)
    signal.signal(signal.SIGALRM, alarm)
    try:
        yield alarm
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, handler)
        signal.setitimer(signal.ITIMER_REAL, *rest)


@contextlib.contextmanager
def beside(way):
    """A thread that reads what the way's variables have, and calls it, as long as the block lasts; its rounds."""
    rounds, wrong, stop = [0], [], threading.Event()

    def work():
        try:
            while not stop.is_set():
                way.effects()
                way.call()
                rounds[0] += 1
                stop.wait(1e-4)
        except BaseException as error:  # noqa: BLE001 (told where it is waited for)
            wrong.append(error)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    try:
        yield rounds
    finally:
        stop.set()
        thread.join(60)
        assert not thread.is_alive(), "the other thread waits for ever"
        assert not wrong, wrong


def interrupt(way, count, seed=0):
    """So many interrupts of calls of a way; how many have come in a call, each looked at."""
    draw, came = random.Random(seed), 0
    with ignored(), beside(way) as rounds, alarmed() as alarm:
        for _ in range(count):
            came += alarm.during(way.call, draw.uniform(SHORTEST, LONGEST))
            way.effects()
            before, until = rounds[0], monotonic() + 60.0
            if came % 100 == 0:
                while rounds[0] == before:  # the other thread gets its turn
                    assert monotonic() < until, "the other thread waits for ever"
                    threading.Event().wait(1e-4)
    return came
