"""Model checker of turns: the steps of `tg.turns` in several threads of one process, in every order.

A simulated thread is a generator that yields wherever another thread may run: None, or the turn that it waits for. Each
step is one access to the list of turns, made by the code of `Turn.steps`, or one to the variables. A wait ends when the
guard of the other has gone, and by nothing else. States that are alike are visited once; runs are repeated from the
start, for generators cannot be copied.

`python -m tests.interrupts.model 2` checks all sets of variables with two updates a thread.
"""

from __future__ import annotations

import itertools
import sys
from typing import TYPE_CHECKING, Any
from unittest import mock

from tg import turns
from tg.turns import FORK, Claim, Guard, Turn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    Steps = Iterator[Turn | None]
    Script = Callable[["World", int], Steps]


class ViolationError(AssertionError):
    """A state that must not be."""


class World:
    """The memory that simulated threads share, beside the list of turns."""

    def __init__(self, scripts: Iterable[Script]) -> None:
        self.values: dict[str, int] = {}
        self.expected: dict[str, int] = {}  # counts of updates that were not interrupted
        self.busy: set[int] = set()  # threads at work that must not be copied half done
        self.threads: list[Steps] = [script(self, k) for k, script in enumerate(scripts)]
        self.blocking: list[Turn | None] = [None] * len(self.threads)
        self.has_ended = [False] * len(self.threads)

    def can_step(self, k: int) -> bool:
        """Whether a thread has a step to make, and waits for nobody."""
        other = self.blocking[k]
        return not self.has_ended[k] and (other is None or other() is None)

    def step(self, k: int) -> None:
        """Make one step of a thread."""
        try:
            self.blocking[k] = next(self.threads[k])
        except StopIteration:
            self.has_ended[k] = True
        self._check_waits()

    def interrupt(self, k: int) -> None:
        """Raise in a thread, at the place where it is."""
        self.threads[k].close()  # type: ignore[attr-defined]
        self.has_ended[k], self.blocking[k] = True, None
        self.busy.discard(k)

    def key(self) -> object:
        """All that the future depends on."""
        live = [turn for turn in turns._turns if turn() is not None]
        places = {turn: place for place, turn in enumerate(live)}
        owners = tuple((turn.thread, turn.claim) for turn in live)
        blocking = tuple(None if turn is None else places.get(turn) for turn in self.blocking)
        pcs = tuple(None if end else _position(t) for t, end in zip(self.threads, self.has_ended, strict=True))
        return pcs, owners, blocking, tuple(sorted(self.values.items())), tuple(sorted(self.busy))

    def _check_waits(self) -> None:
        """See that no threads wait for one another in a circle."""
        waits = {k: t.thread for k, t in enumerate(self.blocking) if t is not None and not self.can_step(k)}
        for k, other in waits.items():
            path, at = {k}, other
            while at in waits and at not in path:
                path.add(at)
                at = waits[at]
            if at in path:
                raise ViolationError(f"threads {sorted(path)} wait for one another")


def _position(steps: Steps) -> object:
    """The place in the code of a thread, with the plain values of its variables."""
    position: list[object] = []
    inner: Any = steps
    while (frame := getattr(inner, "gi_frame", None)) is not None:
        plain = {k: v for k, v in frame.f_locals.items() if isinstance(v, (int, str, tuple))}
        position.append((frame.f_lasti, tuple(sorted(plain.items()))))
        inner = inner.gi_yieldfrom
    return tuple(position)


def _asked(guard: Guard, claim: Claim, thread: int) -> Turn:
    turn = Turn(guard)
    turn.claim, turn.thread, turn.delay = claim, thread, None
    return turn


def _has_begun(turn: Turn) -> None:
    """See that a turn which has begun is the first of those that exclude one another."""
    for other in turns._turns:
        if other is turn:
            return
        is_other = other() is not None and other.thread != turn.thread
        if is_other and not other.claim.things.isdisjoint(turn.claim.things):
            raise ViolationError(f"thread {turn.thread} goes ahead of thread {other.thread}")
    raise ViolationError(f"the turn of thread {turn.thread} is not in the list")


def updating(*names: str, count: int = 1, lends: bool = False, inside: Script | None = None) -> Script:
    """Updates of variables, as `tg.functions.lending.updated` makes them; `inside`: what a call does meanwhile."""

    def script(world: World, k: int) -> Steps:
        for name in names:
            world.values.setdefault(name, 0)
            world.expected.setdefault(name, 0)
        for _ in range(count):
            guard = Guard()
            turn = _asked(guard, Claim(frozenset(names)), k)
            yield from turn.steps()
            _has_begun(turn)
            if inside is not None:
                yield from inside(world, k)
            before = tuple(world.values[name] for name in names)
            yield None
            if lends:  # as `delay_forks`
                turn._enter_delay()
                yield None
                if turn._fork_ahead() is None:
                    world.busy.add(k)
                else:
                    turn._drop_delay()
                yield None
            for name, value in zip(names, before, strict=True):
                world.values[name] = value + 1
                world.expected[name] += 1
            yield None
            world.busy.discard(k)
            del guard  # the statement is left
            yield None
            turn.leave()
            yield None

    return script


def compiling(*things: str, inside: Script | None = None) -> Script:
    """Work under a turn that delays forks."""

    def script(world: World, k: int) -> Steps:
        guard = Guard()
        turn = _asked(guard, Claim(frozenset(things), delays_forks=True), k)
        yield from turn.steps()
        _has_begun(turn)
        was_busy = k in world.busy
        world.busy.add(k)
        yield None
        if inside is not None:
            yield from inside(world, k)
        if not was_busy:
            world.busy.discard(k)
        del guard
        yield None
        turn.leave()
        yield None

    return script


def forking(world: World, k: int) -> Steps:
    """A fork, as `_before_fork` and `_end_of_fork` have it."""
    guard = Guard()
    turn = _asked(guard, FORK, k)
    turns._turns[turn] = None
    yield None
    yield from turn.others_ahead()
    for _ in range(2):
        if world.busy - {k}:
            raise ViolationError(f"thread {k} forks while {sorted(world.busy)} are at work")
        yield None
    del guard
    yield None
    turn.leave()
    yield None


def _replayed(scripts: tuple[Script, ...], path: tuple[int, ...]) -> World:
    turns._turns.clear()
    world = World(scripts)
    for move in path:
        _move(world, move)
    return world


def _move(world: World, move: int) -> None:
    """Make a step of thread `move`, or interrupt thread `-1 - move`."""
    if move >= 0:
        world.step(move)
    else:
        world.interrupt(-1 - move)


def check(*scripts: Script, interrupts: int = 0) -> int:
    """Run threads in every order, with up to so many interrupts anywhere; the number of states.

    Raises:
        ViolationError: threads wait in a circle, go ahead of others, lose an update, or copy what is half done.
    """
    seen: set[object] = set()
    with mock.patch.object(turns, "_turns", {}):
        pending: list[tuple[int, ...]] = [()]
        while pending:
            path = pending.pop()
            try:
                world = _replayed(scripts, path)
                while True:
                    count = sum(move < 0 for move in path)
                    state = (world.key(), count)
                    if state in seen:
                        break
                    seen.add(state)
                    steps = [k for k in range(len(scripts)) if world.can_step(k)]
                    if not steps:
                        _check_end(world)
                        break
                    ends = [-1 - k for k in range(len(scripts)) if count < interrupts and not world.has_ended[k]]
                    pending.extend((*path, move) for move in (*steps[1:], *ends))
                    path = (*path, steps[0])
                    _move(world, steps[0])
            except ViolationError as error:
                error.add_note(f"  after the steps {path}")
                raise
    return len(seen)


def _check_end(world: World) -> None:
    """See that all threads have come to their ends, and that all updates were made."""
    if not all(world.has_ended):
        raise ViolationError(f"threads {[k for k, end in enumerate(world.has_ended) if not end]} wait for ever")
    if world.values != world.expected:
        raise ViolationError(f"updates are lost: found {world.values}, needed {world.expected}")
    if any(turn() is not None for turn in turns._turns):
        raise ViolationError("a turn is left")


def sets_of_variables() -> list[tuple[tuple[str, ...], ...]]:
    """What three threads may update of three variables, but for the names of threads and variables."""
    subsets = [s for n in (1, 2, 3) for s in itertools.combinations("abc", n)]
    alike: dict[object, tuple[tuple[str, ...], ...]] = {}
    for chosen in itertools.product(subsets, repeat=3):
        forms = []
        for names in itertools.permutations("abc"):
            renamed = dict(zip("abc", names, strict=True))
            forms.append(tuple(sorted(tuple(sorted(renamed[n] for n in s)) for s in chosen)))
        alike.setdefault(min(forms), chosen)
    return list(alike.values())


def main(count: str = "1") -> None:
    """Check all sets of variables with so many updates a thread, and one interrupt."""
    states = [check(*(updating(*s, count=int(count)) for s in sets), interrupts=1) for sets in sets_of_variables()]
    sys.stdout.write(f"{len(states)} sets of variables, {sum(states)} states: all threads end, no update is lost\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
