"""A scalar expression cut into the stages of a pipeline, each an expression of what it is given.

Stages are said by `tg.stage`. A value that depends on weights and on the batch lies in the last stage that anything it
is made of has; where stages that follow need it, it is handed through those between. What depends on weights alone, or
on the batch alone, is computed in each stage that needs it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, final

from tg.errors import InputError, message
from tg.gradient.api import grad, vjp
from tg.graph.dims import named_type
from tg.graph.nodes import Variable
from tg.graph.traversal import key_of, sorted_applies, substitute
from tg.ops.shape import AxisLength
from tg.ops.sharding import PipelineStage
from tg.types.dtypes import is_inexact

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.graph.nodes import Apply

HINT: Final = "tg.stage(1, x), tg.stage(2, y), … mark where each stage after the first begins"


class Piece(NamedTuple):
    """One stage: an expression of values that the stage before hands on, and of inputs of the program.

    `own` are the inputs that it reads, by their places, and `wrt` those of them by which it is differentiated.
    """

    received: tuple[Variable, ...]
    inputs: tuple[Variable, ...]
    own: tuple[int, ...]
    wrt: tuple[int, ...]
    results: tuple[Variable, ...]  # what it hands on; of the last one the loss
    is_last: bool

    def backward(self) -> tuple[list[Variable], list[Variable]]:
        """Inputs and results of its derivative.

        It takes what the stage itself does, then the cotangents of what it hands on, and gives those of what it has
        received, then those of inputs; the last one takes no cotangent, and gives the loss in front.
        """
        weights = [v for place, v in zip(self.own, self.inputs, strict=True) if place in self.wrt]
        xs, inputs = [*self.received, *weights], [*self.received, *self.inputs]
        if self.is_last:
            (loss,) = self.results
            return inputs, [loss, *grad(loss, xs, disconnected="zero")]
        cotangents = [Variable(named_type(y)) for y in self.results]
        return [*inputs, *cotangents], list(vjp(list(self.results), xs, cotangents, disconnected="zero"))


def cut(inputs: Sequence[Variable], loss: Variable, wrt: Sequence[int], batch: Sequence[int]) -> list[Piece]:
    """The stages of a loss.

    Args:
        wrt: the places of the inputs by which it is differentiated.
        batch: the places of those that differ from one part of the batch to the next.
    Raises:
        InputError: no marks; one out of order; a value that stages hand on is of integers.
    """
    levels = _Levels(loss, {key_of(inputs[k]) for k in wrt}, {key_of(inputs[k]) for k in batch})
    last = levels.of[key_of(loss)]
    pieces: list[Piece] = []
    received: tuple[Variable, ...] = ()
    for k in range(last + 1):
        handed = levels.handed_on(k) if k < last else [loss]
        fresh = [Variable(named_type(v), name=v.name) for v in received]
        values = {place: w for v, w in zip(received, fresh, strict=True) for place in levels.ids(v)}
        results = tuple(substitute(handed, values))
        leaves = {key_of(v) for node, _ in sorted_applies(results) for v in node.inputs} | {key_of(v) for v in results}
        own = tuple(place for place, v in enumerate(inputs) if key_of(v) in leaves)
        pieces.append(
            Piece(
                tuple(fresh),
                tuple(inputs[place] for place in own),
                own,
                tuple(place for place in own if place in wrt),
                results,
                k == last,
            )
        )
        received = tuple(handed)
    return pieces


@final
class _Levels:
    """The stage of each value that depends on weights and on the batch, and of all that is made of it."""

    def __init__(self, loss: Variable, wrt: set[object], batch: set[object]) -> None:
        self.of: dict[object, int] = {}
        self._consumers: dict[object, int] = {}  # the last stage that reads a value
        self._variables: dict[object, dict[int, Variable]] = {}  # all that stand for a value
        weighted, batched, marks = set(wrt), set(batch), {0}
        for node, results in sorted_applies([loss]):
            keys = [key_of(v) for v in node.inputs]
            outputs = [v for v in results if v is not None]
            if type(node.op) is AxisLength:  # lengths are known wherever they are asked for
                continue
            weighted.update(key_of(v) for v in outputs if not weighted.isdisjoint(keys) and is_inexact(v.type.dtype))
            batched.update(key_of(v) for v in outputs if not batched.isdisjoint(keys))
            level = max((self.of[key] for key in keys if key in self.of), default=None)
            if type(node.op) is PipelineStage:
                level = _marked(node, level)
                marks.add(level)
            elif level is None and any(key_of(v) in weighted and key_of(v) in batched for v in outputs):
                level = 0
            if level is None:
                continue
            for key in keys:
                if key in self.of:
                    self._consumers[key] = max(self._consumers.get(key, 0), level)
            for v in outputs:
                self.of[key_of(v)] = level
            for v in (*node.inputs, *outputs):
                self._variables.setdefault(key_of(v), {})[id(v)] = v
        self._check(loss, marks)

    def _check(self, loss: Variable, marks: set[int]) -> None:
        last = self.of.get(key_of(loss), 0)
        if not last:
            raise InputError(message("pipeline: found no stage but the first, needed two or more", hint=HINT))
        missing = next((k for k in range(last) if k not in marks), None)
        if missing is not None:
            text = f"pipeline: found stages {', '.join(map(str, sorted(marks)))}, needed {missing} among them"
            raise InputError(message(text, hint=HINT))

    def ids(self, v: Variable) -> list[int]:
        """The ids of all variables that stand for a value."""
        return [*self._variables[key_of(v)]]

    def handed_on(self, stage: int) -> list[Variable]:
        """The values of a stage and of those before it that stages behind it read.

        Raises:
            InputError: one is of integers.
        """
        values = [
            next(iter(self._variables[key].values()))
            for key, level in self.of.items()
            if level <= stage < self._consumers.get(key, level)
        ]
        for v in values:
            if not is_inexact(v.type.dtype):
                text = f"pipeline: stage {stage} hands on {v!r}, needed a floating-point value"
                raise InputError(message(text, hint="what is computed of the batch alone is computed where it is read"))
        return values


def _marked(node: Apply, level: int | None) -> int:
    """The stage of a mark.

    Raises:
        InputError: its operand lies in a stage behind it.
    """
    op = node.op
    assert isinstance(op, PipelineStage)
    if level is not None and level > op.number:
        where = [("created at", f"{node.loc}:  {node.loc.source}")] if node.loc is not None else []
        text = f"stage: found stage {op.number} of a value of stage {level}, needed one that is not before it"
        raise InputError(message(text, *where, hint="values go from a stage to those behind it"))
    return op.number
