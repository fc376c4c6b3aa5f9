"""`Block`: ops of eager arrays that are computed together, `with xp.fused():`.

Each op is noted on a tape; its result is an array that has a type and no value yet. When a value is asked for, and at
the end of the block, one program computes all results that somebody still has. It is kept by the tape and the types of
what the block read, so a block that runs again is one call. An op that needs to know lengths, and a block that cannot
be one program, are computed op by op.
"""

from __future__ import annotations

import weakref
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final, NamedTuple, final

from tg.eager.arguments import Arguments, pattern
from tg.eager.array import Array, array
from tg.errors import TgError
from tg.functions.structure import flatten
from tg.graph.nodes import Variable
from tg.types.tensor_type import TensorType

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from contextvars import Token

    from tg.eager.namespace import Namespace
    from tg.variables.structure import Structure

Place = tuple[int, int]
"""The place of a value: the number of its step, -1 for what the block reads, and its number there."""

current: Final[ContextVar[Block | None]] = ContextVar("block", default=None)
"""The innermost block of this thread."""


@final
class Pending:
    """The value of an array that a block has not computed yet."""

    __slots__ = ("__weakref__", "block", "place", "type", "value")
    dtype = None  # operators look these up, and find no program
    shape = None

    def __init__(self, block: Block, place: Place, type: TensorType) -> None:
        self.block, self.place, self.type = block, place, type
        self.value: Any = None

    def computed(self) -> Any:
        """The value, in the backend's array."""
        if self.value is None:
            self.block.compute()
        return self.value


class Step(NamedTuple):
    """An op on the tape: its arguments, its operands' places, and the structure of its results."""

    name: str
    arguments: Arguments
    operands: tuple[Place, ...]
    structure: Structure


@final
class Block:
    """A block of ops of one namespace; see `Namespace.fused`."""

    def __init__(self, xp: Namespace) -> None:
        self._xp = xp
        self._token: Token[Block | None] | None = None
        self._clear()

    def _clear(self) -> None:
        self._read: list[Any] = []  # values and integers from outside
        self._types: list[TensorType] = []  # theirs
        self._numbers: dict[int, int] = {}  # of arrays from outside, by identity
        self._tape: list[Step] = []
        self._pending: list[weakref.ref[Pending]] = []

    def __enter__(self) -> Block:
        self._token = current.set(self)
        self._xp._open(self)
        return self

    def __exit__(self, kind: type[BaseException] | None, *exc: object) -> None:
        if self._token is not None:
            current.reset(self._token)
        self._xp._close(self)
        if kind is None:
            self.compute()

    def call(self, name: str, arguments: Arguments) -> Any:
        """The results of an op, to be computed later; at once where the op needs to know lengths."""
        places, types = [], []
        for leaf in arguments.leaves:
            place, kind = self._operand(leaf)
            places.append(place)
            types.append(kind)
        key = arguments.key, tuple(types)
        inferred = self._xp._inferred.get(key)
        if inferred is None:
            try:
                inferred = self._infer(name, arguments, types)
            except TgError:
                return self._xp._at_once(name, arguments)
            self._xp._inferred[key] = inferred
        structure, results = inferred
        arguments.forget()
        number = len(self._tape)
        self._tape.append(Step(name, arguments, tuple(places), structure))
        pending = [Pending(self, (number, k), t) for k, t in enumerate(results)]
        self._pending += map(weakref.ref, pending)
        return structure(iter([array(p, self._xp) for p in pending]))

    def _operand(self, leaf: Any) -> tuple[Place, TensorType]:
        """The place of an operand, and its type."""
        if type(leaf) is int:
            return self._outside(leaf, TensorType("int64"))
        value = self._xp._array(leaf)._value
        if type(value) is Pending and value.value is None and value.block is self:
            return value.place, value.type
        native = value.computed() if type(value) is Pending else value
        number = self._numbers.get(id(native))
        if number is not None:
            return (-1, number), self._types[number]
        dtype = self._xp._border.dtype_of(native)
        return self._outside(native, TensorType(dtype, pattern(tuple(native.shape))))

    def _outside(self, value: Any, kind: TensorType) -> tuple[Place, TensorType]:
        number = len(self._read)
        self._read.append(value)
        self._types.append(kind)
        if type(value) is not int:
            self._numbers[id(value)] = number
        return (-1, number), kind

    def _infer(
        self, name: str, arguments: Arguments, types: Sequence[TensorType]
    ) -> tuple[Structure, tuple[TensorType, ...]]:
        results, structure = flatten(self._xp._applied(name, arguments, [Variable(t) for t in types]))
        return structure, tuple([v.type.static for v in results])

    def compute(self) -> None:
        """Compute all results that somebody has, and begin anew."""
        pending = [p for p in (ref() for ref in self._pending) if p is not None and p.value is None]
        tape, read, types = self._tape, self._read, self._types
        self._clear()
        if not pending:
            return
        places = tuple([p.place for p in pending])

        def build(variables: Sequence[Variable]) -> list[Variable]:
            values = self._replayed(tape, variables)
            return [values[place] for place in places]

        key = "fused", tuple([(s.arguments.key, s.operands) for s in tape]), tuple(types), places
        try:
            results = self._xp._fused_program(key, build, types)(read)
        except TgError:
            results = self._one_by_one(tape, read, places)
        for p, value in zip(pending, results, strict=True):
            p.value = value

    def _replayed(self, tape: Sequence[Step], variables: Sequence[Variable]) -> dict[Place, Variable]:
        """The results of all steps as a graph of variables for what the block reads."""
        values: dict[Place, Variable] = {(-1, k): v for k, v in enumerate(variables)}
        for number, step in enumerate(tape):
            operands = [values[place] for place in step.operands]
            leaves, _ = flatten(self._xp._applied(step.name, step.arguments, operands))
            values.update(((number, k), v) for k, v in enumerate(leaves))
        return values

    def _one_by_one(self, tape: Sequence[Step], read: Sequence[Any], places: Sequence[Place]) -> list[Any]:
        """The same, each op by itself: what is wrong is told of one of them."""
        xp = self._xp
        values: dict[Place, Any] = {(-1, k): v for k, v in enumerate(read)}
        for number, step in enumerate(tape):
            operands: Iterator[Any] = (
                v if type(v) is int else array(v, xp) for v in [values[place] for place in step.operands]
            )
            args, kwargs = step.arguments.rebuilt(operands, dynamic=True)
            leaves = _leaves(xp._at_once(step.name, Arguments(step.name, tuple(args), kwargs)))
            values.update(((number, k), v._value) for k, v in enumerate(leaves))
        return [values[place] for place in places]


def _leaves(value: Any) -> list[Array]:
    if type(value) is Array:
        return [value]
    return [leaf for part in value for leaf in _leaves(part)]
