"""Loops of inner graphs: the function of a step is called once for each, and what it traces is written in its place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, final

from tg.ops import loops as t
from tg_native.graphs.failure import STATUS
from tg_native.plan.shapes import follows_from_inputs
from tg_native.plan.values import Array, Scalar, count
from tg_native.rules.control import POINTER, argument, cleared, lengths_inside

if TYPE_CHECKING:
    from tg.plugin.records import Rule
    from tg.types.tensor_type import TensorType
    from tg_native.graphs.site import Site
    from tg_native.plan.values import Value

Arguments = list[tuple[str, str]]  # dtypes, POINTER among them, and texts


def scan(op: t.Scan, site: Site) -> Any:
    """A loop over the steps."""
    body, function, n = op.body, site.function, op.carries
    if not all(follows_from_inputs(body, k) for k in body.outputs):
        return NotImplemented  # memory for what a step gives must be there before it
    given, sequences, captured = op.parts(site.inputs)
    types = body.input_types
    length = str(op.length) if op.length is not None else function.number(site.inputs[0])  # type: ignore[arg-type]
    carries = [_Carry(site, k, value, types[k]) for k, value in enumerate(given)]
    slices = [_Slices(site, value, types[n + k]) for k, value in enumerate(sequences)]
    held: Arguments = [
        a for v, w in zip(captured, types[n + op.sequences :], strict=True) for a in argument(site, v, w)
    ]
    traces = [_Trace(site, op, k) for k in range(n, len(body.outputs))]
    status = site.allocate(len(body.outputs)) if body.checks else None
    values = None
    if status is not None:
        cleared(site, status.pointer, STATUS)
        values = site.target(status, "1").pointer
    with function.steps(length) as step:
        place = step
        if op.reverse:
            last = function.local("int64", function.expression("+", length, "-1"))
            place = function.local("int64", function.expression("+", last, function.expression("*", step, "-1")))
        arguments = [a for c in carries for a in c.before(step)]
        arguments += [a for s in slices for a in s.at(place)]
        arguments += [*held, *((POINTER, c.after(step)) for c in carries), *((POINTER, y.at(place)) for y in traces)]
        code = function.called(body, arguments, values)
        function.leave_unless(function.expression(">=", code, "0"), code)
        if status is not None:
            function.put(status.pointer, 0, code)
            function.leave_loop_unless(function.expression("==", code, "0"))
    found = [*(c.result(length) for c in carries), *(y.result() for y in traces)]
    return [*found, status] if status is not None else found


@final
class _Carry:
    """What goes from step to step: a scalar in a place of its own, an array to and fro between two."""

    def __init__(self, site: Site, k: int, value: Value, wanted: TensorType) -> None:
        self.site, self.k, self.lengths = site, k, argument(site, value, wanted)[1:]
        if isinstance(value, Scalar):
            self.places = (site.memory(value),)
            return
        self.places = (site.temporary(value.dtype, value.shape), site.temporary(value.dtype, value.shape))
        site.copy(value, self.places[0])

    def before(self, step: str) -> Arguments:
        """The arguments that are the carry before a step."""
        if len(self.places) == 1:
            return [(self.places[0].dtype, self.site.first(self.places[0]))]
        return [(POINTER, self.site.function.alternating(step, *self.places).pointer), *self.lengths]

    def after(self, step: str) -> str:
        """The pointer to where the carry after a step goes: a scalar has been read by then."""
        if len(self.places) == 1:
            return self.places[0].pointer
        return self.site.function.alternating(step, *self.places[::-1]).pointer

    def result(self, length: str) -> Value:
        """The carry after so many steps."""
        if len(self.places) == 1:
            return self.site.scalar(self.site.first(self.places[0]), self.k)
        found = self.site.allocate(self.k)
        self.site.copy(self.site.function.alternating(length, *self.places), found)
        return found


@final
class _Slices:
    """The slices of a sequence."""

    def __init__(self, site: Site, value: Value, wanted: TensorType) -> None:
        self.site, self.array = site, site.contiguous(value)
        self.is_scalar = not wanted.ndim
        inside = self.array.viewed(self.array.shape[1:], self.array.strides[1:])
        self.size = site.function.local("int64", site.length(count(inside.shape)))
        self.lengths = [] if self.is_scalar else argument(site, inside, wanted)[1:]

    def at(self, place: str) -> Arguments:
        """The arguments that are the slice at a place."""
        site = self.site
        if self.is_scalar:
            return [(self.array.dtype, site.first(site.target(self.array, place)))]
        there = site.target(self.array, site.function.expression("*", place, self.size))
        return [(POINTER, there.pointer), *self.lengths]


@final
class _Trace:
    """An array with a slice for what each step gives."""

    def __init__(self, site: Site, op: t.Scan, k: int) -> None:
        self.site, number, function = site, site.node.outputs[k], site.function
        operands = site.inputs[op.first :]
        inside = [site.length(n) for n in lengths_inside(op.body, op.body.outputs[k], operands)]
        shape = function.shape(number)
        function.give_lengths(shape[1:], number, inside)
        self.array = site.allocate(k)
        self.size = function.local("int64", site.length(count(shape[1:])))

    def at(self, place: str) -> str:
        """The pointer to the slice at a place."""
        return self.site.target(self.array, self.site.function.expression("*", place, self.size)).pointer

    def result(self) -> Array:
        """The whole."""
        return self.array


RULES: Final[dict[object, Rule]] = {t.Scan: scan}
"""The rules of loops."""
