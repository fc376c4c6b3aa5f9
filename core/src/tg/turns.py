"""Turns: exclusive access that ends with the statement that has it, whatever ends that.

    for turn in alone():
        turn.take(claim)
        ...

A lock that code releases stays held if an exception comes before that code: an interrupt may come after any
instruction, in a `finally` block too, and `with` has instructions on its way out that nothing guards. So here nothing
is released. A turn lasts as long as its *guard*, an object to which only the iterator of the `for` statement refers.
The iterator lies on the interpreter's stack and has no name: leaving the statement, in whatever way, drops it, and no
traceback keeps it. That rests on what CPython promises: a frame that is left drops its stack, and an object without
references ends at once. A turn is a weak reference to its guard; all else follows from whether that is alive.

Turns stand in one list, in the order in which they were asked for. One may go on when no earlier one that lives has a
claim on the same things. So several things are taken in one step, those who wait are served in order (when they have
let others go ahead once), and no calls wait for one another in a circle. *A turn in the list never moves and its claim
never changes*, so whoever is waited for stays where it was until it is over: who lets others go ahead does that before
it enters the list. Turns of one thread do not exclude one another: a finalizer or a signal's handler, which runs in the
middle of a call, goes ahead.

A forked child has none of its parent's other threads, whose guards nobody would ever drop: their turns are forgotten
there. What they were about is as they left it, so turns under which something is done that must not be copied half
done (memory that readers trust is written, a compiler works with locks of its own) delay forks. Such a turn has a
second one in the list before itself, its *delay*, with a guard of its own and a claim on nothing: only forks wait for
it. A delay behind a fork is dropped and entered anew when the fork is over, unless that fork waits for another delay of
the same thread. So a fork waits for the delays before it, and those after it wait for the fork. Inside a turn that
delays forks no variables are claimed: who has claimed one may wait for a fork.

`Turn.steps` is the protocol: each step looks at the list or changes it once. `tests/interrupts/model.py` runs these
steps of several threads in every order.
"""

from __future__ import annotations

import functools
import math
import operator
import os
import weakref
from _thread import allocate_lock, get_ident
from threading import local
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, NamedTuple, ParamSpec, TypeVar, final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

P = ParamSpec("P")
T = TypeVar("T")

FORK_PATIENCE = 60.0  # seconds that a fork waits: it could be that somebody waits for the thread that forks
RECHECK = 1.0  # seconds after which a child of a fork in the middle of a wait looks whether the other is in the list


class Claim(NamedTuple):
    """Purpose of a turn: the things that nobody else may have meanwhile, and whether a fork has to wait."""

    things: frozenset[object]
    delays_forks: bool = False


FORK: Final = Claim(frozenset(["fork"]), delays_forks=True)
DELAY: Final = Claim(frozenset(), delays_forks=True)


@final
class Guard:
    """The lifetime of a turn: that of this object, and with it that of the turn's delay."""

    __slots__ = ("__weakref__", "delay")
    delay: Guard | None


@final
class Turn(weakref.ref[Guard]):
    """The place of one `for` statement in the list; `thread` is that of the statement."""

    __slots__ = ("claim", "delay", "thread")
    claim: Claim
    thread: int
    delay: Turn | None
    __hash__ = object.__hash__
    __eq__ = object.__eq__

    def take(self, claim: Claim) -> None:
        """Wait until nobody who has asked before has a claim on the same things; called once, first of all."""
        self.claim, self.thread, self.delay = claim, get_ident(), None
        if _turns or claim.delays_forks:
            for other in self.steps():
                if other is not None:
                    other.wait()
            return
        _turns[self] = None
        if len(_turns) > 1:
            for other in self.others_ahead():
                other.wait()

    def steps(self) -> Iterator[Turn | None]:
        """The steps of `take`, each one access to the list: whom to wait for after it, if anybody.

        It waits once without standing in the list: threads that alternate at each call would wake one another for it.
        """
        if self.claim.delays_forks:
            self._enter_delay()
            yield None
            while (fork := self._fork_ahead()) is not None:
                self._drop_delay()
                yield fork
                self._enter_delay()
                yield None
        yield self._other_ahead()
        _turns[self] = None
        yield None
        yield from self.others_ahead()

    def others_ahead(self) -> Iterator[Turn]:
        """Whom to wait for, one after the other, as it stands in the list."""
        while (other := self._other_ahead()) is not None:
            yield other

    @property
    def is_over(self) -> bool:
        """Whether the statement has been left, or its thread is not in this process."""
        return self() is None or self not in _turns

    def leave(self) -> None:
        """Strike it off the list when the statement has been left: tidier than to leave that to who comes next."""
        _turns.pop(self, None)
        self.leave_delay()

    def leave_delay(self) -> None:
        """Strike its delay off the list."""
        if self.delay is not None:
            _turns.pop(self.delay, None)

    def delay_forks(self) -> bool:
        """From now on delay forks; False if there is one just now, which does not wait for this turn."""
        self._enter_delay()
        if self._fork_ahead() is None:
            return True
        self._drop_delay()
        return False

    def wait(self, until: float = math.inf) -> None:
        """Wait until it is over, or until a moment of `monotonic`."""
        while not self.is_over and (left := until - monotonic()) > 0:
            self.wait_for_guard(min(left, RECHECK))

    def wait_for_guard(self, timeout: float) -> None:
        """Wait until the guard is gone, or for so many seconds (-1: for ever)."""
        gate = allocate_lock()
        gate.acquire()
        opened: Callable[..., None] = gate.__exit__
        try:  # only the stack refers to the guard, here too
            watch = weakref.ref(self(), opened)
        except TypeError:  # there is none any more
            return
        gate.acquire(timeout=timeout)
        del watch

    def _enter_delay(self) -> None:
        self().delay = Guard()  # type: ignore[union-attr] # the guard of a statement that is being executed
        self.delay = Turn(self().delay)  # type: ignore[union-attr, arg-type]
        self.delay.claim, self.delay.thread, self.delay.delay = DELAY, self.thread, None
        _turns[self.delay] = None

    def _drop_delay(self) -> None:
        self().delay = None  # type: ignore[union-attr]
        self.leave_delay()

    def _fork_ahead(self) -> Turn | None:
        """The first fork ahead of the delay, unless that waits for this thread."""
        for other in list(_turns):
            if other is self.delay or (other.thread == self.thread and other.claim.delays_forks and not other.is_over):
                return None
            if other.claim is FORK and not other.is_over:
                return other
        return None

    def _other_ahead(self) -> Turn | None:
        """The first turn that excludes this one: of all, as long as it does not stand in the list."""
        for other in list(_turns):
            if other is self:
                return None
            if other() is None:
                other.leave()
            elif other.thread != self.thread and _excludes(other.claim, self.claim):
                return other
        return None


_turns: Final[dict[Turn, None]] = {}
_covered: Final[list[Any]] = []
_ACQUIRE, _RELEASE = operator.methodcaller("acquire"), operator.methodcaller("release")
_fork: Final = local()  # `guard`: that of the fork which this thread makes


def alone() -> Iterator[Turn]:
    """A turn, to be iterated over by a `for` statement, which has it for its one round."""
    return map(Turn, (Guard(),))


def exclusive(claim: Claim) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """A function each call of which has a turn."""

    def decorated(function: Callable[P, T]) -> Callable[P, T]:
        @functools.wraps(function)
        def called(*args: P.args, **kwargs: P.kwargs) -> T:
            for turn in alone():
                turn.take(claim)
                result = function(*args, **kwargs)
            turn.leave()
            return result

        return called

    return decorated


def _excludes(before: Claim, own: Claim) -> bool:
    return before.delays_forks if own is FORK else not before.things.isdisjoint(own.things)


def held() -> list[Turn]:
    """The turns that are not over."""
    return [turn for turn in list(_turns) if not turn.is_over]


def cover(lock: Any) -> None:
    """Have forks take a lock of a library, when those turns are over under which that is called."""
    _covered.append(lock)


def _before_fork() -> None:
    _fork.guard = Guard()
    turn = Turn(_fork.guard)
    turn.claim, turn.thread, turn.delay = FORK, get_ident(), None
    _turns[turn] = None
    until, interrupt = monotonic() + FORK_PATIENCE, None
    while True:
        try:
            for other in turn.others_ahead():
                other.wait(until)
                if monotonic() > until:
                    break
            all(map(_ACQUIRE, _covered))
            break
        except BaseException as error:  # noqa: BLE001 (the system would print it, and fork)
            interrupt = error
    if interrupt is not None:
        raise interrupt


_end_of_fork: Final = functools.partial(setattr, _fork, "guard", None)  # of this thread's, and nothing comes between


def _release_covered() -> None:
    any(map(_RELEASE, _covered))


def _after_fork_in_child() -> None:
    _release_covered()
    _end_of_fork()
    for turn in list(_turns):
        if turn.claim is FORK or turn.thread != get_ident():  # a thread that is not here may have looked at a guard
            turn.leave()


os.register_at_fork(before=_before_fork, after_in_parent=_release_covered, after_in_child=_after_fork_in_child)
os.register_at_fork(after_in_parent=_end_of_fork)
