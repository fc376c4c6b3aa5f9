"""Sharding: values that are split over the axes of a mesh of devices.

A program means the same on one device and on several: `shard` is an identity, which importing removes unless the
program is compiled for a mesh. There it becomes a `Placement`, which knows in how many parts each axis is split.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, final

from tg.errors import InputError, ShapeError, message, nearest
from tg.graph.checks import Check, Descriptor
from tg.graph.facts import facts_of
from tg.graph.nodes import Variable, as_size_variable
from tg.graph.op import Op
from tg.graph.operators import NAMESPACE
from tg.graph.traversal import sorted_applies
from tg.ops.family import Family
from tg.types.mesh import Mesh, split_names
from tg.variables.conversion import as_variable

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy as np

    from tg.graph.frozen import FrozenGraph
    from tg.graph.function_graph import FunctionGraph
    from tg.types.lengths import Length
    from tg.types.mesh import Names
    from tg.types.tensor_type import TensorType
    from tg.variables.like import TensorLike

    Array = np.ndarray[Any, Any]


class OfLayout(Op):
    """The operand, of which an op says how it lies on devices: its derivatives lie alike."""

    has_expansion = True

    def infer(self, x: TensorType) -> tuple[TensorType, ...]:
        """The operand's type."""
        return (x,)

    def perform(self, *arrays: Array) -> tuple[Array, ...]:
        """A copy."""
        return (arrays[0].copy(),)

    def expansion(self, *inputs: Variable) -> Variable:
        """The operand."""
        return inputs[0]

    def facts(self, inputs: Sequence[Variable]) -> Sequence[Iterable[str]]:
        """The facts of the operand."""
        return (facts_of(inputs[0]),)

    def pullback(self, tools: Any, inputs: Any, outputs: Any, cotangents: Any) -> Sequence[Variable | None]:
        """The cotangent, split alike."""
        (dy,) = cotangents
        return (None if dy is None else self(dy),)

    def pushforward(self, tools: Any, inputs: Any, outputs: Any, tangents: Any) -> Sequence[Variable | None]:
        """The tangent, split alike."""
        (dx,) = tangents
        return (None if dx is None else self(dx),)

    def batch(self, tools: Any, size: Any, inputs: Any, batched: Any) -> Sequence[Any]:
        """The batch, of which nothing is said along its own axis."""
        return (self(inputs[0]),)


@final
class Shard(OfLayout):
    """The operand, split over axes of whatever mesh its program is compiled for; importing removes it or places it.

    Shapes:
        x (...) -> y (...); entry k of `names`, counted from the end, is of axis k
    """

    names: tuple[Any, ...]  # for each of the last axes a name, a tuple of names or None
    only_derives = True  # of its value it says nothing

    @property
    def named_identity(self) -> str | None:
        """No name: only an identity."""
        return ""

    def on_mesh(self, mesh: Mesh) -> Op:
        """The same for a mesh.

        Raises:
            InputError: the mesh has no such axis.
        """
        for name in (name for entry in self.names for name in split_names(entry)):
            if name not in mesh.names:
                near = nearest(name, mesh.names)
                hint = f"{near[0]!r} is one" if near else None
                raise InputError(message(f"shard: found {name!r}, needed an axis of {mesh}", hint=hint))
        return Placement(self.names, tuple(map(mesh.parts, self.names)))


@final
class Placement(OfLayout):
    """The operand, of which each of the last axes is split in as many parts over axes of the program's mesh.

    Of axes before these nothing is said: they are those of batches.

    Shapes:
        x (...) -> y (...)
    Raises:
        ShapeError: a length is no multiple of the number of parts.
    """

    names: tuple[Any, ...]
    parts: tuple[int, ...]
    has_effect = True  # of a constant too: it is to lie there

    @property
    def spelled(self) -> str:
        """The user's spelling."""
        return "shard"

    def infer(self, x: TensorType) -> tuple[TensorType, ...]:
        """The operand's type, whose known lengths are multiples."""
        for axis, n, parts in self._split(x.shape):
            if isinstance(n, int) and n % parts:
                raise ShapeError(message(self._refusal(axis).format(n), hint=HINT))
        return (x,)

    def checks(self, inputs: Sequence[Variable], outputs: Sequence[Variable]) -> tuple[Check, ...]:
        """Lengths that are not known are multiples."""
        checks = []
        for axis, n, parts in self._split(inputs[0].lengths):
            if n is not None and not isinstance(n, int):
                length = as_size_variable(n)
                condition = NAMESPACE.equal(NAMESPACE.remainder(length, parts), 0)
                checks.append(Check(condition, (length,), Descriptor("ShapeError", self._refusal(axis), HINT)))
        return tuple(checks)

    def divides(self, shape: Sequence[int]) -> bool:
        """Whether an array of this shape can be split so."""
        return not any(n % parts for n, parts in zip(shape[len(shape) - len(self.parts) :], self.parts, strict=True))

    def _split(self, lengths: Sequence[int | Length | None]) -> list[tuple[int, int | Length | None, int]]:
        """The axes that are split, counted from the end, with their lengths and the numbers of parts."""
        count = len(self.parts)
        axes = range(-count, 0)
        return [(k, lengths[k], self.parts[k]) for k in axes if self.parts[k] > 1]

    def _refusal(self, axis: int) -> str:
        names = " and ".join(map(repr, split_names(self.names[axis])))
        place, parts = axis + len(self.names), self.parts[axis]
        return f"shard: axis {place}: found the length {{0}}, needed a multiple of {parts}, the devices along {names}"


def placements(graph: FrozenGraph) -> dict[int, Placement]:
    """The inputs and constants of a program that are sharded themselves, by number, each as it is first."""
    last = graph.arity + len(graph.constants)
    first: dict[int, Placement] = {}
    for node in graph.nodes:
        if isinstance(node.op, Placement) and node.inputs[0] < last:
            first.setdefault(node.inputs[0], node.op)
    return first


def lay_alike(graph: FunctionGraph, updates: Iterable[tuple[int, int]]) -> None:
    """Lay new values as the inputs are laid whose values they take the place of, so that these stay where they are.

    Args:
        updates: pairs of an output and an input, by their places.
    """
    applies = [node for node, _ in sorted_applies(graph.roots) if isinstance(node.op, Placement)]
    first: dict[int, Op] = {}
    for node in applies:
        first.setdefault(id(node.inputs[0]), node.op)
    outputs = list(graph.outputs)
    for k, j in updates:
        op = first.get(id(graph.inputs[j]))
        if op is not None:
            outputs[k] = graph.absorb(op(outputs[k]))
    graph.outputs = tuple(outputs)


HINT = "None in place of the name leaves the axis whole; tg.pad makes it longer"


def shard(x: TensorLike, *names: Names) -> Variable:
    """x, split over axes of the mesh that a program is compiled for: a part of it on each device.

    It is x itself: on one device, and on every backend without `mesh=`, it costs nothing. With
    `tg.backend("jax", mesh=mesh)` it says where x lies; what is computed of it lies as the backend finds best, and the
    results are those of one device. The gradient by x is split as x is. An input, a shared variable or a large constant
    that is sharded itself lies so before the program begins; a shared variable is stored so.

    Args:
        names: for each axis of x the axis of the mesh along which it is split, a tuple of several, or None: all of it
            is on each device.
    Raises:
        ShapeError: as many names as x has axes are needed; for a mesh, a length is no multiple of the number of devices
            along the axis.
        InputError: what is no name, or one that is there twice; for a mesh, one that it does not have.
    Example:
        >>> import tg
        >>> x = tg.matrix("x")
        >>> f = tg.function([x], tg.sum(tg.shard(x, "data", None)))
        >>> float(f([[1.0, 2.0], [3.0, 4.0]]))
        10.0
    Source:
        jax.lax.with_sharding_constraint, torch.distributed.tensor.DTensor.redistribute
    """
    v = as_variable(x)
    if len(names) != v.type.ndim:
        hint = "None leaves an axis whole"
        raise ShapeError(message(f"shard: found {len(names)} names for {v.type}, needed one for each axis", hint=hint))
    entries = tuple(map(_entry, names))
    flat = [name for entry in entries for name in split_names(entry)]
    for name in flat:
        if flat.count(name) > 1:
            raise InputError(message(f"shard: axis {name!r} of the mesh: found twice, needed once at most"))
    return Shard(entries)(v)  # type: ignore[no-any-return]


def _entry(names: Any) -> Names:
    """One axis's entry, checked: a tuple of one name is the name."""
    several = tuple(names) if isinstance(names, list | tuple) else (names,)
    if names is not None and not (several and all(isinstance(name, str) for name in several)):
        raise InputError(message(f"shard: found {names!r}, needed a name of an axis of the mesh, several, or None"))
    return several[0] if len(several) == 1 else several


@final
class PipelineStage(OfLayout):
    """The operand, with which a stage of a pipeline begins; importing removes it.

    Shapes:
        x (...) -> y (...)
    """

    number: int
    only_derives = True  # of its value it says nothing

    @property
    def named_identity(self) -> str | None:
        """No name: only an identity."""
        return ""


def stage(number: int, x: TensorLike) -> Variable:
    """x, with which a stage of a pipeline begins: what is computed of it from here on belongs to the stage.

    It is x itself wherever a program is not made by `tg.pipeline`. Stages are counted from 0, which is all that comes
    before the first mark.

    Raises:
        InputError: `number` is no integer of at least 0.
    Example:
        >>> import tg
        >>> x = tg.vector("x")
        >>> f = tg.function([x], 2.0 * tg.stage(1, tg.exp(x)))
        >>> f([0.0]).tolist()
        [2.0]
    Source:
        torch.distributed.pipelining.pipe_split
    """
    if type(number) is not int or number < 0:
        raise InputError(message(f"stage: found {number!r}, needed the number of a stage, an integer of at least 0"))
    return PipelineStage(number)(as_variable(x))  # type: ignore[no-any-return]


FAMILY = Family("sharding", ops=(Shard, Placement, PipelineStage), functions=(shard, stage))
