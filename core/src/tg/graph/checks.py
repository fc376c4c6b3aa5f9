"""Checks: conditions that must hold at run time, kept beside the values so that every backend fails alike."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tg import errors
from tg.graph.nodes import Constant
from tg.graph.op import Frozen, Op

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tg.graph.loc import Loc
    from tg.graph.nodes import Apply, Variable

STATUS_VALUES: Final = 4  # how many int64 values a failing check can report
STATUS_LENGTH: Final = 1 + STATUS_VALUES
SHAPES, SCALARS, ARRAYS = range(3)  # what a condition looks at


class Descriptor(Frozen):
    """The error of a check that fails: an error class of `tg.errors` by name, a text with `{0}`…`{3}`, a hint.

    The descriptor of a call of an inner graph has the inner graph's descriptors instead: value 0 is the number of the
    one that failed, counted from 1. Where that is a call's again, the number inside it, times one more than there are
    descriptors, is added: so the values of the check that failed keep their room however deep it is.
    What is `stated` no op of the program says: the one that did has been removed, and the check is all that is left.
    The user's line (`loc`) takes no part in equality.
    """

    error: str
    text: str
    hint: str | None = None
    inner: tuple[Any, ...] = ()
    stated: bool = False
    __slots__ = ("loc",)

    def at(self, loc: Loc | None) -> Descriptor:
        """The same descriptor with the user's line, unless it has one."""
        if loc is None or getattr(self, "loc", None) is not None:
            return self
        copy = Descriptor(self.error, self.text, self.hint, self.inner, self.stated)
        object.__setattr__(copy, "loc", loc)
        return copy

    def as_stated(self) -> Descriptor:
        """The same descriptor, stated."""
        return Descriptor(self.error, self.text, self.hint, self.inner, True).at(getattr(self, "loc", None))

    def __reduce__(self) -> tuple[object, ...]:
        return _described, (self.error, self.text, self.hint, self.inner, self.stated, getattr(self, "loc", None))

    def build(self, values: Sequence[int]) -> errors.TgError:
        """The exception for the values that the failing check reported."""
        if self.inner:
            deeper, number = divmod(values[0], len(self.inner) + 1)
            found = self.inner[number - 1]
            return found.build([deeper, *values[1:]] if found.inner else values[1:])  # type: ignore[no-any-return]
        loc = getattr(self, "loc", None)
        lines = (("at", f"{loc}:  {loc.source}"),) if loc is not None else ()
        kind = getattr(errors, self.error)
        return kind(errors.message(self.text.format(*values), *lines, hint=self.hint))  # type: ignore[no-any-return]


def _described(
    error: str, text: str, hint: str | None, inner: tuple[Any, ...], stated: bool, loc: Loc | None
) -> Descriptor:
    return Descriptor(error, text, hint, inner, stated).at(loc)


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
    known: dict[int, int] = {}
    sources = [source_of(check.condition, known) for check in checks]
    compared: dict[int, int] = {}  # lengths of inputs: the last check that compares them with what scalars decide
    asked = -1
    for k, (check, source) in enumerate(zip(checks, sources, strict=True)):
        if source == SCALARS and check.descriptor.error == "ShapeError":
            compared.update(dict.fromkeys(_lengths_of_inputs(check.condition), k))
        elif source == SHAPES and compared:
            asked = max([asked, *(compared.get(n, -1) for n in _lengths_of_inputs(check.condition))])
    is_late = [source > (SCALARS if k <= asked else SHAPES) for k, source in enumerate(sources)]
    return [checks[k] for k in sorted(range(len(checks)), key=is_late.__getitem__)]


def source_of(scalar: Variable, known: dict[int, int] | None = None) -> int:
    """What a scalar is computed of: `SHAPES`, lengths of inputs and constants; `SCALARS` besides; or `ARRAYS` too.

    Args:
        known: what was found before, by the ids of scalars.
    """
    known = {} if known is None else known
    stack = [scalar]
    while stack:
        v = stack.pop()
        if v.apply is None:
            known[id(v)] = SHAPES if isinstance(v, Constant) else SCALARS
        elif any(u.type.ndim for u in v.apply.inputs):
            known[id(v)] = SHAPES if _is_length_of_input(v.apply) else ARRAYS
        elif waiting := [u for u in v.apply.inputs if id(u) not in known]:
            stack += (v, *waiting)
        else:
            known[id(v)] = max([known[id(u)] for u in v.apply.inputs], default=SHAPES)
    return known[id(scalar)]


def _lengths_of_inputs(scalar: Variable) -> set[int]:
    """The ids of the lengths of inputs that a scalar is computed of, which looks at no array's values."""
    found: set[int] = set()
    seen: set[int] = set()
    stack = [scalar]
    while stack:
        v = stack.pop()
        if v.apply is None or id(v) in seen:
            continue
        seen.add(id(v))
        if any(u.type.ndim for u in v.apply.inputs):
            found.add(id(v))
        else:
            stack.extend(v.apply.inputs)
    return found


def _is_length_of_input(node: Apply) -> bool:
    """Whether an apply to an array is the length of an input's axis; no other gives a length of an array's value."""
    return type(node.op).length_value is not Op.length_value and node.inputs[0].apply is None
