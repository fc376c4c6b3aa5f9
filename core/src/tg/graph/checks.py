"""Checks: conditions that must hold at run time, kept beside the values so that every backend fails alike."""

from __future__ import annotations

import functools
import itertools
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tg import errors
from tg.graph.nodes import Constant, Variable
from tg.graph.op import Frozen, Op
from tg.graph.operators import NAMESPACE

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tg.graph.loc import Loc
    from tg.graph.nodes import Apply

STATUS_VALUES: Final = 4  # how many int64 values a check's message can show
STEPS_TOLD: Final = 3  # of how many loops, one in another, a message can say the step
REPORTED: Final = 1 + STATUS_VALUES + STEPS_TOLD  # int64 values of a check of a status: see `Descriptor`
STATUS_LENGTH: Final = 1 + REPORTED
STEP: Final = STATUS_LENGTH - 1  # the place in a loop's status of the step in which a check has failed
SHAPES, SCALARS, ARRAYS = range(3)  # what a condition looks at


class Descriptor(Frozen):
    """The error of a check that fails: a class of exceptions by its name, a text with `{0}`…`{3}`, a hint.

    The descriptor of a call of an inner graph has the inner graph's descriptors instead: value 0 is the number of the
    one that failed, counted from 1. Where that is a call's again, the number inside it, times one more than there are
    descriptors, is added: so the values of the check that failed keep their room however deep it is. Behind these
    stand the steps of the loops around it in which it failed, the outermost first.
    What is `stated` no op of the program says: the one that did has been removed, and the check is all that is left.
    Of a loop `told` says which of the user's steps one of its steps is, as `Op.told_steps`; None where it is no loop.
    The user's line (`loc`) takes no part in equality.
    """

    error: str
    text: str
    hint: str | None = None
    inner: tuple[Any, ...] = ()
    stated: bool = False
    told: tuple[int, ...] | None = None
    __slots__ = ("loc",)

    def at(self, loc: Loc | None) -> Descriptor:
        """The same descriptor with the user's line, unless it has one."""
        if loc is None or getattr(self, "loc", None) is not None:
            return self
        copy = Descriptor(self.error, self.text, self.hint, self.inner, self.stated, self.told)
        object.__setattr__(copy, "loc", loc)
        return copy

    def as_stated(self) -> Descriptor:
        """The same descriptor, stated."""
        return Descriptor(self.error, self.text, self.hint, self.inner, True, self.told).at(getattr(self, "loc", None))

    def __reduce__(self) -> tuple[object, ...]:
        parts = (self.error, self.text, self.hint, self.inner, self.stated, self.told)
        return _described, (*parts, getattr(self, "loc", None))

    def build(self, values: Sequence[int]) -> Exception:
        """The exception for the values that the failing check reported."""
        if not self.inner:
            return self._error(values, "")
        number, shown, steps = values[0], values[1 : 1 + STATUS_VALUES], iter(values[1 + STATUS_VALUES :])
        descriptor: Descriptor = self
        loops: list[tuple[tuple[int, ...], int]] = []
        while descriptor.inner:
            if descriptor.told is not None:
                loops += [(descriptor.told, step) for step in itertools.islice(steps, 1)]
            number, place = divmod(number, len(descriptor.inner) + 1)
            descriptor = descriptor.inner[place - 1]
        return descriptor._error(shown, _steps_text(loops))

    def _error(self, values: Sequence[int], steps: str) -> Exception:
        loc = getattr(self, "loc", None)
        lines = [("step", steps)] if steps else []
        place = f"{loc}:  {loc.source}" if loc is not None else None
        text = errors.message(self.text.format(*values), *lines, hint=self.hint, at=place)
        return errors.error_class(self.error)(text)


def _steps_text(loops: Iterable[tuple[tuple[int, ...], int]]) -> str:
    """The user's steps in which a check has failed; "" where no loop of theirs is around it.

    Args:
        loops: those around it, the outermost first: what each tells of its steps, and the step.
    """
    numbers, before = [], 0
    for told, step in loops:
        if told:
            stride, start = told
            before += start + stride * step
            if stride == 1:
                numbers.append(before)
                before = 0
    return " of the loop in step ".join(str(step) for step in reversed(numbers))


def _described(
    error: str,
    text: str,
    hint: str | None,
    inner: tuple[Any, ...],
    stated: bool,
    told: tuple[int, ...] | None,
    loc: Loc | None,
) -> Descriptor:
    return Descriptor(error, text, hint, inner, stated, told).at(loc)


class Check(NamedTuple):
    """A condition (bool scalar) that must hold, the values its message shows (integer scalars), and what to raise."""

    condition: Variable
    values: tuple[Variable, ...]
    descriptor: Descriptor


def shapes_first(checks: Iterable[Check]) -> list[Check]:
    """Checks that the shapes of a call's arguments alone decide, then the others; each in the order they were in.

    What such a check says is relied upon wherever rewriting finds it useful, also below the conditions of checks that
    the user's program made before it. And it costs nothing to ask. Where an earlier check compares its length with one
    that scalars decide it may stand for that one: so the other is asked before it, with what scalars decide before
    that, or an op would be named that is not at fault.
    """
    checks = list(checks)
    memo: dict[int, int] = {}
    sources = [source_of(check.condition, memo) for check in checks]
    compared: dict[int, int] = {}  # lengths of inputs: the last check that compares them with what scalars decide
    last = -1
    for k, (check, source) in enumerate(zip(checks, sources, strict=True)):
        if source == SCALARS and check.descriptor.error == "ShapeError":
            compared.update(dict.fromkeys(_lengths_of_inputs(check.condition), k))
        elif source == SHAPES and compared:
            last = max([last, *(compared.get(n, -1) for n in _lengths_of_inputs(check.condition))])
    is_late = [source > (SCALARS if k <= last else SHAPES) for k, source in enumerate(sources)]
    return [checks[k] for k in sorted(range(len(checks)), key=is_late.__getitem__)]


def protecting_first(checks: Sequence[Check], protected: Mapping[int, Apply | None]) -> list[Check]:
    """The checks, those that protect an apply before the first that reads it; others stay where they are.

    Args:
        protected: what is protected, by the ids of conditions.
    """
    first: dict[int, int] = {}  # of applies: the check that needs them first
    for k, check in enumerate(checks):
        stack = [v.apply for v in (check.condition, *check.values)]
        while stack:
            node = stack.pop()
            if node is not None and id(node) not in first:
                first[id(node)] = k
                stack.extend(v.apply for v in node.inputs)
    places = []
    for k, check in enumerate(checks):
        before = first.get(id(protected.get(id(check.condition))), k)
        places.append((before, 0, k) if before < k else (k, 1, k))
    return [checks[k] for *_, k in sorted(places)]


def checks_of(node: Apply) -> tuple[Check, ...]:
    """The checks of an apply that can fail: those its op declares, and that the status of an inner graph is 0."""
    inner = node.op.inner_descriptors
    outputs = [Variable(t, node, k) for k, t in enumerate(node.types)]
    checks = node.op.checks(node.inputs, outputs)
    if not inner:
        return checks
    number, *values = (NAMESPACE.getitem(outputs[-1], k) for k in range(2 + STATUS_VALUES))
    condition = NAMESPACE.equal(number, 0)
    calls = [NAMESPACE.equal(number, k + 1) for k, d in enumerate(inner) if d.inner]
    if calls:  # what their first value numbers is told with their own number: see `Descriptor`
        is_call = functools.reduce(NAMESPACE.logical_or, calls)
        number = NAMESPACE.where(is_call, number + (len(inner) + 1) * values[0], number)
        values = [NAMESPACE.where(is_call, b, a) for a, b in itertools.pairwise(values)]
    told = node.op.told_steps
    places = [*range(STEP + 1 - STEPS_TOLD, STEP + 1)]  # of the steps that the inner check has reported
    if told is not None:
        places = [STEP, *places[:-1]]
    steps = [NAMESPACE.getitem(outputs[-1], k) for k in places]
    shown = (number, *values[:STATUS_VALUES], *steps)
    return (*checks, Check(condition, shown, Descriptor("TgError", "", None, inner, told=told)))


def source_of(scalar: Variable, memo: dict[int, int] | None = None) -> int:
    """The source of a scalar: `SHAPES`, lengths of inputs and constants; `SCALARS` besides; or `ARRAYS` too.

    Args:
        memo: what was found before, by the ids of scalars.
    """
    memo = {} if memo is None else memo
    stack = [scalar]
    while stack:
        v = stack.pop()
        if v.apply is None:
            memo[id(v)] = SHAPES if isinstance(v, Constant) else SCALARS
        elif any(u.type.ndim for u in v.apply.inputs):
            memo[id(v)] = SHAPES if _is_length_of_input(v.apply) else ARRAYS
        elif waiting := [u for u in v.apply.inputs if id(u) not in memo]:
            stack += (v, *waiting)
        else:
            memo[id(v)] = max([memo[id(u)] for u in v.apply.inputs], default=SHAPES)
    return memo[id(scalar)]


def _lengths_of_inputs(scalar: Variable) -> set[int]:
    """The ids of the lengths of inputs that a scalar is computed of, which looks at no array's values."""
    ids: set[int] = set()
    visited: set[int] = set()
    stack = [scalar]
    while stack:
        v = stack.pop()
        if v.apply is None or id(v) in visited:
            continue
        visited.add(id(v))
        if any(u.type.ndim for u in v.apply.inputs):
            ids.add(id(v))
        else:
            stack.extend(v.apply.inputs)
    return ids


def _is_length_of_input(node: Apply) -> bool:
    """Whether an apply to an array is the length of an input's axis; no other gives a length of an array's value."""
    return type(node.op).length_value is not Op.length_value and node.inputs[0].apply is None
