"""Calls through compiled entries: several programs in a chain, and what shared variables add."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tg.functions.lending import DECLINED, Loan, updated
from tg.functions.shared import snapshots
from tg.link.signature import Signature
from tg.variables.structure import LEAF, Structure

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tg.functions.compile import Program
    from tg.functions.compiled import Function
    from tg.functions.shared import Shared, Value
    from tg.turns import Turn

CHAINED: Final = 4  # programs whose entries are tried one after the other


def reusable(f: Function) -> tuple[tuple[int, int], ...]:
    """The results and inputs, in pairs, that may share memory: new values with old ones, outputs with donated arrays.

    There are none where each call is watched, which looks at its inputs afterwards.
    """
    if f._is_watched:
        return ()
    count, first = len(f._results) - len(f._targets), len(f._inputs)
    places = {id(s): j for j, s in enumerate(f._sources, first)}
    updates = ((k, places[id(t)]) for k, t in enumerate(f._targets, count) if id(t) in places)
    return (*updates, *((k, j) for j in sorted(f._donated) for k in range(count)))


def chained(programs: Sequence[Program], signature: Signature) -> Callable[..., Any] | None:
    """The entries of programs, each called with what those before it decline; None where there are none.

    One program is for one pattern of lengths that are 1.
    """
    call = signature.general
    for program in reversed(programs[:CHAINED]):
        call = program.executable.entry(signature._replace(general=call)) or call
    return None if call is signature.general else call


def with_shared(f: Function, programs: Sequence[Program]) -> Callable[..., Any] | None:
    """The way of a function that reads or updates shared variables through entries; None where there is none."""
    return _updating(f, programs) if f._targets else _reading(f, programs)


def _decline(*args: Any) -> Any:
    return DECLINED


def _reading(f: Function, programs: Sequence[Program]) -> Callable[..., Any] | None:
    general, sources, natives = f._general, f._sources, _natives_for(programs[0])
    entry = chained(programs, Signature(_decline, f._build, f._donated))
    if entry is None:
        return None

    def call(*args: Any, **kwargs: Any) -> Any:
        if kwargs:
            return general(*args, **kwargs)
        found = entry(*args, *natives(snapshots(sources)))
        return general(*args) if found is DECLINED else found

    return call


def _updating(f: Function, programs: Sequence[Program]) -> Callable[..., Any] | None:
    program, count = programs[0], len(f._results) - len(f._targets)
    structure, natives = Structure((list, None, (LEAF,) * len(f._results))), _natives_for(program)
    is_safe = all(_always_fit(f, p) for p in programs)
    donated = f._donated if is_safe else frozenset[int]()
    entry = chained(programs, Signature(_decline, structure, donated))
    if entry is None:
        return None
    own = _overwritten(f, program) if is_safe else {}
    quick = chained(programs, Signature(_decline, structure, donated.union(own))) if own else None
    lent = tuple(own.values())

    def fresh(found: Sequence[Any]) -> list[Value]:
        return f._fresh(found, program)

    def lend(turn: Turn) -> Loan:
        return Loan(turn, f._targets, program, fresh)

    def call(*args: Any, **kwargs: Any) -> Any:
        def run(held: list[Value], loan: Loan | None) -> tuple[list[Any], list[Value]]:
            found: Any = DECLINED
            if loan is not None and quick is not None and not kwargs:
                found = loan.call(quick, [*args, *natives(held)])
            elif not kwargs:
                found = entry(*args, *natives(held))
            if found is DECLINED:
                return f._run(f._arguments(args, kwargs, f._main.executable.is_spread), held)
            return found[:count], fresh(found)

        return f._build(iter(updated(f, run, lend if lent else None, lent)))

    return call


def _natives_for(program: Program) -> Callable[[Sequence[Value]], list[Any]]:
    """A function that gives values as the arrays of the backend."""
    executable, backend = program.executable, program.backend

    def natives(held: Sequence[Value]) -> list[Any]:
        try:
            return [v._natives[backend] for v in held]
        except KeyError:
            return [v.native(backend, executable) for v in held]

    return natives


def _overwritten(f: Function, program: Program) -> dict[int, Shared]:
    """The shared variables whose values updates may write into, by their places among the inputs of the program."""
    first = len(f._inputs)
    return {j: f._sources[j - first] for _, j in program.executable.reuses if j >= first}


def _always_fit(f: Function, program: Program) -> bool:
    """Whether no update can have lengths that its variable does not take: what is overwritten cannot be undone."""
    first, kept = len(f._results) - len(f._targets), dict(program.executable.reuses)
    for k, target in enumerate(f._targets, first):
        if k in kept or all(n is None for n in target.type.shape):
            continue
        shape = program.graph.types[program.graph.outputs[k]].shape
        if any(n is not None and n != m for n, m in zip(target.type.shape, shape, strict=True)):
            return False
    return True
