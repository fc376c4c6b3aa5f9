"""How the value of a shared variable is overwritten: lent to a call, where nothing but the variable refers to it.

A call that updates variables holds the `lock` of each, from before it reads until it has committed. Under COMMIT it
waits until no value that it reads is lent, and then, still under COMMIT, takes those that it would overwrite out of
their variables and counts who refers to them. Whoever has taken a snapshot, its array, or a view of that holds a
reference: then all are put back, and the new values get arrays of their own.

While a value is lent its variable has None. Readers that meet that wait at SETTLED until the call has committed or, if
it fails, has put the old value back, which it has not touched: machine code writes when nothing can fail any more. An
interrupt that comes when it has written is raised when the new values are stored, all of them. Since values are taken
out only by calls that wait for nobody from then on, no calls wait for one another in a circle.

A reader that had to wait makes the next updates of that variable, `PATIENCE` of them, write elsewhere: so readers of a
variable that is updated all the time hardly ever wait, and updates that nobody watches are in place. Small values are
not lent at all.
"""

from __future__ import annotations

import os
import sys
import threading
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final, final

import numpy as np

from tg.functions.shared import COMMIT, SETTLED, WAITING, Value, settled, wait

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tg.functions.compile import Program
    from tg.functions.make import Function
    from tg.functions.shared import Shared

    Run = Callable[[list[Value], "Loan | None"], tuple[list[Any], list[Value]]]

DECLINED: Final[Any] = object()  # what an entry gives that has done nothing
COUNTS_ARE_EXACT: Final = getattr(sys, "_is_gil_enabled", lambda: True)()

WORTH: Final = 1 << 17  # bytes: for fewer, new memory costs less than finding out who refers to the old
OWNED: Final = 0x4  # of ndarray.flags.num
WRITABLE: Final = 0x400
_borrowers: list[int] = []  # the threads that have values now


@final
class Loan:
    """The values of variables while one call may write into them.

    `given` is empty until the machine code has ended: then it has what the call gave, DECLINED if it has written
    nothing, and the new values are to be stored whatever happens.
    """

    __slots__ = ("_program", "_variables", "fresh", "given", "is_open")

    def __init__(
        self, variables: Sequence[Shared], program: Program, fresh: Callable[[Sequence[Any]], list[Value]]
    ) -> None:
        """Prepare one; `fresh` makes the new values of what the call gives."""
        self._variables, self._program, self.fresh = variables, program, fresh
        self.given: list[Any] = []
        self.is_open = False

    def call(self, entry: Callable[..., Any], arguments: Sequence[Any]) -> Any:
        """Call machine code that may write; an interrupt comes before it begins or when `given` has what it gave."""
        self.given.extend(map(entry, *((argument,) for argument in arguments)))
        return self.given[0]

    def begin(self) -> bool:
        """Take the values out if it is worth it and nothing else refers to them; else nothing is changed: False.

        The caller holds the variables' locks and COMMIT, and nothing that it is going to read is lent.
        """
        size = 0
        for s in self._variables:
            if s._value is None:  # lent to this very thread, which runs a finalizer
                return False
            size += s._value.nbytes
        if size < WORTH or WAITING:  # nothing is lent again before those who wait have seen that nothing is
            return False
        for s in self._variables:
            if s.patience:
                self._grow_impatient()
                return False
        self.is_open = True
        _borrowers.append(threading.get_ident())
        for s in self._variables:
            s.lend()
        for s in self._variables:
            if not _is_alone(s, self._program):
                self.end()
                return False
        return True

    def _grow_impatient(self) -> None:
        for s in self._variables:
            s.patience = max(s.patience - 1, 0)

    def end(self) -> None:
        """Values that have not been replaced return; the caller holds COMMIT."""
        if self.is_open:
            self.is_open = False
            for s in self._variables:
                if s.lent is not None:
                    s.take_back()
            _borrowers.remove(threading.get_ident())
            if WAITING:
                SETTLED.notify_all()


def between_locks(f: Function, run: Run, loan: Loan | None = None) -> list[Any]:
    """The outputs that `run` gives for the shared values as they are; new values are stored unless it raises.

    Args:
        run: gives the outputs and the new values; its second argument is the loan, None if nothing could be lent.
    """
    sources, targets, locks = f._sources, f._targets, f._locks
    for lock in locks:
        lock.acquire()
    try:
        with COMMIT:
            held = settled(sources)
            if loan is not None:
                del held  # whoever refers to a value is counted
                loan = loan if loan.begin() else None
                held = settled(sources)
        outputs, fresh = run(held, loan)
        _commit(targets, fresh, loan)
    except BaseException:
        if loan is not None and loan.is_open and loan.given and loan.given[0] is not DECLINED:  # an interrupt
            _commit(targets, loan.fresh(loan.given[0]), loan)
        raise
    finally:
        if loan is not None and loan.is_open:
            with COMMIT:
                loan.end()
        for lock in reversed(locks):
            lock.release()
    return outputs


def _commit(targets: Sequence[Shared], values: Sequence[Value], loan: Loan | None) -> None:
    if values:
        with COMMIT:
            for target, value in zip(targets, values, strict=True):
                target.commit(value)
            if loan is not None:
                loan.end()


def _is_alone(variable: Any, program: Program) -> bool:
    """Whether only the variable refers to its value, which has an array of its own; that is then made writable."""
    backend, natives = program.backend, variable.lent._natives
    if backend not in natives:
        variable.lent.native(backend, program.executable)
    if type(natives[backend]) is not np.ndarray or not COUNTS_ARE_EXACT:
        return False
    flags = natives[backend].flags.num
    if not flags & OWNED or _references(variable, backend) > ALONE:
        return False
    if not flags & WRITABLE:  # somebody has looked at it
        natives[backend].flags.writeable = True
    return True


def _references(variable: Any, backend: str) -> int:
    """How many references there are to the value of a variable and to its array, other than from the value itself."""
    value = variable.lent
    array = value._natives[backend]
    own = int(value._numpy is array)
    for name in value._natives:
        own += value._natives[name] is array
    return sys.getrefcount(value) + sys.getrefcount(array) - own


ALONE: Final = min(5, _references(SimpleNamespace(lent=Value(None, "", np.zeros(()))), ""))
"""The same where nothing else refers to either: less than 5 in an interpreter that does not count its own borrowing."""


def _before_fork() -> None:
    """A child has no thread that would put values back: none is lent when the process forks."""
    COMMIT.acquire()
    while any(thread != threading.get_ident() for thread in _borrowers):
        wait()


os.register_at_fork(before=_before_fork, after_in_parent=COMMIT.release, after_in_child=COMMIT.release)
