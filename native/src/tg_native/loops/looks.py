"""Loops of lanes that are left where they are interrupted: what they look at, and between which steps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

from tg_native.graphs.failure import Failure
from tg_native.kernels.index import Index, index

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tg_native.graphs.site import Site
    from tg_native.kernels.index import Condition
    from tg_native.kernels.lanes import Lanes
    from tg_native.kernels.routine import Routine
    from tg_native.loops.kernel import Kernel

EVERY: Final = 4096  # steps of a block of lanes between looks at the clock


@final
class Counter:
    """A number of the running function, 0 at first."""

    def __init__(self, body: Routine) -> None:
        self._body = body
        with body.of(0):
            self._place = body.variable("int64")
        self.set(index(body, 0))

    def get(self) -> Index:
        """The number."""
        with self._body.of(0):
            return Index(self._place.get())

    def set(self, number: Index) -> None:
        """Change it."""
        with self._body.of(0):
            self._place.set(number.value)


@final
class Looks:
    """Looks at the clock in a function of memory; behind one that finds an interrupt nothing is done any more.

    A function of memory has no code to fail with: there is a word in memory of the call, which the function of the
    graph reads when the loop is over. Behind it each thread has the second in which it last asked.
    """

    def __init__(self, site: Site, kernel: Kernel) -> None:
        """Prepare the memory; after it is known whether threads share the loop."""
        self.site, self.body = site, kernel.body
        self._memory = site.temporary("int64", (1 + site.threads,))
        for k in range(1 + site.threads):
            site.function.put(self._memory.pointer, k, "0")
        self._left = kernel.write(self._memory)
        slot = kernel.share.slot if kernel.share is not None else 0
        self._asked = self._left.moved(index(self.body, slot) + 1)
        self._made = Counter(self.body)  # steps since the last look between blocks
        self._stopped = Counter(self.body)

    def goes_on(self) -> Condition:
        """Whether no look has found an interrupt."""
        return self._stopped.get() == 0

    def look(self) -> None:
        """Look for an interrupt, which another thread may have found."""
        self._stopped.set(self.body.interrupted(self._left, self._asked).number())

    def between_blocks(self, steps: Index) -> None:
        """Look, if that is so long ago, after a block of lanes has made so many steps."""
        many = self._made.get() + steps
        self._made.set(many)
        with self.body.when(many >= EVERY):
            self._made.set(index(self.body, 0))
            self.look()

    def fold(
        self, length: Index, first: Sequence[Lanes], write: Callable[..., Sequence[Lanes]], *, is_short: bool
    ) -> Sequence[Lanes]:
        """As `Routine.fold` over all steps, in parts between which is looked."""
        body = self.body
        if is_short:
            return body.fold(0, length, 1, first, write)
        counter = Counter(body)

        def part(*lanes: Lanes) -> Sequence[Lanes]:
            start = counter.get()
            end = (start + EVERY).least(length)
            carries = body.fold(start, end, 1, lanes, write)
            counter.set(end)
            self._look_unless(end == length)
            return carries

        return body.while_loop(first, lambda *_: (counter.get() < length) & self.goes_on(), part)

    def while_loop(
        self,
        counter: Counter,
        most: int | None,
        first: Sequence[Lanes],
        holds: Callable[..., Condition],
        write: Callable[..., Sequence[Lanes]],
    ) -> Sequence[Lanes]:
        """As `Routine.while_loop`, of at most so many steps, in parts between which is looked.

        Args:
            counter: how many steps have been made; `write` counts them.
        """
        body, limit = self.body, Counter(self.body)

        def goes_on(*_: Lanes) -> Condition:
            condition = (counter.get() == limit.get()) & self.goes_on()  # else a part has ended because nobody goes on
            return condition if most is None else condition & (limit.get() < most)

        def part(*lanes: Lanes) -> Sequence[Lanes]:
            end = limit.get() + EVERY
            limit.set(end if most is None else end.least(most))
            carries = body.while_loop(lanes, lambda *x: holds(*x) & (counter.get() < limit.get()), write)
            self._look_unless(counter.get() < limit.get())
            return carries

        return body.while_loop(first, goes_on, part)

    def _look_unless(self, condition: Condition) -> None:
        with self.body.when(~condition):
            self.look()

    def leave(self) -> None:
        """Leave the function of the graph where the loop has been left."""
        function = self.site.function
        function.leave_unless(
            function.expression("==", function.got(self._memory.pointer, 0), "0"), str(int(Failure.INTERRUPTED))
        )
