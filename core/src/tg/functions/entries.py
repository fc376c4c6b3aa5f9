"""Calls through compiled entries: several programs in a chain, and what shared variables add."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tg.functions.lending import DECLINED, Loan, updated
from tg.functions.shared import natives, snapshots
from tg.link.signature import Signature
from tg.variables.structure import LEAF, Structure

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tg.functions.calls import Calls
    from tg.functions.compile import Program
    from tg.functions.request import Request
    from tg.functions.shared import Shared, Value
    from tg.turns import Turn

CHAINED: Final = 4  # programs whose entries are tried one after the other


def chained(programs: Sequence[Program], signature: Signature) -> Callable[..., Any] | None:
    """The entries of programs, each called with what those before it decline; None where there are none.

    One program is for one pattern of lengths that are 1.
    """
    call = signature.general
    for program in reversed(programs[:CHAINED]):
        call = program.executable.entry(signature._replace(general=call)) or call
    return None if call is signature.general else call


def with_shared(calls: Calls, programs: Sequence[Program]) -> Callable[..., Any] | None:
    """The way of a function that reads or updates shared variables through entries; None where there is none."""
    return _updating(calls, programs) if calls.request.targets else _reading(calls, programs)


def _decline(*args: Any) -> Any:
    return DECLINED


def _reading(calls: Calls, programs: Sequence[Program]) -> Callable[..., Any] | None:
    request, general = calls.request, calls.general
    sources, at_hand = request.live, _natives_for(programs[0], len(request.inputs))
    entry = chained(programs, Signature(_decline, request.structure, request.donated))
    if entry is None:
        return None

    def call(*args: Any, **kwargs: Any) -> Any:
        if kwargs:
            return general(*args, **kwargs)
        outputs = entry(*args, *at_hand(snapshots(sources)))
        return general(*args) if outputs is DECLINED else outputs

    return call


def _updating(calls: Calls, programs: Sequence[Program]) -> Callable[..., Any] | None:
    request, program = calls.request, programs[0]
    count, build, binding, live = request.count, request.structure, request.binding, len(request.live)
    structure = Structure((list, None, (LEAF,) * len(request.results)))
    at_hand = _natives_for(program, len(request.inputs))
    is_safe = all(_always_fit(request, p) for p in programs)
    donated = request.donated if is_safe else frozenset[int]()
    entry = chained(programs, Signature(_decline, structure, donated))
    if entry is None:
        return None
    own = _overwritten(request, program) if is_safe else {}
    quick = chained(programs, Signature(_decline, structure, donated.union(own))) if own else None
    lent = tuple(own.values())

    def fresh(outputs: Sequence[Any]) -> list[Value]:
        return calls.fresh(outputs, program)

    def lend(turn: Turn) -> Loan:
        return Loan(turn, request.targets, program, fresh)

    def call(*args: Any, **kwargs: Any) -> Any:
        def run(held: list[Value], loan: Loan | None) -> tuple[list[Any], list[Value]]:
            outputs: Any = DECLINED
            if loan is not None and quick is not None and not kwargs:
                outputs = loan.call(quick, [*args, *at_hand(held[:live])])
            elif not kwargs:
                outputs = entry(*args, *at_hand(held[:live]))
            if outputs is DECLINED:
                return calls.run(binding(args, kwargs, calls.programs.main.executable.is_spread), held)
            return outputs[:count], fresh(outputs)

        return build(iter(updated(request, run, lend if lent else None, lent)))

    return call


def _natives_for(program: Program, first: int) -> Callable[[Sequence[Value]], list[Any]]:
    """A function that gives values as the arrays of the backend, for the inputs from `first` on."""
    form = program.form
    key = form.key

    def at_hand(held: Sequence[Value]) -> list[Any]:
        try:
            return [v.natives[key] for v in held]
        except KeyError:
            return natives(held, form, first)

    return at_hand


def _overwritten(request: Request, program: Program) -> dict[int, Shared]:
    """The shared variables whose values updates may write into, by their places among the inputs of the program."""
    first = len(request.inputs)
    return {j: request.sources[j - first] for _, j in program.executable.reuses if j >= first}


def _always_fit(request: Request, program: Program) -> bool:
    """Whether no update can have lengths that its variable does not take: what is overwritten cannot be undone."""
    reuses = dict(program.executable.reuses)
    for k, target in enumerate(request.targets, request.count):
        if k in reuses or all(n is None for n in target.type.shape):
            continue
        shape = program.graph.types[program.graph.outputs[k]].shape
        if any(n is not None and n != m for n, m in zip(target.type.shape, shape, strict=True)):
            return False
    return True
