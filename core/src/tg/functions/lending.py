"""Overwriting of a shared variable's value: it is lent to a call, where nothing but the variable refers to it.

A call that updates variables has a turn that claims them, from before it reads until it has stored the new values. It
reads, and where it would overwrite values gives all its variables the *loan* in place of what they had; then it counts
who refers to those that machine code would write into. Whoever has taken a snapshot, its array, or a view of that holds
a reference: then the variables get back what they had, and the new values arrays of their own.

Whoever reads a variable that has a loan asks that (`Loan.value_of`), whether or not the call is still there to say
anything, for an interrupt may have ended it after any instruction:

    the machine code has ended             the new values, of all variables: `given` has been filled by the call of C
                                           in which that code ran, so nothing comes between
    it has not, and the turn is over       the old ones: machine code writes when nothing can fail any more
    else                                   nothing yet; the turn is waited for. The thread that lends finds the old ones

So no call has to be brought to its end, and nothing is undone: storing new values, or the old ones, in place of a loan
only saves those who read from asking. A call that lends has read before and waits for nobody until its turn is over, so
no calls wait for one another in a circle.

A reader that had to wait makes the next updates of that variable, `PATIENCE` of them, write elsewhere: so readers of a
variable that is updated all the time hardly ever wait, and updates that nobody watches are in place. Small values are
not lent at all. A fork waits for loans, for a child has no thread that would end them.
"""

from __future__ import annotations

import operator
import sys
from _thread import get_ident
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, Final, final

import numpy as np

from tg.functions.shared import Shared, Value, snapshots, store
from tg.turns import alone

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tg.functions.compile import Program
    from tg.functions.request import Request
    from tg.turns import Turn

    Run = Callable[[list[Value], "Loan | None"], tuple[list[Any], list[Value]]]

DECLINED: Final[Any] = object()  # what an entry gives that has done nothing
COUNTS_ARE_EXACT: Final = getattr(sys, "_is_gil_enabled", lambda: True)()

WORTH: Final = 1 << 17  # bytes: for fewer, new memory costs less than finding out who refers to the old


@final
class Loan:
    """The values of the variables of one call, some of which it may write into: they have it in place of a value.

    `given` is empty until the machine code has ended: then it has what the call gave, DECLINED if that has written
    nothing.
    """

    __slots__ = ("_fresh", "_made", "_old", "_places", "_targets", "given", "program", "turn")

    def __init__(
        self, turn: Turn, targets: Sequence[Shared], program: Program, fresh: Callable[[Sequence[Any]], list[Value]]
    ) -> None:
        """One of a turn that claims the targets; `fresh` makes the new values of what the machine code gives."""
        self.turn, self._targets, self.program = turn, targets, program
        self._places = {t.serial: k for k, t in enumerate(targets)}
        self._fresh: Callable[[Sequence[Any]], list[Value]] = fresh
        self._old: list[Value] = []
        self._made: dict[str, list[Value]] = {}
        self.given: list[Any] = []

    def begin(self, lent: Sequence[Shared]) -> bool:
        """Have the variables' values if it is worth it and nobody refers to those that are lent; else False.

        The caller holds one reference to each of these.
        """
        size = 0
        for s in lent:
            size += s.snapshot.nbytes
        if size < WORTH:
            return False
        self._old = snapshots(self._targets)
        if any(t.has is not value for t, value in zip(self._targets, self._old, strict=True)):
            return False  # lent to this very thread, which runs a finalizer
        if any(s.patience for s in lent):
            for s in lent:
                s.patience = max(s.patience - 1, 0)
            return False
        if not self.turn.delay_forks():
            return False
        store(self._targets, [self] * len(self._targets))
        for s in lent:
            if not _is_alone(self._old, self._places[s.serial], self.program):
                self.end()
                return False
        return True

    def call(self, entry: Callable[..., Any], arguments: Sequence[Any]) -> Any:
        """Call machine code that may write; an interrupt comes before it begins or when `given` has what it gave."""
        self.given.extend(map(entry, *((argument,) for argument in arguments)))
        return self.given[0]

    def write(self, writes: Sequence[Callable[[], Any]], fresh: list[Value]) -> None:
        """Call functions of C that write; an interrupt comes before the first or when `given` has the new values."""
        self.given.extend(islice(chain(map(operator.call, writes), (fresh,)), len(writes), None))

    def value_of(self, variable: Shared) -> Value | None:
        """The value of one of the variables; None while only the call knows it."""
        is_quiet = self.turn.is_over or self.turn.thread == get_ident()  # before it is looked at what was given
        return self._values()[self._places[variable.serial]] if self.given or is_quiet else None

    def _values(self) -> list[Value]:
        """The new values if the machine code has ended, made once; the old ones if it has not, or has declined."""
        if not self.given or self.given[0] is DECLINED:
            return self._old
        return self._made.get("") or self._made.setdefault("", self._fresh(self.given[0]))

    def end(self) -> None:
        """Store the values in place of the loan; the caller has the turn."""
        store(self._targets, self._values())


def updated(
    request: Request, run: Run, lend: Callable[[Turn], Loan] | None = None, lent: Sequence[Shared] = ()
) -> list[Any]:
    """The outputs that `run` gives for the shared values as they are; new values are stored unless it raises.

    Args:
        run: gives the outputs and the new values; its second argument is the loan, None if nothing could be lent.
        lend: makes a loan, to write into the values of the variables `lent`; None: nothing is to be lent.
    """
    targets = request.targets
    if not targets:
        return run(snapshots(request.sources), None)[0]
    for turn in alone():
        turn.take(request.claim)
        held = snapshots(request.sources)
        loan = lend(turn) if lend is not None else None
        if loan is not None and not loan.begin(lent):
            loan = None
        try:
            outputs, fresh = run(held, loan)
            store(targets, fresh)
        except BaseException:
            if loan is not None:
                loan.end()
            raise
    turn.leave()
    return outputs


def _is_alone(old: Sequence[Any], place: int, program: Program) -> bool:
    """Whether only the loan and its caller refer to a value, which has an array of its own; made writable then."""
    key, natives = program.form.key, old[place].natives
    if key not in natives:
        old[place].native(program.form)
    if not COUNTS_ARE_EXACT or _references(old, place, key) > ALONE + 1:
        return False
    return program.executable.may_overwrite(natives[key])


def _references(old: Sequence[Any], place: int, key: str) -> int:
    """The number of references to a value and to its array, other than from the value itself."""
    value = old[place]
    array = value.natives[key]
    own = int(value.array is array)
    for name in value.natives:
        own += value.natives[name] is array
    return sys.getrefcount(value) + sys.getrefcount(array) - own


ALONE: Final = min(5, _references([Value(None, "", np.zeros(()))], 0, ""))
"""The same where a list alone refers to the value: less than 5 in an interpreter that borrows without counting."""
